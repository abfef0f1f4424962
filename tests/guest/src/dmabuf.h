/* SPDX-License-Identifier: MIT */
/*
 * Memory of other drivers: dma-bufs of those exporters that make them of main memory.
 */
#ifndef GUEST_DMABUF_H
#define GUEST_DMABUF_H

#include <linux/dma-heap.h>
#include <linux/udmabuf.h>

#include "common.h"

/* A dma-buf of the system heap: its descriptor, or a negative errno. */
static inline int dmabuf_of_heap(size_t bytes)
{
	struct dma_heap_allocation_data wanted = { .len = bytes, .fd_flags = O_RDWR | O_CLOEXEC };
	int heap = open("/dev/dma_heap/system", O_RDWR | O_CLOEXEC), err = 0;

	if (heap < 0)
		return -errno;
	if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &wanted))
		err = -errno;
	close(heap);
	return err ? err : (int)wanted.fd;
}

/* The same of a memfd, which @memory gets and the caller closes, if it is one. */
static inline int dmabuf_of_memory(size_t bytes, int *memory)
{
	int maker = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	struct udmabuf_create wanted = { .size = bytes };

	*memory = -1;
	if (maker < 0)
		return -errno;
	*memory = memfd_create("udmabuf", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	wanted.memfd = (uint32_t)*memory;
	if (*memory < 0 || ftruncate(*memory, (off_t)bytes) ||
	    fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK))
		fd = -errno;
	else
		fd = ioctl(maker, UDMABUF_CREATE, &wanted);
	if (fd == -1)
		fd = -errno;
	close(maker);
	return fd;
}

#endif /* GUEST_DMABUF_H */
