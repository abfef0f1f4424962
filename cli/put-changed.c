// SPDX-License-Identifier: MIT
/* The change of an area: the library compares and writes, this file reports. */
#include "put.h"

#include <fcntl.h>
#include <inttypes.h>

#include "interrupt.h"

/* the area */

/* Give the area the length of the source, if the user allows that. */
static int fit(const struct cli_put *put, const struct chario_area_info *info)
{
	uint64_t begin_ns = cli_now_ns();
	int err;

	if (info->flags & CHARIO_AREA_STREAM)
		return cli_say(
			put->cli,
			"\"%s\" holds a recording, which --changed would spoil: take another name",
			put->name);
	if (info->bytes == put->source.bytes)
		return CLI_OK;
	if (!put->force)
		return cli_say(put->cli,
			       "\"%s\" has %" PRIu64 " bytes, \"%s\" has %" PRIu64 "\n"
			       "--force makes the area as long first",
			       put->name, info->bytes, put->source.name, put->source.bytes);
	do
		err = chario_store_resize(put->cli->store, put->name, put->source.bytes);
	while (cli_once_more(err, begin_ns));
	return err ? cli_fail_area(put->cli, err, "cannot resize \"%s\"", put->name) : CLI_OK;
}

/*
 * The update takes over an area that is being filled, so no other command continues its
 * filling.  The area is full when all of it is equal to the source.
 */
static int set_filled(const struct cli_put *put, uint64_t bytes)
{
	struct chario_area_info info;
	int err = chario_area_get_info(put->area, &info, sizeof(info));

	if (!err && info.flags & CHARIO_AREA_FILLING)
		err = chario_area_set_filled(put->area, bytes, 0);
	if (err)
		return cli_fail_area(put->cli, err, "cannot write down how much of \"%s\" is there",
				     put->name);
	return CLI_OK;
}

/* the content */

/*
 * Make the area durable, even if no block was written: an earlier put may have left data in
 * a cache, and a later flush does not cover the data of a failed one.
 */
static int sync_area(const struct cli_put *put)
{
	int err = chario_area_sync(put->area);

	if (!err)
		return CLI_OK;
	cli_forget_cache(put->cli);
	cli_fail_write(put->cli, err, "cannot flush \"%s\"", put->name);
	return cli_say(
		put->cli,
		"what has been written may not be on the disk, and nothing tells which blocks\n"
		"put --force without --changed writes all of them again");
}

/* Describe the content that an error has left; the error itself has been reported. */
static int say_state(const struct cli_put *put)
{
	return cli_say(
		put->cli,
		"stopped: %" PRIu64 " of %" PRIu64 " bytes of \"%s\" are as in \"%s\", "
		"behind them each block is the old or the new one; %" PRIu64 " blocks written\n"
		"%s",
		put->written, put->source.bytes, put->name, put->source.name, put->nr_written,
		put->source.is_seekable ? "the same command brings the rest" :
					  "put all of it again, with --changed, to bring the rest");
}

static int finish(const struct cli_put *put, int status)
{
	if (sync_area(put))
		return CLI_FAILED;
	if (status || put->written < put->source.bytes)
		return say_state(put);
	if (cli_source_changed(&put->source))
		return cli_say(put->cli,
			       "\"%s\" was changed while it was read: \"%s\" is a mixture\n"
			       "put it again with --changed when it rests",
			       put->source.name, put->name);
	return set_filled(put, put->source.bytes);
}

/*
 * The first call comes when the library has its memory and before it writes a block: without
 * memory, the note of an earlier put remains.
 */
static int show(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	struct cli_put *put = data;

	(void)total_bytes;
	if (!put->begun)
		put->broken = set_filled(put, 0);
	put->begun = true;
	cli_progress_update(&put->progress, done_bytes);
	return put->broken || cli_interrupted();
}

static int update(struct cli_put *put)
{
	struct chario_copy copy = {
		.size = sizeof(copy),
		.flags = put->source.is_seekable ? CHARIO_COPY_SAME_OFFSET : 0,
		.bytes = put->source.bytes,
		.progress = show,
		.data = put,
	};
	int err, status = CLI_OK;

	cli_interrupt_catch();
	cli_progress_begin(&put->progress, put->name, 0, put->source.bytes, put->quiet);
	err = chario_copy_update(put->area, put->source.fd, &copy);
	cli_progress_end(&put->progress);
	/* A copy of no bytes calls nobody. */
	if (!err && !put->begun)
		put->broken = set_filled(put, 0);
	if (err < 0)
		status = cli_put_fail_copy(put, &copy, err);
	if (put->broken)
		return CLI_FAILED;
	if (copy.step == CHARIO_COPY_START)
		return status;
	put->written = copy.written_bytes;
	put->nr_written = copy.changed_bytes / CHARIO_STORE_BLOCK;
	return finish(put, status);
}

int cli_put_changed(struct cli_put *put, const struct chario_area_info *area)
{
	int err, status = fit(put, area);

	if (status)
		return status;
	err = cli_open_area(put->cli, put->name, O_RDWR, &put->area);
	if (err)
		return cli_fail_area(put->cli, err, "cannot write \"%s\"", put->name);
	status = update(put);
	chario_area_close(put->area);
	return status;
}
