/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The functions of a queue: slots, and the way to the device and back.
 */
#ifndef CHARIO_QUEUE_QUEUE_H
#define CHARIO_QUEUE_QUEUE_H

#include <linux/bitops.h>
#include <linux/err.h>

#include "types/disk.h"
#include "types/queue.h"

static inline void chario_queue_free_slot(struct chario_queue *q,
					  struct chario_command *cmd)
{
	cmd->state = CHARIO_COMMAND_IDLE;
	clear_bit_unlock(cmd->tag, q->busy);
}

/* Wake tasks that wait for a free slot or an idle queue. */
static inline void chario_queue_wake(struct chario_queue *q)
{
	/* Pairs with the barrier in prepare_to_wait(). */
	smp_mb__after_atomic();
	/* The barrier above orders this check after the slot was freed. */
	if (unlikely(waitqueue_active(&q->slot_wait)))
		wake_up(&q->slot_wait);
}

/**
 * chario_queue_put() - give a command back
 * @q: the queue
 * @cmd: the device can no longer touch it or its memory
 *
 * Context: any but under q->lock.
 */
static inline void chario_queue_put(struct chario_queue *q,
				    struct chario_command *cmd)
{
	chario_queue_free_slot(q, cmd);
	chario_queue_wake(q);
}

/**
 * chario_queue_put_chain() - give the commands of a request back
 * @q: the queue
 * @first: first command of the chain; the request that lives in it is gone afterwards
 *
 * Context: as chario_queue_put().
 */
static inline void chario_queue_put_chain(struct chario_queue *q,
					  struct chario_command *first)
{
	struct chario_command *cmd, *next;

	for (cmd = first->next; cmd; cmd = next) {
		next = cmd->next;
		chario_queue_free_slot(q, cmd);
	}
	chario_queue_put(q, first);
}

/**
 * chario_queue_rest() - give a lent slot back to its tag
 * @q: the queue
 * @cmd: the device can no longer touch it or its memory
 *
 * Context: any but under q->lock.
 */
static inline void chario_queue_rest(struct chario_queue *q,
				     struct chario_command *cmd)
{
	/* Pairs with the barrier in prepare_to_wait(). */
	smp_store_mb(cmd->state, CHARIO_COMMAND_IDLE);
	/* The barrier above orders this check after the slot was freed. */
	if (unlikely(waitqueue_active(&q->slot_wait)))
		wake_up(&q->slot_wait);
}

/* Returns whether a request is a read of a block disk that ends them. */
static inline bool chario_queue_is_vain(const struct chario_request *req)
{
	return (req->duty & CHARIO_DUTY_LENT) && req->op == CHARIO_OP_READ &&
	       READ_ONCE(req->disk->block_ends_reads);
}

/* Returns -errno if a command is to end rather than to go to the device, else 0. */
static inline int chario_queue_end_error(const struct chario_command *cmd)
{
	const struct chario_request *req = cmd->req;

	if (chario_request_is_given_up(req))
		return chario_request_give_up_error(req);
	return READ_ONCE(req->disk->removed) || chario_queue_is_vain(req) ? -ENODEV : 0;
}

/**
 * chario_queue_take_slot() - take a free command, without a look at the queue's state
 * @q: the queue; not drained, because the caller has a command of it, or looks at the
 *	state afterwards
 *
 * Return: the command; NULL if none is free.
 */
static __always_inline struct chario_command *
chario_queue_take_slot(struct chario_queue *q)
{
	unsigned int word = 0;

	do {
		unsigned long bits = READ_ONCE(q->busy[word]);

		while (likely(~bits)) {
			unsigned int bit = ffz(bits);

			if (likely(!test_and_set_bit(bit, &q->busy[word])))
				return chario_queue_command(q, word *
							    BITS_PER_LONG + bit);
			bits |= BIT(bit); /* GCOVR_EXCL_LINE: a race decides */
		}
	} while (++word < BITS_TO_LONGS(q->depth));
	return NULL;
}

/**
 * chario_queue_try_get() - take a free command
 * @q: the queue
 *
 * Return: the command; EAGAIN if none is free; the queue's error if it is dead.
 */
static __always_inline struct chario_command *
chario_queue_try_get(struct chario_queue *q)
{
	struct chario_command *cmd = chario_queue_take_slot(q);

	if (unlikely(!cmd))
		return ERR_PTR(-EAGAIN);
	/* Pairs with the barrier of chario_queue_drain(). */
	if (likely(!READ_ONCE(q->dead_error)))
		return cmd;
	chario_queue_put(q, cmd);
	return ERR_PTR(READ_ONCE(q->dead_error));
}

/**
 * chario_queue_is_pending() - tell if there is a completion to reap
 * @q: the queue
 *
 * The result is a guess, because it is made without the lock, but a completion that
 * stays will be seen.  Preemption is off, which holds up the RCU grace period of
 * chario_queue_drop_word(), so that the word stays valid.
 *
 * Return: true if there most likely is a completion.
 */
static inline bool chario_queue_is_pending(const struct chario_queue *q)
{
	bool pending;

	preempt_disable();
	/* The word may be moved on at this moment: the next guess is right. */
	pending = data_race(!((READ_ONCE(*READ_ONCE(q->word)) ^
			       q->word_value) & q->word_mask));
	preempt_enable();
	return pending;
}

/* Returns whether the back end must prepare the device command of @cmd. */
static inline bool chario_queue_must_prep(const struct chario_queue *q,
					  const struct chario_command *cmd)
{
	return cmd->page_offset + cmd->bytes > q->no_prep_bytes;
}

/* queue/slots.c */
int chario_slots_init(struct chario_queue *q, unsigned int depth,
		      u32 command_bytes, int node);
void chario_slots_deinit(struct chario_queue *q);
void chario_queue_set_segment_bytes(struct chario_queue *q, u32 segment_bytes);
void chario_queue_set_depth(struct chario_queue *q, unsigned int depth);
struct chario_command *chario_queue_get(struct chario_queue *q,
					unsigned long expires, bool killable);
bool chario_queue_is_idle(const struct chario_queue *q);
int chario_slots_lend(struct chario_queue *q, unsigned int first);
void chario_slots_take_back(struct chario_queue *q);

/* queue/reap.c */
unsigned int chario_queue_reap(struct chario_queue *q);
unsigned int chario_queue_poll(struct chario_queue *q);
unsigned int chario_queue_poll_for(struct chario_queue *q, const void *looker);
unsigned int chario_queue_irq(struct chario_queue *q);
void chario_queue_drop_word(struct chario_queue *q);

/* queue/replay.c */
void chario_queue_freeze(struct chario_queue *q);
void chario_queue_replay(struct chario_queue *q);
void chario_queue_release_held(struct chario_queue *q);
void chario_queue_fail(struct chario_queue *q, int error);

/* queue/queue.c */
int chario_queue_init(struct chario_queue *q,
		      const struct chario_queue_ops *ops,
		      struct device *dma_dev, unsigned int depth,
		      u32 command_bytes, bool polled, int node);
void chario_queue_deinit(struct chario_queue *q);
void chario_queue_drain(struct chario_queue *q);

/* queue/post.c */
void chario_queue_hand_over(struct chario_queue *q, struct chario_command *cmd,
			    bool kick);
void chario_queue_post(struct chario_queue *q, struct chario_command *cmd,
		       bool kick);
void chario_queue_post_all(struct chario_queue *q, struct chario_request *req,
			   bool kick);
void chario_queue_kick(struct chario_queue *q);

/* queue/submit.c */
void chario_submit(struct chario_queue *q, struct chario_command *cmd);
void chario_submit_later(struct chario_queue *q);
void chario_submit_held(struct work_struct *work);
void chario_submit_wait(struct chario_queue *q);
void chario_queue_end(struct chario_queue *q, struct chario_command *cmd,
		      int error);
void chario_submit_kick(struct chario_queue *q);
unsigned int chario_submit_reap(struct chario_queue *q);

/* queue/plug.c */
void chario_plug_init(struct chario_queue *q);
bool chario_plug(struct chario_queue *q);

/* queue/complete.c */
void chario_complete_note_error(struct chario_command *cmd, int error);
void chario_complete_reaped(struct chario_queue *q, struct chario_command *cmd,
			    int error);
void chario_complete_request(struct chario_queue *q,
			     struct chario_request *req);
struct chario_async chario_complete_orphan(struct chario_request *req, int error);
bool chario_complete_abandon(struct chario_queue *q,
			     struct chario_waiter *waiter,
			     struct chario_request *req, int error);
void chario_complete_seen(struct chario_queue *q, struct chario_request *done,
			  const void *looker);
void chario_complete_dirty(struct work_struct *work);
ssize_t chario_complete_release(struct chario_queue *q,
				struct chario_request *req, bool mark_dirty);

/* Returns the ended requests for chario_complete_list() to finish.  Under q->lock. */
static inline struct chario_request *
chario_queue_take_done(struct chario_queue *q)
{
	struct chario_request *done = q->done;

	if (unlikely(done))
		q->done = NULL;
	return done;
}

/**
 * chario_complete_command() - end a command that the device is done with
 * @q: queue of the command
 * @cmd: the command
 * @error: 0 or -errno
 *
 * Context: under q->lock.
 */
static inline void chario_complete_command(struct chario_queue *q,
					   struct chario_command *cmd,
					   int error)
{
	struct chario_request *req = cmd->req;

	cmd->state = CHARIO_COMMAND_DONE;
	if (unlikely(error))
		chario_complete_note_error(cmd, error);
	if (!--req->pending)
		chario_complete_request(q, req);
}

/* Finish requests that no polling caller has found, see chario_complete_seen(). */
static inline void chario_complete_list(struct chario_queue *q,
					struct chario_request *done)
{
	if (unlikely(done && done->done_next && q->seen))
		q->seen(q, done);
	else
		chario_complete_seen(q, done, NULL);
}

#endif /* CHARIO_QUEUE_QUEUE_H */
