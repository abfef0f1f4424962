// SPDX-License-Identifier: MIT
/*
 * chario ls: the areas of a store, in the order of their places.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>

#include "recording.h"

/**
 * struct listing - the list being made
 * @cli: call of the verb
 * @is_long: true to show the content of recordings, too
 * @list: areas that match
 */
struct listing {
	const struct cli *cli;
	bool is_long;
	struct cli_areas list;
};

static bool is_wanted(const struct cli *cli, const char *name)
{
	for (int i = 0; i < cli->argc; i++)
		if (!fnmatch(cli->argv[i], name, 0))
			return true;
	return !cli->argc;
}

static int add_area(const struct chario_area_info *area, void *data)
{
	struct listing *listing = data;

	return is_wanted(listing->cli, area->name) ? cli_areas_add(area, &listing->list) : 0;
}

/* Describe the recording of an area, if there is one and --long asks for it. */
static bool find_recording(const struct listing *listing, const struct chario_area_info *area,
			   struct chario_recording *recording)
{
	return listing->is_long && area->flags & CHARIO_AREA_STREAM &&
	       cli_find_recording(listing->cli, area->name, recording);
}

static void add_recording(struct cli_table *table, const struct chario_recording *recording)
{
	bool has_times = recording->last_time_ns;
	char size[32], from[32], to[32];

	cli_table_add(table, "%" PRIu64, recording->records);
	cli_table_add(table, "%s", cli_round_size(size, recording->bytes));
	cli_table_add(table, "%s", has_times ? cli_show_time(from, recording->first_time_ns) : "");
	cli_table_add(table, "%s", has_times ? cli_show_time(to, recording->last_time_ns) : "");
	cli_table_add(table, "%s", cli_exact_size(size, recording->segment_bytes));
	cli_table_add(table, "%s", cli_recording_state(recording));
}

static void add_row(const struct listing *listing, struct cli_table *table,
		    const struct chario_area_info *area)
{
	char size[32], state[64], place[32], time[32];
	struct chario_recording recording;

	cli_table_add(table, "%s", area->name);
	cli_table_add(table, "%s", cli_round_size(size, area->bytes));
	cli_table_add(table, "%s", cli_area_state(state, area));
	cli_table_add(table, "%s", cli_exact_size(place, area->offset));
	cli_table_add(table, "%s", cli_show_time(time, area->changed_ns));
	if (find_recording(listing, area, &recording))
		add_recording(table, &recording);
	else
		for (size_t i = 5; i < table->nr_columns; i++)
			cli_table_add(table, "%s", "");
}

static void print_table(const struct listing *listing)
{
	static const char *const heading[] = { "NAME",    "SIZE",    "STATE", "PLACE",
					       "CHANGED", "RECORDS", "DATA",  "FROM",
					       "TO",      "SEGMENT", "END" };
	struct cli_table table = { 0 };

	cli_table_head(&table, heading, listing->is_long ? 11 : 5);
	for (size_t i = 0; i < listing->list.nr_areas; i++)
		add_row(listing, &table, &listing->list.areas[i]);
	if (listing->list.nr_areas)
		cli_table_print(&table);
	cli_table_clear(&table);
}

static void print_json(const struct listing *listing)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *areas = cli_must(json_object_new_array());

	for (size_t i = 0; i < listing->list.nr_areas; i++) {
		struct json_object *area = cli_area_object(&listing->list.areas[i]);
		struct chario_recording recording;

		if (find_recording(listing, &listing->list.areas[i], &recording))
			json_object_object_add(area, "recording", cli_recording_object(&recording));
		json_object_array_add(areas, area);
	}
	json_object_object_add(object, "areas", areas);
	cli_json_print(object);
}

static bool matches(const struct cli_areas *list, const char *pattern)
{
	for (size_t i = 0; i < list->nr_areas; i++)
		if (!fnmatch(pattern, list->areas[i].name, 0))
			return true;
	return false;
}

/* A pattern that matches nothing has most likely been mistyped. */
static int print(const struct listing *listing)
{
	const struct cli *cli = listing->cli;
	int status = CLI_OK;

	if (cli->json)
		print_json(listing);
	else
		print_table(listing);
	for (int i = 0; i < cli->argc; i++)
		if (!matches(&listing->list, cli->argv[i]))
			status = cli_say(cli, "no area is called like \"%s\"", cli->argv[i]);
	return status;
}

int cmd_ls(struct cli *cli)
{
	struct listing listing = { .cli = cli };
	const struct cli_value values[] = { { 'l', .flag = &listing.is_long }, { 0 } };
	int err, status;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (!cli_open_store(cli, O_RDONLY))
		return CLI_FAILED;
	err = chario_store_each(cli->store, add_area, &listing);
	status = err ? cli_fail_store(cli, err, "cannot read the table") : print(&listing);
	free(listing.list.areas);
	return status;
}
