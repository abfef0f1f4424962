// SPDX-License-Identifier: MIT
/*
 * All verbs on one screen.
 */
#include <string.h>

#include "store.h"

#define QUIET_OPTION { 'q', "quiet", NULL, "show no progress" }

static const struct cli_option list_options[] = {
	{ 'a', "all", NULL, "also the NVMe controllers of this machine and their drivers" },
	{ 0 },
};

static const struct cli_option bind_options[] = {
	{ 'f', "force", NULL, "given twice: although the drive is in use (its data may be lost)" },
	{ 'b', "block", NULL, "and make its disks block devices as well, /dev/chardiskNb" },
	{ 'k', "keep", NULL, "and again whenever it appears, until chario unbind" },
	{ 'i', "if-kept", NULL, "only drives that are kept: what udev asks for" },
	{ 0 },
};

static const struct cli_option unbind_options[] = {
	{ 'f', "force", NULL, "although a disk is open; its users get ENODEV" },
	{ 0 },
};

static const struct cli_option plan_options[] = {
	{ 'l', "limits", "LIST", "no disk, but block=,command=,chunk=,boundary=,capacity=" },
	{ 'w', "write", NULL, "plan a write instead of a read" },
	{ 0 },
};

static const struct cli_option stat_options[] = {
	CLI_STORE_OPTION,
	{ 'i', "interval", "SECONDS", "print what changes, again and again" },
	{ 'c', "count", "N", "with --interval: stop after N lines" },
	{ 0 },
};

static const struct cli_option health_options[] = {
	{ 'w', "watch", NULL, "a line at each event, and now and then" },
	{ 'i', "interval", "SECONDS", "with --watch: longest time between lines, 10" },
	{ 'c', "count", "N", "with --watch: stop after N lines" },
	{ 0 },
};

static const struct cli_option pin_options[] = {
	{ 'o', "only", "LIST", "of apst,power-state,coalescing,vectors,retry,cpu,link" },
	{ 0 },
};

static const struct cli_option region_options[] = {
	{ 'n', "name", "NAME", "create: name of the partition" },
	{ 't', "new-table", NULL, "create: make a GPT first, on an empty disk" },
	{ 'f', "force", NULL, "create -t, remove: although something is there, which is lost" },
	{ 0 },
};

static const struct cli_option export_options[] = {
	{ 'l', "listen", "ADDRESS[:PORT]", "where to listen; port 4420 unless said" },
	{ 'H', "host", "NQN", "who may connect; may be given several times" },
	{ 's', "stop", NULL, "end the export" },
	{ 0 },
};

static const struct cli_option run_options[] = {
	CLI_STORE_OPTION,
	{ 'A', "area", "NAME", "the area" },
	{ 'i', "stdin", NULL, "it is the standard input of PROGRAM" },
	{ 'o', "stdout", NULL, "it is the standard output of PROGRAM" },
	{ 'r', "read-only", NULL, "PROGRAM cannot write to it" },
	{ 'f', "force", NULL, "although it is a recording, over which PROGRAM may write" },
	{ 0 },
};

static const struct cli_option timeline_options[] = {
	{ 's', "seconds", "SECONDS", "record for this long; without it, until an interrupt" },
	{ 'u', "stop-above-us", "MICROSECONDS", "freeze at the first request that takes longer" },
	{ 'r', "records", "N", "records that each ring holds, a power of two" },
	{ 'a', "all", NULL, "print every record" },
	{ 't', "tag", "VALUE", "in PROGRAM: put a tag beside its records" },
	{ 0 },
};

static const struct cli_option store_options[] = {
	CLI_STORE_OPTION,
	{ 0 },
};

static const struct cli_option rename_options[] = {
	CLI_STORE_OPTION,
	{ 'f', "force", NULL, "an area that has the new name goes, in the same step" },
	{ 'x', "exchange", NULL, "each gets the name of the other, in one step" },
	{ 0 },
};

static const struct cli_option set_options[] = {
	CLI_STORE_OPTION,
	{ 'u', "unset", "KEY", "take this one away; may be given several times" },
	{ 0 },
};

static const struct cli_option format_options[] = {
	CLI_STORE_OPTION,
	{ 'u', "upgrade", NULL, "take a store of the first release to the present format" },
	{ 'f', "force", NULL, "although a store or a file system is there: it is lost" },
	{ 'n', "areas", "N", "areas that there can be; without it, what suits the disk" },
	{ 'a', "align", "SIZE", "areas begin at multiples of this, a power of two from 4k" },
	{ 'S', "size", "SIZE", "create a file of this size first" },
	{ 0 },
};

static const struct cli_option check_options[] = {
	CLI_STORE_OPTION,
	{ 'r', "repair", NULL, "put right what is safe to put right" },
	{ 'F', "forget", NULL, "with --repair: give up the areas of blocks that are lost" },
	{ 'd', "data", NULL, "read all areas too, and the records of all recordings" },
	QUIET_OPTION,
	{ 0 },
};

static const struct cli_option rm_options[] = {
	CLI_STORE_OPTION,
	{ 'f', "force", NULL, "an area that is not there is no failure" },
	{ 0 },
};

static const struct cli_option ls_options[] = {
	CLI_STORE_OPTION,
	{ 'l', "long", NULL, "also what recordings hold: records, data, times, how they ended" },
	{ 0 },
};

static const struct cli_option create_options[] = {
	CLI_STORE_OPTION,
	{ 'R', "record", "SIZE", "say how many records of this size fit" },
	{ 0 },
};

static const struct cli_option put_options[] = {
	CLI_STORE_OPTION,
	{ 'b', "bytes", "SIZE", "so many bytes; a pipe needs it" },
	{ 'c', "changed", NULL, "write only the blocks that differ to an area that is there" },
	{ 'f', "force", NULL, "replace an area that is there; with -c: change its length" },
	{ 'R', "remove-first", NULL,
	  "with --force: remove it before, where there is no room for both" },
	QUIET_OPTION,
	{ 0 },
};

static const struct cli_option get_options[] = {
	CLI_STORE_OPTION,
	{ 'f', "force", NULL,
	  "replace FILE, or what is on a disk; take an area that is not all there" },
	QUIET_OPTION,
	{ 0 },
};

static const struct cli_option cat_options[] = {
	CLI_STORE_OPTION,
	{ 'f', "force", NULL, "also an area that is not all there" },
	{ 0 },
};

static const struct cli_option defrag_options[] = {
	CLI_STORE_OPTION,
	QUIET_OPTION,
	{ 0 },
};

static const struct cli_option record_options[] = {
	CLI_STORE_OPTION,
	{ 'f', "from", "SOURCE", "-, FILE, unix:PATH, udp:HOST:PORT or tcp:HOST:PORT" },
	{ 'S', "size", "SIZE", "create the area where it is missing" },
	{ 'r', "ring", NULL, "when the area is full the oldest goes" },
	{ 'a', "append", NULL, "go on where the recording ends" },
	{ 'F', "force", NULL, "begin anew although there is a recording" },
	{ 't', "seconds", "SECONDS", "record for so long" },
	{ 'b', "bytes", "SIZE", "record so many bytes" },
	{ 'R', "record", "SIZE", "record length of a byte stream, or the largest datagram; 64k" },
	{ 'd', "durability", "KIND", "auto, none, flush or fua" },
	{ 'm', "flush-ms", "MS", "longest time in ms until what came is durable, 1000" },
	{ 'l', "late-ms", "MS", "a segment that takes longer is late, 100" },
	{ 'g', "segment", "SIZE", "bytes of a write, about 4M, so that records fill it" },
	{ 'n', "buffers", "N", "segments that are held in memory, 8, or as many as take 64M" },
	{ 'D', "drop", NULL,
	  "where the disk is too slow, drop and count; never let the source wait" },
	{ 'u', "urgent", NULL, "file systems on the same drive stand back" },
	{ 'N', "dry-run", NULL, "record nothing, say how much fits" },
	QUIET_OPTION,
	{ 0 },
};

static const struct cli_option replay_options[] = {
	CLI_STORE_OPTION,
	{ 'p', "paced", NULL, "at the pace of the recording" },
	{ 'F', "from-time", "TIME", "leave out records whose time is earlier" },
	{ 'T', "to-time", "TIME", "leave out records whose time is later" },
	{ 'n', "first", "N", "the first N records only" },
	{ 'o', "output", "FILE", "a new file instead of standard output (-)" },
	{ 0 },
};

static const struct cli_option tail_options[] = {
	CLI_STORE_OPTION,
	{ 'n', "records", "N", "so many to begin with, 10" },
	{ 'f', "follow", NULL, "and those that come, until the recording ends" },
	{ 0 },
};

const struct cli_command cli_commands[] = {
	{ "list", "", "show the disks", "No right to a device is needed.", list_options, cmd_list },
	{ "info", "DISK", "show what a disk is and can do",
	  "DISK is a path, chardiskN, N, or the serial number of the drive.", cli_no_own_options,
	  cmd_info },
	{ "bind", "DRIVE...", "give NVMe drives to CharIO",
	  "DRIVE is a PCI address (0000:01:00.0) or a block device (/dev/nvme0n1).\n"
	  "Refused while anything uses the drive.  Undo it with chario unbind.",
	  bind_options, cmd_bind },
	{ "unbind", "DRIVE...", "give drives back to the driver that they had",
	  "DRIVE is a PCI address (0000:01:00.0) or one of the drive's disks.\n"
	  "Refused while a disk of the drive is open.",
	  unbind_options, cmd_unbind },
	{ "plan", "[DISK] OFFSET LENGTH", "show the device commands that a call costs",
	  "Nothing is transferred.  OFFSET and LENGTH are bytes and take the suffixes\n"
	  "k, M, G, T and P, powers of 1024.  Without DISK, --limits says what to\n"
	  "plan for; what it leaves out is block=512,command=128k,chunk=4M, no\n"
	  "boundary and no end.",
	  plan_options, cmd_plan },
	{ "stat", "DISK|NAME", "show the counters of a disk, or an area of a store",
	  "What is a disk is shown as a disk; with --store NAME is always an area.", stat_options,
	  cmd_stat },
	{ "health", "DISK", "show how the drive of a disk is",
	  "Ends with 0 when it is well, 3 when there is a warning, 4 when data are in\n"
	  "danger.  Says what to do.",
	  health_options, cmd_health },
	{ "pin", "DISK [-- COMMAND [ARGUMENT...]]",
	  "run a program while the drive's power states and retries are pinned",
	  "Says which pins are in force and what the drive refuses.  Without COMMAND\n"
	  "nothing stays pinned.",
	  pin_options, cmd_pin },
	{ "region", "list|create|remove|apply [DISK|REGION...] [SIZE]",
	  "show and make parts of a disk with nodes of their own",
	  "chario region list [DISK]\n"
	  "chario region create DISK [SIZE]    without SIZE as long as the largest hole\n"
	  "chario region remove REGION...      REGION is chardiskNpM\n"
	  "chario region apply [DISK]          give the kernel what the table has\n"
	  "A region is a partition of CharIO's type in a GPT, and is used like a disk.",
	  region_options, cmd_region },
	{ "export", "[REGION|PARTITION]", "give a region or a partition to other machines",
	  "Without operand what is exported is listed.  The other machine connects with\n"
	  "nvme connect -t tcp; nobody may unless --host names it.  The block disk is what\n"
	  "is exported: chario bind --block.  An export is forgotten at a reboot.",
	  export_options, cmd_export },
	{ "timeline", "DISK [-- PROGRAM...]", "record when requests reach their stages",
	  "Records all who use the disk, while PROGRAM runs where one is given.\n"
	  "The newest records are kept; how many were lost is said.",
	  timeline_options, cmd_timeline },
	{ "format", "[STORE]", "make an empty store of named, contiguous areas",
	  "STORE is a disk, a block device or a plain file.  Refused where a store, a\n"
	  "file system, a RAID or a partition table is there, unless --force is given.\n"
	  "All other verbs find the store by --store, by the environment variable\n"
	  "CHARIO_STORE, or as the only character disk of the machine.",
	  format_options, cmd_format },
	{ "check", "[STORE]", "find, name and repair damage of the table of a store",
	  "Ends with 0 when all is well, 3 when what was found loses nothing, 4 when\n"
	  "something is lost.  Says what to do.  Writes nothing without --repair.",
	  check_options, cmd_check },
	{ "df", "[STORE]", "show how full a store is, and its largest hole", "", store_options,
	  cmd_df },
	{ "ls", "[PATTERN...]", "list the areas of a store",
	  "In the order of their places.  PATTERN is as in a shell: 'camera*'.", ls_options,
	  cmd_ls },
	{ "create", "NAME SIZE", "create an area",
	  "It holds what its place on the disk held.  SIZE takes the suffixes k, M, G, T\n"
	  "and P, powers of 1024.",
	  create_options, cmd_create },
	{ "rename", "NAME NEW-NAME", "give an area another name", "", rename_options, cmd_rename },
	{ "set", "NAME [KEY=VALUE...]", "give an area keys and values of your own",
	  "chario stat and chario ls --json show them.  All that is asked for is done in one\n"
	  "step.  Name and attributes together have 255 bytes at most.",
	  set_options, cmd_set },
	{ "resize", "NAME SIZE", "make an area longer or shorter",
	  "It is moved where the space behind it is not free.", store_options, cmd_resize },
	{ "rm", "NAME...", "remove areas", "Their bytes are not overwritten.", rm_options, cmd_rm },
	{ "put", "FILE NAME", "make an area of a file",
	  "FILE is a file, a disk, or - for standard input, with --bytes.  Ended by an\n"
	  "interrupt, a power cut or an error, the same command goes on where it was.\n"
	  "When it ends with 0 all is durable.  --changed compares with what is there, and\n"
	  "says how many blocks it has written.",
	  put_options, cmd_put },
	{ "get", "NAME FILE", "make a file of an area",
	  "FILE is - for standard output; it is called FILE.part until all of it is there.",
	  get_options, cmd_get },
	{ "cat", "NAME...", "print what areas hold", "", cat_options, cmd_cat },
	{ "run", "--area NAME -- PROGRAM [ARGUMENT...]",
	  "run a program that reaches one area, and nothing else of the disk",
	  "PROGRAM has the area as descriptor 3, a disk of the size of the area; CHARIO_AREA is\n"
	  "its path for programs that use libchario.  PROGRAM needs no right to the disk.",
	  run_options, cmd_run },
	{ "defrag", "[STORE]", "put all free space of a store into one hole",
	  "May be ended at any moment, by a power cut too; run again, it goes on.  Areas\n"
	  "that are open stay where they are.",
	  defrag_options, cmd_defrag },
	{ "record", "NAME", "record what comes in to an area",
	  "Ends with its source, at a limit or at an interrupt, and reports what was late\n"
	  "and what was lost; then it ends with 3.  A socket that udp: or unix: makes takes\n"
	  "datagrams; tcp: with an empty HOST waits for one connection.  HOST may end with\n"
	  "%INTERFACE, as in udp:239.1.2.3%eth0:5000 and udp:[ff02::5678%eth0]:5000.",
	  record_options, cmd_record },
	{ "replay", "NAME", "print the records of a recording",
	  "TIME is \"2026-11-22 03:40:12.5\", @SECONDS since 1970, or +SECONDS after the\n"
	  "first record.  With --json a line about each record, without its data.  Ends\n"
	  "with 3 when records are missing.",
	  replay_options, cmd_replay },
	{ "tail", "NAME", "print the newest records of a recording",
	  "Also while it is being made.  With --json a line about each record.", tail_options,
	  cmd_tail },
	{ "help", "[VERB]", "show this help, or that of a verb", "", cli_no_own_options, cmd_help },
	{ 0 },
};

const struct cli_command *cli_find_command(const char *name)
{
	for (const struct cli_command *command = cli_commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	cli_print_error("chario: there is no verb \"%s\"; see chario help\n", name);
	return NULL;
}
