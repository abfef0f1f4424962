/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The features of the running kernel, found by trying them. */
#ifndef CHARIO_KERNEL_H
#define CHARIO_KERNEL_H

#include <stdint.h>

/* Returns CHARIO_PROBE_* bits.  A feature that cannot be tried counts as missing. */
uint64_t chario_kernel_features(void);

#endif /* CHARIO_KERNEL_H */
