/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * What chariosink records and chariosrc reads: each GstBuffer is one record,
 *
 *	header, 64 bytes, little-endian		struct chario_gst_header
 *	the bytes of the buffer
 *
 * and what the buffers are is said by records with CHARIO_RECORD_META, of the
 * same header: their caps, as text, which has the stream headers in it, and the
 * segment that their times belong to.  Both stand before the first buffer, again
 * whenever they change, and again once a segment of the recording, before a buffer
 * that can be decoded alone: reading can begin anywhere.
 */
#ifndef CHARIO_GST_RECORD_H
#define CHARIO_GST_RECORD_H

#include <gst/gst.h>

#define CHARIO_GST_MAGIC 0x31524743U /* "CGR1" */

/* A flag of the header of a segment: it begins here, and is not said again only. */
#define CHARIO_GST_BEGINS (1U << 0)

/**
 * enum chario_gst_kind - what follows a header
 * @CHARIO_GST_BUFFER: the bytes of a buffer
 * @CHARIO_GST_CAPS: caps, as gst_caps_to_string() writes them, without a NUL
 * @CHARIO_GST_SEGMENT: &struct chario_gst_segment
 */
enum chario_gst_kind {
	CHARIO_GST_BUFFER = 1,
	CHARIO_GST_CAPS = 2,
	CHARIO_GST_SEGMENT = 3,
};

/**
 * struct chario_gst_header - the beginning of a record
 * @magic: CHARIO_GST_MAGIC
 * @kind: &enum chario_gst_kind
 * @bytes: of this header: what follows begins there
 * @flags: of the buffer, GST_BUFFER_FLAG_*; of a segment, CHARIO_GST_BEGINS
 * @epoch: which caps and segment hold: records of the same number belong together.
 *	The first of a recording, and of what is appended, is any; then they follow
 * @pts: of the buffer; times are nanoseconds, G_MAXUINT64 for none
 * @dts: of the buffer
 * @duration: of the buffer
 * @offset: of the buffer
 * @offset_end: of the buffer
 * @running: running time of the buffer when it was recorded
 */
struct chario_gst_header {
	guint32 magic;
	guint16 kind;
	guint16 bytes;
	guint32 flags;
	guint32 epoch;
	guint64 pts;
	guint64 dts;
	guint64 duration;
	guint64 offset;
	guint64 offset_end;
	guint64 running;
};

G_STATIC_ASSERT(sizeof(struct chario_gst_header) == 64);

/**
 * struct chario_gst_segment - a GstSegment
 * @format: GST_FORMAT_BYTES (2), GST_FORMAT_TIME (3)
 * @flags: GST_SEGMENT_FLAG_*
 * @rate: the bits of an IEEE 754 double
 * @applied_rate: the same
 * @base: running time of its start
 * @offset: of its start
 * @start: as the buffers count
 * @stop: as the buffers count
 * @time: stream time of its start
 * @duration: of the stream
 */
struct chario_gst_segment {
	guint32 format;
	guint32 flags;
	guint64 rate;
	guint64 applied_rate;
	guint64 base;
	guint64 offset;
	guint64 start;
	guint64 stop;
	guint64 time;
	guint64 duration;
};

G_STATIC_ASSERT(sizeof(struct chario_gst_segment) == 72);

/* The header of a buffer, or of caps or a segment where @buffer is NULL. */
void chario_gst_header_fill(struct chario_gst_header *header, enum chario_gst_kind kind,
			    guint32 epoch, GstBuffer *buffer, guint64 running);

/* Take a header from the @bytes of a record; FALSE where it is none of ours. */
gboolean chario_gst_header_read(struct chario_gst_header *header, const void *record, gsize bytes);

/* Give a buffer its times and flags. */
void chario_gst_header_apply(const struct chario_gst_header *header, GstBuffer *buffer);

void chario_gst_segment_fill(struct chario_gst_segment *raw, const GstSegment *segment);

/* FALSE where the bytes are not those of a segment. */
gboolean chario_gst_segment_read(GstSegment *segment, const void *bytes, gsize size);

#endif /* CHARIO_GST_RECORD_H */
