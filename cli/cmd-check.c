// SPDX-License-Identifier: MIT
/* chario check: every damage of the table of a store, and advice. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <chario/check.h>

#include "check-data.h"

/**
 * struct run - findings that differ in the number of their block only
 * @first: first of them
 * @last_block: block of the last
 * @nr_findings: number of findings; 0 if there is no run
 */
struct run {
	struct chario_finding first;
	uint64_t last_block;
	unsigned int nr_findings;
};

/**
 * struct report - a check and its findings
 * @cli: call of the verb
 * @flags: CHARIO_CHECK_*
 * @data: true to check the data, too
 * @quiet: true to show no progress
 * @run: run that has not been printed yet, for people
 * @findings: findings for programs
 * @nr_findings: number of findings
 * @nr_repaired: number of those that have been repaired
 * @nr_notes: number of remaining notes, which are no damage
 * @nr_lost: number of remaining losses
 */
struct report {
	struct cli *cli;
	uint32_t flags;
	bool data;
	bool quiet;
	struct run run;
	struct json_object *findings;
	unsigned int nr_findings;
	unsigned int nr_repaired;
	unsigned int nr_notes;
	unsigned int nr_lost;
};

static const char *advice(const struct chario_finding *finding)
{
	switch (finding->damage) {
	case CHARIO_DAMAGE_HEADER:
	case CHARIO_DAMAGE_BLOCK:
	case CHARIO_DAMAGE_BEHIND:
		return "chario check --repair writes it anew from the good one";
	case CHARIO_DAMAGE_HEADERS:
		return "if it was a store, restore its first block or its last one from a backup; "
		       "chario format --force makes a new one";
	case CHARIO_DAMAGE_BLOCKS:
		return "copy the other areas away with chario get; chario check --repair --forget "
		       "then gives up the areas of such blocks";
	case CHARIO_DAMAGE_CHANGES:
		if (finding->severity == CHARIO_SEVERITY_REPAIRABLE)
			return "chario check --repair gives it up, and a change that only it has; until "
			       "then nothing can be changed";
		return "nothing is to be done";
	case CHARIO_DAMAGE_ENTRY:
	case CHARIO_DAMAGE_RANGE:
		return "copy the other areas away with chario get, then chario format --force";
	case CHARIO_DAMAGE_OVERLAP:
		return "chario get both, see which one is right, then chario format --force and put "
		       "them back";
	case CHARIO_DAMAGE_NAME:
		return "chario get all areas, then chario format --force and put them back";
	case CHARIO_DAMAGE_GAP:
		return "chario check --repair has it looked at again; nothing is lost by that";
	case CHARIO_DAMAGE_NEWER:
		return "install a newer release of CharIO; this one writes nothing here";
	case CHARIO_DAMAGE_MOVE:
		return "chario defrag completes it, or takes it back; nothing is lost meanwhile";
	}
	return "a newer release of CharIO may know what to do";
}

static const char *severity_name(uint32_t severity)
{
	static const char *const names[] = {
		[CHARIO_SEVERITY_NOTE] = "note",
		[CHARIO_SEVERITY_REPAIRABLE] = "repairable",
		[CHARIO_SEVERITY_LOSS] = "loss",
	};

	return CLI_NAME(names, severity);
}

/* Find the number of the block in a text; the text before it has @length bytes. */
static const char *find_block(const struct chario_finding *finding, size_t *length)
{
	char block[32];
	const char *at;

	snprintf(block, sizeof(block), "block %" PRIu64 " ", finding->block);
	at = strstr(finding->text, block);
	if (at)
		*length = (size_t)(at - finding->text);
	return at ? at + strlen(block) : NULL;
}

static bool is_alike(const struct chario_finding *one, const struct chario_finding *two)
{
	size_t one_length = 0, two_length = 0;
	const char *one_rest = find_block(one, &one_length);
	const char *two_rest = find_block(two, &two_length);

	return one_rest && two_rest && one_length == two_length && one->damage == two->damage &&
	       one->severity == two->severity && one->repaired == two->repaired && !one->name[0] &&
	       !two->name[0] && !strncmp(one->text, two->text, one_length) &&
	       !strcmp(one_rest, two_rest);
}

/* Print a text such as "the first copy of blocks 12 to 40 of the table is damaged". */
static void print_what(const struct run *run)
{
	const struct chario_finding *finding = &run->first;
	size_t length = 0;
	const char *rest = find_block(finding, &length);

	printf("%s: ", finding->repaired ? "repaired" : severity_name(finding->severity));
	if (run->nr_findings == 1 || !rest)
		printf("%s", finding->text);
	else
		printf("%.*sblocks %" PRIu64 " to %" PRIu64 " %s", (int)length, finding->text,
		       finding->block, run->last_block, rest);
}

static void print_run(struct run *run)
{
	const struct chario_finding *finding = &run->first;
	char size[32];

	if (!run->nr_findings)
		return;
	print_what(run);
	run->nr_findings = 0;
	if (finding->name[0])
		cli_print(": \"%s\"", finding->name);
	if (finding->other[0])
		cli_print(" and \"%s\"", finding->other);
	if (finding->offset)
		printf(" (at %s)", cli_exact_size(size, finding->offset));
	printf("\n");
	if (!finding->repaired)
		printf("  %s\n", advice(finding));
}

/* Print a run of blocks as one line: a disk that has lost a piece has lost neighbouring blocks. */
static void add_text(struct run *run, const struct chario_finding *finding)
{
	if (run->nr_findings && is_alike(&run->first, finding) &&
	    finding->block == run->last_block + 1) {
		run->nr_findings++;
	} else {
		print_run(run);
		*run = (struct run){ .first = *finding, .nr_findings = 1 };
	}
	run->last_block = finding->block;
}

static void add_object(struct json_object *findings, const struct chario_finding *finding)
{
	struct json_object *object = cli_must(json_object_new_object());
	const char *damage = chario_damage_name(finding->damage);

	cli_json_text(object, "damage", damage ? damage : "unknown");
	cli_json_text(object, "severity", severity_name(finding->severity));
	cli_json_flag(object, "repaired", finding->repaired);
	cli_json_number(object, "copy", finding->copy);
	cli_json_number(object, "block", finding->block);
	cli_json_number(object, "disk_offset", finding->offset);
	cli_json_text(object, "name", finding->name);
	cli_json_text(object, "other", finding->other);
	cli_json_text(object, "text", finding->text);
	cli_json_text(object, "advice", finding->repaired ? "" : advice(finding));
	json_object_array_add(findings, object);
}

static int show(const struct chario_finding *finding, void *data)
{
	struct report *report = data;

	report->nr_findings++;
	if (finding->repaired)
		report->nr_repaired++;
	else if (finding->severity == CHARIO_SEVERITY_NOTE)
		report->nr_notes++;
	else if (finding->severity == CHARIO_SEVERITY_LOSS)
		report->nr_lost++;
	if (report->cli->json)
		add_object(report->findings, finding);
	else
		add_text(&report->run, finding);
	return 0;
}

static int print_end(const struct report *report)
{
	const char *store = report->cli->store_name;

	if (report->cli->json) {
		struct json_object *object = cli_must(json_object_new_object());

		cli_json_text(object, "store", store);
		json_object_object_add(object, "findings", json_object_get(report->findings));
		cli_json_print(object);
	} else if (!report->nr_findings) {
		cli_print("%s: no damage\n", store);
	} else {
		cli_print("%s: %u found, %u repaired, %u lost\n", store, report->nr_findings,
			  report->nr_repaired, report->nr_lost);
	}
	if (report->nr_lost)
		return CLI_CRITICAL;
	return report->nr_findings > report->nr_repaired + report->nr_notes ? CLI_WARNING : CLI_OK;
}

/* Check the data of a store whose table can be read. */
static bool check_data(struct report *report)
{
	struct cli_data data = { .findings = report->findings };

	if (!cli_check_data(report->cli, report->quiet, &data))
		return false;
	report->nr_findings += data.nr_lost + data.nr_notes;
	report->nr_lost += data.nr_lost;
	report->nr_notes += data.nr_notes;
	return true;
}

static int check(struct report *report)
{
	const char *store = report->cli->store_name;
	int ret = chario_store_check(store, report->flags, show, report);
	bool is_done;

	print_run(&report->run);
	if (ret < 0)
		return cli_fail_store(report->cli, ret, "cannot check \"%s\"", store);
	is_done = !report->data || check_data(report);
	ret = print_end(report);
	return is_done ? ret : CLI_FAILED;
}

int cmd_check(struct cli *cli)
{
	struct report report = { .cli = cli };
	const struct cli_value values[] = {
		{ 'r', .bits = &report.flags, .value = CHARIO_CHECK_REPAIR },
		{ 'F', .bits = &report.flags, .value = CHARIO_CHECK_FORGET },
		{ 'd', .flag = &report.data },
		{ 'q', .flag = &report.quiet },
		{ 0 },
	};
	int status;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (report.flags == CHARIO_CHECK_FORGET)
		return cli_usage(cli, "--forget needs --repair: it gives up areas");
	if (!cli_has_store_operand(cli))
		return CLI_USAGE;
	cli->store_name = cli_choose_store(cli);
	if (!cli->store_name)
		return CLI_FAILED;
	if (report.flags & CHARIO_CHECK_FORGET)
		cli_say(cli, "areas of blocks that are lost are given up for good");
	report.findings = cli_must(json_object_new_array());
	status = check(&report);
	json_object_put(report.findings);
	return status;
}
