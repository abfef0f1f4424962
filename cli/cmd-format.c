// SPDX-License-Identifier: MIT
/* chario format: an empty store, on a disk without content that anybody misses. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "content.h"
#include "store.h"

/**
 * struct format - the job of the verb
 * @layout: layout of the store
 * @file_bytes: length of a file to create in bytes; 0 for none
 * @force: true to overwrite any content
 * @upgrade: true to convert an existing store to the present format
 */
struct format {
	struct chario_store_layout layout;
	uint64_t file_bytes;
	bool force;
	bool upgrade;
};

static int parse_options(struct cli *cli, struct format *format)
{
	struct chario_store_layout *layout = &format->layout;
	const struct cli_value values[] = {
		{ 'f', .flag = &format->force },
		{ 'u', .flag = &format->upgrade },
		{ 'n', .number = &layout->max_areas,
		  .range = { "a number of areas from 1 to 1048576", .least = 1, .most = 1 << 20,
			     .is_size = true } },
		{ 'a', .number = &layout->alignment_bytes,
		  .range = { "a power of two from 4k to 1G", .least = CHARIO_STORE_BLOCK,
			     .most = 1 << 30, .is_power = true, .is_size = true } },
		{ 'S', .size = &format->file_bytes },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_store_operand(cli))
		return CLI_USAGE;
	if (format->upgrade &&
	    (format->force || format->file_bytes || layout->max_areas || layout->alignment_bytes))
		return cli_usage(cli, "--upgrade keeps the store as it was made: it goes with no "
				      "other option but --store");
	return CLI_OK;
}

/* Create a file of this size, and allocate its blocks if the file system can. */
static int create_file(const struct cli *cli, uint64_t bytes)
{
	const char *name = cli->store_name;
	int fd, err = 0;

	if (cli_check_path(cli, name))
		return CLI_FAILED;
	fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOCTTY, 0666);
	if (fd < 0 && errno == EEXIST)
		return cli_say(cli, "\"%s\" is there already: leave --size away", name);
	if (fd < 0 && errno == EACCES)
		return cli_say(cli,
			       "you have no right to make \"%s\" in its folder\n"
			       "name a file in another one; ls -ld shows who may write to a folder",
			       name);
	if (fd < 0)
		return cli_fail_store(cli, -errno, "cannot create \"%s\"", name);
	if (fallocate(fd, 0, 0, (off_t)bytes))
		err = errno == EOPNOTSUPP ? 0 : -errno;
	if (!err && ftruncate(fd, (off_t)bytes))
		err = -errno;
	close(fd);
	if (!err)
		return CLI_OK;
	unlink(name);
	if (err == -ENOSPC)
		return cli_say(cli,
			       "the file system has no room for \"%s\"; df shows how much there is",
			       name);
	return cli_fail_store(cli, err, "cannot create \"%s\"", name);
}

/* Refuse to overwrite a store, and print its number of areas. */
static int refuse_store(const struct cli *cli)
{
	const char *name = cli->store_name;
	struct chario_store_info info = { 0 };
	struct chario_store *store;
	char count[48];
	int err = chario_store_open(name, O_RDONLY, &store);

	if (!err) {
		err = chario_store_get_info(store, &info, sizeof(info));
		chario_store_close(store);
	}
	if (err)
		return cli_say(cli,
			       "there is a store on \"%s\", and %s\n"
			       "--force makes a new one, and what the old one held is lost",
			       name,
			       err == -EPROTO ? "it is of a newer release" :
						"it is damaged; chario check says how");
	return cli_say(cli,
		       "there is a store on \"%s\", with %s\n"
		       "--force makes a new one, and what is there is lost",
		       name, cli_count(count, info.nr_areas, "area"));
}

/*
 * Returns whether a disk is mounted: it is refused even with --force.  A region cannot be opened
 * for writing then.
 */
static bool is_in_use(const char *name)
{
	struct stat status;
	int fd;

	if (stat(name, &status) || (!S_ISBLK(status.st_mode) && !S_ISCHR(status.st_mode)))
		return false;
	fd = open(name,
		  (S_ISBLK(status.st_mode) ? O_RDONLY | O_EXCL : O_RDWR) | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return errno == EBUSY;
	close(fd);
	return false;
}

static int fail_busy(const struct cli *cli)
{
	const char *name = cli->store_name;
	struct stat status;
	bool is_disk = !stat(name, &status) && S_ISCHR(status.st_mode);

	return cli_say(cli, "a store on \"%s\" is open in another process: end that first%s", name,
		       is_disk ? "; or its files take calls of any size: "
				 "write 0 to any_size in /sys/class/chario/chardiskN" :
				 "");
}

static int fail(const struct cli *cli, int err)
{
	const char *name = cli->store_name;

	switch (err) {
	case -ENOENT:
		if (cli_tell_of_block(cli, name))
			return CLI_FAILED;
		return cli_say(cli,
			       "there is no disk and no file \"%s\"\n"
			       "chario format --size SIZE FILE creates the file; "
			       "so does truncate -s SIZE FILE",
			       name);
	case -ENOSPC:
		return cli_say(cli,
			       "\"%s\" is too small for such a store; "
			       "give a larger disk or file, or smaller --areas or --align",
			       name);
	case -EBUSY:
		return fail_busy(cli);
	case -EEXIST:
		return refuse_store(cli);
	}
	return cli_fail_store(cli, err, "cannot make a store on \"%s\"", name);
}

static int examine(const struct cli *cli, bool force)
{
	const char *name = cli->store_name;
	char content[256];
	int ret;

	if (is_in_use(name))
		return cli_say(cli,
			       "\"%s\" is mounted or otherwise in use; "
			       "lsblk and fuser show by whom: end that first",
			       name);
	if (force)
		return CLI_OK;
	ret = cli_find_content(name, content, sizeof(content));
	if (ret < 0)
		return fail(cli, ret);
	if (!ret)
		return CLI_OK;
	return cli_say(cli, "\"%s\" holds %s\n--force makes a store all the same, and that is lost",
		       name, content);
}

static int upgrade(struct cli *cli)
{
	int err = chario_store_upgrade(cli->store_name);

	return err ? cli_fail_store(cli, err, "cannot upgrade \"%s\"", cli->store_name) :
		     cli_print_store(cli);
}

static int run(struct cli *cli, struct format *format)
{
	int err, status = examine(cli, format->force);

	if (status)
		return status;
	if (format->force)
		format->layout.flags = CHARIO_LAYOUT_REPLACE;
	err = chario_store_format(cli->store_name, &format->layout);
	if (!err && format->force)
		err = cli_wipe_content(cli->store_name);
	return err ? fail(cli, err) : cli_print_store(cli);
}

int cmd_format(struct cli *cli)
{
	struct format format = { .layout.size = sizeof(struct chario_store_layout) };
	int status = parse_options(cli, &format);

	if (status)
		return status;
	if (format.file_bytes && !cli->store_name)
		return cli_usage(cli, "--size needs the name of the file");
	cli->store_name = cli_choose_store(cli);
	if (!cli->store_name)
		return CLI_FAILED;
	if (format.upgrade)
		return upgrade(cli);
	if (format.file_bytes && create_file(cli, format.file_bytes))
		return CLI_FAILED;
	status = run(cli, &format);
	if (status && format.file_bytes)
		unlink(cli->store_name);
	return status;
}
