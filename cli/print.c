// SPDX-License-Identifier: MIT
/*
 * Tables for people and JSON for programs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli.h"

void *cli_must(void *memory)
{
	if (!memory) {
		fprintf(stderr, "chario: no memory left\n");
		exit(CLI_FAILED);
	}
	return memory;
}

void *cli_grow(void *array, size_t count, size_t size)
{
	bool is_full = !(count & (count - 1));

	return is_full ? cli_must(reallocarray(array, count ? 2 * count : 1, size)) : array;
}

static void add_cell(struct cli_table *table, char *text)
{
	if (!*text) {
		free(text);
		text = cli_must(strdup("-"));
	}
	table->cells = cli_grow(table->cells, table->nr_cells, sizeof(*table->cells));
	table->cells[table->nr_cells++] = text;
}

void cli_table_add(struct cli_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_cell(table, cli_text(format, args));
	va_end(args);
}

void cli_table_add_escaped(struct cli_table *table, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_cell(table, cli_text_escaped(format, args));
	va_end(args);
}

/*
 * Returns the columns of the screen that a text takes; its bytes, if it is not valid in
 * this locale.
 */
static int width(const char *text)
{
	mbstate_t state = { 0 };
	const char *at = text;
	int places = 0;

	while (*at) {
		wchar_t wide;
		size_t bytes = mbrtowc(&wide, at, strlen(at), &state);

		if (bytes == (size_t)-1 || bytes == (size_t)-2 || wcwidth(wide) < 0)
			return (int)strlen(text);
		places += wcwidth(wide);
		at += bytes;
	}
	return places;
}

static int widest(const struct cli_table *table, size_t column)
{
	int most = 0;

	for (size_t i = column; i < table->nr_cells; i += table->nr_columns)
		if (width(table->cells[i]) > most)
			most = width(table->cells[i]);
	return most;
}

void cli_table_print(const struct cli_table *table)
{
	int *widths = cli_must(calloc(table->nr_columns, sizeof(*widths)));

	for (size_t i = 0; i + 1 < table->nr_columns; i++)
		widths[i] = widest(table, i);
	for (size_t i = 0; i < table->nr_cells; i++) {
		size_t column = i % table->nr_columns;

		if (column + 1 == table->nr_columns)
			printf("%s\n", table->cells[i]);
		else
			printf("%s%*s", table->cells[i],
			       widths[column] - width(table->cells[i]) + 2, "");
	}
	free(widths);
}

void cli_table_head(struct cli_table *table, const char *const *names, size_t nr_names)
{
	table->nr_columns = nr_names;
	for (size_t i = 0; i < nr_names; i++)
		cli_table_add(table, "%s", names[i]);
}

void cli_table_clear(struct cli_table *table)
{
	for (size_t i = 0; i < table->nr_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct cli_table){ 0 };
}

void cli_json_text(struct json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name, cli_must(json_object_new_string(text)));
}

void cli_json_number(struct json_object *object, const char *name, uint64_t number)
{
	json_object_object_add(object, name, cli_must(json_object_new_uint64(number)));
}

void cli_json_flag(struct json_object *object, const char *name, bool flag)
{
	json_object_object_add(object, name, cli_must(json_object_new_boolean(flag)));
}

uint64_t cli_member_number(const struct cli_member *member, const void *data)
{
	const void *at = (const char *)data + member->offset;

	return member->kind == CLI_NUMBER_64 ? *(const uint64_t *)at : *(const uint32_t *)at;
}

void cli_json_members(struct json_object *object, const struct cli_member *members,
		      const void *data)
{
	for (; members->name; members++) {
		if (members->kind == CLI_TEXT)
			cli_json_text(object, members->name, (const char *)data + members->offset);
		else
			cli_json_number(object, members->name, cli_member_number(members, data));
	}
}

const char *cli_name(const char *const *names, size_t nr_names, size_t number)
{
	return number < nr_names && names[number] ? names[number] : "unknown";
}

static void print(struct json_object *object, int flags)
{
	printf("%s\n", (const char *)cli_must((void *)json_object_to_json_string_ext(
			       object, flags | JSON_C_TO_STRING_NOSLASHESCAPE)));
	json_object_put(object);
}

void cli_json_print(struct json_object *object)
{
	print(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED);
}

void cli_json_print_line(struct json_object *object)
{
	print(object, JSON_C_TO_STRING_PLAIN);
	fflush(stdout);
}
