// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The servant of a recording.
 */
#include "servant.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/**
 * struct chario_gst_servant - a thread
 * @stream: stream that it serves
 * @thread: the thread
 * @wake: eventfd descriptor, whose first event ends the thread
 */
struct chario_gst_servant {
	struct chario_stream *stream;
	GThread *thread;
	int wake;
};

/* An error ends the thread; the next buffer gets the same error and reports it. */
static gpointer serve(gpointer data)
{
	struct chario_gst_servant *servant = data;
	struct pollfd polled[] = {
		{ .fd = servant->wake, .events = POLLIN },
		{ .fd = chario_stream_fd(servant->stream), .events = POLLIN },
	};
	int err = 0;

	while (!err) {
		if (poll(polled, G_N_ELEMENTS(polled), -1) < 0 && errno != EINTR)
			break;
		if (polled[0].revents)
			break;
		err = chario_stream_service(servant->stream);
	}
	return NULL;
}

struct chario_gst_servant *chario_gst_servant_create(struct chario_stream *stream)
{
	struct chario_gst_servant *servant = g_new0(struct chario_gst_servant, 1);

	servant->stream = stream;
	servant->wake = eventfd(0, EFD_CLOEXEC);
	if (servant->wake < 0) {
		g_free(servant);
		return NULL;
	}
	servant->thread = g_thread_try_new("chariosink", serve, servant, NULL);
	if (servant->thread)
		return servant;
	close(servant->wake);
	g_free(servant);
	return NULL;
}

void chario_gst_servant_destroy(struct chario_gst_servant *servant)
{
	if (!servant)
		return;
	/* A child of fork() has the descriptor too, so closing it would wake nobody. */
	eventfd_write(servant->wake, 1);
	g_thread_join(servant->thread);
	close(servant->wake);
	g_free(servant);
}
