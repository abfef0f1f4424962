/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All code of the module that depends on the version of the kernel.  The compiler
 * includes this header before every file.
 *
 * The other files are written for the newest kernel; each shim here names the
 * commit and the release that made it necessary.  Oldest kernel: 6.1.
 */
#ifndef CHARIO_COMPAT_H
#define CHARIO_COMPAT_H

#include <linux/version.h>
#include <linux/device/class.h>
#include <linux/mm.h>
#include <linux/timer.h>
#include <linux/uio.h>

/* "driver core: class: remove module * from class_create()", 6.4 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define chario_compat_class_create(name) class_create(THIS_MODULE, name)
#else
#define chario_compat_class_create(name) class_create(name)
#endif

/* "driver core: make struct class.devnode() take a const *", 6.2 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define chario_compat_set_devnode(class, fn) \
	((class)->devnode = (char *(*)(struct device *, umode_t *))(fn))
#else
#define chario_compat_set_devnode(class, fn) ((class)->devnode = (fn))
#endif

/* "iov_iter: add iter_iov_addr() and iter_iov_len() helpers", 6.4 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define iter_iov(iter) ((iter)->iov)
#endif

/* "mm: introduce vma->vm_flags wrapper functions", 6.3 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/* "treewide, timers: Rename from_timer() to timer_container_of()", 6.16 */
#ifndef timer_container_of
#define timer_container_of(var, timer, field) from_timer(var, timer, field)
#endif

/* "io_uring: split out cmd api into a separate header", 6.8 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#include <linux/io_uring.h>
#else
#include <linux/io_uring/cmd.h>
#endif

/* "io_uring: Pass whole sqe to commands", 6.5 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define chario_compat_uring_payload(ioucmd) ((ioucmd)->cmd)
#else
#define chario_compat_uring_payload(ioucmd) io_uring_sqe_cmd((ioucmd)->sqe)
#endif

/* "mm: introduce vma->vm_flags wrapper functions", 6.3 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
#define vm_flags_set(vma, flags) ((vma)->vm_flags |= (flags))
#endif

/*
 * "mm, treewide: redefine MAX_ORDER sanely", 6.4; "mm, treewide: rename
 * MAX_ORDER to MAX_PAGE_ORDER", 6.8
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define MAX_PAGE_ORDER (MAX_ORDER - 1)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
#define MAX_PAGE_ORDER MAX_ORDER
#endif

/* "module: Convert symbol namespace to string literal", 6.13 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define chario_compat_import_ns(ns) MODULE_IMPORT_NS(ns)
#else
#define chario_compat_import_ns(ns) MODULE_IMPORT_NS(#ns)
#endif

/*
 * Kbuild finds out which one the kernel has.  Sparse cannot follow the guard() in the
 * newer one.
 */
#ifdef __CHECKER__
#define chario_compat_has_override(pdev) (!!(pdev))
#elif defined(CHARIO_DEVICE_HAS_DRIVER_OVERRIDE)
#define chario_compat_has_override(pdev) device_has_driver_override(&(pdev)->dev)
#else
#define chario_compat_has_override(pdev) (!!(pdev)->driver_override)
#endif

/*
 * "mm/gup: retire follow_hugetlb_page()", 6.6: before, FOLL_NOFAULT had no effect on
 * huge pages.  See pages.c; kernels from 6.3 on, whose header has no FOLL_FAST_ONLY,
 * have no work-around.
 */
#ifdef FOLL_FAST_ONLY
int chario_compat_pin_locked(unsigned long addr, unsigned int nr,
			     unsigned int flags, struct page **pages, int got);

static inline int chario_compat_pin_present(unsigned long addr, unsigned int nr,
					    unsigned int flags,
					    struct page **pages)
{
	int got = pin_user_pages_fast(addr, nr, flags | FOLL_FAST_ONLY, pages);

	return likely(got == nr) ? got :
	       chario_compat_pin_locked(addr, nr, flags, pages, got);
}
#else
#define chario_compat_pin_present(addr, nr, flags, pages) \
	pin_user_pages_fast(addr, nr, (flags) | FOLL_NOFAULT, pages)
#endif

/* "block: replace fmode_t with a block-specific type for block open flags", 6.5 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define CHARIO_COMPAT_OPENED	struct block_device *opened, fmode_t mode
#define chario_compat_opened	opened->bd_disk
#else
#define CHARIO_COMPAT_OPENED	struct gendisk *opened, blk_mode_t mode
#define chario_compat_opened	opened
#endif

/* "driver core: class: remove struct class_interface * from callbacks", 6.4 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define CHARIO_COMPAT_ADDED	struct device *dev, struct class_interface *unused
#else
#define CHARIO_COMPAT_ADDED	struct device *dev
#endif

/* Kbuild finds out: "block: add a rq_list type", 6.13 and 6.12.y */
#ifdef CHARIO_BLOCK_HAS_RQ_LIST
#define chario_compat_rqs			struct rq_list
#define chario_compat_rqs_add(list, rq)		rq_list_add_tail(list, rq)
#else
#define chario_compat_rqs			struct request *
#define chario_compat_rqs_add(list, rq)		rq_list_add(list, rq)
#endif

/* "block: Remove redundant BLK_MQ_F_SHOULD_MERGE", 6.14: it is always set */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define CHARIO_COMPAT_SHOULD_MERGE	BLK_MQ_F_SHOULD_MERGE
#else
#define CHARIO_COMPAT_SHOULD_MERGE	0
#endif

/* See disks.c. */
struct blk_mq_tag_set;
struct gendisk;
struct queue_limits;
struct gendisk *chario_compat_alloc_disk(struct blk_mq_tag_set *set,
					 struct queue_limits *limits, u64 features,
					 void *data);

void *chario_compat_hold_block(dev_t devt, void *holder);
void chario_compat_let_go_block(void *held, void *holder);

/* "RIP ->bd_inode", 6.10 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define chario_compat_block_inode(bdev) ((bdev)->bd_inode)
#else
#define chario_compat_block_inode(bdev) ((bdev)->bd_mapping->host)
#endif

/* "blk-mq: pass a tagset to blk_mq_wait_quiesce_done", 6.2 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define chario_compat_wait_dispatch(q) blk_mq_wait_quiesce_done(q)
#else
#define chario_compat_wait_dispatch(q) blk_mq_wait_quiesce_done((q)->tag_set)
#endif

/* "block: remove unused parameter 'q' parameter in __blk_rq_map_sg()", 6.15 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define chario_compat_map_sg(rq, list) blk_rq_map_sg((rq)->q, rq, list)
#else
#define chario_compat_map_sg(rq, list) blk_rq_map_sg(rq, list)
#endif

/*
 * Kernels with CONFIG_INIT_STACK_ALL_ZERO clear every variable on the stack, except
 * those with this attribute of gcc 12 and clang; it is for variables that are written
 * in full anyway.
 */
#if __has_attribute(uninitialized)
#define chario_uninitialized __attribute__((uninitialized))
#else
#define chario_uninitialized
#endif

#endif /* CHARIO_COMPAT_H */
