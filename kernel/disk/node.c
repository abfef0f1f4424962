// SPDX-License-Identifier: GPL-2.0-only
/*
 * Nodes: parts of a disk that programs can open.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/module.h>

#include "disk/regions.h"

/**
 * chario_node_add() - publish a node
 * @node: the node; all members up to @number are set but @cdev
 * @fops: operations of the node
 *
 * Context: may sleep; under disk->node_lock.
 * Return: 0 or -errno.
 */
int chario_node_add(struct chario_node *node, const struct file_operations *fops)
{
	int ret;

	cdev_init(&node->cdev, fops);
	node->cdev.owner = THIS_MODULE;
	ret = cdev_device_add(&node->cdev, node->dev);
	if (!ret)
		list_add_tail(&node->entry, &node->disk->nodes);
	return ret;
}

/**
 * chario_node_remove() - take a node away
 * @node: the node; its device stays until the last open file has been closed
 *
 * Context: may sleep; under disk->node_lock.
 */
void chario_node_remove(struct chario_node *node)
{
	spin_lock(&node->disk->files_lock);
	node->leaves = true;
	spin_unlock(&node->disk->files_lock);
	list_del(&node->entry);
	cdev_device_del(&node->cdev, node->dev);
}
