/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PRP table of a buffer, as each command on it reads it: see table.c.
 */
#ifndef CHARIO_NVME_TABLE_H
#define CHARIO_NVME_TABLE_H

#include "nvme.h"
#include "types/request.h"

/**
 * struct chario_nvme_list - one page of PRP entries
 * @entries: the entries
 * @dma: DMA address of @entries
 */
struct chario_nvme_list {
	__le64 *entries;
	dma_addr_t dma;
};

/**
 * struct chario_nvme_table - the PRP entries of a buffer
 * @page_shift: shift of the controller's memory page
 * @half_shift: base-2 logarithm of half the entries of a list: each list begins so many
 *	pages later than the one before it
 * @offset: offset of the first byte of the buffer in its first page, in bytes
 * @nr_lists: length of @lists
 * @lists: lists of entries, see table.c
 */
struct chario_nvme_table {
	unsigned int page_shift;
	unsigned int half_shift;
	u32 offset;
	unsigned int nr_lists;
	struct chario_nvme_list lists[];
};

/* Pages of 4 KiB are the smallest of a controller, and often those of the kernel. */
static __always_inline unsigned int
table_shift(const struct chario_nvme_table *table)
{
	return PAGE_SHIFT == 12 ? 12 : table->page_shift;
}

static __always_inline unsigned int
half_shift(const struct chario_nvme_table *table)
{
	return table_shift(table) - 4;
}

static inline const __le64 *
chario_nvme_table_entry(const struct chario_nvme_table *table, u64 page)
{
	const struct chario_nvme_list *list = &table->lists[page >> half_shift(table)];

	return &list->entries[page & ((1U << half_shift(table)) - 1)];
}

u64 chario_nvme_table_copy(const struct chario_nvme_table *table,
			   const struct chario_nvme_queue *nq, unsigned int tag,
			   u64 page, unsigned int count);

/**
 * chario_nvme_table_look_up() - describe a slice of a buffer
 * @table: table of the buffer
 * @nq: queue of the command
 * @cmd: the command; its slice is inside the buffer
 * @dptr: data pointer of its NVMe command
 */
static __always_inline void
chario_nvme_table_look_up(const struct chario_nvme_table *table,
			  const struct chario_nvme_queue *nq,
			  const struct chario_command *cmd,
			  union nvme_data_ptr *dptr)
{
	const u32 half = 1U << half_shift(table);
	u64 from = table->offset + cmd->buffer_offset;
	u64 page = from >> table_shift(table);
	/* The number of entries behind the first. */
	u32 count = ((from + cmd->bytes - 1) >> table_shift(table)) - page;
	u64 prp1 = le64_to_cpu(*chario_nvme_table_entry(table, page)) +
		   (from & ((1U << table_shift(table)) - 1));
	u64 prp2 = 0;
	u32 slot;

	if (count) {
		slot = ++page & (half - 1);
		if (count == 1)
			prp2 = le64_to_cpu(*chario_nvme_table_entry(table, page));
		else if (likely(slot + count <= 2 * half))
			prp2 = table->lists[page >> half_shift(table)].dma +
			       slot * sizeof(__le64);
		else
			prp2 = chario_nvme_table_copy(table, nq, cmd->tag, page,
						      count);
	}
	dptr->prp1 = cpu_to_le64(prp1);
	dptr->prp2 = cpu_to_le64(prp2);
}

#endif /* CHARIO_NVME_TABLE_H */
