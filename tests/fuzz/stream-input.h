/* SPDX-License-Identifier: MIT */
/*
 * A recording as the fuzzer has it: what the table of the store says of it, what is
 * done with it, and behind that the bytes of its area.
 */
#ifndef CHARIO_STREAM_INPUT_H
#define CHARIO_STREAM_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the area; an input that is shorter leaves the rest of it zero. */
#define TAPE_BYTES (120U << 10)

/**
 * enum tape_flag - what is said of a recording, and done with it
 * @TAPE_RING: the table says that it is a ring
 * @TAPE_FOLLOW: somebody writes while it is read, and all behind @cut comes later
 * @TAPE_APPEND: it is gone on with, and read once more
 */
enum tape_flag {
	TAPE_RING = 1,
	TAPE_FOLLOW = 2,
	TAPE_APPEND = 4,
};

/**
 * struct tape_settings - what an input begins with
 * @session: as the table has it
 * @goal: a record, and a time, to go to
 * @segment_bytes: as the table has it
 * @window: as the table has it
 * @flags: enum tape_flag bits
 * @cut: bytes of the area that whoever follows finds at first
 */
struct tape_settings {
	uint64_t session;
	uint64_t goal;
	uint32_t segment_bytes;
	uint32_t window;
	uint32_t flags;
	uint32_t cut;
};

/*
 * Read a recording in every way, go on with it, and read it again.  Says what must
 * not be whatever the bytes are: another errno than those that are documented, a
 * record that was not asked for, more reads than so small an area can need.
 */
bool exercise_tape(const struct tape_settings *settings, const unsigned char *area, size_t bytes);

#endif /* CHARIO_STREAM_INPUT_H */
