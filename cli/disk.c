// SPDX-License-Identifier: MIT
/* Functions for verbs that use a disk. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <chario/device.h>

#include "store.h"

#define DISK "/dev/chardisk"

bool cli_has_name(const struct cli *cli, const char *name, const char *what)
{
	if (*name)
		return true;
	cli_say(cli, "the name of the %s is empty; chario list --all shows disks and drives", what);
	return false;
}

bool cli_is_region(const char *name, char disk[32])
{
	char place[PATH_MAX];
	unsigned int index;
	int used = 0;

	if (strchr(name, '/') && realpath(name, place))
		name = place;
	if (!strncmp(name, "/dev/", 5))
		name += 5;
	if (sscanf(name, "chardisk%up%*u%n", &index, &used) != 1 || !used || name[used])
		return false;
	snprintf(disk, 32, "chardisk%u", index);
	return true;
}

void cli_accept_block(struct cli *cli)
{
	char *name = cli->argv[0], path[64];
	struct stat status;
	int used = 0;

	snprintf(path, sizeof(path), "%s%s", strncmp(name, "/dev/", 5) ? "/dev/" : "", name);
	sscanf(path, DISK "%*ub%n", &used);
	if (used && !path[used] && !stat(path, &status) && S_ISBLK(status.st_mode))
		name[strlen(name) - 1] = '\0';
}

bool cli_open_disk(struct cli *cli)
{
	int err;

	if (!cli_has_name(cli, cli->argv[0], "disk"))
		return false;
	cli_accept_block(cli);
	err = chario_device_open(cli->argv[0], O_RDONLY, &cli->disk);
	if (err)
		cli_fail(cli, err, "cannot open disk \"%s\"", cli->argv[0]);
	return !err;
}

/* Find the place that a path leads to, even if there is no file. */
static bool find_place(char place[PATH_MAX], const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".", there[PATH_MAX];

	if (realpath(path, place))
		return true;
	if (slash && (size_t)snprintf(folder, sizeof(folder), "%.*s/", (int)(slash - path), path) >=
			     sizeof(folder))
		return false;
	return realpath(folder, there) &&
	       snprintf(place, PATH_MAX, "%s/%s", there, slash ? slash + 1 : path) < PATH_MAX;
}

static bool is_path_of_disk(const char *place)
{
	const char *rest = place + strlen(DISK);
	size_t digits = strspn(rest, "0123456789");

	if (strncmp(place, DISK, strlen(DISK)) != 0 || !digits)
		return false;
	rest += digits;
	return !*rest || (*rest == 'p' && rest[1] && !rest[1 + strspn(rest + 1, "0123456789")]);
}

int cli_look_for_disk(const char *path, struct chario_info *disk)
{
	struct chario_device *device;
	struct stat status;
	int err;

	if ((!stat(path, &status) && !S_ISCHR(status.st_mode)) ||
	    chario_device_open(path, O_RDONLY | O_NONBLOCK, &device))
		return 0;
	err = chario_device_get_info(device, disk, sizeof(*disk));
	chario_device_close(device);
	return err ? err : 1;
}

int cli_check_path(const struct cli *cli, const char *path)
{
	struct chario_device *device;
	char place[PATH_MAX];
	int err;

	if (!find_place(place, path) || !is_path_of_disk(place))
		return CLI_OK;
	err = chario_device_open(place, O_RDONLY, &device);
	if (!err)
		chario_device_close(device);
	/* The code that opens the path reports all other errors. */
	return err == -ENOTBLK || err == -ENODEV ?
		       cli_fail_store(cli, err, "cannot use \"%s\"", path) :
		       CLI_OK;
}

const char *cli_completion_name(uint32_t completion)
{
	static const char *const names[] = {
		[CHARIO_COMPLETION_DEFAULT] = "default",
		[CHARIO_COMPLETION_IRQ] = "irq",
		[CHARIO_COMPLETION_POLL] = "poll",
		[CHARIO_COMPLETION_SPIN] = "spin",
	};

	return CLI_NAME(names, completion);
}
