// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <time.h>

#include "log-inner.h"

#define PATIENCE_NS 1000000
#define SECOND_NS   1000000000

void log_disk_heal(struct log_disk *disk)
{
	disk->faults = (struct log_faults){ .error = -EIO };
}

/* Whether transfers of a kind have come to one that fails. */
static bool is_met(struct log_fault *fault)
{
	if (!fault->times)
		return false;
	if (fault->after) {
		fault->after--;
		return false;
	}
	if (fault->times != LOG_FOR_EVER)
		fault->times--;
	return true;
}

bool log_fails_locked(struct log_disk *disk, struct log_fault *fault)
{
	struct log_faults *faults = &disk->faults;

	if (faults->one_in && !log_below(&faults->random, faults->one_in))
		return true;
	return is_met(fault);
}

int log_use(const struct chario_device *device)
{
	const struct log_file *file = device->data;
	struct log_disk *disk = file->disk;
	int err = 0;

	pthread_mutex_lock(&disk->mutex);
	if (is_met(&disk->faults.use)) {
		disk->nr_failed++;
		err = disk->faults.error;
	}
	pthread_mutex_unlock(&disk->mutex);
	return err;
}

static bool overlaps(const struct log_place *place, uint64_t offset, size_t bytes)
{
	return place->offset < offset + bytes && offset < place->offset + place->bytes;
}

bool log_is_bad_locked(const struct log_disk *disk, uint64_t offset, size_t bytes)
{
	for (size_t i = 0; i < LOG_BAD_PLACES; i++)
		if (overlaps(&disk->faults.bad[i], offset, bytes))
			return true;
	return false;
}

void log_renew_locked(struct log_disk *disk, uint64_t offset, size_t bytes)
{
	for (size_t i = 0; i < LOG_BAD_PLACES; i++)
		if (overlaps(&disk->faults.bad[i], offset, bytes))
			disk->faults.bad[i].bytes = 0;
}

/* Whether a write changes a block; if so, and there are still some to go, it does. */
static bool change_block(const struct log_disk *disk, uint64_t offset, const unsigned char *data,
			 size_t *to_go)
{
	unsigned char *block = disk->image + offset;
	bool changes = memcmp(block, data, disk->block_bytes);

	if (changes && *to_go) {
		memcpy(block, data, disk->block_bytes);
		--*to_go;
	}
	return changes;
}

/* How many blocks a write changes; @most of them it does. */
static size_t change_blocks(const struct log_disk *disk, uint64_t offset, const unsigned char *data,
			    size_t bytes, size_t most)
{
	size_t count = 0;

	for (size_t at = 0; at < bytes; at += disk->block_bytes)
		count += change_block(disk, offset + at, data + at, &most);
	return count;
}

void log_leave_locked(struct log_disk *disk, uint64_t offset, const unsigned char *data,
		      size_t bytes)
{
	if (disk->faults.reach == LOG_REACH_ALL)
		memcpy(disk->image + offset, data, bytes);
	else if (disk->faults.reach == LOG_REACH_PART)
		change_blocks(disk, offset, data, bytes,
			      change_blocks(disk, offset, data, bytes, 0) / 2);
}

/* holding writes back */

static bool is_held(const struct log_disk *disk, uint64_t offset)
{
	return offset >= disk->hold_from && offset < disk->hold_to;
}

void log_wait_locked(struct log_disk *disk, uint64_t offset)
{
	if (!is_held(disk, offset))
		return;
	disk->nr_held++;
	pthread_cond_broadcast(&disk->changed);
	while (is_held(disk, offset))
		pthread_cond_wait(&disk->changed, &disk->mutex);
	disk->nr_held--;
}

/* Others may not come: then there is nobody to let pass. */
void log_dawdle_locked(struct log_disk *disk)
{
	struct timespec end;
	size_t until = disk->nr_entries + 2;

	if (!disk->slow_one_in || log_below(&disk->slow_random, disk->slow_one_in))
		return;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_nsec += PATIENCE_NS;
	end.tv_sec += end.tv_nsec / SECOND_NS;
	end.tv_nsec %= SECOND_NS;
	while (disk->nr_entries < until &&
	       !pthread_cond_timedwait(&disk->changed, &disk->mutex, &end))
		;
}

void log_disk_hold(struct log_disk *disk, uint64_t from, uint64_t to)
{
	pthread_mutex_lock(&disk->mutex);
	disk->hold_from = from;
	disk->hold_to = to;
	pthread_cond_broadcast(&disk->changed);
	pthread_mutex_unlock(&disk->mutex);
}

void log_disk_wait_held(struct log_disk *disk, unsigned int held)
{
	pthread_mutex_lock(&disk->mutex);
	while (disk->nr_held < held)
		pthread_cond_wait(&disk->changed, &disk->mutex);
	pthread_mutex_unlock(&disk->mutex);
}
