/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The records that chariosink writes and chariosrc reads.  Each GstBuffer is one record:
 *
 *	header, 64 bytes, little-endian		struct chario_gst_header
 *	the bytes of the buffer
 *
 * Records with CHARIO_RECORD_META and the same header describe the buffers: their caps,
 * as text with the stream headers in it, and the segment that their times belong to.
 * Both are recorded before the first buffer, again whenever they change, and again once in
 * each segment of the recording, before a buffer that can be decoded alone, so that reading
 * can begin anywhere.
 */
#ifndef CHARIO_GST_RECORD_H
#define CHARIO_GST_RECORD_H

#include <gst/gst.h>

#define CHARIO_GST_MAGIC 0x31524743U /* "CGR1" */

/* Flag in the header of a segment: the segment begins here, and is not only repeated. */
#define CHARIO_GST_BEGINS (1U << 0)

/**
 * enum chario_gst_kind - the content behind a header
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
 * @bytes: length of this header in bytes; the content begins there
 * @flags: GST_BUFFER_FLAG_* bits of a buffer; CHARIO_GST_BEGINS for a segment
 * @epoch: number of the caps and segment in force: records of the same number belong
 *	together.  The first number of a recording, or of an appended part, is random; the
 *	next ones follow it
 * @pts: PTS of the buffer; all times are nanoseconds, G_MAXUINT64 for none
 * @dts: DTS of the buffer
 * @duration: duration of the buffer
 * @offset: offset of the buffer
 * @offset_end: end offset of the buffer
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
 * @rate: rate as the bits of an IEEE 754 double
 * @applied_rate: applied rate in the same form
 * @base: running time of the start
 * @offset: offset of the start
 * @start: start in the format of the buffers
 * @stop: stop in the format of the buffers
 * @time: stream time of the start
 * @duration: duration of the stream
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

/* Fill the header of a buffer, or of caps or a segment if @buffer is NULL. */
void chario_gst_header_fill(struct chario_gst_header *header, enum chario_gst_kind kind,
			    guint32 epoch, GstBuffer *buffer, guint64 running);

/*
 * Read a header from the @bytes of a record.  Returns FALSE if the record is not one of
 * chariosink.
 */
gboolean chario_gst_header_read(struct chario_gst_header *header, const void *record, gsize bytes);

/* Set the times and flags of a buffer. */
void chario_gst_header_apply(const struct chario_gst_header *header, GstBuffer *buffer);

void chario_gst_segment_fill(struct chario_gst_segment *raw, const GstSegment *segment);

/* Returns FALSE if the bytes are not those of a segment. */
gboolean chario_gst_segment_read(GstSegment *segment, const void *bytes, gsize size);

#endif /* CHARIO_GST_RECORD_H */
