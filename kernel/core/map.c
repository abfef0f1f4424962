// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages become segments: memory as the device sees it.
 *
 * Neighbouring pages are mapped together, so that a command into a huge page
 * costs one mapping.
 */
#include "core/pages.h"

/* Behind the neighbours of the first page; four at a time, they may be many. */
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

/**
 * chario_unmap_runs() - chario_unmap() for any number of segments
 * @q: its queue
 * @cmd: the device can no longer touch its memory
 */
void chario_unmap_runs(struct chario_queue *q, struct chario_command *cmd)
{
	const enum dma_data_direction direction = chario_map_direction(cmd->req->op);
	const struct chario_segment *seg = cmd->segments;
	const struct chario_segment *end = seg + cmd->nr_segments;

	for (; seg < end; seg++)
		dma_unmap_page(q->dma_dev, seg->addr, seg->bytes, direction);
}

/**
 * chario_map_runs() - chario_map() for more than one page
 * @q: its queue, with a DMA device
 * @cmd: has its pages; gets its segments
 *
 * Return: as chario_map().
 */
int chario_map_runs(struct chario_queue *q, struct chario_command *cmd)
{
	const enum dma_data_direction direction = chario_map_direction(cmd->req->op);
	struct chario_segment *seg = cmd->segments;
	struct page *const *pages = cmd->pages;
	struct page *const *end = pages + cmd->nr_pages;
	u32 offset = cmd->page_offset;
	u32 left = cmd->bytes;

	while (left) {
		struct page *const *next = end_of_run(pages, end);

		seg->bytes = min_t(u32, left, (next - pages) * PAGE_SIZE -
					      offset);
		seg->addr = dma_map_page(q->dma_dev, *pages, offset, seg->bytes,
					 direction);
		if (unlikely(dma_mapping_error(q->dma_dev, seg->addr)))
			goto err_unmap;
		left -= seg->bytes;
		seg++;
		pages = next;
		offset = 0;
	}
	cmd->nr_segments = seg - cmd->segments;
	return 0;

err_unmap:
	cmd->nr_segments = seg - cmd->segments;
	chario_unmap_runs(q, cmd);
	cmd->nr_segments = 0;
	return -EIO;
}
