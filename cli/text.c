// SPDX-License-Identifier: MIT
/*
 * Text for a terminal, which obeys some bytes: names chosen by other users must be shown
 * and not obeyed.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "cli.h"

/* Bytes that one escaped byte takes: \xHH. */
#define ESCAPED_BYTES 4

/* Returns the bytes of the character that begins here; 0 if it does not print. */
static size_t printing(const char *at)
{
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t bytes = *at == '\\' ? 0 : mbrtowc(&wide, at, strlen(at), &state);

	if (bytes == (size_t)-1 || bytes == (size_t)-2 || !bytes || !iswprint((wint_t)wide))
		return 0;
	return bytes;
}

/* Escape a text.  A line end stays only in a place where @marks has a blank. */
static char *escape(const char *text, const char *marks)
{
	char *escaped = cli_must(malloc(ESCAPED_BYTES * strlen(text) + 1)), *end = escaped;

	while (*text) {
		size_t bytes = *text == '\n' && *marks == ' ' ? 1 : printing(text);

		if (bytes)
			end = mempcpy(end, text, bytes);
		else
			end += sprintf(end, "\\x%02x", (unsigned char)*text);
		text += bytes ? bytes : 1;
		marks += bytes ? bytes : 1;
	}
	*end = '\0';
	return escaped;
}

static char *expand(const char *format, va_list args)
{
	char *text;

	return cli_must(vasprintf(&text, format, args) < 0 ? NULL : text);
}

/*
 * Escape a formatted text.  Only the format may end a line, not a name.  The marks are the
 * same text from a format whose line ends are blanks: they show the line ends to keep.
 */
char *cli_text_escaped(const char *format, va_list args)
{
	char *one_line = cli_must(strdup(format)), *text, *marks, *escaped;
	va_list again;

	for (char *at = one_line; (at = strchr(at, '\n'));)
		*at = ' ';
	va_copy(again, args);
	text = expand(format, args);
	marks = expand(one_line, again);
	va_end(again);
	escaped = escape(text, marks);
	free(one_line);
	free(text);
	free(marks);
	return escaped;
}

char *cli_text(const char *format, va_list args)
{
	return isatty(STDOUT_FILENO) ? cli_text_escaped(format, args) : expand(format, args);
}

static void put(FILE *file, char *text)
{
	fputs(text, file);
	free(text);
}

void cli_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(stdout, cli_text(format, args));
	va_end(args);
}

void cli_print_bytes(int width, const char *name, uint64_t bytes)
{
	char count[48], size[32];

	printf("%-*s %s (%s)\n", width, name, cli_count(count, bytes, "byte"),
	       cli_round_size(size, bytes));
}

void cli_print_escaped(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put(stdout, cli_text_escaped(format, args));
	va_end(args);
}

void cli_print_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_print_error_list(format, args);
	va_end(args);
}

void cli_print_error_list(const char *format, va_list args)
{
	/* Earlier output comes before messages about it. */
	fflush(stdout);
	put(stderr, cli_text_escaped(format, args));
}
