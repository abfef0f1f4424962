// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Fences: no write of a dead process reaches data that a live one uses.
 *
 * The locks of lock.c end with their process.  Writes that the process has begun may still
 * be on their way to the disk then: io_uring, the module and the drive go on with them.  A
 * fence is a lock on the open file that the transfers use, and every write on its way keeps
 * that file open.  So a process that is granted a fence knows that no write of an earlier
 * holder follows.
 *
 * A process that takes a lock of lock.c for writing also takes the fence of the same
 * object, before it reads the data that it will change.  No live process has that fence
 * then, but the drive may have to be waited for.  The table has only a fence, so a live
 * process may hold it.
 */
#include <errno.h>
#include <stdint.h>

#include <chario/store.h>

#include "device/ops.h"
#include "store/inner.h"

/*
 * Limit on waits: a process that is stopped in the middle of a change must not stop all
 * others for ever.
 */
#define STOPPED_NS 10000000000LL

/*
 * Assumed duration of a write if the device reports none: Linux gives a drive 30 s, and
 * tries again.
 */
#define UNKNOWN_NS 60000000000LL

/* Waits up to this long are not reported; longer ones call the visitor at this interval. */
#define UNTOLD_NS 500000000LL

static chario_store_waiting *visitor;
static void *visitor_data;

void chario_store_on_wait(chario_store_waiting *visit, void *data)
{
	visitor_data = data;
	visitor = visit;
}

/* Returns how long writes of a dead process can be on their way, in nanoseconds. */
static int64_t patience_of(const struct chario_device *device)
{
	struct chario_info info;

	if (chario_device_get_info(device, &info, sizeof(info)) || !info.recovery_bound_ns)
		return UNKNOWN_NS;
	return (int64_t)(info.deadline_ns + info.recovery_bound_ns);
}

/* A device without a file is memory of this process, so no write outlives the process. */
int chario_fence_try(const struct chario_device *device, uint64_t byte, bool exclusive)
{
	return device->fd < 0 ? 0 : chario_lock_try(device->fd, byte, exclusive);
}

/*
 * The visitor is called at each interval, because a signal may have arrived that is to end
 * the wait.
 */
static int wait_for(const struct chario_device *device, uint64_t byte, bool exclusive,
		    int64_t patience_ns)
{
	int64_t waited_ns = 0;
	int err;

	do {
		err = chario_lock_wait(device->fd, byte, exclusive, UNTOLD_NS);
		waited_ns += UNTOLD_NS;
	} while (err == -EBUSY && waited_ns < patience_ns &&
		 !(visitor && visitor((uint64_t)patience_ns, visitor_data)));
	return err;
}

int chario_fence_take(const struct chario_device *device, uint64_t byte, bool exclusive)
{
	int err = chario_fence_try(device, byte, exclusive);

	return err == -EBUSY ? wait_for(device, byte, exclusive, patience_of(device)) : err;
}

bool chario_fence_is_held(const struct chario_device *device, uint64_t byte)
{
	return device->fd >= 0 && chario_lock_is_held(device->fd, byte);
}

void chario_fence_drop(const struct chario_device *device, uint64_t byte)
{
	if (device->fd >= 0)
		chario_lock_drop(device->fd, byte);
}

void chario_fence_lower(const struct chario_device *device, uint64_t byte)
{
	int err = chario_device_settle(device, 0, UINT64_MAX, 0);

	/* A module that is too old does not keep the file open, so its fences prove nothing. */
	if (!err || err == -ENOTTY)
		chario_fence_drop(device, byte);
}

/*
 * Take the table's lock.  One process at a time waits for it, and holds the lock of the
 * queue meanwhile: a process that has just had the table must queue first, so it cannot
 * overtake others.  A process that is stopped while it waits must not stop others, so after
 * a long wait for the turn the caller goes on without it.
 */
int chario_fence_take_table(const struct chario_device *device, int lock_fd, bool exclusive)
{
	bool queued = !chario_lock_wait(lock_fd, STORE_LOCK_QUEUE, exclusive, STOPPED_NS);
	int err = chario_fence_try(device, STORE_LOCK_TABLE, exclusive);

	if (err == -EBUSY) {
		int64_t patience_ns = patience_of(device);

		err = wait_for(device, STORE_LOCK_TABLE, exclusive, MAX(patience_ns, STOPPED_NS));
	}
	if (queued)
		chario_lock_drop(lock_fd, STORE_LOCK_QUEUE);
	return err;
}
