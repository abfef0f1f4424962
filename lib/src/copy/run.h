/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A run: the side of a copy that faces its caller and the file.
 */
#ifndef CHARIO_COPY_RUN_H
#define CHARIO_COPY_RUN_H

#include <chario/copy.h>

#include <stdbool.h>
#include <stddef.h>

/**
 * struct copy_run - a copy under way
 * @copy: the caller's copy, with its arguments and its result
 * @fd: descriptor of the file
 * @stopped: result with which the callback has ended the copy; 0 while it has not
 * @rest: memory for a read that has less room than a packet of a pipe may need
 * @rest_bytes: number of bytes of @rest that wait for more room
 * @rest_at: offset of the first of these in @rest
 */
struct copy_run {
	struct chario_copy *copy;
	int fd;
	int stopped;
	unsigned char *rest;
	size_t rest_bytes;
	size_t rest_at;
};

/*
 * Check the arguments and reset the result.  Returns 0, or a negative errno; chario_run_end() has
 * to be called in both cases.
 */
int chario_run_begin(struct copy_run *run, const struct chario_area *area, bool writes);
void chario_run_end(const struct copy_run *run);

/* Record the step that has failed, if @err is not 0.  Returns @err. */
int chario_run_judge(const struct copy_run *run, enum chario_copy_step step, int err);

/* Call the callback, if any.  Returns whether it has ended the copy, now or before. */
bool chario_run_tell(struct copy_run *run);

/*
 * Fill memory from the file, or write memory to the file.  Returns 0 when all bytes are done or
 * the callback has ended the copy, or a negative errno.
 */
int chario_run_read(struct copy_run *run, unsigned char *memory, size_t bytes, uint64_t offset);
int chario_run_write(struct copy_run *run, const unsigned char *memory, size_t bytes);

#endif /* CHARIO_COPY_RUN_H */
