/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the core and the back ends.
 *
 * A back end makes a drive (&struct chario_drive_ops) with queues (&struct
 * chario_queue_ops), and disks that use them (&struct chario_backend).  To add one,
 * copy back/loopback.
 */
#ifndef CHARIO_TYPES_BACKEND_H
#define CHARIO_TYPES_BACKEND_H

#include "types/disk.h"
#include "types/drive.h"
#include "types/queue.h"

/**
 * struct chario_backend - the driver of a disk
 * @name: name in info and sysfs
 * @release: function that lets go of the drive once the last reference to @disk has
 *	gone and no queue of the disk is in use.  May sleep
 * @pin: function that replaces the pins of an open file, CHARIO_PIN_* bits, by
 *	@wanted, and updates @held; all bits of @wanted are known.  Also called after
 *	the drive has gone, with @wanted 0, which succeeds.  Returns 0 or -errno.
 *	May sleep.  NULL if there is nothing to pin
 * @get_pin: function that fills in the effect of the pins @held of a file; set if
 *	@pin is.  Returns 0 or -errno.  May sleep
 * @health: function that fills in all members of @health but size, status and
 *	reasons.  Returns 0 or -errno.  May sleep.  NULL if nothing can fail
 * @map_buffer: function that prepares a mapped buffer for the device, in
 *	buf->back.  Returns 0 or -errno.  May sleep.  NULL if there is no DMA, or if
 *	the core is to cut segments of the buffer for each command, as of pages
 * @unmap_buffer: function that undoes @map_buffer; set if @map_buffer is
 * @take_queue: function that returns a live queue for one open file, as @args
 *	asks.  May sleep.  NULL if there are no such queues
 * @give_queue: function that takes the queue back when the file has been closed;
 *	commands may still be in flight
 */
struct chario_backend {
	const char *name;
	void (*release)(struct chario_disk *disk);
	int (*pin)(struct chario_disk *disk, u32 *held, u32 wanted);
	int (*get_pin)(struct chario_disk *disk, u32 held,
		       struct chario_pin *pin);
	int (*health)(struct chario_disk *disk, struct chario_health *health);
	int (*map_buffer)(struct chario_buffer *buf);
	void (*unmap_buffer)(struct chario_buffer *buf);
	struct chario_queue *(*take_queue)(struct chario_disk *disk,
					   struct chario_queue_create *args);
	void (*give_queue)(struct chario_disk *disk, struct chario_queue *q);
};

#endif /* CHARIO_TYPES_BACKEND_H */
