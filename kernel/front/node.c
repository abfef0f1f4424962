// SPDX-License-Identifier: GPL-2.0-only
/*
 * The open files of a node: they are counted, and those that may write claim its part of
 * the disk.
 */
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "base/workers.h"
#include "front/block/block.h"
#include "front/front.h"
#include "types/disk.h"

/* A writer of all of a disk and one of a region would overwrite each other's data. */
static bool has_rival(const struct chario_node *node)
{
	const struct chario_node *other;

	list_for_each_entry(other, &node->disk->nodes, entry)
		if (other != node && other->writers && (!other->number || !node->number))
			return true;
	return false;
}

/* Claim the part of a node for its first writer. */
static int claim(struct chario_node *node, const bool *given_up)
{
	if (node->writers)
		return 0;
	return has_rival(node) ? -EBUSY : chario_claim_take(node, given_up);
}

/* Count a file.  A file that reads waits for no claim, neither here nor at its end. */
static int count_file(struct chario_node *node)
{
	int ret;

	spin_lock(&node->disk->files_lock);
	ret = node->leaves ? -ENXIO : 0;
	if (!ret)
		node->files++;
	spin_unlock(&node->disk->files_lock);
	if (!ret)
		get_device(node->dev);
	return ret;
}

static void uncount_file(struct chario_node *node)
{
	spin_lock(&node->disk->files_lock);
	node->files--;
	spin_unlock(&node->disk->files_lock);
	put_device(node->dev);
}

/* Count a file that may write.  Under disk->node_lock. */
static int count_writer(struct chario_node *node, const bool *given_up)
{
	int ret = count_file(node);

	if (ret)
		return ret;
	ret = claim(node, given_up);
	if (ret)
		uncount_file(node);
	else
		node->writers++;
	return ret;
}

/* Undo count_writer() but for count_file().  Under disk->node_lock. */
static void uncount_writer(struct chario_node *node)
{
	node->writers--;
	if (!node->writers)
		chario_claim_drop(node);
}

/**
 * struct entry - the opening of a node whose part a worker claims
 * @work: the work
 * @node: the node, with a reference to its device
 * @given_up: true if the caller has been killed
 * @parted: 1 as soon as the caller has left, or the result is his: the second of caller and
 *	worker frees the entry
 * @done: the worker has the result, and has done with the entry
 * @result: result of count_writer()
 */
struct entry {
	struct work_struct work;
	struct chario_node *node;
	bool given_up;
	int parted;
	struct completion done;
	int result;
};

static void run_entry(struct work_struct *work)
{
	struct entry *entry = container_of(work, struct entry, work);
	struct chario_node *node = entry->node;
	struct chario_disk *disk = node->disk;
	bool caller_left;

	mutex_lock(&disk->node_lock);
	entry->result = count_writer(node, &entry->given_up);
	caller_left = xchg(&entry->parted, 1);
	if (caller_left && !entry->result) {
		uncount_writer(node);
		uncount_file(node);
	}
	mutex_unlock(&disk->node_lock);
	up(&disk->entry_turn);
	if (caller_left)
		kfree(entry);
	else
		complete(&entry->done);
	put_device(node->dev);
}

/* Wait for the result of an entry, which is gone afterwards, or belongs to the worker. */
static int await(struct entry *entry)
{
	int ret = wait_for_completion_killable(&entry->done);

	if (ret) {
		WRITE_ONCE(entry->given_up, true);
		if (!xchg(&entry->parted, 1))
			return -EINTR;
		wait_for_completion(&entry->done);
	}
	ret = entry->result;
	kfree(entry);
	return ret;
}

/*
 * Count a file that may be the first to write, while there is a block disk: the claim opens block
 * devices, for which the caller needs no right, and waits for what is being written to them and
 * read.  The drive may be silent, and most of these waits end by no signal.  So a worker claims,
 * for one caller of a disk at a time, and goes on when the caller has been killed.
 */
static int enter_by_worker(struct chario_node *node)
{
	struct chario_disk *disk = node->disk;
	struct entry *entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);

	if (!entry)
		return -ENOMEM;
	if (down_killable(&disk->entry_turn)) {
		kfree(entry);
		return -EINTR;
	}
	INIT_WORK(&entry->work, run_entry);
	init_completion(&entry->done);
	get_device(node->dev);
	entry->node = node;
	queue_work(chario_workqueue, &entry->work);
	return await(entry);
}

/**
 * chario_node_enter() - count a file that is being opened
 * @node: node of the file
 * @writes: true if it may write
 *
 * Context: may sleep.
 * Return: 0; ENXIO if the node or the block disk is being taken away; EBUSY if the file may
 * write and somebody else has claimed a part of the node; EINTR on a fatal signal; ENOMEM.
 */
int chario_node_enter(struct chario_node *node, bool writes)
{
	struct chario_disk *disk = node->disk;
	bool by_worker;
	int ret;

	if (!writes)
		return count_file(node);
	ret = mutex_lock_killable(&disk->node_lock);
	if (ret)
		return ret;
	by_worker = !node->writers && READ_ONCE(disk->block);
	if (!by_worker)
		ret = count_writer(node, NULL);
	mutex_unlock(&disk->node_lock);
	return by_worker ? enter_by_worker(node) : ret;
}

/**
 * chario_node_leave() - undo chario_node_enter() when the file has been closed
 * @node: the node; may be gone afterwards
 * @writes: see chario_node_enter()
 *
 * Context: may sleep.
 */
void chario_node_leave(struct chario_node *node, bool writes)
{
	struct chario_disk *disk = node->disk;

	if (writes) {
		mutex_lock(&disk->node_lock);
		uncount_writer(node);
		mutex_unlock(&disk->node_lock);
	}
	uncount_file(node);
}
