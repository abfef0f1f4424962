// SPDX-License-Identifier: MIT
/*
 * The kernel of a fake machine: what its PCI bus, its drivers and its disks do
 * when the library writes to sysfs, opens a device or asks by ioctl.
 *
 * Below /fake the tree says what is to go wrong:
 *
 *	busy/NAME    an exclusive open of /dev/NAME gives EBUSY
 *	busy-after-look/NAME    the same, but not for the first of them
 *	fail-write   "ERRNO PART": a write to a path that holds PART fails, once
 *	no-module    the module chario is not installed
 *	no-disks     the driver chario binds and makes no disk
 *	health       "STATUS REASONS KELVIN EVENTS": how the drive is
 *	event        the drive tells of an event as soon as someone waits for it
 *	timeline     the memory of a timeline, made by a test
 *	recorded     somebody has the timeline
 */
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chario/device.h>

#include "system/sys.h"

static const char *rootless(const char *path)
{
	return path + strlen(chario_sys.root);
}

static int fake_open(const char *path, int flags)
{
	const char *name = path + strlen("/dev/");
	char whole[PATH_MAX];
	int fd;

	/* A file in the folder of the caller is not the machine's. */
	snprintf(whole, sizeof(whole), "%s%s", *path == '/' ? chario_sys.root : "", path);
	if (flags & O_EXCL) {
		if (fake_exists("/fake/busy/%s", name))
			return -EBUSY;
		if (fake_exists("/fake/busy-after-look/%s", name))
			fake_busy(name);
	}
	fd = open(whole, (flags & ~O_EXCL) | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void make_disk(const char *address)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s/chario/chardisk0", address);
	fake_file("nvme\n", "%s/backend", folder);
	fake_file("live\n", "%s/state", folder);
	fake_file("SN-1\n", "%s/serial", folder);
	fake_file("Model of a drive\n", "%s/model", folder);
	fake_file("1.0\n", "%s/firmware", folder);
	fake_file("1\n", "%s/nsid", folder);
	fake_file("1073741824\n", "%s/size", folder);
	fake_file("512\n", "%s/logical_block_size", folder);
	fake_file("2\n", "%s/queue_count", folder);
	fake_file("ok\n", "%s/health/status", folder);
	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s", address);
	fake_link(folder, "%s/chario/chardisk0/device", folder);
	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s/chario/chardisk0", address);
	fake_link(folder, "/sys/class/chario/chardisk0");
	fake_file("", "/dev/chardisk0");
}

/* What a driver makes of a device stands in a folder of the device. */
static int show_children(const char *address, const char *driver, bool show)
{
	char shown[PATH_MAX], hidden[PATH_MAX];

	if (!strcmp(driver, "chario") && show) {
		if (!fake_exists("/fake/no-disks"))
			make_disk(address);
	} else if (!strcmp(driver, "chario") && fake_exists("/dev/chardisk0")) {
		fake_remove("/dev/chardisk0");
		fake_remove("/sys/class/chario/chardisk0");
	} else if (!strcmp(driver, "nvme")) {
		snprintf(shown, sizeof(shown), "%s/sys/devices/pci0000:00/%s/nvme", chario_sys.root,
			 address);
		snprintf(hidden, sizeof(hidden), "%s/sys/devices/pci0000:00/%s/.nvme",
			 chario_sys.root, address);
		return rename(show ? hidden : shown, show ? shown : hidden);
	}
	return 0;
}

static int release(const char *driver, const char *address)
{
	if (strcmp(fake_target("/sys/devices/pci0000:00/%s/driver", address), driver))
		return -ENODEV;
	fake_remove("/sys/devices/pci0000:00/%s/driver", address);
	return show_children(address, driver, false);
}

static int attach(const char *driver, const char *address)
{
	const char *override = fake_read("/sys/devices/pci0000:00/%s/driver_override", address);
	bool wanted = strcmp(override, "(null)") ? !strcmp(override, driver) :
						   !strcmp(driver, "nvme");
	char folder[128];

	if (!wanted || fake_exists("/sys/devices/pci0000:00/%s/driver", address))
		return -ENODEV;
	snprintf(folder, sizeof(folder), "/sys/bus/pci/drivers/%s", driver);
	fake_link(folder, "/sys/devices/pci0000:00/%s/driver", address);
	return show_children(address, driver, true);
}

static int set_override(const char *path, const char *text)
{
	fake_file(strcmp(text, "\n") ? text : "(null)\n", "%s", path);
	return 0;
}

static int injected_failure(const char *path)
{
	char part[512];
	int error;

	if (sscanf(fake_read("/fake/fail-write"), "%d %511s", &error, part) != 2 ||
	    !strstr(path, part))
		return 0;
	fake_remove("/fake/fail-write");
	return -error;
}

static int fake_write(const char *whole, const char *text)
{
	const char *path = rootless(whole), *end = strrchr(path, '/');
	char driver[64];
	int err = injected_failure(path);

	if (err)
		return err;
	if (access(whole, F_OK))
		return -ENOENT;
	if (!strcmp(end, "/driver_override"))
		return set_override(path, text);
	if (!strcmp(path, "/sys/bus/pci/drivers_probe")) {
		/* That no driver wants the device is no error here. */
		attach("nvme", text);
		return 0;
	}
	if (sscanf(path, "/sys/bus/pci/drivers/%63[^/]", driver) != 1)
		return -EACCES;
	return strcmp(end, "/bind") ? release(driver, text) : attach(driver, text);
}

static int fake_load_module(const char *name)
{
	if (fake_exists("/fake/no-module"))
		return -ENOENT;
	fake_file("0.1.0\n", "/sys/module/%s/version", name);
	fake_file("", "/sys/bus/pci/drivers/%s/bind", name);
	fake_file("", "/sys/bus/pci/drivers/%s/unbind", name);
	return 0;
}

static void fake_sleep_ms(unsigned int milliseconds)
{
	if (!fake_exists("/proc/" FAKE_UDEV))
		return;
	fake_remove("/proc/" FAKE_UDEV "/fd/3");
	if (fake_exists("/run/udev/queue"))
		fake_remove("/run/udev/queue");
}

static const struct chario_info info = {
	.size = sizeof(info),
	.abi_version = CHARIO_ABI_VERSION,
	.features = CHARIO_FEATURE_FUA,
	.capacity_bytes = 1 << 30,
	.logical_block_bytes = 512,
	.physical_block_bytes = 4096,
	.dma_alignment_bytes = 4,
	.command_bytes = 128 << 10,
	.max_command_bytes = 512 << 10,
	.command_limit = CHARIO_COMMAND_LIMIT_DRIVE,
	.chunk_bytes = 4 << 20,
	.boundary_bytes = 0,
	.nr_queues = 2,
	.queue_depth = 64,
	.completion = CHARIO_COMPLETION_IRQ,
	.deadline_ns = 10000000000,
	.recovery_bound_ns = 30000000000,
	.namespace_id = 1,
	.backend = "nvme",
	.serial = "SN-1",
	.model = "Model of a drive",
	.firmware = "1.0",
};

static const struct chario_stats stats = {
	.size = sizeof(stats),
	.read_commands = 11,
	.write_commands = 12,
	.late_reaps = 24,
};

/* Options live as long as the file; one open file is enough here. */
static struct chario_file_options options = { .size = sizeof(options) };

/* What this drive has to be asked, refuses, and does not have. */
static struct chario_pin pin = { .size = sizeof(pin) };

static void set_pin(__u32 wanted)
{
	pin.wanted = wanted;
	pin.absent = wanted & CHARIO_PIN_APST;
	pin.refused = wanted & CHARIO_PIN_VECTORS;
	pin.in_force = wanted & ~pin.refused;
	pin.status[3] = pin.refused ? 0x10e : 0;
}

static struct chario_health health = {
	.size = sizeof(health),
	.warning_temperature_k = 343,
	.critical_temperature_k = 373,
	.spare_percent = 100,
	.spare_threshold_percent = 10,
	.used_percent = 3,
	.unsafe_shutdowns = 2,
	.power_cycles = 7,
	.data_units_written = 2000,
	.error_log_entries = 4,
};

static void read_health(void)
{
	if (sscanf(fake_read("/fake/health"), "%u %x %u %u", &health.status, &health.reasons,
		   &health.temperature_k, &health.events) == 4)
		return;
	health.status = CHARIO_HEALTH_OK;
	health.reasons = 0;
	health.temperature_k = 323;
	health.events = 0;
}

/* The size rule of <chario/uapi.h>: fill in what both sides know. */
static int answer(void *argument, const void *known, size_t known_size, bool set)
{
	__u32 size = *(__u32 *)argument;

	if (size < known_size)
		return -EINVAL;
	for (size_t i = known_size; i < size; i++)
		if (((char *)argument)[i])
			return -E2BIG;
	if (set)
		memcpy((void *)known, argument, known_size);
	else
		memcpy(argument, known, known_size);
	return 0;
}

/* The descriptor of a timeline is that of the file that holds its memory. */
static int open_timeline(void)
{
	char whole[PATH_MAX];
	int fd;

	if (fake_exists("/fake/recorded"))
		return -EBUSY;
	snprintf(whole, sizeof(whole), "%s/fake/timeline", chario_sys.root);
	fd = open(whole, O_RDWR | O_CLOEXEC);
	return fd < 0 ? -EOPNOTSUPP : fd;
}

static int fake_ioctl(int fd, unsigned long request, void *argument)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return -errno;
	path[length] = '\0';
	if (request == CHARIO_IOC_TIMELINE_CONTROL && strstr(path, "/fake/timeline"))
		return 0;
	if (!strstr(path, "/dev/chardisk") || fake_exists("/fake/is_file"))
		return -ENOTTY;
	if (strstr(path, "(deleted)"))
		return -ENODEV;
	switch (request) {
	case CHARIO_IOC_INFO:
		return answer(argument, &info, sizeof(info), false);
	case CHARIO_IOC_STATS:
		return answer(argument, &stats, sizeof(stats), false);
	case CHARIO_IOC_SET_PIN:
		if (((struct chario_pin *)argument)->wanted & ~CHARIO_PIN_ALL)
			return -EINVAL;
		set_pin(((struct chario_pin *)argument)->wanted);
		return answer(argument, &pin, sizeof(pin), false);
	case CHARIO_IOC_GET_PIN:
		return answer(argument, &pin, sizeof(pin), false);
	case CHARIO_IOC_HEALTH:
		read_health();
		return answer(argument, &health, sizeof(health), false);
	case CHARIO_IOC_GET_FILE:
		return answer(argument, &options, sizeof(options), false);
	case CHARIO_IOC_TIMELINE_OPEN:
		return open_timeline();
	case CHARIO_IOC_SET_FILE:
		if (((struct chario_file_options *)argument)->completion == CHARIO_COMPLETION_POLL)
			return -EOPNOTSUPP;
		return answer(argument, &options, sizeof(options), true);
	}
	return -ENOTTY;
}

static int fake_poll(int fd, unsigned int timeout_ms)
{
	if (!fake_exists("/fake/event"))
		return 0;
	fake_remove("/fake/event");
	fake_health(CHARIO_HEALTH_CRITICAL, CHARIO_HEALTH_READ_ONLY, 323, 1);
	return 0;
}

/* A machine that forbids io_uring. */
static int fake_ring(unsigned int entries, struct io_uring *ring, struct io_uring_params *params)
{
	return -EPERM;
}

void fake_install(const char *root)
{
	chario_sys = (struct chario_sys){
		.root = root,
		.open = fake_open,
		.ioctl = fake_ioctl,
		.write = fake_write,
		.load_module = fake_load_module,
		.sleep_ms = fake_sleep_ms,
		.poll = fake_poll,
		.ring = fake_ring,
	};
}
