// SPDX-License-Identifier: MIT
/*
 * Options and help, both from the table of the verbs.
 */
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

int cli_next_option(struct cli *cli)
{
	struct option longs[MAX_OPTIONS + 1] = { 0 };
	char shorts[2 * MAX_OPTIONS + 1] = "";
	int letter, nr_longs;

	nr_longs = add_options(longs, shorts, 0, cli_common_options);
	add_options(longs, shorts, nr_longs, cli->command->options);
	do {
		opterr = 0;
		letter = getopt_long(cli->argc, cli->argv, shorts, longs, NULL);
		if (letter == 'j')
			cli->json = true;
	} while (letter == 'j');
	if (letter == CLI_BAD_OPTION) {
		cli_usage(cli, "\"%s\" is not an option here, or its argument is missing",
			  cli->argv[optind - 1]);
	} else if (letter < 0) {
		cli->argc -= optind;
		cli->argv += optind;
		return CLI_NO_OPTION;
	}
	return letter;
}

int cli_option_seconds(const struct cli *cli, double *seconds)
{
	char *end;

	*seconds = strtod(optarg, &end);
	if (end != optarg && !*end && *seconds >= 0.001 && *seconds <= 1e6)
		return CLI_OK;
	return cli_usage(cli, "\"%s\" is not a number of seconds from 0.001 to 1000000", optarg);
}

int cli_option_count(const struct cli *cli, unsigned long *count)
{
	char *end;

	*count = strtoul(optarg, &end, 10);
	if (end != optarg && !*end && *optarg != '-' && *count)
		return CLI_OK;
	return cli_usage(cli, "\"%s\" is not a count", optarg);
}

int cli_no_options(struct cli *cli)
{
	return cli_next_option(cli) == CLI_NO_OPTION ? CLI_OK : CLI_USAGE;
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
