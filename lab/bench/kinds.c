// SPDX-License-Identifier: MIT
/*
 * Transfers on memory of the other kinds: they cost what those on registered
 * memory do.
 */
#include <linux/udmabuf.h>

#include "bench.h"

#define WINDOWS "/sys/module/chario/parameters/windows"

void set_up_pool(struct bench *b)
{
	struct chario_buffer *buffer;

	open_for_transfer(b);
	must(chario_buffer_pool(b->device, b->bytes, 0, &buffer), "chario_buffer_pool");
	use_buffer(b, buffer);
}

/* The first that the administrator has opened. */
static uint64_t find_window(void)
{
	unsigned long long address;
	FILE *list = fopen(WINDOWS, "r");

	if (!list || fscanf(list, "%llx+", &address) != 1)
		fail(WINDOWS);
	fclose(list);
	return address;
}

void set_up_window(struct bench *b)
{
	struct chario_buffer *buffer;

	open_for_transfer(b);
	must(chario_buffer_window(b->device, find_window(), b->bytes, 0, &buffer),
	     "chario_buffer_window");
	use_buffer(b, buffer);
}

/* Memory of a file, as a dma-buf: it is mapped and imported once. */
static int make_dmabuf(size_t bytes)
{
	int memory = memfd_create("bench", MFD_ALLOW_SEALING), maker = open("/dev/udmabuf", O_RDWR);
	struct udmabuf_create wanted = { .memfd = (uint32_t)memory, .size = bytes };
	int made;

	if (memory < 0 || maker < 0 || ftruncate(memory, (off_t)bytes) ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK))
		fail("/dev/udmabuf");
	made = ioctl(maker, UDMABUF_CREATE, &wanted);
	if (made < 0)
		fail("UDMABUF_CREATE");
	close(maker);
	close(memory);
	return made;
}

void set_up_dmabuf(struct bench *b)
{
	int dmabuf = make_dmabuf(b->bytes);
	struct chario_buffer *buffer;

	open_for_transfer(b);
	must(chario_buffer_import(b->device, dmabuf, b->bytes, 0, &buffer), "chario_buffer_import");
	use_buffer(b, buffer);
}
