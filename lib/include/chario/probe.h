/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A probe: what of CharIO this machine has.
 *
 * What one disk can do is asked of that disk, with chario_device_get_info()
 * and its feature bits.
 */
#ifndef CHARIO_PROBE_H
#define CHARIO_PROBE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Feature bits: what this library can do on this kernel. */
#define CHARIO_PROBE_URING         (1ULL << 0) /* queues are rings of io_uring */
#define CHARIO_PROBE_URING_COMMAND (1ULL << 1) /* disks take its commands */
#define CHARIO_PROBE_WRITE_TRACE   (1ULL << 2) /* the kernel tells which pages were written */

/**
 * struct chario_probe - what is there
 * @size: size of this struct as the library knows it
 * @library_abi_version: CHARIO_ABI_VERSION that the library was built with
 * @module_loaded: 1 when the kernel module is loaded, else 0
 * @nr_disks: disks that there are
 * @library_version: version of the library, ends with a NUL
 * @module_version: version of the module, ends with a NUL; empty when it is
 *	not loaded
 * @features: CHARIO_PROBE_* bits.  Where URING is not set, queues are threads.
 *	WRITE_TRACE is the ioctl PAGEMAP_SCAN together with UFFD_FEATURE_WP_ASYNC of
 *	userfaultfd(2), open to this process: CHARIO_TRACKING_WRITE_PROTECT of a view
 *	is possible
 *
 * Whether direct I/O is possible is a matter of the single file, see
 * chario_device_open_any().
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
 * chario_probe() - see what of CharIO is there
 * @probe: is filled in; members that the library does not know read as zero
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
