// SPDX-License-Identifier: MIT
/* The content of a recording, without reading all of it. */
#include "recording.h"

#include <inttypes.h>
#include <stdio.h>

bool cli_find_recording(const struct cli *cli, const char *name, struct chario_recording *recording)
{
	struct chario_reader *reader;
	int err = chario_reader_open(cli->store, name, &reader);

	if (!err) {
		err = chario_reader_get_recording(reader, recording, sizeof(*recording));
		chario_reader_close(reader);
	}
	if (err)
		cli_fail_area(cli, err, "cannot read the recording in \"%s\"", name);
	return !err;
}

const char *cli_recording_state(const struct chario_recording *recording)
{
	if (recording->live)
		return "being made";
	if (recording->missing_records)
		return "damaged";
	return recording->ended ? "closed" : "cut off";
}

static void print_count(const char *name, uint64_t records, uint64_t bytes)
{
	char count[48], length[48], size[32];

	printf("%-16s %s, %s (%s)\n", name, cli_count(count, records, "record"),
	       cli_count(length, bytes, "byte"), cli_round_size(size, bytes));
}

void cli_print_recording(const struct chario_recording *recording)
{
	char time[32], size[32];

	print_count("recorded", recording->records, recording->bytes);
	if (recording->last_time_ns) {
		printf("%-16s number %" PRIu64 ", %s\n", "first record", recording->first_record,
		       cli_show_time(time, recording->first_time_ns));
		printf("%-16s number %" PRIu64 ", %s\n", "last record", recording->next_record - 1,
		       cli_show_time(time, recording->last_time_ns));
	}
	printf("%-16s %s%s\n", "segment", cli_exact_size(size, recording->segment_bytes),
	       recording->ring ? ", in a ring" : "");
	if (recording->lost_records)
		print_count("lost", recording->lost_records, recording->lost_bytes);
	if (recording->missing_records)
		print_count("missing", recording->missing_records, recording->missing_bytes);
	printf("%-16s %s\n", "end", cli_recording_state(recording));
	if (recording->ended_ns)
		printf("%-16s %s\n", "closed last", cli_show_time(time, recording->ended_ns));
}

#define MEMBER(name) CLI_MEMBER(chario_recording, name)
static const struct cli_member members[] = {
	MEMBER(segment_bytes),
	MEMBER(records),
	MEMBER(bytes),
	MEMBER(first_record),
	MEMBER(next_record),
	MEMBER(first_time_ns),
	MEMBER(last_time_ns),
	MEMBER(durable_records),
	MEMBER(lost_records),
	MEMBER(lost_bytes),
	MEMBER(missing_records),
	MEMBER(missing_bytes),
	MEMBER(torn_segments),
	MEMBER(ended_ns),
	MEMBER(unreadable_segments),
	{ 0 },
};

struct json_object *cli_recording_object(const struct chario_recording *recording)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "state", cli_recording_state(recording));
	cli_json_flag(object, "ring", recording->ring);
	cli_json_members(object, members, recording);
	return object;
}
