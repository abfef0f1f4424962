// SPDX-License-Identifier: GPL-2.0-only
/*
 * The open files of a node: they are counted, and those that may write claim its part of
 * the disk.
 */
#include <linux/device.h>

#include "front/block/block.h"
#include "front/front.h"
#include "types/disk.h"

/* A writer of all of a disk and one of a region would write under each other. */
static bool has_rival(const struct chario_node *node)
{
	const struct chario_node *other;

	list_for_each_entry(other, &node->disk->nodes, entry)
		if (other != node && other->writers && (!other->number || !node->number))
			return true;
	return false;
}

/* Claim the part of a node for its first writer. */
static int claim(struct chario_node *node)
{
	if (node->writers)
		return 0;
	return has_rival(node) ? -EBUSY : chario_claim_take(node);
}

/**
 * chario_node_enter() - count a file that is being opened
 * @node: node of the file
 * @writes: true if it may write
 *
 * Context: may sleep.
 * Return: 0; ENXIO if the node is being taken away; EBUSY if the file may write and
 * somebody else has claimed a part of the node; EINTR on a fatal signal; ENOMEM.
 */
int chario_node_enter(struct chario_node *node, bool writes)
{
	struct chario_disk *disk = node->disk;
	int ret = mutex_lock_killable(&disk->node_lock);

	if (ret)
		return ret;
	ret = node->leaves ? -ENXIO : 0;
	if (!ret && writes)
		ret = claim(node);
	if (!ret) {
		get_device(node->dev);
		node->files++;
		node->writers += writes;
	}
	mutex_unlock(&disk->node_lock);
	return ret;
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

	mutex_lock(&disk->node_lock);
	node->files--;
	node->writers -= writes;
	if (writes && !node->writers)
		chario_claim_drop(node);
	mutex_unlock(&disk->node_lock);
	put_device(node->dev);
}
