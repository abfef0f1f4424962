/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Controller memory: memory inside a drive that can hold data of transfers.
 */
#ifndef CHARIO_MEMORY_CMB_H
#define CHARIO_MEMORY_CMB_H

#include <linux/types.h>

struct chario_cmb;
struct device;

struct chario_cmb *chario_cmb_create(const struct device *dev,
				     phys_addr_t start, u64 bus, u64 bytes);
void chario_cmb_revoke(struct chario_cmb *cmb);
void chario_cmb_put(struct chario_cmb *cmb);

#endif /* CHARIO_MEMORY_CMB_H */
