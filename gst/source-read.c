// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Records and the buffers made of them. */
#include <errno.h>

#include "source.h"

/* Number of unreadable segments in a row after which the source gives up. */
#define DAMAGES_MAX 8

/*
 * Largest number of changes of caps and segment in one recording that are not taken for
 * another part.
 */
#define EPOCHS_MAX 65536

static void take_caps(ChariOSrc *source, const char *text, gsize bytes)
{
	gchar *copy = g_strndup(text, bytes);
	GstCaps *caps = *copy ? gst_caps_from_string(copy) : NULL;

	if (!caps || !source->caps || !gst_caps_is_strictly_equal(caps, source->caps))
		source->is_new = TRUE;
	gst_caps_replace(&source->caps, caps);
	gst_clear_caps(&caps);
	g_free(copy);
	source->has_caps = TRUE;
}

/*
 * Returns whether a segment must be sent.  A repeated segment of bytes must not be: it
 * would send an element that writes a file back to the start.
 */
static gboolean is_other(const ChariOSrc *source, const GstSegment *segment, guint32 flags)
{
	if (segment->format == GST_FORMAT_BYTES)
		return flags & CHARIO_GST_BEGINS;
	return !source->has_segment || !gst_segment_is_equal(segment, &source->segment);
}

static void take_segment(ChariOSrc *source, guint32 flags, const void *bytes, gsize size)
{
	GstSegment segment;

	if (!chario_gst_segment_read(&segment, bytes, size))
		return;
	if (is_other(source, &segment, flags))
		source->is_segment_new = TRUE;
	gst_segment_copy_into(&segment, &source->segment);
	source->has_segment = TRUE;
}

void chario_src_describe(ChariOSrc *source, const struct chario_gst_header *header,
			 const struct chario_record *record)
{
	const char *bytes = (const char *)record->memory + header->bytes;
	gsize size = record->bytes - header->bytes;

	if (header->kind == CHARIO_GST_BUFFER)
		return;
	if (header->epoch != source->epoch) {
		source->epoch = header->epoch;
		source->has_caps = source->has_segment = FALSE;
	}
	if (header->kind == CHARIO_GST_CAPS)
		take_caps(source, bytes, size);
	if (header->kind == CHARIO_GST_SEGMENT)
		take_segment(source, header->flags, bytes, size);
}

void chario_src_make_segment(const ChariOSrc *source, GstSegment *segment)
{
	gst_segment_copy_into(&source->segment, segment);
	if (segment->format != GST_FORMAT_TIME)
		return;
	segment->position = segment->start;
	if (source->skip <= segment->base) {
		segment->base += source->shift - source->skip;
		return;
	}
	segment->start += source->skip - segment->base;
	segment->time += source->skip - segment->base;
	segment->position = segment->start;
	segment->base = source->shift;
}

static void send_caps(ChariOSrc *source)
{
	GstCaps *sent = gst_pad_get_current_caps(GST_BASE_SRC_PAD(source));

	if (source->caps && !(sent && gst_caps_is_strictly_equal(sent, source->caps)))
		gst_base_src_set_caps(GST_BASE_SRC(source), source->caps);
	gst_clear_caps(&sent);
}

/*
 * Epochs of one pipeline follow each other; the epochs of another pipeline begin at a
 * random number.
 */
static gboolean is_appended(const ChariOSrc *source, const struct chario_gst_header *header)
{
	return source->is_begun && header->epoch - source->sent_epoch >= EPOCHS_MAX;
}

/* An appended part counts its bytes anew, so shift them behind the earlier part. */
static void send_bytes_segment(ChariOSrc *source, const struct chario_gst_header *header)
{
	GstSegment segment;

	if (is_appended(source, header))
		source->shift = source->end;
	gst_segment_copy_into(&source->segment, &segment);
	segment.start += source->shift;
	segment.time += source->shift;
	segment.position = segment.start;
	/* GstBaseSrc would end at the stop or the duration, before an appended part. */
	segment.stop = segment.duration = GST_CLOCK_TIME_NONE;
	source->position = segment.start;
	gst_base_src_new_segment(GST_BASE_SRC(source), &segment);
}

/* The times of an appended part begin anew, so shift them behind the earlier part. */
static void send_time_segment(ChariOSrc *source, const struct chario_gst_header *header)
{
	guint64 sent = header->running + source->shift - source->skip;
	GstSegment segment;

	if (is_appended(source, header) && GST_CLOCK_TIME_IS_VALID(header->running) &&
	    sent < source->end)
		source->shift += source->end - sent;
	chario_src_make_segment(source, &segment);
	gst_base_src_new_segment(GST_BASE_SRC(source), &segment);
}

static GstBuffer *make_buffer(ChariOSrc *source, const struct chario_gst_header *header,
			      const struct chario_record *record)
{
	gsize size = record->bytes - header->bytes;
	GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);

	if (!buffer)
		return NULL;
	gst_buffer_fill(buffer, 0, (const guint8 *)record->memory + header->bytes, size);
	chario_gst_header_apply(header, buffer);
	if (source->is_discont)
		GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
	source->is_discont = FALSE;
	return buffer;
}

static void send_segment(ChariOSrc *source, const struct chario_gst_header *header)
{
	if (source->segment.format == GST_FORMAT_BYTES)
		send_bytes_segment(source, header);
	else
		send_time_segment(source, header);
}

static void note_end(ChariOSrc *source, const struct chario_gst_header *header, gsize size)
{
	guint64 end = header->running;

	source->is_begun = TRUE;
	if (source->segment.format == GST_FORMAT_BYTES) {
		source->position += size;
		source->end = MAX(source->end, source->position);
		return;
	}
	if (!GST_CLOCK_TIME_IS_VALID(end))
		return;
	if (GST_CLOCK_TIME_IS_VALID(header->duration))
		end += header->duration;
	source->end = MAX(source->end, end + source->shift - source->skip);
}

static void note_missing(ChariOSrc *source, const struct chario_record *record)
{
	if (!record->missing)
		return;
	source->is_discont = TRUE;
	GST_ELEMENT_WARNING(source, RESOURCE, READ,
			    ("%" G_GUINT64_FORMAT " records are missing in the recording.",
			     record->missing),
			    ("before record %" G_GUINT64_FORMAT
			     ": dropped when it was made, overwritten, or damaged",
			     record->sequence));
}

/*
 * Returns whether the end of a seek has been reached.  Buffers before the place of the seek
 * do not count.
 */
static gboolean is_over(const ChariOSrc *source, const struct chario_gst_header *header)
{
	guint64 running = header->running + source->shift;

	if (!GST_CLOCK_TIME_IS_VALID(source->until) || !GST_CLOCK_TIME_IS_VALID(header->running))
		return FALSE;
	return running >= source->skip && running - source->skip >= source->until;
}

/* Make a buffer of a record.  A record with caps or a segment sets *@buffer to NULL. */
static int take_record(ChariOSrc *source, const struct chario_record *record, GstBuffer **buffer)
{
	struct chario_gst_header header;

	note_missing(source, record);
	if (!chario_gst_header_read(&header, record->memory, record->bytes))
		return -EBADMSG;
	chario_src_describe(source, &header, record);
	if (header.kind != CHARIO_GST_BUFFER)
		return 0;
	/* A ring may have overwritten the caps and the segment of this buffer. */
	if (header.epoch != source->epoch || !source->has_caps || !source->has_segment) {
		source->is_discont = TRUE;
		return 0;
	}
	if (source->is_new)
		send_caps(source);
	if (source->is_segment_new && !source->is_sought)
		send_segment(source, &header);
	source->is_new = source->is_segment_new = source->is_sought = FALSE;
	if (is_over(source, &header))
		return -ENODATA;
	source->sent_epoch = header.epoch;
	*buffer = make_buffer(source, &header, record);
	note_end(source, &header, record->bytes - header.bytes);
	return *buffer ? 0 : -ENOMEM;
}

/* The reader continues with the next segment of the recording. */
static int note_damage(ChariOSrc *source, int err)
{
	if (err != -EIO || ++source->damages > DAMAGES_MAX)
		return err;
	source->is_discont = TRUE;
	GST_ELEMENT_WARNING(source, RESOURCE, READ,
			    ("A part of the recording cannot be read and is left out. Look at the "
			     "kernel log and at chario health."),
			    (NULL));
	return 0;
}

int chario_src_next(ChariOSrc *source, GstBuffer **buffer)
{
	struct chario_record record;
	int err = chario_reader_next(source->reader, source->follow ? CHARIO_GST_PATIENCE_NS : 0,
				     &record);

	if (err == -EAGAIN || err == -ENODATA)
		note_missing(source, &record);
	if (err == -EAGAIN)
		return source->follow ? 0 : -ENODATA;
	if (err)
		return err == -ENODATA ? err : note_damage(source, err);
	source->damages = 0;
	return take_record(source, &record, buffer);
}
