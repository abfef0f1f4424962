// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages become segments: memory as the device sees it.
 *
 * Neighbouring pages are mapped together, so that a command into a huge page
 * costs one mapping.
 */
#include "core/buffer.h"

static unsigned int run_length(const struct chario_command *cmd,
			       unsigned int first)
{
	struct page *const *page = &cmd->pages[first];
	unsigned int i, max = cmd->nr_pages - first;

	for (i = 1; i < max && page[i] == page[0] + i; i++)
		;
	return i;
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
	u32 offset = cmd->page_offset;
	u32 left = cmd->bytes;
	unsigned int i, nr;
	int ret;

	for (i = 0; left; i += nr) {
		u32 bytes;

		nr = run_length(cmd, i);
		bytes = min_t(u32, left, (nr << PAGE_SHIFT) - offset);
		ret = chario_map_run(q, cmd, cmd->pages[i], offset, bytes);
		if (unlikely(ret)) {
			chario_unmap(q, cmd);
			cmd->nr_segments = 0;
			return ret;
		}
		left -= bytes;
		offset = 0;
	}
	return 0;
}

/**
 * chario_unmap_runs() - chario_unmap() for any number of segments
 * @q: its queue
 * @cmd: the device can no longer touch its memory
 */
void chario_unmap_runs(struct chario_queue *q, struct chario_command *cmd)
{
	unsigned int i;

	for (i = 0; i < cmd->nr_segments; i++)
		dma_unmap_page(q->dma_dev, cmd->segments[i].addr,
			       cmd->segments[i].bytes,
			       chario_map_direction(cmd));
}
