// SPDX-License-Identifier: MIT
/*
 * chario get: copies an area to a file.
 *
 * The verb writes FILE.part, which gets its name when it is complete and durable, so that
 * FILE is never half a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <chario/device.h>

#include "fetch.h"
#include "interrupt.h"
#include "store.h"

#define SUFFIX ".part"

/* Retries: another get may rename the file between our open and our lock. */
#define ATTEMPTS 100

/**
 * struct get - a get
 * @cli: call of the verb
 * @file: destination
 * @part: file that is written; the same as @file if that is no plain file
 * @fetch: the area
 */
struct get {
	const struct cli *cli;
	const char *file;
	char part[PATH_MAX];
	struct cli_fetch fetch;
};

static bool is_taken(const struct get *get)
{
	struct stat status;

	return !get->fetch.force && !stat(get->file, &status) && S_ISREG(status.st_mode);
}

/*
 * Refuse to write over a store, even with --force.  The name has a slash, or is that of a disk:
 * any other name is first looked for among disks.
 */
static int refuse_store(const struct get *get, const char *name, const char *advice)
{
	struct chario_store *store;
	int err = chario_store_open(name, O_RDONLY, &store);

	if (err == -ENOMEDIUM)
		return CLI_OK;
	if (!err)
		chario_store_close(store);
	if (!err || err == -EUCLEAN || err == -EPROTO || err == -ESTALE || err == -EBUSY)
		return cli_say(get->cli,
			       "there is a store on \"%s\", and all of it would be lost\n%s", name,
			       advice);
	return cli_fail_store(get->cli, err, "cannot see whether there is a store on \"%s\"", name);
}

/* Refuse to replace a plain file, or to empty the part, if it holds a store. */
static int refuse_store_file(const struct get *get, const char *name)
{
	char path[PATH_MAX + 2];
	struct stat status;

	if (stat(name, &status) || !S_ISREG(status.st_mode) || !status.st_size)
		return CLI_OK;
	snprintf(path, sizeof(path), "%s%s", strchr(name, '/') ? "" : "./", name);
	return refuse_store(get, path, "name another file, or remove this one first");
}

static int choose_part(struct get *get)
{
	struct stat status;
	bool there = !stat(get->file, &status);
	int length;

	if (there && S_ISDIR(status.st_mode))
		return cli_say(get->cli, "\"%s\" is a directory: name a file in it", get->file);
	if (is_taken(get))
		return cli_say(get->cli, "\"%s\" is there already; --force replaces it", get->file);
	if (there && S_ISBLK(status.st_mode))
		return cli_say(
			get->cli,
			"\"%s\" is a block device: chario cat NAME | dd of=... writes to one",
			get->file);
	length = snprintf(get->part, sizeof(get->part), "%s%s", get->file,
			  there && !S_ISREG(status.st_mode) ? "" : SUFFIX);
	if ((size_t)length >= sizeof(get->part))
		return cli_fail_file(get->cli, -ENAMETOOLONG, "open", get->file);
	return refuse_store_file(get, get->file);
}

/*
 * Returns whether a descriptor belongs to the file with this name.  Another get, which held
 * the lock, may have renamed its file to FILE before we got the lock.
 */
static bool has_name(int fd, const char *name)
{
	struct stat opened, named;

	return !fstat(fd, &opened) && !stat(name, &named) && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/*
 * Lock the part, so that two gets do not write to one file.  While the lock is held, no
 * other get can finish, and FILE stays unchanged.  Returns a negative errno, or CLI_FAILED if
 * the reason has been said.
 */
static int lock_part(const struct get *get, int fd)
{
	int status;

	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	if (!has_name(fd, get->part))
		return -EAGAIN;
	status = refuse_store_file(get, get->part);
	if (status)
		return status;
	if (is_taken(get))
		return unlink(get->part) ? -errno : -EAGAIN;
	return ftruncate(fd, 0) ? -errno : 0;
}

/* Open the file to write, but no file that another get has finished.  Returns as lock_part(). */
static int try_part(struct get *get)
{
	int err, fd = open(get->part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);

	if (fd < 0)
		return -errno;
	err = strcmp(get->part, get->file) ? lock_part(get, fd) : 0;
	if (err)
		close(fd);
	else
		get->fetch.fd = fd;
	return err;
}

/* Another get may have finished FILE meanwhile, so check it again. */
static int open_part(struct get *get)
{
	int err = -EAGAIN;

	for (int i = 0; i < ATTEMPTS && err == -EAGAIN; i++) {
		int status = choose_part(get);

		if (status)
			return status;
		err = try_part(get);
	}
	if (err >= 0)
		return err;
	if (!strcmp(get->part, get->file) || (err != -EBUSY && err != -EAGAIN))
		return cli_fail_file(get->cli, err, "create", get->part);
	return cli_say(get->cli, "another chario get is writing \"%s\"", get->part);
}

/* A file in memory would fill reserved space with zeroes, so only its free space is checked. */
static int reserve_bytes(int fd, uint64_t bytes)
{
	struct statfs system;

	if (fstatfs(fd, &system) || system.f_type != TMPFS_MAGIC || !system.f_blocks)
		return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) ? errno : 0;
	return bytes / (uint64_t)system.f_bsize > system.f_bavail ? ENOSPC : 0;
}

/* Fail before half of the file is written; not every file system can tell. */
static int reserve(const struct get *get, uint64_t bytes)
{
	int err = reserve_bytes(get->fetch.fd, bytes);
	char size[32];

	if (err != ENOSPC && err != EFBIG && err != EDQUOT)
		return CLI_OK;
	if (err == EFBIG)
		return cli_fail_output(get->cli, -EFBIG, get->file);
	return cli_say(get->cli, "\"%s\" needs %s, and its file system does not have that; see df",
		       get->file, cli_round_size(size, bytes));
}

static int finish(const struct get *get)
{
	if (fdatasync(get->fetch.fd) && errno != EINVAL && errno != EROFS)
		return cli_fail_file(get->cli, -errno, "write", get->part);
	if (strcmp(get->part, get->file) && rename(get->part, get->file))
		return cli_fail_file(get->cli, -errno, "rename", get->part);
	return CLI_OK;
}

static int check_length(const struct get *get, const struct chario_info *disk, uint64_t bytes)
{
	char is[32], has[32];

	if (bytes > disk->capacity_bytes)
		return cli_say(get->cli,
			       "\"%s\" has %s, too few for %s\nname a larger disk, or a file",
			       get->file, cli_exact_size(has, disk->capacity_bytes),
			       cli_exact_size(is, bytes));
	if (bytes % disk->logical_block_bytes)
		return cli_say(get->cli,
			       "\"%s\" has %" PRIu64
			       " bytes, and \"%s\" takes multiples of %" PRIu32
			       "\nchario cat NAME | dd of=... conv=sync bs=%" PRIu32
			       " fills up the last one",
			       get->fetch.name, bytes, get->file, disk->logical_block_bytes,
			       disk->logical_block_bytes);
	return CLI_OK;
}

/* Overwriting a disk needs --force; all errors that can be known are reported before. */
static int check_disk(const struct get *get, const struct chario_info *disk, uint64_t bytes)
{
	int status;

	if (!get->fetch.force)
		return cli_say(
			get->cli,
			"\"%s\" is a disk; --force writes over what is there, and that is lost",
			get->file);
	status = check_length(get, disk, bytes);
	return status ? status :
			refuse_store(
				get, get->file,
				"name another disk, or a file; chario put makes areas in a store");
}

/* Other devices, such as /dev/null, take any bytes. */
static int check_file(const struct get *get, uint64_t bytes)
{
	struct chario_info disk;
	int ret;

	if (cli_check_path(get->cli, get->file))
		return CLI_FAILED;
	ret = cli_look_for_disk(get->file, &disk);
	if (ret < 0)
		return cli_fail(get->cli, ret, "cannot look at \"%s\"", get->file);
	return ret ? check_disk(get, &disk, bytes) : CLI_OK;
}

static int get_file(struct get *get, uint64_t bytes)
{
	bool plain;
	int status = open_part(get);

	if (status)
		return status;
	plain = strcmp(get->part, get->file);
	status = plain ? reserve(get, bytes) : CLI_OK;
	if (!status)
		status = cli_fetch_run(get->cli, &get->fetch);
	if (!status)
		status = finish(get);
	if (status && plain)
		unlink(get->part);
	close(get->fetch.fd);
	return status;
}

static void print_json(const struct get *get)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "name", get->fetch.name);
	cli_json_text(object, "file", get->file);
	cli_json_number(object, "bytes", get->fetch.bytes);
	cli_json_print(object);
}

static int run(struct get *get)
{
	struct chario_area_info info;
	int status;

	if (!cli_fetch_allowed(get->cli, &get->fetch, &info))
		return CLI_FAILED;
	cli_interrupt_catch();
	if (!strcmp(get->file, "-")) {
		get->fetch.fd = STDOUT_FILENO;
		get->fetch.to = "standard output";
		return cli_fetch_run(get->cli, &get->fetch);
	}
	status = check_file(get, info.bytes);
	if (!status)
		status = get_file(get, info.bytes);
	if (!status && get->cli->json)
		print_json(get);
	return status;
}

int cmd_get(struct cli *cli)
{
	struct get get = { .cli = cli };
	const struct cli_value values[] = {
		{ 'f', .flag = &get.fetch.force },
		{ 'q', .flag = &get.fetch.quiet },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 2, 2))
		return CLI_USAGE;
	if (cli->json && !strcmp(cli->argv[1], "-"))
		return cli_usage(cli, "what areas hold is not JSON: name a file");
	get.fetch.name = cli->argv[0];
	get.fetch.to = get.file = cli->argv[1];
	return cli_open_store(cli, O_RDONLY) ? run(&get) : CLI_FAILED;
}
