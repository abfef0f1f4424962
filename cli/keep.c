// SPDX-License-Identifier: MIT
/*
 * Drives that are kept.  See keep.h.
 *
 * A record is a file whose name is model and serial number: it is valid for this
 * drive in any slot, and for no other drive in its place.  It is empty, or says "block" if
 * the disks of the drive are to be block devices as well.  A drive that cannot be told from
 * another is not kept.
 */
#include "keep.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/etc/chario"
#define DRIVES CLI_KEEP_FOLDER
#define BLOCK  "block"

/* A byte may take three bytes in a name, and two parts have an underscore between them. */
#define NAME_MAX_BYTES (sizeof(DRIVES) + 3 * (24 + 48) + 2)

#define NEW_MAX_BYTES (NAME_MAX_BYTES + sizeof(".new"))

/* Interval and number of looks at a new drive, until its driver knows its identity. */
#define WAIT_STEP_MS 100
#define WAIT_STEPS   300

static char *add_text(char *to, const char *text)
{
	size_t length = strlen(text);

	while (length && text[length - 1] == ' ')
		length--;
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (isalnum(c) || c == '-')
			*to++ = (char)c;
		else
			to += sprintf(to, "%%%02X", c);
	}
	*to = '\0';
	return to;
}

/* Make a name that no other drive has: the separator occurs in no part. */
static void make_name(char name[NAME_MAX_BYTES], const struct chario_drive *drive)
{
	char *end = add_text(stpcpy(name, DRIVES "/"), drive->model);

	*end++ = '_';
	add_text(end, drive->serial);
}

struct twins {
	const char *name;
	int count;
};

static int count_twin(const struct chario_drive *drive, void *data)
{
	char name[NAME_MAX_BYTES];
	struct twins *twins = data;

	make_name(name, drive);
	twins->count += !strcmp(name, twins->name);
	return 0;
}

/* Returns 0 if no other drive in this machine has the name. */
static int check_alone(const struct cli *cli, const struct chario_drive *drive, const char *name)
{
	struct twins twins = { .name = name };
	int err = chario_drive_each(count_twin, &twins);

	if (err)
		return cli_fail(cli, err, "cannot look at all drives"), err;
	if (twins.count < 2)
		return 0;
	cli_say(cli,
		"%s: another drive has its model and serial number, so it cannot be kept; the service chario-bind@%s binds it at each start",
		drive->address, drive->address);
	return -ENOTUNIQ;
}

static int write_file(const char *name, const char *content)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644), err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, content, strlen(content)) < 0 || fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static void flush_folder(void)
{
	int fd = open(DRIVES, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

/* The file that becomes a record.  No drive is meant by it, because a name has no dot. */
static void name_new(char beside[NEW_MAX_BYTES], const char *name)
{
	snprintf(beside, NEW_MAX_BYTES, "%s.new", name);
}

/*
 * Make a record, whole or not at all: one that is empty says that the disks are not block
 * devices.
 */
static int create(const char *name, uint32_t flags)
{
	char beside[NEW_MAX_BYTES];
	int err;

	if ((mkdir(FOLDER, 0755) && errno != EEXIST) || (mkdir(DRIVES, 0755) && errno != EEXIST))
		return -errno;
	name_new(beside, name);
	err = write_file(beside, flags & CHARIO_BIND_BLOCK ? BLOCK "\n" : "");
	if (!err && rename(beside, name))
		err = -errno;
	if (err)
		unlink(beside);
	else
		flush_folder();
	return err;
}

/* Read what a record says, CHARIO_BIND_* bits.  Returns 0, or -ENOENT if there is none. */
static int read_flags(const char *name, uint32_t *flags)
{
	char content[sizeof(BLOCK)] = "";
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return -ENOENT;
	if (read(fd, content, sizeof(content) - 1) > 0 && !strcmp(content, BLOCK))
		*flags |= CHARIO_BIND_BLOCK;
	close(fd);
	return 0;
}

int cli_keep(const struct cli *cli, const struct chario_drive *drive, uint32_t flags)
{
	char name[NAME_MAX_BYTES];
	struct chario_drive now;
	int err = chario_drive_find(drive->address, &now, sizeof(now));

	if (err)
		return cli_fail(cli, err, "%s: cannot be looked at", drive->address), err;
	if (!now.serial[0]) {
		cli_say(cli, "%s: has no serial number, so it cannot be kept", now.address);
		return -EOPNOTSUPP;
	}
	make_name(name, &now);
	err = check_alone(cli, &now, name);
	if (err)
		return err;
	err = create(name, flags);
	if (err)
		cli_fail(cli, err, "%s: cannot be noted in " DRIVES, now.address);
	return err;
}

int cli_keep_no_more(const struct cli *cli, const struct chario_drive *drive, uint32_t *flags)
{
	char name[NAME_MAX_BYTES], beside[NEW_MAX_BYTES];
	int err;

	make_name(name, drive);
	name_new(beside, name);
	unlink(beside);
	if (read_flags(name, flags))
		return 0;
	if (!unlink(name))
		return 1;
	err = -errno;
	cli_fail(cli, err, "%s: the note %s stays", drive->address, name);
	return err;
}

/* The kernel makes a controller first, and identifies it afterwards. */
static int wait_identity(const char *address, struct chario_drive *drive)
{
	const struct timespec step = { .tv_nsec = WAIT_STEP_MS * 1000000L };
	int err;

	for (int i = 0;; i++) {
		err = chario_drive_find(address, drive, sizeof(*drive));
		if (err || !drive->driver[0] || drive->serial[0] || i == WAIT_STEPS)
			return err;
		nanosleep(&step, NULL);
	}
}

int cli_is_kept(const struct cli *cli, const struct chario_drive *drive, uint32_t *flags)
{
	char name[NAME_MAX_BYTES];
	struct chario_drive now;
	int err = wait_identity(drive->address, &now);

	if (err)
		return cli_fail(cli, err, "%s: cannot be looked at", drive->address), err;
	make_name(name, &now);
	if (!now.serial[0] || read_flags(name, flags))
		return 0;
	err = check_alone(cli, &now, name);
	return err ? err : 1;
}
