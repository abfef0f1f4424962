// SPDX-License-Identifier: MIT
/*
 * The bytes of an area, into a file descriptor.
 */
#include "fetch.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "copy.h"
#include "interrupt.h"
#include "progress.h"
#include "store.h"

/* Not an errno: the reader of the pipe has left. */
#define READER_LEFT 1

bool cli_fetch_allowed(const struct cli *cli, const struct cli_fetch *fetch,
		       struct chario_area_info *info)
{
	char whole[48];

	if (!cli_find_area(cli, fetch->store, fetch->name, info))
		return false;
	if (info->flags & CHARIO_AREA_STREAM)
		cli_say(cli,
			"\"%s\" is a recording, and these are its segments as they lie on the disk; "
			"chario replay gives what was recorded",
			fetch->name);
	if (!(info->flags & CHARIO_AREA_FILLING) || fetch->force)
		return true;
	cli_say(cli,
		"of \"%s\" %" PRIu64 " of %s are there: chario put has not finished\n"
		"--force takes it as it is",
		fetch->name, info->filled_bytes, cli_count(whole, info->bytes, "byte"));
	return false;
}

static int write_all(int fd, const char *memory, size_t bytes)
{
	while (bytes) {
		ssize_t put = write(fd, memory, bytes);

		if (put < 0 && errno == EINTR && !cli_interrupted())
			continue;
		if (put < 0)
			return -errno;
		memory += put;
		bytes -= (size_t)put;
	}
	return 0;
}

static int fail_write(const struct cli *cli, const struct cli_fetch *fetch, int err)
{
	if (err == -EPIPE)
		return READER_LEFT;
	if (err == -EINTR)
		return CLI_OK;
	if (err == -EFBIG)
		cli_say(cli, "\"%s\" may not be as long as that: raise the limit (ulimit -f)",
			fetch->to);
	else if (err == -ENOSPC || err == -EDQUOT)
		cli_say(cli, "no room is left for \"%s\"; df shows where there is some", fetch->to);
	else
		cli_say(cli, "cannot write \"%s\": %s", fetch->to, strerror(-err));
	return CLI_FAILED;
}

/* Keep all slots reading ahead. */
static int start_reads(struct cli_copy *copy, uint64_t *at)
{
	int err = 0;

	while (!err && *at < copy->info.bytes && cli_copy_next(copy)) {
		uint64_t left = copy->info.bytes - *at;
		size_t bytes = left < copy->slot_bytes ? (size_t)left : copy->slot_bytes;

		err = cli_copy_start(copy, *at, bytes);
		if (!err)
			*at += bytes;
	}
	return err;
}

static int write_oldest(const struct cli *cli, struct cli_fetch *fetch, struct cli_copy *copy)
{
	struct cli_slot *slot;
	int err = cli_copy_wait(copy, &slot);
	uint64_t left = copy->info.bytes - fetch->bytes;
	size_t bytes;

	if (err)
		return cli_fail_area(cli, err, "cannot read \"%s\"", fetch->name);
	bytes = left < slot->bytes ? (size_t)left : slot->bytes;
	err = write_all(fetch->fd, chario_buffer_memory(slot->buffer), bytes);
	if (err)
		return fail_write(cli, fetch, err);
	fetch->bytes += bytes;
	cli_copy_drop(copy);
	return CLI_OK;
}

static int copy_all(const struct cli *cli, struct cli_fetch *fetch, struct cli_copy *copy)
{
	struct cli_progress progress;
	uint64_t at = 0;
	int status = CLI_OK;

	cli_progress_begin(&progress, fetch->name, 0, copy->info.bytes, fetch->quiet);
	while (!status && fetch->bytes < copy->info.bytes && !cli_interrupted()) {
		int err = start_reads(copy, &at);

		if (err) {
			cli_progress_end(&progress);
			return cli_fail_area(cli, err, "cannot read \"%s\"", fetch->name);
		}
		cli_progress_update(&progress, fetch->bytes);
		status = write_oldest(cli, fetch, copy);
	}
	cli_progress_end(&progress);
	return status;
}

int cli_fetch_run(const struct cli *cli, struct cli_fetch *fetch)
{
	struct cli_copy copy;
	int err = cli_copy_open(&copy, fetch->store, fetch->name, CHARIO_TRANSFER_READ);
	char whole[48];
	uint64_t total;
	int status;

	if (err)
		return cli_fail_area(cli, err, "cannot read \"%s\"", fetch->name);
	total = copy.info.bytes;
	fetch->bytes = 0;
	status = copy_all(cli, fetch, &copy);
	cli_copy_close(&copy);
	if (status || fetch->bytes == total)
		return status ? CLI_FAILED : CLI_OK;
	cli_say(cli, "stopped after %" PRIu64 " of %s of \"%s\"", fetch->bytes,
		cli_count(whole, total, "byte"), fetch->name);
	return CLI_FAILED;
}
