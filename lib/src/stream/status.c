// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The status of a stream. */
#include "stream/inner.h"

#include <errno.h>
#include <stddef.h>

#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define STATUS_MIN sizeof(struct chario_stream_status)

/* Set the members that are not counted as they change. */
static void compute(struct chario_stream *stream, struct chario_stream_status *status)
{
	static const unsigned int per_mille[] = { 500, 990, 999 };

	status->size = sizeof(*status);
	status->durable_records = stream->durable.records;
	status->durable_bytes = stream->durable.position;
	status->capacity_bytes = stream->tape.slots * stream->tape.segment_bytes;
	status->segments = stream->next_segment;
	status->segment_bytes = stream->options.segment_bytes;
	status->nr_buffers = stream->options.nr_buffers;
	status->free_buffers = chario_stream_free_buffers(stream);
	status->in_flight = (uint32_t)(stream->next - stream->head);
	for (int i = 0; i < 3; i++)
		status->segment_ns[i] = chario_histogram_quantile(&stream->histogram, per_mille[i]);
}

int chario_stream_get_status(struct chario_stream *stream, struct chario_stream_status *status,
			     size_t size)
{
	if (!chario_pool_is_ours(&stream->pool))
		return -EPERM;
	CHARIO_LOCK(&stream->lock);
	chario_stream_tick(stream);
	chario_stream_pump(stream);
	compute(stream, &stream->status);
	return chario_sys_give(status, size, &stream->status, sizeof(*status), STATUS_MIN);
}
