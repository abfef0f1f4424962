// SPDX-License-Identifier: MIT
/* Copying the bytes of an area to a file descriptor. */
#include "fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include <chario/copy.h>

#include "interrupt.h"
#include "progress.h"
#include "store.h"

/* A result that is no errno: the reader of the pipe has left. */
#define READER_LEFT 1

bool cli_fetch_allowed(const struct cli *cli, const struct cli_fetch *fetch,
		       struct chario_area_info *info)
{
	char whole[48];

	if (!cli_find_area(cli, fetch->name, info))
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

static int fail_copy(const struct cli *cli, const struct cli_fetch *fetch,
		     const struct chario_copy *copy, int err)
{
	if (copy->step != CHARIO_COPY_FILE)
		return cli_fail_area(cli, err, "cannot read \"%s\"", fetch->name);
	if (err == -EPIPE)
		return READER_LEFT;
	return cli_fail_output(cli, err == -EDQUOT ? -ENOSPC : err, fetch->to);
}

static int show(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	(void)total_bytes;
	cli_progress_update(data, done_bytes);
	return cli_interrupted();
}

static int copy_all(const struct cli *cli, struct cli_fetch *fetch, struct chario_area *area,
		    uint64_t bytes)
{
	struct cli_progress progress;
	struct chario_copy copy = {
		.size = sizeof(copy),
		.bytes = bytes,
		.progress = show,
		.data = &progress,
	};
	int err;

	cli_progress_begin(&progress, fetch->name, 0, bytes, fetch->quiet);
	err = chario_copy_out(area, fetch->fd, &copy);
	cli_progress_end(&progress);
	fetch->bytes = copy.written_bytes;
	return err < 0 ? fail_copy(cli, fetch, &copy, err) : CLI_OK;
}

int cli_fetch_run(const struct cli *cli, struct cli_fetch *fetch)
{
	struct chario_area *area = NULL;
	struct chario_area_info info;
	char whole[48];
	int status, err = cli_open_area(cli, fetch->name, O_RDONLY, &area);

	if (!err)
		err = chario_area_get_info(area, &info, sizeof(info));
	status = err ? cli_fail_area(cli, err, "cannot read \"%s\"", fetch->name) :
		       copy_all(cli, fetch, area, info.bytes);
	chario_area_close(area);
	if (status || fetch->bytes == info.bytes)
		return status ? CLI_FAILED : CLI_OK;
	return cli_say(cli, "stopped after %" PRIu64 " of %s of \"%s\"", fetch->bytes,
		       cli_count(whole, info.bytes, "byte"), fetch->name);
}
