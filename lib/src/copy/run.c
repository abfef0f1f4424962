// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The side of a copy that faces its caller and the file.
 */
#include "copy/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "store/area-inner.h"

/*
 * A read with so much room cuts no packet of a pipe, which is at most a page, nor an event of most
 * devices; see pipe(2), O_DIRECT.
 */
#define UNIT_BYTES ((size_t)64 << 10)

/* Returns whether a descriptor is a socket that drops the part of a message that a read leaves. */
static bool has_messages(int fd)
{
	int type = SOCK_STREAM;
	socklen_t length = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) && type != SOCK_STREAM;
}

static int check(const struct chario_copy *copy, const struct chario_area *area, bool writes)
{
	uint64_t bytes = area->fields.bytes;

	if (!chario_pool_is_ours(&area->store->pool))
		return -EPERM;
	if (writes && area->use == AREA_READ)
		return -EROFS;
	if (copy->flags & ~(writes ? CHARIO_COPY_SAME_OFFSET : 0) ||
	    copy->offset % CHARIO_STORE_BLOCK || copy->offset > bytes ||
	    copy->bytes > bytes - copy->offset)
		return -EINVAL;
	/* A write fills up its last block with zeroes, which only the last block of the area allows. */
	if (writes && copy->bytes % CHARIO_STORE_BLOCK && copy->bytes != bytes - copy->offset)
		return -EINVAL;
	return 0;
}

int chario_run_begin(struct copy_run *run, const struct chario_area *area, bool writes)
{
	struct chario_copy *copy = run->copy;
	int err;

	if (copy->size < sizeof(*copy))
		return -EINVAL;
	copy->step = CHARIO_COPY_DONE;
	copy->reserved = 0;
	copy->read_bytes = copy->written_bytes = copy->changed_bytes = 0;
	err = check(copy, area, writes);
	if (!err && writes && has_messages(run->fd))
		err = -EPROTOTYPE;
	if (!err && writes && !(copy->flags & CHARIO_COPY_SAME_OFFSET)) {
		run->rest = malloc(UNIT_BYTES);
		err = run->rest ? 0 : -ENOMEM;
	}
	return chario_run_judge(run, CHARIO_COPY_START, err);
}

void chario_run_end(const struct copy_run *run)
{
	free(run->rest);
}

int chario_run_judge(const struct copy_run *run, enum chario_copy_step step, int err)
{
	if (err)
		run->copy->step = step;
	return err;
}

bool chario_run_tell(struct copy_run *run)
{
	const struct chario_copy *copy = run->copy;

	if (copy->progress && !run->stopped)
		run->stopped = copy->progress(copy->written_bytes, copy->bytes, copy->data);
	return run->stopped;
}

/*
 * Read from the present position.  A packet that is longer than the room goes to the rest and
 * from there into the next piece; of the file, no byte behind those of the copy is read.
 */
static ssize_t read_next(struct copy_run *run, unsigned char *memory, size_t bytes)
{
	uint64_t left = run->copy->bytes - run->copy->read_bytes;
	ssize_t got;

	if (!run->rest_bytes) {
		if (bytes >= UNIT_BYTES || bytes == left)
			return read(run->fd, memory, bytes);
		got = read(run->fd, run->rest, MIN(UNIT_BYTES, left));
		if (got <= 0)
			return got;
		run->rest_bytes = (size_t)got;
		run->rest_at = 0;
	}
	bytes = MIN(bytes, run->rest_bytes);
	memcpy(memory, run->rest + run->rest_at, bytes);
	run->rest_at += bytes;
	run->rest_bytes -= bytes;
	return (ssize_t)bytes;
}

static ssize_t read_once(struct copy_run *run, unsigned char *memory, size_t bytes, uint64_t offset)
{
	ssize_t got = run->copy->flags & CHARIO_COPY_SAME_OFFSET ?
			      pread(run->fd, memory, bytes, (off_t)offset) :
			      read_next(run, memory, bytes);

	return got < 0 ? -errno : got;
}

int chario_run_read(struct copy_run *run, unsigned char *memory, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes && !chario_run_tell(run)) {
		ssize_t got = read_once(run, memory + done, bytes - done, offset + done);

		if (got == -EINTR)
			continue;
		if (got < 0)
			return chario_run_judge(run, CHARIO_COPY_FILE, (int)got);
		/* A signal that ends the writer of a pipe may be meant for the reader, too. */
		if (!got && chario_run_tell(run))
			return 0;
		if (!got)
			return chario_run_judge(run, CHARIO_COPY_END, -ENODATA);
		done += (size_t)got;
		run->copy->read_bytes += (uint64_t)got;
	}
	return 0;
}

int chario_run_write(struct copy_run *run, const unsigned char *memory, size_t bytes)
{
	while (bytes && !chario_run_tell(run)) {
		ssize_t put = write(run->fd, memory, bytes);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return chario_run_judge(run, CHARIO_COPY_FILE, -errno);
		memory += put;
		bytes -= (size_t)put;
		run->copy->written_bytes += (uint64_t)put;
	}
	return 0;
}
