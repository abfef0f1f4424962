// SPDX-License-Identifier: MIT
/*
 * chario record: what comes in becomes a recording in an area.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interrupt.h"
#include "progress.h"
#include "recorder.h"
#include "store.h"

#define NS_PER_S  1000000000ULL
#define NS_PER_MS 1000000ULL

#define USUAL_RECORD ((size_t)64 << 10)
#define USUAL_PART   NS_PER_S
#define MOST_BUFFERS 64
#define MOST_MS      3600000
#define MOST_SECONDS 1e9

static const char *const durabilities[] = {
	[CHARIO_DURABILITY_AUTO] = "auto",
	[CHARIO_DURABILITY_NONE] = "none",
	[CHARIO_DURABILITY_FLUSH] = "flush",
	[CHARIO_DURABILITY_FUA] = "fua",
};

#define NR_DURABILITIES (sizeof(durabilities) / sizeof(durabilities[0]))

/**
 * struct record - a recording
 * @cli: the call
 * @store_name: that was given, or NULL
 * @name: of the area
 * @from: the source
 * @size: of the area where it is missing; 0 where it has to be there
 * @force: although there is a recording
 * @options: of the stream
 * @intake: the source
 * @store: open
 * @recorder: the loop
 */
struct record {
	const struct cli *cli;
	const char *store_name;
	const char *name;
	const char *from;
	uint64_t size;
	bool force;
	struct chario_stream_options options;
	struct cli_intake intake;
	struct chario_store *store;
	struct cli_recorder recorder;
};

/* options */

static bool parse_number(const char *text, unsigned long least, unsigned long most,
			 unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	return !errno && end != text && !*end && *text != '-' && *number >= least &&
	       *number <= most;
}

static int parse_ms(const struct cli *cli, const char *text, uint64_t *ns)
{
	unsigned long ms;

	if (!parse_number(text, 1, MOST_MS, &ms))
		return cli_usage(cli, "\"%s\" is not a number of milliseconds from 1 to 3600000",
				 text);
	*ns = ms * NS_PER_MS;
	return CLI_OK;
}

static int parse_seconds(const struct cli *cli, const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0) || seconds > MOST_SECONDS)
		return cli_usage(cli, "\"%s\" is not a number of seconds", text);
	*ns = (uint64_t)(seconds * (double)NS_PER_S) + 1;
	return CLI_OK;
}

static int parse_durability(const struct cli *cli, const char *text, uint32_t *durability)
{
	for (uint32_t i = 0; i < NR_DURABILITIES; i++) {
		if (!strcmp(durabilities[i], text)) {
			*durability = i;
			return CLI_OK;
		}
	}
	return cli_usage(cli, "\"%s\" is not auto, none, flush or fua", text);
}

static int parse_segment(const struct cli *cli, const char *text, uint32_t *bytes)
{
	uint64_t size;

	if (!cli_parse_size(text, &size) || size < 8192 || size > 64U << 20 ||
	    size % CHARIO_STORE_BLOCK)
		return cli_usage(cli, "\"%s\" is not a multiple of 4k from 8k to 64M", text);
	*bytes = (uint32_t)size;
	return CLI_OK;
}

static int parse_record(const struct cli *cli, const char *text, size_t *bytes)
{
	uint64_t size;

	if (!cli_parse_size(text, &size) || !size || size > 64U << 20)
		return cli_usage(cli, "\"%s\" is not a size from 1 to 64M", text);
	*bytes = (size_t)size;
	return CLI_OK;
}

static int parse_buffers(const struct cli *cli, const char *text, uint32_t *buffers)
{
	unsigned long number;

	if (!parse_number(text, 2, MOST_BUFFERS, &number))
		return cli_usage(cli, "\"%s\" is not a number of buffers from 2 to 64", text);
	*buffers = (uint32_t)number;
	return CLI_OK;
}

static int parse_flag(struct record *record, int option)
{
	switch (option) {
	case 's':
		record->store_name = optarg;
		return CLI_OK;
	case 'f':
		record->from = optarg;
		return CLI_OK;
	case 'r':
		record->options.flags |= CHARIO_STREAM_RING;
		return CLI_OK;
	case 'a':
		record->options.flags |= CHARIO_STREAM_APPEND;
		return CLI_OK;
	case 'D':
		record->recorder.drop = true;
		return CLI_OK;
	case 'F':
		record->force = true;
		return CLI_OK;
	case 'q':
		record->recorder.quiet = true;
		return CLI_OK;
	}
	return CLI_USAGE;
}

static int parse_option(const struct cli *cli, struct record *record, int option)
{
	switch (option) {
	case 'S':
		return cli_need_size(cli, optarg, &record->size) ? CLI_OK : CLI_USAGE;
	case 'b':
		return cli_need_size(cli, optarg, &record->recorder.limit_bytes) ? CLI_OK :
										   CLI_USAGE;
	case 't':
		return parse_seconds(cli, optarg, &record->recorder.limit_ns);
	case 'R':
		return parse_record(cli, optarg, &record->recorder.record_bytes);
	case 'd':
		return parse_durability(cli, optarg, &record->options.durability);
	case 'm':
		return parse_ms(cli, optarg, &record->options.flush_ns);
	case 'l':
		return parse_ms(cli, optarg, &record->options.late_ns);
	case 'g':
		return parse_segment(cli, optarg, &record->options.segment_bytes);
	case 'n':
		return parse_buffers(cli, optarg, &record->options.nr_buffers);
	}
	return parse_flag(record, option);
}

static int parse_options(struct cli *cli, struct record *record)
{
	int option, status = CLI_OK;

	while (!status && (option = cli_next_option(cli)) != CLI_NO_OPTION)
		status = parse_option(cli, record, option);
	if (status || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	record->name = cli->argv[0];
	return CLI_OK;
}

/* the area */

static int create(const struct record *record)
{
	int err;

	if (!record->size) {
		cli_say(record->cli, "there is no area \"%s\"\n--size SIZE creates it",
			record->name);
		return CLI_FAILED;
	}
	err = chario_store_create(record->store, record->name, record->size, 0);
	return err ? cli_fail_area(record->cli, err, "cannot create \"%s\"", record->name) : CLI_OK;
}

/* A recording is not overwritten, nor an area of another length taken, unasked. */
static int check_area(const struct record *record, const struct chario_area_info *area)
{
	bool goes_on = record->force || (record->options.flags & CHARIO_STREAM_APPEND);
	char is[32], asked[32];

	if (record->size && record->size != area->bytes) {
		cli_say(record->cli,
			"\"%s\" has %s, not %s\nleave --size away, or chario rm it first",
			record->name, cli_exact_size(is, area->bytes),
			cli_exact_size(asked, record->size));
		return CLI_FAILED;
	}
	if (!(area->flags & (CHARIO_AREA_STREAM | CHARIO_AREA_FILLING)) || goes_on)
		return CLI_OK;
	cli_say(record->cli,
		"\"%s\" %s\n--append goes on with a recording, --force begins a new one",
		record->name,
		area->flags & CHARIO_AREA_STREAM ? "holds a recording already" :
						   "is being filled by chario put");
	return CLI_FAILED;
}

static int have_area(const struct record *record)
{
	struct chario_area_info area;
	int err = chario_store_find(record->store, record->name, &area, sizeof(area));

	if (err == -ENOENT)
		return create(record);
	if (err)
		return cli_fail_area(record->cli, err, "cannot look for \"%s\"", record->name);
	return check_area(record, &area);
}

static int fail_stream(const struct record *record, int err)
{
	if (err == -ENOSPC)
		cli_say(record->cli,
			"\"%s\" is too short: an area has two segments at least; "
			"--segment makes them shorter",
			record->name);
	else if (err == -ENOMEM)
		cli_say(record->cli,
			"there is no memory for the buffers\nfewer of them (--buffers), shorter ones "
			"(--segment), or a higher limit of locked memory (ulimit -l) help");
	else if (err == -EINVAL)
		cli_say(record->cli,
			"the recording in \"%s\" has segments of another length, or is "
			"%s a ring: leave --segment away, and --ring as it was",
			record->name,
			record->options.flags & CHARIO_STREAM_RING ? "not" : "already");
	else
		return cli_fail_area(record->cli, err, "cannot record to \"%s\"", record->name);
	return CLI_FAILED;
}

static int open_stream(struct record *record)
{
	struct cli_recorder *recorder = &record->recorder;
	unsigned int attempts = 0;
	size_t room;
	int err;

	do
		err = chario_stream_open(record->store, record->name, &record->options,
					 &recorder->stream);
	while (cli_once_more(err, &attempts));
	/* The first of a series of recordings has nothing to go on with. */
	if (err == -ENODATA && (record->options.flags & CHARIO_STREAM_APPEND)) {
		record->options.flags &= ~CHARIO_STREAM_APPEND;
		err = chario_stream_open(record->store, record->name, &record->options,
					 &recorder->stream);
	}
	if (err)
		return fail_stream(record, err);
	room = chario_stream_room_bytes(recorder->stream);
	if (!recorder->record_bytes)
		recorder->record_bytes = room < USUAL_RECORD ? room : USUAL_RECORD;
	if (recorder->record_bytes <= room)
		return CLI_OK;
	cli_say(record->cli,
		"a record of %zu bytes does not fit into a segment, %zu do\n"
		"--segment makes them longer",
		recorder->record_bytes, room);
	chario_stream_close(recorder->stream);
	return CLI_USAGE;
}

/* the report */

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static const char *end_name(enum cli_recorder_end end)
{
	switch (end) {
	case CLI_RECORDER_GOES_ON:
		break;
	case CLI_RECORDER_SOURCE:
		return "the source has ended";
	case CLI_RECORDER_LIMIT:
		return "as asked";
	case CLI_RECORDER_INTERRUPT:
		return "interrupted";
	case CLI_RECORDER_FULL:
		return "the area is full";
	case CLI_RECORDER_READ_FAILED:
		return "the source failed";
	case CLI_RECORDER_WRITE_FAILED:
		return "the disk failed";
	}
	return "unknown";
}

static void print_text(const struct record *record, const struct chario_stream_status *status,
		       uint64_t passed_ns)
{
	const struct cli_recorder *recorder = &record->recorder;
	double seconds = seconds_of(passed_ns);
	char size[32], rate[32];

	printf("%-14s %s, after %.3f s\n", "ended", end_name(recorder->end), seconds);
	printf("%-14s %" PRIu64 "\n", "records", status->records);
	printf("%-14s %" PRIu64 " bytes (%s, %s/s)\n", "data", status->bytes,
	       cli_round_size(size, status->bytes),
	       cli_round_size(rate, (uint64_t)((double)recorder->taken_bytes / seconds)));
	printf("%-14s %" PRIu64 " bytes, %" PRIu64 " records (%s)\n", "durable",
	       status->durable_bytes, status->durable_records,
	       status->durability < NR_DURABILITIES ? durabilities[status->durability] : "unknown");
	printf("%-14s %" PRIu64 " of %" PRIu64
	       " segments, %.3f s together, the longest took %.3f s\n",
	       "late", status->late, status->segments, seconds_of(status->late_ns),
	       seconds_of(status->longest_ns));
	printf("%-14s %" PRIu64 " records, %" PRIu64 " bytes, in %" PRIu64
	       " gaps of %.3f s together\n",
	       "lost", status->lost_records, status->lost_bytes, recorder->gaps,
	       seconds_of(recorder->gap_ns));
	printf("%-14s %" PRIu64 ", %.3f s together, the longest took %.3f s\n", "waits",
	       recorder->waits, seconds_of(recorder->wait_ns),
	       seconds_of(recorder->longest_wait_ns));
	printf("%-14s %u of %u free at the least\n", "buffers", status->least_free_buffers,
	       status->nr_buffers);
	printf("%-14s %" PRIu64 " retries, %" PRIu64 " flushes; a segment takes %.3f ms, 99 %% "
	       "below %.3f ms\n",
	       "disk", status->retries, status->flushes, (double)status->segment_ns[0] / 1e6,
	       (double)status->segment_ns[1] / 1e6);
}

static void print_json(const struct record *record, const struct chario_stream_status *status,
		       uint64_t passed_ns)
{
	const struct cli_recorder *recorder = &record->recorder;
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "name", record->name);
	cli_json_text(object, "ended", end_name(recorder->end));
	cli_json_text(object, "durability",
		      status->durability < NR_DURABILITIES ? durabilities[status->durability] :
							     "unknown");
	cli_json_number(object, "passed_ns", passed_ns);
#define NUMBER(name) cli_json_number(object, #name, status->name)
	NUMBER(records);
	NUMBER(bytes);
	NUMBER(durable_records);
	NUMBER(durable_bytes);
	NUMBER(capacity_bytes);
	NUMBER(segments);
	NUMBER(segment_bytes);
	NUMBER(nr_buffers);
	NUMBER(least_free_buffers);
	NUMBER(late);
	NUMBER(late_ns);
	NUMBER(longest_ns);
	NUMBER(lost_records);
	NUMBER(lost_bytes);
	NUMBER(retries);
	NUMBER(flushes);
#undef NUMBER
	cli_json_number(object, "gaps", recorder->gaps);
	cli_json_number(object, "gap_ns", recorder->gap_ns);
	cli_json_number(object, "waits", recorder->waits);
	cli_json_number(object, "wait_ns", recorder->wait_ns);
	cli_json_number(object, "longest_wait_ns", recorder->longest_wait_ns);
	cli_json_number(object, "segment_p50_ns", status->segment_ns[0]);
	cli_json_number(object, "segment_p99_ns", status->segment_ns[1]);
	cli_json_number(object, "segment_p999_ns", status->segment_ns[2]);
	cli_json_print(object);
}

static int say_end(const struct record *record)
{
	const struct cli_recorder *recorder = &record->recorder;

	switch (recorder->end) {
	case CLI_RECORDER_FULL:
		cli_say(record->cli,
			"\"%s\" is full, and nothing more was recorded\n"
			"a larger area (--size), or --ring, which overwrites the oldest",
			record->name);
		return CLI_FAILED;
	case CLI_RECORDER_READ_FAILED:
		cli_say(record->cli, "cannot read \"%s\": %s", record->intake.name,
			strerror(-recorder->err));
		return CLI_FAILED;
	case CLI_RECORDER_WRITE_FAILED:
		return cli_fail_write(record->cli, recorder->err,
				      "cannot write \"%s\"; what is durable stays", record->name);
	default:
		return CLI_OK;
	}
}

/* What is durable is known before the stream is closed; the close marks the end. */
static int finish(struct record *record)
{
	struct cli_recorder *recorder = &record->recorder;
	struct chario_stream_status status = { 0 };
	uint64_t passed_ns;
	int ret, err = chario_stream_wait(recorder->stream, UINT64_MAX, -1);

	passed_ns = cli_now_ns() - recorder->begin_ns;
	chario_stream_get_status(recorder->stream, &status, sizeof(status));
	ret = chario_stream_close(recorder->stream);
	if (!err)
		err = ret;
	if (record->cli->json)
		print_json(record, &status, passed_ns);
	else
		print_text(record, &status, passed_ns);
	ret = say_end(record);
	if (err && recorder->end != CLI_RECORDER_WRITE_FAILED)
		ret = cli_fail_write(record->cli, err, "cannot end the recording \"%s\"",
				     record->name);
	if (!ret && (status.late || status.lost_records))
		ret = CLI_WARNING;
	return ret;
}

static int run(struct record *record)
{
	struct cli_recorder *recorder = &record->recorder;
	int status = have_area(record);

	if (!status)
		status = open_stream(record);
	if (status)
		return status;
	recorder->part_ns = record->options.flush_ns ? record->options.flush_ns : USUAL_PART;
	recorder->quiet |= !isatty(STDERR_FILENO);
	recorder->intake = &record->intake;
	cli_recorder_run(recorder);
	return finish(record);
}

int cmd_record(struct cli *cli)
{
	struct record record = {
		.cli = cli,
		.from = "-",
		.options.size = sizeof(struct chario_stream_options),
	};
	int status = parse_options(cli, &record);

	if (status)
		return status;
	record.store = cli_open_store(cli, record.store_name, O_RDWR);
	if (!record.store)
		return CLI_FAILED;
	cli_interrupt_catch();
	status = cli_intake_open(cli, &record.intake, record.from);
	if (!status)
		status = run(&record);
	cli_intake_close(&record.intake);
	chario_store_close(record.store);
	return status;
}
