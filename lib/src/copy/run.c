// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The side of a copy that faces its caller and the file.
 */
#include "copy/run.h"

#include <errno.h>
#include <unistd.h>

#include "store/area-inner.h"

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

int chario_run_begin(const struct copy_run *run, const struct chario_area *area, bool writes)
{
	struct chario_copy *copy = run->copy;

	if (copy->size < sizeof(*copy))
		return -EINVAL;
	copy->step = CHARIO_COPY_DONE;
	copy->reserved = 0;
	copy->read_bytes = copy->written_bytes = copy->changed_bytes = 0;
	return chario_run_judge(run, CHARIO_COPY_START, check(copy, area, writes));
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

static ssize_t read_once(const struct copy_run *run, unsigned char *memory, size_t bytes,
			 uint64_t offset)
{
	ssize_t got = run->copy->flags & CHARIO_COPY_SAME_OFFSET ?
			      pread(run->fd, memory, bytes, (off_t)offset) :
			      read(run->fd, memory, bytes);

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
