/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The back ends of the module.
 */
#ifndef CHARIO_BACK_H
#define CHARIO_BACK_H

/* back/loopback/disk.c */
int chario_loopback_init(void);
void chario_loopback_exit(void);

/* back/nvme/pci.c */
int chario_nvme_init(void);
void chario_nvme_exit(void);

#endif /* CHARIO_BACK_H */
