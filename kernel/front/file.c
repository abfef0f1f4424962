// SPDX-License-Identifier: GPL-2.0-only
/*
 * The properties of an open file that decide about the way of its calls.
 */
#include "front/block/block.h"
#include "front/front.h"
#include "queue/isolation.h"
#include "types/disk.h"

/**
 * chario_file_route() - choose the way of the calls of a file
 * @cf: the file
 *
 * Calls of one command take the short way unless the file has a property that it knows
 * nothing of.
 */
void chario_file_route(struct chario_file *cf)
{
	/* With this limit no call is a common call, see is_common() in char.c. */
	static const u32 none;
	/* Two who choose at a time: the last one has seen all properties. */
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	WRITE_ONCE(cf->single_bytes, READ_ONCE(cf->bytes) || READ_ONCE(cf->duty) ?
					     &none : &cf->disk->single_bytes);
	spin_unlock(&lock);
}

/**
 * chario_file_set_urgent() - set whether the calls of a file are urgent
 * @cf: the file
 * @urgent: true if they are from now on
 *
 * Waits for the block commands that the drive has had since before any file was urgent:
 * nobody has counted them.
 *
 * Context: may sleep.
 */
void chario_file_set_urgent(struct chario_file *cf, bool urgent)
{
	u32 duty = urgent ? CHARIO_DUTY_URGENT : 0;

	if (xchg(&cf->duty, duty) == duty)
		return;
	if (urgent)
		chario_isolation_open(cf->disk->drive);
	else
		chario_isolation_close(cf->disk->drive);
	chario_file_route(cf);
	/* The wait ends early for a process that is being killed, which makes no call. */
	if (urgent)
		chario_block_wait_uncounted(cf->disk->drive);
}
