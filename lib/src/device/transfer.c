// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The rules of a transfer; kernel/front/transfer.c has the same. */
#include "device/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/param.h>

#define FLAGS                                                                  \
	(CHARIO_TRANSFER_POLL | CHARIO_TRANSFER_FUA | CHARIO_TRANSFER_NOWAIT | \
	 CHARIO_TRANSFER_PHYSICAL)

#define DEADLINE_MIN_NS 1000000ULL
#define DEADLINE_MAX_NS 3600000000000ULL

static bool has_bad_values(const struct chario_transfer *transfer)
{
	if (transfer->op > CHARIO_TRANSFER_FLUSH || (transfer->flags & ~FLAGS) ||
	    (transfer->reserved[0] | transfer->reserved[1]))
		return true;
	return transfer->deadline_ns &&
	       (transfer->deadline_ns < DEADLINE_MIN_NS || transfer->deadline_ns > DEADLINE_MAX_NS);
}

static int check_flush(const struct chario_transfer *transfer)
{
	bool has_range = transfer->buffer || transfer->buffer_offset || transfer->disk_offset ||
			 transfer->bytes;

	return has_range || (transfer->flags & CHARIO_TRANSFER_PHYSICAL) ? -EINVAL : 0;
}

static int check_range(const struct chario_transfer *transfer,
		       const struct chario_transfer_rules *rules)
{
	if (transfer->buffer_offset % rules->alignment_bytes ||
	    transfer->bytes % rules->block_bytes)
		return -EINVAL;
	if (transfer->bytes && transfer->disk_offset % rules->block_bytes)
		return -EINVAL;
	return transfer->flags & CHARIO_TRANSFER_PHYSICAL ? -EOPNOTSUPP : 0;
}

int chario_transfer_check(const struct chario_transfer *transfer,
			  const struct chario_transfer_rules *rules)
{
	int forbidden = transfer->op == CHARIO_TRANSFER_READ ? O_WRONLY : O_RDONLY;

	if (has_bad_values(transfer))
		return -EINVAL;
	if (rules->access == forbidden)
		return -EBADF;
	if (transfer->op == CHARIO_TRANSFER_FLUSH)
		return check_flush(transfer);
	return check_range(transfer, rules);
}

ssize_t chario_transfer_clip(const struct chario_transfer *transfer, uint64_t capacity_bytes)
{
	uint64_t bytes = transfer->bytes;

	if (!bytes)
		return 0;
	if (transfer->disk_offset >= capacity_bytes)
		return transfer->op == CHARIO_TRANSFER_WRITE ? -ENOSPC : 0;
	bytes = MIN(bytes, CHARIO_TRANSFER_MAX);
	bytes = MIN(bytes, capacity_bytes - transfer->disk_offset);
	return (ssize_t)bytes;
}
