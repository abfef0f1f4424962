// SPDX-License-Identifier: GPL-2.0-only
/*
 * The admin queue: commands that complete by interrupt, with a time limit.
 *
 * A command that does not come back keeps its identifier, and the page that it may
 * write to, until the controller has been disabled.  Then it ends, and a caller that
 * waits for it gets ECANCELED.  While the controller is disabled the queue is closed
 * and accepts nothing.
 *
 * An asynchronous event request is a command that ends when the drive reports an event.
 * It has an identifier of its own and nobody waits for it; event.c handles its end.
 */
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/module.h>

#include "base/range.h"
#include "nvme.h"

static int admin_timeout_ms = 5000;
chario_range_param(admin_timeout_ms, 100, 600 * 1000, 0644);
MODULE_PARM_DESC(admin_timeout_ms, "Longest wait for an admin command, ms (100 to 600000, default 5000)");

/**
 * chario_nvme_admin_timeout_ms() - the longest wait for an admin command, in
 *	milliseconds
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
 * @ctrl: a disabled controller, or one that has gone and whose bus mastering is off
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
 * chario_nvme_admin_reset() - empty the rings
 * @ctrl: a disabled controller
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
 * chario_nvme_admin_open() - accept commands
 * @ctrl: an enabled controller
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
 * chario_nvme_admin_close() - accept no commands, before the controller is disabled
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
 * chario_nvme_admin_forget() - end the commands that the controller has forgotten
 * @ctrl: a disabled controller with a closed admin queue
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

/* Ends a command.  Returns false when the controller has none with this identifier. */
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

/* Reaps one completion; the place of the command that it ends is noted in @ended. */
static bool admin_reap_one(struct chario_nvme *ctrl, unsigned long *ended)
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
	/* Each word is read once, because the drive may change it at any time. */
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

/*
 * The doorbell is rung before callers are woken, because they may disable the
 * controller.
 */
static bool reap(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags, ended = 0;
	unsigned int place, count;

	raw_spin_lock_irqsave(&admin->lock, flags);
	/* The ring has no more, even if a drive makes up completions endlessly. */
	for (count = 0; count < CHARIO_NVME_ADMIN_DEPTH; count++)
		if (!admin_reap_one(ctrl, &ended))
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
 * chario_nvme_admin_request_irq() - install the interrupt handler
 * @ctrl: a controller that has its vectors
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
 * Posts a command, under admin->lock; the ring has one entry more than there are
 * places.  An identifier contains its place and, above that, a number that grows with
 * each command of the place, so that a completion that comes twice does not end the
 * next command.
 */
static void admin_post(struct chario_nvme *ctrl, struct nvme_command *c,
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
		admin_post(ctrl, c, slot - admin->slots);
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return slot;
}

/**
 * chario_nvme_admin_post_event() - post the asynchronous event request (5.2)
 * @ctrl: the controller
 *
 * Nothing is done while a request is with the controller, or the queue is closed.
 * @arrived of &struct chario_nvme_admin is called when the request ends.
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
		admin_post(ctrl, &c, CHARIO_NVME_EVENT_PLACE);
	}
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

/**
 * chario_nvme_admin_wait_until() - the time limit of a command that begins now
 * @ctrl: the controller
 *
 * Return: time in jiffies at which the command is given up.
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

/* Waits for the interrupt; a lost one costs a tenth of a second. */
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
		/*
		 * The controller fails again while recovery enables it, see reset() in
		 * drive/recover.c.
		 */
		if (READ_ONCE(ctrl->admin.has_deadline) &&
		    chario_nvme_ctrl_has_failed(ctrl))
			return -EIO;
		/*
		 * Recovery, which ends the controller's commands, may wait for this
		 * caller.
		 */
		if (READ_ONCE(ctrl->drive.reset_wanted) &&
		    READ_ONCE(ctrl->drive.state) == CHARIO_DRIVE_LIVE)
			return -ECANCELED;
		if (time_after(jiffies, until))
			return -ETIMEDOUT;
	}
	return 0;
}

/* Takes the answer; without one, the controller keeps the command. */
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

/* Has the controller kept all commands, so that none can be posted? */
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
 * chario_nvme_admin_ask() - run an admin command and return its answer
 * @ctrl: the controller
 * @c: the command
 * @answer: filled in when the controller has answered
 *
 * Context: may sleep, up to admin_timeout_ms.
 * Return: 0 when the controller has answered, whatever the status; ETIMEDOUT; ENODEV
 * when it has gone; EIO when it fails again during recovery; EAGAIN when it accepts no
 * command now; ECANCELED when it has been disabled meanwhile, or is about to be.
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
 * @result: filled in with dword 0 of the completion, or NULL
 *
 * Context: may sleep, up to admin_timeout_ms.
 * Return: 0; the errors of chario_nvme_admin_ask(); or the errno of the controller's
 * status.
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
 * @c: the command, whose data pointer is filled in here
 * @data: data that are copied to the controller's page, and back after the command
 * @bytes: length of @data in bytes, up to 4096
 * @answer: filled in when the controller has answered
 *
 * The page of a command that has not come back is not used again until the controller
 * has been disabled.
 *
 * Context: may sleep, up to admin_timeout_ms for each caller in turn.
 * Return: see chario_nvme_admin_ask(); EBUSY while a lost command has the page.
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
