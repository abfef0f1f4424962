/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The block side of a disk: /dev/chardiskNb, which the block layer knows as any other
 * block device.
 *
 *   disk.c      the block disk: made on request, taken away
 *   tags.c      the tags, and the slots and queues that they stand for
 *   request.c   the way of a block request
 *   claim.c     what is open for writing on one side only
 *   hold.c      the block devices that a claim holds
 *   follow.c    partitions that are made while there are claims
 *   cache.c     the page caches of what is claimed
 *   parts.c     the block devices of a block disk
 *   mixed.c     requests that are taken apart
 *   wait.c      waiting for requests that the device has
 */
#ifndef CHARIO_FRONT_BLOCK_H
#define CHARIO_FRONT_BLOCK_H

#include <linux/blk-mq.h>

#include "types/disk.h"
#include "types/queue.h"

/**
 * struct chario_mixed - bios of requests that were taken apart, see mixed.c
 * @lock: protects @bios
 * @bios: bios that are to be submitted anew
 * @work: work that submits clones of them
 * @clones: memory of the clones
 */
struct chario_mixed {
	spinlock_t lock; /* bios */
	struct bio_list bios;
	struct work_struct work;
	struct bio_set clones;
};

/**
 * struct chario_tags - the tags that the block disks of a drive share
 * @set: tag set of the block layer.  Tag T of hardware queue I stands for the slot
 *	queues[I]->first_lent + T
 * @drive: the drive
 * @users: number of block disks that use the tags
 * @queues: for each hardware queue, the queue; those to be polled last
 * @nr_irq: number of those that complete by interrupt
 * @nr_poll: number of those to be polled
 * @lock: protects @disks
 * @disks: block disks that use the tags
 * @mixed: bios of their requests that were taken apart
 */
struct chario_tags {
	struct blk_mq_tag_set set;
	struct chario_drive *drive;
	unsigned int users;
	struct chario_queue **queues;
	unsigned int nr_irq;
	unsigned int nr_poll;
	spinlock_t lock; /* disks */
	struct list_head disks;
	struct chario_mixed mixed;
};

/**
 * struct chario_block_request - the note of the block side on a request
 * @error: result, 0 or -errno
 * @tries: number of times that it has been taken back from the device; 0 when it has
 *	ended
 * @counted: true while its command counts as one that the device has, see
 *	queue/isolation.h
 * @any: 0 if all of this is: a request is plain
 */
struct chario_block_request {
	union {
		struct {
			int error;
			u16 tries;
			bool counted;
		};
		u64 any;
	};
};

struct chario_held;

/**
 * struct chario_holding - block devices that a claim holds, see hold.c
 * @first: byte offset of its part on the disk
 * @end: byte offset behind it
 * @held: block devices that are held
 * @nr: number of them
 */
struct chario_holding {
	u64 first;
	u64 end;
	struct chario_held *held;
	unsigned int nr;
};

/* front/block/disk.c */
int chario_block_enable(struct chario_disk *disk);
int chario_block_disable(struct chario_disk *disk);
void chario_block_remove(struct chario_disk *disk);

/* front/block/claim.c */
int chario_claim_take(struct chario_node *node, const bool *given_up);
void chario_claim_drop(struct chario_node *node);
bool chario_claim_forbids_bio(const struct chario_disk *disk, const struct bio *bio);
bool chario_claim_forbids(const struct chario_disk *disk, struct request *rq);
int chario_claims_hold(struct chario_disk *disk);
void chario_claims_let_go(struct chario_disk *disk);
bool chario_claims_forbid_open(const struct chario_disk *disk);
bool chario_claims_are_holding(const struct chario_disk *disk);
void chario_claims_follow(struct work_struct *work);

/* front/block/hold.c */
int chario_hold_take(struct chario_holding *holding, struct chario_disk *disk);
int chario_hold_follow(struct chario_holding *holding, struct chario_disk *disk);
int chario_hold_check(struct chario_holding *holding, struct chario_disk *disk);
void chario_hold_drop(struct chario_holding *holding, struct chario_disk *disk);

/* front/block/follow.c */
int chario_follow_enter(struct gendisk *block);
void chario_follow_leave(void);

/* front/block/parts.c */
struct inode *chario_part_next(struct gendisk *block, u64 first, u64 end,
			       struct inode *last);
bool chario_part_is_late(const struct gendisk *block, u64 first, u64 end);

/* front/block/cache.c */
void chario_cache_write(struct gendisk *block, u64 first, u64 end);
void chario_cache_drop(struct gendisk *block, u64 first, u64 end);

/* front/block/mixed.c */
int chario_mixed_init(struct chario_mixed *mixed);
void chario_mixed_deinit(struct chario_mixed *mixed);
void chario_mixed_take_apart(struct request *rq);

/* front/block/wait.c */
typedef bool chario_block_test(struct request *rq, const void *with);
int chario_block_wait(struct chario_tags *tags, chario_block_test *is_wanted,
		      const void *with, const bool *given_up);
int chario_block_wait_uncounted(struct chario_drive *drive);

/* front/block/tags.c */
struct chario_tags *chario_tags_get(struct chario_drive *drive);
void chario_tags_put(struct chario_tags *tags);

/* front/block/request.c */
extern const struct blk_mq_ops chario_block_ops;
void chario_block_seen(struct chario_queue *q, struct chario_request *done);

#endif /* CHARIO_FRONT_BLOCK_H */
