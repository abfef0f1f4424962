// SPDX-License-Identifier: GPL-2.0-only
/*
 * Module parameters that are numbers in a range.
 *
 * A value outside the range is refused, and the log names the range: the module is
 * not loaded with another value than the one requested, and a parameter that can be
 * written at run time stays as it is.
 */
#include <linux/kernel.h>

#include "base/range.h"

static int set(const char *text, const struct kernel_param *param)
{
	const struct chario_range *range = param->arg;
	int value;

	if (kstrtoint(text, 0, &value) || value < range->min ||
	    value > range->max) {
		pr_err("chario: parameter %s takes a number from %d to %d\n",
		       param->name, range->min, range->max);
		return -EINVAL;
	}
	WRITE_ONCE(*range->value, value);
	return 0;
}

static int get(char *text, const struct kernel_param *param)
{
	const struct chario_range *range = param->arg;

	return sysfs_emit(text, "%d\n", *range->value);
}

const struct kernel_param_ops chario_range_ops = {
	.set	= set,
	.get	= get,
};
