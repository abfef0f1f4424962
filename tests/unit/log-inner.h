/* SPDX-License-Identifier: MIT */
/*
 * What the files of the disk have of each other.
 */
#ifndef CHARIO_LOG_INNER_H
#define CHARIO_LOG_INNER_H

#include <stdlib.h>

#include "device/ops.h"
#include "device/transfer.h"
#include "log-device.h"

/**
 * struct log_file - an open device
 * @disk: that it is on
 * @rules: of its transfers
 */
struct log_file {
	struct log_disk *disk;
	struct chario_transfer_rules rules;
};

/* Without memory there is no test. */
static inline void *log_must(void *memory)
{
	if (!memory)
		abort();
	return memory;
}

/* Memory of the buffers of a device, and the end of all that a disk has kept. */
int log_buffer_create(struct chario_buffer *buffer, struct chario_buffer_create *wanted);
int log_buffer_free(struct chario_buffer *buffer);
int log_buffer_sync(const struct chario_buffer *buffer, struct chario_buffer_sync *sync);
void log_spare_free(struct log_disk *disk);

/* Whether a transfer of a kind fails.  The caller holds the mutex. */
bool log_fails_locked(struct log_disk *disk, struct log_fault *fault);

/* The error that a use of a device ends with, or 0. */
int log_use(const struct chario_device *device);

/* Whether bytes that are read have a bad place; those that are written have none then. */
bool log_is_bad_locked(const struct log_disk *disk, uint64_t offset, size_t bytes);
void log_renew_locked(struct log_disk *disk, uint64_t offset, size_t bytes);

/* What a write that fails leaves on the disk.  The caller holds the mutex. */
void log_leave_locked(struct log_disk *disk, uint64_t offset, const unsigned char *data,
		      size_t bytes);

/* Wait until a write to this place may go on.  The caller holds the mutex. */
void log_wait_locked(struct log_disk *disk, uint64_t offset);

/* Let others pass, if it is this one's turn to be slow.  The caller holds the mutex. */
void log_dawdle_locked(struct log_disk *disk);

#endif /* CHARIO_LOG_INNER_H */
