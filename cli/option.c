// SPDX-License-Identifier: MIT
/*
 * Options and help, both from the table of the verbs.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#define MAX_OPTIONS 24

const struct cli_option cli_common_options[] = {
	{ 'j', "json", NULL, "print JSON" },
	{ 'h', "help", NULL, "show this help" },
	{ 0 },
};

const struct cli_option cli_no_own_options[] = { { 0 } };

static int add_options(struct option *longs, char *shorts, int nr_longs,
		       const struct cli_option *options)
{
	for (; options->letter; options++) {
		int argument = options->argument ? required_argument : no_argument;

		longs[nr_longs++] =
			(struct option){ options->name, argument, NULL, options->letter };
		strncat(shorts, &options->letter, 1);
		if (options->argument)
			strcat(shorts, ":");
	}
	return nr_longs;
}

static bool parse_integer(const char *text, int base, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(text, &end, base);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static int parse_number(const struct cli *cli, const char *text, const struct cli_range *range,
			uint64_t *number)
{
	bool good = range->is_size ? cli_parse_size(text, number) :
				     parse_integer(text, range->is_c ? 0 : 10, number);

	if (!good || *number < range->least || (range->most && *number > range->most) ||
	    (range->step && *number % range->step) || (range->is_power && *number & (*number - 1)))
		return cli_usage(cli, "\"%s\" is not %s", text, range->what);
	if (range->unit)
		*number *= range->unit;
	return CLI_OK;
}

static int parse_small(const struct cli *cli, const struct cli_range *range, uint32_t *small)
{
	uint64_t number;
	int status = parse_number(cli, optarg, range, &number);

	if (!status)
		*small = (uint32_t)number;
	return status;
}

static int parse_seconds(const struct cli *cli, double *seconds)
{
	char *end;

	*seconds = strtod(optarg, &end);
	if (end != optarg && !*end && *seconds >= 0.001 && *seconds <= 1e6)
		return CLI_OK;
	return cli_usage(cli, "\"%s\" is not a number of seconds from 0.001 to 1000000", optarg);
}

int cli_need_size(const struct cli *cli, const char *text, uint64_t *bytes)
{
	static const struct cli_range sizes = { "a size: 4096, 64k, 100M, 2G", .least = 1,
						.is_size = true };

	return parse_number(cli, text, &sizes, bytes);
}

static int set_value(const struct cli *cli, const struct cli_value *value)
{
	if (value->parse)
		return value->parse(cli, optarg, value->to);
	if (value->size)
		return cli_need_size(cli, optarg, value->size);
	if (value->number)
		return parse_number(cli, optarg, &value->range, value->number);
	if (value->small)
		return parse_small(cli, &value->range, value->small);
	if (value->seconds)
		return parse_seconds(cli, value->seconds);
	if (value->flag)
		*value->flag = true;
	else if (value->bits)
		*value->bits |= value->value;
	else if (value->choice)
		*value->choice = value->value;
	else if (value->times)
		++*value->times;
	else
		*value->text = optarg;
	return CLI_OK;
}

/* Returns the zero at the end if there is no such option. */
static const struct cli_value *find_value(const struct cli_value *values, int letter)
{
	while (values->letter && values->letter != letter)
		values++;
	return values;
}

/* Returns the number of options that a long one, as it was given, may be the beginning of. */
static int count_names(const struct option *longs, const char *text)
{
	size_t length = strcspn(text, "=");
	int count = 0;

	for (; longs->name; longs++)
		count += !strncmp(longs->name, text, length);
	return count;
}

/* Say what is wrong with the option that getopt_long() has refused. */
static int refuse_option(const struct cli *cli, const struct option *longs, int letter)
{
	const char *text = cli->argv[optind - 1];
	bool is_long = !strncmp(text, "--", 2);

	if (letter == ':')
		return cli_usage(cli, "\"%s\" needs an argument behind it", text);
	if (isdigit(optopt))
		return cli_usage(cli, "a size, and any other number, is not negative");
	if (is_long && optopt)
		return cli_usage(cli, "\"%s\": this option takes no argument", text);
	if (is_long && count_names(longs, text + 2) > 1)
		return cli_usage(cli, "\"%s\" is the beginning of several options", text);
	if (is_long)
		return cli_usage(cli, "\"%s\" is not an option here", text);
	return cli_usage(cli, "\"-%c\" is not an option here", optopt);
}

int cli_parse(struct cli *cli, const struct cli_value *values)
{
	const struct cli_value common[] = {
		{ 'j', .flag = &cli->json },
		{ 's', .text = &cli->store_name },
		{ 0 },
	};
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	/* The colon has a missing argument told from an unknown option. */
	char shorts[2 * MAX_OPTIONS + 2] = ":";
	int letter, nr_longs, status = CLI_OK;

	nr_longs = add_options(longs, shorts, 0, cli_common_options);
	add_options(longs, shorts, nr_longs, cli->command->options);
	opterr = 0;
	while (!status && (letter = getopt_long(cli->argc, cli->argv, shorts, longs, NULL)) >= 0) {
		const struct cli_value *value = find_value(values, letter);

		if (letter == '?' || letter == ':')
			return refuse_option(cli, longs, letter);
		if (letter == 'h') {
			cli_print_help(cli->command);
			return CLI_USAGE;
		}
		status = set_value(cli, value->letter ? value : find_value(common, letter));
	}
	cli->argc -= optind;
	cli->argv += optind;
	return status;
}

int cli_parse_common(struct cli *cli)
{
	return cli_parse(cli, &(const struct cli_value){ 0 });
}

bool cli_has_operands(const struct cli *cli, int least, int most)
{
	if (cli->argc >= least && cli->argc <= most)
		return true;
	if (cli->argc < least)
		cli_usage(cli, "something is missing: chario %s %s", cli->command->name,
			  cli->command->operands);
	else
		cli_usage(cli, "\"%s\" is too much: chario %s %s", cli->argv[most],
			  cli->command->name, cli->command->operands);
	return false;
}

bool cli_has_store_operand(struct cli *cli)
{
	if (!cli_has_operands(cli, 0, cli->store_name ? 0 : 1))
		return false;
	if (cli->argc)
		cli->store_name = cli->argv[0];
	return true;
}

static void print_options(const struct cli_option *options)
{
	char name[64];

	for (; options->letter; options++) {
		snprintf(name, sizeof(name), "-%c, --%s%s%s", options->letter, options->name,
			 options->argument ? " " : "", options->argument ? options->argument : "");
		printf("  %-24s %s\n", name, options->help);
	}
}

static void print_verbs(void)
{
	printf("usage: chario VERB [OPTION...] ...\n\n"
	       "Look at the character disks of this machine, bind drives, plan calls, and keep\n"
	       "named areas in a store.\n\n");
	for (const struct cli_command *command = cli_commands; command->name; command++)
		printf("  %-8s %s\n", command->name, command->summary);
	printf("\nchario help VERB says more.  All verbs take --json.\n");
}

void cli_print_help(const struct cli_command *command)
{
	if (!command) {
		print_verbs();
		return;
	}
	printf("usage: chario %s [OPTION...] %s\n\n", command->name, command->operands);
	printf("%c%s.\n", command->summary[0] - 'a' + 'A', command->summary + 1);
	if (command->description[0])
		printf("%s\n", command->description);
	printf("\n");
	print_options(command->options);
	print_options(cli_common_options);
}
