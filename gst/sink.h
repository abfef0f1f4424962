/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * chariosink: a recording of what arrives.
 *
 *	sink.c		the element: states, buffers, events, queries
 *	sink-properties.c
 *	sink-write.c	records
 *	sink-status.c	how it is going, and who is told
 *	servant.c	the thread that lets a recording go on when nothing arrives
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
 * @parent: its class's
 * @place: of the recording
 * @size: property, as are those up to @late_ms; they are read at the start
 * @ring: property
 * @append: property
 * @drop: property; may be changed at any time
 * @durability: property
 * @flush_ms: property
 * @segment_bytes: property
 * @buffers: property
 * @late_ms: property
 * @stream: open between start and stop
 * @lock: so that @stream does not go while an application asks how it is going; nobody
 *	waits for the disk with it
 * @last: status when @stream was closed, for who asks afterwards; of @lock
 * @servant: takes completions while nothing arrives
 * @describe_bytes: what is recorded between two descriptions: a segment
 * @segment: that buffers belong to
 * @epoch: number of @caps and @segment
 * @caps: of the buffers, or NULL
 * @is_described: caps and segment have been recorded
 * @is_segment_new: @segment never has been
 * @bytes_since: that, how many bytes have been
 * @patience_ns: for a record of several segments: how long one try to write it may take
 * @start_ns: time since 1970 of running time 0; 0 when not known
 * @told_us: when the last message was posted
 * @told_late: late segments that have been told of
 * @told_lost: lost buffers that have been told of
 */
struct _ChariOSink {
	GstBaseSink parent;
	struct chario_gst_place place;
	guint64 size;
	gboolean ring;
	gboolean append;
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

/* Give them their defaults. */
void chario_sink_init_properties(ChariOSink *sink);

/* Record a buffer, and before it what it is, where that is due. */
GstFlowReturn chario_sink_write(ChariOSink *sink, GstBuffer *buffer);

/* Wait until all is durable: 0, -EAGAIN when @flushing has ended it, or an error. */
int chario_sink_drain(ChariOSink *sink);

/* Keep the status of the stream, which is about to be closed. */
void chario_sink_keep_status(ChariOSink *sink);

/* The status of the stream, or of the last one. */
void chario_sink_get_status(ChariOSink *sink, struct chario_stream_status *status);

/* Tell the application what is late or lost; at most once a second unless @now. */
void chario_sink_tell(ChariOSink *sink, gboolean now);

#endif /* CHARIO_GST_SINK_H */
