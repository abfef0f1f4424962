// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* An open device of any kind: see device/ops.h. */
#include <chario/device.h>
#include <chario/region.h>

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/ops.h"
#include "machine/disk.h"
#include "system/scope.h"
#include "system/sys.h"

/* Sizes in bytes of the first version of each struct. */
#define STATS_MIN   120
#define OPTIONS_MIN 24
#define QUEUE_MIN   32

/* Flags that would create or empty a file, or write to another place than the caller said. */
#define FLAGS_THAT_CHANGE (O_CREAT | O_TRUNC | O_APPEND | O_PATH)

struct chario_device *chario_device_make(const struct chario_device_ops *ops, void *data,
					 const char *path)
{
	struct chario_device *device = malloc(sizeof(*device) + strlen(path) + 1);
	struct chario_memory *memory = device ? chario_memory_alloc() : NULL;

	if (!memory) {
		free(device);
		return NULL;
	}
	device->memory = memory;
	device->ops = ops;
	device->data = data;
	device->fd = -1;
	strcpy(device->path, path);
	return device;
}

/*
 * Find the descriptor that a path such as /dev/fd/3 stands for.  To open that path would open
 * the file's node anew, which a process need not have the right to, and which a confined file has
 * not.  Returns -1 for another path.
 */
static int descriptor_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *digits = path + strlen(folders[i]);

		if (strncmp(path, folders[i], strlen(folders[i])) != 0)
			continue;
		if (*digits && strlen(digits) < 7 && strspn(digits, "0123456789") == strlen(digits))
			return atoi(digits);
	}
	return -1;
}

/* Get another descriptor of a disk that is open.  Returns -ENOTTY if it is no disk. */
static int open_again(int fd, const char *path, int flags, struct chario_device **device)
{
	int copy, err, had = fcntl(fd, F_GETFL);
	int wanted = flags & O_ACCMODE;

	if (had < 0)
		return -errno;
	had &= O_ACCMODE;
	if (had != O_RDWR && had != wanted)
		return -EACCES;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	err = chario_device_make_char(copy, path, device);
	if (err)
		close(copy);
	return err;
}

int chario_device_open(const char *name, int flags, struct chario_device **device)
{
	char path[PATH_MAX];
	int fd = descriptor_of(name), err;

	if (fd >= 0)
		return open_again(fd, name, flags, device);
	err = chario_disk_path(path, name);
	if (!err)
		err = chario_disk_check_node(path);
	if (err)
		return err == -ENOENT ? -ENODEV : err;
	fd = chario_sys.open(path, flags);
	err = fd < 0 ? fd : chario_device_make_char(fd, path, device);
	if (err)
		chario_scope_close(&fd);
	/* Callers cannot tell a disk that was never there from one that is gone. */
	return err == -ENOENT || err == -ENXIO ? -ENODEV : err;
}

/* Opening a file of another type may block for ever or have side effects. */
static bool is_possible(mode_t mode)
{
	return S_ISREG(mode) || S_ISBLK(mode) || S_ISCHR(mode);
}

/*
 * Open a file for direct I/O if it can: written data then go to the device at once, and
 * data that are read once do not fill the page cache.  Only open(2) knows if the file can;
 * for stacked file systems fcntl(2) asks the upper one only.
 */
static int open_directly(const char *path, int flags)
{
	int fd = chario_sys.open(path, flags | O_DIRECT);

	return fd == -EINVAL && !(flags & O_DIRECT) ? chario_sys.open(path, flags) : fd;
}

static int make_any(int fd, const char *path, struct chario_device **device)
{
	int err = chario_device_make_char(fd, path, device);

	return err == -ENOTTY ? chario_device_make_file(fd, path, device) : err;
}

static int open_any(const char *path, int flags, struct chario_device **device)
{
	struct stat status;
	int fd, err = chario_disk_check_node(path);

	if (!err)
		err = chario_sys_stat(&status, path);
	if (err)
		return err;
	if (!is_possible(status.st_mode))
		return -ENOTTY;
	fd = S_ISCHR(status.st_mode) ? chario_sys.open(path, flags) : open_directly(path, flags);
	if (fd < 0)
		return fd;
	err = make_any(fd, path, device);
	if (err)
		close(fd);
	return err;
}

int chario_device_open_any(const char *name, int flags, struct chario_device **device)
{
	char path[PATH_MAX];
	int fd = descriptor_of(name), err;

	if (flags & FLAGS_THAT_CHANGE)
		return -EINVAL;
	if (fd >= 0) {
		err = open_again(fd, name, flags, device);
		if (err != -ENOTTY)
			return err;
	}
	err = chario_disk_path(path, name);
	if (err == -ENODEV)
		strcpy(path, name);
	else if (err)
		return err;
	err = open_any(path, flags, device);
	return err == -ENXIO ? -ENODEV : err;
}

void chario_device_close(struct chario_device *device)
{
	if (!device)
		return;
	if (device->ops->close)
		device->ops->close(device);
	chario_scope_close(&device->fd);
	chario_memory_destroy(device->memory);
	free(device);
}

int chario_device_fd(const struct chario_device *device)
{
	return device->fd;
}

const char *chario_device_path(const struct chario_device *device)
{
	return device->path;
}

int chario_device_ioctl(const struct chario_device *device, unsigned long request, void *argument)
{
	return device->fd < 0 ? -ENOTTY : chario_sys.ioctl(device->fd, request, argument);
}

int chario_device_confine(const struct chario_device *device, uint64_t offset, uint64_t bytes,
			  uint32_t flags, struct chario_device **confined)
{
	struct chario_confine range = {
		.size = sizeof(range), .flags = flags, .offset = offset, .bytes = bytes
	};
	int err, fd = chario_device_ioctl(device, CHARIO_IOC_CONFINE, &range);
	char path[32];

	if (fd < 0)
		return fd;
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	err = chario_device_make_char(fd, path, confined);
	if (err)
		close(fd);
	return err;
}

int chario_regions_set(const struct chario_device *device, const struct chario_region *regions,
		       uint32_t count)
{
	struct chario_regions args = { .size = sizeof(args),
				       .count = count,
				       .address = (uintptr_t)regions };

	return chario_device_ioctl(device, CHARIO_IOC_SET_REGIONS, &args);
}

int chario_device_get_info(const struct chario_device *device, struct chario_info *info,
			   size_t size)
{
	if (size < CHARIO_INFO_MIN || size > UINT32_MAX)
		return -EINVAL;
	return device->ops->get_info(device, info, size);
}

int chario_device_settle(const struct chario_device *device, uint64_t offset, uint64_t bytes,
			 uint64_t deadline_ns)
{
	return device->ops->settle ? device->ops->settle(device, offset, bytes, deadline_ns) : 0;
}

/* Perform an ioctl with a struct that begins with its size. */
static int ask(const struct chario_device *device, unsigned long request, void *argument,
	       size_t size)
{
	uint32_t size_word = (uint32_t)size;

	memcpy(argument, &size_word, sizeof(size_word));
	return chario_device_ioctl(device, request, argument);
}

int chario_device_get(const struct chario_device *device, unsigned long request, void *argument,
		      size_t size, size_t first_bytes)
{
	int ret;

	if (size < first_bytes || size > UINT32_MAX)
		return -EINVAL;
	memset(argument, 0, size);
	ret = ask(device, request, argument, size);
	return ret < 0 ? ret : 0;
}

int chario_device_set(const struct chario_device *device, unsigned long request,
		      const void *argument, size_t size, size_t first_bytes)
{
	void *copy CHARIO_SCOPED(chario_scope_free) = NULL;

	if (size < first_bytes || size > UINT32_MAX)
		return -EINVAL;
	/* The caller may come from a later version and know a longer struct. */
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, argument, size);
	return ask(device, request, copy, size);
}

int chario_device_get_stats(const struct chario_device *device, struct chario_stats *stats,
			    size_t size)
{
	return chario_device_get(device, CHARIO_IOC_STATS, stats, size, STATS_MIN);
}

int chario_device_get_options(const struct chario_device *device,
			      struct chario_file_options *options, size_t size)
{
	return chario_device_get(device, CHARIO_IOC_GET_FILE, options, size, OPTIONS_MIN);
}

int chario_device_set_options(const struct chario_device *device,
			      const struct chario_file_options *options, size_t size)
{
	int ret = chario_device_set(device, CHARIO_IOC_SET_FILE, options, size, OPTIONS_MIN);

	return ret < 0 ? ret : 0;
}

int chario_device_set_urgent(const struct chario_device *device, int urgent)
{
	struct chario_file_options options;
	int err = chario_device_get_options(device, &options, sizeof(options));

	if (err)
		return err;
	options.flags &= ~CHARIO_FILE_URGENT;
	if (urgent)
		options.flags |= CHARIO_FILE_URGENT;
	return chario_device_set_options(device, &options, sizeof(options));
}

int chario_device_take_queue(const struct chario_device *device, struct chario_queue_create *queue,
			     size_t size)
{
	int ret;

	if (size < QUEUE_MIN || size > UINT32_MAX)
		return -EINVAL;
	queue->size = (uint32_t)size;
	ret = chario_device_ioctl(device, CHARIO_IOC_QUEUE_CREATE, queue);
	return ret < 0 ? ret : 0;
}
