// SPDX-License-Identifier: GPL-2.0-only
/*
 * Controller memory: buffers inside a drive, and other drives that reach them.
 *
 * The drive itself reaches its memory by the bus address that it has been told, without
 * an IOMMU in between, even if it imports its own memory as a dma-buf: what goes up to
 * the IOMMU need not come down to the same slot.  Other drives get the memory as a
 * resource, so through their own IOMMU.  The chipset decides if traffic between two
 * slots arrives, and gives no answer if it does not.  So the administrator says if it
 * does, by the module parameter `peer_to_peer`.
 *
 * The memory counts as locked, although it is no main memory: each buffer of it costs
 * main memory for its PRP lists.
 *
 * A drive that goes takes its memory away from all that have it mapped, and
 * waits for them.
 */
#include <linux/bitmap.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "memory/buffer.h"
#include "memory/cmb.h"
#include "memory/locked.h"

static bool peer_to_peer;
module_param(peer_to_peer, bool, 0444);
MODULE_PARM_DESC(peer_to_peer, "The chipset carries traffic between slots, so that drives may reach each other's controller memory (default N)");

/**
 * struct chario_cmb - the controller memory of a drive
 * @ref: reference count, for the drive and for each slice
 * @dev: the drive; only compared, because the memory may outlive it
 * @start: physical address, for the CPU and for other devices
 * @bus: bus address, for the drive
 * @memory: mapping for the CPU, which clears it; NULL if the drive has gone
 * @nr_pages: length in pages
 * @exports_lock: lock that protects @exports; taken outside a dma-buf's own lock
 * @exports: list of slices that are dma-bufs
 * @lock: lock that protects all below; taken inside a dma-buf's own lock
 * @nr_mapped: number of mappings of slices by other devices
 * @idle: wait queue for @nr_mapped to become 0
 * @used: bitmap of pages that are taken
 */
struct chario_cmb {
	struct kref ref;
	const struct device *dev;
	phys_addr_t start;
	u64 bus;
	void __iomem *memory;
	unsigned long nr_pages;
	struct mutex exports_lock; /* exports; taken outside a dma-buf's lock */
	struct list_head exports;
	struct mutex lock; /* all below; taken inside a dma-buf's lock */
	unsigned int nr_mapped;
	wait_queue_head_t idle;
	unsigned long *used;
};

/**
 * struct slice - a range of pages of controller memory
 * @ref: reference count, for the buffer and for each dma-buf
 * @cmb: the controller memory
 * @first: index of the first page
 * @nr_pages: length in pages
 * @locked: pages that count as locked, until the last reference has gone
 */
struct slice {
	struct kref ref;
	struct chario_cmb *cmb;
	unsigned long first;
	unsigned long nr_pages;
	struct chario_locked locked;
};

/**
 * struct export - a slice as a dma-buf
 * @node: entry of the list of exports
 * @slice: the slice; a reference
 * @dmabuf: the dma-buf; valid until its release
 */
struct export {
	struct list_head node;
	struct slice *slice;
	struct dma_buf *dmabuf;
};

/**
 * chario_cmb_create() - describe the controller memory of a drive
 * @dev: the drive
 * @start: physical address for the CPU, page-aligned
 * @bus: bus address for the drive
 * @bytes: length in bytes, whole pages
 *
 * Return: the memory, or NULL.  chario_cmb_put() gives it back.
 */
struct chario_cmb *chario_cmb_create(const struct device *dev,
				     phys_addr_t start, u64 bus, u64 bytes)
{
	struct chario_cmb *cmb = kzalloc(sizeof(*cmb), GFP_KERNEL);

	if (!cmb)
		return NULL;
	kref_init(&cmb->ref);
	mutex_init(&cmb->exports_lock);
	mutex_init(&cmb->lock);
	init_waitqueue_head(&cmb->idle);
	INIT_LIST_HEAD(&cmb->exports);
	cmb->dev = dev;
	cmb->start = start;
	cmb->bus = bus;
	cmb->nr_pages = bytes >> PAGE_SHIFT;
	cmb->used = bitmap_zalloc(cmb->nr_pages, GFP_KERNEL);
	cmb->memory = ioremap_wc(start, bytes);
	if (cmb->used && cmb->memory)
		return cmb;
	if (cmb->memory)
		iounmap(cmb->memory);
	bitmap_free(cmb->used);
	kfree(cmb);
	return NULL;
}

static void free_cmb(struct kref *ref)
{
	struct chario_cmb *cmb = container_of(ref, struct chario_cmb, ref);

	bitmap_free(cmb->used);
	kfree(cmb);
}

/**
 * chario_cmb_put() - drop the drive's reference to its memory
 * @cmb: the memory, revoked; may be NULL
 */
void chario_cmb_put(struct chario_cmb *cmb)
{
	if (cmb)
		kref_put(&cmb->ref, free_cmb);
}

/**
 * chario_cmb_revoke() - take the memory of a drive that goes away from its users
 * @cmb: the memory; may be NULL
 *
 * Importers in this module let go when their transfers have ended; importers that
 * cannot be told are waited for.
 */
void chario_cmb_revoke(struct chario_cmb *cmb)
{
	struct export *export;
	void __iomem *memory;

	if (!cmb)
		return;
	mutex_lock(&cmb->lock);
	memory = cmb->memory;
	cmb->memory = NULL;
	mutex_unlock(&cmb->lock);
	if (!memory)
		return;
	mutex_lock(&cmb->exports_lock);
	list_for_each_entry(export, &cmb->exports, node) {
		dma_resv_lock(export->dmabuf->resv, NULL);
		dma_buf_move_notify(export->dmabuf);
		dma_resv_unlock(export->dmabuf->resv);
	}
	mutex_unlock(&cmb->exports_lock);
	/* The number only falls from here on: a mapping of gone memory is refused. */
	wait_event(cmb->idle, !READ_ONCE(cmb->nr_mapped));
	iounmap(memory);
}

static void free_slice(struct kref *ref)
{
	struct slice *slice = container_of(ref, struct slice, ref);
	struct chario_cmb *cmb = slice->cmb;

	mutex_lock(&cmb->lock);
	bitmap_clear(cmb->used, slice->first, slice->nr_pages);
	mutex_unlock(&cmb->lock);
	chario_cmb_put(cmb);
	chario_locked_uncharge(&slice->locked);
	kfree(slice);
}

/* Take and clear pages of a slice: another user may have left data in them. */
static int take_pages(struct slice *slice)
{
	struct chario_cmb *cmb = slice->cmb;

	slice->first = bitmap_find_next_zero_area(cmb->used, cmb->nr_pages, 0,
						  slice->nr_pages, 0);
	if (slice->first >= cmb->nr_pages)
		return -ENOMEM;
	bitmap_set(cmb->used, slice->first, slice->nr_pages);
	memset_io(cmb->memory + slice->first * PAGE_SIZE, 0,
		  slice->nr_pages * PAGE_SIZE);
	return 0;
}

static int cmb_acquire(struct chario_buffer *buf,
		       const struct chario_buffer_create *args)
{
	struct chario_cmb *cmb = buf->disk->cmb;
	struct slice *slice;
	int ret;

	if (!cmb)
		return -EOPNOTSUPP;
	if (args->address)
		return -EINVAL;
	slice = kzalloc(sizeof(*slice), GFP_KERNEL_ACCOUNT);
	if (!slice)
		return -ENOMEM;
	kref_init(&slice->ref);
	slice->cmb = cmb;
	slice->nr_pages = PFN_UP(args->bytes);
	ret = chario_locked_charge(&slice->locked, slice->nr_pages);
	if (ret)
		goto err_free;
	mutex_lock(&cmb->lock);
	ret = cmb->memory ? take_pages(slice) : -ENODEV;
	mutex_unlock(&cmb->lock);
	if (ret)
		goto err_uncharge;
	kref_get(&cmb->ref);
	buf->own = slice;
	return 0;

err_uncharge:
	chario_locked_uncharge(&slice->locked);
err_free:
	kfree(slice);
	return ret;
}

static void cmb_release(struct chario_buffer *buf)
{
	struct slice *slice = buf->own;

	kref_put(&slice->ref, free_slice);
}

static u64 bus_address(const struct slice *slice)
{
	return slice->cmb->bus + slice->first * PAGE_SIZE;
}

static int cmb_map(struct chario_buffer *buf, struct device *dev)
{
	struct slice *slice = buf->own;
	int ret = sg_alloc_table(&buf->sgt, 1, GFP_KERNEL);

	if (ret)
		return ret;
	sg_dma_address(buf->sgt.sgl) = bus_address(slice);
	sg_dma_len(buf->sgt.sgl) = slice->nr_pages * PAGE_SIZE;
	buf->dma = &buf->sgt;
	return 0;
}

static void cmb_unmap(struct chario_buffer *buf, struct device *dev)
{
	sg_free_table(&buf->sgt);
}

/* Returns whether the importer is the drive that owns the memory. */
static bool is_own(const struct dma_buf_attachment *attach)
{
	const struct export *export = attach->dmabuf->priv;

	return attach->dev == export->slice->cmb->dev;
}

static int cmb_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	if (is_own(attach) || (peer_to_peer && attach->peer2peer))
		return 0;
	dev_warn_ratelimited(attach->dev,
			     "controller memory of another drive refused: %s\n",
			     peer_to_peer ? "the importer does not reach peers" :
			     "load chario with peer_to_peer=1 where the chipset carries traffic between slots");
	return -EOPNOTSUPP;
}

static int map_resource(const struct dma_buf_attachment *attach,
			struct scatterlist *sg,
			enum dma_data_direction direction)
{
	const struct export *export = attach->dmabuf->priv;
	const struct slice *slice = export->slice;
	size_t bytes = slice->nr_pages * PAGE_SIZE;
	dma_addr_t addr;

	if (is_own(attach)) {
		addr = bus_address(slice);
	} else {
		addr = dma_map_resource(attach->dev, slice->cmb->start +
					slice->first * PAGE_SIZE, bytes,
					direction, CHARIO_RESOURCE_ATTRS);
		if (dma_mapping_error(attach->dev, addr))
			return -EIO;
	}
	sg_dma_address(sg) = addr;
	sg_dma_len(sg) = bytes;
	return 0;
}

static struct sg_table *map_dma_buf(struct dma_buf_attachment *attach,
				    enum dma_data_direction direction)
{
	const struct export *export = attach->dmabuf->priv;
	struct chario_cmb *cmb = export->slice->cmb;
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	int ret;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, 1, GFP_KERNEL);
	if (ret)
		goto err_free;
	mutex_lock(&cmb->lock);
	ret = cmb->memory ? map_resource(attach, sgt->sgl, direction) : -ENODEV;
	cmb->nr_mapped += !ret;
	mutex_unlock(&cmb->lock);
	if (!ret)
		return sgt;
	sg_free_table(sgt);

err_free:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void unmap_dma_buf(struct dma_buf_attachment *attach,
			  struct sg_table *sgt,
			  enum dma_data_direction direction)
{
	const struct export *export = attach->dmabuf->priv;
	struct chario_cmb *cmb = export->slice->cmb;

	if (!is_own(attach))
		dma_unmap_resource(attach->dev, sg_dma_address(sgt->sgl),
				   sg_dma_len(sgt->sgl), direction,
				   CHARIO_RESOURCE_ATTRS);
	mutex_lock(&cmb->lock);
	WRITE_ONCE(cmb->nr_mapped, cmb->nr_mapped - 1);
	mutex_unlock(&cmb->lock);
	wake_up(&cmb->idle);
	sg_free_table(sgt);
	kfree(sgt);
}

static void release_export(struct dma_buf *dmabuf)
{
	struct export *export = dmabuf->priv;
	struct chario_cmb *cmb = export->slice->cmb;

	mutex_lock(&cmb->exports_lock);
	list_del(&export->node);
	mutex_unlock(&cmb->exports_lock);
	kref_put(&export->slice->ref, free_slice);
	kfree(export);
}

static const struct dma_buf_ops export_ops = {
	.attach		= cmb_attach,
	.map_dma_buf	= map_dma_buf,
	.unmap_dma_buf	= unmap_dma_buf,
	.release	= release_export,
};

static struct dma_buf *export_slice(struct chario_buffer *buf)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct slice *slice = buf->own;
	struct export *export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	struct dma_buf *dmabuf;

	if (!export)
		return ERR_PTR(-ENOMEM);
	info.ops = &export_ops;
	info.size = slice->nr_pages * PAGE_SIZE;
	info.flags = O_RDWR;
	info.priv = export;
	export->slice = slice;
	mutex_lock(&slice->cmb->exports_lock);
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		kfree(export);
	} else {
		export->dmabuf = dmabuf;
		kref_get(&slice->ref);
		list_add(&export->node, &slice->cmb->exports);
	}
	mutex_unlock(&slice->cmb->exports_lock);
	return dmabuf;
}

const struct chario_buffer_ops chario_cmb_ops = {
	.acquire	= cmb_acquire,
	.release	= cmb_release,
	.map		= cmb_map,
	.unmap		= cmb_unmap,
	.export		= export_slice,
};
