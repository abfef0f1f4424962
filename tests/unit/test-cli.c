// SPDX-License-Identifier: MIT
/*
 * What a user sees: words, JSON and exit codes of the program chario.
 *
 * CHARIO names a build of it that runs on the fake machine.
 */
#include <json-c/json.h>

#include <chario/health.h>

#include "fake-timeline.h"

static char output[65536];

#define RUN(...) fake_run(output, sizeof(output), "\"$CHARIO\" " __VA_ARGS__)
#define SAYS(text)                                                         \
	do {                                                               \
		if (!strstr(output, text)) {                               \
			TAP_FAIL("not said: %s\n# but: %s", text, output); \
			return;                                            \
		}                                                          \
	} while (0)

/* The program ends with a status, and says each of the texts behind the command. */
#define GIVES(status, ...)                                                                 \
	do {                                                                               \
		const char *const words[] = { __VA_ARGS__ };                               \
		int is = RUN("%s 2>&1", words[0]);                                         \
		if (is != (status)) {                                                      \
			TAP_FAIL("%s gives %d, not %d: %s", words[0], is, status, output); \
			return;                                                            \
		}                                                                          \
		for (size_t i = 1; i < sizeof(words) / sizeof(words[0]); i++)              \
			SAYS(words[i]);                                                    \
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

/* The program ends with a status, and its output is a document. */
#define PARSES(status, command)                        \
	do {                                           \
		EQUAL(RUN(command), status);           \
		json_object_put(document);             \
		document = json_tokener_parse(output); \
		CHECK(document);                       \
	} while (0)

TEST(test_help, "help")
{
	GIVES(0, "help", "usage: chario VERB");
	GIVES(0, "--help");
	GIVES(0, "-h", "usage: chario VERB");
	GIVES(0, "bind --help", "usage: chario bind", "--force");
	GIVES(0, "help plan", "--limits LIST");
	PARSES(0, "help --json");
	SAME_TEXT(member("name"), "list");
	/* Only --help and -h are looked for before the options, which have these other forms. */
	GIVES(2, "rm --he area", "usage: chario rm");
	GIVES(2, "rm -jh area", "usage: chario rm");
}

TEST(test_usage_is_2, "wrong usage ends with 2")
{
	char wrong[] =
		"|help frobnicate|list extra|info a b|bind|unbind|stat|stat 0 --interval 0|"
		"stat 0 --interval nan|stat 0 --count 3|stat 0 --interval 1 --count 0|health|"
		"health 0 --count 3|health 0 --watch --interval 0|pin|pin --only '' 0|timeline|"
		"timeline 0 --seconds 0|timeline 0 --stop-above-us 0|timeline 0 --tag 1|"
		"timeline --tag x|timeline --seconds 1 0 -- true|plan|plan 0 1|"
		"plan --limits= 0 1 2|plan --limits block 0 1|plan --limits chunk=5G 0 1|"
		"plan --limits= -- -1 4k|plan --limits= 1x 4k|plan --limits= 99999999P 4k";

	for (char *command, *rest = wrong; (command = strsep(&rest, "|"));)
		GIVES(2, command);
	GIVES(2, "frobnicate", "no verb \"frobnicate\"");
	GIVES(2, "list --frobnicate", "\"--frobnicate\" is not an option here\n");
	GIVES(2, "list -jx", "\"-x\" is not an option here\n");
	GIVES(2, "list --all=1", "\"--all=1\": this option takes no argument\n");
	GIVES(2, "create a --record", "\"--record\" needs an argument behind it\n");
	GIVES(2, "create a -jR", "\"-jR\" needs an argument behind it\n");
	GIVES(2, "record a --fl 1 --f 2", "\"--f\" is the beginning of several options\n");
	GIVES(2, "info", "chario info DISK");
	GIVES(2, "health 0 --interval 1", "need --watch");
	GIVES(2, "pin --only retry,sleep 0", "\"retry,sleep\" is not a list of pins");
	GIVES(2, "timeline 0 --records 100", "power of two");
	GIVES(2, "plan --limits colour=3 0 1", "colour=3");
	GIVES(2, "plan --limits= -1M 4k", "not negative");
}

TEST(test_what_excludes_another, "alternatives are not taken together")
{
	GIVES(2, "run -i -o -A a -- true", "--stdin or --stdout");
	GIVES(2, "run -r -f -A a -- true", "give one of them");
	GIVES(2, "region list --name a", "for region create");
	GIVES(2, "region remove -t chardisk0p1");
	GIVES(2, "region apply -f");
	GIVES(2, "export --stop --listen 192.0.2.1 chardisk0p1", "--stop ends");
	GIVES(2, "export --stop --host nqn.a chardisk0p1");
	GIVES(2, "export --host nqn.a");
}

#define LISTENS(address, status)                                                      \
	do {                                                                          \
		EQUAL(RUN("export chardisk9p1 --listen '" address "' 2>&1"), status); \
		if (status == 2)                                                      \
			SAYS("\"" address "\"");                                      \
	} while (0)

TEST(test_addresses, "addresses to listen at")
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

TEST(test_hosts, "names of hosts")
{
	static const char listen[] = "export chardisk9p1 --listen ::1 --host";

	EQUAL(RUN("%s nqn.$(printf %%0219d 0) 2>&1", listen), 1);
	EQUAL(RUN("%s nqn.$(printf %%0220d 0) 2>&1", listen), 2);
	SAYS("219 bytes");
	EQUAL(RUN("%s 'nqn.a b' 2>&1", listen), 2);
	EQUAL(RUN("%s \"$(printf 'nqn.a\\nb')\" 2>&1", listen), 2);
	EQUAL(RUN("%s me 2>&1", listen), 2);
}

TEST(test_version, "version")
{
	GIVES(0, "--version", "module 0.1.0, 0 disks");
	GIVES(2, "--version extra", "nothing goes behind --version");
	fake_module_is_not_installed();
	GIVES(0, "--version", "module not loaded");
}

TEST(test_list, "list")
{
	GIVES(0, "list", "no disk of CharIO; chario list --all shows");
	GIVES(0, "list --all", "no disk of CharIO; chario bind ADDRESS");
	PARSES(0, "region apply --json");
	SAME_TEXT(member("regions"), "[ ]");
	PARSES(0, "list --all --json");
	SAME_TEXT(member("disks"), "[ ]");
	SAYS("\"driver\": \"nvme\"");
	GIVES(0, "bind 01:00.0");
	GIVES(0, "list", "/dev/chardisk0  1.0 GiB  512    nvme     live   " FAKE_ADDRESS "  SN-1");
	GIVES(0, "list --all", FAKE_ADDRESS "  chario  -     SN-1    Model of a drive\n");
}

TEST(test_bind_and_unbind, "bind and unbind, and how to undo")
{
	GIVES(0, "bind /dev/nvme0n1", FAKE_ADDRESS ": from nvme to chario\n",
	      "/dev/chardisk0  1.0 GiB  Model of a drive  SN-1\n",
	      "undo: chario unbind " FAKE_ADDRESS "\n");
	GIVES(0, "bind " FAKE_ADDRESS, "is with chario already");
	GIVES(0, "unbind 0", FAKE_ADDRESS ": from chario to nvme\n");
	GIVES(1, "unbind " FAKE_ADDRESS, "is not with chario but with nvme");
}

TEST(test_bind_refused, "bind refuses and names the mount points")
{
	fake_mount("259:1", "/boot", "vfat", "/dev/nvme0n1p1", "rw");
	fake_mount("259:2", "/", "ext4", "/dev/root", "rw");
	GIVES(1, "bind nvme0", FAKE_ADDRESS " is in use and stays with nvme:",
	      "  nvme0n1p2 holds the root file system, /\n  nvme0n1p1 is mounted at /boot\n",
	      "--force --force");
	GIVES(1, "bind --force nvme0");
	PARSES(1, "bind -f --json nvme0 2>/dev/null");
	SAME_TEXT(member("error"), "EBUSY");
	SAME_TEXT(member("driver"), "nvme");
	SAYS("\"kind\": \"root\"");
	SAYS("\"what\": \"/boot\"");
	SAME_TEXT(fake_target("/sys/bus/pci/devices/" FAKE_ADDRESS "/driver"), "nvme");
	GIVES(0, "bind -ff nvme0");
}

TEST(test_bind_several, "one bad drive does not keep the others")
{
	GIVES(1, "bind 0000:09:00.0 " FAKE_ADDRESS, "there is no drive \"0000:09:00.0\"",
	      "from nvme to chario");
}

TEST(test_bind_without_module, "bind without the module says how to get it")
{
	fake_module_is_not_installed();
	GIVES(1, "bind nvme0", "sudo make install");
}

TEST(test_bind_without_rights, "bind without rights says so")
{
	fake_fail_write("driver_override", EACCES);
	GIVES(1, "bind nvme0", "only root may", "use sudo");
}

TEST(test_bind_fails_midway, "bind that fails midway says where the drive is")
{
	fake_fail_write("drivers/chario/bind", EOPNOTSUPP);
	GIVES(1, "bind nvme0", "the kernel log says why", "it is back with nvme");
}

TEST(test_unbind_refused, "unbind names the process that has the disk open")
{
	GIVES(0, "bind nvme0");
	fake_process("12", "fio", "/dev/chardisk0");
	GIVES(1, "unbind chardisk0", "chardisk0 is open in process 12 (fio)");
	GIVES(0, "unbind --force chardisk0");
}

TEST(test_info_and_stat, "info and stat")
{
	GIVES(1, "info 0", "(ENODEV)", "see chario list");
	GIVES(0, "bind nvme0");
	GIVES(0, "info 0", "capacity           1073741824 bytes (1.0 GiB)\n",
	      "boundary           none\n",
	      "state              live\naddress            " FAKE_ADDRESS "\n",
	      "features           fua\n");
	PARSES(0, "info --json SN-1");
	SAME_TEXT(member("chunk_bytes"), "4194304");
	GIVES(0, "stat 0", "write_commands        12\n");
	PARSES(0, "stat 0 --json");
	SAME_TEXT(member("late_reaps"), "24");
	EQUAL(RUN("stat 0 --interval 0.001 --count 2 --json"), 0);
	SAYS("}\n{\"passed_ns\":");
	GIVES(0, "stat 0 -i 0.001 -c 1", "reads/s");
}

TEST(test_health, "health")
{
	GIVES(0, "bind nvme0");
	GIVES(0, "health 0", "health             ok\n",
	      "temperature        50 C (too hot from 70 C, may stop from 100 C)\n",
	      "spare              100 % (the drive warns below 10 %)\n",
	      "unsafe shutdowns   2 of 7\n");
	PARSES(0, "health --json 0");
	SAME_TEXT(member("status"), "ok");
	SAME_TEXT(member("temperature_c"), "50");
	SAME_TEXT(member("data_units_written"), "2000");
	SAME_TEXT(member("reasons"), "{ }");
}

TEST(test_health_gets_worse, "health that gets worse ends with 3 and 4")
{
	GIVES(0, "bind nvme0");
	fake_health(CHARIO_HEALTH_WARNING, CHARIO_HEALTH_TEMPERATURE | CHARIO_HEALTH_WEAR, 341, 2);
	GIVES(3, "health 0", "health             warning\n",
	      "temperature: the drive is hot: give it more air",
	      "wear: most of the drive's life is used");
	fake_health(CHARIO_HEALTH_CRITICAL, CHARIO_HEALTH_SPARE, 0, 2);
	PARSES(4, "health 0 --json");
	SAME_TEXT(member("status"), "critical");
	SAYS("\"temperature_c\": null");
	SAYS("\"spare\": \"spare blocks run out: copy the data now");
}

TEST(test_health_watch, "health, watched")
{
	GIVES(0, "bind nvme0");
	fake_event_comes();
	GIVES(4, "health 0 --watch --count 3 --interval 0.001",
	      "ok          50 C  spare 100 %  used 3 %    media errors 0  events 0  \n"
	      "critical    50 C  spare 100 %  used 3 %    media errors 0  events 1  read-only\n"
	      "critical  ");
	EQUAL(RUN("health 0 --watch -c 2 -i 0.001 --json"), 4);
	SAYS("}\n{\"path\":\"/dev/chardisk0\",\"status\":\"critical\"");
}

TEST(test_pin, "pin, and a program that runs meanwhile")
{
	GIVES(0, "bind nvme0");
	GIVES(0, "pin 0", "apst         absent\n", "power-state  in force\n",
	      "vectors      refused: NVMe status 0x10e\n");
	PARSES(0, "pin --json --only retry,apst 0");
	SAME_TEXT(member("retry"), "{ \"outcome\": \"in force\", \"status\": 0 }");
	SAME_TEXT(member("cpu"), "no such member");
	EQUAL(RUN("pin 0 -- sh -c 'echo said; exit 5' 2>/dev/null"), 5);
	SAME_TEXT(output, "said\n");
	GIVES(128 + 9, "pin 0 -- sh -c 'kill -9 $$'");
	GIVES(127, "pin 0 -- /no/such/program", "cannot start \"/no/such/program\"");
}

TEST(test_plan, "plan")
{
	GIVES(0, "plan --limits block=4k 4k 9M", "72 commands, 9437184 bytes (9 MiB)\n");
	PARSES(0, "plan --limits block=512,boundary=64k,command=64KiB --json 63k 66k");
	SAME_TEXT(member("commands"), "3");
	GIVES(1, "plan --limits= 0 1", "EINVAL");
	GIVES(1, "plan --write --limits capacity=1M 1M 4k", "ENOSPC");
	GIVES(0, "plan --limits capacity=1M 1M 4k", "0 commands, 0 bytes (0 B), cut from 4096\n");
	GIVES(1, "plan --limits chunk=0 0 4k", "no disk has such limits");
	GIVES(0, "bind nvme0");
	GIVES(0, "plan 0 0x1000 512", "1 command, 512 bytes");
}

static void record_two(void)
{
	fake_timeline_begin();
	fake_request(0, 3, 1000, 8192);
	fake_request(1, 4, 2000, 4096);
	fake_timeline_end();
}

TEST(test_timeline, "timeline")
{
	GIVES(0, "bind nvme0");
	GIVES(1, "timeline 0 --seconds 0.001", "cannot record \"0\"");
	record_two();
	GIVES(0, "timeline --seconds 0.001 0",
	      "reap      2         10      10      20   20     20\n",
	      "whole     2         90      90      90   90     90\n", "irq       1         10",
	      "          50 ns  command submitted to the drive (doorbell)\n",
	      "          90 ns  application is resumed (finish)\n",
	      "19 records, 0 lost; 0 tags, 0 lost\n", "A record costs 42 ns");
	PARSES(0, "timeline --json --seconds 0.001 0");
	SAME_TEXT(member("lost_records"), "0");
	SAYS("\"stage\": \"whole\"");
	SAYS("\"point\": \"submitted\"");
	fake_file("", "/fake/recorded");
	GIVES(1, "timeline --seconds 0.001 0", "somebody records");
}

TEST(test_timeline_of_a_program, "timeline of a program, and its tags")
{
	GIVES(0, "bind nvme0");
	record_two();
	GIVES(0, "timeline 0 -- true", "19 records, 0 lost");
	GIVES(1, "timeline 0 -- sh -c 'exit 3'", "ended with exit status 3", "19 records, 0 lost");
	GIVES(1, "timeline 0 -- no-such-program", "cannot run \"no-such-program\"");
	GIVES(0, "timeline --all 0 -- \"$CHARIO\" timeline --tag 0x77", " tag 119\n",
	      "19 records, 0 lost; 1 tags, 0 lost\n");
	EQUAL(RUN("timeline --json --all 0 -- true"), 0);
	SAYS("\"stage\": \"tag\"");
	GIVES(1, "timeline --tag 1", "no timeline is being recorded");
}

TEST(test_timeline_that_stopped, "timeline that stopped by itself")
{
	GIVES(0, "bind nvme0");
	record_two();
	fake_timeline_begin();
	fake_request(0, 3, 1000, 8192);
	fake_timeline_header()->frozen = CHARIO_TIMELINE_STOPPED;
	fake_timeline_header()->stop_ns = 1090;
	fake_timeline_header()->stop_duration_ns = 90;
	fake_timeline_end();
	GIVES(0, "timeline --seconds 0.001 --stop-above-us 1 0",
	      "Stopped by a request of 90 ns: offset 8192, result 4096, task 100\n",
	      "          60 ns  irq\n");
	EQUAL(RUN("timeline --seconds 0.001 --stop-above-us 1 --json 0"), 0);
	SAYS("\"duration_ns\": 90");
}

/* The disk has two regions and a block disk. */
static void divide_disk(void)
{
	static const char folder[] = "/sys/devices/pci0000:00/" FAKE_ADDRESS "/chario/chardisk0";

	fake_file("1\n", "%s/block", folder);
	for (int i = 1; i < 3; i++) {
		fake_file("4096\n", "/sys/class/chario/chardisk0p%d/size", i);
		fake_link(folder, "/sys/class/chario/chardisk0p%d/device", i);
	}
}

TEST(test_names_of_disks, "a name that is no disk's says what it is")
{
	static const char *const verbs[] = { "info",   "stat",        "health",
					     "pin",    "timeline",    "bind",
					     "unbind", "region list", "region apply" };
	static const char *const movers[] = { "bind", "unbind" };

	GIVES(0, "bind nvme0");
	divide_disk();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		EQUAL(RUN("%s '' 2>&1", verbs[i]), 1);
		SAYS(" is empty; chario list --all shows");
	}
	for (size_t i = 0; i < 2; i++) {
		EQUAL(RUN("%s chardisk0p2 2>&1", movers[i]), 1);
		SAYS("\"chardisk0p2\" is the name of a region, and this takes the whole drive with all "
		     "its regions\nname its disk, chardisk0");
		EQUAL(RUN("%s /dev/chardisk0p1 2>&1", movers[i]), 1);
		SAYS("name its disk, chardisk0");
	}
	GIVES(1, "region list chardisk0p2", "is the name of a region; name its disk, chardisk0");
	GIVES(1, "region create /dev/chardisk0p2", "name its disk, chardisk0");
	GIVES(1, "region list chardisk9", "the disk is not there");
	GIVES(1, "format chardisk0b", "there is no file \"chardisk0b\" here", "/dev/chardisk0b");
	GIVES(1, "ls --store chardisk0b", "named by its path: /dev/chardisk0b");
	GIVES(1, "format nosuch", "there is no disk and no file \"nosuch\"");
	GIVES(0, "list", "/dev/chardisk0 ", "chardisk0p2");
	/* From here on the disk can be read, as a plain file. */
	fake_file("", "/fake/is_file");
	EQUAL(fake_run(output, sizeof(output), "truncate -s 1M $CHARIO_FAKE_ROOT/dev/chardisk0"),
	      0);
	GIVES(1, "ls", "no store on \"/dev/chardisk0\" itself, but the disk has regions",
	      ": /dev/chardisk0p1 /dev/chardisk0p2\ngive one that has a store with --store");
	GIVES(1, "ls --store 0", "no store on \"0\" itself");
}

TEST(test_which_store, "the only disk is the store, unless another is said")
{
	GIVES(1, "ls", "which store? there is no disk of CharIO here\n",
	      "give --store STORE (a disk, a block device or a file), or set CHARIO_STORE");
	GIVES(1, "stat area", "cannot open disk \"area\"");
	GIVES(0, "bind nvme0");
	GIVES(1, "ls", "cannot open the store \"/dev/chardisk0\"");
	GIVES(1, "stat area", "cannot open the store \"/dev/chardisk0\"");
	GIVES(1, "stat --store nosuch 0", "cannot open the store \"nosuch\"");
	GIVES(2, "stat --store nosuch -i 1 0");
}

TEST(test_plain_file_in_place_of_disk, "a plain file in the place of a disk is no source")
{
	fake_file("", "/dev/chardisk987");
	GIVES(1, "put /dev/chardisk987 area",
	      "cannot use \"/dev/chardisk987\": it has the path of a disk and is not its node",
	      "(ENOTBLK)\nmove it away (mv)");
	GIVES(1, "put /dev/../dev/chardisk986 area", "there is no such disk (ENODEV)");
}

/* A store that the program itself makes on the fake machine, without it. */
#define STORE       "$CHARIO_FAKE_ROOT/a.store"
#define REALLY(...) fake_run(output, sizeof(output), "\"$CHARIO_ITSELF\" " __VA_ARGS__)

TEST(test_get_onto_disk, "get writes over a disk only with --force, and whole blocks")
{
	GIVES(0, "bind nvme0");
	EQUAL(REALLY("format --size 8M " STORE " 2>&1"), 0);
	EQUAL(REALLY("create --store " STORE " a 512 2>&1"), 0);
	EQUAL(REALLY("create --store " STORE " b 513 2>&1"), 0);
	GIVES(1, "get --store /a.store a /dev/chardisk0",
	      "\"/dev/chardisk0\" is a disk; --force writes over what is there");
	GIVES(1, "get --force --store /a.store b /dev/chardisk0",
	      "has 513 bytes, and \"/dev/chardisk0\" takes multiples of 512");
	GIVES(1, "get --force --store /a.store a /dev/chardisk0", "store on \"/dev/chardisk0\"");
}

TEST(test_full_output, "output that cannot be written is a failure")
{
	EQUAL(RUN("help 2>&1 >/dev/full"), 1);
	SAYS("cannot write the output");
}

static void begin(void)
{
	output[0] = '\0';
	unsetenv("CHARIO_STORE");
	fake_begin_usual();
}

static void end(void)
{
	json_object_put(document);
	document = NULL;
	fake_end();
}

TEST_MAIN(begin, end)
