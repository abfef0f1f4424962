// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events, which the drive reports (5.2).
 *
 * One request is with the controller as long as that is enabled.  When the request
 * ends, the log page that it names is read, because the drive reports no more events of
 * this kind until then; if namespaces have changed, they are checked (identity.c), and
 * disks come and go with them (disks.c); the disks send uevents; and the request is posted
 * again.  All of this happens at once, because the size of blocks may have changed; but at
 * most twenty times a second, even if a drive reports events endlessly.
 *
 * A log page that cannot be read is tried a few times, because the event would be the
 * last one of its kind.
 *
 * A reset ends the request and makes the drive forget which events are wanted, so both
 * are repeated after it.  Namespaces are checked as soon as the drive knows which
 * events are wanted, because it has not reported earlier changes.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>

#include "disk/health.h"
#include "nvme.h"

/* All critical warnings of the health log (5.27.1.8). */
#define WARNINGS	GENMASK(4, 0)

#define PAUSE	(HZ / 20)

/* The number of times that a log page is read, or a check is begun, before it is given up. */
#define TRIES	5

/* The log page in dword 0 of the completion. */
#define EVENT_LOG(result)	(((result) >> 16) & 0xff)

/*
 * The length of the longest log page that an event names: the list of changed
 * namespaces.
 */
#define LOG_BYTES	4096

static u32 log_bytes(u8 log)
{
	return log == NVME_LOG_CHANGED_NS ? LOG_BYTES : 512;
}

/*
 * Reads a log page, which lets the drive report the next event; its content is not
 * used.
 */
static int clear(struct chario_nvme *ctrl, u8 log)
{
	struct chario_nvme_admin_answer answer;
	struct nvme_command c = { };
	u32 bytes = log_bytes(log);
	int ret;

	c.get_log_page.opcode = nvme_admin_get_log_page;
	c.get_log_page.nsid = cpu_to_le32(NVME_NSID_ALL);
	c.get_log_page.lid = log;
	c.get_log_page.numdl = cpu_to_le16(bytes / 4 - 1);
	ret = chario_nvme_admin_exchange(ctrl, &c, ctrl->events.page, bytes,
					 &answer);
	return ret ?: chario_nvme_status_errno(answer.status);
}

static void event_tell(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);

		if (!disk)
			continue;
		if (!disk->node.leaves)
			chario_health_tell(disk);
		put_device(&disk->dev);
	}
}

/*
 * Takes the event that has arrived, and delays the next one.  Returns false if there is
 * none.
 */
static bool event_take(struct chario_nvme *ctrl,
		       struct chario_nvme_admin_answer *event)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;
	bool arrived;

	raw_spin_lock_irqsave(&admin->lock, flags);
	arrived = ctrl->events.arrived;
	ctrl->events.arrived = false;
	if (arrived)
		ctrl->events.earliest = jiffies + PAUSE;
	*event = admin->event;
	raw_spin_unlock_irqrestore(&admin->lock, flags);
	return arrived;
}

/*
 * Checks the namespaces: another host or controller of the drive may have formatted one, or
 * attached or detached one.  Returns 0 or -errno.
 */
static int look_at_namespaces(struct chario_nvme *ctrl)
{
	if (!chario_nvme_identity_check(ctrl, ctrl->events.page))
		return ctrl->events.scan(ctrl);
	/* A reset repeats the check. */
	chario_drive_recover_wanted(&ctrl->drive, true);
	return -EAGAIN;
}

/* Does what chario_nvme_event_rescan() waits for; again after a reset that has cut it off. */
static void look_for_namespaces(struct chario_nvme *ctrl)
{
	struct chario_nvme_events *events = &ctrl->events;
	unsigned int asked = READ_ONCE(events->asked);
	int ret;

	if (asked == events->answered)
		return;
	ret = look_at_namespaces(ctrl);
	WRITE_ONCE(events->result, ret);
	if (chario_nvme_is_cut_off(ctrl, ret))
		return;
	/* Pairs with the acquire in chario_nvme_event_rescan(). */
	smp_store_release(&events->answered, asked);
}

/* Gives up a log page; if it is about namespaces, a reset checks these instead. */
static void give_up_log(struct chario_nvme *ctrl, u8 log, int error)
{
	dev_warn_ratelimited(&ctrl->pdev->dev,
			     "the log page of an event, 0x%02x, cannot be read: error %d\n",
			     log, error);
	if (log == NVME_LOG_CHANGED_NS)
		chario_drive_recover_wanted(&ctrl->drive, true);
}

/* Clears a log page, or gives it up.  Returns false when this must be tried again. */
static bool clear_or_give_up(struct chario_nvme *ctrl, u8 log)
{
	int ret = clear(ctrl, log);

	if (ret && ++ctrl->events.tries < TRIES)
		return false;
	ctrl->events.tries = 0;
	if (ret)
		give_up_log(ctrl, log, ret);
	return true;
}

/* Handles an event.  Returns false when this must be repeated. */
static bool attend(struct chario_nvme *ctrl,
		   const struct chario_nvme_admin_answer *event)
{
	if (event->status) {
		ctrl->events.refused = true;
		dev_warn_ratelimited(&ctrl->pdev->dev,
				     "no asynchronous events: status 0x%03x, %s\n",
				     event->status & 0x7ff,
				     chario_nvme_status_text(event->status));
		return true;
	}
	if (!clear_or_give_up(ctrl, EVENT_LOG(event->result)))
		return false;
	if (EVENT_LOG(event->result) == NVME_LOG_CHANGED_NS)
		look_at_namespaces(ctrl);
	chario_nvme_health_expire(ctrl);
	event_tell(ctrl);
	return true;
}

static void configure(struct chario_nvme *ctrl)
{
	u32 wanted = WARNINGS;
	struct nvme_command c = { };
	int ret;

	if (ctrl->has_namespace_events)
		wanted |= NVME_AEN_CFG_NS_ATTR;
	c.features.opcode = nvme_admin_set_features;
	c.features.fid = cpu_to_le32(NVME_FEAT_ASYNC_EVENT);
	c.features.dword11 = cpu_to_le32(wanted);
	ret = chario_nvme_admin_run(ctrl, &c, NULL);
	if (ret)
		dev_warn_ratelimited(&ctrl->pdev->dev,
				     "events cannot be asked for: error %d\n", ret);
	ctrl->events.configured = true;
	if (ctrl->has_namespace_events)
		look_at_namespaces(ctrl);
}

/*
 * Queues the work, under admin.lock, unless chario_nvme_event_stop() has been called.
 */
static void queue(struct chario_nvme *ctrl, unsigned long delay)
{
	if (ctrl->events.on)
		mod_delayed_work(system_unbound_wq, &ctrl->events.work, delay);
}

/* Notes that the request has ended.  Any context. */
static void arrived(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;
	long delay;

	raw_spin_lock_irqsave(&admin->lock, flags);
	ctrl->events.arrived = true;
	delay = ctrl->events.earliest - jiffies;
	/* Jiffies wrap, and a time that is long past can look like a future one. */
	queue(ctrl, clamp(delay, 0L, (long)PAUSE));
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

static void event_run(struct work_struct *work)
{
	struct chario_nvme_events *events =
		container_of(to_delayed_work(work), struct chario_nvme_events,
			     work);
	struct chario_nvme *ctrl = container_of(events, struct chario_nvme,
						events);
	struct chario_nvme_admin_answer event;

	/* This work is queued again when the drive is live. */
	if (!READ_ONCE(events->on) ||
	    READ_ONCE(ctrl->drive.state) != CHARIO_DRIVE_LIVE)
		return;
	if (!events->configured)
		configure(ctrl);
	look_for_namespaces(ctrl);
	if (event_take(ctrl, &event) && !attend(ctrl, &event))
		arrived(ctrl);
	else if (!events->refused)
		chario_nvme_admin_post_event(ctrl);
}

/**
 * chario_nvme_event_init() - initialize the events, which are not waited for yet
 * @ctrl: the controller
 */
void chario_nvme_event_init(struct chario_nvme *ctrl)
{
	INIT_DELAYED_WORK(&ctrl->events.work, event_run);
	ctrl->admin.arrived = arrived;
}

/**
 * chario_nvme_event_start() - wait for events and report them to the users of the disks
 * @ctrl: a live controller
 */
void chario_nvme_event_start(struct chario_nvme *ctrl)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
	ctrl->events.on = true;
	queue(ctrl, 0);
	raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
}

/**
 * chario_nvme_event_restart() - request events again after a reset
 * @ctrl: a live controller
 */
void chario_nvme_event_restart(struct chario_nvme *ctrl)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
	ctrl->events.configured = false;
	ctrl->events.refused = false;
	queue(ctrl, 0);
	raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
}

/**
 * chario_nvme_event_rescan() - check the namespaces, although the drive has reported nothing
 * @ctrl: a controller that waits for events
 *
 * A reset of the controller is waited for, also if the check itself asks for it.  One of its
 * link is not: that may need the lock of the device, which somebody may hold who waits for the
 * caller.
 *
 * Context: may sleep, for as long as admin commands and resets take.
 * Return: 0; EAGAIN if the drive's link is being reset, and the check comes after that; ENODEV if
 * the drive has been given up or removed; EINTR on a fatal signal; or the error for which
 * namespaces that have come may lack a disk.
 */
int chario_nvme_event_rescan(struct chario_nvme *ctrl)
{
	unsigned int tries, asked;
	unsigned long flags;
	int ret;

	raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
	asked = ctrl->events.asked + 1;
	WRITE_ONCE(ctrl->events.asked, asked);
	raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
	for (tries = 0; tries < TRIES; tries++) {
		raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
		queue(ctrl, 0);
		raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
		flush_delayed_work(&ctrl->events.work);
		/* Pairs with the release in look_for_namespaces(). */
		if ((int)(smp_load_acquire(&ctrl->events.answered) - asked) >= 0)
			return READ_ONCE(ctrl->events.result);
		flush_work(&ctrl->drive.recover_work);
		ret = chario_drive_lock_live(&ctrl->drive);
		if (ret)
			return ret;
		mutex_unlock(&ctrl->drive.lock);
	}
	return -EAGAIN;
}

/**
 * chario_nvme_event_stop() - undo chario_nvme_event_start()
 * @ctrl: a controller that still has its disks, and keeps the request until it is
 *	disabled
 */
void chario_nvme_event_stop(struct chario_nvme *ctrl)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
	ctrl->events.on = false;
	raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
	cancel_delayed_work_sync(&ctrl->events.work);
}
