// SPDX-License-Identifier: MIT
/*
 * Plain files as devices: opening, what they say of themselves, and the rules of a
 * transfer.
 */
#include <sys/stat.h>

#include <chario/health.h>
#include <chario/pin.h>
#include <chario/plan.h>

#include "file-rig.h"
#include "system/sys.h"

TEST(test_names, "a file opens by its path and by its name")
{
	EQUAL(open_file("disk", O_RDWR), 0);
	SAME_TEXT(chario_device_path(device), "disk");
	CHECK(chario_device_fd(device) >= 0);
	close_file();
	EQUAL(open_file("./disk", O_RDONLY), 0);
	close_file();
	scratch_file("7", SIZE);
	EQUAL(open_file("7", O_RDONLY), 0);
	close_file();
}

TEST(test_what_is_no_device, "what is no device, and what would change a file")
{
	char name[5000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	EQUAL(open_file("", O_RDWR), -EINVAL);
	EQUAL(open_file("none", O_RDWR), -ENOENT);
	EQUAL(open_file("./none", O_RDWR), -ENOENT);
	EQUAL(open_file("disk/none", O_RDWR), -ENOTDIR);
	EQUAL(open_file(".", O_RDONLY), -ENOTTY);
	EQUAL(open_file("/dev/null", O_RDWR), -ENOTTY);
	EQUAL(mkfifo("fifo", 0600), 0);
	EQUAL(open_file("fifo", O_RDONLY), -ENOTTY);
	EQUAL(open_file("disk", O_RDWR | O_CREAT), -EINVAL);
	EQUAL(open_file("disk", O_RDWR | O_TRUNC), -EINVAL);
	EQUAL(open_file("disk", O_WRONLY | O_APPEND), -EINVAL);
	EQUAL(open_file("disk", O_PATH), -EINVAL);
	EQUAL(open_file(name, O_RDWR), -ENAMETOOLONG);
	EQUAL(chario_device_open("./disk", O_RDWR, &device), -ENOTTY);
}

TEST(test_info, "what a file says of itself")
{
	struct chario_plan_limits limits;
	struct chario_info info;

	EQUAL(chario_device_get_info(device, &info, sizeof(info)), 0);
	EQUAL(info.size, sizeof(info));
	EQUAL(info.abi_version, 0);
	SAME_TEXT(info.backend, "file");
	EQUAL(info.capacity_bytes, SIZE);
	EQUAL(info.features, CHARIO_FEATURE_FUA | CHARIO_FEATURE_WRITE_CACHE);
	CHECK(BLOCK % info.logical_block_bytes == 0);
	CHECK(BLOCK % info.dma_alignment_bytes == 0);
	EQUAL(chario_device_get_info(device, &info, 8), -EINVAL);
	EQUAL(chario_plan_get_limits(device, &limits), 0);
	CHECK(limits.command_bytes % BLOCK == 0);
	EQUAL(ftruncate(chario_device_fd(device), (off_t)(2 * SIZE + 100)), 0);
	EQUAL(chario_device_get_info(device, &info, sizeof(info)), 0);
	EQUAL(info.capacity_bytes, 2 * SIZE);
}

TEST(test_what_only_the_module_has, "what only the module has")
{
	struct chario_queue_create queue = { .cpu = -1 };
	struct chario_file_options options;
	struct chario_health health;
	struct chario_stats stats;
	struct chario_pin pin;

	EQUAL(chario_device_get_stats(device, &stats, sizeof(stats)), -ENOTTY);
	EQUAL(chario_device_get_options(device, &options, sizeof(options)), -ENOTTY);
	EQUAL(chario_device_set_options(device, &options, sizeof(options)), -ENOTTY);
	EQUAL(chario_device_take_queue(device, &queue, sizeof(queue)), -ENOTTY);
	/* No transfer is given up. */
	EQUAL(chario_device_settle(device, 0, UINT64_MAX, 0), 0);
	EQUAL(chario_pin_get(device, &pin, sizeof(pin)), -ENOTTY);
	EQUAL(chario_pin_set(device, 0, &pin, sizeof(pin)), -ENOTTY);
	EQUAL(chario_health_get(device, &health, sizeof(health)), -ENOTTY);
	EQUAL(chario_health_wait(device, 0, 0), -ENOTTY);
}

static uint64_t size_of_file(void)
{
	struct stat status;

	return fstat(chario_device_fd(device), &status) ? 0 : (uint64_t)status.st_size;
}

TEST(test_contents, "what is written is what is read")
{
	for (size_t i = 0; i < SIZE; i++)
		memory[i] = (unsigned char)(i / 97);
	EQUAL(chario_buffer_write(buffer, BLOCK, 7 * BLOCK, 3 * BLOCK, 0), 7 * BLOCK);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 0, CHARIO_TRANSFER_FUA), BLOCK);
	EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 0, 0), 0);
	EQUAL(run(CHARIO_TRANSFER_READ, chario_buffer_id(buffer), 20 * BLOCK, 7 * BLOCK, 3 * BLOCK,
		  0),
	      7 * BLOCK);
	CHECK(!memcmp(memory + BLOCK, memory + 20 * BLOCK, 7 * BLOCK));
}

TEST(test_ends, "the end of a file: it does not grow")
{
	memset(memory, 0xaa, SIZE);
	EQUAL(chario_buffer_write(buffer, 0, 2 * BLOCK, SIZE - BLOCK, 0), BLOCK);
	EQUAL(size_of_file(), SIZE);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, SIZE, 0), -ENOSPC);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 1ULL << 62, 0), -ENOSPC);
	EQUAL(size_of_file(), SIZE);
	EQUAL(chario_buffer_read(buffer, 0, 2 * BLOCK, SIZE - BLOCK, 0), BLOCK);
	EQUAL(chario_buffer_read(buffer, 0, BLOCK, SIZE, 0), 0);
	EQUAL(chario_buffer_read(buffer, 0, BLOCK, 1ULL << 62, 0), 0);
}

TEST(test_a_file_that_was_cut, "a file that was cut does not grow again")
{
	EQUAL(ftruncate(chario_device_fd(device), 2 * BLOCK), 0);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, BLOCK, 0), BLOCK);
	for (int i = 0; i < 2; i++) {
		EQUAL(chario_buffer_write(buffer, 0, BLOCK, 4 * BLOCK, 0), -ESTALE);
		EQUAL(chario_buffer_write(buffer, 0, 2 * BLOCK, BLOCK, 0), -ESTALE);
		EQUAL(chario_buffer_read(buffer, 0, 2 * BLOCK, BLOCK, 0), -ESTALE);
		EQUAL(chario_buffer_read(buffer, 0, BLOCK, BLOCK, 0), BLOCK);
		EQUAL(size_of_file(), 2 * BLOCK);
	}
	EQUAL(ftruncate(chario_device_fd(device), SIZE), 0);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, 4 * BLOCK, 0), BLOCK);
	EQUAL(size_of_file(), SIZE);
}

TEST(test_a_file_that_has_grown, "a file that has grown by other means")
{
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, SIZE, 0), -ENOSPC);
	EQUAL(ftruncate(chario_device_fd(device), 2 * SIZE), 0);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, SIZE, 0), BLOCK);
	EQUAL(chario_buffer_read(buffer, 0, SIZE, 0, 0), SIZE);
}

TEST(test_what_is_refused, "what is refused")
{
	uint32_t id = chario_buffer_id(buffer);
	struct chario_transfer transfer = { .op = CHARIO_TRANSFER_FLUSH };

	EQUAL(run(CHARIO_TRANSFER_READ, 99, 0, BLOCK, 0, 0), -ENOENT);
	EQUAL(run(CHARIO_TRANSFER_READ, 0, 0, BLOCK, 0, 0), -ENOENT);
	EQUAL(run(CHARIO_TRANSFER_READ, 99, 0, 0, 0, 0), 0);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, SIZE - BLOCK, 2 * BLOCK, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, 2 * SIZE, BLOCK, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, 1, BLOCK, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, 0, BLOCK - 1, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, 0, BLOCK, 1, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, id, 0, BLOCK, 0, 1U << 20), -EINVAL);
	EQUAL(run((enum chario_transfer_op)3, id, 0, BLOCK, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_WRITE, 0, 0, BLOCK, 0, CHARIO_TRANSFER_PHYSICAL), -EOPNOTSUPP);
	EQUAL(run(CHARIO_TRANSFER_FLUSH, id, 0, 0, 0, 0), -EINVAL);
	EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, BLOCK, 0, 0), -EINVAL);
	transfer.reserved[1] = 1;
	EQUAL(chario_transfer(device, &transfer, sizeof(transfer)), -EINVAL);
	transfer.reserved[1] = 0;
	transfer.deadline_ns = 999999;
	EQUAL(chario_transfer(device, &transfer, sizeof(transfer)), -EINVAL);
	transfer.deadline_ns = 1000000;
	EQUAL(chario_transfer(device, &transfer, sizeof(transfer)), 0);
	EQUAL(chario_transfer(device, &transfer, 8), -EINVAL);
}

/* The rights are those of the open file, not of who opened it. */
TEST(test_rights, "rights")
{
	struct chario_buffer *other;

	EQUAL(open_file("disk", O_RDONLY), 0);
	EQUAL(chario_buffer_pool(device, BLOCK, 0, &other), 0);
	EQUAL(chario_buffer_write(other, 0, BLOCK, 0, 0), -EBADF);
	EQUAL(run(CHARIO_TRANSFER_FLUSH, 0, 0, 0, 0, 0), -EBADF);
	EQUAL(chario_buffer_read(other, 0, BLOCK, 0, 0), BLOCK);
	EQUAL(chario_buffer_free(other), 0);
	close_file();
	EQUAL(open_file("disk", O_WRONLY), 0);
	EQUAL(chario_buffer_pool(device, BLOCK, 0, &other), 0);
	EQUAL(chario_buffer_read(other, 0, BLOCK, 0, 0), -EBADF);
	EQUAL(chario_buffer_write(other, 0, BLOCK, 0, 0), BLOCK);
	EQUAL(chario_buffer_free(other), 0);
	close_file();
}

static int open_without_direct(const char *path, int flags)
{
	int fd = flags & O_DIRECT ? -1 : open(path, flags | O_CLOEXEC);

	return fd < 0 ? -EINVAL : fd;
}

/* A file system without direct I/O: all of it goes through the page cache. */
TEST(test_through_the_cache, "a file without direct I/O")
{
	int (*open_of_kernel)(const char *path, int flags) = chario_sys.open;
	struct chario_buffer *other;
	struct chario_info info;

	scratch_file("odd", 10000);
	chario_sys.open = open_without_direct;
	EQUAL(open_file("odd", O_RDWR | O_DIRECT), -EINVAL);
	EQUAL(open_file("odd", O_RDWR), 0);
	chario_sys.open = open_of_kernel;
	EQUAL(fcntl(chario_device_fd(device), F_GETFL) & O_DIRECT, 0);
	EQUAL(chario_device_get_info(device, &info, sizeof(info)), 0);
	EQUAL(info.logical_block_bytes, 512);
	EQUAL(info.dma_alignment_bytes, 4);
	EQUAL(info.capacity_bytes, 9728);
	EQUAL(chario_buffer_pool(device, BLOCK, 0, &other), 0);
	memset(chario_buffer_memory(other), 0x11, BLOCK);
	EQUAL(chario_buffer_write(other, 4, 1024, 9216, CHARIO_TRANSFER_FUA), 512);
	EQUAL(size_of_file(), 10000);
	memset(chario_buffer_memory(other), 0, BLOCK);
	EQUAL(chario_buffer_read(other, 8, 512, 9216, 0), 512);
	EQUAL(((unsigned char *)chario_buffer_memory(other))[8], 0x11);
	EQUAL(((unsigned char *)chario_buffer_memory(other))[7], 0);
	EQUAL(chario_buffer_free(other), 0);
	close_file();
}

/* In a child, for it has no standard error any more. */
static bool opens_without_standard_files(void)
{
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	return !open_file(chario_device_path(first), O_RDWR) &&
	       chario_device_fd(device) > STDERR_FILENO;
}

TEST(test_closed_standard_files, "a disk never stands in the place of standard error")
{
	CHECK_IN_CHILD(opens_without_standard_files());
}

TEST_MAIN(begin, end)
