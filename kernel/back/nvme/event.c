// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asynchronous events: the drive tells what has happened to it (5.2).
 *
 * One request is with the controller as long as it is enabled.  When it ends,
 * the log page that it names is read, without which the drive does not tell of
 * events of this kind again; where namespaces have changed, they are looked at
 * (identity.c); the disks tell their users; and the request is posted again.
 * That happens at once, for the news may be that blocks have another length now;
 * but a drive that cannot stop talking is listened to twenty times a second.
 *
 * A log page that cannot be read is tried a few times, for the event would be
 * the last one of its kind.
 *
 * A reset takes the request away and makes the drive forget which events are
 * wanted: both are done again then.  Namespaces are looked at as soon as the drive
 * knows: it has not told what has happened to them before.
 */
#include <linux/bits.h>
#include <linux/jiffies.h>

#include "core/health.h"
#include "nvme.h"

/* Critical warnings of the health log, each of them (5.27.1.8). */
#define WARNINGS	GENMASK(4, 0)

#define PAUSE	(HZ / 20)

/* How often a log page is asked for. */
#define TRIES	5

/* Dword 0 of the completion. */
#define EVENT_LOG(result)	(((result) >> 16) & 0xff)

/* Longest log page that an event names: the list of changed namespaces. */
#define LOG_BYTES	4096

static u32 log_bytes(u8 log)
{
	return log == NVME_LOG_CHANGED_NS ? LOG_BYTES : 512;
}

/* Reading the page lets the drive tell of the next event; its content is unused. */
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

static void tell(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++)
		chario_health_tell(ctrl->disks[i]);
}

/* The event that has arrived, if one has; the next one waits for a while. */
static bool take(struct chario_nvme *ctrl,
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

/* One may have been formatted, by another host or by another controller of the drive. */
static void look_at_namespaces(struct chario_nvme *ctrl)
{
	/* A reset looks as well. */
	if (chario_nvme_identity_check(ctrl, ctrl->events.page))
		chario_drive_recover_wanted(&ctrl->drive, true);
}

/* A reset makes the drive tell again, where it matters. */
static void give_up_log(struct chario_nvme *ctrl, u8 log, int error)
{
	dev_warn_ratelimited(&ctrl->pdev->dev,
			     "the log page of an event, 0x%02x, cannot be read: error %d\n",
			     log, error);
	if (log == NVME_LOG_CHANGED_NS)
		chario_drive_recover_wanted(&ctrl->drive, true);
}

/* False when it has to be tried again. */
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

/* False when it has to be attended to again. */
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
	tell(ctrl);
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

/* Under admin.lock: after event_stop() there is no more work. */
static void queue(struct chario_nvme *ctrl, unsigned long delay)
{
	if (ctrl->events.on)
		mod_delayed_work(system_unbound_wq, &ctrl->events.work, delay);
}

/* The request has ended.  Any context. */
static void arrived(struct chario_nvme *ctrl)
{
	struct chario_nvme_admin *admin = &ctrl->admin;
	unsigned long flags;
	long delay;

	raw_spin_lock_irqsave(&admin->lock, flags);
	ctrl->events.arrived = true;
	delay = ctrl->events.earliest - jiffies;
	/* Jiffies wrap: a time that is long past then looks like one to come. */
	queue(ctrl, clamp(delay, 0L, (long)PAUSE));
	raw_spin_unlock_irqrestore(&admin->lock, flags);
}

static void run(struct work_struct *work)
{
	struct chario_nvme_events *events =
		container_of(to_delayed_work(work), struct chario_nvme_events,
			     work);
	struct chario_nvme *ctrl = container_of(events, struct chario_nvme,
						events);
	struct chario_nvme_admin_answer event;

	/* Whoever makes it live again queues this work. */
	if (!READ_ONCE(events->on) ||
	    READ_ONCE(ctrl->drive.state) != CHARIO_DRIVE_LIVE)
		return;
	if (!events->configured)
		configure(ctrl);
	if (take(ctrl, &event) && !attend(ctrl, &event))
		arrived(ctrl);
	else if (!events->refused)
		chario_nvme_admin_post_event(ctrl);
}

/**
 * chario_nvme_event_init() - events are not waited for yet
 * @ctrl: the controller
 */
void chario_nvme_event_init(struct chario_nvme *ctrl)
{
	INIT_DELAYED_WORK(&ctrl->events.work, run);
	ctrl->admin.arrived = arrived;
}

/**
 * chario_nvme_event_start() - tell the disks' users what happens to the drive
 * @ctrl: live
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
 * chario_nvme_event_restart() - the controller has been reset
 * @ctrl: live
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
 * chario_nvme_event_stop() - undo chario_nvme_event_start()
 * @ctrl: its disks are still there; the request stays with the controller until
 *	that is disabled
 */
void chario_nvme_event_stop(struct chario_nvme *ctrl)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&ctrl->admin.lock, flags);
	ctrl->events.on = false;
	raw_spin_unlock_irqrestore(&ctrl->admin.lock, flags);
	cancel_delayed_work_sync(&ctrl->events.work);
}
