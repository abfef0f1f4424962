// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller's memory: checked, held in place, and let go.
 *
 * Memory of user space is pinned for each command (FOLL_PIN: the kernel then
 * knows that a device writes to it), whole pages of several commands at a time.
 * Memory that io_uring has registered, and that of the module itself, is held by
 * its owner for as long as it waits for the request.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>

#include "memory/pages.h"

static int check_vector(const struct chario_disk *disk,
			const struct iov_iter *iter)
{
	const struct iovec *iov = iter_iov(iter);
	size_t skip = iter->iov_offset;
	size_t left = iter->count;

	for (; left; iov++, skip = 0) {
		size_t bytes = min(iov->iov_len - skip, left);
		unsigned long addr = (unsigned long)iov->iov_base + skip;

		if (bytes && ((addr & disk->dma_mask) ||
			      (bytes & disk->grain_mask)))
			return -EINVAL;
		left -= bytes;
	}
	return 0;
}

/* Check that all pages but the first and the last are whole, as a command needs. */
static int check_bvec(const struct chario_disk *disk,
		      const struct iov_iter *iter)
{
	const struct bio_vec *bv = iter->bvec;
	size_t skip = iter->iov_offset;
	size_t left = iter->count;
	size_t start = bv->bv_offset + skip;

	/* Memory begins in its first piece, as iov_iter_advance() leaves it. */
	if (skip >= bv->bv_len || (start & disk->dma_mask) ||
	    (left & disk->grain_mask))
		return -EINVAL;
	for (;; bv++, skip = 0) {
		size_t bytes = min(bv->bv_len - skip, left);

		left -= bytes;
		if (!left)
			return 0;
		if (!PAGE_ALIGNED(bv->bv_offset + bv->bv_len) ||
		    !PAGE_ALIGNED(bv[1].bv_offset))
			return -EINVAL;
	}
}

/**
 * chario_pages_check_slow() - chario_pages_check() for vectors and bvecs
 * @disk: the disk
 * @iter: the memory, not empty; empty elements in front are skipped
 *
 * Return: as chario_pages_check().
 */
int chario_pages_check_slow(const struct chario_disk *disk,
			    struct iov_iter *iter)
{
	if (iter_is_iovec(iter)) {
		iov_iter_advance(iter, 0);
		return check_vector(disk, iter);
	}
	if (iov_iter_is_bvec(iter))
		return check_bvec(disk, iter);
	return -EINVAL;
}

/**
 * chario_pages_element() - return the length of the memory that is split as one
 * @iter: the memory, not empty
 *
 * Return: bytes up to the end of the vector element; all bytes if there is only one
 * element.
 */
size_t chario_pages_element(const struct iov_iter *iter)
{
	if (likely(!iter_is_iovec(iter)))
		return iter->count;
	return iov_iter_single_seg_count(iter);
}

/* Pin pages ahead anew, because too few are there for the whole next command. */
static int pin_anew(struct chario_ahead *ahead, unsigned long addr,
		    size_t wanted, unsigned int flags)
{
	unsigned int nr = min_t(size_t, PFN_DOWN(wanted), CHARIO_AHEAD_PAGES);
	int got;

	chario_ahead_drop(ahead);
	got = chario_compat_pin_present(addr, nr, flags, ahead->pages);
	if (got < 0)
		return -EFAULT;
	ahead->addr = addr;
	ahead->end = got;
	return 0;
}

/*
 * Pin the pages of a command.  If it has whole pages, those of the next commands are
 * pinned with the same walk of the page tables.  If commands share a page, each one
 * pins its own.
 */
static int pin_ahead(struct chario_command *cmd, unsigned long addr,
		     struct chario_ahead *ahead, size_t wanted)
{
	unsigned int flags = chario_pages_flags(cmd->req->op);
	unsigned int nr = PFN_DOWN(cmd->bytes);
	int ret;

	if (offset_in_page(addr | cmd->bytes) || nr > CHARIO_AHEAD_PAGES)
		return chario_pages_pin_user(cmd, addr);
	if (ahead->addr != addr || ahead->end - ahead->next < nr) {
		ret = pin_anew(ahead, addr, wanted, flags);
		if (unlikely(ret))
			return ret;
		if (unlikely(ahead->end < nr))
			return -EFAULT;
	}
	cmd->hold = CHARIO_HOLD_PIN;
	cmd->page_offset = 0;
	cmd->nr_pages = nr;
	memcpy(cmd->pages, ahead->pages + ahead->next,
	       nr * sizeof(*cmd->pages));
	ahead->next += nr;
	ahead->addr += cmd->bytes;
	return 0;
}

static noinline void take_bvec(struct chario_command *cmd, const struct iov_iter *iter)
{
	const struct bio_vec *bv = iter->bvec;
	size_t skip = iter->iov_offset;
	size_t left = cmd->bytes;

	cmd->page_offset = offset_in_page(bv->bv_offset + skip);
	cmd->nr_pages = 0;
	for (; left; bv++, skip = 0) {
		size_t from = bv->bv_offset + skip;
		size_t bytes = min(bv->bv_len - skip, left);
		unsigned int nr = PFN_UP(offset_in_page(from) + bytes);
		struct page *page = bv->bv_page + PFN_DOWN(from);

		while (nr--)
			cmd->pages[cmd->nr_pages++] = page++;
		left -= bytes;
	}
}

/**
 * chario_pages_pin() - hold the memory of a command in place
 * @cmd: a command with its @req and @bytes; its pages are filled in
 * @iter: position at the memory of the command; advanced past it
 * @ahead: pages pinned before, for this command and the next ones
 * @wanted: bytes of this memory that the request may want from here on; at least the
 *	bytes of the command
 *
 * Context: may sleep.
 * Return: as chario_pages_pin_user().
 */
int chario_pages_pin(struct chario_command *cmd, struct iov_iter *iter,
		     struct chario_ahead *ahead, size_t wanted)
{
	int ret = 0;

	if (unlikely(iov_iter_is_bvec(iter))) {
		cmd->hold = CHARIO_HOLD_CALLER;
		take_bvec(cmd, iter);
	} else {
		ret = pin_ahead(cmd, chario_pages_address(iter), ahead,
				wanted);
	}
	if (likely(!ret))
		iov_iter_advance(iter, cmd->bytes);
	return ret;
}

/* Largest number of pages that fault_in_piece() pins and unpins with one call. */
#define FAULT_IN_PAGES	32

/* Wait for the pages of a piece of memory; returns the bytes present, or -errno. */
static ssize_t fault_in_piece(unsigned long addr, size_t bytes,
			      unsigned int flags)
{
	unsigned int nr = min_t(size_t, PFN_UP(offset_in_page(addr) + bytes),
				FAULT_IN_PAGES);
	struct page *pages[FAULT_IN_PAGES];
	int got;

	got = pin_user_pages_fast(addr & PAGE_MASK, nr, flags, pages);
	if (fatal_signal_pending(current)) {
		unpin_user_pages(pages, max(got, 0));
		return -EINTR;
	}
	if (got <= 0)
		return got == -ENOMEM ? got : -EFAULT;
	unpin_user_pages(pages, got);
	return min(bytes, (size_t)got * PAGE_SIZE - offset_in_page(addr));
}

/**
 * chario_pages_fault_in() - wait for memory that is not present
 * @iter: position at the memory, of user space; not advanced
 * @bytes: length in bytes, at most iov_iter_count(@iter)
 * @op: operation that the memory is for
 *
 * The pages are not kept: the caller pins them afterwards, and calls again if one has
 * gone meanwhile.
 *
 * Context: may sleep for as long as another process likes, until a fatal signal.
 * Return: bytes that are present now; -errno if there are none: EFAULT if the memory
 * is not accessible, EINTR, ENOMEM.
 */
ssize_t chario_pages_fault_in(const struct iov_iter *iter, size_t bytes,
			      enum chario_op op)
{
	unsigned int flags = chario_pages_flags(op);
	struct iov_iter at = *iter;
	ssize_t ret = 0;
	size_t left;

	for (left = bytes; left; left -= ret) {
		ret = fault_in_piece(chario_pages_address(&at),
				     min(left, chario_pages_element(&at)),
				     flags);
		if (ret < 0)
			break;
		iov_iter_advance(&at, ret);
	}
	return left < bytes && ret != -EINTR ? bytes - left : ret;
}

/**
 * chario_pages_is_dirty() - tell if all pages of a read are marked dirty already
 * @cmd: the command
 *
 * Marking a page dirty can sleep; an interrupt handler asks this first.
 */
bool chario_pages_is_dirty(const struct chario_command *cmd)
{
	unsigned int i;

	for (i = 0; i < cmd->nr_pages; i++)
		if (!folio_test_dirty(page_folio(cmd->pages[i])))
			return false;
	return true;
}

/**
 * chario_pages_keep() - hold pages whose caller goes before they are unmapped
 * @cmd: a command that has been prepared
 *
 * Pages that the caller holds for the request get references of the module.
 *
 * Context: under the queue's lock, before the caller is told.
 */
void chario_pages_keep(struct chario_command *cmd)
{
	unsigned int i;

	if (cmd->hold != CHARIO_HOLD_CALLER)
		return;
	for (i = 0; i < cmd->nr_pages; i++)
		get_page(cmd->pages[i]);
	cmd->hold = CHARIO_HOLD_REFERENCE;
}

/* Neighbouring pages, which are unpinned a folio at a time. */
struct neighbours {
	struct page *first;
	unsigned int nr;
};

static void unpin_neighbours(struct neighbours *run, bool mark_dirty)
{
	if (run->nr)
		unpin_user_page_range_dirty_lock(run->first, run->nr,
						 mark_dirty);
	run->nr = 0;
}

static void add_neighbours(struct neighbours *run, const struct chario_command *cmd,
			   bool mark_dirty)
{
	struct page **pages = cmd->pages;
	u32 offset = cmd->page_offset;
	unsigned int i;

	for (i = 0; i < cmd->nr_segments; i++) {
		unsigned int nr = PFN_UP(offset + cmd->segments[i].bytes);

		if (*pages != run->first + run->nr) {
			unpin_neighbours(run, mark_dirty);
			run->first = *pages;
		}
		run->nr += nr;
		pages += nr;
		offset = 0;
	}
}

static void pages_unpin(struct neighbours *run, const struct chario_command *cmd,
			bool mark_dirty)
{
	/* The segments tell which pages are neighbours, if there are any. */
	if (cmd->nr_runs < cmd->nr_pages)
		add_neighbours(run, cmd, mark_dirty);
	else
		unpin_user_pages_dirty_lock(cmd->pages, cmd->nr_pages,
					    mark_dirty);
}

static void pages_let_go(struct neighbours *run, const struct chario_command *cmd,
			 bool mark_dirty)
{
	unsigned int i;

	switch (cmd->hold) {
	case CHARIO_HOLD_PIN:
		pages_unpin(run, cmd, mark_dirty);
		break;
	case CHARIO_HOLD_CALLER:
		break;
	case CHARIO_HOLD_REFERENCE:
		for (i = 0; i < cmd->nr_pages; i++)
			put_page(cmd->pages[i]);
		break;
	}
}

/**
 * chario_pages_unpin_slow() - chario_pages_unpin() for more than a clean page
 * @cmd: a command whose memory the device can no longer touch
 * @mark_dirty: true if the device has written to the memory; then this may sleep
 */
void chario_pages_unpin_slow(struct chario_command *cmd, bool mark_dirty)
{
	struct neighbours run = { };

	pages_let_go(&run, cmd, mark_dirty);
	unpin_neighbours(&run, mark_dirty);
}

/**
 * chario_pages_unpin_all() - let go of the memory of a request
 * @req: an ended request whose memory the device can no longer touch
 * @mark_dirty: true if the device has written to the memory; then this may sleep
 */
void chario_pages_unpin_all(struct chario_request *req, bool mark_dirty)
{
	const struct chario_command *cmd;
	struct neighbours run = { };

	chario_for_each_command(cmd, req)
		pages_let_go(&run, cmd, mark_dirty);
	unpin_neighbours(&run, mark_dirty);
}
