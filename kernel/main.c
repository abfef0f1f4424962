// SPDX-License-Identifier: GPL-2.0-only
/*
 * CharIO: an NVMe SSD as a character device.
 */
#include <linux/module.h>

#include "back/back.h"
#include "core/device.h"

static int __init chario_init(void)
{
	int ret;

	ret = chario_device_class_init();
	if (ret)
		return ret;
	ret = chario_loopback_init();
	if (ret)
		goto err_class;
	ret = chario_nvme_init();
	if (ret)
		goto err_loopback;
	return 0;

err_loopback:
	chario_loopback_exit();
err_class:
	chario_device_class_exit();
	return ret;
}

static void __exit chario_exit(void)
{
	chario_nvme_exit();
	chario_loopback_exit();
	chario_device_class_exit();
}

module_init(chario_init);
module_exit(chario_exit);

MODULE_DESCRIPTION("CharIO: an NVMe SSD as a character device");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
