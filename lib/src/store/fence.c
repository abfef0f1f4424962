// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Nothing of the dead lands on the living.
 *
 * The locks of lock.c go with their process.  Writes that it has begun may still be on their
 * way to the disk then: io_uring, the module and the drive go on with them.  A fence is a
 * lock as well, but of the open file that the transfers use, and whatever is on its way keeps
 * that file open.  So who is granted a fence knows that no write of an earlier holder
 * follows.
 *
 * Who has a lock of lock.c for writing takes the fence of the same thing before it reads
 * what it will write to.  Nobody who lives has that fence then, but the drive may have to be
 * waited for.  The table has nothing but a fence, and so it may be held by one who lives.
 */
#include <errno.h>
#include <stdint.h>

#include <chario/store.h>

#include "device/ops.h"
#include "store/inner.h"

/* A process that was stopped in the middle of a change must not stop all others for ever. */
#define STOPPED_NS 10000000000LL

/* How long a write may take where nobody says it: the kernel gives a drive 30 s, and tries again. */
#define UNKNOWN_NS 60000000000LL

/* Waits that are shorter are told to nobody; the visitor is called as often from then on. */
#define UNTOLD_NS 500000000LL

static chario_store_waiting *visitor;
static void *visitor_data;

void chario_store_on_wait(chario_store_waiting *visit, void *data)
{
	visitor_data = data;
	visitor = visit;
}

/* How long writes of a process that has died can be on their way. */
static int64_t patience_of(const struct chario_device *device)
{
	struct chario_info info;

	if (chario_device_get_info(device, &info, sizeof(info)) || !info.recovery_bound_ns)
		return UNKNOWN_NS;
	return (int64_t)(info.deadline_ns + info.recovery_bound_ns);
}

/* A device without a file is memory of this process: nothing of it outlives that. */
int chario_fence_try(const struct chario_device *device, uint64_t byte, bool exclusive)
{
	return device->fd < 0 ? 0 : chario_lock_try(device->fd, byte, exclusive);
}

/* The visitor is asked again and again: a signal may have come that is to end the wait. */
static int wait_for(const struct chario_device *device, uint64_t byte, bool exclusive,
		    int64_t patience_ns)
{
	int err = chario_lock_wait(device->fd, byte, exclusive, UNTOLD_NS);

	for (int64_t waited_ns = UNTOLD_NS; err == -EBUSY && waited_ns < patience_ns;
	     waited_ns += UNTOLD_NS) {
		if (visitor && visitor((uint64_t)patience_ns, visitor_data))
			break;
		err = chario_lock_wait(device->fd, byte, exclusive, UNTOLD_NS);
	}
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

	/* A module that is too old holds no file: its fences say nothing. */
	if (!err || err == -ENOTTY)
		chario_fence_drop(device, byte);
}

/*
 * One waits for the table at a time, with the lock of the queue: who has just had the
 * table has to wait for the queue first, and cannot be faster than who waits already.
 * One that was stopped while it waits must not stop others either, so who has waited for
 * its turn for long goes without.
 */
int chario_fence_take_table(const struct chario_device *device, int lock_fd, bool exclusive)
{
	bool queued = !chario_lock_wait(lock_fd, STORE_LOCK_QUEUE, exclusive, STOPPED_NS);
	int err = chario_fence_try(device, STORE_LOCK_TABLE, exclusive);

	if (err == -EBUSY) {
		int64_t patience_ns = patience_of(device);

		err = wait_for(device, STORE_LOCK_TABLE, exclusive,
			       patience_ns > STOPPED_NS ? patience_ns : STOPPED_NS);
	}
	if (queued)
		chario_lock_drop(lock_fd, STORE_LOCK_QUEUE);
	return err;
}
