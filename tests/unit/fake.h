/* SPDX-License-Identifier: MIT */
/*
 * A fake machine: a tree of files in a temporary folder that stands for
 * /sys, /proc, /dev and /run, and a kernel that acts on it.
 *
 * The kernel (fake-kernel.c) keeps no state outside the tree, so that the
 * program chario, run as a process of its own, meets the same machine as the
 * test that built it.  The tree (fake-tree.c) is built by tests with the
 * functions below.
 */
#ifndef CHARIO_FAKE_H
#define CHARIO_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#define FAKE_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* The address that tests use when one drive will do. */
#define FAKE_ADDRESS "0000:01:00.0"

/* The number of the process that is udev. */
#define FAKE_UDEV "500"

/* fake-tree.c; a failure here ends the program. */

/* A machine with a PCI bus, the driver nvme and the module chario loaded. */
void fake_begin(void);
/* The machine that another process has begun. */
void fake_join(const char *machine);
void fake_end(void);

/* Files and links; folders above them are made. */
void fake_file(const char *text, const char *format, ...) FAKE_PRINTF(2, 3);
void fake_append(const char *text, const char *format, ...) FAKE_PRINTF(2, 3);
void fake_link(const char *target, const char *format, ...) FAKE_PRINTF(2, 3);
void fake_remove(const char *format, ...) FAKE_PRINTF(1, 2);
bool fake_exists(const char *format, ...) FAKE_PRINTF(1, 2);
/* First line of a file; "" when it is not there.  Valid until the next call. */
const char *fake_read(const char *format, ...) FAKE_PRINTF(1, 2);
/* Last part of what a link says; "" when it is not there. */
const char *fake_target(const char *format, ...) FAKE_PRINTF(1, 2);

/* A PCI device with a class and no driver. */
void fake_pci(const char *address, const char *class);
/* An NVMe drive "nvmeN" with the driver nvme and no namespace. */
void fake_drive(const char *address, const char *controller);
/* A block device in the folder of another: a namespace or a partition. */
void fake_namespace(const char *address, const char *controller, const char *name,
		    const char *number);
void fake_partition(const char *disk, const char *name, const char *number);
/* A block device that stands on another. */
void fake_holder(const char *below, const char *name, const char *number);
/* The usual drive: FAKE_ADDRESS, nvme0, nvme0n1 with partitions 1 and 2; alone, or with its machine. */
void fake_usual_drive(void);
void fake_begin_usual(void);
/* A process with one open file. */
void fake_process(const char *pid, const char *command, const char *opened);
/* A mount: "number point type source options". */
void fake_mount(const char *number, const char *point, const char *type, const char *source,
		const char *options);

/* What goes wrong: see fake-kernel.c. */
void fake_busy(const char *device);
/* Someone takes the device as soon as it has been looked at. */
void fake_busy_after_look(const char *device);
void fake_fail_write(const char *part_of_path, int error);
void fake_module_is_not_installed(void);
void fake_disks_do_not_appear(void);
/* udev has a device open until someone waits for it. */
void fake_udev_opens(const char *device);

/* How the drive is: CHARIO_HEALTH_*, reasons, temperature, events so far. */
void fake_health(unsigned int status, unsigned int reasons, unsigned int kelvin,
		 unsigned int events);
/* It tells of an event, it has become read-only, when someone waits for one. */
void fake_event_comes(void);

/* Run a shell command on the machine; output is stdout and stderr together. */
int fake_run(char *output, size_t size, const char *format, ...) FAKE_PRINTF(3, 4);

/* fake-kernel.c */

/* Put the kernel of the machine at @root behind the seam of the library. */
void fake_install(const char *root);

#endif /* CHARIO_FAKE_H */
