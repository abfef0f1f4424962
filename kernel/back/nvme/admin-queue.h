/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The admin queue: see admin.c.
 */
#ifndef CHARIO_NVME_ADMIN_QUEUE_H
#define CHARIO_NVME_ADMIN_QUEUE_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/nvme.h>
#include <linux/spinlock.h>

struct chario_nvme;
struct chario_nvme_queue;

#define CHARIO_NVME_ADMIN_DEPTH	16

/* The place of the asynchronous event request in @ids: behind those of the slots. */
#define CHARIO_NVME_EVENT_PLACE	(CHARIO_NVME_ADMIN_DEPTH - 2)

/**
 * struct chario_nvme_admin_answer - the answer to an admin command
 * @result: dword 0 of the completion
 * @status: status field of the completion, without phase bit
 */
struct chario_nvme_admin_answer {
	u32 result;
	u16 status;
};

/**
 * enum chario_nvme_admin_state - the owner of an admin command's place
 * @CHARIO_NVME_ADMIN_FREE: nobody
 * @CHARIO_NVME_ADMIN_BUSY: the controller; a caller waits for the command
 * @CHARIO_NVME_ADMIN_ENDED: the caller, which has not read the answer yet
 * @CHARIO_NVME_ADMIN_LOST: the controller; the caller waits no longer
 */
enum chario_nvme_admin_state {
	CHARIO_NVME_ADMIN_FREE,
	CHARIO_NVME_ADMIN_BUSY,
	CHARIO_NVME_ADMIN_ENDED,
	CHARIO_NVME_ADMIN_LOST,
};

/**
 * struct chario_nvme_admin_slot - an admin command in flight
 * @done: completes with the command
 * @answer: answer, valid in state ENDED
 * @state: &enum chario_nvme_admin_state
 * @cancelled: the command ended without an answer, because the controller was disabled
 * @has_page: the command reads or writes the page for data
 */
struct chario_nvme_admin_slot {
	struct completion done;
	struct chario_nvme_admin_answer answer;
	u8 state;
	bool cancelled;
	bool has_page;
};

/**
 * struct chario_nvme_admin - the admin queue
 * @mutex: held by the user of @page
 * @lock: protects the rings, the slots, and the state of the event request
 * @sqes: submission ring
 * @cqes: completion ring
 * @sq_dma: DMA address of @sqes
 * @cq_dma: DMA address of @cqes
 * @tail: tail of @sqes
 * @head: head of @cqes
 * @phase: expected phase bit
 * @page: page for data, coherent
 * @page_dma: DMA address of @page
 * @page_lost: a command that did not come back may still write to @page
 * @slots: commands, each in its place
 * @ids: for each place, the identifier of its last command
 * @open: commands are accepted
 * @event_posted: the controller has the asynchronous event request
 * @event: answer to the last event request
 * @arrived: called when the event request has ended; any context
 * @irq_requested: the interrupt handler is installed
 * @deadline: time in jiffies beyond which no command waits; recovery sets it
 * @has_deadline: @deadline is valid
 */
struct chario_nvme_admin {
	struct mutex mutex; /* the page */
	raw_spinlock_t lock;
	struct nvme_command *sqes;
	struct nvme_completion *cqes;
	dma_addr_t sq_dma;
	dma_addr_t cq_dma;
	u16 tail;
	u16 head;
	u16 phase;
	void *page;
	dma_addr_t page_dma;
	bool page_lost;
	struct chario_nvme_admin_slot slots[CHARIO_NVME_EVENT_PLACE];
	u16 ids[CHARIO_NVME_EVENT_PLACE + 1];
	bool open;
	bool event_posted;
	struct chario_nvme_admin_answer event;
	void (*arrived)(struct chario_nvme *ctrl);
	bool irq_requested;
	unsigned long deadline;
	bool has_deadline;
};

/* admin.c */
unsigned int chario_nvme_admin_timeout_ms(void);
int chario_nvme_admin_init(struct chario_nvme *ctrl);
void chario_nvme_admin_deinit(struct chario_nvme *ctrl);
void chario_nvme_admin_reset(struct chario_nvme *ctrl);
void chario_nvme_admin_open(struct chario_nvme *ctrl);
void chario_nvme_admin_close(struct chario_nvme *ctrl);
void chario_nvme_admin_forget(struct chario_nvme *ctrl);
int chario_nvme_admin_request_irq(struct chario_nvme *ctrl);
void chario_nvme_admin_free_irq(struct chario_nvme *ctrl);
int chario_nvme_admin_run(struct chario_nvme *ctrl, struct nvme_command *c,
			  u32 *result);
int chario_nvme_admin_ask(struct chario_nvme *ctrl, struct nvme_command *c,
			  struct chario_nvme_admin_answer *answer);
int chario_nvme_admin_exchange(struct chario_nvme *ctrl, struct nvme_command *c,
			       void *data, size_t bytes,
			       struct chario_nvme_admin_answer *answer);
unsigned long chario_nvme_admin_wait_until(const struct chario_nvme *ctrl);
void chario_nvme_admin_post_event(struct chario_nvme *ctrl);

/* pairs.c */
int chario_nvme_admin_set_queues(struct chario_nvme *ctrl,
				 unsigned int *nr_queues);
int chario_nvme_admin_create(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq);
int chario_nvme_admin_delete(struct chario_nvme *ctrl,
			     struct chario_nvme_queue *nq);
int chario_nvme_admin_abort(struct chario_nvme *ctrl, u16 qid, u16 cid);

#endif /* CHARIO_NVME_ADMIN_QUEUE_H */
