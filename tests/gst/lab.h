/* SPDX-License-Identifier: MIT */
/*
 * Pipelines of the plugin that was built, on a store in a file.
 */
#ifndef CHARIO_GST_LAB_H
#define CHARIO_GST_LAB_H

#include <gst/gst.h>

#define MIB   (1ULL << 20)
#define SIZE  "size=33554432"
#define RAW   "video/x-raw,format=I420,width=160,height=120,framerate=30/1"
#define FRAME (160 * 120 * 3 / 2)

/* The store of a test. */
extern char image[];

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

/* A pipeline, as gst-launch-1.0 reads it. */
GstElement *make(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* The end of a pipeline. */
void drop(GstElement *pipeline);

/* The type of the message that ended it; counts messages of elements and warnings. */
GstMessageType finish(GstElement *pipeline, guint *told, guint *warned);

/* The same for a pipeline that is to be started. */
GstMessageType run(GstElement *pipeline, guint *told, guint *warned);

/* Change the state, and wait until that is done. */
GstStateChangeReturn change(GstElement *pipeline, GstState state);

/* Play to the end of the stream, then go to NULL.  Returns FALSE after an error. */
gboolean run_once(GstElement *pipeline);

/* A pipeline that records so many pictures with the element "sink"; -1 for no end of them. */
GstElement *recorder(int pictures, const char *settings);

/* A recording of so many pictures; its end is that of the pipeline. */
GstMessageType record(guint frames, const char *encoder, const char *settings);

/* A pipeline that gives a recording back to @seen. */
GstElement *play(struct seen *seen, const char *settings);

/* The end of a pipeline that gives all of a recording back; counts warnings. */
GstMessageType play_all(struct seen *seen, guint *warned);

/* Returns the number of pictures in the area "a", or G_MAXUINT if they cannot be played. */
guint count_pictures(void);

/* A counter of the element "sink". */
guint64 counter(GstElement *pipeline, const char *name);

/* An empty store before each test, and its end. */
void begin(void);
void end(void);

#endif /* CHARIO_GST_LAB_H */
