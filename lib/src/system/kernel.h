/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The running kernel: what it can do, found out by trying.
 */
#ifndef CHARIO_KERNEL_H
#define CHARIO_KERNEL_H

#include <stdint.h>

/* CHARIO_PROBE_* bits.  What cannot be tried counts as not there. */
uint64_t chario_kernel_features(void);

#endif /* CHARIO_KERNEL_H */
