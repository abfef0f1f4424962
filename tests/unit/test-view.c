// SPDX-License-Identifier: MIT
/*
 * Views, with changes known in the way that TRACKING names: marks,
 * write-protect or compare.  A kernel that does not have it says so by skipping all.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "view-disk.h"

#define NR_ROUNDS  3000
#define NR_FLUSHES 400

static bool is_marks(void)
{
	return disk.tracking == CHARIO_TRACKING_MARKS;
}

TEST(test_load, "a view has what the area has, and nothing of it has changed")
{
	EQUAL(disk_load(), 0);
	EQUAL(chario_view_tracking(disk.view), disk.tracking);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	EQUAL(disk_count_dirty(disk.view), 0);
	EQUAL(disk_flush(), 0);
	EQUAL(disk.nr_writes, 0);
}

TEST(test_flush, "a flush writes the blocks that have changed, neighbours at once")
{
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 3);
	disk_change(disk.view, disk.memory, 4);
	disk_change(disk.view, disk.memory, 6);
	disk_change(disk.view, disk.memory, NR_BLOCKS - 1);
	EQUAL(disk_count_dirty(disk.view), 4);
	EQUAL(disk_count_dirty(disk.view), 4);
	EQUAL(disk_flush(), 4);
	EQUAL(disk.nr_writes, 3);
	EQUAL(disk.flags, 0);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	EQUAL(disk_flush(), 0);
	EQUAL(disk_count_dirty(disk.view), 0);
}

TEST(test_mark, "marks add to what is found")
{
	EQUAL(disk_load(), 0);
	EQUAL(chario_view_mark(disk.view, BLOCK - 1, 2), 0);
	EQUAL(chario_view_mark(disk.view, 100 * BLOCK, 70 * BLOCK), 0);
	EQUAL(chario_view_mark(disk.view, BYTES, 0), 0);
	EQUAL(chario_view_mark(disk.view, BYTES, 1), -EINVAL);
	EQUAL(chario_view_mark(disk.view, 1, BYTES), -EINVAL);
	EQUAL(chario_view_mark(disk.view, UINT64_MAX, 2), -EINVAL);
	EQUAL(disk_flush(), 72);
	EQUAL(disk.nr_writes, 2);
	EQUAL(chario_view_mark(disk.view, 0, BYTES), 0);
	EQUAL(disk_flush(), NR_BLOCKS);
	EQUAL(disk.nr_writes, 1);
}

TEST(test_fua, "a flush can be durable")
{
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 0);
	EQUAL(chario_view_flush(disk.view, CHARIO_TRANSFER_FUA, NULL), 0);
	EQUAL(disk.flags, CHARIO_TRANSFER_FUA);
	EQUAL(chario_view_flush(disk.view, CHARIO_TRANSFER_NOWAIT, NULL), -EINVAL);
}

/* What has changed, by a model: each round changes some, and may flush or reload. */
static bool changed[NR_BLOCKS];

static long forget_changes(void)
{
	long count = 0;

	for (size_t i = 0; i < NR_BLOCKS; i++) {
		count += changed[i];
		changed[i] = false;
	}
	return count;
}

static void change_some(void)
{
	for (int i = rand() % 12; i > 0; i--) {
		size_t block = (size_t)rand() % NR_BLOCKS;

		/* A byte that is counted up 256 times would be as it was. */
		if (changed[block])
			continue;
		disk_change(disk.view, disk.memory, block);
		changed[block] = true;
	}
}

TEST(test_model, "a view does what a model says, over thousands of rounds")
{
	EQUAL(disk_load(), 0);
	for (int round = 0; round < NR_ROUNDS; round++) {
		int choice = rand() % 16;

		change_some();
		if (choice < 8) {
			EQUAL(disk_flush(), forget_changes());
		} else if (choice == 8) {
			EQUAL(chario_view_reload(disk.view), 0);
			forget_changes();
		}
		if (choice < 9)
			EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	}
	forget_changes();
}

/* Counts up words in random blocks until it is told to stop. */
static atomic_bool ended;
static atomic_ulong nr_changes;

static void *keep_changing(void *data)
{
	unsigned int seed = 1;

	while (!atomic_load(&ended)) {
		size_t word = (size_t)rand_r(&seed) % (BYTES / sizeof(uint64_t));

		atomic_fetch_add((_Atomic uint64_t *)disk.memory + word, 1);
		if (is_marks())
			chario_view_mark(disk.view, word * sizeof(uint64_t), sizeof(uint64_t));
		atomic_fetch_add(&nr_changes, 1);
	}
	return NULL;
}

static void flush_while_changing(void)
{
	for (int i = 0; i < NR_FLUSHES; i++) {
		unsigned long before = atomic_load(&nr_changes);

		CHECK(disk_flush() >= 0);
		while (atomic_load(&nr_changes) == before)
			sched_yield();
	}
}

TEST(test_concurrent, "what another thread changes during a flush is not lost")
{
	pthread_t thread;

	EQUAL(disk_load(), 0);
	atomic_store(&ended, false);
	EQUAL(pthread_create(&thread, NULL, keep_changing, NULL), 0);
	flush_while_changing();
	atomic_store(&ended, true);
	pthread_join(thread, NULL);
	CHECK(disk_flush() >= 0);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	EQUAL(disk_flush(), 0);
}

TEST(test_two_views, "two views do not lose each other's changes")
{
	struct chario_buffer *buffer;
	struct chario_view *view;
	unsigned char *memory;

	EQUAL(disk_load(), 0);
	EQUAL(chario_buffer_pool(chario_store_device(disk.store), BYTES, 0, &buffer), 0);
	memory = chario_buffer_memory(buffer);
	disk_change(disk.view, disk.memory, 7);
	EQUAL(chario_view_load(disk.other, 0, BYTES, buffer, 0, disk.tracking, &view), 0);
	disk_change(view, memory, 9);
	disk_change(disk.view, disk.memory, 11);
	EQUAL(disk_count_dirty(view), 1);
	EQUAL(disk_flush(), 2);
	disk_change(view, memory, 12);
	disk_change(disk.view, disk.memory, 13);
	EQUAL(chario_view_unload(view, 1), 0);
	EQUAL(disk_is_same(disk.other, memory, NR_BLOCKS), 1);
	EQUAL(disk_flush(), 1);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	EQUAL(chario_buffer_free(buffer), 0);
}

TEST(test_bad_block, "a block that cannot be written stays changed, those behind it do not")
{
	EQUAL(disk_load(), 0);
	for (size_t block = 10; block < 20; block++)
		disk_change(disk.view, disk.memory, block);
	disk_change(disk.view, disk.memory, 30);
	disk.bad_block = 14;
	EQUAL(disk_flush(), -EIO);
	EQUAL(disk.nr_written, 10);
	EQUAL(disk_count_dirty(disk.view), 1);
	EQUAL(disk_flush(), -EIO);
	EQUAL(disk.nr_written, 0);
	EQUAL(chario_view_unload(disk.view, 1), -EIO);
	disk.bad_block = NO_BLOCK;
	EQUAL(disk_flush(), 1);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
}

TEST(test_lost_disk, "a flush ends when the disk is lost, and can be repeated")
{
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 1);
	disk_change(disk.view, disk.memory, 3);
	disk_change(disk.view, disk.memory, 5);
	disk.bad_block = 3;
	disk.bad_error = -ENODEV;
	EQUAL(disk_flush(), -ENODEV);
	EQUAL(disk.nr_written, 1);
	EQUAL(disk_count_dirty(disk.view), 2);
	disk.bad_block = NO_BLOCK;
	EQUAL(disk_flush(), 2);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
}

TEST(test_shrunk_file, "a file that has been shrunk")
{
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 2);
	EQUAL(truncate("disk", BLOCK), 0);
	EQUAL(chario_view_reload(disk.view), -ESTALE);
	EQUAL(disk_flush(), -ESTALE);
	EQUAL(truncate("disk", 32 << 20), 0);
	EQUAL(chario_view_reload(disk.view), 0);
	EQUAL(disk_flush(), 0);
}

TEST(test_reload, "a reload forgets changes; one that has failed keeps them from the disk")
{
	unsigned char was;

	EQUAL(disk_load(), 0);
	was = disk.memory[0];
	disk.memory[0] ^= 1;
	disk_change(disk.view, disk.memory, 5);
	EQUAL(chario_view_reload(disk.view), 0);
	EQUAL(disk.memory[0], was);
	EQUAL(disk_count_dirty(disk.view), 0);
	disk.deaf = 1;
	EQUAL(chario_view_reload(disk.view), -EIO);
	EQUAL(disk_flush(), -ESTALE);
	disk.deaf = 0;
	EQUAL(chario_view_reload(disk.view), 0);
	disk_change(disk.view, disk.memory, 5);
	EQUAL(disk_flush(), 1);
}

TEST(test_unload, "an unload flushes where it is asked to")
{
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 5);
	EQUAL(chario_view_unload(disk.view, 0), 0);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 0);
	EQUAL(disk_load(), 0);
	disk_change(disk.view, disk.memory, 6);
	EQUAL(chario_view_unload(disk.view, 1), 0);
	disk.view = NULL;
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
	EQUAL(chario_view_unload(NULL, 1), 0);
}

TEST(test_part, "a view of a part of an area in a part of a buffer")
{
	uint64_t bytes;

	EQUAL(chario_view_load(disk.area, 16 * BLOCK, 3 * BLOCK + 1, disk.buffer, 32 * BLOCK,
			       disk.tracking, &disk.view),
	      0);
	disk.memory[31 * BLOCK] ^= 1;
	disk.memory[36 * BLOCK] ^= 1;
	EQUAL(chario_view_mark(disk.view, 4 * BLOCK, 1), -EINVAL);
	disk_change(disk.view, disk.memory + 32 * BLOCK, 3);
	EQUAL(chario_view_flush(disk.view, 0, &bytes), 0);
	EQUAL(bytes, BLOCK);
	EQUAL(chario_area_read(disk.area, disk.memory, BLOCK, 19 * BLOCK), BLOCK);
	EQUAL(memcmp(disk.memory, disk.memory + 35 * BLOCK, BLOCK), 0);
}

/* A system call writes to the memory: a page that is protected does not hinder it. */
TEST(test_read_into, "a system call may write to a view")
{
	int fd[2];

	EQUAL(disk_load(), 0);
	EQUAL(pipe(fd), 0);
	EQUAL(write(fd[1], "changed", 7), 7);
	EQUAL(read(fd[0], disk.memory + 8 * BLOCK - 3, 7), 7);
	EQUAL(memcmp(disk.memory + 8 * BLOCK - 3, "changed", 7), 0);
	close(fd[0]);
	close(fd[1]);
	if (is_marks())
		EQUAL(chario_view_mark(disk.view, 8 * BLOCK - 3, 7), 0);
	EQUAL(disk_flush(), 2);
	EQUAL(disk_is_same(disk.area, disk.memory, NR_BLOCKS), 1);
}

/* A view in memory of the process, which the test gives back. */
static struct chario_buffer *registered;
static unsigned char *memory;

static void load_into(int flags)
{
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	EQUAL(chario_buffer_register(chario_store_device(disk.store), memory, BYTES, 0,
				     &registered),
	      0);
	EQUAL(chario_view_load(disk.area, 0, BYTES, registered, 0, disk.tracking, &disk.view), 0);
}

static void unload(void)
{
	EQUAL(disk_is_same(disk.area, memory, NR_BLOCKS), 1);
	EQUAL(chario_view_unload(disk.view, 0), 0);
	disk.view = NULL;
	EQUAL(chario_buffer_free(registered), 0);
	munmap(memory, BYTES);
}

static void use_memory(int flags)
{
	load_into(flags);
	if (tap_failed)
		return;
	disk_change(disk.view, memory, 77);
	EQUAL(disk_flush(), 1);
	EQUAL(disk_flush(), 0);
	unload();
}

TEST(test_private_memory, "registered memory of the process")
{
	use_memory(MAP_PRIVATE);
}

TEST(test_shared_memory, "registered memory that is shared")
{
	use_memory(MAP_SHARED);
}

TEST(test_fork, "a view outlives a fork of its process")
{
	pid_t child;
	int status;

	load_into(MAP_PRIVATE);
	if (tap_failed)
		return;
	disk_change(disk.view, memory, 1);
	child = fork();
	if (!child) {
		memory[2 * BLOCK] ^= 1;
		_exit(0);
	}
	disk_change(disk.view, memory, 3);
	EQUAL(waitpid(child, &status, 0), child);
	disk_change(disk.view, memory, 4);
	EQUAL(disk_flush(), 3);
	unload();
}

/* Memory that cannot be written to: the load itself fails. */
TEST(test_read_only_memory, "memory that can only be read")
{
	int err;

	EQUAL(mprotect(disk.memory, BYTES, PROT_READ), 0);
	err = disk_load();
	EQUAL(mprotect(disk.memory, BYTES, PROT_READ | PROT_WRITE), 0);
	EQUAL(err, -EFAULT);
}

TEST(test_alignment, "where a view begins")
{
	int err =
		chario_view_load(disk.area, 0, BLOCK, disk.buffer, 512, disk.tracking, &disk.view);

	EQUAL(err, disk.tracking == CHARIO_TRACKING_WRITE_PROTECT ? -EINVAL : 0);
	if (err)
		return;
	disk_change(disk.view, disk.memory + 512, 0);
	EQUAL(disk_flush(), 1);
	EQUAL(disk_is_same(disk.area, disk.memory + 512, 1), 1);
}

/*
 * Runs before main(), and in the folder of scratch.h: a way that this kernel does not
 * have is skipped as a whole.
 */
__attribute__((constructor)) static void choose_or_skip(void)
{
	const char *name = disk_choose();
	int err;

	disk_begin();
	err = disk_load();
	disk_end();
	if (err != -EOPNOTSUPP)
		return;
	printf("1..0 # SKIP this kernel has no %s tracking\n", name);
	exit(0);
}

TEST_MAIN(disk_begin, disk_end)
