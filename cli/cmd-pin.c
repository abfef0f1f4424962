// SPDX-License-Identifier: MIT
/*
 * chario pin: run a program while a disk's power states and retries are pinned.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <chario/device.h>
#include <chario/error.h>
#include <chario/pin.h>

#include "cli.h"
#include "program.h"

static uint32_t bit_of(const char *name)
{
	const char *known;

	for (unsigned int i = 0; (known = chario_pin_name(i)); i++)
		if (!strcmp(name, known))
			return 1U << i;
	return 0;
}

/* Parse names with commas between. */
static int parse_pins(const struct cli *cli, char *text, void *to)
{
	char *list = strdupa(text), *name;
	uint32_t *wanted = to;

	*wanted = 0;
	while ((name = strsep(&list, ","))) {
		uint32_t bit = bit_of(name);

		if (!bit)
			return cli_usage(cli, "\"%s\" is not a list of pins", text);
		*wanted |= bit;
	}
	return CLI_OK;
}

static const char *outcome(const struct chario_pin *pin, unsigned int place)
{
	uint32_t bit = 1U << place;

	if (pin->absent & bit)
		return "absent";
	if (pin->in_force & bit)
		return "in force";
	return pin->refused & bit ? "refused" : "pending";
}

static void print_reason(FILE *to, int status)
{
	if (status > 0)
		fprintf(to, ": NVMe status 0x%03x", (unsigned int)status);
	else if (status < 0)
		fprintf(to, ": %s", chario_error_meaning(status));
}

static void print_text(FILE *to, const struct chario_pin *pin)
{
	const char *name;

	for (unsigned int i = 0; (name = chario_pin_name(i)); i++) {
		if (!(pin->wanted & 1U << i))
			continue;
		fprintf(to, "%-12s %s", name, outcome(pin, i));
		print_reason(to, pin->status[i]);
		fputc('\n', to);
	}
}

static void print_json(const struct chario_pin *pin)
{
	struct json_object *object = cli_must(json_object_new_object());
	const char *name;

	for (unsigned int i = 0; (name = chario_pin_name(i)); i++) {
		struct json_object *one;

		if (!(pin->wanted & 1U << i))
			continue;
		one = cli_must(json_object_new_object());
		cli_json_text(one, "outcome", outcome(pin, i));
		json_object_object_add(one, "status",
				       cli_must(json_object_new_int(pin->status[i])));
		json_object_object_add(object, name, one);
	}
	cli_json_print(object);
}

int cmd_pin(struct cli *cli)
{
	uint32_t wanted = CHARIO_PIN_ALL;
	const struct cli_value values[] = { { 'o', .parse = parse_pins, .to = &wanted }, { 0 } };
	struct chario_pin pin;
	int err;

	if (cli_parse(cli, values) || !cli_has_operands(cli, 1, INT_MAX))
		return CLI_USAGE;
	if (!cli_open_disk(cli))
		return CLI_FAILED;
	err = chario_pin_set(cli->disk, wanted, &pin, sizeof(pin));
	if (err)
		return cli_fail(cli, err, "cannot pin \"%s\"", cli->argv[0]);
	if (cli->argc > 1) {
		/* Standard output belongs to the program. */
		print_text(stderr, &pin);
		return cli_run_program(cli, cli->argv + 1, -1, -1);
	}
	if (cli->json)
		print_json(&pin);
	else
		print_text(stdout, &pin);
	return CLI_OK;
}
