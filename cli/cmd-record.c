// SPDX-License-Identifier: MIT
/* chario record: records data from a source to an area. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include <chario/device.h>

#include "capacity.h"
#include "interrupt.h"
#include "progress.h"
#include "record.h"

/* Check before anything is written that a record fits into a segment; later is too late. */
static int check_fit(const struct cli_record *record, uint64_t area_bytes)
{
	struct chario_stream_options options = record->options;
	struct chario_stream_fit fit = { 0 };

	options.flags &= ~CHARIO_STREAM_APPEND;
	if (!record->sized || !cli_find_capacity(record->cli, area_bytes, &options, &fit))
		return CLI_OK;
	return fit.segment_bytes ? CLI_USAGE : CLI_FAILED;
}

/* Create the area.  Returns 0 or a negative errno. */
static int create(struct cli_record *record)
{
	struct chario_area_info area;
	int err = chario_store_create(record->cli->store, record->name, record->size, 0);

	if (!err && !chario_store_find(record->cli->store, record->name, &area, sizeof(area)))
		record->created = area.id;
	return err;
}

/* Leave no area behind that nobody has recorded to. */
static void remove_created(const struct cli_record *record)
{
	if (record->created)
		chario_stream_remove_unused(record->cli->store, record->name, record->created);
}

/* Refuse to use an area of another length. */
static int check_area(const struct cli_record *record, const struct chario_area_info *area)
{
	char is[32], asked[32];

	if (record->size && record->size != area->bytes)
		return cli_say(record->cli,
			       "\"%s\" has %s, not %s\nleave --size away, or chario rm it first",
			       record->name, cli_exact_size(is, area->bytes),
			       cli_exact_size(asked, record->size));
	return CLI_OK;
}

/* Check the area, or whether one can be made. */
static int look_at_area(const struct cli_record *record, bool *is_there)
{
	bool append = record->options.flags & CHARIO_STREAM_APPEND;
	struct chario_area_info area;
	int status, err = chario_store_find(record->cli->store, record->name, &area, sizeof(area));

	*is_there = !err;
	if (err == -ENOENT && !record->size)
		return cli_say(record->cli, "there is no area \"%s\"\n--size SIZE creates it",
			       record->name);
	if (err == -ENOENT)
		return check_fit(record, record->size);
	if (err)
		return cli_fail_area(record->cli, err, "cannot look for \"%s\"", record->name);
	status = check_area(record, &area);
	/* A recording that is continued keeps its segments. */
	if (status || (append && area.flags & CHARIO_AREA_STREAM))
		return status;
	return check_fit(record, area.bytes);
}

/* Have an area; one that another program has just created serves as well. */
static int have_area(struct cli_record *record)
{
	bool is_there;
	int status, err;

	do {
		status = look_at_area(record, &is_there);
		if (status || is_there)
			return status;
		err = create(record);
	} while (err == -EEXIST);
	return err ? cli_fail_create(record->cli, err, record->name) : CLI_OK;
}

/* The segments of a recording that is continued keep their length. */
static int fail_memory(const struct cli_record *record)
{
	uint32_t asked = record->options.nr_buffers;
	bool append = record->options.flags & CHARIO_STREAM_APPEND;
	char count[48];

	return cli_say(record->cli,
		       "there is no memory for %s of a segment each, %s\n"
		       "raise the limit of locked memory (ulimit -l)%s%s",
		       cli_count(count, asked ? asked : 2, "buffer"),
		       asked ? "as --buffers asks" : "which is what recording takes",
		       asked > 2 ? ", or ask for fewer buffers (--buffers)" : "",
		       append ? "" :
				", or make segments (--segment) or records (--record) shorter");
}

/* A recording that is continued keeps its segments, and stays a ring or none. */
static int fail_shape(const struct cli_record *record)
{
	if (!record->options.segment_bytes)
		return cli_say(
			record->cli,
			"the recording in \"%s\" is no ring\nleave --ring away to go on with "
			"it, or begin a new one with --force instead of --append",
			record->name);
	return cli_say(record->cli,
		       "the recording in \"%s\" has segments of another length%s\n"
		       "leave --segment away, and give --ring only if it is one",
		       record->name,
		       record->options.flags & CHARIO_STREAM_RING ? ", or is no ring" : "");
}

static int fail_stream(const struct cli_record *record, int err)
{
	if (err == -EEXIST)
		return cli_say(
			record->cli,
			"\"%s\" holds a recording already\n--append goes on with it, --force "
			"begins a new one",
			record->name);
	if (err == -EALREADY)
		return cli_say(
			record->cli,
			"\"%s\" holds a file of chario put, or a part of one\n--force records "
			"over it",
			record->name);
	if (err == -ENOSPC)
		return cli_say(record->cli,
			       "\"%s\" is too short: an area has two segments at least; "
			       "--segment makes them shorter",
			       record->name);
	if (err == -ENOMEM)
		return fail_memory(record);
	if (err == -EINVAL)
		return fail_shape(record);
	return cli_fail_area(record->cli, err, "cannot record to \"%s\"", record->name);
}

static int open_stream(struct cli_record *record)
{
	struct chario_recorder *recorder = &record->recorder;
	uint64_t begin_ns = cli_now_ns();
	size_t room;
	int err;

	if (!record->force)
		record->options.flags |= CHARIO_STREAM_EXCL;
	/* The first of a series of recordings has none to continue. */
	if (record->options.flags & CHARIO_STREAM_APPEND)
		record->options.flags |= CHARIO_STREAM_BEGIN;
	do
		err = chario_stream_open(record->cli->store, record->name, &record->options,
					 &record->stream);
	while (cli_once_more(err, begin_ns));
	if (err)
		return fail_stream(record, err);
	room = chario_stream_room_bytes(record->stream);
	if (!record->sized && recorder->record_bytes > room)
		recorder->record_bytes = room;
	if (recorder->record_bytes <= room)
		return CLI_OK;
	cli_say(record->cli,
		"a record of %" PRIu64
		" bytes does not fit into a segment of this recording, %zu do\n"
		"--record makes records shorter; --force begins a new recording, whose segments "
		"--segment makes longer",
		recorder->record_bytes, room);
	chario_stream_close(record->stream);
	return CLI_USAGE;
}

/* Get the status of the recording, of which the losses of an older part are left out. */
static int get_status(const struct cli_record *record, struct chario_stream_status *status)
{
	int err = chario_stream_get_status(record->stream, status, sizeof(*status));

	if (err)
		return err;
	status->lost_records -= record->begun.lost_records;
	status->lost_bytes -= record->begun.lost_bytes;
	return 0;
}

/* Look what the stream begins with; say so if the buffers are not the usual ones. */
static void look_at_stream(struct cli_record *record)
{
	struct chario_stream_status status;
	char segment[32];

	if (get_status(record, &status))
		return;
	record->begun = status;
	if (!status.reduced)
		return;
	cli_say(record->cli,
		"the limit of locked memory (ulimit -l) leaves room for %" PRIu32
		" buffers of %s, which is less than usual",
		status.nr_buffers, cli_exact_size(segment, status.segment_bytes));
}

static int say_end(const struct cli_record *record)
{
	const struct chario_recorder *recorder = &record->recorder;

	switch (recorder->end) {
	case CHARIO_RECORDER_FULL:
		return cli_say(record->cli,
			       "\"%s\" is full, and nothing more was recorded\n"
			       "a larger area (--size), or --ring, which overwrites the oldest",
			       record->name);
	case CHARIO_RECORDER_READ:
		return cli_fail_file(record->cli, record->err, "read", record->intake.name);
	case CHARIO_RECORDER_START:
	case CHARIO_RECORDER_WRITE:
		return cli_fail_write(record->cli, record->err,
				      "cannot write \"%s\"; what is durable stays", record->name);
	default:
		return CLI_OK;
	}
}

/* Read the status before the stream is closed; the close marks the end. */
static int finish(struct cli_record *record)
{
	struct chario_recorder *recorder = &record->recorder;
	struct chario_stream_status status = { 0 };
	uint64_t passed_ns;
	int ret, err = chario_stream_wait(record->stream, UINT64_MAX, -1);

	passed_ns = cli_now_ns() - record->begin_ns;
	get_status(record, &status);
	ret = chario_stream_close(record->stream);
	if (!err)
		err = ret;
	cli_record_print(record, &status, passed_ns);
	ret = say_end(record);
	if (err && recorder->end != CHARIO_RECORDER_WRITE)
		ret = cli_fail_write(record->cli, err, "cannot end the recording \"%s\"",
				     record->name);
	if (ret)
		remove_created(record);
	else if (status.late || status.lost_records)
		ret = CLI_WARNING;
	return ret;
}

static void show(const struct cli_record *record)
{
	uint64_t passed_ns = record->shown_ns - record->begin_ns;
	struct chario_stream_status status;
	char bytes[32], durable[32], rate[32];

	if (record->quiet || get_status(record, &status))
		return;
	cli_progress_line("%.0f s  %s  %s/s  durable %s  buffers %u of %u free  late %llu  "
			  "lost %llu",
			  (double)passed_ns / (double)NS_PER_S, cli_round_size(bytes, status.bytes),
			  cli_round_size(rate, cli_record_rate(record, &status, passed_ns)),
			  cli_round_size(durable, status.durable_bytes), status.free_buffers,
			  status.nr_buffers, (unsigned long long)status.late,
			  (unsigned long long)status.lost_records);
}

static int on_progress(const struct chario_recorder *recorder, void *data)
{
	struct cli_record *record = data;
	uint64_t now_ns = cli_now_ns();

	(void)recorder;
	if (now_ns - record->shown_ns >= NS_PER_S) {
		record->shown_ns = now_ns;
		show(record);
	}
	/* The first request takes what waits in the kernel, the second one ends at once. */
	if (record->requests < cli_interrupted())
		record->requests++;
	return record->requests;
}

/* Record from the source, as soon as that is there. */
static void take(struct cli_record *record)
{
	struct chario_recorder *recorder = &record->recorder;
	struct cli_intake *intake = &record->intake;

	record->err = cli_intake_accept(record->cli, intake);
	recorder->end = record->err ? CHARIO_RECORDER_READ : intake->ended;
	if (recorder->end)
		return;
	if (recorder->limit_ns)
		recorder->limit_ns = intake->left_ns ? intake->left_ns : 1;
	record->err = chario_recorder_run(record->stream, intake->fd, recorder);
}

static int run(struct cli_record *record)
{
	struct chario_recorder *recorder = &record->recorder;
	int status = have_area(record);

	if (!status)
		status = open_stream(record);
	if (status) {
		/* Removing takes a descriptor, too. */
		cli_intake_close(&record->intake);
		remove_created(record);
		return status;
	}
	look_at_stream(record);
	recorder->size = sizeof(*recorder);
	recorder->flags |= CHARIO_RECORDER_DRAIN;
	recorder->part_ns = record->options.flush_ns;
	recorder->progress = on_progress;
	recorder->data = record;
	record->quiet |= !isatty(STDERR_FILENO);
	record->begin_ns = record->shown_ns = cli_now_ns();
	take(record);
	cli_progress_clear();
	return finish(record);
}

/* Print the capacity of the area that exists or would be made. */
static int tell_capacity(const struct cli_record *record)
{
	struct chario_stream_fit fit;
	struct chario_area_info area;
	uint64_t bytes = record->size;
	int err = chario_store_find(record->cli->store, record->name, &area, sizeof(area));

	if (!err)
		bytes = area.bytes;
	else if (err != -ENOENT)
		return cli_fail_area(record->cli, err, "cannot look for \"%s\"", record->name);
	if (!bytes)
		return cli_say(record->cli,
			       "there is no area \"%s\"\n--size SIZE says how long it would be",
			       record->name);
	if (cli_find_capacity(record->cli, bytes, &record->options, &fit))
		return CLI_FAILED;
	cli_print_capacity(record->cli, record->name, bytes, &record->options, &fit);
	return CLI_OK;
}

/* Say that the writes are urgent, where that is wanted. */
static int set_urgency(const struct cli_record *record)
{
	int err = 0;

	if (record->urgent)
		err = chario_device_set_urgent(chario_store_device(record->cli->store), 1);
	if (err == -ENOTTY || err == -EINVAL)
		return cli_say(record->cli,
			       "--urgent is for a store on a character disk of this release");
	return err ? cli_fail(record->cli, err, "cannot make the writes urgent") : CLI_OK;
}

/* Report that the recording has ended before it could begin: there was no connection. */
static int report_none(struct cli_record *record)
{
	const struct chario_stream_status status = { .durability = record->options.durability };

	record->recorder.end = record->intake.ended;
	cli_record_print(record, &status, cli_now_ns() - record->begin_ns);
	return CLI_OK;
}

int cmd_record(struct cli *cli)
{
	struct cli_record record = {
		.cli = cli,
		.from = "-",
		.options.size = sizeof(struct chario_stream_options),
		.options.flags = CHARIO_STREAM_DENSE,
	};
	int status = cli_record_parse(cli, &record);
	bool is_there;

	if (status)
		return status;
	if (!cli_open_store(cli, record.dry_run ? O_RDONLY : O_RDWR))
		return CLI_FAILED;
	if (record.dry_run)
		return tell_capacity(&record);
	if (set_urgency(&record))
		return CLI_FAILED;
	cli_interrupt_catch_twice();
	record.begin_ns = cli_now_ns();
	/* The wait for a connection may be long. */
	status = look_at_area(&record, &is_there);
	if (status)
		return status;
	status = cli_intake_open(cli, &record.intake, record.from, record.recorder.limit_ns);
	if (!status)
		status = record.intake.ended ? report_none(&record) : run(&record);
	cli_intake_close(&record.intake);
	return status;
}
