// SPDX-License-Identifier: MIT
/* The content of a disk, as libblkid sees it in the ends of the disk. */
#include "content.h"

#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "ends.h"

/* Largest number of marks on a disk; some formats have several. */
#define MOST_MARKS 64

static void describe(blkid_probe probe, char *text, size_t size)
{
	const char *type = NULL, *usage = NULL, *what = "something";

	if (!blkid_probe_lookup_value(probe, "TYPE", &type, NULL)) {
		blkid_probe_lookup_value(probe, "USAGE", &usage, NULL);
		if (usage && !strcmp(usage, "filesystem"))
			what = "a file system";
		else if (usage && !strcmp(usage, "raid"))
			what = "a part of a RAID or LVM";
		else if (usage && !strcmp(usage, "crypto"))
			what = "an encrypted volume";
	} else if (!blkid_probe_lookup_value(probe, "PTTYPE", &type, NULL)) {
		what = "a partition table";
	}
	snprintf(text, size, "%s (%s)", what, type ? type : "of an unknown kind");
}

static int examine(blkid_probe probe, char *text, size_t size)
{
	int ret;

	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE);
	blkid_probe_enable_partitions(probe, 1);
	ret = blkid_do_safeprobe(probe);
	if (ret == 1)
		return 0;
	if (ret == 0)
		describe(probe, text, size);
	else
		snprintf(text, size, "several things, or nothing that can be told apart");
	return 1;
}

/* Wipe marks until libblkid finds no more, as wipefs --all does. */
static int wipe(blkid_probe probe)
{
	int ret = 0;

	blkid_probe_enable_superblocks(probe, 1);
	blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_MAGIC | BLKID_SUBLKS_BADCSUM);
	blkid_probe_enable_partitions(probe, 1);
	blkid_probe_set_partitions_flags(probe, BLKID_PARTS_MAGIC | BLKID_PARTS_FORCE_GPT);
	for (int i = 0; !ret && i < MOST_MARKS && !blkid_do_probe(probe); i++)
		ret = blkid_do_wipe(probe, 0) ? -EIO : 0;
	return ret;
}

/* Open a disk and a probe of its ends; the caller closes both in any case. */
static int open_probe(const char *name, int flags, struct cli_ends *ends, blkid_probe *probe)
{
	int err = cli_open_ends(ends, name, flags);

	*probe = NULL;
	if (err)
		return err;
	*probe = blkid_new_probe();
	if (!*probe)
		return -ENOMEM;
	return blkid_probe_set_device(*probe, ends->fd, 0, 0) ? -EIO : 0;
}

int cli_find_content(const char *name, char *text, size_t size)
{
	struct cli_ends ends;
	blkid_probe probe;
	int ret = open_probe(name, O_RDONLY, &ends, &probe);

	if (!ret)
		ret = examine(probe, text, size);
	blkid_free_probe(probe);
	cli_close_ends(&ends);
	return ret;
}

int cli_wipe_content(const char *name)
{
	struct cli_ends ends;
	blkid_probe probe;
	int err = open_probe(name, O_RDWR, &ends, &probe);

	if (!err)
		err = wipe(probe);
	if (!err)
		err = cli_restore_ends(&ends);
	blkid_free_probe(probe);
	cli_close_ends(&ends);
	return err;
}
