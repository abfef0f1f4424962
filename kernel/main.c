// SPDX-License-Identifier: GPL-2.0-only
/*
 * CharIO: an NVMe SSD as a character device.
 */
#include <linux/module.h>

#include "back/back.h"
#include "base/workers.h"
#include "disk/disk.h"
#include "front/block/block.h"
#include "front/front.h"
#include "memory/buffer.h"

static const struct chario_disk_face face = {
	.fops			= &chario_char_fops,
	.groups			= chario_sysfs_groups,
	.groups_with_health	= chario_sysfs_groups_with_health,
	.enable_block		= chario_block_enable,
	.disable_block		= chario_block_disable,
	.remove_block		= chario_block_remove,
	.follow_claims		= chario_claims_follow,
};

static int __init chario_init(void)
{
	int ret;

	ret = chario_window_open_all();
	if (ret)
		return ret;
	ret = chario_disk_class_init(&face);
	if (ret)
		goto err_window;
	ret = chario_workers_init();
	if (ret)
		goto err_class;
	ret = chario_loopback_init();
	if (ret)
		goto err_workers;
	ret = chario_nvme_init();
	if (ret)
		goto err_loopback;
	return 0;

err_loopback:
	chario_loopback_exit();
err_workers:
	chario_workers_exit();
err_class:
	chario_disk_class_exit();
err_window:
	chario_window_close_all();
	return ret;
}

static void __exit chario_exit(void)
{
	chario_nvme_exit();
	chario_loopback_exit();
	chario_workers_exit();
	chario_disk_class_exit();
	/* Workers have released the last buffers by now. */
	chario_window_close_all();
}

module_init(chario_init);
module_exit(chario_exit);

MODULE_DESCRIPTION("CharIO: an NVMe SSD as a character device");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
