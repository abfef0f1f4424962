/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the core and the back ends.
 *
 * A back end makes a drive (&struct chario_drive_ops) with queues (&struct
 * chario_queue_ops), and disks that use them (&struct chario_backend).  To add one,
 * copy back/loopback.
 */
#ifndef CHARIO_CORE_BACKEND_H
#define CHARIO_CORE_BACKEND_H

#include "core/device.h"
#include "core/drive.h"
#include "core/queue.h"

/**
 * struct chario_backend - what serves a disk
 * @name: what info and sysfs show
 * @release: the last reference to @cio has gone, no queue of it is in use; let go
 *	of its drive.  May sleep
 * @pin: an open file asks for the CHARIO_PIN_* bits @wanted, all of which are
 *	known, in place of those in @held, which is brought up to date; also
 *	called after the drive has gone, with nothing @wanted, which succeeds.  0
 *	or -errno.  May sleep.  NULL where there is nothing to pin
 * @get_pin: fill in what has come of it, for a file that asks for @held; there
 *	where @pin is.  0 or -errno.  May sleep
 * @health: fill in all members of @health but size, status and reasons.  May
 *	sleep.  0 or -errno.  NULL where nothing can fail
 * @map_buffer: prepare a buffer that has been mapped for the device, in
 *	buf->back; 0 or -errno.  May sleep.  NULL where there is no DMA
 * @unmap_buffer: undo it
 * @take_queue: a live queue for one open file, as its args say; NULL where
 *	there are none.  May sleep
 * @give_queue: the file has been closed; commands may still be in flight
 */
struct chario_backend {
	const char *name;
	void (*release)(struct chario_device *cio);
	int (*pin)(struct chario_device *cio, u32 *held, u32 wanted);
	int (*get_pin)(struct chario_device *cio, u32 held,
		       struct chario_pin *pin);
	int (*health)(struct chario_device *cio, struct chario_health *health);
	int (*map_buffer)(struct chario_buffer *buf);
	void (*unmap_buffer)(struct chario_buffer *buf);
	struct chario_queue *(*take_queue)(struct chario_device *cio,
					   struct chario_queue_create *args);
	void (*give_queue)(struct chario_device *cio, struct chario_queue *q);
};

#endif /* CHARIO_CORE_BACKEND_H */
