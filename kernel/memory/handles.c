// SPDX-License-Identifier: GPL-2.0-only
/*
 * The handles of the buffers in an open file: given, looked up, taken away.
 *
 * Calls look a handle up without a lock by chario_buffer_find().
 */
#include <linux/slab.h>

#include "memory/buffer.h"
#include "trace.h"

#define MAX_HANDLE		(CHARIO_BUFFER_LEAVES * CHARIO_BUFFER_LEAF - 1)

static struct chario_buffer **find_slot(struct chario_buffers *buffers,
					unsigned int handle)
{
	struct chario_buffer ***leaf = &buffers->leaves[handle / CHARIO_BUFFER_LEAF];
	struct chario_buffer **slots = *leaf;

	if (!slots) {
		slots = kcalloc(CHARIO_BUFFER_LEAF, sizeof(*slots),
				GFP_KERNEL_ACCOUNT);
		if (!slots)
			return ERR_PTR(-ENOMEM);
		/* Pairs with chario_buffer_find(): the leaf is zeroed before. */
		smp_store_release(leaf, slots);
	}
	return &slots[handle % CHARIO_BUFFER_LEAF];
}

/* Give a buffer the next free handle.  Under the lock of the handles. */
static int handles_enter(struct chario_buffers *buffers, struct chario_buffer *buf,
			 u32 *handle)
{
	unsigned int tries;

	if (buffers->is_closed)
		return -EBUSY;
	for (tries = 0; tries < MAX_HANDLE; tries++) {
		unsigned int candidate = 1 + buffers->next;
		struct chario_buffer **slot = find_slot(buffers, candidate);

		if (IS_ERR(slot))
			return PTR_ERR(slot);
		buffers->next = candidate % MAX_HANDLE;
		if (*slot)
			continue;
		*handle = candidate;
		buf->handle = candidate;
		if (buf->is_physical)
			hlist_add_head_rcu(&buf->physical, &buffers->physical);
		trace_buffer(buf);
		/* Pairs with chario_buffer_find(): the buffer is complete before. */
		smp_store_release(slot, buf);
		return 0;
	}
	return -ENOSPC;
}

/**
 * chario_handles_enter() - give a buffer a handle; from then on calls find it
 * @buffers: buffers of the open file
 * @buf: the buffer
 * @handle: place for the handle
 *
 * Return: 0, ENOSPC, ENOMEM; EBUSY if the file takes no buffers any more.
 */
int chario_handles_enter(struct chario_buffers *buffers,
			 struct chario_buffer *buf, u32 *handle)
{
	int ret;

	mutex_lock(&buffers->lock);
	ret = handles_enter(buffers, buf, handle);
	mutex_unlock(&buffers->lock);
	return ret;
}

/**
 * chario_handles_look_up() - find the slot of a handle
 * @buffers: buffers of the open file
 * @handle: any number
 *
 * Context: under @buffers->lock.
 * Return: the slot, which may be empty; NULL if the number is no handle.
 */
struct chario_buffer **chario_handles_look_up(struct chario_buffers *buffers,
					      u64 handle)
{
	struct chario_buffer **slots;

	if (handle > MAX_HANDLE)
		return NULL;
	slots = buffers->leaves[handle / CHARIO_BUFFER_LEAF];
	return slots ? &slots[handle % CHARIO_BUFFER_LEAF] : NULL;
}

/**
 * chario_handles_take_out() - take the handle of a buffer away
 * @buffers: buffers of the open file
 * @handle: the handle
 *
 * Return: the buffer, which calls may still use, or NULL.
 */
struct chario_buffer *chario_handles_take_out(struct chario_buffers *buffers,
					      u32 handle)
{
	struct chario_buffer **slot, *buf = NULL;

	mutex_lock(&buffers->lock);
	slot = chario_handles_look_up(buffers, handle);
	if (slot) {
		buf = *slot;
		WRITE_ONCE(*slot, NULL);
	}
	if (buf && buf->is_physical)
		hlist_del_rcu(&buf->physical);
	mutex_unlock(&buffers->lock);
	return buf;
}

/**
 * chario_handles_borrow() - find a buffer for another use than a call
 * @buffers: buffers of the open file
 * @handle: the handle
 *
 * Return: the buffer, counted in its @users; or NULL.
 */
struct chario_buffer *chario_handles_borrow(struct chario_buffers *buffers,
					    u32 handle)
{
	struct chario_buffer **slot, *buf = NULL;

	mutex_lock(&buffers->lock);
	slot = chario_handles_look_up(buffers, handle);
	if (slot)
		buf = *slot;
	if (buf)
		atomic_inc(&buf->users);
	mutex_unlock(&buffers->lock);
	return buf;
}

/**
 * chario_handles_is_empty() - tell if a file has no buffer
 * @buffers: buffers of the open file
 *
 * Context: under @buffers->lock.
 */
bool chario_handles_is_empty(struct chario_buffers *buffers)
{
	u64 handle;

	for (handle = 0; handle <= MAX_HANDLE; handle++) {
		struct chario_buffer **slot = chario_handles_look_up(buffers, handle);

		if (!slot)
			handle |= CHARIO_BUFFER_LEAF - 1;
		else if (*slot)
			return false;
	}
	return true;
}

/**
 * chario_handles_resolve() - find memory by its physical address
 * @buffers: buffers of the open file
 * @address: the physical address
 * @handle: place for the handle of a buffer that the address is inside
 * @offset: place for the byte offset in this buffer
 *
 * Return: 0 or ENOENT.  Nothing keeps the buffer, so the handle may be invalid by now.
 */
int chario_handles_resolve(struct chario_buffers *buffers, u64 address, u32 *handle,
			   u64 *offset)
{
	const struct chario_buffer *buf;
	int ret = -ENOENT;

	rcu_read_lock();
	hlist_for_each_entry_rcu(buf, &buffers->physical, physical) {
		if (address < buf->address ||
		    address - buf->address >= READ_ONCE(buf->bytes))
			continue;
		*handle = buf->handle;
		*offset = address - buf->address;
		ret = 0;
		break;
	}
	rcu_read_unlock();
	return ret;
}

/**
 * chario_buffers_alloc() - allocate the empty table of an open file
 *
 * Return: the buffers, or NULL.
 */
struct chario_buffers *chario_buffers_alloc(void)
{
	struct chario_buffers *buffers = kzalloc(sizeof(*buffers),
						 GFP_KERNEL_ACCOUNT);

	if (buffers)
		mutex_init(&buffers->lock);
	return buffers;
}

static void free_leaf(struct chario_buffer **slots)
{
	unsigned int i;

	for (i = 0; slots && i < CHARIO_BUFFER_LEAF; i++) {
		if (!slots[i])
			continue;
		chario_buffer_close(slots[i]);
		cond_resched();
	}
	kfree(slots);
}

/**
 * chario_buffers_free() - let go of all buffers at the last close of a file
 * @buffers: the buffers, which nobody uses any more
 *
 * This waits for nothing: a drive that hangs does not hold up a close.
 */
void chario_buffers_free(struct chario_buffers *buffers)
{
	unsigned int i;

	for (i = 0; i < CHARIO_BUFFER_LEAVES; i++)
		free_leaf(buffers->leaves[i]);
	kfree(buffers);
}
