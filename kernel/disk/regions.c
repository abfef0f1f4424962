// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions: ranges of a disk that have nodes of their own, /dev/chardiskNpM.
 *
 * User space reads the partition table and sets the regions.  The regions of a disk are set
 * all at once; those that stay the same are left alone.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/idr.h>
#include <linux/slab.h>

#include "disk/regions.h"

/**
 * struct region - a region
 * @node: node of the region
 * @dev: device of the region, a child of that of the disk
 */
struct region {
	struct chario_node node;
	struct device dev;
};

static DEFINE_IDA(minors);

#define SHOW(name, format, expression)					\
static ssize_t name##_show(struct device *dev,				\
			   struct device_attribute *attr, char *buf)	\
{									\
	const struct region *region =					\
		container_of(dev, struct region, dev);			\
									\
	return sysfs_emit(buf, format "\n", expression);		\
}									\
static DEVICE_ATTR_RO(name)

SHOW(region, "%u", region->node.number);
SHOW(start, "%llu", region->node.first);
SHOW(size, "%llu", region->node.bytes);
SHOW(open, "%u", READ_ONCE(region->node.files));

static struct attribute *region_attrs[] = {
	&dev_attr_region.attr,
	&dev_attr_start.attr,
	&dev_attr_size.attr,
	&dev_attr_open.attr,
	NULL,
};
ATTRIBUTE_GROUPS(region);

static const struct device_type region_type = {
	.name	= "region",
	.groups	= region_groups,
};

static void region_release(struct device *dev)
{
	struct region *region = container_of(dev, struct region, dev);

	ida_free(&minors, MINOR(dev->devt));
	put_device(&region->node.disk->dev);
	kfree(region);
}

/* Make a region and publish its node. */
static int add(struct chario_disk *disk, const struct chario_region *range)
{
	struct region *region = kzalloc(sizeof(*region), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!region)
		return -ENOMEM;
	ret = ida_alloc_range(&minors, CHARIO_DISK_MINORS,
			      CHARIO_DISK_MINORS + CHARIO_REGION_MINORS - 1, GFP_KERNEL);
	if (ret < 0) {
		kfree(region);
		return ret;
	}
	device_initialize(&region->dev);
	region->dev.class = disk->dev.class;
	region->dev.parent = &disk->dev;
	region->dev.type = &region_type;
	region->dev.release = region_release;
	region->dev.devt = MKDEV(MAJOR(disk->dev.devt), ret);
	region->node.dev = &region->dev;
	region->node.disk = to_chario_disk(get_device(&disk->dev));
	region->node.number = range->number;
	region->node.first = range->offset;
	region->node.bytes = range->bytes;
	ret = dev_set_name(&region->dev, "%sp%u", dev_name(&disk->dev), range->number) ?:
	      chario_node_add(&region->node, disk->node.cdev.ops);
	if (ret)
		put_device(&region->dev);
	return ret;
}

/* Take a region away.  Calls on its open files go on as the disk lets them. */
static void take_away(struct chario_node *node)
{
	chario_node_remove(node);
	put_device(node->dev);
}

static bool is_same(const struct chario_node *node, const struct chario_region *range)
{
	return node->number == range->number && node->first == range->offset &&
	       node->bytes == range->bytes;
}

/* Does a table have a region as it is? */
static bool has(const struct chario_region *table, u32 count,
		const struct chario_node *node)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (is_same(node, &table[i]))
			return true;
	return false;
}

static bool is_on(const struct chario_disk *disk, const struct chario_region *range)
{
	return range->number && range->number <= CHARIO_REGIONS_MAX && !range->reserved &&
	       range->bytes && !((range->offset | range->bytes) & disk->block_mask) &&
	       range->offset < disk->capacity_bytes &&
	       range->bytes <= disk->capacity_bytes - range->offset;
}

static bool collide(const struct chario_region *a, const struct chario_region *b)
{
	return a->number == b->number || (a->offset < b->offset + b->bytes &&
					  b->offset < a->offset + a->bytes);
}

static bool is_valid(const struct chario_disk *disk, const struct chario_region *table,
		     u32 count)
{
	u32 i, j;

	for (i = 0; i < count; i++) {
		if (!is_on(disk, &table[i]))
			return false;
		for (j = 0; j < i; j++)
			if (collide(&table[i], &table[j]))
				return false;
	}
	return true;
}

static bool is_to_leave(const struct chario_node *node, const struct chario_region *table,
			u32 count)
{
	return node->number && !has(table, count, node);
}

/*
 * Let nobody open the regions that a table lacks.  Returns false, and changes nothing, if one of
 * them is open.  Under disk->node_lock.
 */
static bool shut_missing(struct chario_disk *disk, const struct chario_region *table, u32 count)
{
	struct chario_node *node;
	bool is_open = false;

	spin_lock(&disk->files_lock);
	list_for_each_entry(node, &disk->nodes, entry)
		is_open |= node->files && is_to_leave(node, table, count);
	list_for_each_entry(node, &disk->nodes, entry)
		if (!is_open && is_to_leave(node, table, count))
			node->leaves = true;
	spin_unlock(&disk->files_lock);
	return !is_open;
}

static const struct chario_node *find(const struct chario_disk *disk, u32 number)
{
	const struct chario_node *node;

	list_for_each_entry(node, &disk->nodes, entry)
		if (node->number == number)
			return node;
	return NULL;
}

/* Replace the regions.  Under disk->node_lock. */
static int replace(struct chario_disk *disk, const struct chario_region *table, u32 count)
{
	struct chario_node *node, *next;
	int ret = 0;
	u32 i;

	list_for_each_entry_safe(node, next, &disk->nodes, entry)
		if (is_to_leave(node, table, count))
			take_away(node);
	for (i = 0; i < count && !ret; i++)
		if (!find(disk, table[i].number))
			ret = add(disk, &table[i]);
	return ret;
}

/**
 * chario_regions_set() - replace the regions of a disk
 * @disk: a registered disk
 * @table: the new regions
 * @count: number of regions, up to CHARIO_REGIONS_MAX
 *
 * Context: may sleep.
 * Return: see &struct chario_regions.
 */
int chario_regions_set(struct chario_disk *disk, const struct chario_region *table,
		       u32 count)
{
	int ret;

	if (!is_valid(disk, table, count))
		return -EINVAL;
	mutex_lock(&disk->node_lock);
	if (disk->node.leaves)
		ret = -ENODEV;
	else if (!shut_missing(disk, table, count))
		ret = -EBUSY;
	else
		ret = replace(disk, table, count);
	mutex_unlock(&disk->node_lock);
	return ret;
}

/**
 * chario_regions_remove() - take away all regions of a disk that is being taken away
 * @disk: the disk
 *
 * Context: may sleep; under disk->node_lock.
 */
void chario_regions_remove(struct chario_disk *disk)
{
	struct chario_node *node, *next;

	list_for_each_entry_safe(node, next, &disk->nodes, entry)
		if (node->number)
			take_away(node);
}
