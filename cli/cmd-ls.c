// SPDX-License-Identifier: MIT
/*
 * chario ls: the areas of a store, in the order of their places.
 */
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>

#include "store.h"

/**
 * struct listing - what is being made
 * @cli: the call
 * @table: for people
 * @areas: for programs
 * @nr_areas: that match
 */
struct listing {
	const struct cli *cli;
	struct cli_table table;
	struct json_object *areas;
	size_t nr_areas;
};

static bool is_wanted(const struct cli *cli, const char *name)
{
	for (int i = 0; i < cli->argc; i++)
		if (!fnmatch(cli->argv[i], name, 0))
			return true;
	return !cli->argc;
}

static void add_row(struct cli_table *table, const struct chario_area_info *area)
{
	char size[32], state[64], place[32], time[32];

	cli_table_add(table, "%s", area->name);
	cli_table_add(table, "%s", cli_round_size(size, area->bytes));
	cli_table_add(table, "%s", cli_area_state(state, area));
	cli_table_add(table, "%s", cli_exact_size(place, area->offset));
	cli_table_add(table, "%s", cli_show_time(time, area->changed_ns));
}

static int add_area(const struct chario_area_info *area, void *data)
{
	struct listing *listing = data;

	if (!is_wanted(listing->cli, area->name))
		return 0;
	listing->nr_areas++;
	if (listing->cli->json)
		json_object_array_add(listing->areas, cli_area_object(area));
	else
		add_row(&listing->table, area);
	return 0;
}

/* A pattern that matches nothing has most likely been mistyped. */
static int print(struct listing *listing)
{
	const struct cli *cli = listing->cli;

	if (cli->json) {
		struct json_object *object = cli_must(json_object_new_object());

		json_object_object_add(object, "areas", json_object_get(listing->areas));
		cli_json_print(object);
	} else if (listing->nr_areas) {
		cli_table_print(&listing->table);
	}
	if (listing->nr_areas || !cli->argc)
		return CLI_OK;
	cli_say(cli, "no area is called like this");
	return CLI_FAILED;
}

int cmd_ls(struct cli *cli)
{
	static const char *const heading[] = { "NAME", "SIZE", "STATE", "PLACE", "CHANGED" };
	struct listing listing = { .cli = cli };
	struct chario_store *store;
	const char *given = NULL;
	int err, status = cli_store_option(cli, &given);

	if (status)
		return status;
	store = cli_open_store(cli, given, O_RDONLY);
	if (!store)
		return CLI_FAILED;
	listing.areas = cli_must(json_object_new_array());
	for (size_t i = 0; i < sizeof(heading) / sizeof(heading[0]); i++)
		cli_table_add(&listing.table, "%s", heading[i]);
	listing.table.nr_columns = sizeof(heading) / sizeof(heading[0]);
	err = chario_store_each(store, add_area, &listing);
	status = err ? cli_fail_store(cli, err, "cannot read the table") : print(&listing);
	cli_table_clear(&listing.table);
	json_object_put(listing.areas);
	chario_store_close(store);
	return status;
}
