// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Reasons not to take a drive away from its driver.
 *
 * Each check looks for one sign that a device is used.  A check that cannot be made counts as a
 * use of kind CHARIO_USE_UNKNOWN: in doubt a drive must not be taken away.
 */
#include <chario/use.h>

#include <errno.h>
#include <fcntl.h>
#include <libmount/libmount.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "machine/stack.h"
#include "system/sys.h"

#define SUBSYSTEMS "/sys/kernel/config/nvmet/subsystems"

/**
 * struct walk - one walk through the uses of a drive
 * @stack: devices of the drive
 * @mounts: all mounts that the caller can see
 * @swaps: all swap space
 * @each: iterator over @mounts or @swaps
 * @above: second iterator over @mounts, used inside the first
 * @visit: function that is told each use
 * @data: argument of @visit
 * @nr_uses: number of uses that @visit has been told
 */
struct walk {
	struct chario_stack stack;
	struct libmnt_table *mounts;
	struct libmnt_table *swaps;
	struct libmnt_iter *each;
	struct libmnt_iter *above;
	chario_use_visit *visit;
	void *data;
	int nr_uses;
};

static int tell(struct walk *walk, enum chario_use_kind kind, const char *device, const char *what)
{
	struct chario_use use = { .kind = kind, .device = device, .what = what };

	walk->nr_uses++;
	return walk->visit(&use, walk->data);
}

static int tell_unknown(struct walk *walk, const char *device, const char *doing, int err)
{
	char reason[512];

	snprintf(reason, sizeof(reason), "cannot %s: %s", doing, strerror(-err));
	return tell(walk, CHARIO_USE_UNKNOWN, device, reason);
}

/*
 * Find the device of the drive that a btrfs lies on.  A btrfs has a device number of its own
 * and names one of its devices as its source; sysfs lists all of its devices as
 * /sys/fs/btrfs/UUID/devices/NAME.
 */
static const struct chario_stack_device *find_btrfs(const struct walk *walk, const char *source)
{
	const struct chario_stack_device *found = NULL;
	const char *name = strrchr(source, '/');
	CHARIO_NAMES(names);

	if (name)
		chario_sys_names(&names, "/sys/fs/btrfs");
	for (int i = 0; i < names.count && !found; i++) {
		const char *uuid = names.entries[i]->d_name;

		if (!chario_sys_exists("/sys/fs/btrfs/%s/devices%s", uuid, name))
			continue;
		for (int k = 0; k < walk->stack.nr_devices && !found; k++)
			if (chario_sys_exists("/sys/fs/btrfs/%s/devices/%s", uuid,
					      walk->stack.devices[k].name))
				found = &walk->stack.devices[k];
	}
	return found;
}

static const struct chario_stack_device *device_of(const struct walk *walk, struct libmnt_fs *mount)
{
	const struct chario_stack_device *found;
	const char *source = mnt_fs_get_source(mount);
	dev_t device = mnt_fs_get_devno(mount);
	char number[sizeof(found->number)];

	snprintf(number, sizeof(number), "%u:%u", major(device), minor(device));
	found = chario_stack_find(&walk->stack, number);
	if (!found && source)
		found = chario_stack_find_path(&walk->stack, source);
	if (!found && source && mnt_fs_match_fstype(mount, "btrfs"))
		found = find_btrfs(walk, source);
	return found;
}

static bool is_below(const char *path, size_t length, const char *point)
{
	size_t depth = strlen(point);

	return length >= depth && !strncmp(path, point, depth) &&
	       (length == depth || path[depth] == '/');
}

/* Find the device of the drive that a folder lies on, by a mount above it. */
static const struct chario_stack_device *find_above(const struct walk *walk, const char *path,
						    size_t length)
{
	const struct chario_stack_device *found = NULL;
	struct libmnt_fs *mount;

	mnt_reset_iter(walk->above, MNT_ITER_FORWARD);
	while (!found && !mnt_table_next_fs(walk->mounts, walk->above, &mount))
		if (is_below(path, length, mnt_fs_get_target(mount)))
			found = device_of(walk, mount);
	return found;
}

/* Find the device of the drive that one of the layers of an overlay lies on. */
static const struct chario_stack_device *find_overlay(const struct walk *walk,
						      struct libmnt_fs *overlay)
{
	const struct chario_stack_device *found = NULL;
	const char *path = mnt_fs_get_fs_options(overlay);

	if (!path || !mnt_fs_match_fstype(overlay, "overlay"))
		return NULL;
	for (; *path && !found; path++) {
		/* Layers are separated by ':' and stand behind '='. */
		size_t length = strcspn(path, ",:=");

		found = find_above(walk, path, length);
		path += length;
		if (!*path)
			break;
	}
	return found;
}

static int check_mounts(struct walk *walk, bool root)
{
	const struct chario_stack_device *device;
	struct libmnt_fs *mount;
	int ret = 0;

	mnt_reset_iter(walk->each, MNT_ITER_FORWARD);
	while (!ret && !mnt_table_next_fs(walk->mounts, walk->each, &mount)) {
		const char *point = mnt_fs_get_target(mount);

		if (root != !strcmp(point, "/"))
			continue;
		device = device_of(walk, mount);
		if (!device)
			device = find_overlay(walk, mount);
		if (device)
			ret = tell(walk, root ? CHARIO_USE_ROOT : CHARIO_USE_MOUNT, device->name,
				   point);
	}
	return ret;
}

static int check_swaps(struct walk *walk)
{
	const struct chario_stack_device *device;
	struct libmnt_fs *swap;
	int ret = 0;

	mnt_reset_iter(walk->each, MNT_ITER_FORWARD);
	while (!ret && !mnt_table_next_fs(walk->swaps, walk->each, &swap)) {
		device = chario_stack_find_path(&walk->stack, mnt_fs_get_source(swap));
		if (device)
			ret = tell(walk, CHARIO_USE_SWAP, device->name, mnt_fs_get_source(swap));
	}
	return ret;
}

static void describe_holder(char *text, size_t size, const char *name)
{
	char uuid[CHARIO_SYS_TEXT], label[CHARIO_SYS_TEXT];

	chario_sys_copy(text, size, name);
	if (chario_sys_read(uuid, sizeof(uuid), "/sys/class/block/%s/dm/uuid", name) ||
	    chario_sys_read(label, sizeof(label), "/sys/class/block/%s/dm/name", name))
		return;
	/* The device mapper's users sign with "LVM-", "CRYPT-", "mpath-". */
	uuid[strcspn(uuid, "-")] = '\0';
	snprintf(text, size, "%s (%s %s)", name, *uuid ? uuid : "dm", label);
}

static int check_holders(struct walk *walk)
{
	char text[CHARIO_SYS_TEXT * 3];
	int ret = 0;

	for (int i = 0; i < walk->stack.nr_devices && !ret; i++) {
		const struct chario_stack_device *device = &walk->stack.devices[i];
		bool loop = !strncmp(device->name, "loop", 4);

		if (!device->below[0])
			continue;
		describe_holder(text, sizeof(text), device->name);
		ret = tell(walk, loop ? CHARIO_USE_LOOP : CHARIO_USE_HOLDER, device->below, text);
	}
	return ret;
}

static int check_namespace(struct walk *walk, const char *nqn, const char *number)
{
	const struct chario_stack_device *device;
	unsigned long long enabled;
	char path[CHARIO_SYS_TEXT];

	if (chario_sys_read_number(&enabled, SUBSYSTEMS "/%s/namespaces/%s/enable", nqn, number) ||
	    !enabled ||
	    chario_sys_read(path, sizeof(path), SUBSYSTEMS "/%s/namespaces/%s/device_path", nqn,
			    number))
		return 0;
	device = chario_stack_find_path(&walk->stack, path);
	return device ? tell(walk, CHARIO_USE_EXPORT, device->name, nqn) : 0;
}

/* Linux's NVMe target has a device open without a process, and not exclusively. */
static int check_exports(struct walk *walk)
{
	int ret = 0;
	CHARIO_NAMES(nqns);

	chario_sys_names(&nqns, SUBSYSTEMS);
	for (int i = 0; i < nqns.count && !ret; i++) {
		const char *nqn = nqns.entries[i]->d_name;
		CHARIO_NAMES(numbers);

		chario_sys_names(&numbers, SUBSYSTEMS "/%s/namespaces", nqn);
		for (int k = 0; k < numbers.count && !ret; k++)
			ret = check_namespace(walk, nqn, numbers.entries[k]->d_name);
	}
	return ret;
}

/*
 * Returns the name of the device that a descriptor leads to, or NULL.  A confined file has no
 * path: the module gives it the name of the node that it is a part of.
 */
static const char *name_of(char path[PATH_MAX])
{
	char *end = strstr(path, " (deleted)");

	if (!strncmp(path, "/dev/", 5))
		return path + 5;
	if (!end || strncmp(path, "/chardisk", strlen("/chardisk")) != 0)
		return NULL;
	*end = '\0';
	return path + 1;
}

/* Returns the device of the drive that a descriptor of a process has open, or NULL. */
static const struct chario_stack_device *opened(const struct walk *walk, const char *pid,
						const char *fd)
{
	const struct chario_stack_device *found;
	char path[PATH_MAX];
	const char *name;

	if (chario_sys_read_link(path, sizeof(path), "/proc/%s/fd/%s", pid, fd))
		return NULL;
	name = name_of(path);
	if (!name)
		return NULL;
	found = chario_stack_find(&walk->stack, name);
	/* A device that stands on the drive is told as a holder, whoever has it open. */
	return found && !found->below[0] ? found : NULL;
}

static int check_process(struct walk *walk, const char *pid)
{
	const struct chario_stack_device *device = NULL;
	char command[32], text[64];
	CHARIO_NAMES(fds);
	int err = chario_sys_names(&fds, "/proc/%s/fd", pid);

	/* A process that has ended is no use; the process of another user may be one. */
	if (err == -EACCES || err == -EPERM)
		return -EACCES;
	for (int i = 0; i < fds.count && !device; i++)
		device = opened(walk, pid, fds.entries[i]->d_name);
	if (!device)
		return 0;
	if (chario_sys_read(command, sizeof(command), "/proc/%s/comm", pid))
		command[0] = '\0';
	snprintf(text, sizeof(text), "%.20s (%s)", pid, command);
	return tell(walk, CHARIO_USE_PROCESS, device->name, text);
}

static int check_processes(struct walk *walk)
{
	int ret = 0, nr_hidden = 0;
	CHARIO_NAMES(pids);

	chario_sys_names(&pids, "/proc");
	for (int i = 0; i < pids.count && !ret; i++) {
		const char *pid = pids.entries[i]->d_name;

		if (strspn(pid, "0123456789") != strlen(pid) || atol(pid) == (long)getpid())
			continue;
		ret = check_process(walk, pid);
		if (ret == -EACCES) {
			nr_hidden++;
			ret = 0;
		}
	}
	if (!ret && nr_hidden)
		ret = tell_unknown(walk, "", "see the open files of other users", -EACCES);
	return ret;
}

/* Open each namespace exclusively: this last check tells that there is a use, but not which. */
static int check_exclusive(struct walk *walk)
{
	char path[PATH_MAX];
	int ret = 0;

	for (int i = 0; i < walk->stack.nr_devices && !ret; i++) {
		const struct chario_stack_device *device = &walk->stack.devices[i];
		int fd;

		if (!device->whole)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", device->name);
		fd = chario_sys.open(path, O_RDONLY | O_EXCL | O_NONBLOCK);
		if (fd >= 0)
			close(fd);
		else if (fd == -EBUSY)
			ret = tell(walk, CHARIO_USE_EXCLUSIVE, device->name, "");
		else
			ret = tell_unknown(walk, device->name, "open it", fd);
	}
	return ret;
}

static int check_all(struct walk *walk)
{
	int ret = check_mounts(walk, true);

	if (!ret)
		ret = check_mounts(walk, false);
	if (!ret)
		ret = check_swaps(walk);
	if (!ret)
		ret = check_holders(walk);
	if (!ret)
		ret = check_exports(walk);
	if (!ret)
		ret = check_processes(walk);
	if (!ret && !walk->nr_uses)
		ret = check_exclusive(walk);
	return ret;
}

/* A line that libmount cannot read may be a use, so it must not be skipped. */
static int refuse_line(struct libmnt_table *table, const char *path, int line)
{
	(void)table;
	(void)path;
	(void)line;
	return -EPROTO;
}

static int read_table(struct libmnt_table *table, const char *path)
{
	FILE *file = chario_sys_fopen("%s", path);
	int err;

	if (!file)
		return -errno;
	mnt_table_set_parser_errcb(table, refuse_line);
	err = mnt_table_parse_stream(table, file, path);
	fclose(file);
	return err;
}

static int read_tables(struct walk *walk)
{
	int err = read_table(walk->mounts, "/proc/self/mountinfo");
	int ret = err ? tell_unknown(walk, "", "read /proc/self/mountinfo", err) : 0;

	if (ret)
		return ret;
	err = read_table(walk->swaps, "/proc/swaps");
	/* A kernel without swap has no such file. */
	return err && err != -ENOENT ? tell_unknown(walk, "", "read /proc/swaps", err) : 0;
}

int chario_use_each(const struct chario_drive *drive, chario_use_visit *visit, void *data)
{
	struct walk walk = {
		.mounts = mnt_new_table(),
		.swaps = mnt_new_table(),
		.each = mnt_new_iter(MNT_ITER_FORWARD),
		.above = mnt_new_iter(MNT_ITER_FORWARD),
		.visit = visit,
		.data = data,
	};
	int ret = chario_stack_init(&walk.stack, drive);

	if (!walk.mounts || !walk.swaps || !walk.each || !walk.above)
		ret = -ENOMEM;
	if (!ret)
		ret = read_tables(&walk);
	if (!ret)
		ret = check_all(&walk);
	chario_stack_deinit(&walk.stack);
	mnt_free_iter(walk.above);
	mnt_free_iter(walk.each);
	mnt_unref_table(walk.swaps);
	mnt_unref_table(walk.mounts);
	return ret;
}

const char *chario_use_text(enum chario_use_kind kind)
{
	static const char *const texts[] = {
		[CHARIO_USE_ROOT] = "holds the root file system,",
		[CHARIO_USE_MOUNT] = "is mounted at",
		[CHARIO_USE_SWAP] = "is swap space,",
		[CHARIO_USE_HOLDER] = "is below",
		[CHARIO_USE_LOOP] = "is below loop device",
		[CHARIO_USE_PROCESS] = "is open in process",
		[CHARIO_USE_EXCLUSIVE] =
			"is in exclusive use, perhaps mounted in another mount namespace",
		[CHARIO_USE_UNKNOWN] = "may be in use:",
		[CHARIO_USE_EXPORT] = "is exported to other machines as",
	};

	return (size_t)kind < sizeof(texts) / sizeof(texts[0]) ? texts[kind] : "is in use:";
}
