// SPDX-License-Identifier: GPL-2.0-only
/*
 * The pieces of a buffer: which part of it the device sees at which addresses.
 *
 * A back end that has no tables of its own gets segments for a command on a buffer, as
 * it does for pages.  They are cut from the pieces, an array that is made when the
 * buffer is mapped and sorted by offset, so that the first piece of a slice is found by
 * bisection, wherever the slice begins.
 *
 * A slice must not have more pieces than a command has segments, because the number of
 * commands depends on offset and length alone: a buffer is refused if its worst slice
 * has.  That slice is of the largest command that the disk can be set to, and begins
 * with the last byte of a piece.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "memory/pieces.h"
#include "types/buffer.h"
#include "types/disk.h"
#include "types/request.h"

/**
 * struct piece - memory that the device sees as one range
 * @offset: byte offset of its first byte in the buffer
 * @addr: DMA address of its first byte
 */
struct piece {
	u64 offset;
	dma_addr_t addr;
};

/**
 * struct chario_pieces - the pieces of a buffer
 * @nr: number of pieces
 * @list: the pieces, sorted, each up to the next one; one more, without an address, is
 *	at the end of the buffer
 */
struct chario_pieces {
	unsigned int nr;
	struct piece list[];
};

/* Returns whether an address or offset fits the alignment that DMA needs. */
static bool is_aligned(const struct chario_disk *disk, u64 place)
{
	return !(place & disk->dma_mask);
}

static void add(struct chario_pieces *pieces, u64 offset, dma_addr_t addr)
{
	pieces->list[pieces->nr].offset = offset;
	pieces->list[pieces->nr++].addr = addr;
}

/* Cut the last piece, which ends at @stop, into those of @most bytes or less. */
static void divide(struct chario_pieces *pieces, u64 stop, u32 most)
{
	for (;;) {
		const struct piece *last = &pieces->list[pieces->nr - 1];
		/* Cut at pages, so that a slice has no more pieces than pages. */
		u32 bytes = most - offset_in_page(last->addr);

		if (stop - last->offset <= bytes)
			break;
		add(pieces, last->offset + bytes, last->addr + bytes);
	}
}

/*
 * Fill in the pieces.  Returns 0; EINVAL if the device cannot reach a piece as it is, or
 * the memory is shorter than the buffer.
 */
static int pieces_fill(struct chario_pieces *pieces, const struct sg_table *sgt,
		       const struct chario_disk *disk, u64 left)
{
	dma_addr_t addr, end = 0;
	struct scatterlist *sg;
	u64 offset = 0, bytes;
	int i;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		addr = sg_dma_address(sg);
		bytes = min_t(u64, left, sg_dma_len(sg));
		if (!i || addr != end) {
			if (!is_aligned(disk, addr) || !is_aligned(disk, offset) ||
			    (i && ((addr | end) & disk->seam_mask)))
				/* GCOVR_EXCL_START: exporters here have whole pages */
				return -EINVAL;
				/* GCOVR_EXCL_STOP */
			add(pieces, offset, addr);
		}
		end = addr + bytes;
		if (disk->segment_bytes)
			divide(pieces, offset + bytes, disk->segment_bytes);
		offset += bytes;
		left -= bytes;
		if (!left)
			break;
	}
	pieces->list[pieces->nr].offset = offset;
	return left ? -EINVAL : 0;
}

/* Returns the largest number of pieces that a slice of up to @bytes has. */
static unsigned int pieces_most(const struct chario_pieces *pieces, u64 bytes)
{
	const struct piece *list = pieces->list;
	unsigned int first, next = 0, most = 0;

	for (first = 0; first < pieces->nr; first++) {
		u64 stop = list[first + 1].offset - 1 + bytes;

		while (next < pieces->nr && list[next].offset < stop)
			next++;
		most = max(most, next - first);
	}
	return most;
}

/**
 * chario_pieces_create() - make the pieces of a buffer
 * @buf: a buffer whose memory has just been mapped
 *
 * Return: 0; ENOMEM; EMLINK if a slice may have more pieces than a command can have;
 * EINVAL if the device cannot reach a piece as it is.
 */
int chario_pieces_create(struct chario_buffer *buf)
{
	const struct chario_disk *disk = buf->disk;
	struct chario_pieces *pieces;
	u64 room = buf->dma->nents + 1ULL;
	int ret;

	if (disk->segment_bytes)
		room += buf->dma->nents + div_u64(buf->bytes, disk->segment_bytes);
	pieces = kvmalloc(struct_size(pieces, list, room), CHARIO_BUFFER_GFP);
	if (!pieces)
		return -ENOMEM; /* GCOVR_EXCL_LINE: small arrays do not fail */
	pieces->nr = 0;
	ret = pieces_fill(pieces, buf->dma, disk, buf->bytes);
	if (!ret && pieces_most(pieces, disk->max_command_bytes) >
		    disk->max_segments)
		ret = -EMLINK; /* GCOVR_EXCL_LINE: small arrays do not fail */
	if (ret) {
		kvfree(pieces); /* GCOVR_EXCL_LINE: small arrays do not fail */
		return ret; /* GCOVR_EXCL_LINE: small arrays do not fail */
	}
	buf->pieces = pieces;
	return 0;
}

/**
 * chario_pieces_destroy() - undo chario_pieces_create()
 * @buf: a buffer without commands in flight
 */
void chario_pieces_destroy(struct chario_buffer *buf)
{
	kvfree(buf->pieces);
	buf->pieces = NULL;
}

/* Returns the piece that contains a byte of the buffer. */
static const struct piece *find(const struct chario_pieces *pieces, u64 offset)
{
	unsigned int low = 0, high = pieces->nr;

	while (high - low > 1) {
		unsigned int middle = low + (high - low) / 2;

		if (pieces->list[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return &pieces->list[low];
}

/**
 * chario_pieces_cut() - describe the slice of a command
 * @pieces: pieces of its buffer
 * @cmd: the command, with its @buffer_offset and @bytes; its @segments, @nr_segments
 *	and @page_offset are filled in
 *
 * The segments belong to the mapping of the buffer: nobody unmaps them with the command.
 */
void chario_pieces_cut(const struct chario_pieces *pieces,
		       struct chario_command *cmd)
{
	const u64 stop = cmd->buffer_offset + cmd->bytes;
	const struct piece *piece = find(pieces, cmd->buffer_offset);
	struct chario_segment *seg = cmd->segments;
	u64 at = cmd->buffer_offset;

	for (;; piece++, seg++) {
		u64 end = min(stop, piece[1].offset);

		seg->addr = piece->addr + (at - piece->offset);
		seg->bytes = end - at;
		at = end;
		if (at == stop)
			break;
	}
	cmd->nr_segments = seg + 1 - cmd->segments;
	cmd->page_offset = offset_in_page(cmd->segments->addr);
}
