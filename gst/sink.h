/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * chariosink: an element that records the buffers that arrive.
 *
 *	sink.c		the element: states, buffers, events, queries
 *	sink-properties.c
 *	sink-open.c	the area and the stream
 *	sink-write.c	records
 *	sink-status.c	the status and its reports
 *	servant.c	a thread that keeps a recording going
 */
#ifndef CHARIO_GST_SINK_H
#define CHARIO_GST_SINK_H

#include <chario/stream.h>
#include <gst/base/gstbasesink.h>

#include "place.h"
#include "servant.h"

#define CHARIO_TYPE_SINK chario_sink_get_type()
G_DECLARE_FINAL_TYPE(ChariOSink, chario_sink, CHARIO, SINK, GstBaseSink)

/**
 * struct _ChariOSink - an element
 * @parent: instance of the parent class
 * @place: place of the recording
 * @size: property; like those up to @late_ms it is read at the start
 * @ring: property
 * @append: property
 * @force: property
 * @drop: property; may be changed at any time
 * @durability: property
 * @flush_ms: property
 * @segment_bytes: property
 * @buffers: property
 * @late_ms: property
 * @stream: stream, open between start and stop
 * @lock: lock that keeps @stream open while an application reads the status; no thread
 *	waits for the disk with it
 * @last: status at the close of @stream, for later readers; @lock protects it
 * @servant: thread that takes completions while no buffers arrive
 * @describe_bytes: bytes recorded between two descriptions: a segment
 * @segment: segment that buffers belong to
 * @epoch: number of @caps and @segment
 * @caps: caps of the buffers, or NULL
 * @is_described: true if caps and segment have been recorded
 * @is_segment_new: true if @segment has never been recorded
 * @bytes_since: bytes recorded since the last description
 * @patience_ns: longest time of one try to write a record of several segments, in
 *	nanoseconds
 * @start_ns: time since 1970 of running time 0, in nanoseconds; 0 if unknown
 * @told_us: time of the last message in microseconds
 * @told_late: number of late segments that have been reported
 * @told_lost: number of lost buffers that have been reported
 */
struct _ChariOSink {
	GstBaseSink parent;
	struct chario_gst_place place;
	guint64 size;
	gboolean ring;
	gboolean append;
	gboolean force;
	gint drop;
	gint durability;
	guint flush_ms;
	guint segment_bytes;
	guint buffers;
	guint late_ms;
	struct chario_stream *stream;
	GMutex lock;
	struct chario_stream_status last;
	struct chario_gst_servant *servant;
	guint64 describe_bytes;
	GstSegment segment;
	guint32 epoch;
	GstCaps *caps;
	gboolean is_described;
	gboolean is_segment_new;
	guint64 bytes_since;
	gint64 patience_ns;
	guint64 start_ns;
	gint64 told_us;
	guint64 told_late;
	guint64 told_lost;
};

void chario_sink_add_properties(GObjectClass *class);

/* Set the properties to their defaults. */
void chario_sink_init_properties(ChariOSink *sink);

/*
 * Open the store and the stream, and start the servant.  After an error nothing is open, no
 * area is left that the call has created, and *@act is the action that failed.  Returns 0 or
 * a negative errno.
 */
int chario_sink_open(ChariOSink *sink, enum chario_gst_act *act);

/* Close what chario_sink_open() has opened.  Returns 0, or the error that ended the recording. */
int chario_sink_close(ChariOSink *sink);

/* Record a buffer, and before it caps and segment if they are due. */
GstFlowReturn chario_sink_write(ChariOSink *sink, GstBuffer *buffer);

/*
 * Wait until all records are durable.  Returns 0; -EAGAIN if @flushing has ended the wait;
 * or an error.
 */
int chario_sink_drain(ChariOSink *sink);

/* Keep the status of the stream, which is about to be closed. */
void chario_sink_keep_status(ChariOSink *sink);

/* Get the status of the stream, or of the last one. */
void chario_sink_get_status(ChariOSink *sink, struct chario_stream_status *status);

/* Report late and lost data to the application, at most once a second unless @now. */
void chario_sink_tell(ChariOSink *sink, gboolean now);

#endif /* CHARIO_GST_SINK_H */
