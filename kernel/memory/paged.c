// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that has pages, registered or of the pool: mapped, synced, copied.
 *
 * CPU and device see the same bytes at the same time if DMA is cache-coherent and the
 * address that the device gets is that of the page itself.  Otherwise (with caches that
 * DMA does not look into, or bounce buffers of a device that cannot or must not reach
 * all memory) they may see different bytes, which move when somebody syncs.  Nobody
 * syncs on the hot path: such memory must be CHARIO_BUFFER_STREAMING, or it is refused.
 */
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/iommu.h>

#include "memory/buffer.h"

/*
 * Mapping and unmapping move no bytes, only syncs do, so that bytes which the CPU has
 * written meanwhile stay.  The same memory may also be in several buffers, each with a
 * mapping of its own.
 */
#define ATTRS	DMA_ATTR_SKIP_CPU_SYNC

/**
 * chario_paged_init() - describe the pages of a buffer
 * @buf: a buffer with its @pages, @nr_pages and @page_offset; its @sgt is filled in
 * @bytes: length of the buffer in bytes
 *
 * Return: 0 or ENOMEM.
 */
int chario_paged_init(struct chario_buffer *buf, u64 bytes)
{
	return sg_alloc_table_from_pages_segment(&buf->sgt, buf->pages,
						 buf->nr_pages,
						 buf->page_offset, bytes,
						 buf->disk->max_mapping_bytes,
						 GFP_KERNEL_ACCOUNT);
}

/* Returns the physical address that the device reaches by a DMA address. */
static phys_addr_t reached(struct device *dev, dma_addr_t addr)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	return domain ? iommu_iova_to_phys(domain, addr) :
			dma_to_phys(dev, addr);
}

/*
 * Returns whether the device reaches other memory than the pages.  Pieces that have
 * been joined are mapped by an IOMMU's page tables, without bounce buffers.
 */
static bool is_bounced(struct device *dev, const struct sg_table *sgt)
{
	struct scatterlist *sg;
	int i;

	if (sgt->nents != sgt->orig_nents)
		return false;
	for_each_sgtable_sg(sgt, sg, i)
		if (reached(dev, sg_dma_address(sg)) != sg_phys(sg))
			return true;
	return false;
}

/**
 * chario_paged_map() - map a buffer for the device
 * @buf: a buffer with its @sgt
 * @dev: the device
 *
 * Return: 0; EOPNOTSUPP if the buffer would have to be synced and is not streaming;
 * EIO, ENOMEM.
 */
int chario_paged_map(struct chario_buffer *buf, struct device *dev)
{
	int ret = dma_map_sgtable(dev, &buf->sgt, chario_buffer_direction(buf),
				  ATTRS);

	if (ret)
		return ret == -ENOMEM ? ret : -EIO;
	buf->dma = &buf->sgt;
	buf->apart = !dev_is_dma_coherent(dev) || is_bounced(dev, &buf->sgt);
	if (!buf->apart)
		return 0;
	if (!buf->streaming) {
		chario_paged_unmap(buf, dev);
		return -EOPNOTSUPP;
	}
	/* The device has the bytes until the user of the buffer syncs. */
	chario_paged_sync(buf, dev, 0, buf->bytes, true);
	return 0;
}

/**
 * chario_paged_unmap() - undo chario_paged_map()
 * @buf: a buffer without commands in flight
 * @dev: the device
 */
void chario_paged_unmap(struct chario_buffer *buf, struct device *dev)
{
	dma_unmap_sgtable(dev, &buf->sgt, chario_buffer_direction(buf),
			  ATTRS);
}

/**
 * chario_paged_sync() - hand bytes over between CPU and device
 * @buf: a mapped buffer
 * @dev: the device
 * @offset: byte offset of the first byte
 * @bytes: length in bytes; inside the buffer
 * @for_device: true to hand them to the device, false for the CPU
 */
void chario_paged_sync(struct chario_buffer *buf, struct device *dev,
		       u64 offset, u64 bytes, bool for_device)
{
	enum dma_data_direction direction = chario_buffer_direction(buf);
	struct scatterlist *sg;
	int i;

	for_each_sgtable_dma_sg(&buf->sgt, sg, i) {
		u64 len = sg_dma_len(sg);
		u64 part = offset < len ? min(bytes, len - offset) : 0;

		if (part && for_device)
			dma_sync_single_for_device(dev,
						   sg_dma_address(sg) + offset,
						   part, direction);
		else if (part)
			dma_sync_single_for_cpu(dev,
						sg_dma_address(sg) + offset,
						part, direction);
		bytes -= part;
		offset = part ? 0 : offset - len;
		if (!bytes)
			return;
	}
}

/**
 * chario_paged_copy() - move bytes by the CPU, for back ends without DMA
 * @buf: the buffer
 * @offset: byte offset in the buffer
 * @mem: memory to copy from or to
 * @bytes: length in bytes; inside the buffer
 * @to_buffer: true to copy to the buffer, false to copy from it
 */
void chario_paged_copy(const struct chario_buffer *buf, u64 offset, void *mem,
		       size_t bytes, bool to_buffer)
{
	offset += buf->page_offset;
	while (bytes) {
		struct page *page = buf->pages[offset >> PAGE_SHIFT];
		size_t from = offset_in_page(offset);
		size_t part = min(bytes, PAGE_SIZE - from);

		if (to_buffer)
			memcpy_to_page(page, from, mem, part);
		else
			memcpy_from_page(mem, page, from, part);
		mem += part;
		offset += part;
		bytes -= part;
	}
}
