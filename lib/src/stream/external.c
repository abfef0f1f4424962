// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Buffers of others: when the drive is done with them.
 *
 * A write from one that did not do all that it should may still be with the drive.
 * Where the recording goes on it is made again once the drive is done.  After an error
 * each call looks whether it is, and only the end of the stream waits for it.
 */
#include "stream/inner.h"

#include <errno.h>

#include "device/ops.h"

/*
 * By its number: who has freed the buffer after an error has waited for the drive, and
 * what has no number is idle.
 */
static struct chario_buffer name_buffer(const struct chario_stream *stream,
					const struct chario_external *external)
{
	return (struct chario_buffer){
		.device = stream->device,
		.id = external->transfer.buffer,
	};
}

static bool is_done(const struct chario_stream *stream, const struct chario_external *external)
{
	const struct chario_buffer buffer = name_buffer(stream, external);

	return !external->late || chario_buffer_is_idle(&buffer);
}

bool chario_stream_are_others_idle(struct chario_stream *stream)
{
	for (uint32_t i = 0; i < CHARIO_STREAM_EXTERNALS; i++) {
		if (!is_done(stream, &stream->externals[i]))
			return false;
		stream->externals[i].late = false;
	}
	return true;
}

void chario_stream_release(struct chario_stream *stream, struct chario_external *external)
{
	if (external->released)
		__atomic_store_n(external->released, 1, __ATOMIC_RELEASE);
	*external = (struct chario_external){ 0 };
	stream->nr_externals--;
}

void chario_stream_let_go(struct chario_stream *stream)
{
	bool some_late = false;

	for (uint32_t i = 0; i < CHARIO_STREAM_EXTERNALS; i++) {
		struct chario_external *external = &stream->externals[i];

		if (!external->late)
			continue;
		if (is_done(stream, external))
			chario_stream_release(stream, external);
		else
			some_late = true;
	}
	stream->timed_out = some_late;
	if (some_late)
		chario_stream_look_again(stream);
}

/* Also those of which a queue that is broken tells no more. */
void chario_stream_outlast(struct chario_stream *stream)
{
	for (uint32_t i = 0; i < CHARIO_STREAM_EXTERNALS; i++) {
		struct chario_external *external = &stream->externals[i];
		const struct chario_buffer buffer = name_buffer(stream, external);

		if (!external->used)
			continue;
		chario_buffer_outlast(&buffer, -ETIMEDOUT, 0);
		chario_stream_release(stream, external);
	}
}
