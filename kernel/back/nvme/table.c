// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PRP table of a buffer: its PRP lists, made once.
 *
 * A PRP list pointer may point into the middle of a list (4.1.1), so a list serves
 * every slice that begins in its first half: list n holds the entries of the pages from
 * n * half on, a full page of entries.  Each entry is in two lists, and no list needs a
 * chain pointer, whose slot would have to hold an entry for slices that end exactly
 * there.
 *
 * The first entry of a command may point into a page; all others are whole
 * pages of the controller, whatever the offset of the slice.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "memory/buffer.h"
#include "nvme.h"
#include "table.h"

static bool buffer_tables = true;
module_param(buffer_tables, bool, 0444);
MODULE_PARM_DESC(buffer_tables, "The PRP lists of a buffer are made once, with the buffer, rather than for each command (default Y)");

/**
 * chario_nvme_has_tables() - do buffers have tables?
 */
bool chario_nvme_has_tables(void)
{
	return buffer_tables;
}

static void set_entry(struct chario_nvme_table *table, u64 page,
		      dma_addr_t addr)
{
	const u32 half = 1U << table->half_shift;
	u64 list = page >> table->half_shift;
	u32 slot = page & (half - 1);

	table->lists[list].entries[slot] = cpu_to_le64(addr);
	if (list)
		table->lists[list - 1].entries[half + slot] = cpu_to_le64(addr);
}

/*
 * Fills in a table.  Returns 0; EINVAL when there is a gap in a page, which a PRP list
 * cannot express, or when the memory is shorter than the buffer.
 */
static int table_fill(struct chario_nvme_table *table, const struct sg_table *sgt,
		      u64 left)
{
	const u32 page_bytes = 1U << table->page_shift;
	struct scatterlist *sg;
	dma_addr_t addr, end;
	u64 page = 0;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		addr = sg_dma_address(sg);
		end = addr + min_t(u64, left, sg_dma_len(sg));
		left -= end - addr;
		if (i == 0)
			table->offset = addr & (page_bytes - 1);
		else if (addr & (page_bytes - 1))
			return -EINVAL;
		if (left && (end & (page_bytes - 1)))
			return -EINVAL;
		for (addr &= ~(dma_addr_t)(page_bytes - 1); addr < end;
		     addr += page_bytes)
			set_entry(table, page++, addr);
		if (!left)
			return 0;
	}
	return -EINVAL;
}

static void free_table(struct chario_nvme *ctrl,
		       struct chario_nvme_table *table)
{
	while (table->nr_lists) {
		struct chario_nvme_list *list = &table->lists[--table->nr_lists];

		dma_free_coherent(&ctrl->pdev->dev, 1U << table->page_shift,
				  list->entries, list->dma);
	}
	kvfree(table);
}

static struct chario_nvme_table *alloc_table(struct chario_nvme *ctrl,
					     u64 bytes)
{
	const unsigned int half_shift = ctrl->page_shift - 4;
	/* The first byte may be anywhere in its page. */
	u64 nr_pages = (bytes >> ctrl->page_shift) + 2;
	u64 nr_lists = (nr_pages >> half_shift) + 1;
	struct chario_nvme_table *table;

	if (nr_lists > UINT_MAX)
		return NULL;
	table = kvzalloc(struct_size(table, lists, nr_lists),
			 CHARIO_BUFFER_GFP);
	if (!table)
		return NULL;
	table->page_shift = ctrl->page_shift;
	table->half_shift = half_shift;
	while (table->nr_lists < nr_lists) {
		struct chario_nvme_list *list = &table->lists[table->nr_lists];

		list->entries = dma_alloc_coherent(&ctrl->pdev->dev,
						   1U << table->page_shift,
						   &list->dma,
						   CHARIO_BUFFER_GFP);
		if (!list->entries) {
			free_table(ctrl, table);
			return NULL;
		}
		table->nr_lists++;
	}
	return table;
}

/**
 * chario_nvme_table_create() - make the PRP lists of a buffer
 * @buf: a buffer whose memory is mapped for the controller
 *
 * Return: 0; ENOMEM; EINVAL when the pieces of the memory do not fit together in pages.
 */
int chario_nvme_table_create(struct chario_buffer *buf)
{
	struct chario_nvme *ctrl = to_nvme(buf->disk->drive);
	struct chario_nvme_table *table = alloc_table(ctrl, buf->bytes);
	int ret;

	if (!table)
		return -ENOMEM;
	ret = table_fill(table, buf->dma, buf->bytes);
	if (ret) {
		/* GCOVR_EXCL_START: exporters here have whole pages */
		free_table(ctrl, table);
		return ret;
		/* GCOVR_EXCL_STOP */
	}
	buf->back = table;
	return 0;
}

/**
 * chario_nvme_table_destroy() - undo chario_nvme_table_create()
 * @buf: a buffer without commands in flight
 */
void chario_nvme_table_destroy(struct chario_buffer *buf)
{
	free_table(to_nvme(buf->disk->drive), buf->back);
	buf->back = NULL;
}

/**
 * chario_nvme_table_copy() - copy the entries of a slice that is too long for one list
 * @table: table of the buffer
 * @nq: queue of the command
 * @tag: tag of the command, whose own list the entries are copied to
 * @page: page of the first entry
 * @count: number of entries
 *
 * Return: DMA address of the command's list.
 */
u64 chario_nvme_table_copy(const struct chario_nvme_table *table,
			   const struct chario_nvme_queue *nq, unsigned int tag,
			   u64 page, unsigned int count)
{
	__le64 *list = nq->lists + tag * nq->list_bytes;
	unsigned int i;

	for (i = 0; i < count; i++)
		list[i] = *chario_nvme_table_entry(table, page + i);
	return nq->list_dma + tag * nq->list_bytes;
}
