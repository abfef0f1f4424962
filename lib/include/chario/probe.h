/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A probe: the parts of CharIO that this machine has.
 *
 * The features of one disk are reported by that disk, see chario_device_get_info().
 */
#ifndef CHARIO_PROBE_H
#define CHARIO_PROBE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Feature bits of the library on this kernel. */
#define CHARIO_PROBE_URING         (1ULL << 0) /* queues are rings of io_uring */
#define CHARIO_PROBE_URING_COMMAND (1ULL << 1) /* disks take its commands */
#define CHARIO_PROBE_WRITE_TRACE   (1ULL << 2) /* the kernel tells which pages were written */

/**
 * struct chario_probe - the parts of CharIO that were found
 * @size: size of this struct as the library knows it
 * @library_abi_version: CHARIO_ABI_VERSION of the library
 * @module_loaded: 1 if the kernel module is loaded, else 0
 * @nr_disks: number of disks
 * @library_version: version of the library, ends with a NUL
 * @module_version: version of the module, ends with a NUL; empty when it is
 *	not loaded
 * @features: CHARIO_PROBE_* bits.  Where URING is not set, queues are threads.
 *	WRITE_TRACE is the ioctl PAGEMAP_SCAN together with UFFD_FEATURE_WP_ASYNC of
 *	userfaultfd(2), open to this process: CHARIO_TRACKING_WRITE_PROTECT of a view
 *	is possible
 *
 * Direct I/O depends on the single file, see chario_device_open_any().
 */
struct chario_probe {
	uint32_t size;
	uint32_t library_abi_version;
	uint32_t module_loaded;
	uint32_t nr_disks;
	char library_version[32];
	char module_version[32];
	uint64_t features;
};

/**
 * chario_probe() - find the parts of CharIO
 * @probe: struct to fill in; members that the library does not know read as zero
 * @size: sizeof(*@probe)
 *
 * A machine without the module is not an error.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL when @size is smaller than the first version of the
 * struct, -EACCES when sysfs may not be read.
 */
int chario_probe(struct chario_probe *probe, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_PROBE_H */
