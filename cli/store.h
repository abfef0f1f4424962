/* SPDX-License-Identifier: MIT */
/*
 * The common part of the verbs of a store: choosing the store, printing its areas for
 * people and for programs, and errors of a store.
 */
#ifndef CHARIO_CLI_STORE_H
#define CHARIO_CLI_STORE_H

#include <chario/area.h>
#include <chario/store.h>

#include "cli.h"

#define CLI_STORE_OPTION { 's', "store", "STORE", "a disk, a block device or a file" }

/*
 * Choose the store: that of the user, else $CHARIO_STORE, else the only character disk of
 * the machine.  Returns NULL after a message if there is none of them.
 */
const char *cli_choose_store(const struct cli *cli);

/*
 * Say how a block device is named, if that is what a name without a path means and no file has
 * this name.  Returns whether that was said.
 */
bool cli_tell_of_block(const struct cli *cli, const char *name);

/* Returns whether cli_choose_store() finds a store that the user has not given. */
bool cli_has_store(void);

/* Open the store with O_RDONLY or O_RDWR.  Returns false after a message on failure. */
bool cli_open_store(struct cli *cli, int flags);

/*
 * Print a message as cli_fail() does, with the meaning of the errno for a store that is
 * opened, the bytes of an area, a new area, or an existing area.
 */
#define cli_fail_store(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_STORE, err, __VA_ARGS__)
#define cli_fail_write(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_CONTENT, err, __VA_ARGS__)
#define cli_fail_create(cli, err, name) \
	cli_fail_about(cli, CHARIO_SUBJECT_NEW_AREA, err, "cannot create \"%s\"", name)
#define cli_fail_read(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_RECORDS, err, __VA_ARGS__)
#define cli_fail_area(cli, err, ...) cli_fail_about(cli, CHARIO_SUBJECT_AREA, err, __VA_ARGS__)

/*
 * Returns whether to open a busy area again, after a pause.  @begin_ns is the time of the
 * first try, of cli_now_ns(); the answer is false long after it.  A program that was killed
 * holds an area until all of its threads have ended.
 */
bool cli_once_more(int err, uint64_t begin_ns);

/*
 * Open an area with O_RDONLY or O_RDWR; try a busy area again for a while.  Returns 0 or a
 * negative errno.
 */
int cli_open_area(const struct cli *cli, const char *name, int flags, struct chario_area **area);

/*
 * Drop the cache of Linux after a failed flush: it may hold data, taken for written, that
 * are not on the disk, and the next reader, such as put --changed, must see the disk.  There
 * is such a cache only if the file system of the store has no O_DIRECT.
 */
void cli_forget_cache(const struct cli *cli);

/* Look for an area.  Returns false after a message if it does not exist. */
bool cli_find_area(const struct cli *cli, const char *name, struct chario_area_info *info);

/* Returns a text such as "filling 12 %, moving"; an empty text for an area in order. */
const char *cli_area_state(char text[64], const struct chario_area_info *area);

/* Returns a text such as "2026-11-22 03:40:12", in the time zone of the user. */
const char *cli_show_time(char text[32], uint64_t realtime_ns);

struct json_object *cli_area_object(const struct chario_area_info *area);

/* Open the store, and print its properties and its free space, as text or as JSON. */
int cli_print_store(struct cli *cli);

/* With --json, print the present state of an area. */
int cli_print_area_json(const struct cli *cli, const char *name);

/**
 * struct cli_areas - a list of areas, freed by its user
 * @areas: array in the order of their places
 * @nr_areas: number of areas
 */
struct cli_areas {
	struct chario_area_info *areas;
	size_t nr_areas;
};

/* Add an area to a &struct cli_areas.  Returns 0, for chario_store_each(). */
int cli_areas_add(const struct chario_area_info *area, void *list);

#endif /* CHARIO_CLI_STORE_H */
