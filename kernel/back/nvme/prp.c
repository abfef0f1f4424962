// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PRP entries of segments (4.1.1), and the ranges of a discard in their place.
 *
 * The first entry may point into a page; all others are whole pages of the controller.
 * Two entries fit into the command; more are in the list that each command owns, which
 * never crosses a page.
 */
#include "nvme.h"

/*
 * Fills in entries for whole pages from @addr on, four at a time, because they may be
 * many.
 */
static inline __le64 *fill_run(__le64 *entry, dma_addr_t addr, dma_addr_t stop,
			       dma_addr_t page)
{
	for (; addr + 3 * page < stop; addr += 4 * page, entry += 4) {
		entry[0] = cpu_to_le64(addr);
		entry[1] = cpu_to_le64(addr + page);
		entry[2] = cpu_to_le64(addr + 2 * page);
		entry[3] = cpu_to_le64(addr + 3 * page);
	}
	for (; addr < stop; addr += page)
		*entry++ = cpu_to_le64(addr);
	return entry;
}

/* Fills in the list of a command with all its pages but the first. */
static unsigned int prp_fill_list(const struct chario_nvme_queue *nq,
				  const struct chario_command *cmd)
{
	const struct chario_segment *seg = cmd->segments;
	const struct chario_segment *end = seg + cmd->nr_segments;
	const dma_addr_t page = (dma_addr_t)nq->page_mask + 1;
	__le64 *list = nq->lists + cmd->tag * nq->list_bytes;
	dma_addr_t addr = (seg->addr | nq->page_mask) + 1;
	__le64 *entry = list;

	for (;;) {
		const dma_addr_t stop = seg->addr + seg->bytes;

		if (seg->bytes > page)
			entry = fill_run(entry, addr, stop, page);
		else if (addr < stop)
			*entry++ = cpu_to_le64(addr);
		if (++seg == end)
			return entry - list;
		addr = seg->addr;
	}
}

/**
 * chario_nvme_prp_build() - describe the memory of a command
 * @nq: queue of the command
 * @cmd: command with one segment at least
 * @dptr: data pointer of its NVMe command
 */
void chario_nvme_prp_build(const struct chario_nvme_queue *nq,
			   const struct chario_command *cmd,
			   union nvme_data_ptr *dptr)
{
	const struct chario_segment *seg = cmd->segments;
	unsigned int count;

	dptr->prp1 = cpu_to_le64(seg->addr);
	dptr->prp2 = 0;
	count = prp_fill_list(nq, cmd);
	if (!count)
		return;
	dptr->prp2 = count == 1 ?
		     *(__le64 *)(nq->lists + cmd->tag * nq->list_bytes) :
		     cpu_to_le64(nq->list_dma + cmd->tag * nq->list_bytes);
}

/**
 * chario_nvme_prp_fill_ranges() - describe the ranges of a discard
 * @nq: queue of the command
 * @cmd: the command, with no more ranges than chario_nvme_prp_max_ranges()
 *
 * They stand in the list of its slot, because the command has no other memory
 * (NVM Command Set 1.0 3.2.3).
 */
void chario_nvme_prp_fill_ranges(const struct chario_nvme_queue *nq,
				 const struct chario_command *cmd)
{
	const struct chario_disk_range *range = chario_command_ranges(cmd);
	const u32 shift = cmd->req->disk->block_shift;
	struct nvme_dsm_range *entry = nq->lists + cmd->tag * nq->list_bytes;
	unsigned int i;

	for (i = 0; i < cmd->nr_ranges; i++) {
		entry[i].cattr = 0;
		entry[i].nlb = cpu_to_le32(range[i].bytes >> shift);
		entry[i].slba = cpu_to_le64(range[i].offset >> shift);
	}
}

/**
 * chario_nvme_prp_max_ranges() - tell how many ranges a discard can have
 * @nq: a queue
 */
unsigned int chario_nvme_prp_max_ranges(const struct chario_nvme_queue *nq)
{
	return min_t(u32, nq->list_bytes / sizeof(struct nvme_dsm_range),
		     NVME_DSM_MAX_RANGES);
}
