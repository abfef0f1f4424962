// SPDX-License-Identifier: MIT
/*
 * What is found on a machine: disks, drives, the module, and words for errors.
 */
#include <chario/bind.h>
#include <chario/drive.h>
#include <chario/error.h>
#include <chario/list.h>
#include <chario/probe.h>

#include "fake.h"
#include "tap.h"

static char found[2048];

static int note_disk(const struct chario_list_disk *disk, void *data)
{
	size_t length = strlen(found);

	snprintf(found + length, sizeof(found) - length, "%s %s %s %llu %u\n", disk->path,
		 disk->address, disk->backend, (unsigned long long)disk->capacity_bytes,
		 disk->namespace_id);
	return 0;
}

static int note_drive(const struct chario_drive *drive, void *data)
{
	size_t length = strlen(found);

	snprintf(found + length, sizeof(found) - length, "%s [%s] %s\n", drive->address,
		 drive->driver, drive->controller);
	return 0;
}

TEST(test_no_module, "a machine without the module")
{
	struct chario_probe probe;

	fake_module_is_not_installed();
	EQUAL(chario_probe(&probe, sizeof(probe)), 0);
	EQUAL(probe.module_loaded, 0);
	EQUAL(probe.nr_disks, 0);
	EQUAL(probe.library_abi_version, 2);
	/* The fake machine forbids io_uring; the rest is that of the real one. */
	EQUAL(probe.features & (CHARIO_PROBE_URING | CHARIO_PROBE_URING_COMMAND), 0);
	SAME_TEXT(probe.module_version, "");
	EQUAL(chario_list_disks(note_disk, NULL), 0);
	SAME_TEXT(found, "");
}

static void add_loopback(unsigned int index)
{
	fake_file("loopback\n", "/sys/class/chario/chardisk%u/backend", index);
	fake_file("1048576\n", "/sys/class/chario/chardisk%u/size", index);
	fake_file("0\n", "/sys/class/chario/chardisk%u/nsid", index);
}

TEST(test_disks_in_order, "disks come in the order of their numbers")
{
	struct chario_probe probe;

	add_loopback(10);
	add_loopback(2);
	EQUAL(chario_list_disks(note_disk, NULL), 0);
	SAME_TEXT(found,
		  "/dev/chardisk2  loopback 1048576 0\n/dev/chardisk10  loopback 1048576 0\n");
	EQUAL(chario_probe(&probe, sizeof(probe)), 0);
	EQUAL(probe.module_loaded, 1);
	EQUAL(probe.nr_disks, 2);
	SAME_TEXT(probe.module_version, "0.1.0");
	EQUAL(chario_probe(&probe, 79), -EINVAL);
	/* A program that was compiled before there were feature bits. */
	probe.features = 7;
	EQUAL(chario_probe(&probe, 80), 0);
	EQUAL(probe.features, 7);
}

static int note_node(const struct chario_list_disk *disk, void *data)
{
	*(int *)data = disk->node_error;
	return 0;
}

static int node_error(void)
{
	int error = -1;

	return chario_list_disks(note_node, &error) ? -1 : error;
}

TEST(test_nodes, "what stands where the node of a disk should be")
{
	add_loopback(0);
	EQUAL(node_error(), ENOENT);
	fake_file("250:0\n", "/sys/class/chario/chardisk0/dev");
	fake_file("", "/dev/chardisk0");
	EQUAL(node_error(), ENOTBLK);
}

TEST(test_drives, "NVMe controllers, with or without a driver, and nothing else")
{
	fake_drive("0000:0a:00.0", "nvme10");
	fake_drive("0000:02:00.0", "nvme2");
	fake_pci("0000:03:00.0", "0x010802\n");
	fake_pci("0000:04:00.0", "0x020000\n");
	EQUAL(chario_drive_each(note_drive, NULL), 0);
	SAME_TEXT(found,
		  "0000:02:00.0 [nvme] nvme2\n0000:03:00.0 [] \n0000:0a:00.0 [nvme] nvme10\n");
}

static void check_finds(const char *name)
{
	struct chario_drive drive;

	EQUAL(chario_drive_find(name, &drive, sizeof(drive)), 0);
	SAME_TEXT(drive.address, FAKE_ADDRESS);
	SAME_TEXT(drive.serial, "SN-1");
	SAME_TEXT(drive.model, "Model of a drive");
}

TEST(test_names_of_drive, "a drive by all its names")
{
	fake_usual_drive();
	fake_link("/dev/nvme0n1p1", "/dev/disk/by-id/nvme-part1");
	check_finds("0000:01:00.0");
	check_finds("01:00.0");
	check_finds("/dev/nvme0n1");
	check_finds("nvme0n1");
	check_finds("/dev/nvme0n1p2");
	check_finds("/dev/disk/by-id/nvme-part1");
	check_finds("nvme0");
}

TEST(test_names_of_bound_drive, "a drive that is bound, by all its names")
{
	struct chario_bind_result result;
	struct chario_drive drive;

	fake_usual_drive();
	EQUAL(chario_drive_find(FAKE_ADDRESS, &drive, sizeof(drive)), 0);
	EQUAL(chario_bind(&drive, 0, &result, sizeof(result)), 0);
	check_finds("/dev/chardisk0");
	check_finds("chardisk0");
	check_finds("0");
	check_finds("SN-1");
	check_finds(FAKE_ADDRESS);
}

static void check_not_found(const char *name, int error)
{
	struct chario_drive drive;

	EQUAL(chario_drive_find(name, &drive, sizeof(drive)), error);
}

TEST(test_names_of_no_drive, "names of no drive")
{
	fake_pci("0000:04:00.0", "0x020000\n");
	add_loopback(3);
	fake_file("", "/dev/chardisk3");
	check_not_found("", -EINVAL);
	check_not_found("0000:07:00.0", -ENODEV);
	check_not_found("0000:04:00.0", -ENOTTY);
	check_not_found("/dev/null", -ENODEV);
	check_not_found("/dev/nothing", -ENODEV);
	check_not_found("nvme7", -ENODEV);
	check_not_found("chardisk3", -ENOTTY);
	check_not_found("../../etc/passwd", -ENODEV);
	fake_usual_drive();
	fake_file("", "/srv/nvme0n1");
	check_not_found("/srv/nvme0n1", -ENODEV);
}

/* A head that two controllers serve belongs to none of them alone. */
TEST(test_multipath_head, "a multipath head with one path and with two")
{
	const char *head = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1";
	struct chario_drive drive;

	fake_drive("0000:02:00.0", "nvme1");
	fake_file("259:9\n", "%s/dev", head);
	fake_link(head, "/sys/class/block/nvme0n1");
	fake_link("/sys/class/nvme/nvme1",
		  "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme1");
	EQUAL(chario_drive_find("nvme0n1", &drive, sizeof(drive)), 0);
	SAME_TEXT(drive.address, "0000:02:00.0");
	fake_drive("0000:03:00.0", "nvme2");
	fake_link("/sys/class/nvme/nvme2",
		  "/sys/devices/virtual/nvme-subsystem/nvme-subsys0/nvme2");
	EQUAL(chario_drive_find("nvme0n1", &drive, sizeof(drive)), -ENOTUNIQ);
}

TEST(test_errors, "every errno of the module has words of its own")
{
	/* What the module gives: the table of chario(4). */
	static const int errors[] = { EINVAL,     ENOSPC,    EIO,   EROFS,    EACCES, EBADE,
				      EOPNOTSUPP, ETIMEDOUT, EINTR, ENODEV,   ENXIO,  EAGAIN,
				      EFAULT,     ENOMEM,    EBUSY, ECANCELED };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		CHECK(strcmp(chario_error_meaning(-errors[i]), strerror(errors[i])));
	SAME_TEXT(chario_error_name(-ETIMEDOUT), "ETIMEDOUT");
	CHECK(!chario_error_name(-EXDEV));
	SAME_TEXT(chario_error_meaning(-EXDEV), strerror(EXDEV));
	CHECK(chario_error_advice(-ENODEV));
	CHECK(!chario_error_advice(-EXDEV));
}

TEST(test_subjects, "an errno says what it means of a subject")
{
	static const struct {
		int error;
		enum chario_subject subject;
		const char *meaning;
	} of[] = {
		{ ENOSPC, CHARIO_SUBJECT_AREA, "no hole of the store is long enough" },
		{ ENOSPC, CHARIO_SUBJECT_RECORDS, "the area is full" },
		{ ENOENT, CHARIO_SUBJECT_STORE, "there is no such disk and no such file" },
		{ EMFILE, CHARIO_SUBJECT_NEW_AREA, "the table of the store is full" },
		{ EMFILE, CHARIO_SUBJECT_AREA, "too many files are open" },
		{ ENOENT, CHARIO_SUBJECT_NEW_AREA, "there is no such area" },
		/* What a subject has no words for is said in those of what it is a part of. */
		{ ENOENT, CHARIO_SUBJECT_RECORDS, "there is no such area" },
		{ ENOENT, CHARIO_SUBJECT_RECORDING, "there is no such area" },
		{ ENOMEM, CHARIO_SUBJECT_STORE,
		  "there is no memory, or no more of it may be locked" },
		{ ENOMEM, CHARIO_SUBJECT_RECORDS,
		  "there is no memory, or no more of it may be locked" },
		{ ESTALE, CHARIO_SUBJECT_CONTENT,
		  "the disk has become smaller than the store on it" },
		{ ESTALE, CHARIO_SUBJECT_RECORDING,
		  "another recording has begun in the area, or the disk has become smaller than the "
		  "store on it" },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++)
		SAME_TEXT(chario_error_meaning_of(-of[i].error, of[i].subject), of[i].meaning);
	for (unsigned int i = 0; i <= CHARIO_SUBJECT_NEW_AREA + 1; i++) {
		SAME_TEXT(chario_error_meaning_of(-ETIMEDOUT, i), chario_error_meaning(-ETIMEDOUT));
		SAME_TEXT(chario_error_meaning_of(-EXDEV, i), strerror(EXDEV));
		CHECK(!chario_error_advice_of(-EXDEV, i));
	}
	CHECK(strstr(chario_error_advice(-ENOMEM), "ulimit -l"));
	CHECK(!strstr(chario_error_advice_of(-ENOMEM, CHARIO_SUBJECT_STORE), "smaller calls"));
	SAME_TEXT(chario_error_advice_of(-ENOSPC, CHARIO_SUBJECT_NEW_AREA + 1),
		  chario_error_advice(-ENOSPC));
	SAME_TEXT(chario_error_meaning_of(-ENOSPC, CHARIO_SUBJECT_DISK),
		  chario_error_meaning(-ENOSPC));
}

static void begin(void)
{
	found[0] = '\0';
	fake_begin();
}

TEST_MAIN(begin, fake_end)
