// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pinning what is there, on kernels that would wait for a huge page that is not.
 *
 * The page tables are looked at without a lock first.  What is not found so is looked
 * for under the lock of the address space, unless somebody else has it, or one of the
 * pages would be a huge one: then the caller is told that it is not there, and waits for
 * it elsewhere, after which the first way finds it.
 */
#include <linux/hugetlb_inline.h>
#include <linux/mm.h>
#include <linux/sched.h>

#ifdef FOLL_FAST_ONLY
/* Under the lock of the address space. */
static bool has_huge(unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma = find_vma(current->mm, addr);

	for (; vma && vma->vm_start < end; vma = find_vma(current->mm, vma->vm_end))
		if (is_vm_hugetlb_page(vma))
			return true;
	return false;
}

/**
 * chario_compat_pin_locked() - pin what is there, but no huge pages
 * @addr: address in user space, of a page
 * @nr: pages
 * @flags: FOLL_WRITE or 0
 * @pages: get pinned
 * @got: pages that have been pinned without a lock, which are let go; or an errno
 *
 * Return: how many from the first on have been pinned; EFAULT when that is not there.
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
