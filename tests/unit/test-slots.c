// SPDX-License-Identifier: MIT
/*
 * The slots of a copy, with a drive that is late: what a transfer did not do may still be
 * with the drive, which uses the memory and the place on the disk until it says that it is
 * done.
 */
#include "copy/slots.h"
#include "device/ops.h"
#include "own-store.h"

#define PIECE  8192U
#define PIECES 8U

/* So often it is looked at until the drive is done. */
#define LOOKS 4U

static struct chario_area *area;
static struct copy_slots slots;
static const struct chario_device_ops *real;
static struct chario_device_ops ops;

/**
 * struct late - what is still with the drive
 * @mutex: protects all below: a queue may have threads
 * @result: of a transfer that is late, where half of it is not
 * @armed: the next transfer is late
 * @left: looks until it is done
 * @transfer: it
 * @looks: that there were
 * @clashes: transfers of the same memory or place before it was done
 */
static struct late {
	pthread_mutex_t mutex;
	int result;
	bool armed;
	unsigned int left;
	struct chario_transfer transfer;
	unsigned int looks;
	unsigned int clashes;
} late;

static bool is_clash(const struct chario_transfer *transfer)
{
	const struct chario_transfer *other = &late.transfer;

	if (!late.left)
		return false;
	return transfer->buffer == other->buffer ||
	       (transfer->disk_offset < other->disk_offset + other->bytes &&
		other->disk_offset < transfer->disk_offset + transfer->bytes);
}

/* What is late is the second half; or the whole, and then all there is is an error. */
static int begin(struct chario_transfer *transfer)
{
	if (transfer->op == CHARIO_TRANSFER_FLUSH)
		return 0;
	late.clashes += is_clash(transfer);
	if (!late.armed)
		return 0;
	late.armed = false;
	late.left = LOOKS;
	late.transfer = *transfer;
	if (late.result)
		return late.result;
	transfer->bytes /= 2;
	late.transfer.bytes -= transfer->bytes;
	late.transfer.buffer_offset += transfer->bytes;
	late.transfer.disk_offset += transfer->bytes;
	return 0;
}

static ssize_t transfer_late(const struct chario_device *device, struct chario_transfer *transfer)
{
	int err;

	pthread_mutex_lock(&late.mutex);
	err = begin(transfer);
	pthread_mutex_unlock(&late.mutex);
	return err ? err : real->transfer(device, transfer);
}

static int look(const struct chario_buffer *buffer, struct chario_buffer_sync *sync)
{
	int err = 0;

	if (sync->direction != CHARIO_SYNC_IDLE)
		return 0;
	pthread_mutex_lock(&late.mutex);
	late.looks++;
	if (late.left && buffer->id == late.transfer.buffer) {
		err = --late.left ? -EBUSY : 0;
		if (!err)
			real->transfer(buffer->device, &late.transfer);
	}
	pthread_mutex_unlock(&late.mutex);
	return err;
}

static void before(void)
{
	struct chario_device *device;

	make_own_store(1 << 20, 512, 10);
	device = chario_store_device(store);
	real = device->ops;
	ops = *real;
	ops.transfer = transfer_late;
	ops.sync_buffer = look;
	device->ops = &ops;
	late = (struct late){ .mutex = PTHREAD_MUTEX_INITIALIZER };
	chario_store_create(store, "area", PIECES * PIECE, 0);
}

static void close_all(void)
{
	chario_slots_close(&slots);
	chario_area_close(area);
	slots = (struct copy_slots){ 0 };
	area = NULL;
}

static void after(void)
{
	close_all();
	drop_own_store();
}

static int finish_oldest(unsigned int *sum)
{
	const struct copy_slot *slot;
	int err = chario_slots_wait(&slots, &slot);
	const unsigned char *memory = slot->pool.memory;

	if (err)
		return err;
	/* All bytes of a piece are its number. */
	if (memory[0] == slot->offset / PIECE + 1 && !memcmp(memory, memory + 1, PIECE - 1))
		++*sum;
	chario_slots_drop(&slots);
	return 0;
}

/* Pieces that were as they should be, or a negative errno. */
static int copy_pieces(void)
{
	unsigned int begun = 0, sum = 0;
	int err = 0;

	while (!err && (begun < PIECES || slots.used)) {
		unsigned char *memory = begun < PIECES ? chario_slots_next(&slots) : NULL;

		if (!memory) {
			err = finish_oldest(&sum);
			continue;
		}
		memset(memory, slots.op == CHARIO_TRANSFER_WRITE ? (int)begun + 1 : 0xee, PIECE);
		err = chario_slots_start(&slots, (uint64_t)begun * PIECE, PIECE);
		begun += !err;
	}
	return err ? err : (int)sum;
}

static int open_all(enum chario_transfer_op op)
{
	int err = chario_area_open(store, "area", O_RDWR, &area);

	return err ? err : chario_slots_open(&slots, area, op);
}

static int copy_late(void)
{
	late.armed = true;
	return copy_pieces();
}

static int read_back(void)
{
	close_all();
	late.armed = false;
	return open_all(CHARIO_TRANSFER_READ) ?: copy_pieces();
}

TEST(test_write, "the rest of a write waits for a late drive")
{
	EQUAL(open_all(CHARIO_TRANSFER_WRITE), 0);
	EQUAL(copy_late(), PIECES);
	EQUAL(late.clashes, 0);
	EQUAL(late.looks, LOOKS);
	EQUAL(read_back(), PIECES);
}

TEST(test_read, "the rest of a read waits for a late drive")
{
	EQUAL(open_all(CHARIO_TRANSFER_WRITE), 0);
	EQUAL(copy_pieces(), PIECES);
	close_all();
	EQUAL(open_all(CHARIO_TRANSFER_READ), 0);
	EQUAL(copy_late(), PIECES);
	EQUAL(late.clashes, 0);
	EQUAL(late.looks, LOOKS);
}

TEST(test_error, "an error is not told before")
{
	EQUAL(open_all(CHARIO_TRANSFER_WRITE), 0);
	late.result = -ENODATA;
	EQUAL(copy_late(), -ENODATA);
	EQUAL(late.left, 0);
	EQUAL(late.looks, LOOKS);
}

/* The second piece lies in both places of the area. */
TEST(test_moving, "an area in two pieces is written where they are")
{
	EQUAL(open_all(CHARIO_TRANSFER_WRITE), 0);
	area->fields.flags |= STORE_ENTRY_MOVING;
	area->fields.moved_bytes = PIECE + PIECE / 2;
	area->fields.move_offset = area->fields.offset + (1 << 18);
	EQUAL(copy_late(), PIECES);
	EQUAL(late.clashes, 0);
	for (unsigned int i = 0; i < PIECES; i++) {
		uint64_t at = area->fields.offset + i * PIECE;

		EQUAL(disk->image[at + (i > 1 ? 1 << 18 : 0)], i + 1);
		EQUAL(disk->image[at + PIECE - 1 + (i > 0 ? 1 << 18 : 0)], i + 1);
	}
}

TEST_MAIN(before, after)
