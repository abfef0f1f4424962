// SPDX-License-Identifier: MIT
/* Checks that all data of a store can be read, and are whole if they have a checksum. */
#include "check-data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "interrupt.h"
#include "progress.h"
#include "recording.h"

#define CHUNK_BYTES ((size_t)1 << 20)

/* Largest number of errors, so that a dead disk is not asked for each of its blocks. */
#define MOST_ERRORS 100

/**
 * struct check - a check of the data
 * @cli: call of the verb
 * @list: areas of the store
 * @memory: memory that areas are read into
 * @progress: progress line for all bytes
 * @done_bytes: bytes read so far
 * @findings: findings for programs
 * @nr_lost: number of areas with losses
 * @nr_notes: number of areas that a power cut has taken something from that was not durable
 */
struct check {
	const struct cli *cli;
	struct cli_areas list;
	void *memory;
	struct cli_progress progress;
	uint64_t done_bytes;
	struct json_object *findings;
	unsigned int nr_lost;
	unsigned int nr_notes;
};

/**
 * struct loss - the losses of an area
 * @blocks: number of blocks that cannot be read
 * @first: offset of the first of them in bytes
 * @records: number of records that are missing and were not lost when recording
 * @undurable: number of other records that are missing, and were not durable
 * @segments: number of segments that cannot be read and may hold the newest records
 */
struct loss {
	uint64_t blocks;
	uint64_t first;
	uint64_t records;
	uint64_t undurable;
	uint64_t segments;
};

/* In an area that is being filled, the rest is undefined. */
static uint64_t bytes_of(const struct chario_area_info *area)
{
	return area->flags & CHARIO_AREA_FILLING ? area->filled_bytes : area->bytes;
}

/* Returns whether an error concerns one place only, so that others can still be read. */
static bool is_unreadable(ssize_t err)
{
	return err == -EIO || err == -ENODATA || err == -EBADMSG || err == -EILSEQ;
}

static void add_bytes(struct check *check, uint64_t bytes)
{
	check->done_bytes += bytes;
	cli_progress_update(&check->progress, check->done_bytes);
}

/*
 * Read the next bytes.  Returns their number or a negative errno.  If a part of the piece
 * cannot be read, it returns 0, and the piece up to *@slow_end is read again block by
 * block.
 */
static ssize_t read_piece(const struct check *check, struct chario_area *area, uint64_t at,
			  uint64_t end, uint64_t *slow_end)
{
	size_t piece = at < *slow_end ? CHARIO_STORE_BLOCK : CHUNK_BYTES;
	size_t bytes = end - at < piece ? (size_t)(end - at) : piece;
	ssize_t got = chario_area_read(area, check->memory, bytes, at);

	if (!is_unreadable(got) || piece == CHARIO_STORE_BLOCK)
		return got ? got : -EIO;
	*slow_end = at + bytes;
	return 0;
}

static int read_bytes(struct check *check, struct chario_area *area, uint64_t end,
		      struct loss *loss)
{
	uint64_t at = 0, slow_end = 0;

	while (at < end && loss->blocks < MOST_ERRORS && !cli_interrupted()) {
		ssize_t got = read_piece(check, area, at, end, &slow_end);

		if (is_unreadable(got)) {
			if (!loss->blocks++)
				loss->first = at;
			got = CHARIO_STORE_BLOCK;
		}
		if (got < 0)
			return (int)got;
		at += (uint64_t)got;
		add_bytes(check, (uint64_t)got);
	}
	return 0;
}

static int read_area(struct check *check, const struct chario_area_info *info, struct loss *loss)
{
	struct chario_area *area;
	int err = chario_area_open(check->cli->store, info->name, O_RDONLY, &area);

	if (err)
		return err;
	err = read_bytes(check, area, bytes_of(info), loss);
	chario_area_close(area);
	return err;
}

/* Records that are there have right checksums; all others are missing. */
static int read_records(struct check *check, struct chario_reader *reader, struct loss *loss)
{
	struct chario_recording recording;
	struct chario_record record = { 0 };
	uint64_t missing = 0, lost = 0;
	int err = 0;

	while (!err && !cli_interrupted()) {
		err = chario_reader_next(reader, 0, &record);
		if (!err || err == -ENODATA || err == -EAGAIN)
			missing += record.missing;
		if (!err)
			add_bytes(check, record.bytes);
	}
	if (err != -ENODATA && err != -EAGAIN)
		return err;
	err = chario_reader_get_recording(reader, &recording, sizeof(recording));
	if (err)
		return err;
	/* A producer is about to write behind the newest record. */
	loss->segments = recording.live ? 0 : recording.unreadable_segments;
	if (!missing)
		return 0;
	err = chario_reader_count_missing(reader, &lost, &loss->undurable);
	missing -= lost < missing ? lost : missing;
	/* Counts that do not agree tell nothing for sure. */
	if (loss->undurable > missing)
		loss->undurable = 0;
	loss->records = missing - loss->undurable;
	/* A producer overwrites the oldest records of its ring while the others are read. */
	if (recording.live && recording.ring)
		loss->undurable = 0;
	return err;
}

static int read_recording(struct check *check, const struct chario_area_info *info,
			  struct loss *loss)
{
	struct chario_reader *reader;
	int err = chario_reader_open(check->cli->store, info->name, &reader);

	if (err)
		return err;
	err = read_records(check, reader, loss);
	chario_reader_close(reader);
	return err;
}

static void print_loss(const struct chario_area_info *info, const struct loss *loss,
		       const char *advice)
{
	const char *comma = "";
	char count[48], size[32];

	printf("loss: ");
	if (loss->records) {
		printf("%s missing or damaged", cli_count(count, loss->records, "record"));
		comma = ", ";
	}
	if (loss->segments) {
		printf("%s%s behind the newest record cannot be read", comma,
		       cli_count(count, loss->segments, "segment"));
		comma = ", ";
	}
	if (loss->blocks)
		printf("%s%s cannot be read, the first at %s", comma,
		       cli_count(count, loss->blocks, "block"), cli_exact_size(size, loss->first));
	if (loss->blocks >= MOST_ERRORS)
		printf(", and the rest was not tried");
	cli_print(": \"%s\"\n  %s\n", info->name, advice);
}

static void tell_loss(struct check *check, const struct chario_area_info *info,
		      const struct loss *loss)
{
	const char *advice =
		info->flags & CHARIO_AREA_STREAM ?
			"chario replay gives all other records; record --append keeps what cannot be read" :
			"put it again from a backup; dd conv=noerror,sync copies the rest";
	struct json_object *object;

	check->nr_lost++;
	if (!check->cli->json) {
		print_loss(info, loss, advice);
		return;
	}
	object = cli_must(json_object_new_object());
	cli_json_text(object, "damage", "data");
	cli_json_text(object, "severity", "loss");
	cli_json_text(object, "name", info->name);
	cli_json_number(object, "missing_records", loss->records);
	cli_json_number(object, "unreadable_blocks", loss->blocks);
	cli_json_number(object, "first_unreadable", loss->first);
	cli_json_number(object, "unreadable_segments", loss->segments);
	cli_json_text(object, "advice", advice);
	json_object_array_add(check->findings, object);
}

/* Records that were not durable are no loss: the producer was not told that they are there. */
static void tell_cut(struct check *check, const struct chario_area_info *info,
		     const struct loss *loss)
{
	static const char advice[] = "nothing is to be done; records reach the disk in any order "
				     "until they are durable";
	struct json_object *object;
	char count[48];

	check->nr_notes++;
	if (!check->cli->json) {
		cli_print(
			"note: %s missing that had not become durable, or were being overwritten, "
			"when recording was cut off: \"%s\"\n  %s\n",
			cli_count(count, loss->undurable, "record"), info->name, advice);
		return;
	}
	object = cli_must(json_object_new_object());
	cli_json_text(object, "damage", "data");
	cli_json_text(object, "severity", "note");
	cli_json_text(object, "name", info->name);
	cli_json_number(object, "undurable_records", loss->undurable);
	cli_json_text(object, "advice", advice);
	json_object_array_add(check->findings, object);
}

static bool check_area(struct check *check, const struct chario_area_info *info)
{
	bool is_recording = info->flags & CHARIO_AREA_STREAM;
	uint64_t done_bytes = check->done_bytes;
	struct loss loss = { 0 };
	int err = is_recording ? read_recording(check, info, &loss) : read_area(check, info, &loss);

	bool is_lost = loss.blocks || loss.records || loss.segments;

	if (is_lost || loss.undurable || err)
		cli_progress_clear();
	if (is_lost)
		tell_loss(check, info, &loss);
	if (loss.undurable)
		tell_cut(check, info, &loss);
	/* Another process has removed the area, or begun a new recording in it. */
	if (err && err != -ENOENT && err != -ESTALE)
		cli_fail_area(check->cli, err, "cannot check \"%s\"", info->name);
	check->done_bytes = done_bytes;
	add_bytes(check, bytes_of(info));
	return !err || err == -ENOENT || err == -ESTALE;
}

static bool check_all(struct check *check, bool quiet)
{
	uint64_t total_bytes = 0;
	bool is_done = true;

	for (size_t i = 0; i < check->list.nr_areas; i++)
		total_bytes += bytes_of(&check->list.areas[i]);
	cli_progress_begin(&check->progress, "data", 0, total_bytes, quiet);
	for (size_t i = 0; i < check->list.nr_areas && !cli_interrupted(); i++)
		is_done &= check_area(check, &check->list.areas[i]);
	cli_progress_end(&check->progress);
	if (!cli_interrupted())
		return is_done;
	cli_say(check->cli, "interrupted: not all data have been read");
	return false;
}

bool cli_check_data(struct cli *cli, bool quiet, struct cli_data *data)
{
	struct check check = { .cli = cli, .findings = data->findings };
	bool is_done;
	int err;

	if (!cli_open_store(cli, O_RDONLY))
		return false;
	cli_interrupt_catch();
	check.memory = cli_must(malloc(CHUNK_BYTES));
	err = chario_store_each(cli->store, cli_areas_add, &check.list);
	if (err)
		cli_fail_store(cli, err, "cannot read the table");
	is_done = !err && check_all(&check, quiet);
	free(check.memory);
	free(check.list.areas);
	data->nr_lost = check.nr_lost;
	data->nr_notes = check.nr_notes;
	return is_done;
}
