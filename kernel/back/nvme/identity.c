// SPDX-License-Identifier: GPL-2.0-only
/*
 * The check that a drive and its namespaces are the same as when the disks were made.
 *
 * While the machine slept, the link was down or the controller was reset, somebody may
 * have put another drive into the slot; and another host, or another controller of the
 * same drive, may format a namespace at any time.  Without the check, calls to a disk
 * would then access other data, with blocks of another size.
 */
#include <linux/slab.h>
#include <linux/string.h>

#include "nvme.h"

/**
 * struct chario_nvme_identity - the identity of a namespace
 * @nsze: size in blocks
 * @format: size of a block (@ds, a logarithm) and of its metadata; the rest is zero
 * @eui64: 64-bit identifier, or zero
 * @nguid: 128-bit identifier, or zero
 * @descriptors: command set and UUID
 */
struct chario_nvme_identity {
	__le64 nsze;
	struct nvme_lbaf format;
	u8 eui64[8];
	u8 nguid[16];
	struct chario_nvme_descriptors descriptors;
};

static void identity_take(struct chario_nvme_identity *identity, const struct nvme_id_ns *id,
			  const struct chario_nvme_descriptors *descriptors)
{
	memset(identity, 0, sizeof(*identity));
	identity->descriptors = *descriptors;
	identity->nsze = id->nsze;
	identity->format.ms = id->lbaf[nvme_lbaf_index(id->flbas)].ms;
	identity->format.ds = id->lbaf[nvme_lbaf_index(id->flbas)].ds;
	memcpy(identity->eui64, id->eui64, sizeof(identity->eui64));
	memcpy(identity->nguid, id->nguid, sizeof(identity->nguid));
}

/**
 * chario_nvme_identity_alloc() - allocate memory for the identities of disks
 * @ctrl: an identified controller
 * @count: largest number of disks
 *
 * Return: 0 or ENOMEM.
 */
int chario_nvme_identity_alloc(struct chario_nvme *ctrl, unsigned int count)
{
	ctrl->identities = kcalloc(count, sizeof(*ctrl->identities), GFP_KERNEL);
	/* A reset must not allocate memory. */
	ctrl->identify_page = kmalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	/*
	 * An event must not allocate memory either, because the drive reports it only
	 * once.
	 */
	ctrl->events.page = kmalloc(NVME_IDENTIFY_DATA_SIZE, GFP_KERNEL);
	ctrl->events.nsids = kcalloc(CHARIO_NVME_MAX_LISTED, sizeof(*ctrl->events.nsids),
				     GFP_KERNEL);
	return ctrl->identities && ctrl->identify_page && ctrl->events.page &&
	       ctrl->events.nsids ? 0 : -ENOMEM;
}

/**
 * chario_nvme_identity_free() - undo chario_nvme_identity_alloc()
 * @ctrl: a controller that is not reset any more, and whose events are not handled any
 *	more
 */
void chario_nvme_identity_free(struct chario_nvme *ctrl)
{
	kfree(ctrl->identities);
	kfree(ctrl->identify_page);
	kfree(ctrl->events.page);
	kfree(ctrl->events.nsids);
	ctrl->identities = NULL;
	ctrl->identify_page = NULL;
	ctrl->events.page = NULL;
	ctrl->events.nsids = NULL;
}

/**
 * chario_nvme_identity_note() - note the identity of a new disk
 * @ctrl: the controller
 * @index: place of the disk
 * @id: Identify data of its namespace
 * @descriptors: descriptors of its namespace
 */
void chario_nvme_identity_note(struct chario_nvme *ctrl, unsigned int index,
			       const struct nvme_id_ns *id,
			       const struct chario_nvme_descriptors *descriptors)
{
	identity_take(&ctrl->identities[index], id, descriptors);
}

/**
 * chario_nvme_identity_name() - fill in wwid and is_shared of a disk
 * @ctrl: an identified controller
 * @nsid: identifier of the namespace
 * @id: Identify data of the namespace
 * @disk: disk of the namespace
 *
 * The name is that of Linux's driver: made of an identifier of the namespace, or else
 * of those of the drive.
 */
void chario_nvme_identity_name(const struct chario_nvme *ctrl, u32 nsid,
			       const struct nvme_id_ns *id,
			       struct chario_disk *disk)
{
	const size_t size = sizeof(disk->wwid);

	disk->is_shared = id->nmic & NVME_NS_NMIC_SHARED;
	if (memchr_inv(id->nguid, 0, sizeof(id->nguid)))
		snprintf(disk->wwid, size, "eui.%16phN", id->nguid);
	else if (memchr_inv(id->eui64, 0, sizeof(id->eui64)))
		snprintf(disk->wwid, size, "eui.%8phN", id->eui64);
	else
		snprintf(disk->wwid, size, "nvme.%04x-%*phN-%*phN-%08x",
			 ctrl->vid, (int)strlen(ctrl->serial), ctrl->serial,
			 (int)strlen(ctrl->model), ctrl->model, nsid);
}

/**
 * chario_nvme_identity_look() - compare a namespace with its identity
 * @ctrl: an enabled controller
 * @index: place of its disk
 * @nsid: identifier of the namespace
 * @id: scratch memory for an answer of the drive
 * @same: filled in
 *
 * Context: may sleep, for as long as admin commands take.
 * Return: the results of chario_nvme_admin_exchange().
 */
int chario_nvme_identity_look(struct chario_nvme *ctrl, unsigned int index, u32 nsid,
			      struct nvme_id_ns *id, bool *same)
{
	/* Descriptors that the drive does not give now are taken to be the same. */
	struct chario_nvme_descriptors descriptors = ctrl->identities[index].descriptors;
	struct chario_nvme_identity now;
	u16 status;
	int ret = chario_nvme_identify_descriptors(ctrl, nsid, id, &descriptors);

	if (ret)
		return ret;
	memset(id, 0, sizeof(*id));
	ret = chario_nvme_identify_ns(ctrl, nsid, id, &status);
	if (ret)
		return ret;
	identity_take(&now, id, &descriptors);
	/*
	 * A status that is not 0 is permanent: the namespace has gone, or is being
	 * formatted, and will be another one afterwards.
	 */
	*same = !status && !memcmp(&now, &ctrl->identities[index], sizeof(now));
	return 0;
}

static void identity_lose(struct chario_nvme *ctrl, struct chario_disk *disk)
{
	dev_err(&ctrl->pdev->dev,
		"%s: namespace %u has another size, format, identifier or command set, or has gone; calls give ENODEV; a write to rescan_controller in sysfs looks for what is there now\n",
		dev_name(&disk->dev), disk->namespace_id);
	chario_disk_lose(disk);
}

/**
 * chario_nvme_identity_check() - lose the disks whose namespaces have changed or gone
 * @ctrl: an enabled controller
 * @page: scratch memory for an answer of the drive, NVME_IDENTIFY_DATA_SIZE bytes
 *
 * Commands in flight do not end here, because the drive may still have them, even while
 * the queues are frozen.  chario_queue_replay() ends them when the drive has forgotten
 * them.
 *
 * Context: may sleep, for as long as admin commands take.
 * Return: 0, also when disks have been lost, with messages in the log; ENODEV, with a
 * message in the log, when it is another drive; or an error of
 * chario_nvme_admin_exchange().
 */
int chario_nvme_identity_check(struct chario_nvme *ctrl, void *page)
{
	int ret = chario_nvme_identify_again(ctrl, page);
	unsigned int i;

	for (i = 0; i < READ_ONCE(ctrl->nr_disks) && !ret; i++) {
		struct chario_disk *disk = chario_nvme_disks_get(ctrl, i);
		bool same = true;

		if (!disk)
			continue;
		if (!READ_ONCE(disk->removed))
			ret = chario_nvme_identity_look(ctrl, i, disk->namespace_id, page,
							&same);
		if (!same)
			identity_lose(ctrl, disk);
		put_device(&disk->dev);
	}
	return ret;
}
