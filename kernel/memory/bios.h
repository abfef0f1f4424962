/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of bios, see bios.c.
 */
#ifndef CHARIO_MEMORY_BIOS_H
#define CHARIO_MEMORY_BIOS_H

#include <linux/blk-mq.h>

#include "memory/pages.h"

/* memory/bios.c */
int chario_bios_map_many(struct chario_queue *q, struct chario_command *cmd,
			 struct request *rq);

/*
 * Map a vector as a segment, for a queue with a DMA device.  Returns 0; EAGAIN if the DMA
 * layer has no room for it now.
 */
static __always_inline int chario_bios_map_vector(const struct chario_queue *q,
						  const struct chario_command *cmd,
						  struct bio_vec *bv,
						  struct chario_segment *seg)
{
	seg->bytes = bv->bv_len;
	seg->addr = dma_map_bvec(q->dma_dev, bv,
				 chario_map_direction(cmd->req->op), 0);
	return unlikely(dma_mapping_error(q->dma_dev, seg->addr)) ? -EAGAIN : 0;
}

/**
 * chario_bios_map() - map the memory of a block request for the device
 * @q: queue of the command
 * @cmd: a command with its @req; its segments and @page_offset are filled in.  It has no
 *	pages: the block layer keeps them in place
 * @rq: the block request, a read or a write
 *
 * Context: any but an interrupt handler.
 * Return: 0; EAGAIN if the DMA layer has no room now, such as bounce buffers: a request has no
 * more bytes than dma_max_mapping_size().
 */
static __always_inline int chario_bios_map(struct chario_queue *q,
					   struct chario_command *cmd,
					   struct request *rq)
{
	struct bio_vec bv = req_bvec(rq);

	cmd->nr_pages = 0;
	cmd->page_offset = offset_in_page(bv.bv_offset);
	if (unlikely(blk_rq_nr_phys_segments(rq) != 1 || !q->dma_dev))
		return chario_bios_map_many(q, cmd, rq);
	cmd->nr_segments = 1;
	cmd->nr_runs = 1;
	return chario_bios_map_vector(q, cmd, &bv, cmd->segments);
}

#endif /* CHARIO_MEMORY_BIOS_H */
