// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The area of a chariosink, and the stream that records into it. */
#include "sink.h"

#include <chario/reader.h>
#include <errno.h>
#include <fcntl.h>

/* The fewest buffers that do not hold up a pipeline while the disk writes. */
#define FEW_BUFFERS 4

/* The shortest segment of a recording. */
#define SEGMENT_MIN 8192

/* A recording without a record has nothing to lose: its pipeline failed before any buffer came. */
static int check_recording(ChariOSink *sink)
{
	struct chario_recording recording;
	struct chario_reader *reader;
	int err = chario_reader_open(sink->place.store, sink->place.area, &reader);

	if (err)
		return -EEXIST;
	err = chario_reader_get_recording(reader, &recording, sizeof(recording));
	chario_reader_close(reader);
	if (!err && recording.live)
		return -EBUSY;
	if (!err && !recording.records && !recording.lost_records && !recording.missing_records)
		return 0;
	return -EEXIST;
}

/*
 * Returns 0 if the area may be used: only force overwrites something, only append continues
 * a recording.  Otherwise returns -EALREADY if chario put fills the area, -EEXIST if it has
 * a recording, -EBUSY if the recording is being made.
 */
static int check_area(ChariOSink *sink, const struct chario_area_info *area)
{
	if (sink->force)
		return 0;
	if (area->flags & CHARIO_AREA_FILLING)
		return -EALREADY;
	if (sink->append || !(area->flags & CHARIO_AREA_STREAM))
		return 0;
	return check_recording(sink);
}

/* If another program has just created the area, it serves as well. */
static int create_area(ChariOSink *sink, gboolean *created)
{
	int err = chario_store_create(sink->place.store, sink->place.area, sink->size, 0);

	*created = !err;
	return err == -EEXIST ? 0 : err;
}

static int have_area(ChariOSink *sink, struct chario_area_info *area, enum chario_gst_act *act,
		     gboolean *created)
{
	struct chario_store *store = sink->place.store;
	int err = chario_store_find(store, sink->place.area, area, sizeof(*area));

	if (err == -ENOENT && sink->size) {
		*act = CHARIO_GST_CREATE;
		err = create_area(sink, created);
		if (err)
			return err;
		*act = CHARIO_GST_OPEN;
		err = chario_store_find(store, sink->place.area, area, sizeof(*area));
	}
	return err ? err : check_area(sink, area);
}

static void choose_options(const ChariOSink *sink, struct chario_stream_options *options)
{
	*options = (struct chario_stream_options){
		.size = sizeof(*options),
		.flags = sink->ring ? CHARIO_STREAM_RING : 0,
		.segment_bytes = sink->segment_bytes,
		.nr_buffers = sink->buffers,
		.durability = (uint32_t)sink->durability,
		.flush_ns = sink->flush_ms * GST_MSECOND,
		.late_ns = sink->late_ms * GST_MSECOND,
	};
}

/*
 * Halve the memory of the buffers, which the limit of locked memory does not allow: first
 * take fewer buffers, then shorter segments.  Segments keep a length that the user has set,
 * or that the recording has which is continued.  Returns FALSE if nothing is left to halve.
 */
static gboolean halve_memory(struct chario_stream_options *options, gboolean has_segments,
			     guint64 area_bytes)
{
	struct chario_stream_fit fit;

	if (options->nr_buffers > FEW_BUFFERS || (has_segments && options->nr_buffers > 2)) {
		options->nr_buffers = (options->nr_buffers + 1) / 2;
		return TRUE;
	}
	if (has_segments || chario_stream_get_fit(area_bytes, options, &fit, sizeof(fit)) ||
	    fit.segment_bytes / 2 < SEGMENT_MIN)
		return FALSE;
	options->segment_bytes = fit.segment_bytes / 2 / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
	return TRUE;
}

static int open_part(ChariOSink *sink, guint64 area_bytes, uint32_t flag,
		     struct chario_stream **stream)
{
	gboolean has_segments = sink->segment_bytes || flag == CHARIO_STREAM_APPEND;
	struct chario_stream_options options;
	int err;

	choose_options(sink, &options);
	options.flags |= flag;
	do
		err = chario_stream_open(sink->place.store, sink->place.area, &options, stream);
	while (err == -ENOMEM && halve_memory(&options, has_segments, area_bytes));
	return err;
}

/* Warn if the buffers are smaller than the properties ask for. */
static void tell_memory(ChariOSink *sink, guint64 area_bytes)
{
	struct chario_stream_options options;
	struct chario_stream_status status;
	struct chario_stream_fit fit;

	choose_options(sink, &options);
	chario_sink_get_status(sink, &status);
	if (sink->append)
		options.segment_bytes = status.segment_bytes;
	if (chario_stream_get_fit(area_bytes, &options, &fit, sizeof(fit)) ||
	    (guint64)status.nr_buffers * status.segment_bytes >=
		    (guint64)fit.nr_buffers * fit.segment_bytes)
		return;
	GST_ELEMENT_WARNING(sink, RESOURCE, SETTINGS,
			    ("There is memory for %u buffers of %u bytes only, not for %u of %u: "
			     "a disk that stalls holds up the pipeline sooner. Raise the limit of "
			     "locked memory (ulimit -l).",
			     status.nr_buffers, status.segment_bytes, fit.nr_buffers,
			     fit.segment_bytes),
			    (NULL));
}

/* The first of a series of recordings has none to continue. */
static int open_stream(ChariOSink *sink, guint64 area_bytes)
{
	struct chario_stream *stream;
	int err = -ENODATA;

	if (sink->append)
		err = open_part(sink, area_bytes, CHARIO_STREAM_APPEND, &stream);
	if (err == -ENODATA)
		err = open_part(sink, area_bytes, 0, &stream);
	if (err)
		return err;
	g_mutex_lock(&sink->lock);
	sink->stream = stream;
	g_mutex_unlock(&sink->lock);
	tell_memory(sink, area_bytes);
	return 0;
}

/* Remove the area that a failed start has created, unless another program has recorded into it. */
static void remove_area(ChariOSink *sink)
{
	struct chario_area_info area;
	int err = chario_store_find(sink->place.store, sink->place.area, &area, sizeof(area));

	if (!err && area.flags & CHARIO_AREA_STREAM)
		err = check_recording(sink);
	if (!err)
		chario_store_remove(sink->place.store, sink->place.area);
}

static int open_area(ChariOSink *sink, enum chario_gst_act *act, gboolean *created)
{
	struct chario_area_info area;
	int err;

	*act = CHARIO_GST_OPEN;
	err = have_area(sink, &area, act, created);
	if (err)
		return err;
	err = open_stream(sink, area.bytes);
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
	gboolean created = FALSE;
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
		remove_area(sink);
	chario_gst_place_close(&sink->place);
	return err;
}

int chario_sink_close(ChariOSink *sink)
{
	int err = close_stream(sink);

	chario_gst_place_close(&sink->place);
	return err;
}
