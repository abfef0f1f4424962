// SPDX-License-Identifier: MIT
/*
 * States, flushes and queries of the elements, also while the disk does not answer.
 *
 * The disk is a file.  Its writes and flushes are made by threads, because io_uring is
 * not to be had here, and wait as long as a test wants them to.
 */
#include <dirent.h>
#include <liburing.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "lab.h"

static GMutex lock;
static GCond changed;
static gboolean writes_stall, flushes_stall;
static guint nr_stalled;

/* How long the disk is busy with one write, before which it begins no other. */
static GMutex busy;
static guint busy_us;

int io_uring_queue_init_params(unsigned int entries, struct io_uring *ring,
			       struct io_uring_params *params)
{
	return -ENOSYS;
}

static void pass(const gboolean *stalls)
{
	g_mutex_lock(&lock);
	nr_stalled += !!*stalls;
	g_cond_broadcast(&changed);
	while (*stalls)
		g_cond_wait(&changed, &lock);
	g_mutex_unlock(&lock);
}

ssize_t pwritev64v2(int fd, const struct iovec *pieces, int count, off64_t offset, int flags)
{
	pass(&writes_stall);
	if (busy_us) {
		g_mutex_lock(&busy);
		g_usleep(busy_us);
		g_mutex_unlock(&busy);
	}
	return syscall(SYS_pwritev2, fd, pieces, count, offset, 0L, flags);
}

int fdatasync(int fd)
{
	pass(&flushes_stall);
	return (int)syscall(SYS_fdatasync, fd);
}

static void stall(gboolean *what)
{
	g_mutex_lock(&lock);
	*what = TRUE;
	nr_stalled = 0;
	g_mutex_unlock(&lock);
}

static void wait_for_stall(void)
{
	g_mutex_lock(&lock);
	while (!nr_stalled)
		g_cond_wait(&changed, &lock);
	g_mutex_unlock(&lock);
}

static void go_on(void)
{
	g_mutex_lock(&lock);
	writes_stall = flushes_stall = FALSE;
	g_cond_broadcast(&changed);
	g_mutex_unlock(&lock);
}

/* Its buffers are full of what a disk that stalls has not taken, once it waits. */
static GstElement *record_at_a_stalled_disk(guint segment_bytes, guint records)
{
	GstElement *pipeline = make("videotestsrc name=in num-buffers=300 ! " RAW
				    " ! chariosink name=sink store=%s area=a " SIZE
				    " ring=true segment-bytes=%u buffers=2",
				    image, segment_bytes);

	/* Until then the area is made, and nothing is recorded. */
	change(pipeline, GST_STATE_PAUSED);
	stall(&writes_stall);
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	wait_for_stall();
	while (counter(pipeline, "records") < records)
		g_usleep(1000);
	return pipeline;
}

/* Two segments have room for eight pictures, two descriptions, and no more. */
#define LONG_SEGMENT 131072
#define LONG_RECORDS 10

/* One picture takes both of these. */
#define SHORT_SEGMENT 16384
#define SHORT_RECORDS 3

TEST(test_an_end_survives_a_pause, "an end of stream survives a pause")
{
	GstElement *pipeline = recorder(10, SIZE " durability=flush flush-ms=3600000");

	change(pipeline, GST_STATE_PAUSED);
	stall(&flushes_stall);
	gst_element_set_state(pipeline, GST_STATE_PLAYING);
	wait_for_stall();
	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	EQUAL(change(pipeline, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
	CHECK(counter(pipeline, "durable-bytes") < counter(pipeline, "bytes"));
	go_on();
	EQUAL(finish(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	EQUAL(counter(pipeline, "records"), 12);
	EQUAL(counter(pipeline, "durable-bytes"), counter(pipeline, "bytes"));
	drop(pipeline);
}

static void pause_at_a_stalled_disk(guint segment_bytes, guint records)
{
	GstElement *pipeline = record_at_a_stalled_disk(segment_bytes, records);

	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	CHECK(counter(pipeline, "records") < 300);
	go_on();
	EQUAL(change(pipeline, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
	EQUAL(finish(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	CHECK(counter(pipeline, "records") >= 302);
	EQUAL(counter(pipeline, "lost"), 0);
	drop(pipeline);
}

TEST(test_a_pause_at_a_stalled_disk, "a pause while the disk stalls")
{
	pause_at_a_stalled_disk(LONG_SEGMENT, LONG_RECORDS);
}

/* The picture that waits is one that would take several segments. */
TEST(test_a_pause_in_a_long_record, "a pause in a record of several segments")
{
	pause_at_a_stalled_disk(SHORT_SEGMENT, SHORT_RECORDS);
}

/*
 * Pictures of two segments, of which the disk takes one in more time than a wait lasts.
 * The area has room for them four times: what tries leave behind is not much.
 */
TEST(test_long_records_at_a_slow_disk, "records of several segments at a slow disk")
{
	GstElement *pipeline = recorder(8, "size=1048576 segment-bytes=16384 buffers=2");
	struct seen seen;

	busy_us = 60000;
	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	/* What says what it is comes before each. */
	EQUAL(counter(pipeline, "records"), 24);
	EQUAL(counter(pipeline, "lost"), 0);
	drop(pipeline);
	busy_us = 0;
	EQUAL(play_all(&seen, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.count, 8);
	EQUAL(seen.discont, 0);
}

/* All pictures from the seek on are there, none twice. */
TEST(test_a_flush_at_a_stalled_disk, "a flush while the disk stalls")
{
	GstElement *pipeline = record_at_a_stalled_disk(LONG_SEGMENT, LONG_RECORDS);
	struct seen seen;

	CHECK(gst_element_seek_simple(pipeline, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
				      5 * GST_SECOND));
	go_on();
	EQUAL(finish(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	drop(pipeline);
	EQUAL(play_all(&seen, NULL), GST_MESSAGE_EOS);
	EQUAL(seen.first_pts, 0);
	CHECK(seen.count > 150 && seen.count <= 300);
}

static guint open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	guint count = 0;

	while (folder && readdir(folder))
		count++;
	closedir(folder);
	return count;
}

TEST(test_elements_are_used_again, "elements are used again")
{
	GstElement *ten = recorder(10, SIZE " force=true");
	struct seen seen;
	GstElement *player = play(&seen, "");
	guint files = 0;

	for (guint round = 0; round < 20; round++) {
		CHECK(run_once(ten));
		EQUAL(counter(ten, "records"), 12);
		memset(&seen, 0, sizeof(seen));
		CHECK(run_once(player));
		EQUAL(seen.count, 10);
		/* The first one has made what GStreamer keeps. */
		files = files ? files : open_files();
		EQUAL(open_files(), files);
	}
	drop(ten);
	drop(player);
}

TEST(test_nobody_goes_back, "muxers are told that nobody goes back")
{
	GstElement *pipeline = recorder(1, SIZE);
	GstElement *sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
	GstPad *pad = gst_element_get_static_pad(sink, "sink");
	GstQuery *query = gst_query_new_seeking(GST_FORMAT_BYTES);
	gboolean is_seekable = TRUE;

	EQUAL(change(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
	CHECK(gst_pad_query(pad, query));
	gst_query_parse_seeking(query, NULL, &is_seekable, NULL, NULL);
	CHECK(!is_seekable);
	gst_query_unref(query);
	gst_object_unref(pad);
	gst_object_unref(sink);
	drop(pipeline);
}

/* A program's child that was forked and does nothing; it ends by itself, for who waits. */
static pid_t fork_child(void)
{
	pid_t child = fork();

	if (!child) {
		alarm(20);
		_exit(pause());
	}
	return child;
}

TEST(test_an_end_beside_a_child, "an end while a child has all descriptors")
{
	GstElement *pipeline = recorder(10, SIZE);
	pid_t child;

	EQUAL(run(pipeline, NULL, NULL), GST_MESSAGE_EOS);
	child = fork_child();
	CHECK(child > 0);
	EQUAL(change(pipeline, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
	/* The end has not waited for that of the child. */
	EQUAL(waitpid(child, NULL, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	drop(pipeline);
}

static void finish_test(void)
{
	busy_us = 0;
	go_on();
	end();
}

TEST_MAIN(begin, finish_test)
