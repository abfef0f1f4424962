// SPDX-License-Identifier: MIT
/*
 * The elements of GStreamer as a program uses them: counters, messages, seeks.
 */
#include <chario/reader.h>

#include "lab.h"

/* So that the times of decoding are never negative. */
#define X264_ZERO (1000 * 3600 * GST_SECOND)

TEST(test_counters, "a sink counts, and its end is durable")
{
	GstElement *pipeline = recorder(30, SIZE);

	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	/* Caps, segment, pictures; the end is told when all is durable. */
	EQUAL(counter(pipeline, "records"), 32);
	EQUAL(counter(pipeline, "durable-bytes"), counter(pipeline, "bytes"));
	CHECK(counter(pipeline, "bytes") > 30 * FRAME);
	EQUAL(counter(pipeline, "lost"), 0);
	gst_element_set_state(pipeline, GST_STATE_NULL);
	EQUAL(counter(pipeline, "records"), 32);
	gst_object_unref(pipeline);
}

/* A picture needs more segments than there are buffers: without waiting, none fits. */
TEST(test_what_is_dropped_is_told, "what is dropped is counted and told")
{
	GstElement *pipeline = recorder(30, SIZE " segment-bytes=8192 buffers=2 drop=true");
	struct seen seen;
	guint told = 0;

	EQUAL(run(pipeline, &told, NULL), GST_MESSAGE_EOS);
	EQUAL(counter(pipeline, "lost"), 30);
	CHECK(told >= 1);
	drop(pipeline);
	EQUAL(play_all(&seen, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.count, 0);
}

static int lose(guint64 records)
{
	const struct chario_stream_options options = {
		.size = sizeof(options),
		.flags = CHARIO_STREAM_APPEND,
	};
	struct chario_stream *stream;
	struct chario_store *store;
	int err = chario_store_open(image, O_RDWR, &store);

	if (err)
		return err;
	err = chario_stream_open(store, "a", &options, &stream);
	if (!err) {
		chario_stream_lose(stream, records, 1000);
		err = chario_stream_close(stream);
	}
	chario_store_close(store);
	return err;
}

TEST(test_a_gap_is_told, "a gap is a warning and a flag")
{
	struct seen seen;
	guint warned = 0;

	EQUAL(record(10, "identity", SIZE), GST_MESSAGE_EOS);
	EQUAL(lose(5), 0);
	EQUAL(record(10, "identity", "append=true"), GST_MESSAGE_EOS);
	EQUAL(play_all(&seen, &warned), GST_MESSAGE_EOS);
	EQUAL(seen.count, 20);
	EQUAL(warned, 1);
	CHECK(seen.discont >= 1);
}

static gboolean seek(GstElement *pipeline, GstClockTime to)
{
	change(pipeline, GST_STATE_PAUSED);
	return gst_element_seek_simple(pipeline, GST_FORMAT_TIME,
				       GST_SEEK_FLAG_FLUSH | GST_SEEK_FLAG_ACCURATE, (gint64)to);
}

TEST(test_a_seek, "a seek to a time")
{
	struct seen seen;
	GstElement *pipeline;
	gint64 length = 0;

	EQUAL(record(90, "identity", SIZE " segment-bytes=131072"), GST_MESSAGE_EOS);
	pipeline = play(&seen, "");
	CHECK(seek(pipeline, GST_SECOND));
	gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
	CHECK(gst_element_query_duration(pipeline, GST_FORMAT_TIME, &length));
	EQUAL(length, 3 * GST_SECOND);
	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.count, 60);
	EQUAL(seen.first_pts, GST_SECOND);
	EQUAL(seen.first_running, 0);
	drop(pipeline);
}

/* x264enc's times begin at 1000 hours, and pictures depend on earlier ones. */
TEST(test_a_seek_among_dependent_pictures, "a seek begins with a key picture")
{
	struct seen seen;
	GstElement *pipeline;

	EQUAL(record(90, "x264enc key-int-max=10", SIZE " segment-bytes=8192"), GST_MESSAGE_EOS);
	pipeline = play(&seen, "");
	CHECK(seek(pipeline, 1050 * GST_MSECOND));
	gst_element_get_state(pipeline, NULL, NULL, 60 * GST_SECOND);
	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	/* Picture 30 is the key picture before the one of 1.05 s. */
	EQUAL(seen.count, 60);
	EQUAL(seen.first_flags & GST_BUFFER_FLAG_DELTA_UNIT, 0);
	EQUAL(seen.first_pts, X264_ZERO + GST_SECOND);
	drop(pipeline);
}

/* A part of what a source has, with an end: so much of it, or until then. */
static GstMessageType record_part(const char *source, const char *settings, GstFormat format,
				  gint64 end)
{
	GstElement *pipeline = make("%s ! chariosink store=%s area=a %s", source, image, settings);
	GstMessageType type = GST_MESSAGE_ERROR;

	change(pipeline, GST_STATE_PAUSED);
	if (gst_element_seek(pipeline, 1.0, format, GST_SEEK_FLAG_FLUSH, GST_SEEK_TYPE_SET, 0,
			     GST_SEEK_TYPE_SET, end)) {
		gst_element_set_state(pipeline, GST_STATE_PLAYING);
		type = finish(pipeline, NULL, NULL);
	}
	drop(pipeline);
	return type;
}

static void record_parts(const char *source, GstFormat format, gint64 end, struct seen *seen)
{
	EQUAL(record_part(source, SIZE, format, end), GST_MESSAGE_EOS);
	EQUAL(record_part(source, "append=true", format, end), GST_MESSAGE_EOS);
	EQUAL(play_all(seen, NULL), GST_MESSAGE_EOS);
}

/* The end that each part says it has is not that of the recording. */
TEST(test_parts_with_ends, "parts with an end follow each other")
{
	struct seen seen;
	gchar *bytes;

	record_parts("videotestsrc ! " RAW, GST_FORMAT_TIME, GST_SECOND, &seen);
	EQUAL(seen.count, 60);
	end();
	begin();
	bytes = g_strdup_printf("filesrc location=%s blocksize=1000", image);
	record_parts(bytes, GST_FORMAT_BYTES, 9500, &seen);
	g_free(bytes);
	EQUAL(seen.count, 20);
}

/* Of three seconds, the one in the middle. */
TEST(test_a_seek_with_an_end, "a seek with an end ends there")
{
	struct seen seen;
	GstElement *pipeline;

	EQUAL(record(90, "identity", SIZE), GST_MESSAGE_EOS);
	pipeline = play(&seen, "");
	change(pipeline, GST_STATE_PAUSED);
	CHECK(gst_element_seek(pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
			       GST_SEEK_TYPE_SET, GST_SECOND, GST_SEEK_TYPE_SET, 2 * GST_SECOND));
	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.count, 30);
	EQUAL(seen.first_pts, GST_SECOND);
	drop(pipeline);
}

static guint64 first_time(void)
{
	struct chario_record record = { 0 };
	struct chario_reader *reader;
	struct chario_store *store;

	if (chario_store_open(image, O_RDONLY, &store))
		return 0;
	if (!chario_reader_open(store, "a", &reader)) {
		chario_reader_next(reader, 0, &record);
		chario_reader_close(reader);
	}
	chario_store_close(store);
	return record.time_ns;
}

TEST(test_from_a_time, "from a time on")
{
	struct seen seen;
	GstElement *pipeline, *source;

	EQUAL(record(90, "identity", SIZE " segment-bytes=131072"), GST_MESSAGE_EOS);
	pipeline = play(&seen, "");
	source = gst_bin_get_by_name(GST_BIN(pipeline), "in");
	g_object_set(source, "from-time", first_time() + 2 * GST_SECOND, NULL);
	gst_object_unref(source);
	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.count, 30);
	EQUAL(seen.first_pts, 2 * GST_SECOND);
	EQUAL(seen.first_running, 0);
	drop(pipeline);
}

/* Who waits for more can be ended; and a recording goes on when its pipeline was paused. */
TEST(test_waits_can_be_ended, "waits can be ended")
{
	GstElement *live = make("videotestsrc is-live=true ! " RAW
				" ! chariosink store=%s area=a " SIZE " ring=true flush-ms=10",
				image);
	struct seen seen;
	GstElement *player;

	EQUAL(change(live, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
	gst_element_set_state(live, GST_STATE_PAUSED);
	player = play(&seen, "follow=true");
	gst_element_set_state(player, GST_STATE_PLAYING);
	gst_element_get_state(player, NULL, NULL, GST_SECOND / 10);
	drop(player);
	EQUAL(change(live, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
	gst_element_send_event(live, gst_event_new_eos());
	EQUAL(finish(live, NULL, NULL), GST_MESSAGE_EOS);
	drop(live);
}

TEST_MAIN(begin, end)
