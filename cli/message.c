// SPDX-License-Identifier: MIT
/* Messages: the error, its meaning, and advice. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static void say(const struct cli *cli, const char *format, va_list args)
{
	cli_print_error("chario %s: ", cli->command->name);
	cli_print_error_list(format, args);
}

int cli_say(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, format, args);
	va_end(args);
	fprintf(stderr, "\n");
	return CLI_FAILED;
}

int cli_fail_file(const struct cli *cli, int err, const char *what, const char *file)
{
	return cli_say(cli, "cannot %s \"%s\": %s", what, file, strerror(-err));
}

int cli_fail_output(const struct cli *cli, int err, const char *file)
{
	if (err == -ENOSPC)
		return cli_say(cli, "no room is left for \"%s\"; df shows where there is some",
			       file);
	if (err == -EFBIG)
		return cli_say(cli,
			       "\"%s\" may not be as long as that: raise the limit (ulimit -f)",
			       file);
	return cli_fail_file(cli, err, "write", file);
}

int cli_usage(const struct cli *cli, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(cli, format, args);
	va_end(args);
	fprintf(stderr, "\nsee chario help %s\n", cli->command->name);
	return CLI_USAGE;
}

const char *cli_error_name(char text[32], int err)
{
	const char *name = chario_error_name(err);

	if (name)
		return name;
	snprintf(text, 32, "errno %d", -err);
	return text;
}

int cli_fail_about(const struct cli *cli, enum chario_subject subject, int err, const char *format,
		   ...)
{
	const char *advice = chario_error_advice_of(err, subject);
	char name[32];
	va_list args;

	va_start(args, format);
	say(cli, format, args);
	va_end(args);
	fprintf(stderr, ": %s (%s)\n", chario_error_meaning_of(err, subject),
		cli_error_name(name, err));
	if (advice)
		fprintf(stderr, "%s\n", advice);
	return CLI_FAILED;
}
