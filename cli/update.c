// SPDX-License-Identifier: MIT
/* The update of an area: the library updates, this file reports. */
#include "update.h"

#include <fcntl.h>
#include <inttypes.h>

#include <chario/copy.h>

#include "interrupt.h"
#include "progress.h"

uint64_t cli_count_blocks(uint64_t bytes)
{
	return bytes / CHARIO_STORE_BLOCK + (bytes % CHARIO_STORE_BLOCK != 0);
}

/* the area */

static int refuse_length(const struct cli_update *update, const struct chario_area_info *info)
{
	return cli_say(update->cli,
		       "\"%s\" has %" PRIu64 " bytes, \"%s\" has %" PRIu64 "\n"
		       "--force makes the area as long first",
		       update->name, info->bytes, update->source->name, update->source->bytes);
}

int cli_update_fit(const struct cli_update *update, const struct chario_area_info *info, bool force)
{
	uint64_t begin_ns = cli_now_ns();
	int err;

	if (info->flags & CHARIO_AREA_STREAM)
		return cli_say(
			update->cli,
			"\"%s\" holds a recording, which --changed would spoil: take another name",
			update->name);
	if (info->bytes == update->source->bytes)
		return CLI_OK;
	if (!force)
		return refuse_length(update, info);
	do
		err = chario_store_resize(update->cli->store, update->name, update->source->bytes);
	while (cli_once_more(err, begin_ns));
	return err ? cli_fail_area(update->cli, err, "cannot resize \"%s\"", update->name) : CLI_OK;
}

/*
 * The update takes over an area that is being filled, so no other command continues its
 * filling.  The area is full when all of it is equal to the source.
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

/* the content */

/* Report an error of the copy; say_state() describes the content that it leaves. */
static int fail_copy(const struct cli_update *update, const struct chario_copy *copy, int err)
{
	const struct cli_source *source = update->source;

	switch (copy->step) {
	case CHARIO_COPY_START:
		return cli_fail_area(update->cli, err, "cannot write \"%s\"", update->name);
	case CHARIO_COPY_FILE:
		return cli_fail_file(update->cli, err, "read", source->name);
	case CHARIO_COPY_END:
		return cli_say(update->cli, "\"%s\" ended after %" PRIu64 " of %" PRIu64 " bytes",
			       source->name, copy->read_bytes, source->bytes);
	case CHARIO_COPY_READ:
		return cli_fail(update->cli, err, "cannot read \"%s\"", update->name);
	default:
		return cli_fail_write(update->cli, err, "cannot write \"%s\"", update->name);
	}
}

/*
 * Make the area durable, even if no block was written: an earlier put may have left data in
 * a cache, and a later flush does not cover the data of a failed one.
 */
static int sync_area(const struct cli_update *update)
{
	int err = chario_area_sync(update->area);

	if (!err)
		return CLI_OK;
	cli_forget_cache(update->cli);
	cli_fail_write(update->cli, err, "cannot flush \"%s\"", update->name);
	return cli_say(
		update->cli,
		"what has been written may not be on the disk, and nothing tells which blocks\n"
		"put --force without --changed writes all of them again");
}

/* Describe the content that an error has left; the error itself has been reported. */
static int say_state(const struct cli_update *update)
{
	return cli_say(
		update->cli,
		"stopped: %" PRIu64 " of %" PRIu64 " bytes of \"%s\" are as in \"%s\", "
		"behind them each block is the old or the new one; %" PRIu64 " blocks written\n"
		"%s",
		update->done_bytes, update->source->bytes, update->name, update->source->name,
		update->nr_written,
		update->source->tag ? "the same command brings the rest" :
				      "put all of it again, with --changed, to bring the rest");
}

static int say_mixture(const struct cli_update *update)
{
	return cli_say(update->cli,
		       "\"%s\" was changed while it was read: \"%s\" is a mixture\n"
		       "put it again with --changed when it rests",
		       update->source->name, update->name);
}

static int finish(const struct cli_update *update, int status)
{
	if (sync_area(update))
		return CLI_FAILED;
	if (status || update->done_bytes < update->source->bytes)
		return say_state(update);
	if (cli_source_changed(update->source))
		return say_mixture(update);
	return set_filled(update, update->source->bytes);
}

/**
 * struct course - the course of an update
 * @update: the update
 * @progress: progress line
 * @begun: true if the library has the memory that it needs
 * @status: status of the note that an area that is being filled has no content
 */
struct course {
	const struct cli_update *update;
	struct cli_progress progress;
	bool begun;
	int status;
};

/*
 * The first call comes when the library has its memory and before it writes a block: without
 * memory, the note of an earlier put remains.
 */
static int show(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	struct course *course = data;

	(void)total_bytes;
	if (!course->begun)
		course->status = set_filled(course->update, 0);
	course->begun = true;
	cli_progress_update(&course->progress, done_bytes);
	return course->status ? course->status : cli_interrupted();
}

static int update_all(struct cli_update *update)
{
	struct course course = { .update = update };
	struct chario_copy copy = {
		.size = sizeof(copy),
		.flags = update->source->tag ? CHARIO_COPY_SAME_OFFSET : 0,
		.bytes = update->source->bytes,
		.progress = show,
		.data = &course,
	};
	int err, status = CLI_OK;

	cli_interrupt_catch();
	cli_progress_begin(&course.progress, update->name, 0, update->source->bytes, update->quiet);
	err = chario_copy_update(update->area, update->source->fd, &copy);
	cli_progress_end(&course.progress);
	/* A copy of no bytes calls nobody. */
	if (!err && !course.begun)
		course.status = set_filled(update, 0);
	if (err < 0)
		status = fail_copy(update, &copy, err);
	if (course.status || copy.step == CHARIO_COPY_START)
		return course.status ? course.status : status;
	update->done_bytes = copy.written_bytes;
	update->nr_written = copy.changed_bytes / CHARIO_STORE_BLOCK;
	return finish(update, status);
}

int cli_update_run(struct cli_update *update)
{
	int status, err = cli_open_area(update->cli, update->name, O_RDWR, &update->area);

	if (err)
		return cli_fail_area(update->cli, err, "cannot write \"%s\"", update->name);
	status = update_all(update);
	chario_area_close(update->area);
	return status;
}
