// SPDX-License-Identifier: GPL-2.0-only
/*
 * The errnos of status codes, which are converted here and nowhere else (3.3.3.2.1; NVM
 * Command Set specification 3.1).
 *
 * Users can distinguish these cases: the medium has failed (EIO), the drive does not
 * allow the call (EOPNOTSUPP, ENXIO, EROFS, EACCES, EBADE, ENOSPC), the drive cannot do
 * it now (EBUSY), and the command was aborted (ECANCELED).
 */
#include "nvme.h"

struct meaning {
	u16 status;
	int error;
	const char *text;
};

static const struct meaning meanings[] = {
	{ NVME_SC_INVALID_OPCODE, -EOPNOTSUPP, "invalid opcode" },
	{ NVME_SC_INVALID_FIELD, -EOPNOTSUPP, "invalid field" },
	{ NVME_SC_DATA_XFER_ERROR, -EIO, "data transfer error" },
	{ NVME_SC_POWER_LOSS, -ECANCELED, "aborted by power loss" },
	{ NVME_SC_INTERNAL, -EIO, "internal error" },
	{ NVME_SC_ABORT_REQ, -ECANCELED, "aborted by request" },
	{ NVME_SC_ABORT_QUEUE, -ECANCELED, "aborted, queue deleted" },
	{ NVME_SC_INVALID_NS, -EOPNOTSUPP, "invalid namespace" },
	{ NVME_SC_OP_DENIED, -EACCES, "operation denied" },
	{ NVME_SC_SANITIZE_FAILED, -EIO, "sanitize failed" },
	{ NVME_SC_SANITIZE_IN_PROGRESS, -EBUSY, "sanitize in progress" },
	{ NVME_SC_NS_WRITE_PROTECTED, -EROFS, "namespace write protected" },
	{ NVME_SC_CMD_INTERRUPTED, -EBUSY, "command interrupted" },
	{ NVME_SC_TRANSIENT_TR_ERR, -EBUSY, "transient transport error" },
	{ NVME_SC_LBA_RANGE, -ENXIO, "block out of range" },
	{ NVME_SC_CAP_EXCEEDED, -ENOSPC, "capacity exceeded" },
	{ NVME_SC_NS_NOT_READY, -EBUSY, "namespace not ready" },
	{ NVME_SC_RESERVATION_CONFLICT, -EBADE, "reservation conflict" },
	{ NVME_SC_FORMAT_IN_PROGRESS, -EBUSY, "format in progress" },
	{ NVME_SC_BAD_ATTRIBUTES, -EOPNOTSUPP, "conflicting attributes" },
	{ NVME_SC_READ_ONLY, -EROFS, "write to a read-only range" },
	{ NVME_SC_WRITE_FAULT, -EIO, "write fault" },
	{ NVME_SC_READ_ERROR, -EIO, "unrecovered read error" },
	{ NVME_SC_GUARD_CHECK, -EIO, "guard check failed" },
	{ NVME_SC_ACCESS_DENIED, -EACCES, "access denied" },
	{ NVME_SC_UNWRITTEN_BLOCK, -EIO, "deallocated or unwritten block" },
};

/* Finds a status by its type and code, bits 10:0 of the field without phase bit. */
static const struct meaning *status_find(u16 status)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(meanings); i++)
		if (meanings[i].status == (status & 0x7ff))
			return &meanings[i];
	return NULL;
}

/**
 * chario_nvme_status_errno() - convert a status to an errno
 * @status: status field of a completion, without phase bit
 *
 * Return: 0 or -errno; EIO for a status that is not in the table.
 */
int chario_nvme_status_errno(u16 status)
{
	const struct meaning *meaning;

	if (likely(!(status & 0x7ff)))
		return 0;
	meaning = status_find(status);
	return meaning ? meaning->error : -EIO;
}

/**
 * chario_nvme_status_text() - convert a status to a text for the log
 * @status: status field of a completion, without phase bit
 */
const char *chario_nvme_status_text(u16 status)
{
	const struct meaning *meaning = status_find(status);

	return meaning ? meaning->text : "see the NVMe specification";
}
