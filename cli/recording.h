/* SPDX-License-Identifier: MIT */
/*
 * What a recording holds, without reading it all.
 */
#ifndef CHARIO_CLI_RECORDING_H
#define CHARIO_CLI_RECORDING_H

#include <chario/reader.h>

#include "store.h"

/* Of an area that holds one; a message where it cannot be read. */
bool cli_find_recording(const struct cli *cli, struct chario_store *store, const char *name,
			struct chario_recording *recording);

/* "closed", "cut off", "being made" or "damaged". */
const char *cli_recording_state(const struct chario_recording *recording);

/* For people: lines behind those of its area. */
void cli_print_recording(const struct chario_recording *recording);

/* For programs. */
struct json_object *cli_recording_object(const struct chario_recording *recording);

#endif /* CHARIO_CLI_RECORDING_H */
