// SPDX-License-Identifier: MIT
/*
 * Updating an area.
 *
 * A part of the area is loaded as a view, compared with the same part of the source,
 * corrected in memory, and flushed; then comes the next part.  What a source has is
 * read before anything of its part is changed, so each block is the old or the new one,
 * wherever an update ends.
 */
#include "update.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "progress.h"

#define BLOCK      ((size_t)CHARIO_STORE_BLOCK)
#define PART_BYTES ((size_t)4 << 20)
#define PART_LEAST ((size_t)64 << 10)

uint64_t cli_count_blocks(uint64_t bytes)
{
	return bytes / BLOCK + (bytes % BLOCK != 0);
}

/* the area */

static int refuse_length(const struct cli_update *update, const struct chario_area_info *info)
{
	cli_say(update->cli,
		"\"%s\" has %" PRIu64 " bytes, \"%s\" has %" PRIu64 "\n"
		"--force makes the area as long first",
		update->name, info->bytes, update->source->name, update->source->bytes);
	return CLI_FAILED;
}

int cli_update_fit(const struct cli_update *update, struct chario_store *store,
		   const struct chario_area_info *info, bool force)
{
	uint64_t begin_ns = cli_now_ns();
	int err;

	if (info->flags & CHARIO_AREA_STREAM) {
		cli_say(update->cli,
			"\"%s\" holds a recording, which --changed would spoil: take another name",
			update->name);
		return CLI_FAILED;
	}
	if (info->bytes == update->source->bytes)
		return CLI_OK;
	if (!force)
		return refuse_length(update, info);
	do
		err = chario_store_resize(store, update->name, update->source->bytes);
	while (cli_once_more(err, begin_ns));
	return err ? cli_fail_area(update->cli, err, "cannot resize \"%s\"", update->name) : CLI_OK;
}

/*
 * An area that is being filled belongs to what has begun it no more: neither that nor
 * something else goes on there.  It is full when all of it is the same.
 */
static int set_filled(const struct cli_update *update, uint64_t bytes)
{
	struct chario_area_info info;
	int err = chario_area_get_info(update->area, &info, sizeof(info));

	if (!err && info.flags & CHARIO_AREA_FILLING)
		err = chario_area_set_filled(update->area, bytes, 0);
	if (err)
		return cli_fail_area(update->cli, err,
				     "cannot write down how much of \"%s\" is there", update->name);
	return CLI_OK;
}

/* a part */

static size_t least(size_t one, size_t other)
{
	return one < other ? one : other;
}

/* Correct a part in memory, block by block. */
static void correct(const struct cli_update *update, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += BLOCK) {
		size_t length = least(BLOCK, bytes - at);

		if (!memcmp(update->memory + at, update->fresh + at, length))
			continue;
		memcpy(update->memory + at, update->fresh + at, length);
		chario_view_mark(update->view, at, length);
	}
}

static int flush(struct cli_update *update)
{
	uint64_t written;
	int err = chario_view_flush(update->view, 0, &written);

	update->nr_written += written / BLOCK;
	return err ? cli_fail_write(update->cli, err, "cannot write \"%s\"", update->name) : CLI_OK;
}

static int write_part(struct cli_update *update, size_t bytes)
{
	int status, err = chario_view_load(update->area, update->done_bytes, bytes, update->buffer,
					   0, CHARIO_TRACKING_MARKS, &update->view);

	if (err)
		return cli_fail(update->cli, err, "cannot read \"%s\"", update->name);
	correct(update, bytes);
	status = flush(update);
	chario_view_unload(update->view, 0);
	if (!status)
		update->done_bytes += bytes;
	return status;
}

/* Bytes of the source; all of them, or CLI_FAILED and a message, but for an interrupt. */
static int read_part(const struct cli_update *update, size_t bytes)
{
	const struct cli_source *source = update->source;
	ssize_t got = cli_source_read(source, update->fresh, bytes, update->done_bytes);

	if (got < 0) {
		cli_say(update->cli, "cannot read \"%s\": %s", source->name, strerror((int)-got));
		return CLI_FAILED;
	}
	if ((size_t)got == bytes || cli_interrupted())
		return CLI_OK;
	cli_say(update->cli, "\"%s\" ended after %" PRIu64 " of %" PRIu64 " bytes", source->name,
		update->done_bytes + (uint64_t)got, source->bytes);
	return CLI_FAILED;
}

/* the whole */

static int update_all(struct cli_update *update)
{
	uint64_t left = update->source->bytes;
	int status = CLI_OK;

	while (left && !status) {
		size_t bytes = left < update->part_bytes ? (size_t)left : update->part_bytes;

		status = read_part(update, bytes);
		if (cli_interrupted())
			break;
		if (!status)
			status = write_part(update, bytes);
		cli_progress_update(&update->progress, update->done_bytes);
		left -= bytes;
	}
	return status;
}

/*
 * Also where nothing was written: an earlier put may have left it in a cache.  What a
 * flush was for that failed, the next one says nothing of.
 */
static int sync_area(const struct cli_update *update, struct chario_store *store)
{
	int err = chario_area_sync(update->area);

	if (!err)
		return CLI_OK;
	cli_forget_cache(store);
	cli_fail_write(update->cli, err, "cannot flush \"%s\"", update->name);
	cli_say(update->cli,
		"what has been written may not be on the disk, and nothing tells which blocks\n"
		"put --force without --changed writes all of them again");
	return CLI_FAILED;
}

/* An error has been told already; what it leaves has not. */
static int say_state(const struct cli_update *update)
{
	cli_say(update->cli,
		"stopped: %" PRIu64 " of %" PRIu64 " bytes of \"%s\" are as in \"%s\", "
		"behind them each block is the old or the new one; %" PRIu64 " blocks written\n"
		"%s",
		update->done_bytes, update->source->bytes, update->name, update->source->name,
		update->nr_written,
		update->source->tag ? "the same command brings the rest" :
				      "put all of it again, with --changed, to bring the rest");
	return CLI_FAILED;
}

static int say_mixture(const struct cli_update *update)
{
	cli_say(update->cli,
		"\"%s\" was changed while it was read: \"%s\" is a mixture\n"
		"put it again with --changed when it rests",
		update->source->name, update->name);
	return CLI_FAILED;
}

static int finish(const struct cli_update *update, struct chario_store *store, int status)
{
	if (sync_area(update, store))
		return CLI_FAILED;
	if (status || update->done_bytes < update->source->bytes)
		return say_state(update);
	if (cli_source_changed(update->source))
		return say_mixture(update);
	return set_filled(update, update->source->bytes);
}

/* Where locked memory is limited, less of it serves as well. */
static int make_buffer(struct cli_update *update, struct chario_device *device)
{
	int err;

	for (update->part_bytes = PART_BYTES;; update->part_bytes /= 2) {
		err = chario_buffer_pool(device, update->part_bytes, CHARIO_BUFFER_STREAMING,
					 &update->buffer);
		if (err != -ENOMEM || update->part_bytes <= PART_LEAST)
			break;
	}
	if (err)
		return err;
	update->memory = chario_buffer_memory(update->buffer);
	update->fresh = cli_must(aligned_alloc(BLOCK, update->part_bytes));
	return 0;
}

static int open_area(struct cli_update *update, struct chario_store *store)
{
	int err = cli_open_area(store, update->name, O_RDWR, &update->area);

	if (!err)
		err = make_buffer(update, chario_store_device(store));
	return err ? cli_fail_area(update->cli, err, "cannot write \"%s\"", update->name) : CLI_OK;
}

static void close_area(struct cli_update *update)
{
	free(update->fresh);
	chario_buffer_free(update->buffer);
	chario_area_close(update->area);
}

int cli_update_run(struct cli_update *update, struct chario_store *store)
{
	int status = open_area(update, store);

	if (!status)
		status = set_filled(update, 0);
	if (!status) {
		cli_interrupt_catch();
		cli_progress_begin(&update->progress, update->name, 0, update->source->bytes,
				   update->quiet);
		status = update_all(update);
		cli_progress_end(&update->progress);
		status = finish(update, store, status);
	}
	close_area(update);
	return status;
}
