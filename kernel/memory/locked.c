// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that counts as locked, against RLIMIT_MEMLOCK.
 *
 * The memory may outlive its process if another one holds the file.  So the limit is
 * per user, over all of its processes, as in io_uring.  Otherwise a process could leave
 * its memory behind in a file and have a child start again at zero.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "memory/locked.h"

static int add_to_user(struct user_struct *user, unsigned long nr_pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long now = atomic_long_read(&user->locked_vm);

	do {
		if (nr_pages > limit || now > limit - nr_pages)
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(&user->locked_vm, &now,
					  now + nr_pages));
	return 0;
}

/**
 * chario_locked_charge() - count pages as locked by the caller
 * @locked: the count to set up
 * @nr_pages: number of pages
 *
 * A caller with CAP_IPC_LOCK has no limit, and uses up nobody's.
 *
 * Return: 0; ENOMEM if the limit does not allow it.
 */
int chario_locked_charge(struct chario_locked *locked, unsigned long nr_pages)
{
	struct user_struct *user = NULL;
	int ret;

	if (!capable(CAP_IPC_LOCK)) {
		user = current_user();
		ret = add_to_user(user, nr_pages);
		if (ret)
			return ret;
		get_uid(user);
	}
	locked->user = user;
	locked->mm = current->mm;
	locked->nr_pages = nr_pages;
	mmgrab(locked->mm);
	atomic64_add(nr_pages, &locked->mm->pinned_vm);
	return 0;
}

/**
 * chario_locked_uncharge() - undo chario_locked_charge()
 * @locked: the count, charged by any process
 */
void chario_locked_uncharge(struct chario_locked *locked)
{
	atomic64_sub(locked->nr_pages, &locked->mm->pinned_vm);
	mmdrop(locked->mm);
	if (!locked->user)
		return;
	atomic_long_sub(locked->nr_pages, &locked->user->locked_vm);
	free_uid(locked->user);
}
