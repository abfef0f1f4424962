// SPDX-License-Identifier: MIT
/*
 * chario plan: the device commands that a call costs, without the call.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <chario/device.h>
#include <chario/error.h>
#include <chario/plan.h>

#include "cli.h"

/**
 * struct run - neighbouring commands of one size
 * @offset_bytes: offset of the first on the disk in bytes
 * @length_bytes: length of each in bytes
 * @count: number of commands
 */
struct run {
	uint64_t offset_bytes;
	uint64_t length_bytes;
	uint64_t count;
};

/**
 * struct job - the job of the verb
 * @limits: limits of the disk
 * @has_limits: true if the user has given the limits, so that there is no disk
 * @is_write: true for a write
 */
struct job {
	struct chario_plan_limits limits;
	bool has_limits;
	bool is_write;
};

static int parse_limits(const struct cli *cli, char *list, void *to)
{
	static char *const names[] = { (char *)"block",    (char *)"command",  (char *)"chunk",
				       (char *)"boundary", (char *)"capacity", NULL };
	struct job *job = to;
	struct chario_plan_limits *limits = &job->limits;
	uint32_t *const places[] = { &limits->logical_block_bytes, &limits->command_bytes,
				     &limits->chunk_bytes, &limits->boundary_bytes, NULL };

	job->has_limits = true;
	while (*list) {
		char *value, *word = list;
		int n = getsubopt(&list, names, &value);
		uint64_t bytes;

		if (n < 0 || !value || !cli_parse_size(value, &bytes) ||
		    (places[n] && bytes > UINT32_MAX))
			return cli_usage(cli, "--limits: \"%s\" is not a limit and its size", word);
		if (places[n])
			*places[n] = (uint32_t)bytes;
		else
			limits->capacity_bytes = bytes;
	}
	return CLI_OK;
}

static int read_limits(struct cli *cli, struct chario_plan_limits *limits)
{
	int err;

	if (!cli_open_disk(cli))
		return CLI_FAILED;
	err = chario_plan_get_limits(cli->disk, limits);
	if (err)
		return cli_fail(cli, err, "cannot read the limits of \"%s\"", cli->argv[0]);
	return CLI_OK;
}

/* Find the next commands of one size.  Returns false at the end of the plan. */
static bool next_run(struct chario_plan *plan, struct run *run)
{
	struct chario_plan_command command;
	struct chario_plan ahead;

	if (!chario_plan_next(plan, &command))
		return false;
	*run = (struct run){ command.offset_bytes, command.length_bytes, 1 };
	for (;;) {
		ahead = *plan;
		if (!chario_plan_next(&ahead, &command) ||
		    command.length_bytes != run->length_bytes)
			return true;
		*plan = ahead;
		run->count++;
	}
}

static void print_text(struct chario_plan *plan, uint64_t length_bytes)
{
	char size[32];
	struct run run;
	uint64_t count = chario_plan_count(plan);

	printf("%" PRIu64 " command%s, %" PRIu64 " bytes (%s)", count, count == 1 ? "" : "s",
	       plan->transfer_bytes, cli_exact_size(size, plan->transfer_bytes));
	if (plan->transfer_bytes < length_bytes)
		printf(", cut from %" PRIu64, length_bytes);
	printf("\n");
	while (next_run(plan, &run))
		printf("  at %12" PRIu64 "  %8" PRIu64 " x %s\n", run.offset_bytes, run.count,
		       cli_exact_size(size, run.length_bytes));
}

static void print_json(struct chario_plan *plan, uint64_t offset_bytes, uint64_t length_bytes)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *runs = cli_must(json_object_new_array());
	struct run run;

	cli_json_number(object, "offset_bytes", offset_bytes);
	cli_json_number(object, "length_bytes", length_bytes);
	cli_json_number(object, "transfer_bytes", plan->transfer_bytes);
	cli_json_number(object, "commands", chario_plan_count(plan));
	while (next_run(plan, &run)) {
		struct json_object *entry = cli_must(json_object_new_object());

		cli_json_number(entry, "offset_bytes", run.offset_bytes);
		cli_json_number(entry, "command_bytes", run.length_bytes);
		cli_json_number(entry, "count", run.count);
		json_object_array_add(runs, entry);
	}
	json_object_object_add(object, "runs", runs);
	cli_json_print(object);
}

static int fail(const struct cli *cli, int err, const struct chario_plan_limits *limits)
{
	if (err == -EINVAL)
		return cli_say(
			cli,
			"this call gives EINVAL: offset and length must be multiples of %u and reach no further than 2^63 - 1",
			limits->logical_block_bytes);
	if (err == -ENOSPC)
		return cli_say(
			cli,
			"this write gives ENOSPC: it begins at or past the end of the disk, %" PRIu64,
			limits->capacity_bytes);
	if (err == -EDOM)
		return cli_say(
			cli,
			"no disk has such limits: the block is a power of two, all others are multiples of it and not zero, except boundary and capacity");
	return cli_fail(cli, err, "cannot plan the call");
}

static int plan_call(const struct cli *cli, const struct job *job, char *const *operands)
{
	enum chario_plan_kind kind = job->is_write ? CHARIO_PLAN_WRITE : CHARIO_PLAN_READ;
	uint64_t offset_bytes, length_bytes;
	struct chario_plan plan;
	int err;

	if (!cli_parse_size(operands[0], &offset_bytes))
		return cli_usage(cli, "\"%s\" is not an offset", operands[0]);
	if (!cli_parse_size(operands[1], &length_bytes))
		return cli_usage(cli, "\"%s\" is not a length", operands[1]);
	err = chario_plan_init(&plan, &job->limits, kind, offset_bytes, length_bytes);
	if (err)
		return fail(cli, err, &job->limits);
	if (cli->json)
		print_json(&plan, offset_bytes, length_bytes);
	else
		print_text(&plan, length_bytes);
	return CLI_OK;
}

int cmd_plan(struct cli *cli)
{
	/* These are the defaults of the module. */
	struct job job = {
		.limits.logical_block_bytes = 512,
		.limits.command_bytes = 128 << 10,
		.limits.chunk_bytes = 4 << 20,
	};
	const struct cli_value values[] = {
		{ 'w', .flag = &job.is_write },
		{ 'l', .parse = parse_limits, .to = &job },
		{ 0 },
	};
	int nr_disks, status;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	nr_disks = job.has_limits ? 0 : 1;
	if (!cli_has_operands(cli, nr_disks + 2, nr_disks + 2))
		return CLI_USAGE;
	status = nr_disks ? read_limits(cli, &job.limits) : CLI_OK;
	return status ? status : plan_call(cli, &job, cli->argv + nr_disks);
}
