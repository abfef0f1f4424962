// SPDX-License-Identifier: MIT
/*
 * Starts of a sink: what becomes of the recording that is there, and of the buffers where
 * little memory can be locked.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "lab.h"

/* The longest memory that the limit of locked memory allows; 0 for any. */
static size_t memory_bytes;

int madvise(void *memory, size_t bytes, int advice)
{
	gboolean locks = advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE;

	if (memory_bytes && locks && bytes > memory_bytes) {
		errno = ENOMEM;
		return -1;
	}
	return (int)syscall(SYS_madvise, memory, bytes, advice);
}

/* Stopping before the first picture loses nothing, so that start is not refused. */
TEST(test_a_restart_is_refused, "a restart does not overwrite a recording")
{
	GstElement *pipeline = recorder(10, SIZE);

	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	EQUAL(change(pipeline, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
	CHECK(run_once(pipeline));
	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
	drop(pipeline);
	EQUAL(count_pictures(), 10);
}

/* The area is full after about 60 pictures. */
TEST(test_a_restart_after_an_error_is_refused, "a restart after an error does neither")
{
	GstElement *pipeline = recorder(-1, "size=2097152");
	guint count;

	CHECK(!run_once(pipeline));
	count = count_pictures();
	CHECK(count > 40 && count < 100);
	CHECK(!run_once(pipeline));
	EQUAL(count_pictures(), count);
	drop(pipeline);
}

static gboolean play_a_second(GstElement *pipeline)
{
	return gst_element_seek(pipeline, 1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
				GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET, GST_SECOND) &&
	       gst_element_set_state(pipeline, GST_STATE_PLAYING) &&
	       finish(pipeline, NULL, NULL) == GST_MESSAGE_EOS;
}

/* A flush after the end of the stream does not end the recording. */
TEST(test_an_end_and_a_flush, "a recording goes on after an end and a flush")
{
	GstElement *pipeline = recorder(-1, SIZE);

	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	for (guint round = 0; round < 3; round++)
		CHECK(play_a_second(pipeline));
	drop(pipeline);
	EQUAL(count_pictures(), 90);
}

/* The names of an open recording cannot be changed; they can before the next one. */
TEST(test_another_area, "the area changes between recordings only")
{
	GstElement *pipeline = make("videotestsrc num-buffers=10 ! " RAW
				    " ! chariosink name=sink store=%s area=b size=%llu",
				    image, 4 * MIB);
	GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
	gchar *area;

	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	g_object_set(sink, "location", "a", NULL);
	g_object_get(sink, "area", &area, NULL);
	CHECK(!strcmp(area, "b"));
	g_free(area);
	CHECK(run_once(pipeline));
	g_object_set(sink, "location", "a", NULL);
	CHECK(run_once(pipeline));
	EQUAL(count_pictures(), 10);
	gst_object_unref(sink);
	drop(pipeline);
}

/* Returns the warnings of a recording of ten pictures, or -1 if it failed. */
static int record_in(size_t bytes, const char *settings)
{
	GstElement *pipeline = recorder(10, settings);
	guint warned = 0;
	GstMessageType type;

	memory_bytes = bytes;
	type = run(pipeline, NULL, &warned);
	memory_bytes = 0;
	drop(pipeline);
	return type == GST_MESSAGE_EOS ? (int)warned : -1;
}

/* Eight buffers of 2 MiB are usual.  An area that was created for nothing is gone again. */
TEST(test_little_memory, "buffers fit into the memory that there is")
{
	EQUAL(record_in(MIB, SIZE " segment-bytes=1048576"), -1);
	EQUAL(count_pictures(), G_MAXUINT);
	EQUAL(record_in(2 * MIB, SIZE " segment-bytes=1048576 buffers=3"), -1);
	EQUAL(count_pictures(), G_MAXUINT);
	EQUAL(record_in(2 * MIB, SIZE " segment-bytes=1048576"), 1);
	EQUAL(record_in(16 * MIB, SIZE " force=true"), 0);
	EQUAL(record_in(15 * MIB, SIZE " append=true"), 1);
	EQUAL(record_in(3 * MIB, SIZE " append=true"), -1);
	EQUAL(count_pictures(), 20);
	EQUAL(record_in(MIB, SIZE " force=true"), 1);
	EQUAL(count_pictures(), 10);
}

TEST_MAIN(begin, end)
