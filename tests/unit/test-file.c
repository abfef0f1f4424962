// SPDX-License-Identifier: MIT
/*
 * Plain files as devices: opening, what they say of themselves, buffers, and the
 * rules of a transfer.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chario/buffer.h>
#include <chario/health.h>
#include <chario/pin.h>
#include <chario/plan.h>

#include "device/ops.h"
#include "scratch.h"
#include "system/sys.h"
#include "tap.h"

#define BLOCK ((size_t)4096)
#define SIZE  (64 * BLOCK)

static struct chario_device *device;
static struct chario_buffer *buffer;
static unsigned char *memory;

/* The one that each test begins with, and comes back to after another. */
static struct chario_device *first;

static int open_file(const char *name, int flags)
{
	return chario_device_open_any(name, flags, &device);
}

static void close_file(void)
{
	chario_device_close(device);
	device = first;
}

static uint64_t size_of_file(void)
{
	struct stat status;

	return fstat(chario_device_fd(device), &status) ? 0 : (uint64_t)status.st_size;
}

static ssize_t run(enum chario_transfer_op op, uint32_t id, uint64_t offset, uint64_t bytes,
		   uint64_t at, uint32_t flags)
{
	struct chario_transfer transfer = {
		.op = op,
		.flags = flags,
		.buffer = id,
		.buffer_offset = offset,
		.disk_offset = at,
		.bytes = bytes,
	};

	return chario_transfer(device, &transfer, sizeof(transfer));
}

static void test_names(void)
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

static void test_what_is_no_device(void)
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

static void test_info(void)
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

static void test_what_only_the_module_has(void)
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
	EQUAL(chario_pin_get(device, &pin, sizeof(pin)), -ENOTTY);
	EQUAL(chario_pin_set(device, 0, &pin, sizeof(pin)), -ENOTTY);
	EQUAL(chario_health_get(device, &health, sizeof(health)), -ENOTTY);
	EQUAL(chario_health_wait(device, 0, 0), -ENOTTY);
}

static void test_buffer_kinds(void)
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

static void test_buffer_arguments(void)
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

static void test_no_mapping(void)
{
	uint64_t offset = 7;

	EQUAL(chario_buffer_mapping(buffer, &offset), -EOPNOTSUPP);
	EQUAL(offset, 7);
}

static void test_many_buffers(void)
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

static void test_too_many_buffers(void)
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

static void test_a_child_has_the_pages(void)
{
	int status;
	pid_t child = fork();

	if (!child) {
		memset(memory, 0x5a, BLOCK);
		_exit(chario_buffer_write(buffer, 0, BLOCK, 0, 0) == (ssize_t)BLOCK ? 0 : 1);
	}
	EQUAL(waitpid(child, &status, 0), child);
	EQUAL(status, 0);
	EQUAL(memory[0], 0x5a);
}

static void test_contents(void)
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

static void test_ends(void)
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

static void test_a_file_that_has_grown(void)
{
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, SIZE, 0), -ENOSPC);
	EQUAL(ftruncate(chario_device_fd(device), 2 * SIZE), 0);
	EQUAL(chario_buffer_write(buffer, 0, BLOCK, SIZE, 0), BLOCK);
	EQUAL(chario_buffer_read(buffer, 0, SIZE, 0, 0), SIZE);
}

static void test_what_is_refused(void)
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
static void test_rights(void)
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
static void test_through_the_cache(void)
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

/* A device of a test's own: memory, and how often it was written to. */
struct own {
	unsigned char bytes[4096];
	unsigned int nr_writes;
	unsigned int nr_closes;
};

static int own_info(const struct chario_device *own, struct chario_info *info, size_t size)
{
	(void)own;
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

static void test_own_device(void)
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

/* In a child, for it has no standard error any more. */
static int open_without_standard_files(void)
{
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	if (open_file(chario_device_path(first), O_RDWR))
		return 1;
	return chario_device_fd(device) > STDERR_FILENO ? 0 : 2;
}

static void test_closed_standard_files(void)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(open_without_standard_files());
	CHECK(child > 0 && waitpid(child, &status, 0) == child);
	EQUAL(status, 0);
}

static const struct tap_test tests[] = {
	{ "a disk never stands in the place of standard error", test_closed_standard_files },
	{ "a file opens by its path and by its name", test_names },
	{ "what is no device, and what would change a file", test_what_is_no_device },
	{ "what a file says of itself", test_info },
	{ "what only the module has", test_what_only_the_module_has },
	{ "kinds of buffers", test_buffer_kinds },
	{ "arguments of buffers", test_buffer_arguments },
	{ "no mapping", test_no_mapping },
	{ "many buffers", test_many_buffers },
	{ "too many buffers", test_too_many_buffers },
	{ "a child has the pages", test_a_child_has_the_pages },
	{ "what is written is what is read", test_contents },
	{ "the end of a file: it does not grow", test_ends },
	{ "a file that has grown by other means", test_a_file_that_has_grown },
	{ "what is refused", test_what_is_refused },
	{ "rights", test_rights },
	{ "a file without direct I/O", test_through_the_cache },
	{ "a device of one's own", test_own_device },
};

static void begin(void)
{
	scratch_file("disk", SIZE);
	if (open_file("disk", O_RDWR) || chario_buffer_pool(device, SIZE, 0, &buffer))
		printf("Bail out! the file cannot be opened\n");
	first = device;
	memory = chario_buffer_memory(buffer);
}

static void end(void)
{
	chario_buffer_free(buffer);
	chario_device_close(device);
}

TAP_MAIN(tests, begin, end)
