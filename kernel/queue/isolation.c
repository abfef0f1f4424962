// SPDX-License-Identifier: GPL-2.0-only
/*
 * Isolation: the block side stands back for urgent calls.
 *
 * While an urgent call is under way, and for some milliseconds afterwards, the device has
 * a few block commands at most (@depth); the others wait in the block layer.  So an urgent
 * call finds a device that is not busy with what others have queued up.  Files say that
 * their calls are urgent; as long as no file does, nothing is counted.  What the device
 * had before the first of a row of urgent calls is not taken back.
 *
 * The block side is never stopped: with a depth of 0 one command is let through every
 * CHARIO_ISOLATION_PASS_MS, and with any other it goes on at that depth.
 */
#include <linux/jiffies.h>

#include "queue/isolation.h"

/* The time may be so long past that jiffies has come round: it counts while it is near. */
static bool stands_back(const struct chario_isolation *iso)
{
	unsigned long until, left;

	if (atomic_read(&iso->urgent))
		return true;
	/* Pairs with atomic_dec_and_test(): who sees the end of the last call sees its time. */
	smp_rmb();
	until = READ_ONCE(iso->until);
	left = until - jiffies;
	return left && left <= 2 + msecs_to_jiffies(CHARIO_ISOLATION_MAX_MS);
}

/* Ask the block side to try again, if it has been turned away. */
static void ask(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;
	/* Pairs with smp_store_release() in chario_tags_get(). */
	void (*try_again)(struct chario_drive *drive) = smp_load_acquire(&iso->try_again);

	/* Pairs with the barrier in chario_isolation_admit(). */
	smp_mb();
	if (READ_ONCE(iso->turned_away) && try_again) {
		WRITE_ONCE(iso->turned_away, false);
		try_again(drive);
	}
}

static void isolation_tick(struct timer_list *timer)
{
	ask(container_of(timer, struct chario_drive, isolation.timer));
}

/**
 * chario_isolation_init() - initialise the isolation of a drive
 * @drive: the drive
 */
void chario_isolation_init(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;

	iso->depth = 1;
	iso->hold_ms = 100;
	iso->until = jiffies;
	iso->let_through = jiffies;
	timer_setup(&iso->timer, isolation_tick, 0);
}

/**
 * chario_isolation_deinit() - end the isolation of a drive
 * @drive: a drive without calls
 */
void chario_isolation_deinit(struct chario_drive *drive)
{
	timer_delete_sync(&drive->isolation.timer);
}

/**
 * chario_isolation_open() - note one more urgent file
 * @drive: the drive
 *
 * The first one forgets the times of earlier files: jiffies may have come round since.
 *
 * Context: any.
 */
void chario_isolation_open(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;

	if (atomic_inc_return(&iso->files) > 1)
		return;
	WRITE_ONCE(iso->until, jiffies);
	WRITE_ONCE(iso->let_through, jiffies);
}

/**
 * chario_isolation_close() - note one urgent file less
 * @drive: the drive
 *
 * Context: any.
 */
void chario_isolation_close(struct chario_drive *drive)
{
	atomic_dec(&drive->isolation.files);
}

/**
 * chario_isolation_enter() - begin an urgent call
 * @drive: the drive
 *
 * Context: any.
 */
void chario_isolation_enter(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;
	int block;

	atomic_inc(&iso->urgent);
	/* Pairs with atomic_try_cmpxchg() of the block side. */
	smp_mb__after_atomic();
	block = atomic_read(&iso->block);
	if (block > READ_ONCE(iso->worst))
		WRITE_ONCE(iso->worst, block);
}

/**
 * chario_isolation_exit() - end an urgent call
 * @drive: the drive
 *
 * Context: any.
 */
void chario_isolation_exit(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;
	unsigned long until = jiffies + 1 +
			      msecs_to_jiffies(READ_ONCE(iso->hold_ms));

	WRITE_ONCE(iso->until, until);
	/* A timer that is set already is earlier than that. */
	if (atomic_dec_and_test(&iso->urgent) && READ_ONCE(iso->turned_away))
		timer_reduce(&iso->timer, until);
}

/* Let one command through in a while although none may be; only one at a time gets it. */
static bool may_pass(struct chario_isolation *iso)
{
	unsigned long last = READ_ONCE(iso->let_through);

	return jiffies - last > msecs_to_jiffies(CHARIO_ISOLATION_PASS_MS) &&
	       cmpxchg(&iso->let_through, last, jiffies) == last;
}

static bool try_admit(struct chario_isolation *iso)
{
	int count = atomic_read(&iso->block);

	do {
		if (stands_back(iso) && count >= (int)READ_ONCE(iso->depth) &&
		    (count || !may_pass(iso)))
			return false;
	} while (!atomic_try_cmpxchg(&iso->block, &count, count + 1));
	return true;
}

/**
 * chario_isolation_admit() - ask to send a block command while files are urgent
 * @drive: the drive
 *
 * Context: any.
 * Return: true if it may be sent: it has been counted, until chario_isolation_end(); false
 * if it has to wait until try_again() is called.
 */
bool chario_isolation_admit(struct chario_drive *drive)
{
	struct chario_isolation *iso = &drive->isolation;

	if (try_admit(iso))
		return true;
	WRITE_ONCE(iso->turned_away, true);
	/* Pairs with the barrier in ask(): it sees the request, or this sees the room. */
	smp_mb();
	if (try_admit(iso))
		return true;
	/* If none is allowed, nothing ends that would ask. */
	timer_reduce(&iso->timer, jiffies + 1 +
		     msecs_to_jiffies(min(READ_ONCE(iso->hold_ms),
					  CHARIO_ISOLATION_PASS_MS)));
	return false;
}

/**
 * chario_isolation_end() - note the end of a block command that has been counted
 * @drive: the drive
 *
 * Context: any.
 */
void chario_isolation_end(struct chario_drive *drive)
{
	atomic_dec(&drive->isolation.block);
	ask(drive);
}
