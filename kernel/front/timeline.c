// SPDX-License-Identifier: GPL-2.0-only
/*
 * The front end `timeline`: a timeline as a file descriptor, which is mapped and
 * polled.
 *
 * A mapping holds the file, so that the memory is freed when both are gone.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "front/front.h"
#include "timeline/timeline.h"

static_assert(sizeof(struct chario_timeline_control) == 24);

static int timeline_release(struct inode *inode, struct file *file)
{
	chario_timeline_destroy(file->private_data);
	return 0;
}

static __poll_t timeline_poll(struct file *file, struct poll_table_struct *pt)
{
	struct chario_timeline *tl = file->private_data;

	poll_wait(file, &tl->wait, pt);
	return READ_ONCE(tl->header->frozen) ? EPOLLIN | EPOLLRDNORM : 0;
}

/* Only the kernel writes to the rings. */
static int map_rings(struct chario_timeline *tl, struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_clear(vma, VM_MAYWRITE);
	return remap_vmalloc_range(vma, tl->header, 0);
}

static int timeline_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct chario_timeline *tl = file->private_data;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (!vma->vm_pgoff)
		return map_rings(tl, vma);
	if (!tl->tags ||
	    vma->vm_pgoff != tl->header->tags_offset >> PAGE_SHIFT)
		return -EINVAL;
	return remap_vmalloc_range(vma, tl->tags, 0);
}

static int control(struct chario_timeline *tl, const void __user *user)
{
	struct chario_timeline_control args;
	u32 size;
	int ret;

	if (get_user(size, (const u32 __user *)user))
		return -EFAULT;
	if (size < sizeof(args) || size > PAGE_SIZE)
		return -EINVAL;
	ret = copy_struct_from_user(&args, sizeof(args), user, size);
	if (ret)
		return ret;
	if (args.reserved || args.command > CHARIO_TIMELINE_FREEZE)
		return -EINVAL;
	chario_timeline_control(tl, &args);
	return 0;
}

static long timeline_ioctl(struct file *file, unsigned int cmd,
			   unsigned long arg)
{
	if (cmd != CHARIO_IOC_TIMELINE_CONTROL)
		return -ENOTTY;
	return control(file->private_data, (const void __user *)arg);
}

static const struct file_operations timeline_fops = {
	.owner		= THIS_MODULE,
	.release	= timeline_release,
	.poll		= timeline_poll,
	.mmap		= timeline_mmap,
	.unlocked_ioctl	= timeline_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

/**
 * chario_timeline_get_fd() - CHARIO_IOC_TIMELINE_OPEN
 * @disk: disk whose requests are recorded
 * @args: see &struct chario_timeline_open
 *
 * Return: a file descriptor or -errno, see &struct chario_timeline_open.
 */
int chario_timeline_get_fd(struct chario_disk *disk,
			   const struct chario_timeline_open *args)
{
	struct chario_timeline *tl;
	int fd;

	tl = chario_timeline_create(disk, args);
	if (IS_ERR(tl))
		return PTR_ERR(tl);
	fd = anon_inode_getfd("[chario-timeline]", &timeline_fops, tl,
			      O_RDWR | O_CLOEXEC);
	if (fd < 0)
		chario_timeline_destroy(tl);
	return fd;
}
