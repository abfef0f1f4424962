/* SPDX-License-Identifier: MIT */
/*
 * A disk as a power cut at any moment could have left it.
 */
#ifndef CHARIO_LOG_CUTS_H
#define CHARIO_LOG_CUTS_H

#include "log-device.h"

/**
 * enum log_cut - what a power cut leaves of the writes that were not durable
 * @LOG_CUT_ALL: all that had been reported as done
 * @LOG_CUT_NONE: nothing
 * @LOG_CUT_SOME: each write is there or not
 * @LOG_CUT_TORN: the same, and one of them is there in part: its first blocks, its
 *	last, or some
 * @LOG_CUT_MIXED: each block is as any of the writes left it
 */
enum log_cut {
	LOG_CUT_ALL,
	LOG_CUT_NONE,
	LOG_CUT_SOME,
	LOG_CUT_TORN,
	LOG_CUT_MIXED,
	LOG_CUTS,
};

/**
 * struct log_replay - the disk at one moment after another
 * @disk: whose recording
 * @at: entries that have been reported as done
 * @durable_at: of those, up to the last flush
 * @durable: the disk as the last flush left it
 */
struct log_replay {
	const struct log_disk *disk;
	size_t at;
	size_t durable_at;
	unsigned char *durable;
};

void log_replay_init(struct log_replay *replay, const struct log_disk *disk);
void log_replay_deinit(struct log_replay *replay);

/* One entry more has been reported as done; or so many, fewer than before too. */
void log_replay_advance(struct log_replay *replay);
void log_replay_go(struct log_replay *replay, size_t at);

/*
 * Have an image be what a cut at this moment leaves; entries that end later and
 * had begun are under way.  Whatever @random gives, writes that were durable, or followed by a
 * flush, are there.
 */
void log_replay_cut(const struct log_replay *replay, enum log_cut cut, uint64_t *random,
		    unsigned char *image);

#endif /* CHARIO_LOG_CUTS_H */
