// SPDX-License-Identifier: MIT
/*
 * A drive that is late: a transfer that gave ETIMEDOUT, or moved less than it should,
 * may still be with it.  Neither the memory nor the place on the disk is used again
 * before it says that it is done.
 */
#include <poll.h>

#include <chario/area.h>

#include "device/ops.h"
#include "tape-rig.h"

/* So often it is looked at until the drive is done. */
#define LOOKS 4U

/* And so often one that is never done, so that a test that waits for it ends. */
#define BUSY_LOOKS 100U

static struct chario_device_ops ops;
static const struct chario_device_ops *disk_ops;
static unsigned int looks;
static unsigned int left;
static unsigned int times_late;
static uint64_t transfers;
static bool halve;
static bool halve_read;
static size_t spared_bytes;

/* Memory of others, and the word that tells when it is given back. */
#define BUFFER_BYTES 65536U
static struct chario_buffer *buffer;
static uint32_t released;

/* A buffer from which somebody else transfers all the time: how often it was asked for. */
static uint32_t busy_id;
static unsigned int busy_looks;

/* One that has been freed. */
static uint32_t gone_id;

/* What the module gives where a later command of a transfer is still with the drive. */
static ssize_t transfer(const struct chario_device *device, struct chario_transfer *transfer)
{
	struct chario_transfer half = *transfer;

	bool *one = transfer->op == CHARIO_TRANSFER_WRITE ? &halve :
		    transfer->op == CHARIO_TRANSFER_READ  ? &halve_read :
							    NULL;

	if (one && half.bytes > spared_bytes && __atomic_exchange_n(one, false, __ATOMIC_RELAXED))
		half.bytes /= 2;
	return disk_ops->transfer(device, &half);
}

/* A drive that was not waited for has had another transfer, and is late once more. */
static int look(const struct chario_buffer *of, struct chario_buffer_sync *sync)
{
	uint64_t now = rig.disk->nr_reads + rig.disk->nr_writes;

	if (sync->direction != CHARIO_SYNC_IDLE)
		return 0;
	if (sync->id == gone_id)
		return -ENOENT;
	if (sync->id == busy_id)
		return ++busy_looks < BUSY_LOOKS ? -EBUSY : 0;
	if (now != transfers) {
		left = LOOKS;
		times_late++;
	}
	transfers = now;
	looks++;
	return left && --left ? -EBUSY : 0;
}

static void before(void)
{
	struct chario_device *device;

	rig_begin_usual();
	device = chario_store_device(rig.store);
	disk_ops = device->ops;
	ops = *disk_ops;
	ops.sync_buffer = look;
	ops.transfer = transfer;
	device->ops = &ops;
	looks = 0;
	times_late = 0;
	transfers = 0;
	halve = false;
	halve_read = false;
	spared_bytes = 0;
	busy_id = 0;
	busy_looks = 0;
	gone_id = 0;
	released = 0;
	if (chario_buffer_pool(device, BUFFER_BYTES, 0, &buffer))
		abort();
	rig.disk->faults.error = -ETIMEDOUT;
}

static void after(void)
{
	rig_close();
	if (chario_buffer_free(buffer))
		TAP_FAIL("the buffer is not given back");
	rig_end();
}

static bool was_late_once(unsigned int nr_looks)
{
	return times_late == 1 && looks == nr_looks;
}

/*
 * Nor before one that was written in part: nothing says that the drive has let go of the rest.  Of
 * a write that the disk has refused, the command that failed need not have been the last.
 */
TEST(test_segments, "no segment is written before a late drive is done")
{
	static const int errors[] = { -ETIMEDOUT, -EIO, 0 };

	for (size_t i = 0; i < 3; i++) {
		after();
		before();
		EQUAL(rig_open(&rig_small), 0);
		EQUAL(looks, 0);
		halve = !errors[i];
		rig.disk->faults.error = errors[i];
		rig.disk->faults.write.times = halve ? 0 : 1;
		EQUAL(rig_record(0, 1, 10), 0);
		EQUAL(rig_record(1, 2, chario_stream_room_bytes(rig.stream)), 0);
		EQUAL(rig_wait(), 0);
		CHECK(was_late_once(LOOKS));
		EQUAL(rig.status.retries, 1);
		CHECK(rig_holds(0, 2));
	}
}

/* Until a result can be taken, which is left to the next call. */
static void wait_for_result(void)
{
	struct pollfd polled = { .fd = chario_stream_fd(rig.stream), .events = POLLIN };

	poll(&polled, 1, -1);
}

/* What has not been late is nobody's concern: another may use it all the time. */
TEST(test_busy_buffer, "a buffer that was not late is not waited for")
{
	busy_id = chario_buffer_id(buffer);
	lab_fill(chario_buffer_memory(buffer), 512, 1);
	EQUAL(rig_open(&rig_small), 0);
	rig_hold(RIG_SEGMENT);
	rig.disk->faults.write.times = 1;
	EQUAL(rig_record(0, 1, chario_stream_room_bytes(rig.stream)), 0);
	log_disk_wait_held(rig.disk, 1);
	rig_hold(0);
	wait_for_result();
	/* Nothing is in flight, this one has not been submitted, and the segment is late. */
	EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, 512, 2, 0, 0, &released), 0);
	EQUAL(rig_wait(), 0);
	EQUAL(busy_looks, 0);
	CHECK(was_late_once(LOOKS));
	EQUAL(released, 1);
	CHECK(rig_holds(0, 2));
}

TEST(test_short_external, "a write from memory of others that was written in part may be late")
{
	lab_fill(chario_buffer_memory(buffer), 1024, 0);
	EQUAL(rig_open(&rig_small), 0);
	halve = true;
	EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, 1024, 1, 0, 0, &released), 0);
	EQUAL(rig_wait(), 0);
	/* The memory of segments until it is idle, then that of others. */
	CHECK(was_late_once(LOOKS + 1));
	EQUAL(released, 1);
	CHECK(rig_holds(0, 1));
}

/* Memory of others is given back when the drive is done, also when all is over. */
TEST(test_memory_of_others, "memory of others is not given back before")
{
	EQUAL(rig_open(&rig_small), 0);
	rig.disk->faults.write.times = 100;
	EQUAL(chario_stream_write_buffer(rig.stream, buffer, 0, 512, 1, 0, 0, &released), 0);
	EQUAL(rig_wait(), -ETIMEDOUT);
	EQUAL(times_late, 4);
	while (left) {
		EQUAL(released, 0);
		EQUAL(chario_stream_service(rig.stream), -ETIMEDOUT);
	}
	EQUAL(released, 1);
	EQUAL(times_late, 4);
	EQUAL(rig_close(), -ETIMEDOUT);
}

/* A recording that ends with a write from a buffer that the drive is not done with. */
static int end_late(void)
{
	int err = rig_open(&rig_small);

	rig.disk->faults.error = -EINVAL;
	rig.disk->faults.write.times = 1;
	busy_id = chario_buffer_id(buffer);
	if (!err)
		err = chario_stream_write_buffer(rig.stream, buffer, 0, 512, 1, 0, 0, &released);
	return err ? err : rig_wait();
}

/* They look and go on, and the descriptor tells when to look again. */
TEST(test_no_sleep, "no call that does not sleep waits for that")
{
	struct chario_stream_room room;

	EQUAL(end_late(), -EINVAL);
	EQUAL(busy_looks, 1);
	EQUAL(chario_stream_service(rig.stream), -EINVAL);
	EQUAL(busy_looks, 2);
	EQUAL(rig_look(), 0);
	EQUAL(rig_get(1, &room), -EINVAL);
	EQUAL(chario_stream_write(rig.stream, "a", 1, 0, 0, 0), -EINVAL);
	CHECK(busy_looks < BUSY_LOOKS);
	EQUAL(released, 0);
	busy_looks = BUSY_LOOKS;
	wait_for_result();
	EQUAL(chario_stream_service(rig.stream), -EINVAL);
	EQUAL(released, 1);
	EQUAL(rig_close(), -EINVAL);
}

/* The end may take as long as the drive does. */
TEST(test_close_waits, "closing does")
{
	EQUAL(end_late(), -EINVAL);
	EQUAL(released, 0);
	EQUAL(rig_close(), -EINVAL);
	EQUAL(busy_looks, BUSY_LOOKS);
	EQUAL(released, 1);
}

/* What has been freed has been waited for: close does not look at it, nor at its handle. */
TEST(test_freed_buffer, "a buffer may be freed after an error")
{
	EQUAL(end_late(), -EINVAL);
	EQUAL(released, 0);
	EQUAL(chario_buffer_free(buffer), 0);
	buffer = NULL;
	gone_id = busy_id;
	EQUAL(rig_close(), -EINVAL);
	EQUAL(busy_looks, 1);
	EQUAL(released, 1);
}

TEST(test_table, "nor is the memory of the table used")
{
	struct chario_area_info info;

	rig.disk->faults.write.times = 1;
	EQUAL(chario_store_create(rig.store, "more", 4096, 0), -ETIMEDOUT);
	EQUAL(looks, LOOKS);
	EQUAL(chario_store_find(rig.store, "more", &info, sizeof(info)), -ENOENT);
	EQUAL(chario_store_create(rig.store, "more", 4096, 0), 0);
	EQUAL(looks, LOOKS);
}

TEST(test_content, "nor that of an area's content")
{
	struct chario_area *area;
	char bytes[5] = "";

	EQUAL(chario_store_create(rig.store, "more", 4096, 0), 0);
	EQUAL(chario_area_open(rig.store, "more", O_RDWR, &area), 0);
	rig.disk->faults.write.times = 1;
	EQUAL(chario_area_write(area, "abcd", 4, 1), -ETIMEDOUT);
	EQUAL(looks, LOOKS);
	EQUAL(chario_area_write(area, "abcd", 4, 1), 4);
	rig.disk->faults.read.times = 1;
	EQUAL(chario_area_read(area, bytes, 4, 1), -ETIMEDOUT);
	EQUAL(looks, 2 * LOOKS);
	EQUAL(chario_area_read(area, bytes, 4, 1), 4);
	CHECK(!strcmp(bytes, "abcd"));
	chario_area_close(area);
}

/* Less than was asked: the rest of the memory, or of the place, may still be used. */
TEST(test_part_of_content, "nor where a part of the content was moved")
{
	struct chario_area *area;

	EQUAL(chario_store_remove(rig.store, LAB_AREA), 0);
	EQUAL(chario_store_create(rig.store, "more", 65536, 0), 0);
	EQUAL(chario_area_open(rig.store, "more", O_RDWR, &area), 0);
	halve = true;
	EQUAL(chario_area_write_buffer(area, buffer, 0, BUFFER_BYTES, 0, 0), 32768);
	EQUAL(looks, LOOKS);
	halve_read = true;
	EQUAL(chario_area_read_buffer(area, buffer, 0, BUFFER_BYTES, 0, 0), 32768);
	EQUAL(looks, 2 * LOOKS);
	EQUAL(chario_area_read_buffer(area, buffer, 0, BUFFER_BYTES, 0, 0), 65536);
	EQUAL(looks, 2 * LOOKS);
	chario_area_close(area);
}

/* What a late read brings would go to the new place with the next bytes. */
TEST(test_move, "a move waits for what it has read and written in part")
{
	unsigned char bytes[8192], found[8192];
	struct chario_area *area;

	memset(bytes, 0x5a, 4096);
	memset(bytes + 4096, 0xa5, 4096);
	EQUAL(chario_store_remove(rig.store, LAB_AREA), 0);
	EQUAL(chario_store_create(rig.store, "gap", 65536, 0), 0);
	EQUAL(chario_store_create(rig.store, "moves", 65536, 0), 0);
	EQUAL(chario_area_open(rig.store, "moves", O_RDWR, &area), 0);
	EQUAL(chario_area_write(area, bytes, 8192, 28672), 8192);
	chario_area_close(area);
	EQUAL(chario_store_remove(rig.store, "gap"), 0);
	halve_read = true;
	halve = true;
	/* Not the blocks of the table. */
	spared_bytes = CHARIO_STORE_BLOCK;
	EQUAL(chario_store_defrag(rig.store, NULL, NULL), 0);
	CHECK(!halve_read && !halve);
	CHECK(looks >= 2 * LOOKS);
	EQUAL(left, 0);
	EQUAL(chario_area_open(rig.store, "moves", O_RDONLY, &area), 0);
	EQUAL(chario_area_read(area, found, 8192, 28672), 8192);
	CHECK(!memcmp(bytes, found, 8192));
	chario_area_close(area);
}

TEST_MAIN(before, after)
