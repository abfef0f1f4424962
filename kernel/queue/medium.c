// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of media, which are found by their name or made, and the check for edges.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "queue/medium.h"
#include "types/disk.h"

static LIST_HEAD(media);
static DEFINE_MUTEX(media_lock);

static struct chario_medium *medium_find(const char *name)
{
	struct chario_medium *medium;

	list_for_each_entry(medium, &media, node)
		if (*name && !strcmp(medium->name, name))
			return medium;
	return NULL;
}

static struct chario_medium *medium_create(const char *name)
{
	struct chario_medium *medium = kzalloc(sizeof(*medium), GFP_KERNEL);

	if (!medium)
		return NULL;
	medium->name = kstrdup_const(name, GFP_KERNEL);
	if (!medium->name) {
		kfree(medium);
		return NULL;
	}
	kref_init(&medium->alive);
	init_rwsem(&medium->lock);
	INIT_LIST_HEAD(&medium->disks);
	raw_spin_lock_init(&medium->edges_lock);
	INIT_LIST_HEAD(&medium->edges);
	init_waitqueue_head(&medium->edges_wait);
	list_add(&medium->node, &media);
	return medium;
}

/* Warn of two disks of one medium: file locks on one do not hold for the other. */
static void medium_tell(const struct chario_disk *disk)
{
	const struct chario_disk *other;

	list_for_each_entry(other, &disk->medium->disks, medium_node)
		if (other != disk && !READ_ONCE(other->removed))
			dev_warn(disk->dev.parent,
				 "chardisk%d and chardisk%d are the same namespace of one drive, by two controllers; use one of them only: locks of one do not hold for the other\n",
				 disk->index, other->index);
}

/**
 * chario_medium_join() - find or make the medium of a new disk
 * @disk: the disk, with its queues
 * @name: name of the medium, which other disks may have as well; "" if none can
 *
 * chario_medium_leave() and then chario_medium_put() undo this.
 *
 * Context: may sleep.
 * Return: 0 or ENOMEM.
 */
int chario_medium_join(struct chario_disk *disk, const char *name)
{
	struct chario_medium *medium;

	mutex_lock(&media_lock);
	medium = medium_find(name);
	if (medium)
		kref_get(&medium->alive);
	else
		medium = medium_create(name);
	if (medium) {
		disk->medium = medium;
		down_write(&medium->lock);
		atomic_add(atomic_read(&medium->patchers), &disk->obstacles);
		list_add_tail(&disk->medium_node, &medium->disks);
		medium_tell(disk);
		up_write(&medium->lock);
	}
	mutex_unlock(&media_lock);
	return medium ? 0 : -ENOMEM;
}

/**
 * chario_medium_leave() - hide the queues of a departed disk from edges
 * @disk: the disk; its queues have been failed and drained, but are still there; keeps
 *	the medium until chario_medium_put()
 *
 * Context: may sleep.
 */
void chario_medium_leave(struct chario_disk *disk)
{
	if (!disk->medium)
		return;
	down_write(&disk->medium->lock);
	list_del_init(&disk->medium_node);
	up_write(&disk->medium->lock);
}

static void medium_release(struct kref *alive)
{
	struct chario_medium *medium = container_of(alive, struct chario_medium,
						    alive);

	list_del(&medium->node);
	mutex_unlock(&media_lock);
	kfree_const(medium->name);
	kfree(medium);
}

/**
 * chario_medium_put() - drop the reference of a disk to its medium
 * @disk: a disk that has left, and that nobody has open any more
 *
 * Context: may sleep.
 */
void chario_medium_put(struct chario_disk *disk)
{
	if (disk->medium)
		kref_put_mutex(&disk->medium->alive, medium_release, &media_lock);
}

/**
 * chario_medium_discards() - tell if a discard touches the grain of an edge
 * @edge: the edge
 * @cmd: the discard; its disk is one of the medium
 *
 * Return: true if one of its ranges does.
 */
bool chario_medium_discards(const struct chario_edge *edge,
			    const struct chario_command *cmd)
{
	const struct chario_disk_range *range = chario_command_ranges(cmd);
	unsigned int i;

	for (i = 0; i < cmd->nr_ranges; i++)
		if (range[i].offset <= edge->pos &&
		    range[i].offset + range[i].bytes > edge->pos)
			return true;
	return false;
}

/**
 * chario_medium_meets_edge() - look for an edge that a command must wait for
 * @cmd: a command that is about to be handed to the device
 *
 * Context: under the lock of its queue.
 * Return: true if it is a write of a grain that another context is changing.
 */
bool chario_medium_meets_edge(const struct chario_command *cmd)
{
	struct chario_medium *medium = cmd->req->disk->medium;
	const struct chario_edge *edge;
	bool meets = false;

	if (cmd->req->duty & CHARIO_DUTY_EDGE)
		return false;
	raw_spin_lock(&medium->edges_lock);
	list_for_each_entry(edge, &medium->edges, node)
		if (chario_medium_overlaps(edge, cmd))
			meets = true;
	raw_spin_unlock(&medium->edges_lock);
	return meets;
}
