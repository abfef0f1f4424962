/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The places of the PCI bus and of the module in sysfs. */
#ifndef CHARIO_PCI_H
#define CHARIO_PCI_H

#include <stddef.h>

#define CHARIO_PCI_DEVICES "/sys/bus/pci/devices"
#define CHARIO_PCI_DRIVERS "/sys/bus/pci/drivers"
#define CHARIO_PCI_DRIVER  "chario"
#define CHARIO_MODULE      "/sys/module/chario"

/*
 * Find the address of the PCI device that a folder of sysfs belongs to.  Returns 0; or -ENODEV
 * if there is no such folder, -ENOTTY if it belongs to none, and the address is empty.
 */
int chario_pci_address_of(char *address, size_t size, const char *folder);

/* Find the name of the driver that has a PCI device; an empty text if there is none. */
void chario_pci_driver_of(char *driver, size_t size, const char *address);

#endif /* CHARIO_PCI_H */
