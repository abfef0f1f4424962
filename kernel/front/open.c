// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of an open file, from its opening to its last close.
 */
#include <linux/fs.h>
#include <linux/slab.h>

#include "disk/disk.h"
#include "front/bytes.h"
#include "front/front.h"
#include "memory/buffer.h"

/**
 * chario_file_destroy() - free an open file at its last close
 * @cf: the file; its calls have ended
 *
 * Context: may sleep.
 */
void chario_file_destroy(struct chario_file *cf)
{
	chario_file_set_urgent(cf, false);
	if (cf->bytes && chario_bytes_disable(cf))
		dev_err_ratelimited(&cf->disk->dev,
				    "a file was closed before its last bytes could be written; they are lost\n");
	chario_pin_release(cf->disk, &cf->pinned);
	chario_buffers_free(cf->buffers);
	if (cf->private_queue)
		chario_disk_give_queue(cf->disk, cf->private_queue);
	kfree(cf->private_queues);
	kfree(cf);
}

/**
 * chario_file_create() - make the open file of a disk
 * @disk: the disk, which stays until chario_file_destroy()
 * @file: the file, which refers to it afterwards
 *
 * The caller fills in what part of the disk it is.
 *
 * Context: may sleep.
 * Return: the open file, or an ERR_PTR: ENOMEM, EOPNOTSUPP, see chario_bytes_enable().
 */
struct chario_file *chario_file_create(struct chario_disk *disk, struct file *file)
{
	struct chario_file *cf = kzalloc(sizeof(*cf), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!cf)
		return ERR_PTR(-ENOMEM);
	cf->buffers = chario_buffers_alloc();
	if (!cf->buffers) {
		kfree(cf);
		return ERR_PTR(-ENOMEM);
	}
	cf->disk = disk;
	chario_origin_init(&cf->origin, file, disk);
	cf->irq_queue = disk->irq_queue;
	cf->poll_queue = disk->poll_queue;
	chario_file_route(cf);
	if (READ_ONCE(disk->any_size)) {
		ret = chario_bytes_enable(cf);
		if (ret) {
			chario_file_destroy(cf);
			return ERR_PTR(ret);
		}
	}
	file->private_data = cf;
	file->f_mode |= FMODE_CAN_ODIRECT | FMODE_NOWAIT;
	return cf;
}
