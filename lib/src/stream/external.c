// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The caller's own buffers: waiting until the drive is done with them.
 *
 * A write that moved fewer bytes than asked may still be with the drive.  If the recording
 * goes on, the write is repeated once the drive is done.  After an error each call only
 * checks if the drive is done, and only the end of the stream waits for it.
 */
#include "stream/inner.h"

#include <errno.h>

#include "device/ops.h"

/*
 * The buffer is named by its number: its owner may have freed it after an error.  The owner
 * has then waited for the drive, and a number without a buffer counts as idle.
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

/* Release also the buffers of transfers whose completion a broken queue never reports. */
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
