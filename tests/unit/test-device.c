// SPDX-License-Identifier: MIT
/*
 * Opening disks by their names, and the ioctls behind the functions.
 */
#include <chario/bind.h>
#include <chario/device.h>
#include <chario/health.h>
#include <chario/pin.h>
#include <chario/plan.h>

#include "fake.h"
#include "tap.h"

/* The disk of each test, and one that it opens by another name. */
static struct chario_device *device, *other;

static int open_disk(const char *name)
{
	return chario_device_open(name, O_RDONLY, &other);
}

static void check_opens(const char *name)
{
	EQUAL(open_disk(name), 0);
	SAME_TEXT(chario_device_path(other), "/dev/chardisk0");
	CHECK(chario_device_fd(other) >= 0);
	chario_device_close(other);
}

TEST(test_names, "a disk opens by path, name, number and serial number")
{
	check_opens("/dev/chardisk0");
	check_opens("chardisk0");
	check_opens("0");
	check_opens("SN-1");
}

TEST(test_unknown_names, "names of no disk")
{
	EQUAL(open_disk(""), -EINVAL);
	EQUAL(open_disk("1"), -ENODEV);
	EQUAL(open_disk("chardisk7"), -ENODEV);
	EQUAL(open_disk("SN-2"), -ENODEV);
	EQUAL(open_disk("/dev/chardisk7"), -ENODEV);
	/* This one is a device, and not ours. */
	EQUAL(open_disk("/dev/null"), -ENOTTY);
	chario_device_close(NULL);
}

TEST(test_serial_of_digits, "a serial number that is all digits")
{
	fake_file("4711\n", "/sys/class/chario/chardisk0/serial");
	check_opens("4711");
}

TEST(test_serial_twice, "a serial number that two disks have")
{
	fake_file("nvme\n", "/sys/class/chario/chardisk1/backend");
	fake_file("SN-1\n", "/sys/class/chario/chardisk1/serial");
	EQUAL(open_disk("SN-1"), -ENOTUNIQ);
}

TEST(test_info, "info")
{
	struct chario_info info;

	EQUAL(chario_device_get_info(device, &info, sizeof(info)), 0);
	EQUAL(info.size, sizeof(info));
	EQUAL(info.capacity_bytes, 1 << 30);
	SAME_TEXT(info.model, "Model of a drive");
	EQUAL(chario_device_get_info(device, &info, sizeof(info) - 1), -EINVAL);
}

/* A program that was compiled with a later version of the library. */
TEST(test_longer_struct, "what the kernel does not know reads as zero")
{
	struct {
		struct chario_info known;
		uint64_t later;
	} info;

	memset(&info, 0xff, sizeof(info));
	EQUAL(chario_device_get_info(device, &info.known, sizeof(info)), 0);
	EQUAL(info.known.size, sizeof(info.known));
	EQUAL(info.later, 0);
}

TEST(test_stats, "counters")
{
	struct chario_stats stats;

	EQUAL(chario_device_get_stats(device, &stats, sizeof(stats)), 0);
	EQUAL(stats.read_commands, 11);
	EQUAL(stats.late_reaps, 24);
	EQUAL(chario_device_get_stats(device, &stats, 8), -EINVAL);
}

TEST(test_options, "options of a file")
{
	/* The size is the library's business: what stands in the struct is not looked at. */
	struct chario_file_options options = { .size = 3,
					       .completion = CHARIO_COMPLETION_SPIN,
					       .deadline_ns = 5000000 };
	struct chario_file_options now;

	EQUAL(chario_device_set_options(device, &options, sizeof(options)), 0);
	EQUAL(chario_device_get_options(device, &now, sizeof(now)), 0);
	EQUAL(now.size, sizeof(now));
	EQUAL(now.completion, CHARIO_COMPLETION_SPIN);
	EQUAL(now.deadline_ns, 5000000);
	options.completion = CHARIO_COMPLETION_POLL;
	EQUAL(chario_device_set_options(device, &options, sizeof(options)), -EOPNOTSUPP);
	EQUAL(chario_device_set_options(device, &options, 4), -EINVAL);
}

TEST(test_pins, "pins")
{
	struct chario_pin pin;

	EQUAL(chario_pin_set(device, CHARIO_PIN_APST | CHARIO_PIN_VECTORS, &pin, sizeof(pin)), 0);
	EQUAL(pin.wanted, 9);
	EQUAL(pin.in_force, 1);
	EQUAL(pin.absent, 1);
	EQUAL(pin.refused, 8);
	EQUAL(pin.status[3], 0x10e);
	memset(&pin, 0xff, sizeof(pin));
	EQUAL(chario_pin_get(device, &pin, sizeof(pin)), 0);
	EQUAL(pin.wanted, 9);
	EQUAL(chario_pin_set(device, 0, &pin, sizeof(pin)), 0);
	EQUAL(pin.in_force, 0);
	EQUAL(chario_pin_set(device, 1U << 20, &pin, sizeof(pin)), -EINVAL);
	EQUAL(chario_pin_set(device, 0, &pin, 80), -EINVAL);
	SAME_TEXT(chario_pin_name(4), "retry");
	CHECK(!chario_pin_name(7));
}

TEST(test_health, "health")
{
	struct chario_health health;

	EQUAL(chario_health_get(device, &health, sizeof(health)), 0);
	EQUAL(health.size, sizeof(health));
	EQUAL(health.status, CHARIO_HEALTH_OK);
	EQUAL(health.temperature_k, 323);
	EQUAL(chario_health_get(device, &health, sizeof(health) - 1), -EINVAL);
}

TEST(test_health_wait, "waiting for an event of health")
{
	EQUAL(chario_health_wait(device, 0, 1), 0);
	EQUAL(chario_health_wait(device, 7, 1), 1);
	fake_event_comes();
	EQUAL(chario_health_wait(device, 0, 1), 1);
	EQUAL(chario_health_wait(device, 1, 1), 0);
	fake_remove("/sys/class/chario/chardisk0/health/status");
	EQUAL(chario_health_wait(device, 1, 1), -EOPNOTSUPP);
}

TEST(test_health_words, "words for health")
{
	SAME_TEXT(chario_health_status_name(CHARIO_HEALTH_WARNING), "warning");
	CHECK(!chario_health_status_name(0));
	SAME_TEXT(chario_health_reason_name(CHARIO_HEALTH_THROTTLED), "throttled");
	CHECK(strstr(chario_health_reason_advice(CHARIO_HEALTH_SPARE), "replace"));
	CHECK(!chario_health_reason_name(1U << 30));
	CHECK(!chario_health_reason_advice(3));
}

TEST(test_removed, "a disk that has been removed")
{
	struct chario_info info;

	fake_remove("/dev/chardisk0");
	EQUAL(chario_device_get_info(device, &info, sizeof(info)), -ENODEV);
	fake_file("", "/dev/chardisk0");
}

/* What dd has made while the disk was away, and what a name in /dev leads to. */
TEST(test_plain_file_in_its_place, "a plain file in the place of its node is none")
{
	fake_file("", "/dev/chardisk7");
	fake_link("/dev/chardisk7", "/dev/by-id/drive");
	fake_file("", "/srv/chardisk7");
	EQUAL(open_disk("/dev/chardisk7"), -ENOTBLK);
	EQUAL(chario_device_open_any("/dev/chardisk7", O_RDWR, &other), -ENOTBLK);
	EQUAL(chario_device_open_any("/dev/by-id/drive", O_RDWR, &other), -ENOTBLK);
	check_opens("chardisk0");
	fake_file("250:0\n", "/sys/class/chario/chardisk0/dev");
	EQUAL(open_disk("chardisk0"), -ENOTBLK);
	fake_remove("/sys/class/chario/chardisk0/dev");
}

TEST(test_limits, "limits for a plan")
{
	struct chario_plan_limits limits;

	EQUAL(chario_plan_get_limits(device, &limits), 0);
	EQUAL(limits.capacity_bytes, 1 << 30);
	EQUAL(limits.logical_block_bytes, 512);
	EQUAL(limits.command_bytes, 128 << 10);
	EQUAL(limits.chunk_bytes, 4 << 20);
	EQUAL(limits.boundary_bytes, 0);
}

static void begin(void)
{
	struct chario_bind_result result;
	struct chario_drive drive;

	fake_begin_usual();
	tap_need(!chario_drive_find(FAKE_ADDRESS, &drive, sizeof(drive)) &&
			 !chario_bind(&drive, 0, &result, sizeof(result)) &&
			 !chario_device_open("0", O_RDONLY, &device),
		 "the fake drive cannot be bound, or its disk not be opened");
}

static void end(void)
{
	chario_device_close(device);
	fake_end();
}

TEST_MAIN(begin, end)
