// SPDX-License-Identifier: GPL-2.0-only
/*
 * The vectors of bios become segments: memory that the block layer keeps in place until
 * its request has ended.
 *
 * The limits of a block disk see to it that a request has no more vectors than a command
 * has segments, and that they meet only where the device can bear it.  Without a DMA
 * device a segment has the address that the CPU knows, and nothing is mapped.
 */
#include <linux/scatterlist.h>

#include "memory/bios.h"

/* Map the vectors together, see map.c. */
static int bios_map_list(struct chario_queue *q, struct chario_command *cmd,
			 struct request *rq)
{
	struct sg_table *list = chario_queue_list(q, cmd);

	list->sgl = (struct scatterlist *)(list + 1);
	sg_init_table(list->sgl, q->max_pages);
	list->orig_nents = chario_compat_map_sg(rq, list->sgl);
	return chario_map_list(q, cmd) ? -EAGAIN : 0;
}

static inline int bios_map_vector(const struct chario_queue *q,
				  const struct chario_command *cmd,
				  struct bio_vec *bv, struct chario_segment *seg)
{
	if (likely(q->dma_dev))
		return chario_bios_map_vector(q, cmd, bv, seg);
	seg->bytes = bv->bv_len;
	seg->addr = page_to_phys(bv->bv_page) + bv->bv_offset;
	return 0;
}

/*
 * Map a run as the next segments, which are as long as they may be: the block layer counts in
 * the same way.
 */
static int bios_add_run(struct chario_queue *q, struct chario_command *cmd,
			struct bio_vec run)
{
	const u32 most = q->segment_pages * PAGE_SIZE ?: U32_MAX;
	u32 left = run.bv_len;

	for (;;) {
		run.bv_len = min(left, most);
		if (unlikely(bios_map_vector(q, cmd, &run,
					     &cmd->segments[cmd->nr_segments])))
			return -EAGAIN;
		cmd->nr_segments++;
		left -= run.bv_len;
		if (!left)
			return 0;
		run.bv_offset += run.bv_len;
	}
}

static inline phys_addr_t start_of(const struct bio_vec *bv)
{
	return page_to_phys(bv->bv_page) + bv->bv_offset;
}

/*
 * Map the runs of several bios.  Their vectors may be neighbours in memory, and begin and
 * end anywhere then: only between runs the device's seams count.
 */
static noinline int bios_map_runs(struct chario_queue *q, struct chario_command *cmd,
				  struct request *rq)
{
	struct bio_vec bv, run = { };
	struct req_iterator iter;
	int ret = 0;

	rq_for_each_bvec(bv, rq, iter) {
		if (run.bv_len && start_of(&run) + run.bv_len == start_of(&bv)) {
			run.bv_len += bv.bv_len;
			continue;
		}
		if (run.bv_len)
			ret = bios_add_run(q, cmd, run);
		if (unlikely(ret))
			return ret;
		run = bv;
	}
	return bios_add_run(q, cmd, run);
}

/* Map the vectors of one bio, of which no two are neighbours. */
static inline int bios_map_vectors(struct chario_queue *q, struct chario_command *cmd,
				   struct bio *bio)
{
	struct chario_segment *seg = cmd->segments;
	struct bvec_iter iter;
	struct bio_vec bv;

	bio_for_each_bvec(bv, bio, iter) {
		if (unlikely(bios_map_vector(q, cmd, &bv, seg)))
			break;
		seg++;
	}
	cmd->nr_segments = seg - cmd->segments;
	return iter.bi_size ? -EAGAIN : 0;
}

/* Map each vector, or run of vectors, by itself. */
static int bios_map_each(struct chario_queue *q, struct chario_command *cmd,
			 struct request *rq)
{
	int ret;

	cmd->nr_segments = 0;
	cmd->nr_runs = 0;
	if (likely(rq->bio == rq->biotail && !q->segment_pages))
		ret = bios_map_vectors(q, cmd, rq->bio);
	else
		ret = bios_map_runs(q, cmd, rq);
	if (unlikely(ret)) {
		chario_unmap_runs(q, cmd);
		return ret;
	}
	if (q->dma_dev)
		cmd->nr_runs = cmd->nr_segments;
	return 0;
}

/**
 * chario_bios_map_many() - chario_bios_map() for more than one vector
 * @q: queue of the command
 * @cmd: a command with its @page_offset; its segments are filled in
 * @rq: the block request
 *
 * Return: as chario_bios_map().
 */
int chario_bios_map_many(struct chario_queue *q, struct chario_command *cmd,
			 struct request *rq)
{
	return q->has_lists ? bios_map_list(q, cmd, rq) :
			      bios_map_each(q, cmd, rq);
}
