/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * chariosrc: a recording that chariosink has made.
 *
 *	source.c	the element: states, seeks, queries
 *	source-properties.c
 *	source-read.c	making buffers of records
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
 * @parent: instance of the parent class
 * @place: place of the recording
 * @follow: property
 * @from_time: property
 * @reader: reader, open between start and stop
 * @epoch: epoch of the caps and segment that were read last
 * @has_caps: true if the caps of @epoch have been read
 * @has_segment: true if the segment of @epoch has been read
 * @segment: segment of @epoch, as recorded
 * @caps: caps of @epoch, or NULL
 * @is_new: true if @caps have not been sent yet
 * @is_segment_new: true if @segment has not been sent yet
 * @is_sought: true if a seek has sent @segment
 * @skip: running time of the recording at which reading begins
 * @until: running time from there on at which reading ends, or GST_CLOCK_TIME_NONE
 * @shift: difference between the running time that is sent and the recorded one
 * @end: running time, as sent, at which the last buffer ends; in a recording of bytes,
 *	@shift and @end are bytes
 * @position: next byte in a recording of bytes
 * @sent_epoch: epoch of the last buffer
 * @is_discont: true if data before the next buffer are missing
 * @is_begun: true if a buffer has been read since the start or a seek
 * @first_ns: time of the record at running time 0
 * @format: format of the first segment; bytes have no times and no seeks
 * @length: running time of the whole recording, or GST_CLOCK_TIME_NONE
 * @damages: number of errors of the disk in a row
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
 * Read a record.  Sets *@buffer to its buffer, or to NULL for caps and segments.  Returns
 * 0, -ENODATA at the end, or a negative errno.
 */
int chario_src_next(ChariOSrc *source, GstBuffer **buffer);

/* Take caps and segments, which are in force from the next buffer on. */
void chario_src_describe(ChariOSrc *source, const struct chario_gst_header *header,
			 const struct chario_record *record);

/* Make the segment to send for the part of the recording that begins at @skip. */
void chario_src_make_segment(const ChariOSrc *source, GstSegment *segment);

/* Find @first_ns, @format and @length, and go back to the oldest record. */
int chario_src_survey(ChariOSrc *source);

/*
 * Go to the last buffer that can be decoded alone and has the time @time_ns or an earlier
 * one, with its caps and segment known; sets @skip.  Returns 0 or a negative errno.
 */
int chario_src_go(ChariOSrc *source, guint64 time_ns);

#endif /* CHARIO_GST_SOURCE_H */
