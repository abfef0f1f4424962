// SPDX-License-Identifier: MIT
/*
 * A device that goes away in the middle of a call: whichever use of it is the first to fail,
 * the call says so.  Memory is handed over between processor and device, which may fail, too.
 * -ENODEV is no damage, which would be made up for.
 */
#include "tape-lab.h"
#include "own-store.h"

#define DISK_BYTES   (1U << 20)
#define SEGMENT      8192U
#define RECORDS      20U
#define RECORD_BYTES 3000U

static const struct chario_store_layout layout = { .size = sizeof(layout), .max_areas = 20 };

static unsigned char *image;

static int record(unsigned int flags, enum chario_durability durability)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = flags,
		.segment_bytes = SEGMENT,
		.nr_buffers = 2,
		.durability = durability,
	};
	struct chario_stream *stream;
	int closed, err = chario_stream_open(store, LAB_AREA, &options, &stream);

	if (err)
		return err;
	for (uint64_t i = 0; i < RECORDS && !err; i++)
		err = lab_write(stream, i, RECORD_BYTES);
	if (!err)
		err = chario_stream_wait(stream, UINT64_MAX, -1);
	closed = chario_stream_close(stream);
	return err ? err : closed;
}

/* A recording, an area that would slide, and others, the last in a block of the table of its own. */
static int fill(void)
{
	static const char *const names[] = {
		"gap", "slides", "c", "d", "e", "f", "g", "h", "i", "z"
	};
	int err = chario_store_create(store, LAB_AREA, DISK_BYTES / 4, 0);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !err; i++)
		err = chario_store_create(store, names[i], i == 1 ? 32768 : 4096, 0);
	if (!err)
		err = chario_store_remove(store, "gap");
	return err ? err : record(0, CHARIO_DURABILITY_FUA);
}

static void close_store(void)
{
	chario_store_close(store);
	store = NULL;
}

static void begin(void)
{
	disk = log_disk_create(DISK_BYTES, LAB_SECTOR);
	disk->incoherent = true;
	memcpy(disk->image, image, DISK_BYTES);
	if (rig_open(disk, O_RDWR, &store))
		abort();
}

static void make_image(void)
{
	/* Against hanging for ever. */
	alarm(300);
	disk = rig_begin(DISK_BYTES, LAB_SECTOR, &layout, &store);
	if (fill())
		abort();
	image = malloc(DISK_BYTES);
	memcpy(image, disk->image, DISK_BYTES);
	drop_own_store();
}

/* the calls */

/* A call that is one expression. */
#define CALL(name, call)           \
	static int do_##name(void) \
	{                          \
		return call;       \
	}

static int do_format(void)
{
	struct chario_store_layout anew = layout;

	anew.flags = CHARIO_LAYOUT_REPLACE;
	close_store();
	return rig_format(disk, &anew);
}

/* Of a table block and of the header one copy is damaged. */
static int do_check(void)
{
	memset(disk->image + DISK_BYTES - CHARIO_STORE_BLOCK, 0x5a, CHARIO_STORE_BLOCK);
	memset(disk->image + STORE_TABLE_BLOCK * CHARIO_STORE_BLOCK, 0x5a, CHARIO_STORE_BLOCK);
	close_store();
	return rig_check(disk, CHARIO_CHECK_REPAIR, NULL);
}

static int open_again(int flags)
{
	close_store();
	return rig_open(disk, flags, &store);
}

CALL(open, open_again(O_RDWR))
CALL(open_to_read, open_again(O_RDONLY))

/* Another program has changed both blocks of the table meanwhile. */
static int do_look(void)
{
	struct chario_area_info info;
	const struct log_faults faults = disk->faults;
	struct chario_store *mine = store;
	int err;

	log_disk_heal(disk);
	err = rig_open(disk, O_RDWR, &store) ?: chario_store_exchange(store, "c", "z");
	chario_store_close(store);
	store = mine;
	disk->faults = faults;
	return err ?: chario_store_find(store, "c", &info, sizeof(info));
}

CALL(create, chario_store_create(store, "new", 4096, 0))
CALL(rename, chario_store_rename(store, "c", "new"))
CALL(attributes, chario_store_set_attributes(store, "c", "user.a=b\0"))
CALL(exchange, chario_store_exchange(store, "c", "z"))
CALL(replace, chario_store_replace(store, "c", "z"))
CALL(remove, chario_store_remove(store, "c"))
CALL(resize, chario_store_resize(store, "z", 8192))
CALL(resize_and_move, chario_store_resize(store, "slides", 65536))
CALL(defrag, chario_store_defrag(store, NULL, NULL))

static int use_area(int flags, int (*use)(struct chario_area *area))
{
	struct chario_area *area;
	int err = chario_area_open(store, "slides", flags, &area);

	if (err)
		return err;
	err = use(area);
	chario_area_close(area);
	return err;
}

/* From the middle of a block to the middle of another. */
static int write_area(struct chario_area *area)
{
	static unsigned char memory[10000];
	ssize_t moved = chario_area_write(area, memory, sizeof(memory), 1000);

	return moved < 0 ? (int)moved : chario_area_sync(area);
}

static int read_area(struct chario_area *area)
{
	static unsigned char memory[10000];
	ssize_t moved = chario_area_read(area, memory, sizeof(memory), 1000);

	return moved < 0 ? (int)moved : 0;
}

CALL(write, use_area(O_RDWR, write_area))
CALL(read, use_area(O_RDONLY, read_area))

static int do_publish(void)
{
	struct chario_area *area;
	int err = chario_store_create(store, "filled", 4096, CHARIO_CREATE_FILLING) ?:
			  chario_area_open(store, "filled", O_RDWR, &area);

	if (err)
		return err;
	err = chario_area_set_filled(area, 2048, 1) ?: chario_area_publish(area, "z");
	chario_area_close(area);
	return err;
}

CALL(record, record(0, CHARIO_DURABILITY_FLUSH))
CALL(record_ring, record(CHARIO_STREAM_RING, CHARIO_DURABILITY_FUA))
CALL(append, record(CHARIO_STREAM_APPEND, CHARIO_DURABILITY_FLUSH))

static int read_records(struct chario_reader *reader)
{
	struct chario_recording recording;
	struct chario_record is;
	int err = chario_reader_get_recording(reader, &recording, sizeof(recording)) ?:
			  chario_reader_seek(reader, RECORDS / 2)                    ?:
			  chario_reader_seek_time(reader, 3)                         ?:
			  chario_reader_seek_newest(reader, RECORDS);

	for (uint64_t i = 0; i < RECORDS && !err; i++) {
		err = chario_reader_next(reader, 0, &is);
		if (!err && (is.sequence != i || is.missing))
			err = -EPROTO;
	}
	return err ? err : chario_reader_next(reader, 0, &is) == -ENODATA ? 0 : -ENODEV;
}

static int replay(int (*use)(struct chario_reader *reader))
{
	struct chario_reader *reader;
	int err = chario_reader_open(store, LAB_AREA, &reader);

	if (err)
		return err;
	err = use(reader);
	chario_reader_close(reader);
	return err;
}

CALL(replay, replay(read_records))

/* A ring that has come round and was cut off, of which more is damaged than a window. */
static int cut_ring(void)
{
	const struct chario_stream_options options = { .size = sizeof(options),
						       .flags = CHARIO_STREAM_RING,
						       .segment_bytes = SEGMENT,
						       .nr_buffers = 2,
						       .durability = CHARIO_DURABILITY_FUA };
	const struct log_faults faults = disk->faults;
	unsigned char *left = malloc(DISK_BYTES);
	struct chario_stream *stream;
	uint64_t at;
	int err;

	log_disk_heal(disk);
	at = lab_area_offset(store);
	err = chario_stream_open(store, LAB_AREA, &options, &stream);
	for (uint64_t i = 0; i < 5 * RECORDS && !err; i++)
		err = lab_write(stream, i, RECORD_BYTES);
	err = err ?: chario_stream_wait(stream, UINT64_MAX, -1);
	memcpy(left, disk->image, DISK_BYTES);
	err = chario_stream_close(stream) ?: err;
	close_store();
	memcpy(disk->image, left, DISK_BYTES);
	memset(disk->image + at + 2 * SEGMENT, 0, 6 * SEGMENT);
	free(left);
	disk->faults = faults;
	return err ?: rig_open(disk, O_RDWR, &store);
}

static int read_ring(struct chario_reader *reader)
{
	struct chario_recording recording;
	struct chario_record is;
	int err = chario_reader_get_recording(reader, &recording, sizeof(recording)) ?:
			  chario_reader_seek(reader, 4 * RECORDS);

	while (!err)
		err = chario_reader_next(reader, 0, &is);
	err = err == -EAGAIN ? chario_reader_seek_newest(reader, RECORDS) : err;
	err = err ?: chario_reader_seek_time(reader, 3);
	while (!err)
		err = chario_reader_next(reader, 0, &is);
	return err == -EAGAIN ? 0 : err;
}

CALL(replay_ring, cut_ring() ?: replay(read_ring))
CALL(append_to_ring,
     cut_ring() ?: record(CHARIO_STREAM_APPEND | CHARIO_STREAM_RING, CHARIO_DURABILITY_FUA))

/*
 * Uses that may fail and nothing is lost: the end of a change in the note; or the blocks of a
 * log, what takes a failed one back, and the end.
 */
#define NOTE 1U
#define LOG  4U

/**
 * struct call - a call, and what but reads may fail without a word of it
 * @name: of the call
 * @run: makes it
 * @spare: uses that fail without a word, at most
 */
struct call {
	const char *name;
	int (*run)(void);
	uint64_t spare;
};

static const struct call calls[] = {
	{ "format", do_format, 0 },
	{ "check", do_check, 0 },
	{ "open", do_open, 0 },
	{ "open to read", do_open_to_read, 0 },
	{ "look", do_look, 0 },
	{ "create", do_create, NOTE },
	{ "rename", do_rename, NOTE },
	{ "attributes", do_attributes, NOTE },
	{ "exchange", do_exchange, LOG },
	{ "replace", do_replace, LOG },
	{ "remove", do_remove, NOTE },
	{ "resize", do_resize, NOTE },
	{ "resize and move", do_resize_and_move, NOTE },
	{ "defrag", do_defrag, 0 },
	{ "write", do_write, 0 },
	{ "read", do_read, 0 },
	{ "publish", do_publish, LOG },
	{ "record", do_record, NOTE },
	{ "record a ring", do_record_ring, NOTE },
	{ "append", do_append, NOTE },
	{ "replay", do_replay, 0 },
	{ "replay a ring", do_replay_ring, 0 },
	{ "append to a ring", do_append_to_ring, NOTE },
};

/* Fail from a use on, or a read once.  Returns 1 where all went well without it, else 0 or -EPROTO. */
static int fail_at(const struct call *call, uint64_t number, bool once)
{
	uint64_t failed;
	int err;

	begin();
	disk->faults.error = -ENODEV;
	if (once)
		disk->faults.read = (struct log_fault){ number, 1 };
	else
		disk->faults.use = (struct log_fault){ number, LOG_FOR_EVER };
	err = call->run();
	failed = once ? !disk->faults.read.times : disk->nr_failed;
	log_disk_heal(disk);
	drop_own_store();
	if (!failed)
		return err ? err : 1;
	if (err == -ENODEV || (!err && !once && failed <= call->spare))
		return 0;
	printf("# %s gives %d where %d fail, from %d on\n", call->name, err, (int)failed,
	       (int)number);
	return -EPROTO;
}

TEST(test_calls, "whichever use of the device fails first, a call says so")
{
	for (size_t i = 0; i < 2 * sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *call = &calls[i / 2];
		uint64_t number = 0;
		/* What is in the log has been done. */
		int ret = i & 1 && call->spare == LOG;

		while (!ret)
			ret = fail_at(call, number++, i & 1);
		printf("# %s: %d uses\n", call->name, (int)number - 1);
		EQUAL(ret, 1);
	}
}

TEST_MAIN(make_image, tap_nothing)
