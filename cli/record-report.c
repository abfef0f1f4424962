// SPDX-License-Identifier: MIT
/* The report of a recording. */
#include <inttypes.h>
#include <stdio.h>

#include "record.h"

static const char *const durabilities[] = {
	[CHARIO_DURABILITY_AUTO] = "auto",
	[CHARIO_DURABILITY_NONE] = "none",
	[CHARIO_DURABILITY_FLUSH] = "flush",
	[CHARIO_DURABILITY_FUA] = "fua",
};

const char *cli_record_durability(uint32_t durability)
{
	return CLI_NAME(durabilities, durability);
}

static double seconds_of(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

uint64_t cli_record_rate(const struct cli_record *record, const struct chario_stream_status *status,
			 uint64_t passed_ns)
{
	double bytes = (double)(status->bytes - record->begun.bytes);

	return passed_ns ? (uint64_t)(bytes / seconds_of(passed_ns)) : 0;
}

static const char *end_name(uint32_t end)
{
	static const char *const names[] = {
		[CHARIO_RECORDER_SOURCE] = "the source has ended",
		[CHARIO_RECORDER_LIMIT] = "as asked",
		[CHARIO_RECORDER_STOPPED] = "interrupted",
		[CHARIO_RECORDER_FULL] = "the area is full",
		[CHARIO_RECORDER_READ] = "the source failed",
		[CHARIO_RECORDER_WRITE] = "the disk failed",
	};

	return CLI_NAME(names, end);
}

static void print_text(const struct cli_record *record, const struct chario_stream_status *status,
		       uint64_t passed_ns)
{
	const struct chario_recorder *recorder = &record->recorder;
	double seconds = seconds_of(passed_ns);
	char size[32], rate[32], bytes[48], records[48], gaps[48];

	printf("%-14s %s, after %.3f s\n", "ended", end_name(recorder->end), seconds);
	printf("%-14s %" PRIu64 "\n", "records", status->records);
	printf("%-14s %s (%s, %s/s)\n", "data", cli_count(bytes, status->bytes, "byte"),
	       cli_round_size(size, status->bytes),
	       cli_round_size(rate, cli_record_rate(record, status, passed_ns)));
	printf("%-14s %s, %s (%s)\n", "durable", cli_count(bytes, status->durable_bytes, "byte"),
	       cli_count(records, status->durable_records, "record"),
	       cli_record_durability(status->durability));
	printf("%-14s %" PRIu64 " of %" PRIu64
	       " segments, %.3f s together, the longest took %.3f s\n",
	       "late", status->late, status->segments, seconds_of(status->late_ns),
	       seconds_of(status->longest_ns));
	printf("%-14s %s, %s, in %s of %.3f s together\n", "lost",
	       cli_count(records, status->lost_records, "record"),
	       cli_count(bytes, status->lost_bytes, "byte"), cli_count(gaps, recorder->gaps, "gap"),
	       seconds_of(recorder->gap_ns));
	printf("%-14s %" PRIu64 ", %.3f s together, the longest took %.3f s\n", "waits",
	       recorder->waits, seconds_of(recorder->wait_ns),
	       seconds_of(recorder->longest_wait_ns));
	printf("%-14s %u of %u free at the least\n", "buffers", status->least_free_buffers,
	       status->nr_buffers);
	printf("%-14s %" PRIu64 " retries, %" PRIu64 " flushes; a segment takes %.3f ms, 99 %% "
	       "below %.3f ms\n",
	       "disk", status->retries, status->flushes, (double)status->segment_ns[0] / 1e6,
	       (double)status->segment_ns[1] / 1e6);
}

static void print_json(const struct cli_record *record, const struct chario_stream_status *status,
		       uint64_t passed_ns)
{
	const struct chario_recorder *recorder = &record->recorder;
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "name", record->name);
	cli_json_text(object, "ended", end_name(recorder->end));
	cli_json_text(object, "durability", cli_record_durability(status->durability));
	cli_json_number(object, "passed_ns", passed_ns);
#define NUMBER(name) cli_json_number(object, #name, status->name)
	NUMBER(records);
	NUMBER(bytes);
	NUMBER(durable_records);
	NUMBER(durable_bytes);
	NUMBER(capacity_bytes);
	NUMBER(segments);
	NUMBER(segment_bytes);
	NUMBER(nr_buffers);
	NUMBER(least_free_buffers);
	NUMBER(late);
	NUMBER(late_ns);
	NUMBER(longest_ns);
	NUMBER(lost_records);
	NUMBER(lost_bytes);
	NUMBER(retries);
	NUMBER(flushes);
#undef NUMBER
	cli_json_number(object, "gaps", recorder->gaps);
	cli_json_number(object, "gap_ns", recorder->gap_ns);
	cli_json_number(object, "waits", recorder->waits);
	cli_json_number(object, "wait_ns", recorder->wait_ns);
	cli_json_number(object, "longest_wait_ns", recorder->longest_wait_ns);
	cli_json_number(object, "segment_p50_ns", status->segment_ns[0]);
	cli_json_number(object, "segment_p99_ns", status->segment_ns[1]);
	cli_json_number(object, "segment_p999_ns", status->segment_ns[2]);
	cli_json_print(object);
}

void cli_record_print(const struct cli_record *record, const struct chario_stream_status *status,
		      uint64_t passed_ns)
{
	if (record->cli->json)
		print_json(record, status, passed_ns);
	else
		print_text(record, status, passed_ns);
}
