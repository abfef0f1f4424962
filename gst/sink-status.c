// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The status of the recording of a chariosink. */
#include "sink.h"

#define TELL_US G_USEC_PER_SEC

void chario_sink_keep_status(ChariOSink *sink)
{
	g_mutex_lock(&sink->lock);
	chario_stream_get_status(sink->stream, &sink->last, sizeof(sink->last));
	sink->stream = NULL;
	g_mutex_unlock(&sink->lock);
}

void chario_sink_get_status(ChariOSink *sink, struct chario_stream_status *status)
{
	g_mutex_lock(&sink->lock);
	if (sink->stream)
		chario_stream_get_status(sink->stream, &sink->last, sizeof(sink->last));
	*status = sink->last;
	g_mutex_unlock(&sink->lock);
}

void chario_sink_tell(ChariOSink *sink, gboolean now)
{
	struct chario_stream_status status;
	gint64 time_us = g_get_monotonic_time();

	chario_sink_get_status(sink, &status);
	if (status.late == sink->told_late && status.lost_records == sink->told_lost)
		return;
	if (!now && sink->told_us && time_us - sink->told_us < TELL_US)
		return;
	sink->told_us = time_us;
	sink->told_late = status.late;
	sink->told_lost = status.lost_records;
	gst_element_post_message(
		GST_ELEMENT(sink),
		gst_message_new_element(GST_OBJECT(sink),
					gst_structure_new("chario-trouble", "late", G_TYPE_UINT64,
							  status.late, "longest-ns", G_TYPE_UINT64,
							  status.longest_ns, "lost", G_TYPE_UINT64,
							  status.lost_records, "lost-bytes",
							  G_TYPE_UINT64, status.lost_bytes, NULL)));
}
