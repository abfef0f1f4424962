/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The health of a drive: the judgement of its numbers, and the report of events.
 */
#ifndef CHARIO_DISK_HEALTH_H
#define CHARIO_DISK_HEALTH_H

#include <chario/uapi.h>

#include "chario.h"

int chario_health_read(struct chario_disk *disk, struct chario_health *health);
void chario_health_tell(struct chario_disk *disk);
const char *chario_health_status_name(u32 status);
int chario_health_print_reasons(char *text, size_t size, u32 reasons);

#endif /* CHARIO_DISK_HEALTH_H */
