// SPDX-License-Identifier: MIT
/*
 * The tree of a fake machine.  See fake.h.
 */
#include "fake.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char root[PATH_MAX / 2];

static void must(bool good, const char *path)
{
	if (!good) {
		fprintf(stderr, "fake machine: %s: %s\n", path, strerror(errno));
		abort();
	}
}

static void make_folders(char *path)
{
	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		must(!mkdir(path, 0755) || errno == EEXIST, path);
		*slash = '/';
	}
}

static void build_path(char path[PATH_MAX], const char *format, va_list args)
{
	int length = snprintf(path, PATH_MAX, "%s", root);

	vsnprintf(path + length, PATH_MAX - (size_t)length, format, args);
}

#define BUILD_PATH(path, format)                 \
	do {                                     \
		va_list args_;                   \
		va_start(args_, format);         \
		build_path(path, format, args_); \
		va_end(args_);                   \
	} while (0)

static void put(const char *path, const char *mode, const char *text)
{
	FILE *file = fopen(path, mode);

	must(file, path);
	must(fputs(text, file) >= 0 && !fclose(file), path);
}

void fake_file(const char *text, const char *format, ...)
{
	char path[PATH_MAX];

	BUILD_PATH(path, format);
	make_folders(path);
	put(path, "w", text);
}

void fake_append(const char *text, const char *format, ...)
{
	char path[PATH_MAX];

	BUILD_PATH(path, format);
	make_folders(path);
	put(path, "a", text);
}

void fake_link(const char *target, const char *format, ...)
{
	char path[PATH_MAX], whole[PATH_MAX];

	BUILD_PATH(path, format);
	make_folders(path);
	/* Links of the machine are absolute and lead into its tree. */
	snprintf(whole, sizeof(whole), "%s%s", root, target);
	must(!symlink(whole, path), path);
}

void fake_remove(const char *format, ...)
{
	char path[PATH_MAX];

	BUILD_PATH(path, format);
	must(!remove(path), path);
}

bool fake_exists(const char *format, ...)
{
	char path[PATH_MAX];

	BUILD_PATH(path, format);
	return !access(path, F_OK);
}

const char *fake_read(const char *format, ...)
{
	static char line[512];
	char path[PATH_MAX];
	FILE *file;

	BUILD_PATH(path, format);
	file = fopen(path, "r");
	line[0] = '\0';
	if (!file)
		return line;
	if (fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	fclose(file);
	return line;
}

const char *fake_target(const char *format, ...)
{
	static char target[PATH_MAX];
	char path[PATH_MAX];
	ssize_t length;

	BUILD_PATH(path, format);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < 0)
		return "";
	target[length] = '\0';
	return strrchr(target, '/') + 1;
}

void fake_join(const char *machine)
{
	snprintf(root, sizeof(root), "%s", machine);
	fake_install(root);
}

static void make_driver(const char *name)
{
	fake_file("", "/sys/bus/pci/drivers/%s/bind", name);
	fake_file("", "/sys/bus/pci/drivers/%s/unbind", name);
}

void fake_begin(void)
{
	const char *folder = getenv("TMPDIR");
	char name[PATH_MAX / 2];

	snprintf(name, sizeof(name), "%s/chario-XXXXXX", folder ? folder : "/tmp");
	must(mkdtemp(name), name);
	/* A link on the way would lead the library out of the tree. */
	must(realpath(name, root), name);
	setenv("CHARIO_FAKE_ROOT", root, 1);

	make_driver("nvme");
	make_driver("chario");
	fake_file("", "/sys/bus/pci/drivers_probe");
	fake_file("0.1.0\n", "/sys/module/chario/version");
	fake_file("", "/proc/self/mountinfo");
	fake_file("Filename\tType\tSize\tUsed\tPriority\n", "/proc/swaps");
	fake_file("", "/run/.keep");
	fake_file("", "/sys/bus/pci/devices/.keep");
	fake_file("", "/sys/class/chario/.keep");
	fake_file("", "/dev/null");
	fake_install(root);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	return remove(path);
}

void fake_end(void)
{
	must(!nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS), root);
}

void fake_pci(const char *address, const char *class)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s", address);
	fake_file(class, "%s/class", folder);
	fake_file("(null)\n", "%s/driver_override", folder);
	fake_link(folder, "/sys/bus/pci/devices/%s", address);
}

void fake_drive(const char *address, const char *controller)
{
	char folder[128];

	fake_pci(address, "0x010802\n");
	fake_link("/sys/bus/pci/drivers/nvme", "/sys/devices/pci0000:00/%s/driver", address);
	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s/nvme/%s", address, controller);
	fake_file("SN-1   \n", "%s/serial", folder);
	fake_file("Model of a drive \n", "%s/model", folder);
	fake_link(folder, "/sys/class/nvme/%s", controller);
}

static void make_block(const char *folder, const char *name, const char *number)
{
	char line[64];

	snprintf(line, sizeof(line), "%s\n", number);
	fake_file(line, "%s/dev", folder);
	fake_file("", "%s/holders/.keep", folder);
	fake_link(folder, "/sys/class/block/%s", name);
	fake_file("", "/dev/%s", name);
}

void fake_namespace(const char *address, const char *controller, const char *name,
		    const char *number)
{
	char folder[256];

	snprintf(folder, sizeof(folder), "/sys/devices/pci0000:00/%s/nvme/%s/%s", address,
		 controller, name);
	make_block(folder, name, number);
}

void fake_partition(const char *disk, const char *name, const char *number)
{
	char link[PATH_MAX], target[PATH_MAX], folder[2 * PATH_MAX];

	snprintf(link, sizeof(link), "%s/sys/class/block/%s", root, disk);
	must(realpath(link, target), link);
	snprintf(folder, sizeof(folder), "%s/%s", target + strlen(root), name);
	make_block(folder, name, number);
	fake_file("1\n", "%s/partition", folder);
}

void fake_holder(const char *below, const char *name, const char *number)
{
	char folder[128];

	snprintf(folder, sizeof(folder), "/sys/devices/virtual/block/%s", name);
	if (!fake_exists("%s", folder))
		make_block(folder, name, number);
	fake_link(folder, "/sys/class/block/%s/holders/%s", below, name);
}

void fake_usual_drive(void)
{
	fake_drive(FAKE_ADDRESS, "nvme0");
	fake_namespace(FAKE_ADDRESS, "nvme0", "nvme0n1", "259:0");
	fake_partition("nvme0n1", "nvme0n1p1", "259:1");
	fake_partition("nvme0n1", "nvme0n1p2", "259:2");
}

void fake_begin_usual(void)
{
	fake_begin();
	fake_usual_drive();
}

void fake_process(const char *pid, const char *command, const char *opened)
{
	char line[64], path[PATH_MAX];

	snprintf(line, sizeof(line), "%s\n", command);
	fake_file(line, "/proc/%s/comm", pid);
	fake_file("", "/proc/%s/fd/.keep", pid);
	/* procfs shows paths as the process sees them, without the root. */
	snprintf(path, sizeof(path), "%s/proc/%s/fd/3", root, pid);
	must(!symlink(opened, path), path);
}

void fake_mount(const char *number, const char *point, const char *type, const char *source,
		const char *options)
{
	char line[1024];

	snprintf(line, sizeof(line), "36 35 %s / %s rw,noatime shared:1 master:2 - %s %s %s\n",
		 number, point, type, source, options);
	fake_append(line, "/proc/self/mountinfo");
}

void fake_busy(const char *device)
{
	fake_file("", "/fake/busy/%s", device);
}

void fake_busy_after_look(const char *device)
{
	fake_file("", "/fake/busy-after-look/%s", device);
}

void fake_fail_write(const char *part_of_path, int error)
{
	char line[PATH_MAX];

	snprintf(line, sizeof(line), "%d %s\n", error, part_of_path);
	fake_file(line, "/fake/fail-write");
}

void fake_module_is_not_installed(void)
{
	fake_remove("/sys/module/chario/version");
	fake_remove("/sys/bus/pci/drivers/chario/bind");
	fake_remove("/sys/bus/pci/drivers/chario/unbind");
	fake_remove("/sys/module/chario");
	fake_remove("/sys/bus/pci/drivers/chario");
	fake_file("", "/fake/no-module");
}

void fake_disks_do_not_appear(void)
{
	fake_file("", "/fake/no-disks");
}

void fake_udev_opens(const char *device)
{
	fake_process(FAKE_UDEV, "(udev-worker)", device);
	fake_file("", "/run/udev/queue");
}

void fake_health(unsigned int status, unsigned int reasons, unsigned int kelvin,
		 unsigned int events)
{
	char text[64];

	snprintf(text, sizeof(text), "%u %x %u %u\n", status, reasons, kelvin, events);
	fake_file(text, "/fake/health");
}

void fake_event_comes(void)
{
	fake_file("", "/fake/event");
}

int fake_run(char *output, size_t size, const char *format, ...)
{
	char command[PATH_MAX];
	va_list args;
	size_t length;
	int status;
	FILE *pipe;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	pipe = popen(command, "r");
	must(pipe, command);
	length = fread(output, 1, size - 1, pipe);
	output[length] = '\0';
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
