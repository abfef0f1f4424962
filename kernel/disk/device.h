/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of a disk.
 */
#ifndef CHARIO_DISK_DEVICE_H
#define CHARIO_DISK_DEVICE_H

#include "types/device.h"

/**
 * struct chario_device_face - the interface of every disk to user space
 * @fops: operations of its node
 * @groups: attributes in sysfs
 * @groups_with_health: attributes of a disk that can report its health
 */
struct chario_device_face {
	const struct file_operations *fops;
	const struct attribute_group **groups;
	const struct attribute_group **groups_with_health;
};

/* disk/device.c */
int chario_device_class_init(const struct chario_device_face *seen);
void chario_device_class_exit(void);
struct chario_device *chario_device_create(const struct chario_backend *be,
					   struct chario_drive *drive,
					   struct device *parent);
int chario_device_configure(struct chario_device *cio,
			    const struct chario_limits *limits);
void chario_device_set_single(struct chario_device *cio);
int chario_device_register(struct chario_device *cio);
void chario_device_unregister(struct chario_device *cio);
void chario_device_lose(struct chario_device *cio);
unsigned int chario_device_nr_queues(const struct chario_device *cio,
				     bool polled);
const char *chario_device_state(const struct chario_device *cio);
u64 chario_device_recovery_bound_ns(const struct chario_device *cio);
void chario_device_describe(const struct chario_device *cio,
			    struct chario_info *info);

struct chario_queue *chario_device_take_queue(struct chario_device *cio,
					      struct chario_queue_create *args);
void chario_device_give_queue(struct chario_device *cio,
			      struct chario_queue *q);
void chario_device_set_deadline(struct chario_device *cio, u32 ms);
void chario_device_set_recovery_age(struct chario_device *cio, u32 ms);
bool chario_device_may_patch(const struct chario_device *cio);

/* disk/limits.c */
int chario_limits_check(const struct chario_device *cio,
			const struct chario_limits *limits);

/* disk/pin.c */
int chario_pin_set(struct chario_device *cio, u32 *held,
		   struct chario_pin *pin);
int chario_pin_get(struct chario_device *cio, u32 held, struct chario_pin *pin);
void chario_pin_release(struct chario_device *cio, u32 *held);

/* disk/counters.c */
void chario_counters_read(const struct chario_device *cio,
			  struct chario_stats *stats);

/* disk/sysfs.c */
extern const struct attribute_group *chario_sysfs_groups[];
extern const struct attribute_group *chario_sysfs_groups_with_health[];

#endif /* CHARIO_DISK_DEVICE_H */
