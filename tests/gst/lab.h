/* SPDX-License-Identifier: MIT */
/*
 * Pipelines of the plugin that was built, on a store in a file.
 */
#ifndef CHARIO_GST_LAB_H
#define CHARIO_GST_LAB_H

#include <chario/store.h>
#include <gst/gst.h>

#include "tap.h"

#define MIB   (1ULL << 20)
#define SIZE  "size=33554432"
#define RAW   "video/x-raw,format=I420,width=160,height=120,framerate=30/1"
#define FRAME (160 * 120 * 3 / 2)

/**
 * struct seen - what has come out of a pipeline
 * @count: buffers
 * @first_pts: of the first
 * @first_running: running time of the first
 * @first_flags: of the first
 * @discont: buffers with DISCONT, the first left out
 */
struct seen {
	guint count;
	GstClockTime first_pts;
	GstClockTime first_running;
	guint first_flags;
	guint discont;
};

/* The store of a test. */
static char image[] = "/tmp/chario-gst-XXXXXX";

static inline GstClockTime running_time(GstPad *pad, GstBuffer *buffer)
{
	GstEvent *event = gst_pad_get_sticky_event(pad, GST_EVENT_SEGMENT, 0);
	const GstSegment *segment;
	GstClockTime time = GST_CLOCK_TIME_NONE;

	if (!event)
		return time;
	gst_event_parse_segment(event, &segment);
	if (segment->format == GST_FORMAT_TIME)
		time = gst_segment_to_running_time(segment, GST_FORMAT_TIME,
						   GST_BUFFER_PTS(buffer));
	gst_event_unref(event);
	return time;
}

/* A flush, of a seek, makes what came before forgotten. */
static inline GstPadProbeReturn take(GstPad *pad, GstPadProbeInfo *info, gpointer data)
{
	struct seen *seen = data;
	GstBuffer *buffer = GST_PAD_PROBE_INFO_BUFFER(info);

	if (!(info->type & GST_PAD_PROBE_TYPE_BUFFER)) {
		if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_FLUSH_STOP)
			memset(seen, 0, sizeof(*seen));
		return GST_PAD_PROBE_OK;
	}
	if (!seen->count++) {
		seen->first_pts = GST_BUFFER_PTS(buffer);
		seen->first_running = running_time(pad, buffer);
		seen->first_flags = GST_BUFFER_FLAGS(buffer);
	} else if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)) {
		seen->discont++;
	}
	return GST_PAD_PROBE_OK;
}

/* A pipeline, as gst-launch-1.0 reads it. */
static inline G_GNUC_PRINTF(1, 2) GstElement *make(const char *format, ...)
{
	gchar *text;
	GstElement *pipeline;
	va_list arguments;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	pipeline = gst_parse_launch(text, NULL);
	g_free(text);
	return pipeline;
}

static inline void watch(GstElement *pipeline, struct seen *seen)
{
	GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "out");
	GstPad *pad = gst_element_get_static_pad(sink, "sink");

	gst_pad_add_probe(pad,
			  GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM |
				  GST_PAD_PROBE_TYPE_EVENT_FLUSH,
			  take, seen, NULL);
	gst_object_unref(pad);
	gst_object_unref(sink);
}

/* The type of the message that ended it; counts messages of elements and warnings. */
static inline GstMessageType finish(GstElement *pipeline, guint *told, guint *warned)
{
	const GstMessageType end = GST_MESSAGE_EOS | GST_MESSAGE_ERROR;
	GstBus *bus = gst_element_get_bus(pipeline);
	GstMessageType type = GST_MESSAGE_UNKNOWN;

	while (!(type & end)) {
		GstMessage *message = gst_bus_timed_pop_filtered(
			bus, 60 * GST_SECOND, end | GST_MESSAGE_ELEMENT | GST_MESSAGE_WARNING);

		if (!message)
			break;
		type = GST_MESSAGE_TYPE(message);
		if (told && gst_message_has_name(message, "chario-trouble"))
			(*told)++;
		if (warned && type == GST_MESSAGE_WARNING)
			(*warned)++;
		gst_message_unref(message);
	}
	gst_object_unref(bus);
	return type;
}

/* The same for a pipeline that is to be started. */
static inline GstMessageType run(GstElement *pipeline, guint *told, guint *warned)
{
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	return finish(pipeline, told, warned);
}

/* The end of a pipeline. */
static inline void drop(GstElement *pipeline)
{
	gst_element_set_state(pipeline, GST_STATE_NULL);
	gst_object_unref(pipeline);
}

/* Change the state, and wait until that is done. */
static inline GstStateChangeReturn change(GstElement *pipeline, GstState state)
{
	gst_element_set_state(pipeline, state);
	return gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
}

/* Play to the end of the stream, then go to NULL.  Returns FALSE after an error. */
static inline gboolean run_once(GstElement *pipeline)
{
	gboolean ended;

	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	ended = finish(pipeline, NULL, NULL) == GST_MESSAGE_EOS;
	return change(pipeline, GST_STATE_NULL) == GST_STATE_CHANGE_SUCCESS && ended;
}

/* A pipeline that records so many pictures with the element "sink"; -1 for no end of them. */
static inline GstElement *recorder(int pictures, const char *settings)
{
	return make("videotestsrc name=in num-buffers=%d ! " RAW
		    " ! chariosink name=sink store=%s area=a %s",
		    pictures, image, settings);
}

/* A recording of so many pictures; its end is that of the pipeline. */
static inline GstMessageType record(guint frames, const char *encoder, const char *settings)
{
	GstElement *pipeline = make("videotestsrc num-buffers=%u ! " RAW
				    " ! %s ! chariosink store=%s area=a %s",
				    frames, encoder, image, settings);
	GstMessageType end;

	end = run(pipeline, NULL, NULL);
	drop(pipeline);
	return end;
}

/* A pipeline that gives a recording back to @seen. */
static inline GstElement *play(struct seen *seen, const char *settings)
{
	GstElement *pipeline =
		make("chariosrc name=in store=%s area=a %s ! fakesink name=out", image, settings);

	memset(seen, 0, sizeof(*seen));
	watch(pipeline, seen);
	return pipeline;
}

/* The end of a pipeline that gives all of a recording back; counts warnings. */
static inline GstMessageType play_all(struct seen *seen, guint *warned)
{
	GstElement *pipeline = play(seen, "");
	GstMessageType type = run(pipeline, NULL, warned);

	drop(pipeline);
	return type;
}

/* Returns the number of pictures in the area "a", or G_MAXUINT if they cannot be played. */
static inline guint count_pictures(void)
{
	struct seen seen;
	GstElement *pipeline = play(&seen, "");
	gboolean ended = run_once(pipeline);

	gst_object_unref(pipeline);
	return ended ? seen.count : G_MAXUINT;
}

/* A counter of the element "sink". */
static inline guint64 counter(GstElement *pipeline, const char *name)
{
	GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
	guint64 value = 0;

	g_object_get(sink, name, &value, NULL);
	gst_object_unref(sink);
	return value;
}

/* Make an empty store. */
static inline void begin(void)
{
	int fd;

	strcpy(image + strlen(image) - 6, "XXXXXX");
	fd = mkstemp(image);
	if (fd < 0 || ftruncate(fd, 64 * MIB) || close(fd) || chario_store_format(image, NULL))
		printf("Bail out! no store can be made in /tmp\n");
	if (!gst_is_initialized())
		gst_init(NULL, NULL);
	if (!gst_registry_check_feature_version(gst_registry_get(), "chariosink", 0, 0, 0))
		printf("Bail out! GStreamer does not find chariosink, see GST_PLUGIN_PATH\n");
}

static inline void end(void)
{
	unlink(image);
}

#endif /* CHARIO_GST_LAB_H */
