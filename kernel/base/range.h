/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Module parameters that are numbers in a range: see range.c.
 */
#ifndef CHARIO_BASE_RANGE_H
#define CHARIO_BASE_RANGE_H

#include <linux/moduleparam.h>

/**
 * struct chario_range - a module parameter that is a number
 * @value: variable that holds the number
 * @min: smallest value
 * @max: largest value
 */
struct chario_range {
	int *value;
	int min;
	int max;
};

extern const struct kernel_param_ops chario_range_ops;

/* Define a parameter that is kept in an int of this name, which has its default. */
#define chario_range_param(name, min, max, mode) \
	chario_range_param_named(name, name, min, max, mode)

/* Define a parameter that is kept in an int of another name. */
#define chario_range_param_named(name, variable, min, max, mode)	\
	static struct chario_range name##_range = { &(variable), min, max };\
	module_param_cb(name, &chario_range_ops, &name##_range, mode);	\
	__MODULE_PARM_TYPE(name, "int")

#endif /* CHARIO_BASE_RANGE_H */
