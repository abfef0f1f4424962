// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for block requests that the device has.  Others go on meanwhile: the queue is
 * not frozen.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "front/block/block.h"
#include "types/drive.h"

/**
 * struct search - a search for a request
 * @is_wanted: function that tells if a request that the device has is the wanted one
 * @with: second argument of that function
 * @found: true if one has been found
 */
struct search {
	chario_block_test *is_wanted;
	const void *with;
	bool found;
};

static bool look(struct request *rq, void *data)
{
	struct search *search = data;

	if (blk_mq_request_started(rq) && search->is_wanted(rq, search->with))
		search->found = true;
	return !search->found;
}

/* Does nobody want to wait any more?  See chario_block_wait(). */
static bool is_over(const bool *given_up)
{
	return given_up ? READ_ONCE(*given_up) : fatal_signal_pending(current);
}

/**
 * chario_block_wait() - wait until the device has no request of a kind
 * @tags: tags of the requests
 * @is_wanted: function that tells if a request is of that kind; the request may be ending,
 *	so its bios must not be looked at
 * @with: second argument of that function
 * @given_up: true as soon as the wait is to end; NULL: a fatal signal ends it
 *
 * A request whose sending has begun is one that the device has.
 *
 * Context: may sleep.
 * Return: 0, or EINTR if the wait has ended before.
 */
int chario_block_wait(struct chario_tags *tags, chario_block_test *is_wanted,
		      const void *with, const bool *given_up)
{
	struct search search = { .is_wanted = is_wanted, .with = with };

	for (;;) {
		search.found = false;
		blk_mq_tagset_busy_iter(&tags->set, look, &search);
		if (!search.found)
			return 0;
		if (is_over(given_up))
			return -EINTR;
		usleep_range(500, 1000);
	}
}

static bool is_uncounted(struct request *rq, const void *unused)
{
	const struct chario_block_request *note = blk_mq_rq_to_pdu(rq);

	/* The device has let go of a complete request, which counts no more. */
	return !READ_ONCE(note->counted) && blk_mq_rq_state(rq) == MQ_RQ_IN_FLIGHT;
}

/**
 * chario_block_wait_uncounted() - wait for requests that were sent before files were urgent
 * @drive: a drive with a file that is urgent
 *
 * Afterwards every block command that the device has is counted, see queue/isolation.h.
 *
 * Context: may sleep.
 * Return: 0, or EINTR on a fatal signal.
 */
int chario_block_wait_uncounted(struct chario_drive *drive)
{
	const struct chario_disk *disk;
	int ret = mutex_lock_killable(&drive->block_lock);

	if (ret)
		return ret;
	if (drive->tags) {
		list_for_each_entry(disk, &drive->tags->disks, block_node)
			chario_compat_wait_dispatch(disk->block->queue);
		ret = chario_block_wait(drive->tags, is_uncounted, NULL, NULL);
	}
	mutex_unlock(&drive->block_lock);
	return ret;
}
