// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages become segments: memory as the device sees it.
 *
 * Neighbouring pages are a run, and each run becomes a segment, so that a command
 * into a huge page costs one mapping.
 *
 * To map a run costs next to nothing if the device sees memory as the CPU does.
 * Behind an IOMMU it costs an address range and, worse, a flush of the IOMMU's cache
 * when the range is unmapped.  There the runs of a command are mapped as one list,
 * which gets one range and is flushed once.
 */
#include <linux/iommu.h>
#include <linux/scatterlist.h>

#include "memory/pages.h"

/* Returns the end of the run at @pages; compares four pages at a time for speed. */
static inline struct page *const *end_of_run(struct page *const *pages,
					     struct page *const *end)
{
	struct page *next = *pages++ + 1;

	while (pages + 4 <= end) {
		if (pages[0] != next || pages[1] != next + 1 ||
		    pages[2] != next + 2 || pages[3] != next + 3)
			break;
		pages += 4;
		next += 4;
	}
	while (pages < end && *pages == next) {
		pages++;
		next++;
	}
	return pages;
}

#ifdef CONFIG_IOMMU_DMA
/**
 * chario_map_wants_list() - tell if the runs of a command are mapped together
 * @dev: the device that does the DMA, bound to its driver; or NULL
 */
bool chario_map_wants_list(struct device *dev)
{
	struct iommu_domain *domain = dev ? iommu_get_domain_for_dev(dev) : NULL;

	return domain && iommu_is_dma_domain(domain);
}
#else
bool chario_map_wants_list(struct device *dev)
{
	return false;
}
#endif

/**
 * chario_unmap_runs() - chario_unmap() for any number of segments
 * @q: queue of the command
 * @cmd: a command whose memory the device can no longer touch
 */
void chario_unmap_runs(struct chario_queue *q, struct chario_command *cmd)
{
	const enum dma_data_direction direction = chario_map_direction(cmd->req->op);
	const struct chario_segment *seg = cmd->segments;
	const struct chario_segment *end = seg + cmd->nr_segments;

	/* Memory of bios that the device sees as the CPU does. */
	if (unlikely(!q->dma_dev))
		return;
	if (unlikely(q->has_lists)) {
		dma_unmap_sgtable(q->dma_dev, chario_queue_list(q, cmd),
				  direction, 0);
		return;
	}
	for (; seg < end; seg++)
		dma_unmap_page(q->dma_dev, seg->addr, seg->bytes, direction);
}

/* Fill in a scatterlist with the runs of a command. */
static void map_fill_list(struct sg_table *list, const struct chario_command *cmd)
{
	struct page *const *page = cmd->pages;
	struct page *const *end = page + cmd->nr_pages;
	struct scatterlist *sg = (struct scatterlist *)(list + 1);

	list->sgl = sg;
	/* Initialise the entries each time: dma_map_sgtable() has written to them. */
	sg_init_table(sg, cmd->nr_pages);
	sg_set_page(sg, *page, PAGE_SIZE - cmd->page_offset, cmd->page_offset);
	while (++page < end) {
		if (*page == page[-1] + 1)
			sg->length += PAGE_SIZE;
		else
			sg_set_page(++sg, *page, PAGE_SIZE, 0);
	}
	/* The command may end inside the last page. */
	sg->length -= -(cmd->page_offset + cmd->bytes) & ~PAGE_MASK;
	list->orig_nents = sg + 1 - list->sgl;
}

/* Add memory in one piece as segments of up to @most bytes, 0 for any number. */
static inline struct chario_segment *
add_segments(struct chario_segment *seg, dma_addr_t addr, u32 left, u32 most)
{
	for (; unlikely(most && left > most); seg++) {
		seg->addr = addr;
		seg->bytes = most;
		addr += seg->bytes;
		left -= seg->bytes;
	}
	seg->addr = addr;
	seg->bytes = left;
	return seg + 1;
}

/**
 * chario_map_list() - map the scatterlist of a command
 * @q: queue of the command, which has lists
 * @cmd: a command with a filled list; its segments are filled in.  What the device sees
 *	in one piece is one segment
 *
 * Return: as chario_map().
 */
int chario_map_list(struct chario_queue *q, struct chario_command *cmd)
{
	struct sg_table *list = chario_queue_list(q, cmd);
	const u32 most = q->segment_pages * PAGE_SIZE;
	struct chario_segment *seg = cmd->segments;
	const struct scatterlist *sg;

	if (unlikely(dma_map_sgtable(q->dma_dev, list,
				     chario_map_direction(cmd->req->op), 0)))
		return -EIO; /* GCOVR_EXCL_LINE: IOMMU addresses never run out */
	for (sg = list->sgl; sg < list->sgl + list->nents; sg++)
		seg = add_segments(seg, sg_dma_address(sg), sg_dma_len(sg), most);
	cmd->nr_segments = seg - cmd->segments;
	cmd->nr_runs = cmd->nr_pages;
	return 0;
}

/* Map the runs as a list. */
static int map_list(struct chario_queue *q, struct chario_command *cmd)
{
	map_fill_list(chario_queue_list(q, cmd), cmd);
	return chario_map_list(q, cmd);
}

/* Returns the end of the run at @pages, after @most pages at the latest if not 0. */
static inline struct page *const *end_of_part(struct page *const *pages,
					      struct page *const *end,
					      unsigned int most)
{
	return end_of_run(pages, most ? min(end, pages + most) : end);
}

static int map_parts(struct chario_queue *q, struct chario_command *cmd);

/* Map each run, or each @most pages of it where that is not 0, as a segment. */
static __always_inline int map_each(struct chario_queue *q,
				    struct chario_command *cmd, unsigned int most)
{
	const enum dma_data_direction direction = chario_map_direction(cmd->req->op);
	struct chario_segment *seg = cmd->segments;
	struct page *const *pages = cmd->pages;
	struct page *const *end = pages + cmd->nr_pages;
	struct page *const *next = end_of_part(pages, end, most);
	u32 offset = cmd->page_offset;
	u32 left = cmd->bytes;

	if (!most && unlikely(q->maps_slowly && (next < end || q->segment_pages)))
		return q->has_lists ? map_list(q, cmd) : map_parts(q, cmd);
	for (;;) {
		seg->bytes = min_t(u32, left, (next - pages) * PAGE_SIZE -
					      offset);
		seg->addr = dma_map_page(q->dma_dev, *pages, offset, seg->bytes,
					 direction);
		if (unlikely(dma_mapping_error(q->dma_dev, seg->addr)))
			goto err_unmap;
		left -= seg->bytes;
		seg++;
		if (!left)
			break;
		pages = next;
		offset = 0;
		next = end_of_part(pages, end, most);
	}
	cmd->nr_segments = seg - cmd->segments;
	cmd->nr_runs = cmd->nr_segments;
	return 0;

err_unmap:
	for (; seg > cmd->segments; seg--)
		dma_unmap_page(q->dma_dev, seg[-1].addr, seg[-1].bytes,
			       direction);
	return -EIO;
}

static noinline int map_parts(struct chario_queue *q, struct chario_command *cmd)
{
	return map_each(q, cmd, q->segment_pages);
}

/**
 * chario_map_runs() - chario_map() for more than one page
 * @q: queue of the command, with a DMA device
 * @cmd: a command with its pages; its segments are filled in
 *
 * Return: as chario_map().
 */
int chario_map_runs(struct chario_queue *q, struct chario_command *cmd)
{
	return map_each(q, cmd, 0);
}
