// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * A character disk that is open: the ioctls of <chario/uapi.h>.
 */
#include <chario/device.h>

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"
#include "sys.h"

/* The first version of each struct; smaller ones have never been. */
#define INFO_MIN    208
#define STATS_MIN   120
#define OPTIONS_MIN 24
#define QUEUE_MIN   32

struct chario_device {
	int fd;
	char path[];
};

/* Every struct of the ABI begins with its size. */
static int get(int fd, unsigned long request, void *argument, size_t size, size_t smallest)
{
	uint32_t size_word = (uint32_t)size;
	int ret;

	if (size < smallest || size > UINT32_MAX)
		return -EINVAL;
	memset(argument, 0, size);
	memcpy(argument, &size_word, sizeof(size_word));
	ret = chario_sys.ioctl(fd, request, argument);
	return ret < 0 ? ret : 0;
}

/* Another device may know the number of our ioctl and mean something else. */
static int check_is_ours(int fd)
{
	struct chario_info info;
	int err = get(fd, CHARIO_IOC_INFO, &info, sizeof(info), INFO_MIN);

	if (err == -EINVAL)
		return -ENOTTY;
	if (err)
		return err;
	return info.abi_version < 1 || info.size < INFO_MIN ? -EPROTO : 0;
}

int chario_device_open(const char *name, int flags, struct chario_device **device)
{
	struct chario_device *opened;
	char path[PATH_MAX];
	int err = chario_disk_path(path, name);

	if (err)
		return err;
	opened = malloc(sizeof(*opened) + strlen(path) + 1);
	if (!opened)
		return -ENOMEM;
	strcpy(opened->path, path);

	opened->fd = chario_sys.open(path, flags);
	if (opened->fd < 0) {
		err = opened->fd;
		goto err_free;
	}
	err = check_is_ours(opened->fd);
	if (err)
		goto err_close;
	*device = opened;
	return 0;

err_close:
	close(opened->fd);
err_free:
	free(opened);
	/* A disk that was never there and one that has gone are the same to callers. */
	return err == -ENOENT || err == -ENXIO ? -ENODEV : err;
}

void chario_device_close(struct chario_device *device)
{
	if (!device)
		return;
	close(device->fd);
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

int chario_device_get_info(const struct chario_device *device, struct chario_info *info,
			   size_t size)
{
	return get(device->fd, CHARIO_IOC_INFO, info, size, INFO_MIN);
}

int chario_device_get_stats(const struct chario_device *device, struct chario_stats *stats,
			    size_t size)
{
	return get(device->fd, CHARIO_IOC_STATS, stats, size, STATS_MIN);
}

int chario_device_get_options(const struct chario_device *device,
			      struct chario_file_options *options, size_t size)
{
	return get(device->fd, CHARIO_IOC_GET_FILE, options, size, OPTIONS_MIN);
}

int chario_device_set_options(const struct chario_device *device,
			      const struct chario_file_options *options, size_t size)
{
	struct chario_file_options *copy;
	int ret;

	if (size < OPTIONS_MIN || size > UINT32_MAX)
		return -EINVAL;
	/* The caller may come from a later version and know a longer struct. */
	copy = malloc(size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, options, size);
	copy->size = (uint32_t)size;
	ret = chario_sys.ioctl(device->fd, CHARIO_IOC_SET_FILE, copy);
	free(copy);
	return ret < 0 ? ret : 0;
}

int chario_device_take_queue(const struct chario_device *device, struct chario_queue_create *queue,
			     size_t size)
{
	int ret;

	if (size < QUEUE_MIN || size > UINT32_MAX)
		return -EINVAL;
	queue->size = (uint32_t)size;
	ret = chario_sys.ioctl(device->fd, CHARIO_IOC_QUEUE_CREATE, queue);
	return ret < 0 ? ret : 0;
}
