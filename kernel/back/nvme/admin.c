// SPDX-License-Identifier: GPL-2.0-only
/*
 * The admin queue: commands by interrupt, with a time limit.
 *
 * A command that does not come back keeps its identifier, and the page that it
 * may write to, until the controller has been disabled.  Then it ends: whoever
 * waits for it gets ECANCELED.  While the controller is disabled the queue is
 * closed and takes nothing.
 *
 * An asynchronous event request is a command that ends when something has
 * happened.  It has an identifier of its own and nobody waits for it; event.c
 * takes it from there.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>

#include "core/range.h"
#include "nvme.h"

static int admin_timeout_ms = 5000;
chario_range_param(admin_timeout_ms, 100, 600 * 1000, 0644);
MODULE_PARM_DESC(admin_timeout_ms, "Longest wait for an admin command, ms (100 to 600000, default 5000)");

/**
 * chario_nvme_admin_timeout_ms() - longest wait for an admin command
 */
unsigned int chario_nvme_admin_timeout_ms(void)
{
	return READ_ONCE(admin_timeout_ms);
}

/**
 * chario_nvme_admin_init() - make the admin queue
 * @ctrl: the controller
 *
 * Return: 0 or ENOMEM.
 */
int chario_nvme_admin_init(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct device *dev = &ctrl->pdev->dev;
	unsigned int i;

	mutex_init(&admin->mutex);
	raw_spin_lock_init(&admin->lock);
	admin->phase = 1;
	for (i = 0; i < ARRAY_SIZE(admin->slots); i++)
		init_completion(&admin->slots[i].done);
	for (i = 0; i < ARRAY_SIZE(admin->ids); i++)
		admin->ids[i] = i;
	admin->sqes = dma_alloc_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
					 sizeof(*admin->sqes), &admin->sq_dma,
					 GFP_KERNEL);
	admin->cqes = dma_alloc_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
					 sizeof(*admin->cqes), &admin->cq_dma,
					 GFP_KERNEL);
	admin->page = dma_alloc_coherent(dev, NVME_IDENTIFY_DATA_SIZE,
					 &admin->page_dma, GFP_KERNEL);
	if (!admin->sqes || !admin->cqes || !admin->page) {
		chario_nvme_admin_deinit(ctrl);
		return -ENOMEM;
	}
	return 0;
}

/**
 * chario_nvme_admin_deinit() - free the admin queue
 * @ctrl: disabled, or gone and its bus mastering off
 */
void chario_nvme_admin_deinit(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct device *dev = &ctrl->pdev->dev;

	if (admin->page)
		dma_free_coherent(dev, NVME_IDENTIFY_DATA_SIZE, admin->page,
				  admin->page_dma);
	if (admin->cqes)
		dma_free_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
				  sizeof(*admin->cqes), admin->cqes,
				  admin->cq_dma);
	if (admin->sqes)
		dma_free_coherent(dev, CHARIO_NVME_ADMIN_DEPTH *
				  sizeof(*admin->sqes), admin->sqes,
				  admin->sq_dma);
	admin->page = NULL;
	admin->cqes = NULL;
	admin->sqes = NULL;
}

/**
 * chario_nvme_admin_reset() - begin anew
 * @ctrl: disabled
 */
void chario_nvme_admin_reset(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;

	raw_spin_lock_irqsave(&admin->lock, flags);
	memset(admin->cqes, 0, CHARIO_NVME_ADMIN_DEPTH * sizeof(*admin->cqes));
	admin->tail = 0;
	admin->head = 0;
	admin->phase = 1;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/**
 * chario_nvme_admin_open() - take commands
 * @ctrl: enabled
 */
void chario_nvme_admin_open(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;

	raw_spin_lock_irqsave(&admin->lock, flags);
	admin->open = true;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/**
 * chario_nvme_admin_close() - take no commands: the controller will be disabled
 * @ctrl: the controller
 */
void chario_nvme_admin_close(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;

	raw_spin_lock_irqsave(&admin->lock, flags);
	admin->open = false;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/* Ends an admin command that the controller has forgotten. */
static void forget(struct chario_nvme_admin_slot *slot)
{
	if (slot->state == CHARIO_NVME_ADMIN_LOST)
		slot->state = CHARIO_NVME_ADMIN_FREE;
	if (slot->state != CHARIO_NVME_ADMIN_BUSY)
		return;
	slot->state = CHARIO_NVME_ADMIN_ENDED;
	slot->cancelled = true;
	complete(&slot->done);
}

/**
 * chario_nvme_admin_forget() - no command is with the controller any more
 * @ctrl: disabled, its admin queue closed
 */
void chario_nvme_admin_forget(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;
	unsigned int i;

	raw_spin_lock_irqsave(&admin->lock, flags);
	for (i = 0; i < ARRAY_SIZE(admin->slots); i++)
		forget(&admin->slots[i]);
	admin->event_posted = false;
	admin->page_lost = false;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

static bool end_slot(struct chario_nvme_admin_slot *slot,
		     const struct chario_nvme_admin_answer *answer)
{
	if (slot->state == CHARIO_NVME_ADMIN_LOST) {
		slot->state = CHARIO_NVME_ADMIN_FREE;
		return true;
	}
	if (slot->state != CHARIO_NVME_ADMIN_BUSY)
		return false;
	slot->answer = *answer;
	slot->state = CHARIO_NVME_ADMIN_ENDED;
	return true;
}

static bool end_event(struct chario_nvme_admin *admin,
		      const struct chario_nvme_admin_answer *answer)
{
	if (!admin->event_posted)
		return false;
	admin->event = *answer;
	admin->event_posted = false;
	return true;
}

/* False when the controller has no command with this identifier. */
static bool end_command(struct chario_nvme_admin *admin, u16 id,
			const struct chario_nvme_admin_answer *answer)
{
	unsigned int place = id % CHARIO_NVME_ADMIN_DEPTH;

	if (place > CHARIO_NVME_EVENT_PLACE || admin->ids[place] != id)
		return false;
	if (place == CHARIO_NVME_EVENT_PLACE)
		return end_event(admin, answer);
	return end_slot(&admin->slots[place], answer);
}

/* One completion; the place of the command that it ends is noted in @ended. */
static bool reap_one(struct chario_nvme *ctrl, unsigned long *ended)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	const struct nvme_completion *cqe = &admin->cqes[admin->head];
	u16 status = le16_to_cpu(READ_ONCE(cqe->status));
	struct chario_nvme_admin_answer answer;
	u16 id;

	if ((status & 1) != admin->phase)
		return false;
	/* The rest of the entry is not read before its phase bit. */
	dma_rmb();
	/* Once: the drive may change it at any time. */
	id = READ_ONCE(cqe->command_id);
	answer.result = le32_to_cpu(READ_ONCE(cqe->result.u32));
	answer.status = status >> 1;
	if (end_command(admin, id, &answer))
		*ended |= BIT(id % CHARIO_NVME_ADMIN_DEPTH);
	else
		dev_err_ratelimited(&ctrl->pdev->dev,
				    "admin queue: completion of command %u, which is not in flight\n",
				    id);
	if (++admin->head == CHARIO_NVME_ADMIN_DEPTH) {
		admin->head = 0;
		admin->phase ^= 1;
	}
	return true;
}

/* Whoever is woken may disable the controller: the doorbell is rung before. */
static bool reap(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags, ended = 0;
	unsigned int place, count;

	raw_spin_lock_irqsave(&admin->lock, flags);
	/* No more than there are, also from a drive that goes on and on. */
	for (count = 0; count < CHARIO_NVME_ADMIN_DEPTH; count++)
		if (!reap_one(ctrl, &ended))
			break;
	if (count)
		writel(admin->head, chario_nvme_doorbell(ctrl, 1));
	for_each_set_bit(place, &ended, ARRAY_SIZE(admin->slots))
		complete(&admin->slots[place].done);
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	if (ended & BIT(CHARIO_NVME_EVENT_PLACE))
		ctrl->admin.arrived(ctrl);
	return count;
}

static irqreturn_t handle_irq(int irq, void *data)
{
	return reap(data) ? IRQ_HANDLED : IRQ_NONE;
}

/**
 * chario_nvme_admin_request_irq() - listen to the controller
 * @ctrl: has its vectors
 *
 * Return: 0 or -errno.
 */
int chario_nvme_admin_request_irq(struct chario_nvme *ctrl)
{
	int ret;

	ret = request_irq(pci_irq_vector(ctrl->pdev, 0), handle_irq,
			  IRQF_SHARED, "chario-admin", ctrl);
	ctrl->admin.irq_requested = !ret;
	return ret;
}

/**
 * chario_nvme_admin_free_irq() - undo chario_nvme_admin_request_irq()
 * @ctrl: the controller
 */
void chario_nvme_admin_free_irq(struct chario_nvme *ctrl)
{
	if (ctrl->admin.irq_requested)
		free_irq(pci_irq_vector(ctrl->pdev, 0), ctrl);
	ctrl->admin.irq_requested = false;
}

/*
 * Under the lock; there are as many entries as places, and one more.  An
 * identifier is its place and, above that, a number that is the next one each
 * time: a completion that comes twice does not end the next command.
 */
static void post(struct chario_nvme *ctrl, struct nvme_command *c,
		 unsigned int place)
{
	struct chario_nvme_admin *admin = &ctrl->admin;

	admin->ids[place] += CHARIO_NVME_ADMIN_DEPTH;
	c->common.command_id = admin->ids[place];
	admin->sqes[admin->tail] = *c;
	if (++admin->tail == CHARIO_NVME_ADMIN_DEPTH)
		admin->tail = 0;
	writel(admin->tail, chario_nvme_doorbell(ctrl, 0));
}

static struct chario_nvme_admin_slot *
take_slot(struct chario_nvme_admin *admin)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(admin->slots) && admin->open; i++)
		if (admin->slots[i].state == CHARIO_NVME_ADMIN_FREE)
			return &admin->slots[i];
	return NULL;
}

static struct chario_nvme_admin_slot *submit(struct chario_nvme *ctrl,
					     struct nvme_command *c)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct chario_nvme_admin_slot *slot;
	unsigned long flags;

	raw_spin_lock_irqsave(&admin->lock, flags);
	slot = take_slot(admin);
	if (slot) {
		slot->state = CHARIO_NVME_ADMIN_BUSY;
		slot->cancelled = false;
		slot->has_page = c->common.dptr.prp1 ==
				 cpu_to_le64(admin->page_dma);
		reinit_completion(&slot->done);
		post(ctrl, c, slot - admin->slots);
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return slot;
}

/**
 * chario_nvme_admin_post_event() - ask to be told what happens (5.2)
 * @ctrl: the controller
 *
 * Nothing is done while a request is with the controller, or the queue is
 * closed.  chario_nvme_event_arrived() is called when it ends.
 */
void chario_nvme_admin_post_event(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	struct nvme_command c = { };
	unsigned long flags;

	c.common.opcode = nvme_admin_async_event;
	raw_spin_lock_irqsave(&admin->lock, flags);
	if (admin->open && !admin->event_posted) {
		admin->event_posted = true;
		post(ctrl, &c, CHARIO_NVME_EVENT_PLACE);
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/**
 * chario_nvme_admin_wait_until() - when the patience with the controller ends
 * @ctrl: the controller
 *
 * Return: jiffies at which a command that begins now is given up.
 */
unsigned long chario_nvme_admin_wait_until(const struct chario_nvme *ctrl)
{
	const struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long until;

	until = jiffies + msecs_to_jiffies(chario_nvme_admin_timeout_ms());
	if (admin->has_deadline && time_before(admin->deadline, until))
		until = admin->deadline;
	return until;
}

/* The interrupt should wake us; a lost one costs a tenth of a second. */
static int wait_for(struct chario_nvme *ctrl,
		    struct chario_nvme_admin_slot *slot)
{
	unsigned long until = chario_nvme_admin_wait_until(ctrl);

	while (!wait_for_completion_timeout(&slot->done, HZ / 10 + 1)) {
		reap(ctrl);
		if (completion_done(&slot->done))
			continue;
		if (chario_nvme_ctrl_is_gone(ctrl))
			return -ENODEV;
		/* It fails again while it is brought up: see reset(). */
		if (READ_ONCE(ctrl->admin.has_deadline) &&
		    chario_nvme_ctrl_has_failed(ctrl))
			return -EIO;
		/* Recovery may wait for us, and ends what the controller has. */
		if (READ_ONCE(ctrl->drive.reset_wanted) &&
		    READ_ONCE(ctrl->drive.state) == CHARIO_DRIVE_LIVE)
			return -ECANCELED;
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Take the answer; where there is none, the controller keeps the command. */
static int collect(struct chario_nvme_admin *admin,
		   struct chario_nvme_admin_slot *slot, int ret,
		   struct chario_nvme_admin_answer *answer)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&admin->lock, flags);
	if (slot->state == CHARIO_NVME_ADMIN_ENDED) {
		ret = slot->cancelled ? -ECANCELED : 0;
		*answer = slot->answer;
		slot->state = CHARIO_NVME_ADMIN_FREE;
	} else {
		slot->state = CHARIO_NVME_ADMIN_LOST;
		if (slot->has_page)
			WRITE_ONCE(admin->page_lost, true);
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return ret;
}

/* Has the controller kept all commands, so that it can be asked nothing? */
static bool is_stuck(struct chario_nvme_admin *admin)
{
	unsigned long flags;
	bool stuck;
	unsigned int i;

	raw_spin_lock_irqsave(&admin->lock, flags);
	stuck = admin->open;
	for (i = 0; i < ARRAY_SIZE(admin->slots); i++)
		if (admin->slots[i].state != CHARIO_NVME_ADMIN_LOST)
			stuck = false;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return stuck;
}

/**
 * chario_nvme_admin_ask() - run an admin command, whatever the answer is
 * @ctrl: the controller
 * @c: the command
 * @answer: filled in when there is one
 *
 * Context: may sleep, up to admin_timeout_ms.
 * Return: 0 when the controller has answered; ETIMEDOUT, ENODEV; EAGAIN when
 * it takes no command now, ECANCELED when it has been disabled meanwhile, or is
 * about to be.
 */
int chario_nvme_admin_ask(struct chario_nvme *ctrl, struct nvme_command *c,
			  struct chario_nvme_admin_answer *answer)
{
	struct chario_nvme_admin_slot *slot;
	int ret;

	slot = submit(ctrl, c);
	if (!slot) {
		if (is_stuck(&ctrl->admin))
			chario_drive_recover_wanted(&ctrl->drive, true);
		return -EAGAIN;
	}
	ret = collect(&ctrl->admin, slot, wait_for(ctrl, slot), answer);
	if (ret)
		dev_err_ratelimited(&ctrl->pdev->dev,
				    "admin command 0x%02x: %s\n",
				    c->common.opcode,
				    ret == -ENODEV ? "drive has gone" :
				    ret == -EIO ? "the controller has failed" :
				    ret == -ECANCELED ? "cut off by a reset" :
				    "no answer in time");
	return ret;
}

/**
 * chario_nvme_admin_run() - run an admin command
 * @ctrl: the controller
 * @c: the command
 * @result: dword 0 of its completion, or NULL
 *
 * Context: may sleep, up to admin_timeout_ms.
 * Return: 0; as chario_nvme_admin_ask(); the errno of the status that the
 * controller has answered with.
 */
int chario_nvme_admin_run(struct chario_nvme *ctrl, struct nvme_command *c,
			  u32 *result)
{
	struct chario_nvme_admin_answer answer;
	int ret = chario_nvme_admin_ask(ctrl, c, &answer);

	if (ret)
		return ret;
	if (result)
		*result = answer.result;
	return chario_nvme_status_errno(answer.status);
}

/**
 * chario_nvme_admin_exchange() - run an admin command with data
 * @ctrl: the controller
 * @c: the command; its data pointer is filled in
 * @data: given to the controller, and what it has written is given back
 * @bytes: of @data, up to 4096
 * @answer: filled in when there is one
 *
 * The page of a command that has not come back is left alone until the
 * controller has been disabled.
 *
 * Context: may sleep, up to admin_timeout_ms for each caller.
 * Return: as chario_nvme_admin_ask(); EBUSY when the page is not to be had.
 */
int chario_nvme_admin_exchange(struct chario_nvme *ctrl, struct nvme_command *c,
			       void *data, size_t bytes,
			       struct chario_nvme_admin_answer *answer)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	int ret = -EBUSY;

	c->common.dptr.prp1 = cpu_to_le64(admin->page_dma);
	mutex_lock(&admin->mutex);
	if (!READ_ONCE(admin->page_lost)) {
		memcpy(admin->page, data, bytes);
		ret = chario_nvme_admin_ask(ctrl, c, answer);
		if (!ret)
			memcpy(data, admin->page, bytes);
	}
	mutex_unlock(&admin->mutex);
	return ret;
}
