// SPDX-License-Identifier: GPL-2.0-only
/*
 * The change of a part of a grain: the grain is read, changed and written back behind
 * an edge (queue/edge.h), so that no write of another caller is lost in between.
 */
#include <linux/bvec.h>
#include <linux/jiffies.h>

#include "front/call.h"
#include "front/front.h"
#include "front/patch.h"
#include "queue/edge.h"
#include "queue/queue.h"
#include "request/run.h"
#include "types/disk.h"

/**
 * chario_move() - move bytes between memory of the kernel and the disk
 * @cf: open file, whose options apply
 * @m: description of the move
 *
 * Return: 0; -errno when some of the bytes have not been moved.
 */
int chario_move(struct chario_file *cf, const struct chario_move *m)
{
	struct bio_vec bv = {
		.bv_page = virt_to_page(m->memory),
		.bv_offset = offset_in_page(m->memory),
		.bv_len = m->bytes,
	};
	struct chario_call call chario_uninitialized;
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_bvec(&iter, m->op == CHARIO_OP_READ ? ITER_DEST : ITER_SOURCE,
		      &bv, 1, m->bytes);
	chario_call_start(&call, cf, m->op, m->pos);
	call.iter = &iter;
	call.duty = m->duty | READ_ONCE(cf->duty);
	if (m->fua)
		chario_call_set_durable(&call);
	if (m->taken) {
		call.taken_from = m->q;
		call.taken = m->taken;
		call.completion = CHARIO_COMPLETION_IRQ;
	}
	ret = chario_run(&call);
	if (ret < 0)
		return ret;
	return ret == m->bytes ? 0 : -EIO;
}

/*
 * Takes two commands of one queue, for the read and the write, before the edge holds up
 * other writers: those keep their commands while they wait.
 */
static int take_two(struct chario_queue *q, const struct chario_origin *origin,
		    struct chario_command **taken, unsigned long expires)
{
	int ret = chario_origin_wait_room(origin, expires, false);

	if (ret)
		return ret;
	for (;;) {
		taken[0] = chario_queue_get(q, expires, false);
		if (IS_ERR(taken[0]))
			return PTR_ERR(taken[0]);
		taken[1] = chario_queue_try_get(q);
		if (!IS_ERR(taken[1]))
			return 0;
		chario_queue_put(q, taken[0]);
		if (taken[1] != ERR_PTR(-EAGAIN))
			return PTR_ERR(taken[1]); /* GCOVR_EXCL_LINE: a race decides */
		if (time_after(jiffies, expires))
			return -ETIMEDOUT;
		schedule_timeout_uninterruptible(1);
	}
}

/* Reads a grain, copies @bytes of @from to @offset in the grain, and writes it back. */
static int change_locked(struct chario_file *cf, void *bounce,
			 u64 pos, struct chario_queue *q, struct chario_command **taken,
			 u32 offset, const void *from, u32 bytes, bool fua)
{
	struct chario_move m = {
		.op = CHARIO_OP_READ,
		.memory = bounce,
		.pos = pos,
		.bytes = cf->disk->grain_mask + 1,
		.duty = CHARIO_DUTY_STAY,
		.q = q,
		.taken = taken[0],
	};
	int ret = chario_move(cf, &m);

	if (ret) {
		chario_queue_put(q, taken[1]);
		return ret;
	}
	memcpy(bounce + offset, from, bytes);
	m.op = CHARIO_OP_WRITE;
	m.fua = fua;
	m.duty |= CHARIO_DUTY_EDGE | CHARIO_DUTY_LET_GO;
	m.taken = taken[1];
	return chario_move(cf, &m);
}

/**
 * chario_patch_grain() - change a part of a grain
 * @cf: the open file
 * @bounce: memory for a grain, apart from @from
 * @pos: byte offset on the disk
 * @from: new bytes
 * @bytes: number of bytes, at most up to the end of the grain
 * @fua: durable at completion
 *
 * No other write of the grain reaches the drive between the read and the write of this
 * change, nor while this write may still reach the disk: a killed caller still
 * completes the change, and a caller whose deadline passes returns when recovery has
 * ended the write.
 *
 * Return: 0 or -errno.
 */
int chario_patch_grain(struct chario_file *cf, void *bounce, u64 pos,
		       const void *from, u32 bytes, bool fua)
{
	struct chario_disk *disk = cf->disk;
	struct chario_queue *q = disk->irq_queue[raw_smp_processor_id()];
	unsigned long expires = chario_call_expires(cf);
	u32 offset = pos & disk->grain_mask;
	struct chario_command *taken[2];
	struct chario_edge edge;
	int ret;

	ret = chario_disk_count_timeout(disk, take_two(q, &cf->origin, taken, expires));
	if (ret)
		return ret;
	ret = chario_edge_lock(&edge, disk, cf->first + pos - offset, expires);
	if (ret) {
		chario_queue_put(q, taken[0]);
		chario_queue_put(q, taken[1]);
		return chario_disk_count_timeout(disk, ret);
	}
	ret = change_locked(cf, bounce, pos - offset, q, taken, offset, from, bytes,
			    fua);
	chario_edge_unlock(&edge);
	return ret;
}
