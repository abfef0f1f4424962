// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The status of a stream. */
#include "stream/inner.h"

#include <stddef.h>

#include "system/sys.h"

/* Size in bytes of the first version of the struct. */
#define STATUS_MIN sizeof(struct chario_stream_status)

static void fill(struct chario_stream *stream, struct chario_stream_status *status)
{
	const struct chario_histogram *histogram = &stream->histogram;

	*status = (struct chario_stream_status){
		.size = sizeof(*status),
		.durability = stream->durability,
		.records = stream->records,
		.bytes = stream->bytes,
		.durable_records = stream->durable.records,
		.durable_bytes = stream->durable.position,
		.capacity_bytes = stream->tape.slots * stream->tape.segment_bytes,
		.segments = stream->next_segment,
		.segment_bytes = stream->options.segment_bytes,
		.nr_buffers = stream->options.nr_buffers,
		.free_buffers = chario_stream_free_buffers(stream),
		.least_free_buffers = stream->least_free,
		.in_flight = (uint32_t)(stream->next - stream->head),
		.late = stream->late,
		.late_ns = stream->late_ns,
		.longest_ns = stream->longest_ns,
		.waits = stream->waits,
		.wait_ns = stream->wait_ns,
		.lost_records = stream->lost_records,
		.lost_bytes = stream->lost_bytes,
		.retries = stream->retries,
		.flushes = stream->flushes,
		.segment_ns = {
			chario_histogram_quantile(histogram, 500),
			chario_histogram_quantile(histogram, 990),
			chario_histogram_quantile(histogram, 999),
		},
	};
}

int chario_stream_get_status(struct chario_stream *stream, struct chario_stream_status *status,
			     size_t size)
{
	struct chario_stream_status now;
	int err = chario_pool_check(&stream->pool);

	if (err)
		return err;
	pthread_mutex_lock(&stream->lock);
	chario_stream_tick(stream);
	chario_stream_pump(stream);
	fill(stream, &now);
	pthread_mutex_unlock(&stream->lock);
	return chario_sys_give(status, size, &now, sizeof(now), STATUS_MIN);
}
