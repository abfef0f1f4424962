// SPDX-License-Identifier: MIT
/*
 * Buffers of devices without a kernel module: a plain file, and one of a test's own.
 */
#include <sys/mman.h>

#include "device/ops.h"
#include "file-rig.h"

TEST(test_buffer_kinds, "kinds of buffers")
{
	struct chario_buffer *other;
	int fd;

	EQUAL(chario_buffer_window(device, 0, BLOCK, 0, &other), -EOPNOTSUPP);
	EQUAL(chario_buffer_import(device, 0, BLOCK, 0, &other), -EOPNOTSUPP);
	EQUAL(chario_buffer_inside(device, BLOCK, 0, &other), -EOPNOTSUPP);
	EQUAL(chario_buffer_export(buffer, &fd), -EOPNOTSUPP);
	EQUAL(chario_buffer_sync(buffer, 0, SIZE, CHARIO_SYNC_FOR_DEVICE), 0);
	EQUAL(chario_buffer_sync(buffer, BLOCK, SIZE, CHARIO_SYNC_FOR_CPU), -EINVAL);
	EQUAL(chario_buffer_sync(buffer, 0, SIZE, (enum chario_sync)7), -EINVAL);
	EQUAL(chario_buffer_bytes(buffer), SIZE);
	EQUAL((uintptr_t)memory % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
}

TEST(test_buffer_arguments, "arguments of buffers")
{
	void *none = mmap(NULL, BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *fixed = mmap(NULL, BLOCK, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct chario_buffer *other;

	EQUAL(chario_buffer_pool(device, 0, 0, &other), -EINVAL);
	EQUAL(chario_buffer_pool(device, 3, 0, &other), -EINVAL);
	EQUAL(chario_buffer_pool(device, (size_t)2 << 40, 0, &other), -EINVAL);
	EQUAL(chario_buffer_pool(device, BLOCK, 1U << 9, &other), -EINVAL);
	EQUAL(chario_buffer_register(device, memory + 1, BLOCK, 0, &other), -EINVAL);
	EQUAL(chario_buffer_register(device, none, BLOCK, 0, &other), -EFAULT);
	EQUAL(chario_buffer_register(device, fixed, BLOCK, 0, &other), -EFAULT);
	EQUAL(chario_buffer_register(device, fixed, BLOCK, CHARIO_BUFFER_SOURCE, &other), 0);
	EQUAL(chario_buffer_read(other, 0, BLOCK, 0, 0), -EPERM);
	EQUAL(chario_buffer_write(other, 0, BLOCK, 0, 0), BLOCK);
	EQUAL(chario_buffer_free(other), 0);
	munmap(fixed, BLOCK);
	EQUAL(chario_buffer_register(device, fixed, BLOCK, CHARIO_BUFFER_SOURCE, &other), -EFAULT);
	munmap(none, BLOCK);
	EQUAL(chario_buffer_free(NULL), 0);
}

TEST(test_no_mapping, "no mapping")
{
	uint64_t offset = 7;

	EQUAL(chario_buffer_mapping(buffer, &offset), -EOPNOTSUPP);
	EQUAL(offset, 7);
}

TEST(test_many_buffers, "many buffers")
{
	struct chario_buffer *others[40];
	uint32_t second;

	for (int i = 0; i < 40; i++) {
		EQUAL(chario_buffer_pool(device, BLOCK, 0, &others[i]), 0);
		*(unsigned char *)chario_buffer_memory(others[i]) = (unsigned char)i;
	}
	for (int i = 0; i < 40; i++)
		EQUAL(chario_buffer_write(others[i], 0, BLOCK, (uint64_t)i * BLOCK, 0), BLOCK);
	EQUAL(chario_buffer_read(buffer, 0, 40 * BLOCK, 0, 0), 40 * BLOCK);
	for (size_t i = 0; i < 40; i++)
		EQUAL(memory[i * BLOCK], i);
	second = chario_buffer_id(others[1]);
	EQUAL(chario_buffer_free(others[1]), 0);
	EQUAL(run(CHARIO_TRANSFER_WRITE, second, 0, BLOCK, 0, 0), -ENOENT);
	EQUAL(chario_buffer_pool(device, BLOCK, 0, &others[1]), 0);
	EQUAL(chario_buffer_id(others[1]), second);
	for (int i = 0; i < 40; i++)
		EQUAL(chario_buffer_free(others[i]), 0);
}

TEST(test_too_many_buffers, "too many buffers")
{
	static struct chario_buffer *others[65536];
	uint32_t count = 0;
	int err;

	do
		err = chario_buffer_register(device, memory, BLOCK, CHARIO_BUFFER_SOURCE,
					     &others[count]);
	while (!err && ++count < 65536);
	EQUAL(err, -ENOSPC);
	EQUAL(count, 65534); /* and the one of all tests */
	EQUAL(chario_buffer_write(others[65533], 0, BLOCK, 0, 0), BLOCK);
	while (count--)
		EQUAL(chario_buffer_free(others[count]), 0);
}

TEST(test_a_child_has_the_pages, "a child has the pages")
{
	CHECK_IN_CHILD(memset(memory, 0x5a, BLOCK) &&
		       chario_buffer_write(buffer, 0, BLOCK, 0, 0) == (ssize_t)BLOCK);
	EQUAL(memory[0], 0x5a);
}

/* A device of a test's own: memory, and how often it was written to. */
struct own {
	unsigned char bytes[4096];
	unsigned int nr_writes;
	unsigned int nr_closes;
};

static int own_info(const struct chario_device *own, struct chario_info *info, size_t size)
{
	memset(info, 0, size);
	info->size = sizeof(*info);
	info->capacity_bytes = 4096;
	info->logical_block_bytes = 512;
	info->dma_alignment_bytes = 4;
	return 0;
}

static ssize_t own_transfer(const struct chario_device *own, struct chario_transfer *transfer)
{
	struct own *data = own->data;
	void *at;
	int err = chario_memory_get(own, transfer, &at);

	if (err)
		return err;
	memcpy(data->bytes + transfer->disk_offset, at, transfer->bytes);
	data->nr_writes++;
	chario_memory_put(own, transfer);
	return (ssize_t)transfer->bytes;
}

static void own_close(struct chario_device *own)
{
	((struct own *)own->data)->nr_closes++;
}

TEST(test_own_device, "a device of one's own")
{
	static const struct chario_device_ops ops = {
		.get_info = own_info,
		.create_buffer = chario_memory_create,
		.free_buffer = chario_memory_free,
		.transfer = own_transfer,
		.close = own_close,
	};
	struct own own = { .nr_writes = 0 };
	struct chario_device *made = chario_device_make(&ops, &own, "own");
	struct chario_buffer *other;
	struct chario_stats stats;

	CHECK(made);
	SAME_TEXT(chario_device_path(made), "own");
	EQUAL(chario_device_fd(made), -1);
	EQUAL(chario_device_get_stats(made, &stats, sizeof(stats)), -ENOTTY);
	EQUAL(chario_buffer_pool(made, 512, 0, &other), 0);
	memset(chario_buffer_memory(other), 3, 512);
	EQUAL(chario_buffer_write(other, 0, 512, 1024, 0), 512);
	EQUAL(own.bytes[1024], 3);
	EQUAL(own.nr_writes, 1);
	EQUAL(chario_buffer_free(other), 0);
	chario_device_close(made);
	EQUAL(own.nr_closes, 1);
}

TEST_MAIN(begin, end)
