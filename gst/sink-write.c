// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Records of a chariosink.
 *
 * A buffer is copied once, into memory that the drive reads; a buffer in several pieces of
 * memory is first put together.  The drive's memory cannot be handed upstream to be filled
 * there: rooms of a stream have the order of the records and hold up their segment until
 * they are committed, while an element may keep a buffer, drop it, send it twice, or read
 * it again after it was recorded.
 */
#include "sink.h"

#include <errno.h>
#include <string.h>

#include "record.h"

/**
 * struct draft - a record to be written
 * @header: header of the record
 * @memory: content behind the header
 * @size: length of the content in bytes
 * @time_ns: see chario_stream_commit()
 * @flags: see chario_stream_commit()
 */
struct draft {
	struct chario_gst_header header;
	const void *memory;
	gsize size;
	guint64 time_ns;
	unsigned int flags;
};

static gsize bytes_of(const struct draft *draft)
{
	return sizeof(draft->header) + draft->size;
}

static guint64 count_segments(ChariOSink *sink)
{
	struct chario_stream_status status = { 0 };

	chario_stream_get_status(sink->stream, &status, sizeof(status));
	return status.segments;
}

static int try_once(ChariOSink *sink, const struct draft *draft, int64_t timeout_ns)
{
	const struct iovec pieces[] = {
		{ (void *)(guintptr)&draft->header, sizeof(draft->header) },
		{ (void *)(guintptr)draft->memory, draft->size },
	};

	return chario_stream_writev(sink->stream, pieces, G_N_ELEMENTS(pieces), draft->time_ns,
				    draft->flags, timeout_ns);
}

/*
 * Try to write a record of several segments.  A try that ends in the middle has used up
 * room, and the next try begins anew.  So the time for a try is doubled, and some try
 * succeeds with any disk that makes progress.  A disk that stands still uses no room, and
 * then the time stays as it is.
 */
static int try_long(ChariOSink *sink, const struct draft *draft, int64_t timeout_ns)
{
	guint64 segments = count_segments(sink);
	int err = try_once(sink, draft, timeout_ns);

	if (err == -EAGAIN && timeout_ns && count_segments(sink) != segments)
		sink->patience_ns *= 2;
	return err;
}

/*
 * Write a record.  Returns 0; -EAGAIN if buffers may be dropped and this one is; -EINTR; or
 * an error.
 */
static int write_draft(ChariOSink *sink, const struct draft *draft)
{
	gboolean is_long = bytes_of(draft) > chario_stream_room_bytes(sink->stream);

	for (;;) {
		gboolean drop = g_atomic_int_get(&sink->drop);
		int err = is_long ? try_long(sink, draft, drop ? 0 : sink->patience_ns) :
				    try_once(sink, draft, drop ? 0 : CHARIO_GST_PATIENCE_NS);

		if (err != -EAGAIN || drop)
			return err;
		if (chario_gst_place_is_flushing(&sink->place))
			return -EINTR;
	}
}

static int describe(ChariOSink *sink, enum chario_gst_kind kind, const void *memory, gsize size,
		    guint64 time_ns)
{
	struct draft draft = {
		.memory = memory,
		.size = size,
		.time_ns = time_ns,
		.flags = CHARIO_RECORD_META,
	};

	chario_gst_header_fill(&draft.header, kind, sink->epoch, NULL, 0);
	if (kind == CHARIO_GST_SEGMENT && sink->is_segment_new)
		draft.header.flags = GUINT32_TO_LE(CHARIO_GST_BEGINS);
	return write_draft(sink, &draft);
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
	sink->is_segment_new = FALSE;
	sink->bytes_since = 0;
	return 0;
}

/*
 * Returns whether a description is due: once in each segment, before a buffer that can be
 * decoded alone.
 */
static gboolean is_due(ChariOSink *sink, GstBuffer *buffer)
{
	if (!sink->is_described)
		return TRUE;
	return sink->bytes_since >= sink->describe_bytes &&
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

/*
 * Returns whether a buffer is the header of a muxer.  Some give it the running time 0 whenever
 * they begin a file, so that time says nothing; headers that a parser marks in a stream have a
 * DTS or a duration.
 */
static gboolean is_header(GstBuffer *buffer)
{
	return GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_HEADER) &&
	       !GST_BUFFER_DTS_IS_VALID(buffer) && !GST_BUFFER_DURATION_IS_VALID(buffer);
}

/*
 * The time of a record is the beginning of the recording plus the running time of its buffer,
 * or 0 for the present.
 */
static guint64 time_of(ChariOSink *sink, GstBuffer *buffer, guint64 running)
{
	if (!GST_CLOCK_TIME_IS_VALID(running) || is_header(buffer))
		return 0;
	if (!sink->start_ns)
		sink->start_ns = (guint64)g_get_real_time() * 1000 - running;
	return sink->start_ns + running;
}

static int write_mapped(ChariOSink *sink, GstBuffer *buffer, const GstMapInfo *map)
{
	guint64 running = running_of(sink, buffer);
	struct draft draft = {
		.memory = map->data,
		.size = map->size,
		.time_ns = time_of(sink, buffer, running),
	};
	int err = 0;

	if (is_due(sink, buffer))
		err = describe_all(sink, draft.time_ns);
	if (err)
		return err;
	chario_gst_header_fill(&draft.header, CHARIO_GST_BUFFER, sink->epoch, buffer, running);
	err = write_draft(sink, &draft);
	if (!err)
		sink->bytes_since += bytes_of(&draft);
	return err;
}

static int write_all(ChariOSink *sink, GstBuffer *buffer)
{
	GstMapInfo map;
	int err;

	if (!gst_buffer_map(buffer, &map, GST_MAP_READ))
		return -ENOMEM;
	err = write_mapped(sink, buffer, &map);
	gst_buffer_unmap(buffer, &map);
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
	chario_gst_place_fail(&sink->place, GST_ELEMENT(sink), CHARIO_GST_WRITE, err);
	return GST_FLOW_ERROR;
}

int chario_sink_drain(ChariOSink *sink)
{
	int err;

	do
		err = chario_stream_wait(sink->stream, UINT64_MAX, CHARIO_GST_PATIENCE_NS);
	while (err == -EAGAIN && !chario_gst_place_is_flushing(&sink->place));
	return err;
}
