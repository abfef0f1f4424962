// SPDX-License-Identifier: MIT
/*
 * chario put: copies a file to an area, or changes one.
 *
 * A replacement of an area is written beside it, under a name of its own, and takes the
 * name when it is complete, by one change of the table.
 *
 * The verb saves in the table, from time to time, how much of the copy is durable, and the area
 * keeps a tag of its source.  So the same command continues after any interruption.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <chario/stream.h>

#include "interrupt.h"
#include "put.h"

#define SAVE_BYTES  ((uint64_t)64 << 20)
#define SAVE_MIN_NS NS_PER_S
#define SAVE_MAX_NS (5 * NS_PER_S)

/* the area */

/**
 * struct room - the longest hole that there would be without an area
 * @name: name of the area
 * @alignment: alignment of areas in bytes
 * @end: end of the previous area
 * @longest: longest hole so far in bytes
 */
struct room {
	const char *name;
	uint64_t alignment;
	uint64_t end;
	uint64_t longest;
};

static void count_hole(struct room *room, uint64_t end)
{
	uint64_t begin = (room->end + room->alignment - 1) / room->alignment * room->alignment;

	if (begin < end && end - begin > room->longest)
		room->longest = end - begin;
}

static int count_area(const struct chario_area_info *area, void *data)
{
	struct room *room = data;

	if (!strcmp(area->name, room->name))
		return 0;
	count_hole(room, area->offset);
	if (area->offset + area->allocated_bytes > room->end)
		room->end = area->offset + area->allocated_bytes;
	return 0;
}

/* Do not remove the old area for a new one that does not fit. */
static int check_room(const struct cli_put *put)
{
	struct room room = { .name = put->name };
	struct chario_store_info info;
	int err = chario_store_get_info(put->cli->store, &info, sizeof(info));

	if (err)
		return err;
	room.alignment = info.alignment_bytes;
	room.end = info.data_offset;
	err = chario_store_each(put->cli->store, count_area, &room);
	count_hole(&room, info.data_offset + info.data_bytes);
	if (err)
		return err;
	return room.longest >= put->source.bytes ? 0 : -ENOSPC;
}

static int create(struct cli_put *put)
{
	struct chario_area_info area;
	int err = chario_store_create(put->cli->store, put->into, put->source.bytes,
				      CHARIO_CREATE_FILLING);

	if (!err && !chario_store_find(put->cli->store, put->into, &area, sizeof(area)))
		put->created = area.id;
	if (err == -ENOSPC && put->into != put->name)
		return cli_say(
			put->cli,
			"no hole of the store is long enough for the new \"%s\" beside the old one\n"
			"chario df shows the largest hole, chario defrag makes one of all free space; "
			"--remove-first removes the old one before the new one is there",
			put->name);
	return err ? cli_fail_create(put->cli, err, put->into) : CLI_OK;
}

/* The new area gets the attributes of the old one, as chario_area_publish() would give them. */
static int remove_and_create(struct cli_put *put, const struct chario_area_info *old)
{
	int status, err = check_room(put);

	if (!err)
		err = chario_store_remove(put->cli->store, put->name);
	if (err)
		return cli_fail_area(put->cli, err, "cannot replace \"%s\"", put->name);
	status = create(put);
	/* The new area stays whatever happens, for its attributes are nowhere else. */
	put->created = 0;
	if (status || !old->attributes[0])
		return status;
	err = chario_store_set_attributes(put->cli->store, put->name, old->attributes);
	return err ? cli_fail_area(put->cli, err, "cannot set attributes of \"%s\"", put->name) :
		     CLI_OK;
}

static void go_on(struct cli_put *put, const struct chario_area_info *area)
{
	put->start = area->filled_bytes / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
}

/* Returns whether the area was begun with the same source, or with nothing yet. */
static bool can_go_on(const struct cli_put *put, const struct chario_area_info *area)
{
	if (!(area->flags & CHARIO_AREA_FILLING) || area->bytes != put->source.bytes)
		return false;
	return !area->filled_bytes || (put->source.tag && area->fill_tag == put->source.tag);
}

/* Continue a copy that an earlier put has left beside the area, or begin it anew. */
static int write_beside(struct cli_put *put)
{
	struct chario_area_info area;
	int err, length = snprintf(put->beside, sizeof(put->beside), "%s.part", put->name);

	if (length >= (int)sizeof(put->beside))
		return cli_fail_area(put->cli, -ENAMETOOLONG, "cannot write \"%s.part\"",
				     put->name);
	put->into = put->beside;
	err = chario_store_find(put->cli->store, put->into, &area, sizeof(area));
	if (!err && !(area.flags & CHARIO_AREA_FILLING))
		return cli_say(put->cli,
			       "there is an area \"%s\", where the new content is written "
			       "until all of it is there\nrename or remove it",
			       put->into);
	if (!err && can_go_on(put, &area)) {
		go_on(put, &area);
		return CLI_OK;
	}
	if (!err)
		err = chario_store_remove(put->cli->store, put->into);
	if (err && err != -ENOENT)
		return cli_fail_area(put->cli, err, "cannot replace \"%s\"", put->name);
	return create(put);
}

/*
 * An empty area fits beside the old one; a store of the first release refuses it before the
 * old one is removed.
 */
static int replace(struct cli_put *put, const struct chario_area_info *area)
{
	if (area->flags & CHARIO_AREA_STREAM)
		cli_say(put->cli, "the recording in \"%s\" is replaced", put->name);
	return put->remove_first && put->source.bytes ? remove_and_create(put, area) :
							write_beside(put);
}

static int refuse(const struct cli_put *put, const struct chario_area_info *area)
{
	if (area->flags & CHARIO_AREA_STREAM)
		return cli_say(put->cli,
			       "\"%s\" holds a recording\n--force replaces it by the file; "
			       "chario record --append goes on with it",
			       put->name);
	return cli_say(
		put->cli, "\"%s\" is %s\n--force replaces it", put->name,
		area->flags & CHARIO_AREA_FILLING ?
			"an unfinished copy of something else, or its source has changed since" :
			"there already");
}

static int have_area(struct cli_put *put)
{
	struct chario_area_info area;
	int err = chario_store_find(put->cli->store, put->name, &area, sizeof(area));

	if (err == -ENOENT)
		return create(put);
	if (err)
		return cli_fail_area(put->cli, err, "cannot look for \"%s\"", put->name);
	if (can_go_on(put, &area)) {
		go_on(put, &area);
		return CLI_OK;
	}
	return put->force ? replace(put, &area) : refuse(put, &area);
}

/* the copy */

/* Returns whether a copy beside an area must take its place. */
static bool is_to_be_published(const struct cli_put *put)
{
	return put->into != put->name && put->written == put->source.bytes && !put->broken;
}

/*
 * Have the copy take the name.  If that fails, count one byte as missing, so that the area stays
 * unfinished and the same command tries again.
 */
static int publish(const struct cli_put *put)
{
	int err = chario_area_publish(put->area, put->name);

	if (err && put->written)
		chario_area_set_filled(put->area, put->written - 1, put->source.tag);
	return err;
}

/*
 * Save how much of the copy is durable.  A later flush does not cover the data of a failed one,
 * and a write of the table flushes, too.
 */
static int save_progress(struct cli_put *put)
{
	int err = put->unflushed ? -EIO : chario_area_sync(put->area);

	if (!err && is_to_be_published(put))
		err = publish(put);
	else if (!err)
		err = chario_area_set_filled(put->area, put->written, put->source.tag);
	put->unflushed = err;
	if (err) {
		cli_forget_cache(put->cli);
		return err;
	}
	put->saved = put->written;
	put->saved_ns = cli_now_ns();
	return 0;
}

static int save_or_fail(struct cli_put *put)
{
	const bool publishes = is_to_be_published(put);
	int err = save_progress(put);

	if (!err)
		return CLI_OK;
	put->broken = true;
	if (publishes)
		return cli_fail_area(put->cli, err,
				     "cannot replace \"%s\"; the new content is in \"%s\", and the "
				     "same command goes on with it",
				     put->name, put->into);
	return cli_fail_write(put->cli, err, "cannot write down how much of \"%s\" is there",
			      put->name);
}

/* The whole copy is saved at the end, when all of it is known to be good. */
static bool is_due(const struct cli_put *put)
{
	uint64_t passed_ns = cli_now_ns() - put->saved_ns;
	uint64_t bytes = put->written - put->saved;

	if (!bytes || put->written == put->source.bytes)
		return false;
	return passed_ns >= SAVE_MAX_NS || (passed_ns >= SAVE_MIN_NS && bytes >= SAVE_BYTES);
}

static int say_short(const struct cli_put *put, uint64_t bytes)
{
	char whole[48];

	return cli_say(put->cli, "\"%s\" ended after %" PRIu64 " of %s%s", put->source.name, bytes,
		       cli_count(whole, put->source.bytes, "byte"),
		       put->source.is_seekable ? ": it became shorter while it was read" : "");
}

int cli_put_fail_copy(const struct cli_put *put, const struct chario_copy *copy, int err)
{
	switch (copy->step) {
	case CHARIO_COPY_START:
		return cli_fail_area(put->cli, err, "cannot write \"%s\"", put->into);
	case CHARIO_COPY_FILE:
		return cli_fail_file(put->cli, err, "read", put->source.name);
	case CHARIO_COPY_END:
		return say_short(put, put->start + copy->read_bytes);
	case CHARIO_COPY_READ:
		return cli_fail(put->cli, err, "cannot read \"%s\"", put->name);
	default:
		return cli_fail_write(put->cli, err, "cannot write \"%s\"", put->name);
	}
}

/* Show and save the progress of the copy; a progress that cannot be saved ends it. */
static int show_and_save(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	struct cli_put *put = data;

	(void)total_bytes;
	put->written = put->start + done_bytes;
	cli_progress_update(&put->progress, put->written);
	if (is_due(put) && save_or_fail(put))
		return CLI_FAILED;
	return cli_interrupted();
}

static int copy_all(struct cli_put *put)
{
	struct chario_copy copy = {
		.size = sizeof(copy),
		.flags = put->source.is_seekable ? CHARIO_COPY_SAME_OFFSET : 0,
		.offset = put->start,
		.bytes = put->source.bytes - put->start,
		.progress = show_and_save,
		.data = put,
	};
	int err = chario_copy_in(put->area, put->source.fd, &copy);

	cli_progress_end(&put->progress);
	put->written = put->start + copy.written_bytes;
	put->begun = err >= 0 || copy.read_bytes || copy.step == CHARIO_COPY_END;
	if (put->broken)
		return CLI_FAILED;
	if (err >= 0)
		return CLI_OK;
	put->broken = copy.step == CHARIO_COPY_WRITE;
	return cli_put_fail_copy(put, &copy, err);
}

static int say_stopped(const struct cli_put *put)
{
	if (put->source.tag)
		return cli_say(put->cli,
			       "stopped: %" PRIu64 " of %" PRIu64
			       " bytes of \"%s\" are there; the same command goes on from there",
			       put->saved, put->source.bytes, put->name);
	return cli_say(
		put->cli, "stopped: \"%s\" has the first %" PRIu64 " of %" PRIu64 " bytes; %s",
		put->name, put->saved, put->source.bytes,
		put->source.is_seekable ?
			"whether a disk is still the same cannot be seen: put it again with "
			"--changed, which reads all of it and writes what differs" :
			"what has been read of it cannot be read again: put it again with --force");
}

static int finish(struct cli_put *put, int status)
{
	if (!status && put->written == put->source.bytes && !cli_source_changed(&put->source))
		return save_or_fail(put);
	/* Data from before the error may be durable.  It was reported, so this result is ignored. */
	if (put->broken)
		save_progress(put);
	else if (put->written > put->saved && put->written < put->source.bytes)
		save_or_fail(put);
	if (!status && put->written < put->source.bytes)
		return say_stopped(put);
	if (status)
		return status;
	return cli_say(
		put->cli,
		"\"%s\" was changed while it was read: \"%s\" is a mixture and stays unfinished\n"
		"put it again with --force when it rests",
		put->source.name, put->name);
}

static uint64_t count_blocks(uint64_t bytes)
{
	return bytes / CHARIO_STORE_BLOCK + (bytes % CHARIO_STORE_BLOCK != 0);
}

static void print_json(const struct cli_put *put, uint64_t nr_blocks)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "name", put->name);
	cli_json_number(object, "bytes", put->source.bytes);
	cli_json_number(object, "resumed_at_bytes", put->start);
	cli_json_number(object, "blocks", nr_blocks);
	cli_json_number(object, "written_blocks", put->nr_written);
	cli_json_print(object);
}

static void print(const struct cli_put *put)
{
	uint64_t nr_blocks = count_blocks(put->source.bytes);

	if (put->cli->json)
		print_json(put, nr_blocks);
	else if (put->changed)
		printf("%" PRIu64 " of %" PRIu64 " blocks written\n", put->nr_written, nr_blocks);
}

static int put_whole(struct cli_put *put)
{
	int err, status = have_area(put);

	if (status)
		return status;
	err = cli_open_area(put->cli, put->into, O_RDWR, &put->area);
	if (err)
		return cli_fail_area(put->cli, err, "cannot write \"%s\"", put->into);
	put->written = put->start;
	if (put->start)
		cli_say(put->cli, "goes on after %" PRIu64 " bytes", put->start);
	cli_interrupt_catch();
	/* The tag is saved before the first byte; for a copy of an empty source only at the end. */
	status = put->source.bytes ? save_or_fail(put) : CLI_OK;
	cli_progress_begin(&put->progress, put->name, put->start, put->source.bytes, put->quiet);
	if (!status)
		status = finish(put, copy_all(put));
	chario_area_close(put->area);
	/* Leave no area behind for which nothing could be read. */
	if (status && !put->begun && put->created)
		chario_stream_remove_unused(put->cli->store, put->into, put->created);
	put->nr_written = count_blocks(put->source.bytes - put->start);
	return status;
}

/*
 * With --changed, a missing area is created and a partial copy of this source is continued; any
 * other area, complete or not, is compared.
 */
static int run(struct cli_put *put)
{
	struct chario_area_info area;
	int status;

	if (put->changed && !chario_store_find(put->cli->store, put->name, &area, sizeof(area)) &&
	    !(can_go_on(put, &area) && area.filled_bytes))
		status = cli_put_changed(put, &area);
	else
		status = put_whole(put);
	if (!status)
		print(put);
	return status;
}

int cmd_put(struct cli *cli)
{
	struct cli_put put = { .cli = cli };
	const struct cli_value values[] = {
		{ 'b', .size = &put.asked_bytes }, { 'c', .flag = &put.changed },
		{ 'f', .flag = &put.force },       { 'R', .flag = &put.remove_first },
		{ 'q', .flag = &put.quiet },       { 0 },
	};
	int status;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (put.remove_first && (!put.force || put.changed))
		return cli_usage(cli, "--remove-first goes with --force, and without --changed");
	if (!cli_has_operands(cli, 2, 2))
		return CLI_USAGE;
	put.name = put.into = cli->argv[1];
	status = cli_source_open(cli, &put.source, cli->argv[0], put.asked_bytes);
	if (status)
		return status;
	status = cli_open_store(cli, O_RDWR) ? run(&put) : CLI_FAILED;
	if (!status)
		cli_source_pass(&put.source);
	cli_source_close(&put.source);
	return status;
}
