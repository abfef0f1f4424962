/* SPDX-License-Identifier: MIT */
/*
 * A disk as a power cut at any moment could have left it.
 */
#ifndef CHARIO_LOG_CUTS_H
#define CHARIO_LOG_CUTS_H

#include "log-inner.h"
#include "tap.h"

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

static inline void log_replay_init(struct log_replay *replay, const struct log_disk *disk)
{
	*replay = (struct log_replay){ .disk = disk, .durable = log_must(malloc(disk->bytes)) };
	memcpy(replay->durable, disk->before, disk->bytes);
}

static inline void log_replay_deinit(struct log_replay *replay)
{
	free(replay->durable);
}

static inline void apply(const struct log_entry *entry, unsigned char *image)
{
	if (entry->bytes)
		memcpy(image + entry->offset, entry->data, entry->bytes);
}

/* One entry more has been reported as done. */
static inline void log_replay_advance(struct log_replay *replay)
{
	const struct log_disk *disk = replay->disk;
	const struct log_entry *entry = &disk->entries[replay->at];
	size_t covered = entry->begun;

	/* Behind a flush that nothing has passed it is all durable. */
	if (covered == replay->at++)
		covered++;
	while (!entry->bytes && replay->durable_at < covered)
		apply(&disk->entries[replay->durable_at++], replay->durable);
}

/* So many entries have been reported as done, also fewer than before. */
static inline void log_replay_go(struct log_replay *replay, size_t at)
{
	if (at < replay->at) {
		memcpy(replay->durable, replay->disk->before, replay->disk->bytes);
		replay->at = replay->durable_at = 0;
	}
	while (replay->at < at)
		log_replay_advance(replay);
}

/* Some blocks of a write: of each pair of them the first, the last, or any. */
static inline void apply_torn(const struct log_disk *disk, const struct log_entry *entry,
			      uint64_t *random, unsigned char *image)
{
	size_t nr_blocks = entry->bytes / disk->block_bytes;
	size_t edge = log_below(random, nr_blocks + 1);
	uint64_t how = log_below(random, 3);

	for (size_t i = 0; i < nr_blocks; i++) {
		size_t at = i * disk->block_bytes;
		bool there = how == 0 ? i < edge : how == 1 ? i >= edge : log_random(random) & 1;

		if (there)
			memcpy(image + entry->offset + at, entry->data + at, disk->block_bytes);
	}
}

/* A write that was not durable. */
static inline void apply_some(const struct log_disk *disk, const struct log_entry *entry,
			      enum log_cut cut, bool torn, uint64_t *random, unsigned char *image)
{
	if (cut == LOG_CUT_MIXED || (cut == LOG_CUT_TORN && torn))
		apply_torn(disk, entry, random, image);
	else if (cut != LOG_CUT_NONE && log_random(random) & 1)
		apply(entry, image);
}

/* How many entries there are up to the last that has ended, or had begun. */
static inline size_t end_of_begun(const struct log_replay *replay)
{
	const struct log_disk *disk = replay->disk;
	size_t end = replay->at;

	for (size_t i = replay->at; i < disk->nr_entries; i++)
		if (disk->entries[i].begun <= replay->at)
			end = i + 1;
	return end;
}

/*
 * Have an image be what a cut at this moment leaves; entries that end later and
 * had begun are under way.  Whatever @random gives, writes that were durable, or followed by a
 * flush, are there.
 */
static inline void log_replay_cut(const struct log_replay *replay, enum log_cut cut,
				  uint64_t *random, unsigned char *image)
{
	const struct log_disk *disk = replay->disk;
	size_t end = end_of_begun(replay), torn = end;

	/* Mostly what is under way. */
	if (end > replay->durable_at && log_random(random) & 1)
		torn = replay->durable_at + log_below(random, end - replay->durable_at);
	else if (end)
		torn = end - 1;
	memcpy(image, replay->durable, disk->bytes);
	for (size_t i = replay->durable_at; i < end; i++) {
		const struct log_entry *entry = &disk->entries[i];
		bool done = i < replay->at;

		if (!done && entry->begun > replay->at)
			continue;
		if (done && (entry->durable || cut == LOG_CUT_ALL))
			apply(entry, image);
		else if (entry->bytes && cut != LOG_CUT_ALL)
			apply_some(disk, entry, cut, i == torn, random, image);
	}
}

#endif /* CHARIO_LOG_CUTS_H */
