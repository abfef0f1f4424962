/* SPDX-License-Identifier: MIT */
/*
 * What the verbs of chario share.
 *
 * A verb is one file, cmd-VERB.c, and one row of the table in commands.c.  It
 * prints what it was asked for to stdout and everything else to stderr.
 */
#ifndef CHARIO_CLI_H
#define CHARIO_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <json-c/json.h>

#include <chario/error.h>

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
 * @letter: short name; what cli_next_option() returns
 * @name: long name, without the dashes
 * @argument: name of its argument, NULL when it takes none
 * @help: what it does, one line
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
 * @argc: number of @argv; after the options: of what is left
 * @argv: words after the verb; after the options: what is left
 * @json: print JSON
 */
struct cli {
	const struct cli_command *command;
	int argc;
	char **argv;
	bool json;
};

/**
 * struct cli_command - a verb
 * @name: the verb
 * @operands: what stands behind it, for the help
 * @summary: what it does, in a few words
 * @description: what a user should know, lines of text
 * @options: its options, ended by a zero; --json and --help are everyone's
 * @run: do it; returns an exit code
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

/* The verb with this name; NULL and a message when there is none. */
const struct cli_command *cli_find_command(const char *name);

int cmd_list(struct cli *cli);
int cmd_info(struct cli *cli);
int cmd_bind(struct cli *cli);
int cmd_unbind(struct cli *cli);
int cmd_plan(struct cli *cli);
int cmd_stat(struct cli *cli);
int cmd_health(struct cli *cli);
int cmd_pin(struct cli *cli);
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

/* Not a letter: no option is left, or the message has been given. */
enum {
	CLI_NO_OPTION = -1,
	CLI_BAD_OPTION = '?',
};

/*
 * The next option's letter, with its argument in optarg.  At the end @argv is
 * what stands behind the options.
 */
int cli_next_option(struct cli *cli);

/* The argument of an option, seconds from 0.001 to 1000000: CLI_OK or CLI_USAGE. */
int cli_option_seconds(const struct cli *cli, double *seconds);

/* The argument of an option, 1 or more: CLI_OK or CLI_USAGE. */
int cli_option_count(const struct cli *cli, unsigned long *count);

/* For verbs that have no option of their own: CLI_OK or CLI_USAGE. */
int cli_no_options(struct cli *cli);

/* Whether there are @least to @most operands; a message when not. */
bool cli_has_operands(const struct cli *cli, int least, int most);

extern const struct cli_option cli_common_options[];
extern const struct cli_option cli_no_own_options[];

void cli_print_help(const struct cli_command *command);

/* text.c */

/*
 * Print to stderr.  Bytes that do not print become \xHH, and so does a line end that is
 * not the format's: a name may hold anything.
 */
void cli_print_error(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));
void cli_print_error_list(const char *format, va_list args)
	__attribute__((__format__(__printf__, 1, 0)));

/* Print to stdout: the same where it is a terminal; else names as they are. */
void cli_print(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* Print to stdout, escaped wherever that goes: a value with a line end makes no line. */
void cli_print_escaped(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

/* What cli_print() would print; the caller frees it. */
char *cli_text(const char *format, va_list args) __attribute__((__format__(__printf__, 1, 0)));

/* message.c */

/* "chario VERB: ..." on stderr. */
void cli_say(const struct cli *cli, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* The same, and how to get help.  Returns CLI_USAGE. */
int cli_usage(const struct cli *cli, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

/* The same, and what the errno means for a subject and what to do.  Returns CLI_FAILED. */
int cli_fail_about(const struct cli *cli, enum chario_subject subject, int err, const char *format,
		   ...) __attribute__((__format__(__printf__, 4, 5)));

/* The same, of an errno that is about a disk. */
#define cli_fail(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_DISK, err, __VA_ARGS__)

/* "EBUSY", or "errno 18" for one that CharIO does not give. */
const char *cli_error_name(char text[32], int err);

/* size.c */

/* Bytes with a suffix k, M, G, T or P, powers of 1024; false when it is none. */
bool cli_parse_size(const char *text, uint64_t *bytes);

/* "4 MiB", or "4095 B": exact, never rounded. */
const char *cli_exact_size(char text[32], uint64_t bytes);

/* "3.8 TiB": for people, rounded. */
const char *cli_round_size(char text[32], uint64_t bytes);

/* "1 byte", "2 bytes". */
const char *cli_count(char text[48], uint64_t number, const char *what);

/* print.c */

/**
 * struct cli_table - a table for people
 * @cells: texts, row by row; the first row is the heading
 * @nr_cells: how many
 * @nr_columns: how many of them make a row
 */
struct cli_table {
	char **cells;
	size_t nr_cells;
	size_t nr_columns;
};

/* Add a cell; "-" stands for an empty text. */
void cli_table_add(struct cli_table *table, const char *format, ...)
	__attribute__((__format__(__printf__, 2, 3)));

void cli_table_print(const struct cli_table *table);
void cli_table_clear(struct cli_table *table);

void cli_json_text(struct json_object *object, const char *name, const char *text);
void cli_json_number(struct json_object *object, const char *name, uint64_t number);
void cli_json_flag(struct json_object *object, const char *name, bool flag);

/* Print a JSON value on lines of its own, or on one line, and free it. */
void cli_json_print(struct json_object *object);
void cli_json_print_line(struct json_object *object);

/* Abort with a message when memory is at its end, as every small tool does. */
void *cli_must(void *memory);

/* disk.c */

struct chario_device;

/* Open a disk for its ioctls; NULL and a message when that fails. */
struct chario_device *cli_open_disk(const struct cli *cli, const char *name);

/*
 * Before a file is read or made at a path: CLI_OK; a message where it is /dev/chardiskN, and
 * there is no such disk or something else stands in its place.
 */
int cli_check_path(const struct cli *cli, const char *path);

const char *cli_completion_name(uint32_t completion);

#endif /* CHARIO_CLI_H */
