// SPDX-License-Identifier: GPL-2.0-only
/*
 * The log of error statuses.
 *
 * Completions are reaped under a raw lock with interrupts off, and a line on a serial
 * console takes milliseconds.  So the hot path only notes a failure, and a worker
 * writes it to the log.
 */
#include "nvme.h"

static const char *const op_names[CHARIO_NR_OPS] = {
	[CHARIO_OP_READ] = "read",
	[CHARIO_OP_WRITE] = "write",
	[CHARIO_OP_FLUSH] = "flush",
	[CHARIO_OP_DISCARD] = "discard",
	[CHARIO_OP_WRITE_ZEROES] = "write zeroes",
};

/*
 * Takes the oldest failure that has not been logged.  @lost: number of failures for
 * which there was no room.
 */
static bool report_take(struct chario_nvme_reports *reports,
			struct chario_nvme_failure *failure, unsigned int *lost)
{
	unsigned long flags;
	bool taken;

	raw_spin_lock_irqsave(&reports->lock, flags);
	taken = reports->head != reports->tail;
	if (taken)
		*failure = reports->ring[reports->head++ % CHARIO_NVME_REPORTS];
	*lost = reports->lost;
	reports->lost = 0;
	raw_spin_unlock_irqrestore(&reports->lock, flags);
	return taken;
}

static void write_out(struct work_struct *work)
{
	struct chario_nvme_reports *reports =
		container_of(work, struct chario_nvme_reports, work);
	struct chario_nvme *ctrl = container_of(reports, struct chario_nvme,
						reports);
	struct device *dev = &ctrl->pdev->dev;
	struct chario_nvme_failure f;
	unsigned int lost;

	while (report_take(reports, &f, &lost)) {
		dev_err_ratelimited(dev,
				    "chardisk%d: %s at byte %llu, %u bytes: status 0x%03x, %s\n",
				    f.disk, op_names[f.op], f.offset, f.bytes,
				    f.status,
				    chario_nvme_status_text(f.status));
		if (lost)
			dev_err_ratelimited(dev, "%u more failed commands\n",
					    lost);
	}
}

/**
 * chario_nvme_report_init() - initialize the reports
 * @ctrl: the controller
 */
void chario_nvme_report_init(struct chario_nvme *ctrl)
{
	raw_spin_lock_init(&ctrl->reports.lock);
	INIT_WORK(&ctrl->reports.work, write_out);
}

/**
 * chario_nvme_report() - log an error status of the drive
 * @ctrl: the controller
 * @cmd: command that has failed
 * @status: status field of the completion, without phase bit
 *
 * Context: any; does not wait for the log.
 */
void chario_nvme_report(struct chario_nvme *ctrl,
			const struct chario_command *cmd, u16 status)
{
	struct chario_nvme_reports *reports = &ctrl->reports;
	unsigned long flags;

	raw_spin_lock_irqsave(&reports->lock, flags);
	if (reports->tail - reports->head < CHARIO_NVME_REPORTS) {
		struct chario_nvme_failure *failure;

		failure = &reports->ring[reports->tail++ % CHARIO_NVME_REPORTS];
		failure->disk = cmd->req->disk->index;
		failure->op = cmd->req->op;
		failure->status = status & 0x7ff;
		failure->offset = cmd->disk_offset;
		failure->bytes = cmd->bytes;
	} else {
		reports->lost++;
	}
	raw_spin_unlock_irqrestore(&reports->lock, flags);
	schedule_work(&reports->work);
}

/**
 * chario_nvme_report_stop() - wait until all failures have been logged
 * @ctrl: a controller without commands in flight
 */
void chario_nvme_report_stop(struct chario_nvme *ctrl)
{
	flush_work(&ctrl->reports.work);
}
