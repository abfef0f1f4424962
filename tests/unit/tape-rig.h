/* SPDX-License-Identifier: MIT */
/*
 * One recording on a disk in memory: what tests of streams make, look at, and read
 * back.
 */
#ifndef CHARIO_TAPE_RIG_H
#define CHARIO_TAPE_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tape-lab.h"

/* Of a segment, and of the area, as most tests have them. */
#define RIG_SEGMENT 8192U
#define RIG_SLOTS   32U
#define RIG_BYTES   (RIG_SLOTS * RIG_SEGMENT)

/**
 * struct tape_rig - the recording, and what was last found out about it
 * @disk: that it is on
 * @store: that it is in, open for writing
 * @stream: that makes it, or NULL
 * @reader: that reads it, or NULL
 * @status: of the stream, when rig_look() or rig_wait() was called
 * @record: that rig_next() has read
 * @recording: when rig_get_recording() was called
 */
struct tape_rig {
	struct log_disk *disk;
	struct chario_store *store;
	struct chario_stream *stream;
	struct chario_reader *reader;
	struct chario_stream_status status;
	struct chario_record record;
	struct chario_recording recording;
};

extern struct tape_rig rig;

/* Small segments, and nothing happens by time that a test does not ask for. */
extern const struct chario_stream_options rig_small;

/* A disk with one area and no recording, as most tests have it; and the end of all that there is. */
void rig_begin(uint64_t area_bytes, bool cached);
void rig_begin_usual(void);
void rig_begin_again(void);
void rig_end(void);

/* Open the stream; RIG_OPEN() has the small options but for the members that are given. */
int rig_open(const struct chario_stream_options *options);
int rig_open_with(struct chario_stream_options options);
int rig_open_as(uint32_t flags);
#define RIG_OPEN(...) rig_open_with((struct chario_stream_options){ __VA_ARGS__ })

int rig_close(void);
int rig_open_reader(void);
void rig_close_reader(void);

/* Close the stream, and open a reader of what it has recorded. */
int rig_read_back(void);

/*
 * Cut the power: the disk has what had been written, and nothing of an end; the store is opened
 * again.  Returns the error with which the stream closed.
 */
int rig_cut(void);

/* Close the stream, or leave it as if its program had been killed when all was durable. */
int rig_stop(bool is_closed);

/* Wait until all is durable; what the status is then. */
int rig_wait(void);

/* Record the records from one number to before another. */
int rig_record(uint64_t from, uint64_t to, size_t bytes);

/* A room, without waiting for it; what the status is; the next record; what the reader knows. */
int rig_get(size_t bytes, struct chario_stream_room *room);
int rig_look(void);
int rig_next(void);
int rig_get_recording(void);

/* Open a reader, and get what it knows. */
int rig_survey(void);

/* Bytes of the area on the disk. */
unsigned char *rig_place(uint64_t offset);

/* Hold writes to the first bytes of the area back; none with 0. */
void rig_hold(uint64_t bytes);

/* Have the drive be unable to read one place of the area, instead of any before, until healed. */
void rig_spoil(uint64_t offset, uint64_t bytes);

/*
 * Whether the next record is this one, as it was written, behind so many missing ones; or behind
 * none; or whether the next records are those from one number to before another.
 */
bool rig_is_behind(uint64_t sequence, uint64_t missing, int64_t timeout_ns);
bool rig_is_next(uint64_t sequence);
bool rig_are_next(uint64_t from, uint64_t to);

/* Close the stream and read: records from one number to before another, and the end. */
bool rig_holds(uint64_t from, uint64_t to);

#endif /* CHARIO_TAPE_RIG_H */
