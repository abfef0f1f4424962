/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * chariosrc: a recording that chariosink has made.
 *
 *	source.c	the element: states, seeks, queries
 *	source-properties.c
 *	source-read.c	records become buffers
 *	source-seek.c	a place in the recording where reading can begin
 */
#ifndef CHARIO_GST_SOURCE_H
#define CHARIO_GST_SOURCE_H

#include <chario/reader.h>
#include <gst/base/gstpushsrc.h>

#include "place.h"
#include "record.h"

#define CHARIO_TYPE_SRC chario_src_get_type()
G_DECLARE_FINAL_TYPE(ChariOSrc, chario_src, CHARIO, SRC, GstPushSrc)

/**
 * struct _ChariOSrc - an element
 * @parent: its class's
 * @place: of the recording
 * @follow: property
 * @from_time: property
 * @reader: open between start and stop
 * @epoch: of the descriptions that were read last
 * @has_caps: those of @epoch have been read
 * @has_segment: the segment of @epoch has been read
 * @segment: of @epoch, as it was recorded
 * @caps: of @epoch, or NULL
 * @is_new: @caps have not been sent on yet
 * @is_segment_new: nor has @segment
 * @is_sought: @segment has been, by a seek
 * @skip: running time of the recording at which reading begins
 * @until: running time from there on at which it ends, or GST_CLOCK_TIME_NONE
 * @shift: running time by which what is sent comes later than it was recorded
 * @end: running time, as it is sent, at which the last buffer ends; of a recording
 *	that counts bytes, @shift and @end are bytes
 * @position: of such a one: byte that comes next
 * @sent_epoch: of the last buffer
 * @is_discont: something before the next buffer is missing
 * @is_begun: a buffer has been read since the start or a seek
 * @first_ns: time of the record at running time 0
 * @format: of the first segment; what counts bytes has no times and no seeks
 * @length: running time of the whole recording, or GST_CLOCK_TIME_NONE
 * @damages: errors of the disk that followed each other
 */
struct _ChariOSrc {
	GstPushSrc parent;
	struct chario_gst_place place;
	gboolean follow;
	guint64 from_time;
	struct chario_reader *reader;
	guint32 epoch;
	gboolean has_caps;
	gboolean has_segment;
	GstSegment segment;
	GstCaps *caps;
	gboolean is_new;
	gboolean is_segment_new;
	gboolean is_sought;
	guint64 skip;
	guint64 until;
	guint64 shift;
	guint64 end;
	guint64 position;
	guint32 sent_epoch;
	gboolean is_discont;
	gboolean is_begun;
	guint64 first_ns;
	GstFormat format;
	guint64 length;
	guint damages;
};

void chario_src_add_properties(GObjectClass *class);

/*
 * Read a record: it becomes *@buffer, or says something of those that follow, and
 * then *@buffer stays NULL.  0, -ENODATA at the end, or a negative errno.
 */
int chario_src_next(ChariOSrc *source, GstBuffer **buffer);

/* Take caps and segments; what they say holds from the next buffer on. */
void chario_src_describe(ChariOSrc *source, const struct chario_gst_header *header,
			 const struct chario_record *record);

/* What has been recorded of @segment, for the part that begins at @skip. */
void chario_src_make_segment(const ChariOSrc *source, GstSegment *segment);

/* Learn @first_ns, @format and @length, and stand at the oldest record again. */
int chario_src_survey(ChariOSrc *source);

/*
 * Stand at the last buffer that can be decoded alone and was taken at @time_ns or
 * before, with its caps and segment known; sets @skip.  0, or a negative errno.
 */
int chario_src_go(ChariOSrc *source, guint64 time_ns);

#endif /* CHARIO_GST_SOURCE_H */
