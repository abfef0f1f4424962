// SPDX-License-Identifier: MIT
/*
 * chario defrag: all free space becomes one hole.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"
#include "store.h"

/* A result that is no errno: an interrupt has ended the work where it can continue. */
#define STOPPED 1

/**
 * struct work - the progress of the work
 * @progress: progress line
 * @quiet: true to show no progress
 * @moved_bytes: bytes moved so far
 * @stays: areas that cannot be moved
 */
struct work {
	struct cli_progress progress;
	bool quiet;
	uint64_t moved_bytes;
	struct cli_areas stays;
};

static int note(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	struct work *work = data;

	if (!work->progress.what)
		cli_progress_begin(&work->progress, "defrag", done_bytes, total_bytes, work->quiet);
	work->moved_bytes = done_bytes;
	work->progress.total_bytes = total_bytes;
	cli_progress_update(&work->progress, done_bytes);
	return cli_interrupted() ? STOPPED : 0;
}

static int add_staying(const struct chario_area_info *area, void *data)
{
	struct work *work = data;

	return cli_areas_add(area, &work->stays);
}

/* Say which areas could not be moved. */
static void say_staying(const struct cli *cli, const struct work *work)
{
	for (size_t i = 0; i < work->stays.nr_areas; i++) {
		const struct chario_area_info *area = &work->stays.areas[i];

		cli_say(cli,
			"\"%s\" stays in %s: a block of it cannot be read, or one of its new place cannot be written\n"
			"copy away what can be read (chario get, or replay of a recording), chario rm it and call chario defrag again",
			area->name, area->flags & CHARIO_AREA_MOVING ? "two pieces" : "its place");
	}
}

static struct json_object *names_of(const struct cli_areas *list)
{
	struct json_object *names = cli_must(json_object_new_array());

	for (size_t i = 0; i < list->nr_areas; i++)
		json_object_array_add(names, cli_must(json_object_new_string(list->areas[i].name)));
	return names;
}

static int print_result(const struct cli *cli, const struct work *work)
{
	struct chario_store_info info;
	struct json_object *object;
	char moved[32], hole[32];
	int err = chario_store_get_info(cli->store, &info, sizeof(info));

	if (err)
		return cli_fail_store(cli, err, "cannot read the table");
	if (cli->json) {
		object = cli_must(json_object_new_object());
		cli_json_number(object, "moved_bytes", work->moved_bytes);
		cli_json_number(object, "free_bytes", info.free_bytes);
		cli_json_number(object, "largest_hole_bytes", info.largest_hole_bytes);
		cli_json_number(object, "nr_holes", info.nr_holes);
		json_object_object_add(object, "unmoved", names_of(&work->stays));
		cli_json_print(object);
		return CLI_OK;
	}
	printf("moved %s; the largest hole is %s now\n", cli_round_size(moved, work->moved_bytes),
	       cli_round_size(hole, info.largest_hole_bytes));
	if (info.nr_holes > 1)
		printf("%" PRIu64
		       " holes are left: areas that are open or cannot be moved, and gaps of the alignment\n",
		       info.nr_holes);
	return CLI_OK;
}

static int tell(const struct cli *cli, const struct work *work, int ret)
{
	int status = ret ? CLI_FAILED : print_result(cli, work);

	say_staying(cli, work);
	if (!ret)
		return work->stays.nr_areas ? CLI_FAILED : status;
	if (ret < 0)
		return cli_fail_area(cli, ret, "cannot go on; chario defrag takes it up again");
	return cli_say(cli, "stopped; nothing is lost, and chario defrag goes on from here");
}

static int run(const struct cli *cli, bool quiet)
{
	struct work work = { .quiet = quiet };
	int ret, status;

	cli_interrupt_catch();
	ret = chario_store_defrag_report(cli->store, note, add_staying, &work);
	cli_progress_end(&work.progress);
	status = tell(cli, &work, ret);
	free(work.stays.areas);
	return status;
}

int cmd_defrag(struct cli *cli)
{
	bool quiet = false;
	const struct cli_value values[] = { { 'q', .flag = &quiet }, { 0 } };

	if (cli_parse(cli, values) || !cli_has_store_operand(cli))
		return CLI_USAGE;
	return cli_open_store(cli, O_RDWR) ? run(cli, quiet) : CLI_FAILED;
}
