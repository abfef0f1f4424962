/* SPDX-License-Identifier: MIT */
/*
 * The common part of the verbs of chario.
 *
 * A verb is one file, cmd-VERB.c, and one row of the table in commands.c.  A verb prints
 * its result to stdout and everything else to stderr.
 */
#ifndef CHARIO_CLI_H
#define CHARIO_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <json-c/json.h>

#include <chario/error.h>

struct chario_info;

#define NS_PER_S 1000000000ULL

/* Exit codes, as in chario(1). */
enum {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_WARNING = 3,
	CLI_CRITICAL = 4,
};

/**
 * struct cli_option - an option of a verb
 * @letter: short name
 * @name: long name, without the dashes
 * @argument: name of its argument, or NULL
 * @help: description in one line
 */
struct cli_option {
	char letter;
	const char *name;
	const char *argument;
	const char *help;
};

/**
 * struct cli - a call of a verb
 * @command: the verb
 * @argc: number of @argv; after the options, the number of operands
 * @argv: words after the verb; after the options, the operands
 * @json: true to print JSON
 * @store_name: store as given by the user, or NULL
 * @store: open store, or NULL; main() closes it
 * @disk: open disk, or NULL; main() closes it
 */
struct cli {
	const struct cli_command *command;
	int argc;
	char **argv;
	bool json;
	const char *store_name;
	struct chario_store *store;
	struct chario_device *disk;
};

/**
 * struct cli_range - numbers that a user may give
 * @what: description, for a message such as "\"1\" is not a number of buffers from 2 to 64"
 * @least: least number
 * @most: greatest number; 0 for no limit
 * @step: all numbers are multiples of this; 0 for any number
 * @is_power: true for powers of two only
 * @is_size: true for a number as cli_parse_size() takes it, with a suffix
 * @is_c: true for a number as in C, which may be hexadecimal
 * @unit: factor for the number; 0 for none
 */
struct cli_range {
	const char *what;
	uint64_t least;
	uint64_t most;
	uint64_t step;
	bool is_power;
	bool is_size;
	bool is_c;
	uint64_t unit;
};

#define CLI_COUNT_RANGE { "a count", .least = 1 }

/**
 * struct cli_value - the place for the value of an option; one of the pointers is set
 * @letter: letter of the option
 * @flag: becomes true
 * @bits: gets the bits of @value
 * @choice: becomes @value
 * @value: number for @bits or @choice
 * @times: becomes greater by 1
 * @text: becomes the argument
 * @seconds: becomes the argument, seconds from 0.001 to 1000000
 * @size: becomes the argument, a size that is not 0
 * @number: becomes the argument, a number of @range
 * @small: becomes the argument, a number of @range, which 32 bits can hold
 * @range: range of @number and @small
 * @parse: parses the argument; returns CLI_OK, or CLI_USAGE after a message
 * @to: last argument of @parse
 */
struct cli_value {
	char letter;
	bool *flag;
	uint32_t *bits;
	uint32_t *choice;
	uint32_t value;
	unsigned int *times;
	const char **text;
	double *seconds;
	uint64_t *size;
	uint64_t *number;
	uint32_t *small;
	struct cli_range range;
	int (*parse)(const struct cli *cli, char *text, void *to);
	void *to;
};

/**
 * struct cli_command - a verb
 * @name: name of the verb
 * @operands: operands, for the help
 * @summary: description in a few words
 * @description: description in lines of text
 * @options: options, ended by a zero; every verb also has --json and --help
 * @run: runs the verb; returns an exit code
 */
struct cli_command {
	const char *name;
	const char *operands;
	const char *summary;
	const char *description;
	const struct cli_option *options;
	int (*run)(struct cli *cli);
};

extern const struct cli_command cli_commands[];

/* Find the verb with this name.  Returns NULL after a message if there is none. */
const struct cli_command *cli_find_command(const char *name);

int cmd_list(struct cli *cli);
int cmd_info(struct cli *cli);
int cmd_bind(struct cli *cli);
int cmd_unbind(struct cli *cli);
int cmd_plan(struct cli *cli);
int cmd_stat(struct cli *cli);
int cmd_health(struct cli *cli);
int cmd_pin(struct cli *cli);
int cmd_export(struct cli *cli);
int cmd_region(struct cli *cli);
int cmd_run(struct cli *cli);
int cmd_timeline(struct cli *cli);
int cmd_format(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_df(struct cli *cli);
int cmd_ls(struct cli *cli);
int cmd_create(struct cli *cli);
int cmd_rename(struct cli *cli);
int cmd_set(struct cli *cli);
int cmd_resize(struct cli *cli);
int cmd_rm(struct cli *cli);
int cmd_put(struct cli *cli);
int cmd_get(struct cli *cli);
int cmd_cat(struct cli *cli);
int cmd_defrag(struct cli *cli);
int cmd_record(struct cli *cli);
int cmd_replay(struct cli *cli);
int cmd_tail(struct cli *cli);
int cmd_help(struct cli *cli);

/* option.c */

/*
 * Parse all options; then @argv has the operands.  @values has a place for each option of
 * the verb but --store, and is ended by a zero.  Returns CLI_OK, or CLI_USAGE after a message.
 */
int cli_parse(struct cli *cli, const struct cli_value *values);

/* Parse the options of a verb that has no other one than --store.  Returns as cli_parse(). */
int cli_parse_common(struct cli *cli);

/* Parse a size that is not 0.  Returns CLI_OK, or CLI_USAGE after a message. */
int cli_need_size(const struct cli *cli, const char *text, uint64_t *bytes);

/* Returns whether there are @least to @most operands; prints a message if not. */
bool cli_has_operands(const struct cli *cli, int least, int most);

/* Checks the operands of a verb whose only operand is the store, unless --store gives that. */
bool cli_has_store_operand(struct cli *cli);

extern const struct cli_option cli_common_options[];
extern const struct cli_option cli_no_own_options[];

void cli_print_help(const struct cli_command *command);

/* text.c */

/*
 * Print to stderr.  Bytes that do not print become \xHH, and so do line ends that are not
 * those of the format, because a name may have any bytes.
 */
void cli_print_error(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
void cli_print_error_list(const char *format, va_list args)
	__attribute__((__format__(__printf__, 1, 0)));

/* Print to stdout; on a terminal with the same escapes. */
void cli_print(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Print a name in @width columns, and bytes behind it: "free    4096 bytes (4.0 KiB)". */
void cli_print_bytes(int width, const char *name, uint64_t bytes);

/* Print to stdout, always with escapes, so that a value cannot end a line. */
void cli_print_escaped(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Make the text that cli_print(), cli_print_escaped() would print.  The caller frees it. */
char *cli_text(const char *format, va_list args) __attribute__((__format__(__printf__, 1, 0)));
char *cli_text_escaped(const char *format, va_list args)
	__attribute__((__format__(__printf__, 1, 0)));

/* message.c */

/* Print "chario VERB: ..." to stderr.  Returns CLI_FAILED, for messages about a failure. */
int cli_say(const struct cli *cli, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Print a message and how to get help.  Returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/*
 * Print a message, the meaning that an errno has for a subject, and advice.  Returns
 * CLI_FAILED.
 */
int cli_fail_about(const struct cli *cli, enum chario_subject subject, int err, const char *format,
		   ...) __attribute__((__format__(__printf__, 4, 5)));

/* Print such a message for an errno of a disk.  Returns CLI_FAILED. */
#define cli_fail(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_DISK, err, __VA_ARGS__)

/*
 * Print that a file cannot be used, and why: @what is a verb such as "open", @err a negative
 * errno.  Returns CLI_FAILED.
 */
int cli_fail_file(const struct cli *cli, int err, const char *what, const char *file);

/* Print that a file cannot be written, with advice.  Returns CLI_FAILED. */
int cli_fail_output(const struct cli *cli, int err, const char *file);

/* Returns a name such as "EBUSY", or "errno 18" for an errno that CharIO does not return. */
const char *cli_error_name(char text[32], int err);

/* size.c */

/*
 * Parse bytes with a suffix k, M, G, T or P, powers of 1024.  Returns false if the text is
 * no size.
 */
bool cli_parse_size(const char *text, uint64_t *bytes);

/* Returns an exact text, never rounded, such as "4 MiB" or "4095 B". */
const char *cli_exact_size(char text[32], uint64_t bytes);

/* Returns a rounded text for people, such as "3.8 TiB". */
const char *cli_round_size(char text[32], uint64_t bytes);

/* Returns a text such as "1 byte" or "2 bytes". */
const char *cli_count(char text[48], uint64_t number, const char *what);

/* print.c */

/**
 * struct cli_table - a table for people
 * @cells: texts, row by row; the first row is the heading
 * @nr_cells: number of cells
 * @nr_columns: number of cells in a row
 */
struct cli_table {
	char **cells;
	size_t nr_cells;
	size_t nr_columns;
};

/* Add a cell; an empty text becomes "-". */
void cli_table_add(struct cli_table *table, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Add such a cell, always with the escapes of cli_text_escaped(). */
void cli_table_add_escaped(struct cli_table *table, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* Begin a table with a heading of so many names. */
void cli_table_head(struct cli_table *table, const char *const *names, size_t nr_names);

void cli_table_print(const struct cli_table *table);
void cli_table_clear(struct cli_table *table);

void cli_json_text(struct json_object *object, const char *name, const char *text);
void cli_json_number(struct json_object *object, const char *name, uint64_t number);
void cli_json_flag(struct json_object *object, const char *name, bool flag);

/**
 * struct cli_member - a member of a struct, as JSON has it
 * @name: name of the member
 * @offset: offset of the member in bytes
 * @kind: kind of the member
 */
struct cli_member {
	const char *name;
	size_t offset;
	enum { CLI_NUMBER_32, CLI_NUMBER_64, CLI_TEXT } kind;
};

#define CLI_KIND(member)          \
	_Generic((member),        \
		char *: CLI_TEXT, \
		default: sizeof(member) == 8 ? CLI_NUMBER_64 : CLI_NUMBER_32)
#define CLI_MEMBER(type, name) \
	{ #name, offsetof(struct type, name), CLI_KIND(((struct type *)0)->name) }

/* Returns the number in a member of the struct at @data. */
uint64_t cli_member_number(const struct cli_member *member, const void *data);

/* Add members, ended by a zero, of the struct at @data. */
void cli_json_members(struct json_object *object, const struct cli_member *members,
		      const void *data);

/* Returns the name of a number in a table of names; "unknown" if it has none. */
#define CLI_NAME(names, number) cli_name(names, sizeof(names) / sizeof((names)[0]), number)
const char *cli_name(const char *const *names, size_t nr_names, size_t number);

/* Print a JSON value on lines of its own, or on one line, and free it. */
void cli_json_print(struct json_object *object);
void cli_json_print_line(struct json_object *object);

/*
 * Make room for one more element of @size bytes in an array that has grown by this function
 * to @count elements.  Returns the array, which may have moved.
 */
void *cli_grow(void *array, size_t count, size_t size);

/* Abort with a message if @memory is NULL, since a small tool cannot go on without memory. */
void *cli_must(void *memory);

/* disk.c */

/* Returns whether a user has given the name of a disk or drive; if it is empty, after a message. */
bool cli_has_name(const struct cli *cli, const char *name, const char *what);

/*
 * Returns whether a name is that of a region, chardiskNpM, or its path; then @disk is the name of
 * its disk.
 */
bool cli_is_region(const char *name, char disk[32]);

/* Let a first operand that names a block disk, chardiskNb, name its disk. */
void cli_accept_block(struct cli *cli);

/*
 * Open the disk that the first operand names, or whose block disk it names.  Returns false after
 * a message on failure.
 */
bool cli_open_disk(struct cli *cli);

/*
 * Check a path before a file is read or made there.  Returns CLI_OK; an exit code after a
 * message if the path is /dev/chardiskN, and there is no such disk or another file in its
 * place.
 */
int cli_check_path(const struct cli *cli, const char *path);

/*
 * Look whether a path, or the name of a disk, leads to a disk of CharIO.  Returns 1 and its
 * properties, 0 if there is no disk, or a negative errno.
 */
int cli_look_for_disk(const char *path, struct chario_info *disk);

const char *cli_completion_name(uint32_t completion);

#endif /* CHARIO_CLI_H */
