// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records of a chariosink.
 *
 * A buffer is copied once, into memory that the drive reads.  That memory cannot be
 * handed upstream to be filled there: room in a stream is given in the order of the
 * records and holds its segment back until it is committed, while an element may
 * keep a buffer, drop it, send it twice, or go on to read it after it was recorded.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "record.h"

/* A wait is cut into pieces, so that unlock() ends it. */
#define PATIENCE_NS 50000000LL

#define TELL_US G_USEC_PER_SEC

/**
 * struct draft - a record that is to be
 * @header: its beginning
 * @buffer: what follows, or NULL
 * @memory: what follows where @buffer is NULL
 * @bytes: of the whole
 * @time_ns: see chario_stream_commit()
 * @flags: see chario_stream_commit()
 */
struct draft {
	struct chario_gst_header header;
	GstBuffer *buffer;
	const void *memory;
	gsize bytes;
	guint64 time_ns;
	unsigned int flags;
};

static void copy(const struct draft *draft, void *to)
{
	gsize size = draft->bytes - sizeof(draft->header);

	memcpy(to, &draft->header, sizeof(draft->header));
	if (draft->buffer)
		gst_buffer_extract(draft->buffer, 0, (guint8 *)to + sizeof(draft->header), size);
	else
		memcpy((guint8 *)to + sizeof(draft->header), draft->memory, size);
}

/* A record that is longer than a segment is put together elsewhere first. */
static int write_long(ChariOSink *sink, const struct draft *draft, int64_t timeout_ns)
{
	void *whole = g_try_malloc(draft->bytes);
	int err;

	if (!whole)
		return -ENOMEM;
	copy(draft, whole);
	err = chario_stream_write(sink->stream, whole, draft->bytes, draft->time_ns, draft->flags,
				  timeout_ns);
	g_free(whole);
	return err;
}

static int try_write(ChariOSink *sink, const struct draft *draft, int64_t timeout_ns)
{
	struct chario_stream_room room;
	int err;

	if (draft->bytes > chario_stream_room_bytes(sink->stream))
		return write_long(sink, draft, timeout_ns);
	err = chario_stream_get(sink->stream, draft->bytes, timeout_ns, &room);
	if (err)
		return err;
	copy(draft, room.memory);
	return chario_stream_commit(sink->stream, &room, draft->bytes, draft->time_ns,
				    draft->flags);
}

/* 0, -EAGAIN where buffers are to be dropped and this one is, -EINTR, or an error. */
static int write_patiently(ChariOSink *sink, const struct draft *draft)
{
	for (;;) {
		gboolean drop = g_atomic_int_get(&sink->drop);
		int err;

		g_mutex_lock(&sink->lock);
		err = try_write(sink, draft, drop ? 0 : PATIENCE_NS);
		g_mutex_unlock(&sink->lock);
		if (err != -EAGAIN || drop)
			return err;
		if (g_atomic_int_get(&sink->flushing))
			return -EINTR;
	}
}

static int describe(ChariOSink *sink, enum chario_gst_kind kind, const void *memory, gsize size,
		    guint64 time_ns)
{
	struct draft draft = {
		.memory = memory,
		.bytes = sizeof(draft.header) + size,
		.time_ns = time_ns,
		.flags = CHARIO_RECORD_META,
	};

	chario_gst_header_fill(&draft.header, kind, sink->epoch, NULL, 0);
	return write_patiently(sink, &draft);
}

static int describe_all(ChariOSink *sink, guint64 time_ns)
{
	struct chario_gst_segment segment;
	gchar *caps = sink->caps ? gst_caps_to_string(sink->caps) : g_strdup("");
	int err = describe(sink, CHARIO_GST_CAPS, caps, strlen(caps), time_ns);

	g_free(caps);
	if (err)
		return err;
	chario_gst_segment_fill(&segment, &sink->segment);
	err = describe(sink, CHARIO_GST_SEGMENT, &segment, sizeof(segment), time_ns);
	if (err)
		return err;
	sink->is_described = TRUE;
	sink->bytes_since = 0;
	return 0;
}

/* Once a segment, before a buffer that can be decoded alone. */
static gboolean is_due(ChariOSink *sink, GstBuffer *buffer)
{
	if (!sink->is_described)
		return TRUE;
	return sink->bytes_since >= sink->last.segment_bytes &&
	       !GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DELTA_UNIT);
}

static guint64 running_of(ChariOSink *sink, GstBuffer *buffer)
{
	guint64 time = GST_BUFFER_PTS(buffer);

	if (!GST_CLOCK_TIME_IS_VALID(time))
		time = GST_BUFFER_DTS(buffer);
	if (!GST_CLOCK_TIME_IS_VALID(time) || sink->segment.format != GST_FORMAT_TIME)
		return GST_CLOCK_TIME_NONE;
	return gst_segment_to_running_time(&sink->segment, GST_FORMAT_TIME, time);
}

/* Times of records run like those of the buffers, from when the recording began. */
static guint64 time_of(ChariOSink *sink, guint64 running)
{
	if (!GST_CLOCK_TIME_IS_VALID(running))
		return 0;
	if (!sink->start_ns)
		sink->start_ns = (guint64)g_get_real_time() * 1000 - running;
	return sink->start_ns + running;
}

static int write_all(ChariOSink *sink, GstBuffer *buffer)
{
	guint64 running = running_of(sink, buffer);
	struct draft draft = {
		.buffer = buffer,
		.bytes = sizeof(draft.header) + gst_buffer_get_size(buffer),
		.time_ns = time_of(sink, running),
	};
	int err = 0;

	if (is_due(sink, buffer))
		err = describe_all(sink, draft.time_ns);
	if (err)
		return err;
	chario_gst_header_fill(&draft.header, CHARIO_GST_BUFFER, sink->epoch, buffer, running);
	err = write_patiently(sink, &draft);
	if (!err)
		sink->bytes_since += draft.bytes;
	return err;
}

GstFlowReturn chario_sink_write(ChariOSink *sink, GstBuffer *buffer)
{
	int err = write_all(sink, buffer);

	if (err == -EINTR)
		return GST_FLOW_FLUSHING;
	if (err == -EAGAIN)
		err = chario_stream_lose(sink->stream, 1, gst_buffer_get_size(buffer));
	chario_sink_tell(sink, FALSE);
	if (!err)
		return GST_FLOW_OK;
	chario_gst_fail(GST_ELEMENT(sink), CHARIO_GST_WRITE, err, sink->store_name, sink->area);
	return GST_FLOW_ERROR;
}

int chario_sink_drain(ChariOSink *sink)
{
	int err;

	do {
		g_mutex_lock(&sink->lock);
		err = chario_stream_wait(sink->stream, UINT64_MAX, PATIENCE_NS);
		g_mutex_unlock(&sink->lock);
	} while (err == -EAGAIN && !g_atomic_int_get(&sink->flushing));
	return err;
}

void chario_sink_get_status(ChariOSink *sink, struct chario_stream_status *status)
{
	g_mutex_lock(&sink->lock);
	if (sink->stream)
		chario_stream_get_status(sink->stream, &sink->last, sizeof(sink->last));
	*status = sink->last;
	g_mutex_unlock(&sink->lock);
}

void chario_sink_tell(ChariOSink *sink, gboolean now)
{
	struct chario_stream_status status;
	gint64 time_us = g_get_monotonic_time();

	chario_sink_get_status(sink, &status);
	if (status.late == sink->told_late && status.lost_records == sink->told_lost)
		return;
	if (!now && sink->told_us && time_us - sink->told_us < TELL_US)
		return;
	sink->told_us = time_us;
	sink->told_late = status.late;
	sink->told_lost = status.lost_records;
	gst_element_post_message(
		GST_ELEMENT(sink),
		gst_message_new_element(GST_OBJECT(sink),
					gst_structure_new("chario-trouble", "late", G_TYPE_UINT64,
							  status.late, "longest-ns", G_TYPE_UINT64,
							  status.longest_ns, "lost", G_TYPE_UINT64,
							  status.lost_records, "lost-bytes",
							  G_TYPE_UINT64, status.lost_bytes, NULL)));
}

/* An error is told to the next buffer, which gets it as well. */
static gpointer serve(gpointer data)
{
	ChariOSink *sink = data;
	struct pollfd polled[] = {
		{ .fd = sink->wake[0], .events = POLLIN },
		{ .fd = chario_stream_fd(sink->stream), .events = POLLIN },
	};
	int err = 0;

	while (!err) {
		if (poll(polled, G_N_ELEMENTS(polled), -1) < 0 && errno != EINTR)
			break;
		if (polled[0].revents)
			break;
		g_mutex_lock(&sink->lock);
		err = chario_stream_service(sink->stream);
		g_mutex_unlock(&sink->lock);
	}
	return NULL;
}

gboolean chario_sink_begin_service(ChariOSink *sink)
{
	if (pipe2(sink->wake, O_CLOEXEC))
		return FALSE;
	sink->servant = g_thread_try_new("chariosink", serve, sink, NULL);
	if (sink->servant)
		return TRUE;
	close(sink->wake[0]);
	close(sink->wake[1]);
	return FALSE;
}

void chario_sink_end_service(ChariOSink *sink)
{
	if (!sink->servant)
		return;
	close(sink->wake[1]);
	g_thread_join(sink->servant);
	close(sink->wake[0]);
	sink->servant = NULL;
}
