// SPDX-License-Identifier: MIT
/*
 * The report of a timeline, for people and as JSON: the times of requests from stage to
 * stage, and the times at which they passed the points of the paper's Figure 3.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <chario/device.h>

#include "timeline.h"

#define NR_STAGES CHARIO_TIMELINE_STAGES

/* The values of all requests, one for each. */
struct series {
	uint64_t *values;
	size_t count;
};

/*
 * The points of Figure 3 as times since the system call was entered.  Software cannot see
 * the paper's third point, at which the drive raises its interrupt.
 */
enum point {
	POINT_SUBMITTED,
	POINT_HANDLED,
	POINT_POLLED,
	POINT_RESUMED,
	NR_POINTS,
};

static const struct {
	const char *name;
	const char *title;
} points[NR_POINTS] = {
	[POINT_SUBMITTED] = { "submitted", "command submitted to the drive (doorbell)" },
	[POINT_HANDLED] = { "handled", "kernel begins to handle the interrupt (irq)" },
	[POINT_POLLED] = { "polled", "completion seen by polling (reap)" },
	[POINT_RESUMED] = { "resumed", "application is resumed (finish)" },
};

/**
 * struct report - the results of a timeline
 * @took: for each stage, the times since the previous stage; for enter, the times of
 *	whole requests
 * @reached: for each point, the times since enter
 * @totals: numbers of records
 * @header: header of the timeline
 * @stopper: request that froze the rings
 * @has_stopper: true if its records are still there
 */
struct report {
	struct series took[NR_STAGES];
	struct series reached[NR_POINTS];
	struct chario_timeline_totals totals;
	const struct chario_timeline_header *header;
	struct chario_timeline_request stopper;
	bool has_stopper;
};

static void add(struct series *series, uint64_t value)
{
	series->values = cli_grow(series->values, series->count, sizeof(value));
	series->values[series->count++] = value;
}

static void add_points(struct report *report, const struct chario_timeline_request *request)
{
	const uint64_t *first = request->first_ns, *last = request->last_ns;
	uint64_t enter = first[CHARIO_STAGE_ENTER];

	if (first[CHARIO_STAGE_DOORBELL])
		add(&report->reached[POINT_SUBMITTED], first[CHARIO_STAGE_DOORBELL] - enter);
	if (last[CHARIO_STAGE_IRQ])
		add(&report->reached[POINT_HANDLED], last[CHARIO_STAGE_IRQ] - enter);
	else if (last[CHARIO_STAGE_REAP])
		add(&report->reached[POINT_POLLED], last[CHARIO_STAGE_REAP] - enter);
	add(&report->reached[POINT_RESUMED], last[CHARIO_STAGE_FINISH] - enter);
}

/* A stage that was passed several times counts from its last time to the last time of the next. */
static int add_request(const struct chario_timeline_request *request, void *data)
{
	struct report *report = data;
	uint64_t before = request->first_ns[CHARIO_STAGE_ENTER];

	if (report->header->frozen == CHARIO_TIMELINE_STOPPED &&
	    request->last_ns[CHARIO_STAGE_FINISH] == report->header->stop_ns &&
	    request->queue == report->header->stop_queue) {
		report->stopper = *request;
		report->has_stopper = true;
	}
	if (!before)
		return 0;
	add(&report->took[CHARIO_STAGE_ENTER], request->last_ns[CHARIO_STAGE_FINISH] - before);
	add_points(report, request);
	for (unsigned int stage = CHARIO_STAGE_SPLIT; stage < NR_STAGES; stage++) {
		uint64_t now = request->last_ns[stage];

		if (!now)
			continue;
		add(&report->took[stage], now - before);
		before = now;
	}
	return 0;
}

static const char *stage_title(unsigned int stage)
{
	return stage == CHARIO_STAGE_ENTER ? "whole" : chario_timeline_stage_name(stage);
}

/* Returns the stages in their order, and the whole request at the end. */
static unsigned int nth_stage(unsigned int n)
{
	return (n + 1) % NR_STAGES;
}

static struct chario_timeline_quantiles measure(struct series *series)
{
	struct chario_timeline_quantiles quantiles;

	chario_timeline_measure(series->values, series->count, &quantiles, sizeof(quantiles));
	return quantiles;
}

static void print_stages(struct report *report)
{
	static const char *const heading[] = { "stage", "requests", "min ns", "median",
					       "p99",   "p99.9",    "max" };
	struct cli_table table = { 0 };

	cli_table_head(&table, heading, 7);
	for (unsigned int n = 0; n < NR_STAGES; n++) {
		struct chario_timeline_quantiles q = measure(&report->took[nth_stage(n)]);
		const uint64_t numbers[] = { q.count, q.min, q.median, q.p99, q.p999, q.max };

		if (!q.count)
			continue;
		cli_table_add(&table, "%s", stage_title(nth_stage(n)));
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
			cli_table_add(&table, "%" PRIu64, numbers[i]);
	}
	printf("Time from the stage before, of a request\n");
	cli_table_print(&table);
	cli_table_clear(&table);
}

static void print_points(struct report *report)
{
	printf("\nPoints of Figure 3, mean since the system call was entered\n");
	for (size_t i = 0; i < NR_POINTS; i++)
		if (report->reached[i].count)
			printf("%12" PRIu64 " ns  %s\n", measure(&report->reached[i]).mean,
			       points[i].title);
	printf("              the interrupt itself is not to be seen by software\n");
}

static void print_stopper(const struct report *report)
{
	const struct chario_timeline_request *request = &report->stopper;
	uint64_t enter = request->first_ns[CHARIO_STAGE_ENTER];

	printf("\nStopped by a request of %" PRIu64 " ns",
	       (uint64_t)report->header->stop_duration_ns);
	if (!report->has_stopper) {
		printf(", of which more is not known\n");
		return;
	}
	printf(": offset %" PRIu64 ", result %" PRId64 ", task %" PRIu32 "\n", request->offset,
	       request->result, request->task);
	for (unsigned int stage = 0; stage < NR_STAGES; stage++)
		if (request->last_ns[stage] && enter)
			printf("%12" PRIu64 " ns  %s\n", request->last_ns[stage] - enter,
			       chario_timeline_stage_name(stage));
}

static void print_totals(const struct report *report)
{
	const struct chario_timeline_totals *totals = &report->totals;

	printf("\n%" PRIu64 " records, %" PRIu64 " lost; %" PRIu64 " tags, %" PRIu64 " lost\n",
	       totals->records, totals->lost, totals->tags, totals->lost_tags);
	if (totals->lost)
		printf("Lost are the oldest of each ring, which holds %" PRIu32
		       ": --records makes it larger\n",
		       report->header->records);
	printf("A record costs %" PRIu32 " ns; the times above have that in each stage\n",
	       report->header->record_cost_ns);
}

static int print_record(const struct chario_timeline_record *record, void *data)
{
	const struct report *report = data;
	uint64_t since = record->time_ns - report->header->begin_ns;
	bool of_request = record->request != CHARIO_TIMELINE_NO_REQUEST;

	if (record->stage == CHARIO_TIMELINE_TAG) {
		printf("%14" PRIu64 " tag %" PRIu64 "\n", since, (uint64_t)record->result);
		return 0;
	}
	printf("%14" PRIu64 " %-8s cpu %u queue %u %s %u offset %" PRIu64 " bytes %" PRIu64, since,
	       chario_timeline_stage_name(record->stage), record->cpu, record->queue,
	       of_request ? "request" : "task", of_request ? record->request : record->task,
	       (uint64_t)record->offset, (uint64_t)record->bytes);
	if (of_request)
		printf(" result %" PRId64, (int64_t)record->result);
	printf("\n");
	return 0;
}

static void json_signed(struct json_object *object, const char *name, int64_t number)
{
	json_object_object_add(object, name, cli_must(json_object_new_int64(number)));
}

static struct json_object *make_quantiles(struct series *series, const char *key, const char *name)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct chario_timeline_quantiles q = measure(series);

	cli_json_text(object, key, name);
	cli_json_number(object, "requests", q.count);
	cli_json_number(object, "min_ns", q.min);
	cli_json_number(object, "median_ns", q.median);
	cli_json_number(object, "p99_ns", q.p99);
	cli_json_number(object, "p999_ns", q.p999);
	cli_json_number(object, "max_ns", q.max);
	cli_json_number(object, "mean_ns", q.mean);
	return object;
}

static int add_json_record(const struct chario_timeline_record *record, void *data)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "stage", chario_timeline_stage_name(record->stage));
	cli_json_number(object, "time_ns", record->time_ns);
	if (record->stage == CHARIO_TIMELINE_TAG) {
		cli_json_number(object, "value", record->result);
	} else {
		cli_json_number(object, "cpu", record->cpu);
		cli_json_number(object, "queue", record->queue);
		cli_json_number(object, "task", record->task);
		cli_json_number(object, "op", record->op);
		if (record->request != CHARIO_TIMELINE_NO_REQUEST)
			cli_json_number(object, "request", record->request);
		if (record->command != CHARIO_TIMELINE_NO_REQUEST)
			cli_json_number(object, "command", record->command);
		cli_json_number(object, "offset_bytes", record->offset);
		cli_json_number(object, "length_bytes", record->bytes);
		json_signed(object, "result", (int64_t)record->result);
	}
	json_object_array_add(data, object);
	return 0;
}

static struct json_object *make_stopper(const struct report *report)
{
	const struct chario_timeline_request *request = &report->stopper;
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_number(object, "duration_ns", report->header->stop_duration_ns);
	cli_json_number(object, "time_ns", report->header->stop_ns);
	if (!report->has_stopper)
		return object;
	cli_json_number(object, "offset_bytes", request->offset);
	json_signed(object, "result", request->result);
	for (unsigned int stage = 0; stage < NR_STAGES; stage++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_ns", chario_timeline_stage_name(stage));
		if (request->last_ns[stage])
			cli_json_number(object, name, request->last_ns[stage]);
	}
	return object;
}

static void add_json_series(struct json_object *object, struct report *report)
{
	struct json_object *stages = cli_must(json_object_new_array());
	struct json_object *figure = cli_must(json_object_new_array());

	for (unsigned int n = 0; n < NR_STAGES; n++)
		json_object_array_add(stages, make_quantiles(&report->took[nth_stage(n)], "stage",
							     stage_title(nth_stage(n))));
	for (size_t i = 0; i < NR_POINTS; i++)
		json_object_array_add(figure,
				      make_quantiles(&report->reached[i], "point", points[i].name));
	json_object_object_add(object, "stages", stages);
	json_object_object_add(object, "figure3", figure);
}

static int print_json(const struct timeline_job *job, const struct chario_timeline *timeline,
		      struct report *report)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *records;
	int err = 0;

	cli_json_number(object, "disk", report->header->disk);
	cli_json_number(object, "records", report->totals.records);
	cli_json_number(object, "lost_records", report->totals.lost);
	cli_json_number(object, "tags", report->totals.tags);
	cli_json_number(object, "lost_tags", report->totals.lost_tags);
	cli_json_number(object, "record_cost_ns", report->header->record_cost_ns);
	cli_json_number(object, "begin_ns", report->header->begin_ns);
	add_json_series(object, report);
	if (report->header->frozen == CHARIO_TIMELINE_STOPPED)
		json_object_object_add(object, "stopped_by", make_stopper(report));
	if (job->all) {
		records = cli_must(json_object_new_array());
		err = chario_timeline_each(timeline, add_json_record, records);
		json_object_object_add(object, "events", records);
	}
	cli_json_print(object);
	return err;
}

static int print_text(const struct timeline_job *job, const struct chario_timeline *timeline,
		      struct report *report)
{
	int err = 0;

	if (job->all) {
		err = chario_timeline_each(timeline, print_record, report);
		printf("\n");
	}
	if (report->took[CHARIO_STAGE_ENTER].count) {
		print_stages(report);
		print_points(report);
	} else {
		printf("No request has passed from enter to finish.\n");
	}
	if (report->header->frozen == CHARIO_TIMELINE_STOPPED)
		print_stopper(report);
	print_totals(report);
	return err;
}

int timeline_report(const struct cli *cli, const struct timeline_job *job,
		    const struct chario_timeline *timeline)
{
	struct report report = { .header = chario_timeline_header(timeline) };
	int err;

	chario_timeline_get_totals(timeline, &report.totals, sizeof(report.totals));
	err = chario_timeline_each_request(timeline, add_request, &report);
	if (!err && cli->json)
		err = print_json(job, timeline, &report);
	else if (!err)
		err = print_text(job, timeline, &report);
	for (size_t i = 0; i < NR_STAGES; i++)
		free(report.took[i].values);
	for (size_t i = 0; i < NR_POINTS; i++)
		free(report.reached[i].values);
	return err ? cli_fail(cli, err, "cannot read the timeline") : CLI_OK;
}
