// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows: physical memory that is not Linux's, such as that of a sensor, an FPGA or
 * a scratchpad, or RAM that the kernel was told to leave alone.
 *
 * Two parties must agree.  The board's device tree or an administrator opens a range,
 * by the module parameter or later by its file in sysfs.  System RAM and ranges that
 * a driver has claimed are refused.  The range is claimed, so that no driver gets it
 * while it is open.
 * Then a caller with CAP_SYS_RAWIO makes a buffer inside.  Buffers and mappings
 * count as users: a range in use cannot be closed.
 *
 * The device reaches the memory as a resource, through its IOMMU if it has one.  The
 * CPU's mapping is uncached, so that both see the same bytes even if DMA is not
 * cache-coherent.
 */
#include <linux/capability.h>
#include <linux/ctype.h>
#include <linux/ioport.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/of_address.h>
#include <linux/security.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "memory/buffer.h"

/* Largest piece in a scatterlist, well within its 32-bit length. */
#define PIECE_BYTES	((u64)SZ_1G)

#define MAX_TEXT	512

/**
 * struct opening - a range of physical memory that is open
 * @node: entry of the list of ranges
 * @start: physical address
 * @bytes: length in bytes, whole pages
 * @users: number of buffers and mappings
 */
struct opening {
	struct list_head node;
	u64 start;
	u64 bytes;
	unsigned long users;
};

static DEFINE_MUTEX(lock); /* all below, and users of ranges */
static LIST_HEAD(ranges);
static bool is_up;
static char text_at_load[MAX_TEXT];

static int refuse(u64 start, u64 bytes, const char *why, int ret)
{
	pr_warn("chario: window 0x%llx+0x%llx refused: %s\n", start, bytes,
		why);
	return ret;
}

static int check_range(u64 start, u64 bytes)
{
	if (!bytes || !PAGE_ALIGNED(start | bytes))
		return refuse(start, bytes, "not whole pages", -EINVAL);
	if (start + bytes - 1 < start || start + bytes - 1 > iomem_resource.end)
		return refuse(start, bytes, "behind the end of all memory",
			      -EINVAL);
	if (security_locked_down(LOCKDOWN_DEV_MEM))
		return refuse(start, bytes, "the kernel is locked down",
			      -EPERM);
	if (region_intersects(start, bytes, IORESOURCE_SYSTEM_RAM,
			      IORES_DESC_NONE) != REGION_DISJOINT)
		return refuse(start, bytes,
			      "part of it is System RAM; memmap=BYTES$ADDR on the kernel command line keeps Linux out",
			      -EPERM);
	return 0;
}

static int open_range(u64 start, u64 bytes)
{
	struct opening *range;
	int ret;

	ret = check_range(start, bytes);
	if (ret)
		return ret;
	range = kzalloc(sizeof(*range), GFP_KERNEL);
	if (!range)
		return -ENOMEM;
	if (!request_mem_region(start, bytes, "chario window")) {
		kfree(range);
		return refuse(start, bytes,
			      "a driver or another window has part of it, see /proc/iomem",
			      -EBUSY);
	}
	range->start = start;
	range->bytes = bytes;
	list_add_tail(&range->node, &ranges);
	return 0;
}

static void free_range(struct opening *range)
{
	list_del(&range->node);
	release_mem_region(range->start, range->bytes);
	kfree(range);
}

static int close_range(u64 start, u64 bytes)
{
	struct opening *range;

	list_for_each_entry(range, &ranges, node) {
		if (range->start != start || range->bytes != bytes)
			continue;
		if (range->users)
			return refuse(start, bytes, "it is in use", -EBUSY);
		free_range(range);
		return 0;
	}
	return refuse(start, bytes, "it is not open", -ENOENT);
}

static void close_all(void)
{
	struct opening *range, *next;

	list_for_each_entry_safe(range, next, &ranges, node)
		free_range(range);
}

/* Parse a size as memparse() does, but return false if it is no 64-bit number. */
static bool parse_bytes(const char *text, size_t length, u64 *value)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0;
	char number[24];
	const char *unit;

	if (!length || length >= sizeof(number) || !isdigit(*text))
		return false;
	memcpy(number, text, length);
	unit = strchr(units, toupper(number[length - 1]));
	if (unit) {
		shift = 10 * (unit - units + 1);
		length--;
	}
	number[length] = '\0';
	if (kstrtoull(number, 0, value) || *value > U64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

static bool parse_range(const char *text, u64 *start, u64 *bytes)
{
	const char *plus = strchr(text, '+');

	return plus && parse_bytes(text, plus - text, start) &&
	       parse_bytes(plus + 1, strlen(plus + 1), bytes);
}

/* Apply one word: ADDR+BYTES opens a range, -ADDR+BYTES closes it. */
static int window_change(const char *word)
{
	bool is_close = *word == '-';
	u64 start, bytes;

	if (!parse_range(word + is_close, &start, &bytes)) {
		pr_warn("chario: window \"%s\" refused: it is not ADDR+BYTES\n",
			word);
		return -EINVAL;
	}
	return is_close ? close_range(start, bytes) : open_range(start, bytes);
}

/* Apply words in order, up to the first that is refused.  Cuts the text up. */
static int change_all(char *text)
{
	char *word;
	int ret = 0;

	text = strim(text);
	while (!ret && (word = strsep(&text, ",")))
		ret = window_change(word);
	return ret;
}

/* Keep the text for later: an open range would stay if the module fails to load. */
static int keep_text(const char *text)
{
	if (strscpy(text_at_load, text, MAX_TEXT) >= 0)
		return 0;
	pr_warn("chario: windows= refused: it is longer than %u characters; open the others later, by /sys/module/chario/parameters/windows\n",
		MAX_TEXT - 1);
	return -EINVAL;
}

static int set_windows(const char *value, const struct kernel_param *param)
{
	char *text = kstrdup(value, GFP_KERNEL);
	int ret;

	if (!text)
		return -ENOMEM;
	mutex_lock(&lock);
	if (is_up)
		ret = change_all(text);
	else
		ret = keep_text(text);
	mutex_unlock(&lock);
	kfree(text);
	return ret;
}

static int get_windows(char *text, const struct kernel_param *param)
{
	struct opening *range;
	int length = 0;

	mutex_lock(&lock);
	list_for_each_entry(range, &ranges, node)
		length += scnprintf(text + length, PAGE_SIZE - length,
				    "0x%llx+0x%llx\n", range->start,
				    range->bytes);
	mutex_unlock(&lock);
	return length;
}

static const struct kernel_param_ops windows_ops = {
	.set	= set_windows,
	.get	= get_windows,
};
module_param_cb(windows, &windows_ops, NULL, 0600);
MODULE_PARM_DESC(windows, "Physical memory outside System RAM that buffers may be made of: ADDR+BYTES[,...]; later, -ADDR+BYTES closes one");

/* Open the ranges of a node; a refused range is logged, and does not stop the load. */
static void open_reserved(struct device_node *node) /* GCOVR_EXCL_FUNCTION: no device tree here */
{
	struct resource res;
	int i;

	for (i = 0; !of_address_to_resource(node, i, &res); i++)
		open_range(res.start, resource_size(&res));
}

/* Open reserved memory of the device tree that is compatible with "chario,window". */
static void open_tree(void)
{
	struct device_node *parent = of_find_node_by_path("/reserved-memory");
	struct device_node *node;

	for_each_available_child_of_node(parent, node)
		/* GCOVR_EXCL_START: no device tree here: see test_window_tree */
		if (of_device_is_compatible(node, "chario,window"))
			open_reserved(node);
		/* GCOVR_EXCL_STOP */
	of_node_put(parent);
}

/**
 * chario_window_open_all() - open the windows of device tree and module parameter
 *
 * Return: 0; or -errno if a window of the parameter was refused, then none is open.
 */
int chario_window_open_all(void)
{
	int ret = 0;

	mutex_lock(&lock);
	open_tree();
	if (*text_at_load)
		ret = change_all(text_at_load);
	if (ret)
		close_all();
	is_up = !ret;
	mutex_unlock(&lock);
	return ret;
}

/**
 * chario_window_close_all() - close all windows, which have no users left
 */
void chario_window_close_all(void)
{
	mutex_lock(&lock);
	is_up = false;
	close_all();
	mutex_unlock(&lock);
}

static struct opening *get_range(u64 start, u64 bytes)
{
	struct opening *range, *found = NULL;

	mutex_lock(&lock);
	list_for_each_entry(range, &ranges, node)
		if (start >= range->start && bytes <= range->bytes &&
		    start - range->start <= range->bytes - bytes)
			found = range;
	if (found)
		found->users++;
	mutex_unlock(&lock);
	return found;
}

static void add_user(struct opening *range)
{
	mutex_lock(&lock);
	range->users++;
	mutex_unlock(&lock);
}

static void put_range(struct opening *range)
{
	mutex_lock(&lock);
	range->users--;
	mutex_unlock(&lock);
}

static int window_acquire(struct chario_buffer *buf,
			  const struct chario_buffer_create *args)
{
	if (!capable(CAP_SYS_RAWIO))
		return -EPERM;
	if (!PAGE_ALIGNED(args->address | args->bytes))
		return -EINVAL;
	buf->own = get_range(args->address, args->bytes);
	if (!buf->own)
		return -ENXIO;
	buf->is_physical = true;
	buf->address = args->address;
	return 0;
}

static void window_release(struct chario_buffer *buf)
{
	put_range(buf->own);
}

static void window_unmap(struct chario_buffer *buf, struct device *dev)
{
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&buf->sgt, sg, i)
		if (sg_dma_len(sg))
			dma_unmap_resource(dev, sg_dma_address(sg),
					   sg_dma_len(sg),
					   chario_buffer_direction(buf),
					   CHARIO_RESOURCE_ATTRS);
	sg_free_table(&buf->sgt);
}

static int map_piece(struct device *dev, struct scatterlist *sg, u64 start,
		     u32 bytes, enum dma_data_direction direction)
{
	dma_addr_t addr = dma_map_resource(dev, start, bytes, direction,
					   CHARIO_RESOURCE_ATTRS);

	if (dma_mapping_error(dev, addr))
		return -EIO;
	sg_dma_address(sg) = addr;
	sg_dma_len(sg) = bytes;
	return 0;
}

static int window_map(struct chario_buffer *buf, struct device *dev)
{
	struct scatterlist *sg;
	u64 done = 0;
	int i, ret;

	ret = sg_alloc_table(&buf->sgt, DIV_ROUND_UP(buf->bytes, PIECE_BYTES),
			     GFP_KERNEL);
	if (ret)
		return ret;
	for_each_sgtable_sg(&buf->sgt, sg, i) {
		u32 bytes = min(buf->bytes - done, PIECE_BYTES);

		ret = map_piece(dev, sg, buf->address + done, bytes,
				chario_buffer_direction(buf));
		if (ret) {
			/* GCOVR_EXCL_START: x86-64 maps any address */
			window_unmap(buf, dev);
			return ret;
			/* GCOVR_EXCL_STOP */
		}
		done += bytes;
	}
	buf->dma = &buf->sgt;
	return 0;
}

static void window_open(struct vm_area_struct *vma)
{
	add_user(vma->vm_private_data);
}

static void window_close(struct vm_area_struct *vma)
{
	put_range(vma->vm_private_data);
}

static const struct vm_operations_struct vm_ops = {
	.open	= window_open,
	.close	= window_close,
};

static int map_memory(struct chario_buffer *buf, struct vm_area_struct *vma)
{
	int ret;

	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	ret = io_remap_pfn_range(vma, vma->vm_start, PHYS_PFN(buf->address),
				 vma->vm_end - vma->vm_start,
				 vma->vm_page_prot);
	if (ret)
		return ret;
	add_user(buf->own);
	vma->vm_private_data = buf->own;
	vma->vm_ops = &vm_ops;
	return 0;
}

const struct chario_buffer_ops chario_window_ops = {
	.acquire	= window_acquire,
	.release	= window_release,
	.map		= window_map,
	.unmap		= window_unmap,
	.mmap		= map_memory,
};
