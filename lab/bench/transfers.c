// SPDX-License-Identifier: MIT
/*
 * Calls by CharIO's transfers, and on files with properties of CharIO, through the library,
 * as a program makes them.
 */
#include <chario/timeline.h>

#include "bench.h"

#define RECORDS 1024 /* of a ring of the timeline */

ssize_t call_transfer(struct bench *b, off_t offset)
{
	b->transfer.disk_offset = (uint64_t)offset;
	return chario_transfer(b->device, &b->transfer, sizeof(b->transfer));
}

void open_for_transfer(struct bench *b)
{
	must(chario_device_open(b->path, b->writes ? O_RDWR : O_RDONLY, &b->device), b->path);
	b->fd = chario_device_fd(b->device);
}

void use_buffer(struct bench *b, const struct chario_buffer *buffer)
{
	b->transfer = (struct chario_transfer){
		.size = sizeof(b->transfer),
		.op = b->writes ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ,
		.flags = b->writes && b->durable ? CHARIO_TRANSFER_FUA : 0,
		.buffer = chario_buffer_id(buffer),
		.bytes = b->bytes,
	};
}

void set_up_transfer(struct bench *b)
{
	struct chario_buffer *buffer;

	open_for_transfer(b);
	must(chario_buffer_register(b->device, b->buffer, b->bytes, 0, &buffer),
	     "chario_buffer_register");
	use_buffer(b, buffer);
}

/* Block requests stand back for its calls. */
void set_up_urgent(struct bench *b)
{
	open_for_transfer(b);
	must(chario_device_set_urgent(b->device, 1), "chario_device_set_urgent");
}

/* Every stage is recorded as long as the program runs. */
void set_up_timeline(struct bench *b)
{
	const struct chario_timeline_open options = { .records = RECORDS };
	struct chario_timeline *timeline;

	if (!b->device)
		must(chario_device_open(b->path, O_RDONLY, &b->device), b->path);
	must(chario_timeline_open(b->device, &options, sizeof(options), &timeline),
	     "chario_timeline_open");
}

void set_up_transfer_timeline(struct bench *b)
{
	set_up_transfer(b);
	set_up_timeline(b);
}
