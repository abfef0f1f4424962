/* SPDX-License-Identifier: MIT */
/* The content of a recording, without reading all of it. */
#ifndef CHARIO_CLI_RECORDING_H
#define CHARIO_CLI_RECORDING_H

#include <chario/reader.h>

#include "store.h"

/* Describe the recording of an area.  Returns false after a message if it cannot be read. */
bool cli_find_recording(const struct cli *cli, const char *name,
			struct chario_recording *recording);

/* Returns "closed", "cut off", "being made" or "damaged". */
const char *cli_recording_state(const struct chario_recording *recording);

/* Print lines for people, behind those of the area. */
void cli_print_recording(const struct chario_recording *recording);

/* Make an object for programs. */
struct json_object *cli_recording_object(const struct chario_recording *recording);

#endif /* CHARIO_CLI_RECORDING_H */
