// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The records of a timeline, joined to requests.
 *
 * A request is identified by its queue and its name there, from its first split to its
 * finish.  Its enter is the last enter of the thread that split it; its doorbell and irq
 * are those of its queue in between.
 */
#include <chario/timeline.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "system/scope.h"
#include "timeline/rings.h"

/* A request that has not finished. */
struct open {
	bool used;
	bool rung; /* everything posted so far has been rung */
	struct chario_timeline_request joined;
};

/* A queue: its open requests by name. */
struct queue {
	struct open *opens;
	uint32_t nr_opens;
	uint64_t irq_ns;
	uint32_t polled;
};

/* The last call of a thread. */
struct caller {
	uint32_t task;
	uint64_t enter_ns;
};

struct join {
	struct queue *queues;
	uint32_t nr_queues;
	struct caller *callers;
	size_t nr_callers;
	chario_timeline_request_visit *visit;
	void *data;
};

static struct caller *find_caller(struct join *join, uint32_t task)
{
	for (size_t i = 0; i < join->nr_callers; i++)
		if (join->callers[i].task == task)
			return &join->callers[i];
	return NULL;
}

static int note_enter(struct join *join, const struct chario_timeline_record *record)
{
	struct caller *caller = find_caller(join, record->task);

	if (!caller) {
		size_t size = (join->nr_callers + 1) * sizeof(*join->callers);
		struct caller *more = realloc(join->callers, size);

		if (!more)
			return -ENOMEM;
		join->callers = more;
		caller = &more[join->nr_callers++];
		caller->task = record->task;
	}
	caller->enter_ns = record->time_ns;
	return 0;
}

static void note_stage(struct open *open, uint8_t stage, uint64_t time_ns)
{
	if (!open->joined.first_ns[stage])
		open->joined.first_ns[stage] = time_ns;
	open->joined.last_ns[stage] = time_ns;
}

/* Find the open request of a record.  Returns NULL if the request's beginning is lost. */
static struct open *find_open(struct queue *queue, const struct chario_timeline_record *record)
{
	if (record->request >= queue->nr_opens || !queue->opens[record->request].used)
		return NULL;
	return &queue->opens[record->request];
}

static struct open *make_room(struct queue *queue, uint32_t request)
{
	struct open *more;

	if (request < queue->nr_opens)
		return &queue->opens[request];
	more = realloc(queue->opens, (request + 1) * sizeof(*more));
	if (!more)
		return NULL;
	memset(&more[queue->nr_opens], 0, (request + 1 - queue->nr_opens) * sizeof(*more));
	queue->opens = more;
	queue->nr_opens = request + 1;
	return &more[request];
}

/* Begin a request; one whose enter was overwritten has no time of it. */
static int begin(struct join *join, struct queue *queue,
		 const struct chario_timeline_record *record)
{
	const struct caller *caller = find_caller(join, record->task);
	struct open *open;

	if (record->request > UINT16_MAX)
		return -EPROTO;
	open = make_room(queue, record->request);
	if (!open)
		return -ENOMEM;
	memset(open, 0, sizeof(*open));
	open->used = true;
	open->joined.offset = record->offset;
	open->joined.op = record->op;
	open->joined.task = record->task;
	open->joined.queue = record->queue;
	open->joined.request = record->request;
	open->rung = true;
	if (caller)
		note_stage(open, CHARIO_STAGE_ENTER, caller->enter_ns);
	return 0;
}

/*
 * Returns whether a record begins a request.  A flush has no split; a command posted again
 * begins nothing.
 */
static bool is_first(const struct queue *queue, const struct chario_timeline_record *record)
{
	if (record->command != record->request)
		return false;
	if (record->stage == CHARIO_STAGE_SPLIT)
		return true;
	return record->stage == CHARIO_STAGE_POST && record->op == CHARIO_TRANSFER_FLUSH &&
	       (record->request >= queue->nr_opens || !queue->opens[record->request].used);
}

static int note_command(struct join *join, struct queue *queue,
			const struct chario_timeline_record *record)
{
	struct open *open;
	int err = 0;

	if (is_first(queue, record))
		err = begin(join, queue, record);
	open = find_open(queue, record);
	if (err || !open)
		return err;
	if (record->stage == CHARIO_STAGE_POST) {
		open->joined.commands++;
		open->rung = false;
	}
	if (record->stage == CHARIO_STAGE_REAP &&
	    queue->irq_ns >= open->joined.first_ns[CHARIO_STAGE_POST])
		note_stage(open, CHARIO_STAGE_IRQ, queue->irq_ns);
	note_stage(open, record->stage, record->time_ns);
	return 0;
}

static void note_doorbell(struct queue *queue, uint64_t time_ns)
{
	for (uint32_t i = 0; i < queue->nr_opens; i++) {
		struct open *open = &queue->opens[i];

		if (!open->used || open->rung)
			continue;
		open->rung = true;
		note_stage(open, CHARIO_STAGE_DOORBELL, time_ns);
	}
}

static int note_finish(struct join *join, struct queue *queue,
		       const struct chario_timeline_record *record)
{
	struct open *open = find_open(queue, record);

	if (!open)
		return 0;
	note_stage(open, CHARIO_STAGE_FINISH, record->time_ns);
	open->joined.result = (int64_t)record->result;
	open->joined.polled = queue->polled;
	open->used = false;
	return join->visit(&open->joined, join->data);
}

static int note(struct join *join, const struct chario_timeline_record *record)
{
	struct queue *queue;

	if (record->stage >= CHARIO_TIMELINE_STAGES || record->queue >= join->nr_queues)
		return 0;
	queue = &join->queues[record->queue];
	switch (record->stage) {
	case CHARIO_STAGE_ENTER:
		return note_enter(join, record);
	case CHARIO_STAGE_DOORBELL:
		note_doorbell(queue, record->time_ns);
		return 0;
	case CHARIO_STAGE_IRQ:
		queue->irq_ns = record->time_ns;
		return 0;
	case CHARIO_STAGE_FINISH:
		return note_finish(join, queue, record);
	default:
		return note_command(join, queue, record);
	}
}

static int prepare(struct join *join, const struct chario_timeline *timeline)
{
	join->nr_queues = timeline->header->nr_rings;
	join->queues = calloc(join->nr_queues, sizeof(*join->queues));
	if (!join->queues)
		return -ENOMEM;
	for (uint32_t i = 0; i < join->nr_queues; i++)
		join->queues[i].polled = chario_rings_ring(timeline, i)->polled;
	return 0;
}

int chario_timeline_each_request(const struct chario_timeline *timeline,
				 chario_timeline_request_visit *visit, void *data)
{
	struct join join = { .visit = visit, .data = data };
	size_t count;
	struct chario_timeline_record *records CHARIO_SCOPED(chario_scope_free) =
		chario_rings_copy(timeline, &count);
	int ret = records ? prepare(&join, timeline) : -ENOMEM;

	for (size_t i = 0; !ret && i < count; i++)
		ret = note(&join, &records[i]);
	for (uint32_t i = 0; join.queues && i < join.nr_queues; i++)
		free(join.queues[i].opens);
	free(join.queues);
	free(join.callers);
	return ret;
}
