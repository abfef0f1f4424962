// SPDX-License-Identifier: GPL-2.0-only
/*
 * The disks of a controller, one for each namespace.
 *
 * Each disk has a place, which it keeps until nobody uses it any more.  Namespaces come and go
 * while the drive is bound: when the drive reports it, after a reset, and when an
 * administrator asks for it, event.c compares the list of namespaces with the disks.  A
 * namespace without a disk gets one.  A disk whose namespace has gone, or has become another
 * one, loses its node at once, and its place at the first comparison after the last open file
 * has been closed.  The block disk of a new one is made by a work of its own: its partitions
 * are read, for which the drive may need long.
 *
 * A new disk has its place before it is identified for the last time and published: a reset
 * either comes before that, or checks the disk, too.
 */
#include <linux/slab.h>

#include "memory/buffer.h"
#include "memory/cmb.h"
#include "nvme.h"
#include "queue/medium.h"

#define MAX_DISKS	256

/* The time after which a block disk is tried again that a reset has kept from being made. */
#define BLOCK_AGAIN	HZ

/**
 * struct chario_nvme_refusal - a namespace without a disk
 * @nsid: identifier of the namespace; 0 if the entry is free
 * @why: reason that the log has
 */
struct chario_nvme_refusal {
	u32 nsid;
	const char *why;
};

/*
 * Notes why a namespace has no disk.  Returns false if the log says so already.
 */
static bool note_refusal(struct chario_nvme *ctrl, u32 nsid, const char *why)
{
	struct chario_nvme_refusal *r, *end = ctrl->refusals + CHARIO_NVME_MAX_LISTED;

	for (r = ctrl->refusals; r < end; r++) {
		if (r->nsid != nsid)
			continue;
		if (r->why == why)
			return false;
		r->why = why;
		return true;
	}
	for (r = ctrl->refusals; r < end && r->nsid; r++)
		;
	if (r < end)
		*r = (struct chario_nvme_refusal){ nsid, why };
	return true;
}

static void refuse(struct chario_nvme *ctrl, u32 nsid, const char *why)
{
	if (note_refusal(ctrl, nsid, why))
		dev_warn(&ctrl->pdev->dev, "namespace %u refused: %s\n", nsid, why);
}

static void refuse_status(struct chario_nvme *ctrl, u32 nsid, u16 status)
{
	const char *text = chario_nvme_status_text(status);

	if (note_refusal(ctrl, nsid, text))
		dev_warn(&ctrl->pdev->dev,
			 "namespace %u refused: the drive does not describe it: status 0x%03x, %s\n",
			 nsid, status & 0x7ff, text);
}

static bool is_listed(const u32 *nsids, unsigned int count, u32 nsid)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (nsids[i] == nsid)
			return true;
	return false;
}

/* Forgets the namespaces that are not there any more: if they come back, it is news. */
static void forget_refusals(struct chario_nvme *ctrl, const u32 *nsids, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < CHARIO_NVME_MAX_LISTED; i++)
		if (!is_listed(nsids, count, ctrl->refusals[i].nsid))
			ctrl->refusals[i].nsid = 0;
}

/* Returns why namespaces of a command set cannot be driven, or NULL. */
static const char *command_set_refusal(u8 set)
{
	switch (set) {
	case NVME_CSI_NVM:
		return NULL;
	case NVME_CSI_ZNS:
		return "zoned";
	default:
		return "its command set is not that of blocks (NVM)";
	}
}

/*
 * Examines a namespace, with its description in @id.  Returns 1 if it can be driven; 0, with
 * the reason in the log, if not; or an error of chario_nvme_admin_exchange().
 */
static int examine(struct chario_nvme *ctrl, u32 nsid, struct nvme_id_ns *id,
		   struct chario_nvme_descriptors *descriptors)
{
	const char *why;
	u16 status;
	int ret = chario_nvme_identify_descriptors(ctrl, nsid, id, descriptors);

	if (ret)
		return ret;
	why = command_set_refusal(descriptors->command_set);
	if (!why) {
		memset(id, 0, sizeof(*id));
		ret = chario_nvme_identify_ns(ctrl, nsid, id, &status);
		if (ret)
			return ret;
		/* Without a list, numbers are tried that no namespace may have. */
		if (!ctrl->lists_namespaces && (status || !id->nsze))
			return 0;
		if (chario_nvme_status_errno(status)) {
			refuse_status(ctrl, nsid, status);
			return 0;
		}
		why = chario_nvme_disk_refusal(ctrl, id);
	}
	if (why)
		refuse(ctrl, nsid, why);
	return !why;
}

/* Puts a disk into a free place. */
static void take_place(struct chario_nvme *ctrl, unsigned int index, struct chario_disk *disk,
		       const struct nvme_id_ns *id,
		       const struct chario_nvme_descriptors *descriptors)
{
	chario_nvme_identity_note(ctrl, index, id, descriptors);
	spin_lock(&ctrl->disks_lock);
	ctrl->disks[index] = disk;
	WRITE_ONCE(ctrl->nr_disks, max(ctrl->nr_disks, index + 1));
	spin_unlock(&ctrl->disks_lock);
}

/*
 * Frees the place of a disk and releases the disk; with @if_unused, only if nobody else has
 * a reference: open files have, and with them commands in flight.
 */
static void leave_place(struct chario_nvme *ctrl, unsigned int index, bool if_unused)
{
	struct chario_disk *disk = ctrl->disks[index];
	bool stays;

	spin_lock(&ctrl->disks_lock);
	stays = if_unused && kref_read(&disk->dev.kobj.kref) > 1;
	if (!stays)
		ctrl->disks[index] = NULL;
	spin_unlock(&ctrl->disks_lock);
	if (stays)
		return;
	chario_buffer_detach_all(disk);
	chario_medium_leave(disk);
	put_device(&disk->dev);
}

/*
 * Makes a disk of a namespace, which is not published yet.  Returns 1, and the disk is in the
 * place; 0, with the reason in the log, if there is none to be made; or -errno.
 */
static int add(struct chario_nvme *ctrl, u32 nsid, struct nvme_id_ns *id,
	       unsigned int *place)
{
	struct chario_nvme_descriptors descriptors = { };
	struct chario_disk *disk;
	int ret = examine(ctrl, nsid, id, &descriptors);

	if (ret <= 0)
		return ret;
	for (*place = 0; *place < MAX_DISKS && ctrl->disks[*place]; ++*place)
		;
	if (*place == MAX_DISKS) {
		refuse(ctrl, nsid, "a drive has 256 disks at most");
		return 0;
	}
	disk = chario_nvme_disk_create(ctrl, nsid, id);
	if (disk == ERR_PTR(-EINVAL)) {
		refuse(ctrl, nsid, "its limits contradict each other");
		return 0;
	}
	if (IS_ERR(disk)) {
		dev_err(&ctrl->pdev->dev, "namespace %u has no disk: error %ld\n", nsid,
			PTR_ERR(disk));
		return PTR_ERR(disk);
	}
	take_place(ctrl, *place, disk, id, &descriptors);
	return 1;
}

/* Publishes the disk in a place, which is free again after an error. */
static int publish(struct chario_nvme *ctrl, unsigned int place)
{
	struct chario_disk *disk = ctrl->disks[place];
	int ret = chario_disk_publish(disk);

	if (ret) {
		leave_place(ctrl, place, false);
		return ret;
	}
	dev_info(&ctrl->pdev->dev,
		 "%s: namespace %u, %llu blocks of %u bytes, commands of %u KiB (up to %u), %u queues by interrupt, %u to poll\n",
		 dev_name(&disk->dev), disk->namespace_id,
		 disk->capacity_bytes >> disk->block_shift, disk->block_mask + 1,
		 disk->split.command_bytes / 1024,
		 disk->max_command_bytes / 1024,
		 chario_disk_nr_queues(disk, false),
		 chario_disk_nr_queues(disk, true));
	return 0;
}

static int add_all(struct chario_nvme *ctrl)
{
	struct chario_nvme_events *events = &ctrl->events;
	int i, ret = 0, count = chario_nvme_identify_list(ctrl, events->page, events->nsids);
	unsigned int place;

	for (i = 0; i < count && ret >= 0; i++) {
		ret = add(ctrl, events->nsids[i], events->page, &place);
		if (ret > 0)
			ret = publish(ctrl, place);
	}
	if (count < 0 || ret < 0)
		return count < 0 ? count : ret;
	if (ctrl->nr_disks)
		return 0;
	dev_err(&ctrl->pdev->dev, "refused: no namespace that can be driven%s\n",
		count ? "" : "; none is attached to the controller");
	return -ENODEV;
}

/* Has the disk's node been taken away?  For the work that does so. */
static bool has_left(const struct chario_disk *disk)
{
	return disk->node.leaves;
}

/*
 * Takes away the disks that the check of identities has lost: their namespaces have gone, or
 * are others now, which get new disks.  A list that is wrong takes no disk away.
 */
static void take_away(struct chario_nvme *ctrl, const u32 *nsids, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++) {
		struct chario_disk *disk = ctrl->disks[i];

		if (!disk)
			continue;
		if (!has_left(disk) && READ_ONCE(disk->removed)) {
			dev_info(&ctrl->pdev->dev, "%s: taken away, namespace %u is %s\n",
				 dev_name(&disk->dev), disk->namespace_id,
				 is_listed(nsids, count, disk->namespace_id) ?
				 "another one now" : "not there any more");
			chario_disk_unregister(disk);
			chario_nvme_power_remove(ctrl, disk->namespace_id);
		}
		if (has_left(disk))
			leave_place(ctrl, i, true);
	}
}

static bool has_disk(const struct chario_nvme *ctrl, u32 nsid)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++)
		if (ctrl->disks[i] && !has_left(ctrl->disks[i]) &&
		    ctrl->disks[i]->namespace_id == nsid)
			return true;
	return false;
}

/*
 * Notes whether a new disk gets a block disk: as the other disks have one; without others,
 * as the last one had.
 */
static void note_block(struct chario_nvme *ctrl)
{
	bool any = false, block = false;
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++) {
		if (!ctrl->disks[i] || has_left(ctrl->disks[i]))
			continue;
		any = true;
		block |= READ_ONCE(ctrl->disks[i]->block) ||
			 READ_ONCE(ctrl->disks[i]->wants_block);
	}
	if (any)
		ctrl->gives_block = block;
}

/* Makes the disk of a namespace that has come.  Returns 0 or -errno. */
static int add_late(struct chario_nvme *ctrl, u32 nsid, struct nvme_id_ns *id)
{
	unsigned int place;
	int ret = add(ctrl, nsid, id, &place);
	bool same;

	if (ret <= 0)
		return ret;
	ret = chario_nvme_identity_look(ctrl, place, nsid, id, &same);
	/* A namespace that is another one already is examined again. */
	if (!ret && !same)
		ret = -EAGAIN;
	if (ret)
		leave_place(ctrl, place, false);
	else
		ret = publish(ctrl, place);
	if (!ctrl->disks[place]) {
		chario_nvme_power_remove(ctrl, nsid);
		return ret;
	}
	chario_nvme_power_add(ctrl, nsid);
	if (ctrl->gives_block) {
		WRITE_ONCE(ctrl->disks[place]->wants_block, true);
		mod_delayed_work(system_unbound_wq, &ctrl->block_work, 0);
	}
	return 0;
}

/* Makes the block disk of a disk.  Returns true if that is to be tried again. */
static bool make_block(struct chario_nvme *ctrl, struct chario_disk *disk)
{
	int ret = chario_disk_set_block(disk, true);

	/* The drive is being reset. */
	if (chario_nvme_is_cut_off(ctrl, ret))
		return !READ_ONCE(ctrl->drive.leaves);
	WRITE_ONCE(disk->wants_block, false);
	/* A disk that has gone needs none. */
	if (ret && ret != -ENODEV)
		dev_warn(&ctrl->pdev->dev, "%s has no block disk: error %d\n",
			 dev_name(&disk->dev), ret);
	return false;
}

/* The block_work of &struct chario_nvme. */
static void make_blocks(struct work_struct *work)
{
	struct chario_nvme *ctrl = container_of(to_delayed_work(work),
						struct chario_nvme, block_work);
	bool again = false;
	unsigned int i;

	for (i = 0; i < READ_ONCE(ctrl->nr_disks); i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);

		if (!disk)
			continue;
		if (READ_ONCE(disk->wants_block))
			again |= make_block(ctrl, disk);
		put_device(&disk->dev);
	}
	if (again)
		queue_delayed_work(system_unbound_wq, &ctrl->block_work, BLOCK_AGAIN);
}

static int scan(struct chario_nvme *ctrl)
{
	struct chario_nvme_events *events = &ctrl->events;
	u32 *nsids = events->nsids;
	int i, err, ret = 0, count = chario_nvme_identify_list(ctrl, events->page, nsids);

	if (count < 0)
		return count;
	note_block(ctrl);
	forget_refusals(ctrl, nsids, count);
	take_away(ctrl, nsids, count);
	/*
	 * A namespace that gets no disk does not keep others from theirs.  The work ends early
	 * when the drive is being removed or reset.
	 */
	for (i = 0; i < count && READ_ONCE(events->on) && !READ_ONCE(ctrl->drive.leaves); i++) {
		if (has_disk(ctrl, nsids[i]))
			continue;
		err = add_late(ctrl, nsids[i], events->page);
		ret = ret ?: err;
		if (err && READ_ONCE(ctrl->drive.state) != CHARIO_DRIVE_LIVE)
			break;
	}
	return ret;
}

/* The scan of &struct chario_nvme_events. */
static int scan_disks(struct chario_nvme *ctrl)
{
	int ret = scan(ctrl);

	if (ret)
		dev_warn_ratelimited(&ctrl->pdev->dev,
				     "namespaces that have come may lack a disk: error %d; a write to rescan_controller in sysfs tries again\n",
				     ret);
	return ret;
}

/**
 * chario_nvme_disks_init() - prepare a controller for its disks
 * @ctrl: a new controller
 */
void chario_nvme_disks_init(struct chario_nvme *ctrl)
{
	spin_lock_init(&ctrl->disks_lock);
	INIT_DELAYED_WORK(&ctrl->block_work, make_blocks);
	ctrl->events.scan = scan_disks;
}

/**
 * chario_nvme_disks_create() - make a disk of each namespace
 * @ctrl: a controller with live queues
 *
 * Return: 0; ENODEV, with a message in the log, when no namespace can be driven;
 * ENOMEM; ENOSPC; or an error of chario_nvme_admin_run().
 */
int chario_nvme_disks_create(struct chario_nvme *ctrl)
{
	int ret;

	ctrl->disks = kcalloc(MAX_DISKS, sizeof(*ctrl->disks), GFP_KERNEL);
	ctrl->refusals = kcalloc(CHARIO_NVME_MAX_LISTED, sizeof(*ctrl->refusals), GFP_KERNEL);
	if (!ctrl->disks || !ctrl->refusals)
		return -ENOMEM;
	ret = chario_nvme_identity_alloc(ctrl, MAX_DISKS);
	return ret ?: add_all(ctrl);
}

/**
 * chario_nvme_disks_leave() - prepare for taking the disks away
 * @ctrl: the controller
 *
 * Nobody needs a block disk that is not there yet, and its partitions may be read from a drive
 * that does not answer: the disk is lost, so that no read is sent again.
 */
void chario_nvme_disks_leave(struct chario_nvme *ctrl)
{
	unsigned int i;

	/* Pairs with the barrier in chario_block_enable(). */
	smp_store_mb(ctrl->drive.leaves, true);
	for (i = 0; i < READ_ONCE(ctrl->nr_disks); i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);

		if (!disk)
			continue;
		if (READ_ONCE(disk->block_comes))
			chario_disk_lose(disk);
		put_device(&disk->dev);
	}
}

/**
 * chario_nvme_disks_unregister() - accept no new calls to the disks
 * @ctrl: the controller, whose events have stopped
 */
void chario_nvme_disks_unregister(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++)
		if (ctrl->disks[i] && !has_left(ctrl->disks[i]))
			chario_disk_unregister(ctrl->disks[i]);
	chario_cmb_revoke(ctrl->cmb);
}

/**
 * chario_nvme_disks_put() - release the disks
 * @ctrl: a controller whose queues have been failed and drained; may be freed here,
 *	unless the caller holds a reference
 */
void chario_nvme_disks_put(struct chario_nvme *ctrl)
{
	unsigned int i;

	for (i = 0; i < ctrl->nr_disks; i++)
		if (ctrl->disks[i])
			leave_place(ctrl, i, false);
	kfree(ctrl->refusals);
	kfree(ctrl->disks);
	ctrl->refusals = NULL;
	ctrl->disks = NULL;
	ctrl->nr_disks = 0;
	chario_nvme_identity_free(ctrl);
}
