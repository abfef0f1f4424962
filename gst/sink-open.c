// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The area of a chariosink, and the stream that records into it. */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>

/* If another program has just created the area, it serves as well. */
static int create_area(ChariOSink *sink, gboolean *created)
{
	int err = chario_store_create(sink->place.store, sink->place.area, sink->size, 0);

	*created = !err;
	return err == -EEXIST ? 0 : err;
}

/* Find the area, or create it; *@created is its number then. */
static int have_area(ChariOSink *sink, struct chario_area_info *area, enum chario_gst_act *act,
		     guint64 *created)
{
	struct chario_store *store = sink->place.store;
	int err = chario_store_find(store, sink->place.area, area, sizeof(*area));
	gboolean is_ours;

	if (err != -ENOENT || !sink->size)
		return err;
	*act = CHARIO_GST_CREATE;
	err = create_area(sink, &is_ours);
	if (err)
		return err;
	*act = CHARIO_GST_OPEN;
	err = chario_store_find(store, sink->place.area, area, sizeof(*area));
	if (!err && is_ours)
		*created = area->id;
	return err;
}

static void choose_options(const ChariOSink *sink, struct chario_stream_options *options)
{
	*options = (struct chario_stream_options){
		.size = sizeof(*options),
		.flags = (sink->ring ? CHARIO_STREAM_RING : 0) |
			 (sink->append ? CHARIO_STREAM_APPEND | CHARIO_STREAM_BEGIN : 0) |
			 (sink->force ? 0 : CHARIO_STREAM_EXCL),
		.segment_bytes = sink->segment_bytes,
		.nr_buffers = sink->buffers,
		.durability = (uint32_t)sink->durability,
		.flush_ns = sink->flush_ms * GST_MSECOND,
		.late_ns = sink->late_ms * GST_MSECOND,
	};
}

/* Warn if there is memory for fewer or shorter buffers only than usual. */
static void tell_memory(ChariOSink *sink)
{
	struct chario_stream_status status;

	chario_sink_get_status(sink, &status);
	if (!status.reduced)
		return;
	GST_ELEMENT_WARNING(sink, RESOURCE, SETTINGS,
			    ("There is memory for %u buffers of %u bytes only: a disk that stalls "
			     "holds up the pipeline sooner. Raise the limit of locked memory "
			     "(ulimit -l).",
			     status.nr_buffers, status.segment_bytes),
			    (NULL));
}

/*
 * Open the stream: only force overwrites something, only append continues a recording, and begins
 * one where there is none.
 */
static int open_stream(ChariOSink *sink)
{
	struct chario_stream_options options;
	struct chario_stream *stream;
	int err;

	choose_options(sink, &options);
	err = chario_stream_open(sink->place.store, sink->place.area, &options, &stream);
	if (err)
		return err;
	g_mutex_lock(&sink->lock);
	sink->stream = stream;
	g_mutex_unlock(&sink->lock);
	tell_memory(sink);
	return 0;
}

static int open_area(ChariOSink *sink, enum chario_gst_act *act, guint64 *created)
{
	struct chario_area_info area;
	int err;

	*act = CHARIO_GST_OPEN;
	err = have_area(sink, &area, act, created);
	if (err)
		return err;
	err = open_stream(sink);
	if (err)
		return err;
	sink->servant = chario_gst_servant_create(sink->stream);
	return sink->servant ? 0 : -EMFILE;
}

/* Returns 0, or the error that ended the recording. */
static int close_stream(ChariOSink *sink)
{
	struct chario_stream *stream = sink->stream;

	chario_gst_servant_destroy(sink->servant);
	sink->servant = NULL;
	if (!stream)
		return 0;
	/*
	 * The status cannot be read after the close, so make the last segments durable before
	 * it.
	 */
	chario_stream_wait(stream, UINT64_MAX, -1);
	chario_sink_keep_status(sink);
	return chario_stream_close(stream);
}

int chario_sink_open(ChariOSink *sink, enum chario_gst_act *act)
{
	guint64 created = 0;
	int err;

	*act = CHARIO_GST_OPEN_STORE;
	err = chario_gst_place_open(&sink->place, O_RDWR);
	if (err)
		return err;
	err = open_area(sink, act, &created);
	if (!err)
		return 0;
	close_stream(sink);
	if (created)
		chario_stream_remove_unused(sink->place.store, sink->place.area, created);
	chario_gst_place_close(&sink->place);
	return err;
}

int chario_sink_close(ChariOSink *sink)
{
	int err = close_stream(sink);

	chario_gst_place_close(&sink->place);
	return err;
}
