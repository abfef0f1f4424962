// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tracks at work: probes on the module's own tracepoints make records, and a request
 * that took too long stops them.
 *
 * A probe runs with preemption off.  After probes have been unregistered,
 * tracepoint_synchronize_unregister() waits for those that still run.
 */
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include "timeline/timeline.h"
#include "trace.h"

/*
 * A thread's number and a time share one word, so that both belong to the same call.
 * A thread's number has 22 bits; 42 bits of nanoseconds are more than an hour, the
 * longest deadline.
 */
#define TIME_BITS	42
#define TIME_MASK	(BIT_ULL(TIME_BITS) - 1)

static u64 caller_of(u64 time)
{
	return (u64)current->pid << TIME_BITS | (time & TIME_MASK);
}

static atomic64_t *seat_of(struct chario_timeline *tl)
{
	return &tl->callers[current->pid % CHARIO_TIMELINE_CALLERS];
}

/* Returns the time at which this thread's call entered; 0 if overwritten or unknown. */
static u64 entered(struct chario_timeline *tl)
{
	u64 caller = atomic64_read(seat_of(tl));

	return caller >> TIME_BITS == current->pid ? caller & TIME_MASK : 0;
}

/*
 * Make a record, unless the timeline is frozen.  Returns the time in any case.  The
 * function is inline, so that members of @event are stored straight into the ring.
 */
static __always_inline u64 put(struct chario_track *track,
			       const struct chario_timeline_record *event)
{
	struct chario_timeline *tl = track->tl;
	struct chario_timeline_record *record;
	unsigned long flags;
	u64 time;

	raw_spin_lock_irqsave(&track->lock, flags);
	time = ktime_get_ns();
	if (likely(!READ_ONCE(tl->header->frozen))) {
		/*
		 * Pairs with the read barriers of user space: a reader that sees
		 * overwritten bytes sees the head before them.
		 */
		smp_wmb();
		record = &track->records[track->head & tl->mask];
		record->time_ns = time;
		record->stage = event->stage;
		record->op = event->op;
		record->cpu = smp_processor_id();
		record->disk = tl->header->disk;
		record->task = in_task() ? current->pid : 0;
		record->queue = track->index;
		record->request = event->request;
		record->command = event->command;
		record->offset = event->offset;
		record->bytes = event->bytes;
		record->result = event->result;
		/* Pairs with the read barriers of user space: records are complete. */
		smp_wmb();
		WRITE_ONCE(track->ring->head, ++track->head);
	}
	raw_spin_unlock_irqrestore(&track->lock, flags);
	return time;
}

/* Returns the track of a queue, if it records this disk, or NULL. */
static struct chario_track *find_track(const struct chario_queue *q,
				       const struct chario_disk *disk)
{
	struct chario_track *track = rcu_dereference_sched(q->track);

	return track && track->tl->disk == disk ? track : NULL;
}

/**
 * chario_track_cost() - measure the cost of a record
 * @track: an unused track; empty afterwards
 *
 * Return: nanoseconds per record.
 */
u32 chario_track_cost(struct chario_track *track)
{
	u64 best = U64_MAX, begin, time = 0;
	unsigned int batch, i;

	for (batch = 0; batch < 4; batch++) {
		struct chario_timeline_record record = { };

		begin = put(track, &record);
		for (i = 0; i < CHARIO_TIMELINE_RECORDS_MIN; i++)
			time = put(track, &record);
		best = min(best, time - begin);
	}
	track->head = 0;
	track->ring->head = 0;
	memset(track->records, 0,
	       (track->tl->mask + 1) * sizeof(*track->records));
	return div_u64(best, CHARIO_TIMELINE_RECORDS_MIN);
}

/* Record that a call has reached a front end. */
static void on_enter(void *data, const struct chario_disk *disk,
		     unsigned int op, u64 offset, ssize_t bytes)
{
	struct chario_queue *q = disk->irq_queue[smp_processor_id()];
	struct chario_track *track = find_track(q, disk);
	struct chario_timeline_record record = {
		.stage = CHARIO_STAGE_ENTER,
		.op = op,
		.request = CHARIO_TIMELINE_NO_REQUEST,
		.command = CHARIO_TIMELINE_NO_REQUEST,
		.offset = offset,
		.bytes = bytes,
	};

	if (track)
		atomic64_set(seat_of(track->tl),
			     caller_of(put(track, &record)));
}

/*
 * Note at the first command of a request when its call entered.  The thread must be the
 * caller's: nothing is noted when recovery posts the command again.
 */
static void note_begin(struct chario_track *track,
		       const struct chario_command *cmd)
{
	u64 time = entered(track->tl);

	if (time)
		atomic64_set(&track->begun[cmd->tag], time);
}

static __always_inline void on_command(struct chario_queue *q,
				       const struct chario_command *cmd,
				       enum chario_stage stage, int error)
{
	const struct chario_request *req = cmd->req;
	struct chario_track *track = find_track(q, req->disk);
	struct chario_timeline_record record = {
		.stage = stage,
		.op = req->op,
		.request = req->first->tag,
		.command = cmd->tag,
		.offset = cmd->disk_offset,
		.bytes = cmd->bytes,
		.result = error,
	};

	if (!track)
		return;
	/* A flush is not split, so its call is noted when it is posted. */
	if ((stage == CHARIO_STAGE_SPLIT ||
	     (stage == CHARIO_STAGE_POST && req->op == CHARIO_OP_FLUSH)) &&
	    cmd == req->first)
		note_begin(track, cmd);
	put(track, &record);
}

#define COMMAND_PROBE(name, stage)					\
	static void on_##name(void *data, struct chario_queue *q,	\
			      const struct chario_command *cmd, int error) \
	{								\
		on_command(q, cmd, stage, error);			\
	}

COMMAND_PROBE(split, CHARIO_STAGE_SPLIT)
COMMAND_PROBE(map, CHARIO_STAGE_MAP)
COMMAND_PROBE(queue, CHARIO_STAGE_QUEUE)
COMMAND_PROBE(post, CHARIO_STAGE_POST)
COMMAND_PROBE(reap, CHARIO_STAGE_REAP)
COMMAND_PROBE(unmap, CHARIO_STAGE_UNMAP)

static void on_queue_event(struct chario_queue *q, enum chario_stage stage)
{
	struct chario_track *track = rcu_dereference_sched(q->track);
	struct chario_timeline_record record = {
		.stage = stage,
		.request = CHARIO_TIMELINE_NO_REQUEST,
		.command = CHARIO_TIMELINE_NO_REQUEST,
	};

	if (!track)
		return;
	/* A private queue is polled or not as its last owner asked. */
	WRITE_ONCE(track->ring->polled, q->polled);
	put(track, &record);
}

static void on_doorbell(void *data, struct chario_queue *q, unsigned int count)
{
	on_queue_event(q, CHARIO_STAGE_DOORBELL);
}

static void on_irq(void *data, struct chario_queue *q, unsigned int count)
{
	on_queue_event(q, CHARIO_STAGE_IRQ);
}

/* Freeze all rings, for the first request above the limit only. */
static void track_stop(struct chario_track *track, u32 request, u64 time,
		       u64 duration)
{
	struct chario_timeline *tl = track->tl;
	struct chario_timeline_header *header = tl->header;
	unsigned long flags;

	raw_spin_lock_irqsave(&tl->stop_lock, flags);
	if (!header->frozen) {
		header->stop_queue = track->index;
		header->stop_request = request;
		header->stop_ns = time;
		header->stop_duration_ns = duration;
		/*
		 * Pairs with the read barriers of user space: a reader that sees
		 * the ring frozen sees why.
		 */
		smp_wmb();
		WRITE_ONCE(header->frozen, CHARIO_TIMELINE_STOPPED);
		irq_work_queue(&tl->wake);
	}
	raw_spin_unlock_irqrestore(&tl->stop_lock, flags);
}

static void on_finish(void *data, struct chario_queue *q,
		      const struct chario_command *first,
		      const struct chario_disk *disk, unsigned int op,
		      u64 offset, ssize_t result)
{
	struct chario_track *track = find_track(q, disk);
	struct chario_timeline_record record = {
		.stage = CHARIO_STAGE_FINISH,
		.op = op,
		.request = first ? first->tag : CHARIO_TIMELINE_NO_REQUEST,
		.command = CHARIO_TIMELINE_NO_REQUEST,
		.offset = offset,
		.bytes = result > 0 ? result : 0,
		.result = result,
	};
	u64 begun, time, limit;

	if (!track)
		return;
	begun = first ? atomic64_xchg(&track->begun[first->tag], 0) :
		entered(track->tl);
	time = put(track, &record);
	limit = READ_ONCE(track->tl->stop_above_ns);
	if (limit && begun && ((time - begun) & TIME_MASK) > limit)
		track_stop(track, record.request, time, (time - begun) & TIME_MASK);
}

#define PROBE(stage)							\
	static int begin_##stage(void)					\
	{								\
		return register_trace_##stage(on_##stage, NULL);	\
	}								\
	static void end_##stage(void)					\
	{								\
		unregister_trace_##stage(on_##stage, NULL);		\
	}

PROBE(enter)
PROBE(split)
PROBE(map)
PROBE(queue)
PROBE(post)
PROBE(doorbell)
PROBE(irq)
PROBE(reap)
PROBE(unmap)
PROBE(finish)

/* Functions that register and unregister the probe of a tracepoint. */
struct probe {
	int (*begin)(void);
	void (*end)(void);
};

static const struct probe probes[] = {
	{ begin_enter, end_enter },
	{ begin_split, end_split },
	{ begin_map, end_map },
	{ begin_queue, end_queue },
	{ begin_post, end_post },
	{ begin_doorbell, end_doorbell },
	{ begin_irq, end_irq },
	{ begin_reap, end_reap },
	{ begin_unmap, end_unmap },
	{ begin_finish, end_finish },
};

static void end_probes(size_t count)
{
	while (count)
		probes[--count].end();
}

/**
 * chario_track_unregister() - stop making records
 *
 * Context: may sleep.
 */
void chario_track_unregister(void)
{
	end_probes(ARRAY_SIZE(probes));
}

/**
 * chario_track_register() - begin to make records
 *
 * Context: may sleep.
 * Return: 0 or ENOMEM.
 */
int chario_track_register(void)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		ret = probes[i].begin();
		if (ret) {
			end_probes(i);
			return ret;
		}
	}
	return 0;
}
