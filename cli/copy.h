/* SPDX-License-Identifier: MIT */
/*
 * Copying between an area and a file: some buffers go round, so that the disk works
 * while the file does.  The data lie in the memory that the drive reads or writes, and
 * nowhere else.
 */
#ifndef CHARIO_CLI_COPY_H
#define CHARIO_CLI_COPY_H

#include <stdbool.h>

#include <chario/area.h>
#include <chario/queue.h>

#define CLI_COPY_SLOTS 4U
#define CLI_COPY_BYTES ((size_t)4 << 20)

/**
 * struct cli_slot - a buffer and the transfer that it is in
 * @buffer: the buffer
 * @offset: of the transfer in the area
 * @bytes: of it, whole blocks
 * @done: of them, that have been transferred
 * @err: negative errno with which it has failed
 * @in_flight: the disk has it
 */
struct cli_slot {
	struct chario_buffer *buffer;
	uint64_t offset;
	size_t bytes;
	size_t done;
	int err;
	bool in_flight;
};

/**
 * struct cli_copy - an area, and buffers that go round
 * @area: open
 * @info: of it
 * @device: of the store
 * @queue: of the device
 * @op: CHARIO_TRANSFER_READ or CHARIO_TRANSFER_WRITE
 * @slots: the ring
 * @slot_bytes: of each
 * @nr_slots: that there are
 * @first: the oldest that is in use
 * @used: that are in use
 */
struct cli_copy {
	struct chario_area *area;
	struct chario_area_info info;
	struct chario_device *device;
	struct chario_queue *queue;
	enum chario_transfer_op op;
	struct cli_slot slots[CLI_COPY_SLOTS];
	size_t slot_bytes;
	unsigned int nr_slots;
	unsigned int first;
	unsigned int used;
};

/* 0 or a negative errno, after which nothing is left open. */
int cli_copy_open(struct cli_copy *copy, struct chario_store *store, const char *name,
		  enum chario_transfer_op op);

/* Waits for what is in flight. */
void cli_copy_close(struct cli_copy *copy);

/* Memory of the next slot; NULL where all are in use. */
void *cli_copy_next(const struct cli_copy *copy);

/* Begin the transfer of the next slot: its bytes are made whole blocks, with zeroes. */
int cli_copy_start(struct cli_copy *copy, uint64_t offset, size_t bytes);

/* Wait for the oldest slot, which stays in use until it is dropped. */
int cli_copy_wait(struct cli_copy *copy, struct cli_slot **slot);
void cli_copy_drop(struct cli_copy *copy);

/*
 * What a transfer has not done may still be with the drive, which reads or writes the memory
 * and the disk until recovery has ended that: wait for it before either is used again.  A
 * first interrupt does not end the wait, a second one ends the program.
 */
void cli_outlast(const struct chario_buffer *buffer);

#endif /* CHARIO_CLI_COPY_H */
