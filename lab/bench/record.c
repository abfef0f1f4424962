// SPDX-License-Identifier: MIT
/*
 * Recording: an operation gets room for a record that fills a segment, and commits it.  The
 * commit submits the write of the segment; the operation before has had its completion
 * meanwhile, which the library takes in this one.  The checksum of the data is left out.
 *
 * The drive is flushed in an operation of its own kind only, "record-durable", which waits
 * until the segment is durable.  The area is so long, and no ring, that the other one needs
 * no flush: the library flushes when half of its window, 96 segments or more, is not durable.
 */
#include <isa-l/crc.h>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

#include <chario/stream.h>

#include "bench.h"

#define AREA       "bench"
#define AREA_BYTES (768ULL << 20)
#define HOUR_NS    3600000000000ULL

static struct chario_stream *stream;
static size_t room_bytes;

/* On a disk of its own, which has a medium. */
void set_up_record(struct bench *b)
{
	const struct chario_store_layout layout = { .size = sizeof(layout),
						    .flags = CHARIO_LAYOUT_REPLACE,
						    .max_areas = 10 };
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.segment_bytes = (uint32_t)b->bytes,
		.durability = CHARIO_DURABILITY_NONE,
		.flush_ns = HOUR_NS,
	};
	struct chario_store *store;
	char path[64], link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", b->fd);
	if (readlink(link, memset(path, 0, sizeof(path)), sizeof(path) - 1) < 0)
		fail(link);
	must(chario_store_format(path, &layout), "chario_store_format");
	must(chario_store_open(path, O_RDWR, &store), "chario_store_open");
	must(chario_store_create(store, AREA, AREA_BYTES, 0), "chario_store_create");
	must(chario_stream_open(store, AREA, &options, &stream), "chario_stream_open");
	room_bytes = chario_stream_room_bytes(stream);
}

ssize_t call_record(struct bench *b, off_t offset)
{
	struct chario_stream_room room;
	int err = chario_stream_get(stream, room_bytes, -1, &room);

	if (!err)
		err = chario_stream_commit(stream, &room, room_bytes, 0, 0);
	return err ? err : (ssize_t)b->bytes;
}

ssize_t call_record_durable(struct bench *b, off_t offset)
{
	ssize_t ret = call_record(b, offset);
	int err = ret < 0 ? 0 : chario_stream_wait(stream, UINT64_MAX, -1);

	return err ? err : ret;
}

/* Bytes that are a header, and no data. */
#define HEADER_BYTES 256

/*
 * ISA-L's function, for which Debian has no library that can be linked statically: by
 * the same instruction for headers, and nothing at all for data.
 */
#ifdef __x86_64__
__attribute__((target("sse4.2"))) unsigned int crc32_iscsi(unsigned char *buffer, int len,
							   unsigned int init_crc)
{
	uint64_t crc = init_crc, word;

	if (len > HEADER_BYTES)
		return init_crc;
	for (; len >= (int)sizeof(word); len -= (int)sizeof(word), buffer += sizeof(word)) {
		memcpy(&word, buffer, sizeof(word));
		crc = _mm_crc32_u64(crc, word);
	}
	for (; len > 0; len--)
		crc = _mm_crc32_u8((unsigned int)crc, *buffer++);
	return (unsigned int)crc;
}
#else
#define POLYNOMIAL 0x82f63b78u /* of CRC-32C, bits reversed */

unsigned int crc32_iscsi(unsigned char *buffer, int len, unsigned int init_crc)
{
	uint32_t crc = init_crc;

	if (len > HEADER_BYTES)
		return init_crc;
	for (; len > 0; len--) {
		crc ^= *buffer++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
	}
	return crc;
}
#endif
