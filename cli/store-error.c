// SPDX-License-Identifier: MIT
/*
 * Errors of a store, of its areas and of what they hold.
 */
#include <stdarg.h>

#include "store.h"

int cli_fail_store(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_about(cli, CHARIO_SUBJECT_STORE, err, format, args);
	va_end(args);
	return CLI_FAILED;
}

int cli_fail_write(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_about(cli, CHARIO_SUBJECT_CONTENT, err, format, args);
	va_end(args);
	return CLI_FAILED;
}

static void fail_create(const struct cli *cli, int err, const char *format, ...)
	__attribute__((__format__(__printf__, 3, 4)));

static void fail_create(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_about(cli, CHARIO_SUBJECT_NEW_AREA, err, format, args);
	va_end(args);
}

int cli_fail_create(const struct cli *cli, int err, const char *name)
{
	fail_create(cli, err, "cannot create \"%s\"", name);
	return CLI_FAILED;
}

int cli_fail_area(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_about(cli, CHARIO_SUBJECT_AREA, err, format, args);
	va_end(args);
	return CLI_FAILED;
}
