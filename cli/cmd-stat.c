// SPDX-License-Identifier: MIT
/*
 * chario stat: the counters of a disk, once or as they change; an area of a store.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <chario/device.h>

#include "progress.h"
#include "recording.h"

#define COUNTER(name) CLI_MEMBER(chario_stats, name)
static const struct cli_member counters[] = {
	COUNTER(read_commands),
	COUNTER(write_commands),
	COUNTER(flush_commands),
	COUNTER(read_bytes),
	COUNTER(write_bytes),
	COUNTER(errors),
	COUNTER(timeouts),
	COUNTER(interrupted),
	COUNTER(aborts),
	COUNTER(resets),
	COUNTER(sq_doorbells),
	COUNTER(cq_doorbells),
	COUNTER(interrupts),
	COUNTER(late_reaps),
	COUNTER(discard_commands),
	COUNTER(discard_bytes),
	COUNTER(write_zeroes_commands),
	COUNTER(write_zeroes_bytes),
	{ 0 },
};

static void print_totals(const struct chario_stats *stats, bool json)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_members(object, counters, stats);
	if (json) {
		cli_json_print(object);
		return;
	}
	json_object_object_foreach(object, name, value)
		printf("%-21s %s\n", name, json_object_get_string(value));
	json_object_put(object);
}

/* Print one object a line, with differences instead of rates: the reader knows the time, too. */
static void print_change_json(const struct chario_stats *was, const struct chario_stats *is,
			      uint64_t passed_ns)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_number(object, "passed_ns", passed_ns);
	for (const struct cli_member *counter = counters; counter->name; counter++)
		cli_json_number(object, counter->name,
				cli_member_number(counter, is) - cli_member_number(counter, was));
	cli_json_print_line(object);
}

static void print_change(const struct chario_stats *was, const struct chario_stats *is,
			 uint64_t passed_ns)
{
	double seconds = (double)passed_ns / (double)NS_PER_S;
	char read_size[32], write_size[32];

#define RATE(name) ((double)(is->name - was->name) / seconds)
	printf("%10.0f %10.0f %8.0f %12s %12s %10.0f %10.0f %6" PRIu64 " %8" PRIu64 "\n",
	       RATE(read_commands), RATE(write_commands), RATE(flush_commands),
	       cli_round_size(read_size, (uint64_t)RATE(read_bytes)),
	       cli_round_size(write_size, (uint64_t)RATE(write_bytes)), RATE(sq_doorbells),
	       RATE(interrupts), (uint64_t)(is->errors - was->errors),
	       (uint64_t)(is->timeouts - was->timeouts));
#undef RATE
	fflush(stdout);
}

static void print_change_heading(void)
{
	printf("%10s %10s %8s %12s %12s %10s %10s %6s %8s\n", "reads/s", "writes/s", "flush/s",
	       "read B/s", "written B/s", "doorbell/s", "irq/s", "errors", "timeouts");
}

/* Steps are counted from the start, so that they do not drift. */
static int follow(const struct cli *cli, double interval, uint64_t count)
{
	uint64_t step_ns = (uint64_t)(interval * (double)NS_PER_S);
	uint64_t next_ns = cli_now_ns(), last_ns = next_ns;
	struct chario_stats was, is;
	int err = chario_device_get_stats(cli->disk, &was, sizeof(was));

	if (!err && !cli->json)
		print_change_heading();
	for (uint64_t i = 0; !err && (!count || i < count) && !ferror(stdout); i++) {
		uint64_t time_ns;

		next_ns += step_ns;
		cli_sleep_until(next_ns);
		err = chario_device_get_stats(cli->disk, &is, sizeof(is));
		if (err)
			break;
		time_ns = cli_now_ns();
		if (cli->json)
			print_change_json(&was, &is, time_ns - last_ns);
		else
			print_change(&was, &is, time_ns - last_ns);
		was = is;
		last_ns = time_ns;
	}
	return err;
}

static void print_area(const struct chario_area_info *area)
{
	char text[64], time[32];

	cli_print("%-16s %s\n", "name", area->name);
	printf("%-16s %" PRIu64 "\n", "id", area->id);
	cli_area_state(text, area);
	printf("%-16s %s\n", "state", text[0] ? text : "whole");
	cli_print_bytes(16, "size", area->bytes);
	cli_print_bytes(16, "allocated", area->allocated_bytes);
	cli_print_bytes(16, "place", area->offset);
	if (area->flags & CHARIO_AREA_FILLING) {
		cli_print_bytes(16, "filled", area->filled_bytes);
		printf("%-16s 0x%016" PRIx64 "\n", "source", area->fill_tag);
	}
	printf("%-16s %s\n", "created", cli_show_time(time, area->created_ns));
	printf("%-16s %s\n", "changed", cli_show_time(time, area->changed_ns));
	for (const char *at = area->attributes; *at; at += strlen(at) + 1)
		cli_print_escaped("%-16s %s\n", "attribute", at);
}

static int describe(const struct cli *cli, const struct chario_area_info *area)
{
	bool is_recording = area->flags & CHARIO_AREA_STREAM;
	struct chario_recording recording;

	if (is_recording && !cli_find_recording(cli, area->name, &recording))
		return CLI_FAILED;
	if (cli->json) {
		struct json_object *object = cli_area_object(area);

		if (is_recording)
			json_object_object_add(object, "recording",
					       cli_recording_object(&recording));
		cli_json_print(object);
		return CLI_OK;
	}
	print_area(area);
	if (is_recording)
		cli_print_recording(&recording);
	return CLI_OK;
}

static int show_area(struct cli *cli)
{
	struct chario_area_info area;

	if (!cli_open_store(cli, O_RDONLY) || !cli_find_area(cli, cli->argv[0], &area))
		return CLI_FAILED;
	return describe(cli, &area);
}

/*
 * A disk takes precedence over an area; a user who has set a store is told how to ask for
 * the area.
 */
static void tell_of_area(const struct cli *cli)
{
	const char *name = getenv("CHARIO_STORE");
	struct chario_area_info area;
	struct chario_store *store;

	if (!name || chario_store_open(name, O_RDONLY, &store))
		return;
	if (!chario_store_find(store, cli->argv[0], &area, sizeof(area)))
		cli_say(cli,
			"\"%s\" is a disk, and an area of \"%s\" too; chario stat --store %s %s "
			"shows the area",
			cli->argv[0], name, name, cli->argv[0]);
	chario_store_close(store);
}

static int show_disk(const struct cli *cli, double interval, uint64_t count)
{
	struct chario_stats stats;
	int err;

	if (interval > 0) {
		err = follow(cli, interval, count);
	} else {
		err = chario_device_get_stats(cli->disk, &stats, sizeof(stats));
		if (!err)
			print_totals(&stats, cli->json);
	}
	return err ? cli_fail(cli, err, "cannot read the counters of \"%s\"", cli->argv[0]) :
		     CLI_OK;
}

int cmd_stat(struct cli *cli)
{
	uint64_t count = 0;
	double interval = 0;
	const struct cli_value values[] = {
		{ 'i', .seconds = &interval },
		{ 'c', .number = &count, .range = CLI_COUNT_RANGE },
		{ 0 },
	};
	int err;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (count && interval <= 0)
		return cli_usage(cli, "--count needs --interval");
	if (cli->store_name && interval > 0)
		return cli_usage(cli, "an area has no counters: --interval is for disks");
	if (!cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (cli->store_name)
		return show_area(cli);
	if (!cli_has_name(cli, cli->argv[0], "disk"))
		return CLI_FAILED;
	cli_accept_block(cli);
	err = chario_device_open(cli->argv[0], O_RDONLY, &cli->disk);
	if (err == -ENODEV && interval <= 0 && !strchr(cli->argv[0], '/') && cli_has_store())
		return show_area(cli);
	if (err)
		return cli_fail(cli, err, "cannot open disk \"%s\"", cli->argv[0]);
	tell_of_area(cli);
	return show_disk(cli, interval, count);
}
