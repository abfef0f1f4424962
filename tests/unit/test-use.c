// SPDX-License-Identifier: MIT
/*
 * Every way in which a drive can be in use is found and named.
 */
#include <chario/use.h>

#include "fake.h"
#include "tap.h"

static char found[4096];

/* One use a line: "kind device what". */
static int note(const struct chario_use *use, void *data)
{
	size_t length = strlen(found);

	snprintf(found + length, sizeof(found) - length, "%d %s %s\n", use->kind, use->device,
		 use->what);
	return 0;
}

static int find_uses(const char *address)
{
	struct chario_drive drive;
	int err = chario_drive_find(address, &drive, sizeof(drive));

	found[0] = '\0';
	return err ? err : chario_use_each(&drive, note, NULL);
}

/* Claim that the uses of a drive are these and no others. */
#define USES(address, text)                   \
	do {                                  \
		EQUAL(find_uses(address), 0); \
		SAME_TEXT(found, text);       \
	} while (0)

/* A test of the uses of the usual drive, on a machine that the calls behind them have changed. */
#define USED(function, claim, text, ...)  \
	TEST(function, claim)             \
	{                                 \
		__VA_ARGS__;              \
		USES(FAKE_ADDRESS, text); \
	}

USED(test_unused, "a drive that nothing uses", "",
     fake_mount("8:1", "/", "ext4", "/dev/sda1", "rw"))

USED(test_namespace_mounted, "a mounted namespace", "1 nvme0n1 /data\n",
     fake_mount("259:0", "/data", "xfs", "/dev/nvme0n1", "rw"))

USED(test_partition_mounted_twice, "a partition at two mount points, one with a blank",
     "1 nvme0n1p2 /data\n1 nvme0n1p2 /srv/with blank\n",
     fake_mount("259:2", "/data", "ext4", "/dev/nvme0n1p2", "rw"),
     fake_mount("259:2", "/srv/with\\040blank", "ext4", "/dev/nvme0n1p2", "rw"))

USED(test_root_comes_first, "the root file system is told first",
     "0 nvme0n1p2 /\n1 nvme0n1p1 /boot\n",
     fake_mount("259:1", "/boot", "vfat", "/dev/nvme0n1p1", "rw"),
     fake_mount("259:2", "/", "ext4", "/dev/root", "rw"))

USED(test_btrfs_source, "a btrfs, by its source", "1 nvme0n1p1 /data\n",
     fake_mount("0:33", "/data", "btrfs", "/dev/nvme0n1p1", "rw,subvol=/"))

USED(test_btrfs_second_device, "a btrfs whose other device is its source", "1 nvme0n1p2 /data\n",
     fake_file("", "/sys/fs/btrfs/1234/devices/sda1"),
     fake_file("", "/sys/fs/btrfs/1234/devices/nvme0n1p2"),
     fake_mount("0:33", "/data", "btrfs", "/dev/sda1", "rw"))

USED(test_btrfs_of_others, "a btrfs on other drives is no use", "",
     fake_file("", "/sys/fs/btrfs/1234/devices/sda1"),
     fake_file("", "/sys/fs/btrfs/1234/devices/sdb1"),
     fake_mount("0:33", "/data", "btrfs", "/dev/sda1", "rw"))

USED(test_overlay_root, "an overlay as root with a layer on the drive",
     "0 nvme0n1p1 /\n1 nvme0n1p1 /run/lower\n",
     fake_mount("259:1", "/run/lower", "ext4", "/dev/nvme0n1p1", "ro"),
     fake_mount("0:40", "/", "overlay", "overlay",
		"rw,lowerdir=/lib/x:/run/lower/a,upperdir=/tmp/u,workdir=/tmp/w"))

USED(test_overlay_with_blank, "an overlay with a layer whose path has a blank",
     "1 nvme0n1p1 /mnt/with blank\n1 nvme0n1p1 /data\n",
     fake_mount("259:1", "/mnt/with\\040blank", "ext4", "/dev/nvme0n1p1", "ro"),
     fake_mount("0:40", "/data", "overlay", "overlay", "ro,lowerdir=/mnt/with\\040blank/a:/b"))

USED(test_overlay_elsewhere, "an overlay on a folder of a similar name is no use",
     "1 nvme0n1p1 /run/lower\n", fake_mount("259:1", "/run/lower", "ext4", "/dev/nvme0n1p1", "ro"),
     fake_mount("0:40", "/data", "overlay", "overlay", "rw,lowerdir=/run/lower2,upperdir=/tmp/u"))

USED(test_overlay_on_root, "overlays on the root file system are not told one by one",
     "0 nvme0n1p1 /\n", fake_mount("259:1", "/", "ext4", "/dev/nvme0n1p1", "rw"),
     fake_mount("0:40", "/var/merged", "overlay", "overlay", "rw,lowerdir=/var/a,upperdir=/var/b"))

/* The kernel leaves nothing between two blanks where the source is empty. */
USED(test_no_source, "a mount without a source, by its number", "1 nvme0n1p1 /data\n",
     fake_mount("0:50", "/else", "odd", "", "rw"), fake_mount("259:1", "/data", "odd", "", "rw"))

USED(test_mounted_by_link, "a mount whose source is a link to the device", "1 nvme0n1p1 /data\n",
     fake_link("/dev/nvme0n1p1", "/dev/disk/by-label/data"),
     fake_mount("0:50", "/data", "odd", "/dev/disk/by-label/data", "rw"))

USED(test_swap, "swap space", "2 nvme0n1p2 /dev/nvme0n1p2\n",
     fake_append("/dev/nvme0n1p2                   partition\t8384444\t0\t-2\n", "/proc/swaps"))

USED(test_swap_elsewhere, "swap space on other drives is no use", "",
     fake_append("/dev/sda2                               partition\t8384444\t0\t-2\n"
		 "/swap\\040file                            file\t8384444\t0\t-3\n",
		 "/proc/swaps"))

USED(test_no_swaps, "a kernel without swap space", "", fake_remove("/proc/swaps"))

USED(test_broken_swaps, "with swap space that cannot be read it may be in use",
     "7  cannot read /proc/swaps: Protocol error\n",
     fake_append("/dev/nvme0n1p2 partition\n", "/proc/swaps"))

USED(test_lvm_with_root, "LVM with the root file system on it",
     "0 dm-0 /\n3 nvme0n1p2 dm-0 (LVM vg-root)\n", fake_holder("nvme0n1p2", "dm-0", "253:0"),
     fake_file("LVM-abc\n", "/sys/class/block/dm-0/dm/uuid"),
     fake_file("vg-root\n", "/sys/class/block/dm-0/dm/name"),
     fake_mount("253:0", "/", "ext4", "/dev/mapper/vg-root", "rw"))

USED(test_md_and_crypt, "swap on dm-crypt on MD",
     "2 dm-1 /dev/dm-1\n3 nvme0n1p1 md0\n3 md0 dm-1 (CRYPT secret)\n",
     fake_holder("nvme0n1p1", "md0", "9:0"), fake_holder("md0", "dm-1", "253:1"),
     fake_file("CRYPT-LUKS2-abc\n", "/sys/class/block/dm-1/dm/uuid"),
     fake_file("secret\n", "/sys/class/block/dm-1/dm/name"),
     fake_append("/dev/dm-1 partition 1 0 -2\n", "/proc/swaps"))

USED(test_loop, "a loop device on a partition", "1 loop0 /image\n4 nvme0n1p1 loop0\n",
     fake_file("7:0\n", "/sys/class/block/loop0/dev"),
     fake_file("/dev/nvme0n1p1\n", "/sys/class/block/loop0/loop/backing_file"),
     fake_mount("7:0", "/image", "squashfs", "/dev/loop0", "ro"))

USED(test_process, "a process that has it open", "5 nvme0n1 4711 (fio)\n",
     fake_process("4711", "fio", "/dev/nvme0n1"), fake_process("4712", "cat", "/dev/null"),
     fake_process("4713", "dd", "/dev/nvme0n1p2 (deleted)"))

USED(test_passthrough_process, "a process that has the passthrough device open",
     "5 ng0n1 4711 (fio)\n",
     fake_file("", "/sys/devices/pci0000:00/" FAKE_ADDRESS "/nvme/nvme0/ng0n1/dev"),
     fake_process("4711", "fio", "/dev/ng0n1"))

static void fake_export(const char *nqn, const char *enabled, const char *device)
{
	static const char folder[] = "/sys/kernel/config/nvmet/subsystems";

	fake_file(enabled, "%s/%s/namespaces/1/enable", folder, nqn);
	fake_file(device, "%s/%s/namespaces/1/device_path", folder, nqn);
}

TEST(test_export, "an export of Linux's NVMe target that is enabled")
{
	fake_export("nqn.a", "1\n", "/dev/nvme0n1p1\n");
	fake_export("nqn.b", "0\n", "/dev/nvme0n1p2\n");
	fake_export("nqn.c", "1\n", "/dev/sda1\n");
	USES(FAKE_ADDRESS, "8 nvme0n1p1 nqn.a\n");
	SAME_TEXT(chario_use_text(CHARIO_USE_EXPORT), "is exported to other machines as");
}

USED(test_exclusive, "an exclusive open that shows nowhere else", "6 nvme0n1 \n",
     fake_busy("nvme0n1"))

USED(test_node_missing, "a namespace that cannot be opened may be in use",
     "7 nvme0n1 cannot open it: No such file or directory\n", fake_remove("/dev/nvme0n1"))

USED(test_no_mountinfo, "without mountinfo it may be in use",
     "7  cannot read /proc/self/mountinfo: No such file or directory\n",
     fake_remove("/proc/self/mountinfo"))

USED(test_broken_mountinfo, "with a mountinfo that cannot be read it may be in use",
     "7  cannot read /proc/self/mountinfo: Protocol error\n",
     fake_file("36 35 259:0 /\n", "/proc/self/mountinfo"))

/* With multipath the namespace hides behind a head that both paths share. */
TEST(test_multipath_head, "a mounted multipath head")
{
	fake_drive("0000:02:00.0", "nvme3");
	fake_namespace("0000:02:00.0", "nvme3", "nvme2c3n1", "259:8");
	fake_remove("/sys/devices/pci0000:00/0000:02:00.0/nvme/nvme3/nvme2c3n1/dev");
	fake_file("259:9\n", "/sys/class/block/nvme2n1/dev");
	fake_file("", "/dev/nvme2n1");
	fake_mount("259:9", "/data", "ext4", "/dev/nvme2n1", "rw");
	USES("0000:02:00.0", "1 nvme2n1 /data\n");
	/* So does its generic device, which has nothing but a character device. */
	fake_file("", "/sys/class/nvme-generic/ng2n1/dev");
	fake_process("4711", "fio", "/dev/ng2n1");
	USES("0000:02:00.0", "1 nvme2n1 /data\n5 ng2n1 4711 (fio)\n");
}

TEST(test_vfio, "a process that drives it through vfio")
{
	fake_pci("0000:02:00.0", "0x010802\n");
	fake_file("", "/sys/bus/pci/drivers/vfio-pci/bind");
	fake_link("/sys/bus/pci/drivers/vfio-pci", "/sys/devices/pci0000:00/0000:02:00.0/driver");
	fake_file("", "/sys/kernel/iommu_groups/14/type");
	fake_link("/sys/kernel/iommu_groups/14",
		  "/sys/devices/pci0000:00/0000:02:00.0/iommu_group");
	fake_process("99", "spdk_tgt", "/dev/vfio/14");
	USES("0000:02:00.0", "5 vfio/14 99 (spdk_tgt)\n");
}

USED(test_other_drives, "uses of another drive are not told", "",
     fake_drive("0000:02:00.0", "nvme1"),
     fake_namespace("0000:02:00.0", "nvme1", "nvme1n1", "259:5"),
     fake_mount("259:5", "/data", "ext4", "/dev/nvme1n1", "rw"),
     fake_process("1", "init", "/dev/nvme1n1"), fake_busy("nvme1n1"))

static int stop(const struct chario_use *use, void *data)
{
	++*(int *)data;
	return -ECANCELED;
}

TEST(test_visit_ends_walk, "a visit can end the walk")
{
	struct chario_drive drive;
	int nr_visits = 0;

	fake_mount("259:1", "/a", "ext4", "/dev/nvme0n1p1", "rw");
	fake_mount("259:2", "/b", "ext4", "/dev/nvme0n1p2", "rw");
	EQUAL(chario_drive_find(FAKE_ADDRESS, &drive, sizeof(drive)), 0);
	EQUAL(chario_use_each(&drive, stop, &nr_visits), -ECANCELED);
	EQUAL(nr_visits, 1);
}

TEST_MAIN(fake_begin_usual, fake_end)
