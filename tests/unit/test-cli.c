// SPDX-License-Identifier: MIT
/*
 * What a user sees: words, JSON and exit codes of the program chario.
 *
 * CHARIO names a build of it that runs on the fake machine.
 */
#include <errno.h>
#include <stdlib.h>
#include <json-c/json.h>

#include <chario/health.h>

#include "fake.h"
#include "fake-timeline.h"
#include "tap.h"

static char output[65536];

#define RUN(...) fake_run(output, sizeof(output), "\"$CHARIO\" " __VA_ARGS__)
#define SAYS(text)                                                         \
	do {                                                               \
		if (!strstr(output, text)) {                               \
			TAP_FAIL("not said: %s\n# but: %s", text, output); \
			return;                                            \
		}                                                          \
	} while (0)

static struct json_object *document;

/* The document, or the member of its first element when it is an array. */
static const char *member(const char *name)
{
	struct json_object *object = document, *value;

	if (json_object_is_type(object, json_type_array))
		object = json_object_array_get_idx(object, 0);
	if (!json_object_object_get_ex(object, name, &value))
		return "no such member";
	return json_object_get_string(value);
}

#define PARSES()                                       \
	do {                                           \
		json_object_put(document);             \
		document = json_tokener_parse(output); \
		CHECK(document);                       \
	} while (0)

static void test_help(void)
{
	EQUAL(RUN("help 2>&1"), 0);
	SAYS("usage: chario VERB");
	EQUAL(RUN("--help 2>&1"), 0);
	EQUAL(RUN("bind --help 2>&1"), 0);
	SAYS("usage: chario bind");
	SAYS("--force");
	EQUAL(RUN("help plan 2>&1"), 0);
	SAYS("--limits LIST");
	EQUAL(RUN("help --json"), 0);
	PARSES();
	SAME_TEXT(member("name"), "list");
	/* Only --help and -h are looked for before the options, which have these other forms. */
	EQUAL(RUN("rm --he area 2>&1"), 2);
	SAYS("usage: chario rm");
	EQUAL(RUN("rm -jh area 2>&1"), 2);
	SAYS("usage: chario rm");
}

static void test_usage_is_2(void)
{
	EQUAL(RUN("2>&1"), 2);
	EQUAL(RUN("frobnicate 2>&1"), 2);
	SAYS("no verb \"frobnicate\"");
	EQUAL(RUN("help frobnicate 2>&1"), 2);
	EQUAL(RUN("list --frobnicate 2>&1"), 2);
	SAYS("--frobnicate");
	EQUAL(RUN("list --all=1 2>&1"), 2);
	EQUAL(RUN("list extra 2>&1"), 2);
	EQUAL(RUN("info 2>&1"), 2);
	SAYS("chario info DISK");
	EQUAL(RUN("info a b 2>&1"), 2);
	EQUAL(RUN("bind 2>&1"), 2);
	EQUAL(RUN("unbind 2>&1"), 2);
	EQUAL(RUN("stat 2>&1"), 2);
	EQUAL(RUN("stat 0 --interval 0 2>&1"), 2);
	EQUAL(RUN("stat 0 --interval nan 2>&1"), 2);
	EQUAL(RUN("stat 0 --count 3 2>&1"), 2);
	EQUAL(RUN("stat 0 --interval 1 --count 0 2>&1"), 2);
	EQUAL(RUN("health 2>&1"), 2);
	EQUAL(RUN("health 0 --count 3 2>&1"), 2);
	EQUAL(RUN("health 0 --watch --interval 0 2>&1"), 2);
	EQUAL(RUN("pin 2>&1"), 2);
	EQUAL(RUN("pin --only retry,sleep 0 2>&1"), 2);
	SAYS("\"retry,sleep\" is not a list of pins");
	EQUAL(RUN("pin --only '' 0 2>&1"), 2);
	EQUAL(RUN("timeline 2>&1"), 2);
	EQUAL(RUN("timeline 0 --seconds 0 2>&1"), 2);
	EQUAL(RUN("timeline 0 --records 100 2>&1"), 2);
	SAYS("power of two");
	EQUAL(RUN("timeline 0 --stop-above-us 0 2>&1"), 2);
	EQUAL(RUN("timeline 0 --tag 1 2>&1"), 2);
	EQUAL(RUN("timeline --tag x 2>&1"), 2);
	EQUAL(RUN("timeline --seconds 1 0 -- true 2>&1"), 2);
	EQUAL(RUN("plan 2>&1"), 2);
	EQUAL(RUN("plan 0 1 2>&1"), 2);
	EQUAL(RUN("plan --limits= 0 1 2 2>&1"), 2);
	EQUAL(RUN("plan --limits block 0 1 2>&1"), 2);
	EQUAL(RUN("plan --limits colour=3 0 1 2>&1"), 2);
	SAYS("colour=3");
	EQUAL(RUN("plan --limits chunk=5G 0 1 2>&1"), 2);
	EQUAL(RUN("plan --limits= -- -1 4k 2>&1"), 2);
	EQUAL(RUN("plan --limits= 1x 4k 2>&1"), 2);
	EQUAL(RUN("plan --limits= 99999999P 4k 2>&1"), 2);
	EQUAL(RUN("plan --limits= -1M 4k 2>&1"), 2);
	SAYS("not negative");
}

static void test_what_excludes_another(void)
{
	EQUAL(RUN("run -i -o -A a -- true 2>&1"), 2);
	SAYS("--stdin or --stdout");
	EQUAL(RUN("run -r -f -A a -- true 2>&1"), 2);
	SAYS("give one of them");
	EQUAL(RUN("region list --name a 2>&1"), 2);
	SAYS("for region create");
	EQUAL(RUN("region remove -t chardisk0p1 2>&1"), 2);
	EQUAL(RUN("region apply -f 2>&1"), 2);
	EQUAL(RUN("export --stop --listen 192.0.2.1 chardisk0p1 2>&1"), 2);
	SAYS("--stop ends");
	EQUAL(RUN("export --stop --host nqn.a chardisk0p1 2>&1"), 2);
	EQUAL(RUN("export --host nqn.a 2>&1"), 2);
}

#define LISTENS(address, status)                                                      \
	do {                                                                          \
		EQUAL(RUN("export chardisk9p1 --listen '" address "' 2>&1"), status); \
		if (status == 2)                                                      \
			SAYS("\"" address "\"");                                      \
	} while (0)

static void test_addresses(void)
{
	LISTENS("192.0.2.1", 1);
	SAYS("no disk that chardisk9p1");
	LISTENS("192.0.2.1:44", 1);
	LISTENS("2001:db8::1", 1);
	LISTENS("[2001:db8::1]", 1);
	LISTENS("[2001:db8::1]:44", 1);
	LISTENS("[::1", 2);
	LISTENS("[::1]44", 2);
	LISTENS("[::1]:", 2);
	LISTENS("::1]", 2);
	LISTENS("192.0.2.1:0", 2);
	LISTENS("192.0.2.1:65536", 2);
	SAYS("is not a number from 1 to 65535");
	LISTENS("192.0.2.1:+1", 2);
	LISTENS("192.0.2.1:", 2);
	LISTENS("here", 2);
	SAYS("is not an address");
	LISTENS("239.1.1.1", 2);
	LISTENS("ff02::1", 2);
	SAYS("of a group");
}

static void test_hosts(void)
{
	static const char listen[] = "export chardisk9p1 --listen ::1 --host";

	EQUAL(RUN("%s nqn.$(printf %%0219d 0) 2>&1", listen), 1);
	EQUAL(RUN("%s nqn.$(printf %%0220d 0) 2>&1", listen), 2);
	SAYS("219 bytes");
	EQUAL(RUN("%s 'nqn.a b' 2>&1", listen), 2);
	EQUAL(RUN("%s \"$(printf 'nqn.a\\nb')\" 2>&1", listen), 2);
	EQUAL(RUN("%s me 2>&1", listen), 2);
}

static void test_version(void)
{
	EQUAL(RUN("--version 2>&1"), 0);
	SAYS("module 0.1.0, 0 disks");
	fake_module_is_not_installed();
	EQUAL(RUN("--version 2>&1"), 0);
	SAYS("module not loaded");
}

static void test_list(void)
{
	EQUAL(RUN("list 2>&1"), 0);
	SAYS("no disk of CharIO");
	EQUAL(RUN("list --all --json"), 0);
	PARSES();
	SAME_TEXT(member("disks"), "[ ]");
	SAYS("\"driver\": \"nvme\"");
	EQUAL(RUN("bind 01:00.0 2>&1"), 0);
	EQUAL(RUN("list 2>&1"), 0);
	SAYS("/dev/chardisk0  1.0 GiB  512    nvme     live   " FAKE_ADDRESS "  SN-1");
	EQUAL(RUN("list --all 2>&1"), 0);
	SAYS(FAKE_ADDRESS "  chario  -     SN-1    Model of a drive\n");
}

static void test_bind_and_unbind(void)
{
	EQUAL(RUN("bind /dev/nvme0n1 2>&1"), 0);
	SAYS(FAKE_ADDRESS ": from nvme to chario\n");
	SAYS("/dev/chardisk0  1.0 GiB  Model of a drive  SN-1\n");
	SAYS("undo: chario unbind " FAKE_ADDRESS "\n");
	EQUAL(RUN("bind " FAKE_ADDRESS " 2>&1"), 0);
	SAYS("is with chario already");
	EQUAL(RUN("unbind 0 2>&1"), 0);
	SAYS(FAKE_ADDRESS ": from chario to nvme\n");
	EQUAL(RUN("unbind " FAKE_ADDRESS " 2>&1"), 1);
	SAYS("is not with chario but with nvme");
}

static void test_bind_refused(void)
{
	fake_mount("259:1", "/boot", "vfat", "/dev/nvme0n1p1", "rw");
	fake_mount("259:2", "/", "ext4", "/dev/root", "rw");
	EQUAL(RUN("bind nvme0 2>&1"), 1);
	SAYS(FAKE_ADDRESS " is in use and stays with nvme:");
	SAYS("  nvme0n1p2 holds the root file system, /\n  nvme0n1p1 is mounted at /boot\n");
	SAYS("--force --force");
	EQUAL(RUN("bind --force nvme0 2>&1"), 1);
	EQUAL(RUN("bind -f --json nvme0 2>/dev/null"), 1);
	PARSES();
	SAME_TEXT(member("error"), "EBUSY");
	SAME_TEXT(member("driver"), "nvme");
	SAYS("\"kind\": \"root\"");
	SAYS("\"what\": \"/boot\"");
	SAME_TEXT(fake_target("/sys/bus/pci/devices/" FAKE_ADDRESS "/driver"), "nvme");
	EQUAL(RUN("bind -ff nvme0 2>&1"), 0);
}

static void test_bind_several(void)
{
	EQUAL(RUN("bind 0000:09:00.0 " FAKE_ADDRESS " 2>&1"), 1);
	SAYS("there is no drive \"0000:09:00.0\"");
	SAYS("from nvme to chario");
}

static void test_bind_without_module(void)
{
	fake_module_is_not_installed();
	EQUAL(RUN("bind nvme0 2>&1"), 1);
	SAYS("sudo make install");
}

static void test_bind_without_rights(void)
{
	fake_fail_write("driver_override", EACCES);
	EQUAL(RUN("bind nvme0 2>&1"), 1);
	SAYS("only root may");
	SAYS("use sudo");
}

static void test_bind_fails_midway(void)
{
	fake_fail_write("drivers/chario/bind", EOPNOTSUPP);
	EQUAL(RUN("bind nvme0 2>&1"), 1);
	SAYS("the kernel log says why");
	SAYS("it is back with nvme");
}

static void test_unbind_refused(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	fake_process("12", "fio", "/dev/chardisk0");
	EQUAL(RUN("unbind chardisk0 2>&1"), 1);
	SAYS("chardisk0 is open in process 12 (fio)");
	EQUAL(RUN("unbind --force chardisk0 2>&1"), 0);
}

static void test_info_and_stat(void)
{
	EQUAL(RUN("info 0 2>&1"), 1);
	SAYS("(ENODEV)");
	SAYS("see chario list");
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("info 0 2>&1"), 0);
	SAYS("capacity           1073741824 bytes (1.0 GiB)\n");
	SAYS("boundary           none\n");
	SAYS("state              live\naddress            " FAKE_ADDRESS "\n");
	SAYS("features           fua\n");
	EQUAL(RUN("info --json SN-1"), 0);
	PARSES();
	SAME_TEXT(member("chunk_bytes"), "4194304");
	EQUAL(RUN("stat 0 2>&1"), 0);
	SAYS("write_commands        12\n");
	EQUAL(RUN("stat 0 --json"), 0);
	PARSES();
	SAME_TEXT(member("late_reaps"), "24");
	EQUAL(RUN("stat 0 --interval 0.001 --count 2 --json"), 0);
	SAYS("}\n{\"passed_ns\":");
	EQUAL(RUN("stat 0 -i 0.001 -c 1 2>&1"), 0);
	SAYS("reads/s");
}

static void test_health(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("health 0 2>&1"), 0);
	SAYS("health             ok\n");
	SAYS("temperature        50 C (too hot from 70 C, may stop from 100 C)\n");
	SAYS("spare              100 % (the drive warns below 10 %)\n");
	SAYS("unsafe shutdowns   2 of 7\n");
	EQUAL(RUN("health --json 0"), 0);
	PARSES();
	SAME_TEXT(member("status"), "ok");
	SAME_TEXT(member("temperature_c"), "50");
	SAME_TEXT(member("data_units_written"), "2000");
	SAME_TEXT(member("reasons"), "{ }");
}

static void test_health_gets_worse(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	fake_health(CHARIO_HEALTH_WARNING, CHARIO_HEALTH_TEMPERATURE | CHARIO_HEALTH_WEAR, 341, 2);
	EQUAL(RUN("health 0 2>&1"), 3);
	SAYS("health             warning\n");
	SAYS("temperature: the drive is hot: give it more air");
	SAYS("wear: most of the drive's life is used");
	fake_health(CHARIO_HEALTH_CRITICAL, CHARIO_HEALTH_SPARE, 0, 2);
	EQUAL(RUN("health 0 --json"), 4);
	PARSES();
	SAME_TEXT(member("status"), "critical");
	SAYS("\"temperature_c\": null");
	SAYS("\"spare\": \"spare blocks run out: copy the data now");
}

static void test_health_watch(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	fake_event_comes();
	EQUAL(RUN("health 0 --watch --count 3 --interval 0.001 2>&1"), 4);
	SAYS("ok          50 C  spare 100 %  used 3 %    media errors 0  events 0  \n"
	     "critical    50 C  spare 100 %  used 3 %    media errors 0  events 1  read-only\n"
	     "critical  ");
	EQUAL(RUN("health 0 --watch -c 2 -i 0.001 --json"), 4);
	SAYS("}\n{\"path\":\"/dev/chardisk0\",\"status\":\"critical\"");
}

static void test_pin(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("pin 0 2>&1"), 0);
	SAYS("apst         absent\n");
	SAYS("power-state  in force\n");
	SAYS("vectors      refused: NVMe status 0x10e\n");
	EQUAL(RUN("pin --json --only retry,apst 0"), 0);
	PARSES();
	SAME_TEXT(member("retry"), "{ \"outcome\": \"in force\", \"status\": 0 }");
	SAME_TEXT(member("cpu"), "no such member");
	EQUAL(RUN("pin 0 -- sh -c 'echo said; exit 5' 2>/dev/null"), 5);
	SAME_TEXT(output, "said\n");
	EQUAL(RUN("pin 0 -- sh -c 'kill -9 $$' 2>&1"), 128 + 9);
	EQUAL(RUN("pin 0 -- /no/such/program 2>&1"), 127);
	SAYS("cannot start \"/no/such/program\"");
}

static void test_plan(void)
{
	EQUAL(RUN("plan --limits block=4k 4k 9M 2>&1"), 0);
	SAYS("72 commands, 9437184 bytes (9 MiB)\n");
	EQUAL(RUN("plan --limits block=512,boundary=64k,command=64KiB --json 63k 66k"), 0);
	PARSES();
	SAME_TEXT(member("commands"), "3");
	EQUAL(RUN("plan --limits= 0 1 2>&1"), 1);
	SAYS("EINVAL");
	EQUAL(RUN("plan --write --limits capacity=1M 1M 4k 2>&1"), 1);
	SAYS("ENOSPC");
	EQUAL(RUN("plan --limits capacity=1M 1M 4k 2>&1"), 0);
	SAYS("0 commands, 0 bytes (0 B), cut from 4096\n");
	EQUAL(RUN("plan --limits chunk=0 0 4k 2>&1"), 1);
	SAYS("no disk has such limits");
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("plan 0 0x1000 512 2>&1"), 0);
	SAYS("1 command, 512 bytes");
}

static void record_two(void)
{
	fake_timeline_begin();
	fake_request(0, 3, 1000, 8192);
	fake_request(1, 4, 2000, 4096);
	fake_timeline_end();
}

static void test_timeline(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("timeline 0 --seconds 0.001 2>&1"), 1);
	SAYS("cannot record \"0\"");
	record_two();
	EQUAL(RUN("timeline --seconds 0.001 0 2>&1"), 0);
	SAYS("reap      2         10      10      20   20     20\n");
	SAYS("whole     2         90      90      90   90     90\n");
	SAYS("irq       1         10");
	SAYS("          50 ns  command submitted to the drive (doorbell)\n");
	SAYS("          90 ns  application is resumed (finish)\n");
	SAYS("19 records, 0 lost; 0 tags, 0 lost\n");
	SAYS("A record costs 42 ns");
	EQUAL(RUN("timeline --json --seconds 0.001 0"), 0);
	PARSES();
	SAME_TEXT(member("lost_records"), "0");
	SAYS("\"stage\": \"whole\"");
	SAYS("\"point\": \"submitted\"");
	fake_file("", "/fake/recorded");
	EQUAL(RUN("timeline --seconds 0.001 0 2>&1"), 1);
	SAYS("somebody records");
}

static void test_timeline_of_a_program(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	record_two();
	EQUAL(RUN("timeline 0 -- true 2>&1"), 0);
	SAYS("19 records, 0 lost");
	EQUAL(RUN("timeline 0 -- sh -c 'exit 3' 2>&1"), 1);
	SAYS("ended with exit status 3");
	SAYS("19 records, 0 lost");
	EQUAL(RUN("timeline 0 -- no-such-program 2>&1"), 1);
	SAYS("cannot run \"no-such-program\"");
	EQUAL(RUN("timeline --all 0 -- \"$CHARIO\" timeline --tag 0x77 2>&1"), 0);
	SAYS(" tag 119\n");
	SAYS("19 records, 0 lost; 1 tags, 0 lost\n");
	EQUAL(RUN("timeline --json --all 0 -- true"), 0);
	SAYS("\"stage\": \"tag\"");
	EQUAL(RUN("timeline --tag 1 2>&1"), 1);
	SAYS("nobody records");
}

static void test_timeline_that_stopped(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	record_two();
	fake_timeline_begin();
	fake_request(0, 3, 1000, 8192);
	fake_timeline_header()->frozen = CHARIO_TIMELINE_STOPPED;
	fake_timeline_header()->stop_ns = 1090;
	fake_timeline_header()->stop_duration_ns = 90;
	fake_timeline_end();
	EQUAL(RUN("timeline --seconds 0.001 --stop-above-us 1 0 2>&1"), 0);
	SAYS("Stopped by a request of 90 ns: offset 8192, result 4096, task 100\n");
	SAYS("          60 ns  irq\n");
	EQUAL(RUN("timeline --seconds 0.001 --stop-above-us 1 --json 0"), 0);
	SAYS("\"duration_ns\": 90");
}

static void test_which_store(void)
{
	EQUAL(RUN("ls 2>&1"), 1);
	SAYS("which store? there is no disk of CharIO here\n");
	SAYS("give --store STORE (a disk, a block device or a file), or set CHARIO_STORE");
	EQUAL(RUN("stat area 2>&1"), 1);
	SAYS("cannot open disk \"area\"");
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(RUN("ls 2>&1"), 1);
	SAYS("cannot open the store \"/dev/chardisk0\"");
	EQUAL(RUN("stat area 2>&1"), 1);
	SAYS("cannot open the store \"/dev/chardisk0\"");
	EQUAL(RUN("stat --store nosuch 0 2>&1"), 1);
	SAYS("cannot open the store \"nosuch\"");
	EQUAL(RUN("stat --store nosuch -i 1 0 2>&1"), 2);
}

static void test_plain_file_in_place_of_disk(void)
{
	fake_file("", "/dev/chardisk987");
	EQUAL(RUN("put /dev/chardisk987 area 2>&1"), 1);
	SAYS("cannot use \"/dev/chardisk987\": it has the path of a disk and is not its node");
	SAYS("(ENOTBLK)\nmove it away (mv)");
	EQUAL(RUN("put /dev/../dev/chardisk986 area 2>&1"), 1);
	SAYS("there is no such disk (ENODEV)");
}

/* A store that the program itself makes on the fake machine, without it. */
#define STORE       "$CHARIO_FAKE_ROOT/a.store"
#define REALLY(...) fake_run(output, sizeof(output), "\"$CHARIO_ITSELF\" " __VA_ARGS__)

static void test_get_onto_disk(void)
{
	EQUAL(RUN("bind nvme0 2>&1"), 0);
	EQUAL(REALLY("format --size 8M " STORE " 2>&1"), 0);
	EQUAL(REALLY("create --store " STORE " a 512 2>&1"), 0);
	EQUAL(REALLY("create --store " STORE " b 513 2>&1"), 0);
	EQUAL(RUN("get --store /a.store a /dev/chardisk0 2>&1"), 1);
	SAYS("\"/dev/chardisk0\" is a disk; --force writes over what is there");
	EQUAL(RUN("get --force --store /a.store b /dev/chardisk0 2>&1"), 1);
	SAYS("has 513 bytes, and \"/dev/chardisk0\" takes multiples of 512");
	EQUAL(RUN("get --force --store /a.store a /dev/chardisk0 2>&1"), 1);
	SAYS("store on \"/dev/chardisk0\"");
}

static void test_full_output(void)
{
	EQUAL(RUN("help 2>&1 >/dev/full"), 1);
	SAYS("cannot write the output");
}

static const struct tap_test tests[] = {
	{ "help", test_help },
	{ "alternatives are not taken together", test_what_excludes_another },
	{ "addresses to listen at", test_addresses },
	{ "names of hosts", test_hosts },
	{ "wrong usage ends with 2", test_usage_is_2 },
	{ "version", test_version },
	{ "list", test_list },
	{ "bind and unbind, and how to undo", test_bind_and_unbind },
	{ "bind refuses and names the mount points", test_bind_refused },
	{ "one bad drive does not keep the others", test_bind_several },
	{ "bind without the module says how to get it", test_bind_without_module },
	{ "bind without rights says so", test_bind_without_rights },
	{ "bind that fails midway says where the drive is", test_bind_fails_midway },
	{ "unbind names the process that has the disk open", test_unbind_refused },
	{ "info and stat", test_info_and_stat },
	{ "health", test_health },
	{ "health that gets worse ends with 3 and 4", test_health_gets_worse },
	{ "health, watched", test_health_watch },
	{ "pin, and a program that runs meanwhile", test_pin },
	{ "plan", test_plan },
	{ "timeline", test_timeline },
	{ "timeline of a program, and its tags", test_timeline_of_a_program },
	{ "timeline that stopped by itself", test_timeline_that_stopped },
	{ "the only disk is the store, unless another is said", test_which_store },
	{ "a plain file in the place of a disk is no source", test_plain_file_in_place_of_disk },
	{ "get writes over a disk only with --force, and whole blocks", test_get_onto_disk },
	{ "output that cannot be written is a failure", test_full_output },
};

static void begin(void)
{
	output[0] = '\0';
	unsetenv("CHARIO_STORE");
	fake_begin();
	fake_usual_drive();
}

static void end(void)
{
	json_object_put(document);
	document = NULL;
	fake_end();
}

TAP_MAIN(tests, begin, end)
