/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The caller's memory: checked, held in place, mapped, and let go.
 *
 * The path of a command of one page is inline here; the rest is in pages.c and, for
 * segments, in map.c.
 */
#ifndef CHARIO_MEMORY_PAGES_H
#define CHARIO_MEMORY_PAGES_H

#include <linux/dma-mapping.h>
#include <linux/mm.h>

#include "types/disk.h"
#include "types/queue.h"

/* Largest number of pages that are pinned with one walk of the page tables. */
#define CHARIO_AHEAD_PAGES	128

/**
 * struct chario_ahead - pages pinned ahead, for the next commands of a call
 * @addr: user address of the first page that no command has taken yet
 * @next: index of this page
 * @end: index behind the last page
 * @pages: array of the pages; lives on the caller's stack
 */
struct chario_ahead {
	unsigned long addr;
	unsigned int next;
	unsigned int end;
	struct page *pages[CHARIO_AHEAD_PAGES];
};

static inline void chario_ahead_init(struct chario_ahead *ahead)
{
	ahead->addr = 0;
	ahead->next = 0;
	ahead->end = 0;
}

/* Let go of pages that no command has taken. */
static inline void chario_ahead_drop(struct chario_ahead *ahead)
{
	if (unlikely(ahead->next < ahead->end))
		unpin_user_pages(ahead->pages + ahead->next,
				 ahead->end - ahead->next);
	chario_ahead_init(ahead);
}

/* memory/pages.c */
int chario_pages_check_slow(const struct chario_disk *disk,
			    struct iov_iter *iter);
size_t chario_pages_element(const struct iov_iter *iter);
int chario_pages_pin(struct chario_command *cmd, struct iov_iter *iter,
		     struct chario_ahead *ahead, size_t wanted);
ssize_t chario_pages_fault_in(const struct iov_iter *iter, size_t bytes,
			      enum chario_op op);
bool chario_pages_is_dirty(const struct chario_command *cmd);
void chario_pages_keep(struct chario_command *cmd);
void chario_pages_unpin_slow(struct chario_command *cmd, bool mark_dirty);
void chario_pages_unpin_all(struct chario_request *req, bool mark_dirty);

/* memory/map.c */
bool chario_map_wants_list(struct device *dev);
int chario_map_list(struct chario_queue *q, struct chario_command *cmd);
int chario_map_runs(struct chario_queue *q, struct chario_command *cmd);
void chario_unmap_runs(struct chario_queue *q, struct chario_command *cmd);

/* Returns the address of the next memory; for user space only. */
static inline unsigned long chario_pages_address(const struct iov_iter *iter)
{
	if (likely(iter_is_ubuf(iter)))
		return (unsigned long)iter->ubuf + iter->iov_offset;
	return (unsigned long)iter_iov(iter)->iov_base + iter->iov_offset;
}

/* Returns whether the memory is in one piece, in user space. */
static inline bool chario_pages_is_piece(const struct iov_iter *iter)
{
	return iter_is_ubuf(iter) || (iter_is_iovec(iter) && iter->nr_segs == 1);
}

/* Advance @iter as iov_iter_advance() does, but only for memory in one piece. */
static inline void chario_pages_pass(struct iov_iter *iter, size_t bytes)
{
	iter->iov_offset += bytes;
	iter->count -= bytes;
}

/* Returns whether an address or a length is misaligned for a command. */
static inline bool chario_pages_is_misaligned(const struct chario_disk *disk,
					      unsigned long addr, size_t bytes)
{
	return (addr & disk->dma_mask) | (bytes & disk->grain_mask);
}

/**
 * chario_pages_check() - check if a disk can transfer to or from this memory
 * @disk: the disk
 * @iter: the memory, not empty
 *
 * Return: 0; EINVAL if an address is not aligned for DMA, if the length of a vector
 * element is not a multiple of the grain, or if the memory is of a kind that
 * cannot be pinned.
 */
static inline int chario_pages_check(const struct chario_disk *disk,
				     struct iov_iter *iter)
{
	if (unlikely(!iter_is_ubuf(iter)))
		return chario_pages_check_slow(disk, iter);
	return chario_pages_is_misaligned(disk, chario_pages_address(iter),
				       iter->count) ? -EINVAL : 0;
}

/* Returns the flags to pin memory that a device writes to, or reads. */
static inline unsigned int chario_pages_flags(enum chario_op op)
{
	return op == CHARIO_OP_READ ? FOLL_WRITE : 0;
}

/**
 * chario_pages_pin_user() - hold the memory of a command in place
 * @cmd: a command with its @req and @bytes; its pages are filled in
 * @addr: address in user space
 *
 * No page is faulted in: the wait would keep a command that others may want.
 *
 * Context: may sleep.
 * Return: 0; EFAULT if not all of the memory is present: give the command back and
 * call chario_pages_fault_in().
 */
static inline int chario_pages_pin_user(struct chario_command *cmd,
					unsigned long addr)
{
	int got;

	cmd->hold = CHARIO_HOLD_PIN;
	cmd->page_offset = offset_in_page(addr);
	cmd->nr_pages = PFN_UP(cmd->page_offset + cmd->bytes);
	got = chario_compat_pin_present(addr & PAGE_MASK, cmd->nr_pages,
					chario_pages_flags(cmd->req->op),
					cmd->pages);
	if (likely(got == cmd->nr_pages))
		return 0;
	if (got > 0)
		unpin_user_pages(cmd->pages, got);
	return -EFAULT;
}

/**
 * chario_pages_unpin() - let go of the memory of a command
 * @cmd: a command whose memory the device can no longer touch
 * @mark_dirty: true if the device has written to the memory; then this may sleep
 */
static inline void chario_pages_unpin(struct chario_command *cmd,
				      bool mark_dirty)
{
	if (likely(cmd->nr_pages == 1 && cmd->hold == CHARIO_HOLD_PIN &&
		   (!mark_dirty ||
		    folio_test_dirty(page_folio(cmd->pages[0])))))
		unpin_user_page(cmd->pages[0]);
	else
		chario_pages_unpin_slow(cmd, mark_dirty);
}

static inline enum dma_data_direction chario_map_direction(enum chario_op op)
{
	return op == CHARIO_OP_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
}

/**
 * chario_map() - map the pages of a command for the device
 * @q: queue of the command
 * @cmd: a command with its pages; its segments are filled in
 * @op: operation of its request
 *
 * Return: 0; EIO if the DMA layer refuses the memory.
 */
static inline int chario_map(struct chario_queue *q, struct chario_command *cmd,
			     enum chario_op op)
{
	struct chario_segment *seg = cmd->segments;

	cmd->nr_segments = 0;
	cmd->nr_runs = cmd->nr_pages;
	if (unlikely(!q->dma_dev))
		return 0;
	if (unlikely(cmd->nr_pages != 1))
		return chario_map_runs(q, cmd);
	seg->bytes = cmd->bytes;
	seg->addr = dma_map_page(q->dma_dev, cmd->pages[0], cmd->page_offset,
				 cmd->bytes, chario_map_direction(op));
	if (unlikely(dma_mapping_error(q->dma_dev, seg->addr)))
		return -EIO;
	cmd->nr_segments = 1;
	return 0;
}

/**
 * chario_unmap() - take the memory of a command back from the device
 * @q: queue of the command
 * @cmd: a command whose memory the device can no longer touch; if there are fewer runs
 *	than pages, its segments still tell which pages are neighbours
 * @op: operation of its request
 */
static inline void chario_unmap(struct chario_queue *q,
				struct chario_command *cmd, enum chario_op op)
{
	if (likely(cmd->nr_runs == 1))
		dma_unmap_page(q->dma_dev, cmd->segments[0].addr,
			       cmd->segments[0].bytes,
			       chario_map_direction(op));
	else
		chario_unmap_runs(q, cmd);
}

#endif /* CHARIO_MEMORY_PAGES_H */
