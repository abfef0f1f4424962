// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinning of pages that are present, on kernels that would wait for an absent huge
 * page.
 *
 * The page tables are first searched without a lock.  If that does not find all pages,
 * they are searched under the lock of the address space.  If that lock is taken, or one
 * of the pages would be a huge one, the pages count as absent: the caller waits for
 * them elsewhere, after which the search without a lock finds them.
 */
#include <linux/hugetlb_inline.h>
#include <linux/mm.h>
#include <linux/sched.h>

#ifdef FOLL_FAST_ONLY
/* The caller holds the lock of the address space. */
static bool has_huge(unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma = find_vma(current->mm, addr);

	for (; vma && vma->vm_start < end; vma = find_vma(current->mm, vma->vm_end))
		if (is_vm_hugetlb_page(vma))
			return true;
	return false;
}

/**
 * chario_compat_pin_locked() - pin pages that are present, but no huge pages
 * @addr: address of a page in user space
 * @nr: number of pages
 * @flags: FOLL_WRITE or 0
 * @pages: array that is filled with the pinned pages
 * @got: number of pages that have been pinned without a lock, which are unpinned first;
 *	or an errno
 *
 * Return: number of pages from the first on that have been pinned; EFAULT if the first
 * is absent.
 */
int chario_compat_pin_locked(unsigned long addr, unsigned int nr,
			     unsigned int flags, struct page **pages, int got)
{
	if (got > 0)
		unpin_user_pages(pages, got);
	got = -EFAULT;
	if (!mmap_read_trylock(current->mm))
		return got;
	if (!has_huge(addr, addr + nr * PAGE_SIZE))
		got = pin_user_pages(addr, nr, flags | FOLL_NOFAULT, pages,
				     NULL);
	mmap_read_unlock(current->mm);
	return got;
}
#endif
