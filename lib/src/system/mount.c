// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Mounts.  See system/mount.h.
 */
#include "system/mount.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "system/sys.h"

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

void chario_mount_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
		    is_octal(from[3])) {
			*to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/*
 * "36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda errors=ro":
 * any number of optional fields stands before the lone dash.
 */
static bool parse(struct chario_mount *mount, char *line)
{
	const char *fields[5] = { 0 };
	char *rest, *tail = strstr(line, " - "), *field;
	int nr_fields = 0;

	if (!tail)
		return false;
	*tail = '\0';
	for (field = strtok_r(line, " ", &rest); field && nr_fields < 5;
	     field = strtok_r(NULL, " ", &rest)) {
		chario_mount_unescape(field);
		fields[nr_fields++] = field;
	}
	mount->number = fields[2];
	mount->point = fields[4];
	mount->type = strtok_r(tail + 3, " \n", &rest);
	mount->source = strtok_r(NULL, " \n", &rest);
	mount->options = strtok_r(NULL, "\n", &rest);
	if (!mount->options)
		mount->options = "";
	if (!mount->point || !mount->type || !mount->source)
		return false;
	chario_mount_unescape((char *)mount->source);
	return true;
}

static int append(struct chario_mount **mounts, int nr_mounts, char *line)
{
	struct chario_mount mount = { .line = line }, *more;

	if (!parse(&mount, line))
		return -EPROTO;
	more = realloc(*mounts, ((size_t)nr_mounts + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	more[nr_mounts] = mount;
	*mounts = more;
	return 0;
}

int chario_mount_read(struct chario_mount **mounts)
{
	FILE *file = chario_sys_fopen("/proc/self/mountinfo");
	int err = 0, nr_mounts = 0;

	*mounts = NULL;
	if (!file)
		return -errno;
	while (!err) {
		char *line = NULL;
		size_t room = 0;

		errno = 0;
		if (getline(&line, &room, file) < 0) {
			err = errno ? -errno : 0;
			free(line);
			break;
		}
		err = append(mounts, nr_mounts, line);
		if (err)
			free(line);
		else
			nr_mounts++;
	}
	fclose(file);
	if (err) {
		chario_mount_free(*mounts, nr_mounts);
		*mounts = NULL;
		return err;
	}
	return nr_mounts;
}

void chario_mount_free(struct chario_mount *mounts, int nr_mounts)
{
	for (int i = 0; i < nr_mounts; i++)
		free(mounts[i].line);
	free(mounts);
}
