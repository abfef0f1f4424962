// SPDX-License-Identifier: MIT
/*
 * chario help: the table of the verbs, for people or for programs.
 */
#include "cli.h"

static void add_options(struct json_object *array, const struct cli_option *options)
{
	for (; options->letter; options++) {
		struct json_object *option = cli_must(json_object_new_object());

		cli_json_text(option, "name", options->name);
		cli_json_text(option, "argument", options->argument ? options->argument : "");
		cli_json_text(option, "help", options->help);
		json_object_array_add(array, option);
	}
}

static void print_json(void)
{
	struct json_object *verbs = cli_must(json_object_new_array());

	for (const struct cli_command *command = cli_commands; command->name; command++) {
		struct json_object *verb = cli_must(json_object_new_object());
		struct json_object *options = cli_must(json_object_new_array());

		cli_json_text(verb, "name", command->name);
		cli_json_text(verb, "operands", command->operands);
		cli_json_text(verb, "summary", command->summary);
		add_options(options, command->options);
		add_options(options, cli_common_options);
		json_object_object_add(verb, "options", options);
		json_object_array_add(verbs, verb);
	}
	cli_json_print(verbs);
}

int cmd_help(struct cli *cli)
{
	const struct cli_command *command = NULL;

	if (cli_parse_common(cli) || !cli_has_operands(cli, 0, 1))
		return CLI_USAGE;
	if (cli->json) {
		print_json();
		return CLI_OK;
	}
	if (cli->argc) {
		command = cli_find_command(cli->argv[0]);
		if (!command)
			return CLI_USAGE;
	}
	cli_print_help(command);
	return CLI_OK;
}
