// SPDX-License-Identifier: MIT
/*
 * All verbs on one screen.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct cli_option list_options[] = {
	{ 'a', "all", NULL, "also the NVMe controllers of this machine and their drivers" },
	{ 0 },
};

static const struct cli_option bind_options[] = {
	{ 'f', "force", NULL, "given twice: although the drive is in use (its data may be lost)" },
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

static const struct cli_option timeline_options[] = {
	{ 's', "seconds", "SECONDS", "record for this long; without it, until an interrupt" },
	{ 'u', "stop-above-us", "MICROSECONDS", "freeze at the first request that takes longer" },
	{ 'r', "records", "N", "records that each ring holds, a power of two" },
	{ 'a', "all", NULL, "print every record" },
	{ 't', "tag", "VALUE", "in PROGRAM: put a tag beside its records" },
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
	{ "stat", "DISK", "show the counters of a disk", "", stat_options, cmd_stat },
	{ "health", "DISK", "show how the drive of a disk is",
	  "Ends with 0 when it is well, 3 when there is a warning, 4 when data are in\n"
	  "danger.  Says what to do.",
	  health_options, cmd_health },
	{ "pin", "DISK [-- COMMAND [ARGUMENT...]]",
	  "run a program while the drive's power states and retries are pinned",
	  "Says which pins are in force and what the drive refuses.  Without COMMAND\n"
	  "nothing stays pinned.",
	  pin_options, cmd_pin },
	{ "timeline", "DISK [-- PROGRAM...]", "record when requests reach their stages",
	  "Records all who use the disk, while PROGRAM runs where one is given.\n"
	  "The newest records are kept; how many were lost is said.",
	  timeline_options, cmd_timeline },
	{ "help", "[VERB]", "show this help, or that of a verb", "", cli_no_own_options, cmd_help },
	{ 0 },
};

const struct cli_command *cli_find_command(const char *name)
{
	for (const struct cli_command *command = cli_commands; command->name; command++)
		if (!strcmp(command->name, name))
			return command;
	fprintf(stderr, "chario: there is no verb \"%s\"; see chario help\n", name);
	return NULL;
}
