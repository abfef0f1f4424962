// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * GstBuffers and GstSegments as bytes.
 */
#include "record.h"

#include <string.h>

/* The recorded flags; flags about the memory of a buffer mean nothing on a disk. */
#define FLAGS                                                                          \
	(GST_BUFFER_FLAG_LIVE | GST_BUFFER_FLAG_DISCONT | GST_BUFFER_FLAG_RESYNC |     \
	 GST_BUFFER_FLAG_CORRUPTED | GST_BUFFER_FLAG_MARKER | GST_BUFFER_FLAG_HEADER | \
	 GST_BUFFER_FLAG_GAP | GST_BUFFER_FLAG_DROPPABLE | GST_BUFFER_FLAG_DELTA_UNIT)

static guint64 bits_of(gdouble value)
{
	guint64 bits;

	memcpy(&bits, &value, sizeof(bits));
	return GUINT64_TO_LE(bits);
}

static gdouble double_of(guint64 bits)
{
	gdouble value;

	bits = GUINT64_FROM_LE(bits);
	memcpy(&value, &bits, sizeof(value));
	return value;
}

void chario_gst_header_fill(struct chario_gst_header *header, enum chario_gst_kind kind,
			    guint32 epoch, GstBuffer *buffer, guint64 running)
{
	memset(header, 0, sizeof(*header));
	header->magic = GUINT32_TO_LE(CHARIO_GST_MAGIC);
	header->kind = GUINT16_TO_LE((guint16)kind);
	header->bytes = GUINT16_TO_LE((guint16)sizeof(*header));
	header->epoch = GUINT32_TO_LE(epoch);
	header->running = GUINT64_TO_LE(running);
	if (!buffer)
		return;
	header->flags = GUINT32_TO_LE((guint32)(GST_BUFFER_FLAGS(buffer) & FLAGS));
	header->pts = GUINT64_TO_LE(GST_BUFFER_PTS(buffer));
	header->dts = GUINT64_TO_LE(GST_BUFFER_DTS(buffer));
	header->duration = GUINT64_TO_LE(GST_BUFFER_DURATION(buffer));
	header->offset = GUINT64_TO_LE(GST_BUFFER_OFFSET(buffer));
	header->offset_end = GUINT64_TO_LE(GST_BUFFER_OFFSET_END(buffer));
}

gboolean chario_gst_header_read(struct chario_gst_header *header, const void *record, gsize bytes)
{
	if (bytes < sizeof(*header))
		return FALSE;
	memcpy(header, record, sizeof(*header));
	header->magic = GUINT32_FROM_LE(header->magic);
	header->kind = GUINT16_FROM_LE(header->kind);
	header->bytes = GUINT16_FROM_LE(header->bytes);
	header->flags = GUINT32_FROM_LE(header->flags);
	header->epoch = GUINT32_FROM_LE(header->epoch);
	header->pts = GUINT64_FROM_LE(header->pts);
	header->dts = GUINT64_FROM_LE(header->dts);
	header->duration = GUINT64_FROM_LE(header->duration);
	header->offset = GUINT64_FROM_LE(header->offset);
	header->offset_end = GUINT64_FROM_LE(header->offset_end);
	header->running = GUINT64_FROM_LE(header->running);
	return header->magic == CHARIO_GST_MAGIC && header->bytes >= sizeof(*header) &&
	       header->bytes <= bytes;
}

void chario_gst_header_apply(const struct chario_gst_header *header, GstBuffer *buffer)
{
	GST_BUFFER_FLAG_SET(buffer, header->flags & FLAGS);
	GST_BUFFER_PTS(buffer) = header->pts;
	GST_BUFFER_DTS(buffer) = header->dts;
	GST_BUFFER_DURATION(buffer) = header->duration;
	GST_BUFFER_OFFSET(buffer) = header->offset;
	GST_BUFFER_OFFSET_END(buffer) = header->offset_end;
}

void chario_gst_segment_fill(struct chario_gst_segment *raw, const GstSegment *segment)
{
	raw->format = GUINT32_TO_LE((guint32)segment->format);
	raw->flags = GUINT32_TO_LE((guint32)segment->flags);
	raw->rate = bits_of(segment->rate);
	raw->applied_rate = bits_of(segment->applied_rate);
	raw->base = GUINT64_TO_LE(segment->base);
	raw->offset = GUINT64_TO_LE(segment->offset);
	raw->start = GUINT64_TO_LE(segment->start);
	raw->stop = GUINT64_TO_LE(segment->stop);
	raw->time = GUINT64_TO_LE(segment->time);
	raw->duration = GUINT64_TO_LE(segment->duration);
}

gboolean chario_gst_segment_read(GstSegment *segment, const void *bytes, gsize size)
{
	struct chario_gst_segment raw;

	if (size < sizeof(raw))
		return FALSE;
	memcpy(&raw, bytes, sizeof(raw));
	raw.format = GUINT32_FROM_LE(raw.format);
	if (raw.format != GST_FORMAT_BYTES && raw.format != GST_FORMAT_TIME)
		return FALSE;
	gst_segment_init(segment, (GstFormat)raw.format);
	segment->flags = (GstSegmentFlags)GUINT32_FROM_LE(raw.flags);
	segment->rate = double_of(raw.rate);
	segment->applied_rate = double_of(raw.applied_rate);
	segment->base = GUINT64_FROM_LE(raw.base);
	segment->offset = GUINT64_FROM_LE(raw.offset);
	segment->start = GUINT64_FROM_LE(raw.start);
	segment->stop = GUINT64_FROM_LE(raw.stop);
	segment->time = GUINT64_FROM_LE(raw.time);
	segment->duration = GUINT64_FROM_LE(raw.duration);
	segment->position = segment->start;
	/* GStreamer asserts that rates are not zero, so a damaged record would end the program. */
	return segment->rate != 0.0 && segment->applied_rate != 0.0;
}
