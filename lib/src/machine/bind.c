// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The move of a drive from one driver to another.
 *
 * The order of the steps makes a bind safe.  The steps that can fail without a trace come
 * first: rights, uses, the module.  From the check of uses on, the namespaces are held open
 * exclusively, so that nobody can mount one while it is taken away.  The override comes before
 * the release, because a free drive must find no driver but ours.  When a later step fails,
 * the earlier ones are undone in the opposite order.
 *
 * Only one move of a drive goes on at a time: a second would take the unfinished work of the
 * first for the state to go back to.  A move that was killed leaves a drive without a driver
 * and a record of its earlier driver; the next move continues from these.
 */
#include <chario/bind.h>
#include <chario/list.h>
#include <chario/use.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/disk.h"
#include "machine/pci.h"
#include "machine/stack.h"
#include "system/scope.h"
#include "system/sys.h"

#define MEMORY "/run/chario"

/* Size in bytes of the first version of struct chario_bind_result. */
#define RESULT_MIN 84

#define WAIT_STEP_MS 50
#define WAIT_STEPS   200

/* This file exists while udev works on events. */
#define UDEV_BUSY "/run/udev/queue"

/* sysfs shows an empty override as "(null)" and empties it for a lone newline. */
#define NO_OVERRIDE_SHOWN "(null)"
#define NO_OVERRIDE       "\n"

/* The record of the earlier driver has this word for an empty one. */
#define NOTHING "-"

/**
 * struct move - a drive on its way
 * @drive: drive as it was at the beginning
 * @override: driver_override of the drive at the beginning, in the form to be written
 * @result: result for the caller
 * @claims: descriptors that keep other programs from the namespaces of the drive
 * @nr_claims: number of claims
 * @lock: descriptor of the lock that lets other moves of the drive wait, or -1
 */
struct move {
	struct chario_drive drive;
	char override[64];
	struct chario_bind_result result;
	int *claims;
	int nr_claims;
	int lock;
};

/* Record the step that has failed, if @err is not 0.  Returns @err. */
static int judge(struct move *move, enum chario_bind_step step, int err)
{
	if (err)
		move->result.step = step;
	return err;
}

static int write_override(const struct move *move, const char *driver)
{
	return chario_sys_write(driver, CHARIO_PCI_DEVICES "/%s/driver_override",
				move->drive.address);
}

static int attach(const struct move *move, const char *driver)
{
	return chario_sys_write(move->drive.address, CHARIO_PCI_DRIVERS "/%s/bind", driver);
}

static int release(const struct move *move, const char *driver)
{
	return chario_sys_write(move->drive.address, CHARIO_PCI_DRIVERS "/%s/unbind", driver);
}

static void read_driver(struct move *move)
{
	chario_pci_driver_of(move->result.driver, sizeof(move->result.driver), move->drive.address);
}

static int look(struct move *move, const struct chario_drive *drive)
{
	int err = chario_drive_find(drive->address, &move->drive, sizeof(move->drive));

	if (err)
		return err;
	chario_sys_copy(move->result.driver, sizeof(move->result.driver), move->drive.driver);
	err = chario_sys_read(move->override, sizeof(move->override),
			      CHARIO_PCI_DEVICES "/%s/driver_override", drive->address);
	if (err)
		return err;
	/* Our own override is no state to go back to: it would keep the drive with us. */
	if (!move->override[0] || !strcmp(move->override, NO_OVERRIDE_SHOWN) ||
	    !strcmp(move->override, CHARIO_PCI_DRIVER))
		chario_sys_copy(move->override, sizeof(move->override), NO_OVERRIDE);
	return chario_sys_may_write(CHARIO_PCI_DEVICES "/%s/driver_override", drive->address);
}

/* Look at the drive, wait for other moves of it, and look again; check rights before waiting. */
static int start(struct move *move, const struct chario_drive *drive)
{
	int err = judge(move, CHARIO_BIND_OVERRIDE, look(move, drive));

	if (err)
		return err;
	move->lock = chario_sys_lock(MEMORY "/.%s.lock", move->drive.address);
	if (move->lock < 0)
		return judge(move, CHARIO_BIND_REMEMBER, move->lock);
	return judge(move, CHARIO_BIND_OVERRIDE, look(move, drive));
}

/*
 * Wait until udev has handled new devices.  udev opens block devices to look at their content,
 * which does not count as a use, and makes the links and rights of disks.  A udev that takes
 * too long is not a failure of the move.
 */
static void wait_for_udev(void)
{
	for (int i = 0; i < WAIT_STEPS && chario_sys_exists(UDEV_BUSY); i++)
		chario_sys.sleep_ms(WAIT_STEP_MS);
}

static void let_go(struct move *move)
{
	for (int i = 0; i < move->nr_claims; i++)
		close(move->claims[i]);
	free(move->claims);
	move->claims = NULL;
	move->nr_claims = 0;
}

static int claim(struct move *move)
{
	struct chario_stack stack;
	char path[PATH_MAX];
	int fd, err = chario_stack_init(&stack, &move->drive);

	if (err)
		return err;
	move->claims = calloc((size_t)stack.nr_devices + 1, sizeof(*move->claims));
	if (!move->claims)
		err = -ENOMEM;
	for (int i = 0; i < stack.nr_devices && !err; i++) {
		if (!stack.devices[i].whole)
			continue;
		snprintf(path, sizeof(path), "/dev/%s", stack.devices[i].name);
		fd = chario_sys.open(path, O_RDONLY | O_EXCL | O_NONBLOCK);
		if (fd < 0)
			err = fd;
		else
			move->claims[move->nr_claims++] = fd;
	}
	chario_stack_deinit(&stack);
	return err;
}

static int refuse(const struct chario_use *use, void *data)
{
	(void)use;
	(void)data;
	return -EBUSY;
}

/* Check the uses twice: udev may open the drive after the first wait for it. */
static int check_uses(const struct move *move)
{
	int err;

	wait_for_udev();
	err = chario_use_each(&move->drive, refuse, NULL);
	if (err != -EBUSY)
		return err;
	chario_sys.sleep_ms(WAIT_STEP_MS);
	wait_for_udev();
	return chario_use_each(&move->drive, refuse, NULL);
}

static int load_module(void)
{
	int err;

	if (chario_sys_exists(CHARIO_MODULE))
		return 0;
	err = chario_sys.load_module(CHARIO_PCI_DRIVER);
	if (err)
		return err;
	return chario_sys_exists(CHARIO_PCI_DRIVERS "/" CHARIO_PCI_DRIVER) ? 0 : -ENOENT;
}

/* Record the earlier driver and its override in one line, such as "nvme -". */
static int remember(const struct move *move)
{
	const char *override = strcmp(move->override, NO_OVERRIDE) ? move->override : NOTHING;
	const char *driver = move->result.earlier_driver;
	char line[128];

	snprintf(line, sizeof(line), "%s %s\n", *driver ? driver : NOTHING, override);
	return chario_sys_create(line, MEMORY "/%s", move->drive.address);
}

static int recall(struct move *move)
{
	char line[128], *driver, *override, *rest;
	int err = chario_sys_read(line, sizeof(line), MEMORY "/%s", move->drive.address);

	chario_sys_copy(move->override, sizeof(move->override), NO_OVERRIDE);
	if (err)
		return err == -ENOENT ? 0 : err;
	driver = strtok_r(line, " ", &rest);
	override = strtok_r(NULL, " ", &rest);
	if (driver && strcmp(driver, NOTHING))
		chario_sys_copy(move->result.earlier_driver, sizeof(move->result.earlier_driver),
				driver);
	if (override && strcmp(override, NOTHING))
		chario_sys_copy(move->override, sizeof(move->override), override);
	return 0;
}

static int forget(const struct move *move)
{
	return chario_sys_remove(MEMORY "/%s", move->drive.address);
}

/* Returns whether a move was killed after the release and before the next driver. */
static bool is_left_over(const struct move *move)
{
	return !move->drive.driver[0] && chario_sys_exists(MEMORY "/%s", move->drive.address);
}

struct appearance {
	const char *address;
	uint32_t nr_disks;
	uint32_t nr_missing;
	uint32_t nr_foreign;
};

static int look_at(const struct chario_list_disk *disk, void *data)
{
	struct appearance *seen = data;

	if (!strcmp(disk->address, seen->address)) {
		seen->nr_disks++;
		seen->nr_missing += disk->node_error != 0;
		seen->nr_foreign += disk->node_error == ENOTBLK;
	}
	return 0;
}

/* Wait for the disks, which the probe makes, and their files, which udev or devtmpfs makes. */
static int wait_for_disks(struct move *move)
{
	for (int i = 0; i < WAIT_STEPS; i++) {
		struct appearance seen = { .address = move->drive.address };
		int err = chario_list_disks(look_at, &seen);

		if (err)
			return err;
		move->result.nr_disks = seen.nr_disks;
		if (seen.nr_disks && !seen.nr_missing) {
			wait_for_udev();
			return 0;
		}
		/* devtmpfs makes no node where another file is. */
		if (seen.nr_foreign)
			return -ENOTBLK;
		chario_sys.sleep_ms(WAIT_STEP_MS);
	}
	return -ETIMEDOUT;
}

struct service {
	const char *address;
	int err;
};

static int make_block(const struct chario_list_disk *disk, void *data)
{
	struct service *service = data;

	if (!strcmp(disk->address, service->address))
		service->err = chario_sys_write("1", CHARIO_DISK_CLASS "/%s/block", disk->name);
	return service->err;
}

/* Make the block devices of all disks, if the caller wants them, and wait for their files. */
static int serve_blocks(const struct move *move, uint32_t flags)
{
	struct service service = { .address = move->drive.address };
	int err;

	if (!(flags & CHARIO_BIND_BLOCK))
		return 0;
	err = chario_list_disks(make_block, &service);
	wait_for_udev();
	return err ? err : service.err;
}

/* Undo the steps that a failed bind has done. */
static void restore(struct move *move)
{
	read_driver(move);
	if (!strcmp(move->result.driver, CHARIO_PCI_DRIVER))
		release(move, CHARIO_PCI_DRIVER);
	write_override(move, move->override);
	read_driver(move);
	if (!move->result.driver[0] && move->result.earlier_driver[0])
		attach(move, move->result.earlier_driver);
	forget(move);
	read_driver(move);
	move->result.restored = !strcmp(move->result.driver, move->result.earlier_driver);
}

/* Do the steps that leave a trace; restore() undoes each of them. */
static int take(struct move *move, uint32_t flags)
{
	int err = judge(move, CHARIO_BIND_OVERRIDE, write_override(move, CHARIO_PCI_DRIVER));

	if (!err && move->drive.driver[0])
		err = judge(move, CHARIO_BIND_RELEASE, release(move, move->drive.driver));
	if (err)
		return err;
	/* Open claims would keep the name of the controller taken. */
	let_go(move);
	err = judge(move, CHARIO_BIND_ATTACH, attach(move, CHARIO_PCI_DRIVER));
	if (!err)
		err = judge(move, CHARIO_BIND_APPEAR, wait_for_disks(move));
	return err ? err : judge(move, CHARIO_BIND_SERVE, serve_blocks(move, flags));
}

/* Find the earlier driver, to go back to. */
static int find_earlier(struct move *move)
{
	if (is_left_over(move))
		return recall(move);
	chario_sys_copy(move->result.earlier_driver, sizeof(move->result.earlier_driver),
			move->drive.driver);
	return 0;
}

static int bind_drive(struct move *move, const struct chario_drive *drive, uint32_t flags)
{
	bool forced = flags & CHARIO_BIND_FORCE;
	int err = start(move, drive);

	if (err)
		return err;
	if (!strcmp(move->drive.driver, CHARIO_PCI_DRIVER)) {
		move->result.was_bound = 1;
		err = judge(move, CHARIO_BIND_APPEAR, wait_for_disks(move));
		return err ? err : judge(move, CHARIO_BIND_SERVE, serve_blocks(move, flags));
	}
	err = judge(move, CHARIO_BIND_REMEMBER, find_earlier(move));
	if (!err && !forced)
		err = judge(move, CHARIO_BIND_CHECK, check_uses(move));
	if (!err && !forced)
		err = judge(move, CHARIO_BIND_CHECK, claim(move));
	if (!err)
		err = judge(move, CHARIO_BIND_MODULE, load_module());
	if (!err)
		err = judge(move, CHARIO_BIND_REMEMBER, remember(move));
	if (err)
		return err;
	err = take(move, flags);
	if (err)
		restore(move);
	return err;
}

static int give_back(struct move *move)
{
	const char *driver = move->result.earlier_driver;
	int err = judge(move, CHARIO_BIND_OVERRIDE, write_override(move, move->override));

	if (err)
		return err;
	err = move->result.was_bound ? release(move, CHARIO_PCI_DRIVER) : 0;
	if (err) {
		write_override(move, CHARIO_PCI_DRIVER);
		return judge(move, CHARIO_BIND_RELEASE, err);
	}
	/* If the earlier driver has been unloaded, the kernel chooses one. */
	err = *driver ? attach(move, driver) : -ENOENT;
	if (err)
		err = chario_sys_write(move->drive.address, "/sys/bus/pci/drivers_probe");
	if (err)
		return judge(move, CHARIO_BIND_ATTACH, err);
	return judge(move, CHARIO_BIND_REMEMBER, forget(move));
}

static int unbind_drive(struct move *move, const struct chario_drive *drive, uint32_t flags)
{
	int err = start(move, drive);

	if (err && err != -EACCES)
		return err;
	move->result.was_bound = !strcmp(move->drive.driver, CHARIO_PCI_DRIVER);
	if (!move->result.was_bound && !is_left_over(move))
		return judge(move, CHARIO_BIND_OVERRIDE, -ENXIO);
	if (!err && !(flags & CHARIO_BIND_FORCE))
		err = judge(move, CHARIO_BIND_CHECK, check_uses(move));
	if (!err)
		err = judge(move, CHARIO_BIND_REMEMBER, recall(move));
	return err ? err : give_back(move);
}

/* Do the common work of a bind and an unbind around their steps. */
static int run(int (*steps)(struct move *, const struct chario_drive *, uint32_t),
	       const struct chario_drive *drive, uint32_t flags, uint32_t known,
	       struct chario_bind_result *result, size_t size)
{
	struct move move = { .result.size = sizeof(*result), .lock = -1 };
	int err;

	if (size < RESULT_MIN || flags & ~known)
		return -EINVAL;
	err = steps(&move, drive, flags);
	let_go(&move);
	if (move.drive.address[0])
		read_driver(&move);
	chario_scope_close(&move.lock);
	chario_sys_give(result, size, &move.result, sizeof(move.result), RESULT_MIN);
	return err;
}

int chario_bind(const struct chario_drive *drive, uint32_t flags, struct chario_bind_result *result,
		size_t size)
{
	return run(bind_drive, drive, flags, CHARIO_BIND_FORCE | CHARIO_BIND_BLOCK, result, size);
}

int chario_unbind(const struct chario_drive *drive, uint32_t flags,
		  struct chario_bind_result *result, size_t size)
{
	return run(unbind_drive, drive, flags, CHARIO_BIND_FORCE, result, size);
}
