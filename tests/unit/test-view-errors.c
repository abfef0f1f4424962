// SPDX-License-Identifier: MIT
/*
 * Views that cannot be, and how the library chooses the way to know changes.
 */
#include <chario/probe.h>

#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "system/sys.h"
#include "view-disk.h"

static struct chario_sys real;

static void begin(void)
{
	real = chario_sys;
	disk.tracking = CHARIO_TRACKING_MARKS;
	disk_begin();
}

static void end(void)
{
	chario_sys = real;
	disk_end();
}

static int load(uint64_t offset, size_t bytes, uint64_t buffer_offset)
{
	return chario_view_load(disk.area, offset, bytes, disk.buffer, buffer_offset, disk.tracking,
				&disk.view);
}

TEST(test_places, "what is not aligned or not inside is refused")
{
	EQUAL(load(0, 0, 0), -EINVAL);
	EQUAL(load(512, BLOCK, 0), -EINVAL);
	EQUAL(load(0, BYTES + 1, 0), -EINVAL);
	EQUAL(load(BYTES, 1, 0), -EINVAL);
	EQUAL(load(BLOCK, BYTES, 0), -EINVAL);
	EQUAL(load(UINT64_MAX - BLOCK + 1, BLOCK, 0), -EINVAL);
	EQUAL(load(0, SIZE_MAX, 0), -EINVAL);
	EQUAL(load(0, BYTES, BLOCK), -EINVAL);
	EQUAL(load(0, BLOCK, BYTES), -EINVAL);
	EQUAL(load(0, BLOCK, UINT64_MAX), -EINVAL);
	EQUAL(load(0, BLOCK, 1), -EINVAL);
	disk.tracking = CHARIO_TRACKING_COMPARE + 1;
	EQUAL(load(0, BLOCK, 0), -EINVAL);
	disk.tracking = (enum chario_tracking) - 1;
	EQUAL(load(0, BLOCK, 0), -EINVAL);
}

/* The last block of an area is whole on the disk, whatever its length. */
TEST(test_last_block, "the last block of an area is loaded whole")
{
	struct chario_area *area;

	EQUAL(chario_store_create(disk.store, "odd", BLOCK + 1, 0), 0);
	EQUAL(chario_area_open(disk.store, "odd", O_RDWR, &area), 0);
	EQUAL(chario_view_load(area, BLOCK, 1, disk.buffer, 0, disk.tracking, &disk.view), 0);
	EQUAL(chario_view_mark(disk.view, BLOCK - 1, 1), 0);
	EQUAL(disk_count_dirty(disk.view), 1);
	EQUAL(chario_view_unload(disk.view, 1), 0);
	EQUAL(chario_view_load(area, 2 * BLOCK, 1, disk.buffer, 0, disk.tracking, &disk.view),
	      -EINVAL);
	disk.view = NULL;
	chario_area_close(area);
}

TEST(test_source, "memory that is only written from cannot be loaded into")
{
	struct chario_buffer *buffer;
	struct chario_view *view;

	EQUAL(chario_buffer_pool(chario_store_device(disk.store), BLOCK, CHARIO_BUFFER_SOURCE,
				 &buffer),
	      0);
	for (unsigned int i = CHARIO_TRACKING_AUTO; i <= CHARIO_TRACKING_COMPARE; i++)
		EQUAL(chario_view_load(disk.area, 0, BLOCK, buffer, 0, i, &view), -EPERM);
	EQUAL(chario_buffer_free(buffer), 0);
}

TEST(test_other_device, "a buffer of another device is refused")
{
	struct chario_device *device;
	struct chario_buffer *buffer;
	struct chario_view *view;

	EQUAL(chario_device_open_any("disk", O_RDWR, &device), 0);
	EQUAL(chario_buffer_pool(device, BLOCK, 0, &buffer), 0);
	EQUAL(chario_view_load(disk.area, 0, BLOCK, buffer, 0, disk.tracking, &view), -EINVAL);
	EQUAL(chario_buffer_free(buffer), 0);
	chario_device_close(device);
}

TEST(test_taken, "what one view has, no other one gets")
{
	struct chario_view *view;

	EQUAL(load(0, 4 * BLOCK, 0), 0);
	EQUAL(chario_view_load(disk.other, 0, BLOCK, disk.buffer, 3 * BLOCK, 1, &view), -EBUSY);
	EQUAL(chario_view_load(disk.area, 3 * BLOCK, BLOCK, disk.buffer, 4 * BLOCK, 1, &view),
	      -EBUSY);
	EQUAL(chario_view_load(disk.area, 4 * BLOCK, BLOCK, disk.buffer, 4 * BLOCK, 1, &view), 0);
	EQUAL(chario_view_unload(view, 0), 0);
	EQUAL(chario_view_unload(disk.view, 0), 0);
	EQUAL(load(3 * BLOCK, BLOCK, 0), 0);
}

/* The same memory may be two buffers. */
TEST(test_taken_memory, "memory is known by its address, whatever buffer it is")
{
	struct chario_buffer *buffer;
	struct chario_view *view;

	EQUAL(load(0, 4 * BLOCK, 0), 0);
	EQUAL(chario_buffer_register(chario_store_device(disk.store), disk.memory + 3 * BLOCK,
				     4 * BLOCK, 0, &buffer),
	      0);
	EQUAL(chario_view_load(disk.other, 0, BLOCK, buffer, 0, 1, &view), -EBUSY);
	EQUAL(chario_view_load(disk.other, 0, BLOCK, buffer, BLOCK, 1, &view), 0);
	EQUAL(chario_view_unload(view, 0), 0);
	EQUAL(chario_buffer_free(buffer), 0);
}

TEST(test_reader, "views of an area that is open for reading")
{
	struct chario_area *area;
	struct chario_view *view;
	uint64_t bytes = 1;

	EQUAL(chario_area_open(disk.store, "one", O_RDONLY, &area), 0);
	EQUAL(chario_view_load(area, 0, BLOCK, disk.buffer, 0, CHARIO_TRACKING_AUTO, &disk.view),
	      0);
	EQUAL(chario_view_tracking(disk.view), CHARIO_TRACKING_MARKS);
	EQUAL(chario_view_load(area, 0, BLOCK, disk.buffer, BLOCK, CHARIO_TRACKING_COMPARE, &view),
	      0);
	EQUAL(memcmp(disk.memory, disk.memory + BLOCK, BLOCK), 0);
	disk.memory[BLOCK] ^= 1;
	EQUAL(disk_count_dirty(view), 1);
	EQUAL(chario_view_flush(view, 0, &bytes), -EROFS);
	EQUAL(bytes, 0);
	EQUAL(chario_view_unload(view, 1), -EROFS);
	EQUAL(chario_view_unload(view, 0), 0);
	EQUAL(chario_view_unload(disk.view, 0), 0);
	disk.view = NULL;
	chario_area_close(area);
}

/* What the CPU has written may reach memory after the drive has, unless it is handed over. */
TEST(test_hand_over, "memory that is synced is handed over before each transfer")
{
	struct chario_buffer *buffer;

	EQUAL(chario_buffer_pool(chario_store_device(disk.store), BYTES, CHARIO_BUFFER_STREAMING,
				 &buffer),
	      0);
	disk.nr_events = 0;
	EQUAL(chario_view_load(disk.area, 0, BYTES, buffer, 0, disk.tracking, &disk.view), 0);
	EQUAL(chario_view_mark(disk.view, 0, 1), 0);
	EQUAL(chario_view_mark(disk.view, 2 * BLOCK, 1), 0);
	EQUAL(chario_view_flush(disk.view, 0, NULL), 0);
	EQUAL(chario_view_reload(disk.view), 0);
	disk.events[disk.nr_events] = '\0';
	SAME_TEXT(disk.events, "drc"
			       "dwdw"
			       "drc");
	EQUAL(chario_view_unload(disk.view, 0), 0);
	disk.view = NULL;
	EQUAL(chario_buffer_free(buffer), 0);
}

TEST(test_unreadable, "an area that cannot be read leaves nothing behind")
{
	disk.deaf = 1;
	for (unsigned int i = CHARIO_TRACKING_MARKS; i <= CHARIO_TRACKING_COMPARE; i++) {
		disk.tracking = i;
		int err = load(0, BYTES, 0);

		CHECK(err == -EIO || err == -EOPNOTSUPP);
	}
	disk.deaf = 0;
	disk.tracking = CHARIO_TRACKING_AUTO;
	EQUAL(load(0, BYTES, 0), 0);
}

/* A kernel that has less and less. */
static int refuse_ioctl(int fd, unsigned long request, void *argument)
{
	return -EINVAL;
}

static int refuse_open(const char *path, int flags)
{
	return -EACCES;
}

static int choice(void)
{
	int tracking;

	disk.tracking = CHARIO_TRACKING_AUTO;
	if (load(0, BYTES, 0))
		return -1;
	tracking = chario_view_tracking(disk.view);
	chario_view_unload(disk.view, 0);
	disk.view = NULL;
	return tracking;
}

static int best_of_kernel(void)
{
	disk.tracking = CHARIO_TRACKING_WRITE_PROTECT;
	if (load(0, BYTES, 0))
		return CHARIO_TRACKING_COMPARE;
	chario_view_unload(disk.view, 0);
	disk.view = NULL;
	return CHARIO_TRACKING_WRITE_PROTECT;
}

TEST(test_choice, "pages are protected where the kernel can, else blocks are compared")
{
	EQUAL(choice(), best_of_kernel());
	chario_sys.ioctl = refuse_ioctl;
	EQUAL(choice(), CHARIO_TRACKING_COMPARE);
	disk.tracking = CHARIO_TRACKING_WRITE_PROTECT;
	EQUAL(load(0, BYTES, 0), -EOPNOTSUPP);
}

TEST(test_probe, "the probe tells whether pages can be protected")
{
	bool can_protect = best_of_kernel() == CHARIO_TRACKING_WRITE_PROTECT;
	struct chario_probe probe;

	EQUAL(chario_probe(&probe, sizeof(probe)), 0);
	EQUAL(!!(probe.features & CHARIO_PROBE_WRITE_TRACE), can_protect);
	chario_sys.ioctl = refuse_ioctl;
	EQUAL(chario_probe(&probe, sizeof(probe)), 0);
	EQUAL(probe.features & CHARIO_PROBE_WRITE_TRACE, 0);
}

TEST(test_choice_without_pagemap, "no way needs the files of /proc")
{
	chario_sys.open = refuse_open;
	EQUAL(choice(), CHARIO_TRACKING_COMPARE);
}

TEST(test_choice_without_pages, "memory that does not begin at a page is compared")
{
	disk.tracking = CHARIO_TRACKING_AUTO;
	EQUAL(load(0, BLOCK, 512), 0);
	EQUAL(chario_view_tracking(disk.view), CHARIO_TRACKING_COMPARE);
}

/* Without a descriptor the choice is not made for a worse way. */
TEST(test_no_descriptors, "descriptors that run out are an error")
{
	struct rlimit was, none;

	disk.tracking = CHARIO_TRACKING_WRITE_PROTECT;
	if (load(0, BYTES, 0) == -EOPNOTSUPP)
		SKIP("this kernel has no asynchronous userfaultfd");
	EQUAL(chario_view_unload(disk.view, 0), 0);
	disk.view = NULL;
	EQUAL(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	EQUAL(load(0, BYTES, 0), -EMFILE);
	EQUAL(setrlimit(RLIMIT_NOFILE, &was), 0);
}

#define HUGE_BYTES ((size_t)2 << 20)

static struct chario_buffer *huge;
static unsigned char *huge_memory;

static bool get_huge(void)
{
	huge_memory = mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
	if (huge_memory == MAP_FAILED)
		return false;
	return !chario_buffer_register(chario_store_device(disk.store), huge_memory, HUGE_BYTES, 0,
				       &huge);
}

static void put_huge(void)
{
	chario_view_unload(disk.view, 0);
	disk.view = NULL;
	chario_buffer_free(huge);
	munmap(huge_memory, HUGE_BYTES);
}

static int load_huge(struct chario_area *area, size_t bytes, enum chario_tracking tracking)
{
	return chario_view_load(area, 0, bytes, huge, 0, tracking, &disk.view);
}

TEST(test_part_of_huge_page, "huge pages of which a part is viewed are compared")
{
	if (!get_huge())
		SKIP("no huge pages are set aside, see vm.nr_hugepages");
	EQUAL(load_huge(disk.area, BYTES, CHARIO_TRACKING_WRITE_PROTECT), -EOPNOTSUPP);
	EQUAL(load_huge(disk.area, BYTES, CHARIO_TRACKING_AUTO), 0);
	EQUAL(chario_view_tracking(disk.view), CHARIO_TRACKING_COMPARE);
	disk_change(disk.view, huge_memory, 5);
	EQUAL(disk_flush(), 1);
	EQUAL(disk_is_same(disk.area, huge_memory, NR_BLOCKS), 1);
	put_huge();
}

TEST(test_huge_page, "a huge page is protected as a whole")
{
	struct chario_area *area;
	uint64_t bytes;
	int err;

	if (!get_huge())
		SKIP("no huge pages are set aside, see vm.nr_hugepages");
	EQUAL(chario_store_create(disk.store, "huge", HUGE_BYTES, 0), 0);
	EQUAL(chario_area_open(disk.store, "huge", O_RDWR, &area), 0);
	err = load_huge(area, HUGE_BYTES, CHARIO_TRACKING_WRITE_PROTECT);
	if (!err) {
		huge_memory[5 * BLOCK] ^= 1;
		EQUAL(chario_view_flush(disk.view, 0, &bytes), 0);
		EQUAL(bytes, HUGE_BYTES);
		EQUAL(disk_count_dirty(disk.view), 0);
	}
	put_huge();
	EQUAL(err, best_of_kernel() == CHARIO_TRACKING_WRITE_PROTECT ? 0 : -EOPNOTSUPP);
	chario_area_close(area);
}

TEST_MAIN(begin, end)
