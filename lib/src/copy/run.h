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
 * @copy: the caller's
 * @fd: the file
 * @stopped: the callback has ended the copy with this; 0 while it has not
 */
struct copy_run {
	struct chario_copy *copy;
	int fd;
	int stopped;
};

/* Look at the arguments, and say that nothing has been copied.  Returns 0 or a negative errno. */
int chario_run_begin(const struct copy_run *run, const struct chario_area *area, bool writes);

/* Note the step of an error, where it is one; returns the error. */
int chario_run_judge(const struct copy_run *run, enum chario_copy_step step, int err);

/* Tell how far the copy is; whether the callback has ended it, now or before. */
bool chario_run_tell(struct copy_run *run);

/* Fill memory from the file, or write it there.  0 also where the copy has been ended before. */
int chario_run_read(struct copy_run *run, unsigned char *memory, size_t bytes, uint64_t offset);
int chario_run_write(struct copy_run *run, const unsigned char *memory, size_t bytes);

#endif /* CHARIO_COPY_RUN_H */
