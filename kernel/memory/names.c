// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of the buffers in an open file: given, looked up, taken away.
 *
 * Calls look a name up without a lock by chario_buffer_find().
 */
#include <linux/slab.h>

#include "memory/buffer.h"
#include "trace.h"

#define MAX_ID		(CHARIO_BUFFER_LEAVES * CHARIO_BUFFER_LEAF - 1)

static struct chario_buffer **find_slot(struct chario_buffers *buffers,
					unsigned int id)
{
	struct chario_buffer ***leaf = &buffers->leaves[id / CHARIO_BUFFER_LEAF];
	struct chario_buffer **slots = *leaf;

	if (!slots) {
		slots = kcalloc(CHARIO_BUFFER_LEAF, sizeof(*slots),
				GFP_KERNEL_ACCOUNT);
		if (!slots)
			return ERR_PTR(-ENOMEM);
		/* Pairs with chario_buffer_find(): the leaf is zeroed before. */
		smp_store_release(leaf, slots);
	}
	return &slots[id % CHARIO_BUFFER_LEAF];
}

/* Give a buffer the next free name.  Under the lock of the names. */
static int names_enter(struct chario_buffers *buffers, struct chario_buffer *buf,
		       u32 *id)
{
	unsigned int tries;

	if (buffers->is_closed)
		return -EBUSY;
	for (tries = 0; tries < MAX_ID; tries++) {
		unsigned int candidate = 1 + buffers->next;
		struct chario_buffer **slot = find_slot(buffers, candidate);

		if (IS_ERR(slot))
			return PTR_ERR(slot);
		buffers->next = candidate % MAX_ID;
		if (*slot)
			continue;
		*id = candidate;
		buf->id = candidate;
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
 * chario_names_enter() - give a buffer a name; from then on calls find it
 * @buffers: buffers of the open file
 * @buf: the buffer
 * @id: place for the name
 *
 * Return: 0, ENOSPC, ENOMEM; EBUSY if the file takes no buffers any more.
 */
int chario_names_enter(struct chario_buffers *buffers,
		       struct chario_buffer *buf, u32 *id)
{
	int ret;

	mutex_lock(&buffers->lock);
	ret = names_enter(buffers, buf, id);
	mutex_unlock(&buffers->lock);
	return ret;
}

/**
 * chario_names_look_up() - find the slot of a name
 * @buffers: buffers of the open file
 * @id: any number
 *
 * Context: under @buffers->lock.
 * Return: the slot, which may be empty; NULL if the number is no name.
 */
struct chario_buffer **chario_names_look_up(struct chario_buffers *buffers,
					    u64 id)
{
	struct chario_buffer **slots;

	if (id > MAX_ID)
		return NULL;
	slots = buffers->leaves[id / CHARIO_BUFFER_LEAF];
	return slots ? &slots[id % CHARIO_BUFFER_LEAF] : NULL;
}

/**
 * chario_names_take_out() - take the name of a buffer away
 * @buffers: buffers of the open file
 * @id: the name
 *
 * Return: the buffer, which calls may still use, or NULL.
 */
struct chario_buffer *chario_names_take_out(struct chario_buffers *buffers,
					    u32 id)
{
	struct chario_buffer **slot, *buf = NULL;

	mutex_lock(&buffers->lock);
	slot = chario_names_look_up(buffers, id);
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
 * chario_names_borrow() - find a buffer for another use than a call
 * @buffers: buffers of the open file
 * @id: the name
 *
 * Return: the buffer, counted in its @users; or NULL.
 */
struct chario_buffer *chario_names_borrow(struct chario_buffers *buffers,
					  u32 id)
{
	struct chario_buffer **slot, *buf = NULL;

	mutex_lock(&buffers->lock);
	slot = chario_names_look_up(buffers, id);
	if (slot)
		buf = *slot;
	if (buf)
		atomic_inc(&buf->users);
	mutex_unlock(&buffers->lock);
	return buf;
}

/**
 * chario_names_is_empty() - tell if a file has no buffer
 * @buffers: buffers of the open file
 *
 * Context: under @buffers->lock.
 */
bool chario_names_is_empty(struct chario_buffers *buffers)
{
	u64 id;

	for (id = 0; id <= MAX_ID; id++) {
		struct chario_buffer **slot = chario_names_look_up(buffers, id);

		if (!slot)
			id |= CHARIO_BUFFER_LEAF - 1;
		else if (*slot)
			return false;
	}
	return true;
}

/**
 * chario_names_resolve() - find memory by its physical address
 * @buffers: buffers of the open file
 * @address: the physical address
 * @id: place for the name of a buffer that the address is inside
 * @offset: place for the byte offset in this buffer
 *
 * Return: 0 or ENOENT.  Nothing keeps the buffer, so the name may be invalid by now.
 */
int chario_names_resolve(struct chario_buffers *buffers, u64 address, u32 *id,
			 u64 *offset)
{
	const struct chario_buffer *buf;
	int ret = -ENOENT;

	rcu_read_lock();
	hlist_for_each_entry_rcu(buf, &buffers->physical, physical) {
		if (address < buf->address ||
		    address - buf->address >= buf->bytes)
			continue;
		*id = buf->id;
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
