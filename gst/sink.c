// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/**
 * SECTION:element-chariosink
 * @title: chariosink
 * @short_description: records into an area of a store of CharIO
 *
 * Every buffer becomes one record of a recording, with its times and flags; caps and
 * stream headers are recorded too. #chariosrc plays all of it back. The recording is
 * written in large segments, with no file system in between, and survives a power cut up
 * to what was durable.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 videotestsrc num-buffers=300 ! x264enc ! \
 *     video/x-h264,stream-format=avc,alignment=au ! \
 *     chariosink store=/dev/chardisk0 area=camera size=1073741824
 * ]|
 * Creates the area if there is none, and records into it. A recording that is there already
 * is an error, unless append=true goes on with it, or force=true begins a new one.
 * |[
 * gst-launch-1.0 -e v4l2src ! videoconvert ! x264enc key-int-max=30 ! splitmuxsink \
 *     muxer=matroskamux max-size-time=60000000000 location="part-%05d" \
 *     sink="chariosink store=/dev/chardisk0 size=268435456"
 * ]|
 * Records a file a minute, each in an area of its own: part-00000, part-00001, and so on.
 * |[
 * gst-launch-1.0 v4l2src ! chariosink store=/dev/chardisk0 area=camera ring=true drop=true \
 *     append=true
 * ]|
 * Records the newest pictures of a camera and never holds it up: when the disk is too slow,
 * buffers are lost, counted, and reported by an element message `chario-trouble`.
 */
#include "sink.h"

#include <errno.h>

GST_DEBUG_CATEGORY_STATIC(debug);
#define GST_CAT_DEFAULT debug

static GstStaticPadTemplate pad_template =
	GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE(ChariOSink, chario_sink, GST_TYPE_BASE_SINK)

/* With append, the epochs of the earlier part of the recording are other numbers. */
static void begin(ChariOSink *sink)
{
	struct chario_stream_status status;

	chario_sink_get_status(sink, &status);
	sink->describe_bytes = status.segment_bytes;
	sink->told_late = status.late;
	sink->told_lost = status.lost_records;
	sink->told_us = 0;
	sink->epoch = g_random_int();
	sink->is_described = FALSE;
	sink->is_segment_new = TRUE;
	sink->patience_ns = CHARIO_GST_PATIENCE_NS;
	sink->start_ns = 0;
	gst_segment_init(&sink->segment, GST_FORMAT_TIME);
}

static gboolean check_properties(ChariOSink *sink)
{
	if (!sink->append || !sink->force)
		return TRUE;
	GST_ELEMENT_ERROR(sink, RESOURCE, SETTINGS,
			  ("append=true goes on with a recording, force=true begins a new one: "
			   "set one of them."),
			  (NULL));
	return FALSE;
}

static gboolean start(GstBaseSink *base)
{
	ChariOSink *sink = CHARIO_SINK(base);
	GstElement *element = GST_ELEMENT(sink);
	enum chario_gst_act act;
	int err;

	if (!check_properties(sink) || !chario_gst_place_hold_names(&sink->place, element))
		return FALSE;
	err = chario_sink_open(sink, &act);
	if (err) {
		chario_gst_place_fail(&sink->place, element, act, err);
		chario_gst_place_drop_names(&sink->place, element);
		return FALSE;
	}
	begin(sink);
	return TRUE;
}

static gboolean stop(GstBaseSink *base)
{
	ChariOSink *sink = CHARIO_SINK(base);
	int err = chario_sink_close(sink);

	chario_sink_tell(sink, TRUE);
	gst_caps_replace(&sink->caps, NULL);
	if (err)
		chario_gst_place_fail(&sink->place, GST_ELEMENT(sink), CHARIO_GST_WRITE, err);
	chario_gst_place_drop_names(&sink->place, GST_ELEMENT(sink));
	return !err;
}

static gboolean set_caps(GstBaseSink *base, GstCaps *caps)
{
	ChariOSink *sink = CHARIO_SINK(base);

	if (sink->caps && gst_caps_is_strictly_equal(sink->caps, caps))
		return TRUE;
	gst_caps_replace(&sink->caps, caps);
	sink->epoch++;
	sink->is_described = FALSE;
	return TRUE;
}

/* A new segment of bytes always counts: a muxer that completes a header goes back by one. */
static void take_segment(ChariOSink *sink, GstEvent *event)
{
	const GstSegment *segment;

	gst_event_parse_segment(event, &segment);
	if (segment->format != GST_FORMAT_BYTES && gst_segment_is_equal(&sink->segment, segment))
		return;
	gst_segment_copy_into(segment, &sink->segment);
	sink->is_segment_new = TRUE;
	sink->epoch++;
	sink->is_described = FALSE;
}

static gboolean event(GstBaseSink *base, GstEvent *event)
{
	if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT)
		take_segment(CHARIO_SINK(base), event);
	return GST_BASE_SINK_CLASS(chario_sink_parent_class)->event(base, event);
}

/* If a change of state has ended the wait, continue it when the pipeline plays again. */
static GstFlowReturn drain(ChariOSink *sink)
{
	int err = chario_sink_drain(sink);

	while (err == -EAGAIN) {
		GstFlowReturn result = gst_base_sink_wait_preroll(GST_BASE_SINK(sink));

		if (result != GST_FLOW_OK)
			return result;
		err = chario_sink_drain(sink);
	}
	chario_sink_tell(sink, TRUE);
	if (!err)
		return GST_FLOW_OK;
	chario_gst_place_fail(&sink->place, GST_ELEMENT(sink), CHARIO_GST_WRITE, err);
	return GST_FLOW_ERROR;
}

/* Forward the end of the stream when everything before it is durable. */
static GstFlowReturn wait_event(GstBaseSink *base, GstEvent *event)
{
	GstBaseSinkClass *parent = GST_BASE_SINK_CLASS(chario_sink_parent_class);
	GstFlowReturn result = parent->wait_event(base, event);

	if (result != GST_FLOW_OK || GST_EVENT_TYPE(event) != GST_EVENT_EOS)
		return result;
	return drain(CHARIO_SINK(base));
}

/*
 * Report that seeking is impossible, so that muxers stream and do not go back to overwrite
 * data.
 */
static gboolean query(GstBaseSink *base, GstQuery *query)
{
	GstFormat format;

	if (GST_QUERY_TYPE(query) != GST_QUERY_SEEKING)
		return GST_BASE_SINK_CLASS(chario_sink_parent_class)->query(base, query);
	gst_query_parse_seeking(query, &format, NULL, NULL, NULL);
	gst_query_set_seeking(query, format, FALSE, 0, -1);
	return TRUE;
}

/* Record a buffer; like drain(), continue a wait that a change of state has ended. */
static GstFlowReturn render(GstBaseSink *base, GstBuffer *buffer)
{
	GstFlowReturn result = chario_sink_write(CHARIO_SINK(base), buffer);

	while (result == GST_FLOW_FLUSHING) {
		result = gst_base_sink_wait_preroll(base);
		if (result != GST_FLOW_OK)
			return result;
		result = chario_sink_write(CHARIO_SINK(base), buffer);
	}
	return result;
}

static gboolean unlock(GstBaseSink *base)
{
	chario_gst_place_set_flushing(&CHARIO_SINK(base)->place, TRUE);
	return TRUE;
}

static gboolean unlock_stop(GstBaseSink *base)
{
	chario_gst_place_set_flushing(&CHARIO_SINK(base)->place, FALSE);
	return TRUE;
}

static void finalize(GObject *object)
{
	ChariOSink *sink = CHARIO_SINK(object);

	chario_gst_place_deinit(&sink->place);
	gst_caps_replace(&sink->caps, NULL);
	g_mutex_clear(&sink->lock);
	G_OBJECT_CLASS(chario_sink_parent_class)->finalize(object);
}

static void chario_sink_class_init(ChariOSinkClass *class)
{
	GObjectClass *object = G_OBJECT_CLASS(class);
	GstElementClass *element = GST_ELEMENT_CLASS(class);
	GstBaseSinkClass *base = GST_BASE_SINK_CLASS(class);

	GST_DEBUG_CATEGORY_INIT(debug, "chariosink", 0, "recordings of CharIO");
	object->finalize = finalize;
	chario_sink_add_properties(object);
	gst_element_class_set_static_metadata(element, "CharIO sink", "Sink/File",
					      "Records into an area of a store of CharIO",
					      "the CharIO project");
	gst_element_class_add_static_pad_template(element, &pad_template);
	base->start = start;
	base->stop = stop;
	base->set_caps = set_caps;
	base->event = event;
	base->wait_event = wait_event;
	base->query = query;
	base->render = render;
	base->unlock = unlock;
	base->unlock_stop = unlock_stop;
}

static void chario_sink_init(ChariOSink *sink)
{
	g_mutex_init(&sink->lock);
	chario_sink_init_properties(sink);
	/* Record buffers on arrival, whatever their time. */
	gst_base_sink_set_sync(GST_BASE_SINK(sink), FALSE);
	/* Do not keep a recorded buffer as the last sample. */
	gst_base_sink_set_last_sample_enabled(GST_BASE_SINK(sink), FALSE);
}
