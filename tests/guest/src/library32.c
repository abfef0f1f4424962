// SPDX-License-Identifier: MIT
/*
 * What the library wants of others, for programs of 32 bits: Debian has those
 * libraries for 64 bits only here.  Of liburing there is nothing, so that
 * queues are threads; ISA-L's checksum is computed bit by bit.
 */
#include <errno.h>
#include <isa-l/crc.h>
#include <liburing.h>
#include <stdlib.h>

unsigned int crc32_iscsi(unsigned char *buffer, int len, unsigned int init_crc)
{
	for (int i = 0; i < len; i++) {
		init_crc ^= buffer[i];
		for (int bit = 0; bit < 8; bit++)
			init_crc = init_crc >> 1 ^ (init_crc & 1 ? 0x82f63b78U : 0);
	}
	return init_crc;
}

int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *params)
{
	return -ENOSYS;
}

/* Nobody has a ring to call the others with. */
#define NEVER(type, name, ...)                            \
	__attribute__((noreturn)) type name(__VA_ARGS__); \
	type name(__VA_ARGS__)                            \
	{                                                 \
		abort();                                  \
	}

NEVER(void, io_uring_queue_exit, struct io_uring *ring)
NEVER(int, io_uring_submit, struct io_uring *ring)
NEVER(int, io_uring_register_files, struct io_uring *ring, const int *files, unsigned int count)
NEVER(int, io_uring_unregister_files, struct io_uring *ring)
NEVER(int, io_uring_wait_cqes, struct io_uring *ring, struct io_uring_cqe **cqe, unsigned int wait,
      struct __kernel_timespec *time, sigset_t *mask)
NEVER(struct io_uring_probe *, io_uring_get_probe_ring, struct io_uring *ring)
NEVER(void, io_uring_free_probe, struct io_uring_probe *probe)

/* liburing32.c has this one, for programs with rings of their own. */
#pragma weak __io_uring_get_cqe
NEVER(int, __io_uring_get_cqe, struct io_uring *ring, struct io_uring_cqe **cqe,
      unsigned int submit, unsigned int wait, sigset_t *mask)
