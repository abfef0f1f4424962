/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The contract between the core and the back ends.
 *
 * A back end makes queues (&struct chario_queue_ops) and disks that use them
 * (&struct chario_backend).  To add one, copy loopback.c.
 */
#ifndef CHARIO_BACK_H
#define CHARIO_BACK_H

#include "core/device.h"
#include "core/queue.h"

/**
 * struct chario_backend - what serves a disk
 * @name: what info and sysfs show
 * @release: the last reference to @cio has gone, no queue of it is in use;
 *	free what backend_data points to.  May sleep.
 * @count: add the counters that the back end keeps to @stats.  May be NULL.
 * @recovery_bound_ns: longest time from the beginning of recovery until the disk
 *	is live again or dead.  May be NULL: calls cannot hang.
 * @state: "live", "recovering" or "dead"
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
	void (*count)(const struct chario_device *cio,
		      struct chario_stats *stats);
	u64 (*recovery_bound_ns)(const struct chario_device *cio);
	const char *(*state)(const struct chario_device *cio);
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

/* back/loopback.c */
int chario_loopback_init(void);
void chario_loopback_exit(void);

/* back/nvme/pci.c */
int chario_nvme_init(void);
void chario_nvme_exit(void);

#endif /* CHARIO_BACK_H */
