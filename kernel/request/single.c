// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call of one command whose memory is not present at first.
 */
#include <linux/jiffies.h>

#include "request/single.h"

/**
 * chario_single_run_late() - run chario_single_run() on memory that is not present
 * @call: the call
 * @addr: address in user space
 * @bytes: length in bytes
 *
 * Return: as chario_run().
 */
ssize_t chario_single_run_late(const struct chario_call *call,
			       unsigned long addr, u32 bytes)
{
	struct iov_iter iter;
	ssize_t ret;

	iov_iter_ubuf(&iter, call->op == CHARIO_OP_READ ? ITER_DEST :
		      ITER_SOURCE, (void __user *)addr, bytes);
	do {
		ret = chario_flight_fault_in(call, &iter, bytes, bytes);
		if (ret)
			return ret;
		ret = chario_single_run(call, addr, bytes);
	} while (ret == -EFAULT);
	return ret;
}
