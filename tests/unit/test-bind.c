// SPDX-License-Identifier: MIT
/*
 * A drive goes to CharIO and back, and stays where it was when anything fails.
 */
#include <chario/bind.h>

#include "fake.h"
#include "system/sys.h"
#include "tap.h"

#define DEVICE "/sys/bus/pci/devices/" FAKE_ADDRESS

static struct chario_bind_result result;

static struct chario_drive drive;

static int find_drive(const char *address)
{
	return chario_drive_find(address, &drive, sizeof(drive));
}

static int bind_drive(uint32_t flags)
{
	return find_drive(FAKE_ADDRESS) ?: chario_bind(&drive, flags, &result, sizeof(result));
}

static int unbind_drive(uint32_t flags)
{
	return find_drive(FAKE_ADDRESS) ?: chario_unbind(&drive, flags, &result, sizeof(result));
}

/* Claim that the drive is with nvme and nothing of a bind is left. */
static void check_untouched(void)
{
	SAME_TEXT(fake_target(DEVICE "/driver"), "nvme");
	SAME_TEXT(fake_read(DEVICE "/driver_override"), "(null)");
	CHECK(fake_exists("/sys/class/block/nvme0n1p1"));
	CHECK(!fake_exists("/run/chario/" FAKE_ADDRESS));
	CHECK(!fake_exists("/dev/chardisk0"));
}

static void check_refused(int err, enum chario_bind_step step)
{
	EQUAL(bind_drive(0), err);
	EQUAL(result.step, step);
	check_untouched();
}

/* Claim that an unbind leaves the drive with nvme, and nothing of a bind. */
static void check_unbind(void)
{
	EQUAL(unbind_drive(0), 0);
	SAME_TEXT(result.driver, "nvme");
	check_untouched();
}

/* Claim that a bind ends at a step, and that what was done before it is undone. */
static void check_undone(int err, enum chario_bind_step step)
{
	check_refused(err, step);
	EQUAL(result.restored, 1);
	SAME_TEXT(result.driver, "nvme");
}

TEST(test_there_and_back, "a drive goes to chario and comes back as it was")
{
	EQUAL(bind_drive(0), 0);
	EQUAL(result.step, CHARIO_BIND_DONE);
	EQUAL(result.was_bound, 0);
	EQUAL(result.nr_disks, 1);
	SAME_TEXT(result.earlier_driver, "nvme");
	SAME_TEXT(result.driver, "chario");
	SAME_TEXT(fake_target(DEVICE "/driver"), "chario");
	SAME_TEXT(fake_read(DEVICE "/driver_override"), "chario");
	SAME_TEXT(fake_read("/run/chario/" FAKE_ADDRESS), "nvme -");

	check_unbind();
	EQUAL(result.step, CHARIO_BIND_DONE);
	EQUAL(result.was_bound, 1);
	SAME_TEXT(result.earlier_driver, "nvme");
}

TEST(test_bound_already, "binding twice is success")
{
	EQUAL(bind_drive(0), 0);
	EQUAL(bind_drive(0), 0);
	EQUAL(result.was_bound, 1);
	EQUAL(result.nr_disks, 1);
	SAME_TEXT(fake_read("/run/chario/" FAKE_ADDRESS), "nvme -");
}

TEST(test_module_is_loaded, "the module is loaded when it is not")
{
	fake_module_is_not_installed();
	fake_remove("/fake/no-module");
	EQUAL(bind_drive(0), 0);
	CHECK(fake_exists("/sys/module/chario"));
}

TEST(test_module_missing, "without the module the drive is left alone")
{
	fake_module_is_not_installed();
	check_refused(-ENOENT, CHARIO_BIND_MODULE);
}

TEST(test_drive_without_driver, "a drive without a driver can be bound")
{
	fake_pci("0000:02:00.0", "0x010802\n");
	EQUAL(find_drive("02:00.0"), 0);
	EQUAL(chario_bind(&drive, 0, &result, sizeof(result)), 0);
	SAME_TEXT(result.earlier_driver, "");
	SAME_TEXT(fake_read("/run/chario/0000:02:00.0"), "- -");
}

TEST(test_used_drive_stays, "a drive in use stays, and no module is loaded for it")
{
	fake_mount("259:1", "/data", "ext4", "/dev/nvme0n1p1", "rw");
	check_refused(-EBUSY, CHARIO_BIND_CHECK);
	fake_module_is_not_installed();
	EQUAL(bind_drive(0), -EBUSY);
	CHECK(!fake_exists("/sys/module/chario"));
}

TEST(test_used_drive_forced, "a drive in use goes when forced")
{
	fake_mount("259:1", "/data", "ext4", "/dev/nvme0n1p1", "rw");
	fake_busy("nvme0n1");
	EQUAL(bind_drive(CHARIO_BIND_FORCE), 0);
	SAME_TEXT(fake_target(DEVICE "/driver"), "chario");
}

TEST(test_exclusive_open_stays, "a drive in exclusive use stays")
{
	fake_busy("nvme0n1");
	check_refused(-EBUSY, CHARIO_BIND_CHECK);
}

TEST(test_taken_after_look, "a drive that is mounted behind our back stays")
{
	fake_busy_after_look("nvme0n1");
	check_refused(-EBUSY, CHARIO_BIND_CHECK);
}

/* Each write of a bind fails once. */
static void check_failure(const char *path, int error, enum chario_bind_step step)
{
	fake_fail_write(path, error);
	check_undone(-error, step);
}

/* A test of one such failure. */
#define UNDONE(function, claim, path, error, step) \
	TEST(function, "undone: " claim)           \
	{                                          \
		check_failure(path, error, step);  \
	}

UNDONE(test_override_fails, "the override cannot be written", "driver_override", EIO,
       CHARIO_BIND_OVERRIDE)
UNDONE(test_release_fails, "the earlier driver keeps the drive", "drivers/nvme/unbind", EPERM,
       CHARIO_BIND_RELEASE)
UNDONE(test_attach_fails, "chario refuses the drive", "drivers/chario/bind", EOPNOTSUPP,
       CHARIO_BIND_ATTACH)

TEST(test_disks_do_not_appear, "undone: no disk appears")
{
	fake_disks_do_not_appear();
	check_undone(-ETIMEDOUT, CHARIO_BIND_APPEAR);
}

/* dd has left a file there while the drive was away: there is no node then. */
TEST(test_foreign_node, "undone: a file stands where its node should be")
{
	fake_file("250:0\n", "/sys/devices/pci0000:00/" FAKE_ADDRESS "/chario/chardisk0/dev");
	check_undone(-ENOTBLK, CHARIO_BIND_APPEAR);
}

TEST(test_note_fails, "untouched: the note cannot be written")
{
	fake_file("", "/run/chario");
	check_refused(-ENOTDIR, CHARIO_BIND_REMEMBER);
}

TEST(test_earlier_override_comes_back, "an earlier override comes back")
{
	fake_file("nvme\n", DEVICE "/driver_override");
	EQUAL(bind_drive(0), 0);
	SAME_TEXT(fake_read("/run/chario/" FAKE_ADDRESS), "nvme nvme");
	EQUAL(unbind_drive(0), 0);
	SAME_TEXT(fake_read(DEVICE "/driver_override"), "nvme");
	SAME_TEXT(fake_target(DEVICE "/driver"), "nvme");
}

TEST(test_note_lost, "without the note the kernel chooses")
{
	EQUAL(bind_drive(0), 0);
	fake_remove("/run/chario/" FAKE_ADDRESS);
	check_unbind();
	SAME_TEXT(result.earlier_driver, "");
}

TEST(test_earlier_driver_gone, "without the earlier driver the kernel chooses")
{
	EQUAL(bind_drive(0), 0);
	fake_remove("/sys/bus/pci/drivers/nvme/bind");
	check_unbind();
}

TEST(test_open_disk_stays, "a drive whose disk is open stays unless forced")
{
	EQUAL(bind_drive(0), 0);
	fake_process("77", "recorder", "/dev/chardisk0");
	EQUAL(unbind_drive(0), -EBUSY);
	EQUAL(result.step, CHARIO_BIND_CHECK);
	SAME_TEXT(fake_target(DEVICE "/driver"), "chario");
	EQUAL(unbind_drive(CHARIO_BIND_FORCE), 0);
	check_untouched();
}

TEST(test_udev_is_no_use, "that udev looks at a new drive is no use of it")
{
	fake_udev_opens("/dev/nvme0n1");
	EQUAL(bind_drive(0), 0);
}

/* It has begun after nobody waited for it. */
TEST(test_udev_is_late, "nor is it when udev begins late")
{
	fake_udev_opens("/dev/nvme0n1");
	fake_remove("/run/udev/queue");
	EQUAL(bind_drive(0), 0);
}

TEST(test_unbind_of_other, "a drive of another driver is not unbound")
{
	EQUAL(unbind_drive(0), -ENXIO);
	EQUAL(result.was_bound, 0);
	check_untouched();
}

TEST(test_unbind_release_fails, "an unbind that fails can be repeated")
{
	EQUAL(bind_drive(0), 0);
	fake_fail_write("drivers/chario/unbind", EIO);
	EQUAL(unbind_drive(0), -EIO);
	EQUAL(result.step, CHARIO_BIND_RELEASE);
	SAME_TEXT(fake_target(DEVICE "/driver"), "chario");
	SAME_TEXT(fake_read(DEVICE "/driver_override"), "chario");
	check_unbind();
}

/* Somebody else in the middle of a move; a file tells when it has ended. */
static void move_elsewhere(int ready)
{
	int fd = chario_sys_lock("/run/chario/.%s.lock", FAKE_ADDRESS);

	if (write(ready, &fd, sizeof(fd)) != (ssize_t)sizeof(fd))
		_exit(1);
	usleep(200000);
	fake_file("", "/fake/moved");
	_exit(0);
}

TEST(test_one_move_at_a_time, "another move of the drive is waited for")
{
	int ready[2], fd;
	pid_t pid;

	EQUAL(pipe(ready), 0);
	pid = fork();
	if (!pid)
		move_elsewhere(ready[1]);
	EQUAL(read(ready[0], &fd, sizeof(fd)), sizeof(fd));
	CHECK(fd >= 0);
	EQUAL(bind_drive(0), 0);
	CHECK(fake_exists("/fake/moved"));
	EQUAL(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
}

static const char *last_write;
static int (*write_on)(const char *path, const char *text);

static int write_and_die(const char *path, const char *text)
{
	if (strstr(path, last_write))
		_exit(0);
	return write_on(path, text);
}

/* A move is killed before it writes to @path. */
static void kill_move(int (*move)(uint32_t), const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		last_write = path;
		write_on = chario_sys.write;
		chario_sys.write = write_and_die;
		move(0);
		_exit(1);
	}
	EQUAL(waitpid(pid, NULL, 0), pid);
	SAME_TEXT(fake_target(DEVICE "/driver"), "");
}

TEST(test_bind_after_killed_bind, "a bind takes up a bind that was killed")
{
	kill_move(bind_drive, "drivers/chario/bind");
	EQUAL(bind_drive(0), 0);
	SAME_TEXT(result.earlier_driver, "nvme");
	SAME_TEXT(fake_read("/run/chario/" FAKE_ADDRESS), "nvme -");
	check_unbind();
}

TEST(test_failed_bind_after_killed_bind, "undone: the bind after a bind that was killed")
{
	kill_move(bind_drive, "drivers/chario/bind");
	check_failure("drivers/chario/bind", EIO, CHARIO_BIND_ATTACH);
}

TEST(test_unbind_after_killed_bind, "an unbind takes up a bind that was killed")
{
	kill_move(bind_drive, "drivers/chario/bind");
	check_unbind();
}

TEST(test_unbind_after_killed_unbind, "an unbind takes up an unbind that was killed")
{
	EQUAL(bind_drive(0), 0);
	kill_move(unbind_drive, "drivers/nvme/bind");
	check_unbind();
}

TEST(test_override_by_hand, "an override that names chario does not keep the drive")
{
	fake_file("chario\n", DEVICE "/driver_override");
	EQUAL(bind_drive(0), 0);
	check_unbind();
}

TEST(test_drive_has_gone, "a drive that has gone")
{
	EQUAL(find_drive(FAKE_ADDRESS), 0);
	fake_remove("/sys/bus/pci/devices/" FAKE_ADDRESS);
	EQUAL(chario_bind(&drive, 0, &result, sizeof(result)), -ENODEV);
	EQUAL(chario_unbind(&drive, 0, &result, sizeof(result)), -ENODEV);
}

TEST(test_bad_arguments, "unknown flags and short structs")
{
	EQUAL(find_drive(FAKE_ADDRESS), 0);
	EQUAL(chario_bind(&drive, 4, &result, sizeof(result)), -EINVAL);
	EQUAL(chario_bind(&drive, 0, &result, sizeof(result) - 1), -EINVAL);
	EQUAL(chario_unbind(&drive, 4, &result, sizeof(result)), -EINVAL);
	check_untouched();
}

TEST_MAIN(fake_begin_usual, fake_end)
