// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files that are confined to a range of another file, see &struct chario_confine.
 *
 * Such a file has an inode of its own, which cannot be opened anew: whoever is given the
 * descriptor has the range and nothing else.
 */
#include <linux/device.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "front/front.h"
#include "types/disk.h"

/* "CHRI": the magic number of the file system, which is never mounted by users. */
#define MAGIC	0x43485249

static int init_context(struct fs_context *fc)
{
	return init_pseudo(fc, MAGIC) ? 0 : -ENOMEM;
}

static struct file_system_type inodes = {
	.name		= "chario",
	.owner		= THIS_MODULE,
	.init_fs_context = init_context,
	.kill_sb	= kill_anon_super,
};

/* The file system is mounted while there are confined files: a mount keeps the module. */
static struct vfsmount *mount;
static int nr_files;

/*
 * Makes a file that is not one of a disk yet; @name is for those who list open files.  The
 * file keeps the module, as one does that has been opened by its path.
 */
static struct file *make_file(const struct file *from, const char *name, int flags)
{
	struct inode *inode = alloc_anon_inode(mount->mnt_sb);
	struct file *file;

	if (IS_ERR(inode))
		return ERR_CAST(inode);
	/* Programs find out that it is a device, and which. */
	inode->i_mode = S_IFCHR | 0600;
	inode->i_rdev = file_inode(from)->i_rdev;
	file = alloc_file_pseudo(inode, mount, name, flags, fops_get(from->f_op));
	if (IS_ERR(file)) {
		fops_put(from->f_op);
		iput(inode);
		return file;
	}
	file->f_mode |= FMODE_LSEEK | FMODE_PREAD | FMODE_PWRITE;
	return file;
}

/* Makes a file, until chario_confine_leave(). */
static struct file *enter(const struct file *from, const char *name, int flags)
{
	int ret = simple_pin_fs(&inodes, &mount, &nr_files);
	struct file *file;

	if (ret)
		return ERR_PTR(ret);
	file = make_file(from, name, flags);
	if (IS_ERR(file))
		chario_confine_leave();
	return file;
}

/**
 * chario_confine_leave() - note that a confined file has been closed
 *
 * Context: may sleep.
 */
void chario_confine_leave(void)
{
	simple_release_fs(&mount, &nr_files);
}

static bool is_inside(const struct chario_file *cf, const struct chario_confine *range)
{
	return range->bytes &&
	       !((range->offset | range->bytes) & cf->disk->block_mask) &&
	       range->offset < cf->capacity_bytes &&
	       range->bytes <= cf->capacity_bytes - range->offset;
}

/* Returns the flags of the new file, which may do what its origin may, or -errno. */
static int flags_of(const struct file *from, const struct chario_confine *range)
{
	int flags = from->f_flags & (O_ACCMODE | O_SYNC | O_DIRECT | O_NONBLOCK);

	if (!(range->flags & CHARIO_CONFINE_READ_ONLY))
		return flags;
	return from->f_mode & FMODE_READ ? (flags & ~O_ACCMODE) | O_RDONLY : -EINVAL;
}

/* Make the open file of a disk; @file is one of enter(). */
static int open_range(struct file *file, struct chario_file *from,
		      const struct chario_confine *range)
{
	struct chario_file *cf = chario_file_create(from->disk, file);

	if (IS_ERR(cf))
		return PTR_ERR(cf);
	/* Not the file between: nobody could count the files of a long chain. */
	cf->parent = get_file(from->parent ?: from->origin.file);
	cf->node = from->node;
	cf->first = from->first + range->offset;
	cf->capacity_bytes = range->bytes;
	chario_file_set_urgent(cf, READ_ONCE(from->duty));
	return 0;
}

/**
 * chario_confine() - CHARIO_IOC_CONFINE
 * @cf: the file
 * @range: see &struct chario_confine
 *
 * Return: a file descriptor or -errno, see &struct chario_confine.
 */
int chario_confine(struct chario_file *cf, const struct chario_confine *range)
{
	struct file *file;
	int flags, fd, ret;

	if ((range->flags & ~CHARIO_CONFINE_READ_ONLY) || !is_inside(cf, range))
		return -EINVAL;
	flags = flags_of(cf->origin.file, range);
	if (flags < 0)
		return flags;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	file = enter(cf->origin.file, dev_name(cf->node->dev), flags);
	ret = PTR_ERR_OR_ZERO(file);
	if (!ret) {
		ret = open_range(file, cf, range);
		if (ret)
			fput(file);
	}
	if (ret) {
		put_unused_fd(fd);
		return ret;
	}
	fd_install(fd, file);
	return fd;
}
