/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * chariosink: a recording of what arrives.
 *
 *	sink.c		the element: states, buffers, events
 *	sink-properties.c
 *	sink-write.c	records, and the thread that lets the recording go on when
 *			nothing arrives
 */
#ifndef CHARIO_GST_SINK_H
#define CHARIO_GST_SINK_H

#include <chario/stream.h>
#include <gst/base/gstbasesink.h>

#define CHARIO_TYPE_SINK chario_sink_get_type()
G_DECLARE_FINAL_TYPE(ChariOSink, chario_sink, CHARIO, SINK, GstBaseSink)

/**
 * struct _ChariOSink - an element
 * @parent: its class's
 * @store_name: property, as are those up to @late_ms; they are read at the start
 * @area: property
 * @size: property
 * @ring: property
 * @append: property
 * @drop: property; may be changed at any time
 * @durability: property
 * @flush_ms: property
 * @segment_bytes: property
 * @buffers: property
 * @late_ms: property
 * @lock: around all calls on @stream, and its making and its end
 * @store: open between start and stop
 * @stream: likewise
 * @last: status when @stream was closed, for who asks afterwards
 * @servant: thread that takes completions while nothing arrives
 * @wake: a pipe, whose end tells @servant to end
 * @flushing: atomic: nobody may wait
 * @segment: that buffers belong to
 * @epoch: number of @caps and @segment
 * @caps: of the buffers, or NULL
 * @is_described: caps and segment have been recorded
 * @bytes_since: that, how many bytes have been
 * @start_ns: time since 1970 of running time 0; 0 when not known
 * @told_us: when the last message was posted
 * @told_late: late segments that have been told of
 * @told_lost: lost buffers that have been told of
 */
struct _ChariOSink {
	GstBaseSink parent;
	gchar *store_name;
	gchar *area;
	guint64 size;
	gboolean ring;
	gboolean append;
	gint drop;
	gint durability;
	guint flush_ms;
	guint segment_bytes;
	guint buffers;
	guint late_ms;
	GMutex lock;
	struct chario_store *store;
	struct chario_stream *stream;
	struct chario_stream_status last;
	GThread *servant;
	int wake[2];
	gint flushing;
	GstSegment segment;
	guint32 epoch;
	GstCaps *caps;
	gboolean is_described;
	guint64 bytes_since;
	guint64 start_ns;
	gint64 told_us;
	guint64 told_late;
	guint64 told_lost;
};

void chario_sink_add_properties(GObjectClass *class);

/* Record a buffer, and before it what it is, where that is due. */
GstFlowReturn chario_sink_write(ChariOSink *sink, GstBuffer *buffer);

/* Wait until all is durable: 0, -EAGAIN when @flushing has ended it, or an error. */
int chario_sink_drain(ChariOSink *sink);

/* The status of the stream, or of the last one. */
void chario_sink_get_status(ChariOSink *sink, struct chario_stream_status *status);

/* Tell the application what is late or lost; at most once a second unless @now. */
void chario_sink_tell(ChariOSink *sink, gboolean now);

/* Start and end @servant; FALSE where there is no thread or no pipe. */
gboolean chario_sink_begin_service(ChariOSink *sink);
void chario_sink_end_service(ChariOSink *sink);

#endif /* CHARIO_GST_SINK_H */
