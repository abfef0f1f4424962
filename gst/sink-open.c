// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The area of a chariosink, and the stream that records into it. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>

static int open_stream(ChariOSink *sink)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = (sink->ring ? CHARIO_STREAM_RING : 0) |
			 (sink->append ? CHARIO_STREAM_APPEND : 0),
		.segment_bytes = sink->segment_bytes,
		.nr_buffers = sink->buffers,
		.durability = (uint32_t)sink->durability,
		.flush_ns = sink->flush_ms * GST_MSECOND,
		.late_ns = sink->late_ms * GST_MSECOND,
	};
	struct chario_stream *stream;
	int err = chario_stream_open(sink->place.store, sink->place.area, &options, &stream);

	if (err)
		return err;
	g_mutex_lock(&sink->lock);
	sink->stream = stream;
	g_mutex_unlock(&sink->lock);
	return 0;
}

/* If another program has just made the area, that serves as well. */
static int create_area(ChariOSink *sink)
{
	struct chario_area_info info;
	int err;

	if (!sink->size)
		return 0;
	err = chario_store_find(sink->place.store, sink->place.area, &info, sizeof(info));
	if (err != -ENOENT)
		return err;
	err = chario_store_create(sink->place.store, sink->place.area, sink->size, 0);
	return err == -EEXIST ? 0 : err;
}

int chario_sink_open(ChariOSink *sink, enum chario_gst_act *act)
{
	int err;

	*act = CHARIO_GST_OPEN_STORE;
	err = chario_gst_place_open(&sink->place, O_RDWR);
	if (err)
		return err;
	*act = CHARIO_GST_CREATE;
	err = create_area(sink);
	if (err)
		return err;
	*act = CHARIO_GST_OPEN;
	err = open_stream(sink);
	if (err)
		return err;
	sink->servant = chario_gst_servant_create(sink->stream);
	return sink->servant ? 0 : -EMFILE;
}

int chario_sink_close(ChariOSink *sink)
{
	struct chario_stream *stream = sink->stream;
	int err = 0;

	chario_gst_servant_destroy(sink->servant);
	sink->servant = NULL;
	if (stream) {
		/*
		 * The status cannot be read after the close, so make the last segments
		 * durable before it.
		 */
		chario_stream_wait(stream, UINT64_MAX, -1);
		chario_sink_keep_status(sink);
		err = chario_stream_close(stream);
	}
	chario_gst_place_close(&sink->place);
	return err;
}
