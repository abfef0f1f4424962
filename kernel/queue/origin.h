/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An origin: the open file that requests come from.
 *
 * A caller may be gone before the drive is done with its request: the deadline
 * has passed, or the process was killed.  Such a request, an orphan, keeps the
 * origin's file open.  So the file's locks (fcntl(2), F_OFD_SETLK) stay as long
 * as a write that was made through it can still reach the disk: a process that is
 * granted such a lock knows that no write of an earlier holder follows.
 *
 * An orphan keeps its commands, too.  A file that has left max_orphans commands to
 * orphans gets no other command until some have ended.  Otherwise a caller who never waits
 * could take every command of a queue.
 */
#ifndef CHARIO_QUEUE_ORIGIN_H
#define CHARIO_QUEUE_ORIGIN_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/workqueue.h>

struct chario_disk;

/**
 * struct chario_origin - an open file, as requests know it
 * @file: the file
 * @orphans: number of commands of requests whose caller has gone
 * @put_work: work that drops the file reference of the last orphan
 * @disk: the disk that the file has open
 */
struct chario_origin {
	struct file *file;
	atomic_t orphans;
	struct work_struct put_work;
	const struct chario_disk *disk;
};

/* queue/origin.c */
extern int chario_max_orphans;
void chario_origin_init(struct chario_origin *origin, struct file *file,
			const struct chario_disk *disk);
void chario_origin_get(struct chario_origin *origin, unsigned int commands);
void chario_origin_put(struct chario_origin *origin, unsigned int commands);
int chario_origin_wait_room(const struct chario_origin *origin,
			    unsigned long expires, bool killable);
int chario_origin_settle(const struct chario_origin *origin, u64 pos, u64 bytes,
			 unsigned long expires);

/* Returns whether the file must wait for its orphans before it gets more commands. */
static inline bool chario_origin_is_full(const struct chario_origin *origin)
{
	return atomic_read(&origin->orphans) >= READ_ONCE(chario_max_orphans);
}

#endif /* CHARIO_QUEUE_ORIGIN_H */
