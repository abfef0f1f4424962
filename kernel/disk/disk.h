/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of a disk.
 */
#ifndef CHARIO_DISK_DISK_H
#define CHARIO_DISK_DISK_H

#include "types/disk.h"

/**
 * struct chario_disk_face - the interface of every disk to user space
 * @fops: operations of its node
 * @groups: attributes in sysfs
 * @groups_with_health: attributes of a disk that can report its health
 * @enable_block: function that makes the block disk of a disk.  Returns 0 or -errno
 * @disable_block: function that takes it away unless it is in use.  Returns 0 or -errno
 * @remove_block: function that takes it away, in use or not
 * @follow_claims: function of @claims_work of each disk, a delayed work
 */
struct chario_disk_face {
	const struct file_operations *fops;
	const struct attribute_group **groups;
	const struct attribute_group **groups_with_health;
	int (*enable_block)(struct chario_disk *disk);
	int (*disable_block)(struct chario_disk *disk);
	void (*remove_block)(struct chario_disk *disk);
	work_func_t follow_claims;
};

/* disk/disk.c */
int chario_disk_class_init(const struct chario_disk_face *seen);
void chario_disk_class_exit(void);
struct chario_disk *chario_disk_create(const struct chario_backend *be,
				       struct chario_drive *drive,
				       struct device *parent);
int chario_disk_configure(struct chario_disk *disk,
			  const struct chario_limits *limits);
void chario_disk_set_single(struct chario_disk *disk);
int chario_disk_prepare(struct chario_disk *disk);
int chario_disk_publish(struct chario_disk *disk);
int chario_disk_register(struct chario_disk *disk);
void chario_disk_unregister(struct chario_disk *disk);
void chario_disk_lose(struct chario_disk *disk);
unsigned int chario_disk_nr_queues(const struct chario_disk *disk,
				   bool polled);
const char *chario_disk_state(const struct chario_disk *disk);
u64 chario_disk_recovery_bound_ns(const struct chario_disk *disk);
void chario_disk_describe(const struct chario_disk *disk,
			  struct chario_info *info);

struct chario_queue *chario_disk_take_queue(struct chario_disk *disk,
					    struct chario_queue_create *args);
void chario_disk_give_queue(struct chario_disk *disk,
			    struct chario_queue *q);
void chario_disk_set_deadline(struct chario_disk *disk, u32 ms);
void chario_disk_set_recovery_age(struct chario_disk *disk, u32 ms);
int chario_disk_set_block(struct chario_disk *disk, bool wanted);
bool chario_disk_may_patch(const struct chario_disk *disk);

/* disk/limits.c */
int chario_limits_check(const struct chario_disk *disk,
			const struct chario_limits *limits);

/* disk/pin.c */
int chario_pin_set(struct chario_disk *disk, u32 *held,
		   struct chario_pin *pin);
int chario_pin_get(struct chario_disk *disk, u32 held, struct chario_pin *pin);
void chario_pin_release(struct chario_disk *disk, u32 *held);

/* disk/counters.c */
void chario_counters_read(const struct chario_disk *disk,
			  struct chario_stats *stats);

/* disk/sysfs.c */
extern const struct attribute_group *chario_sysfs_groups[];
extern const struct attribute_group *chario_sysfs_groups_with_health[];

#endif /* CHARIO_DISK_DISK_H */
