// SPDX-License-Identifier: MIT
/*
 * What an errno means when it comes from a store: the same number says something
 * else of a disk, of a store that is opened, and of an area.
 */
#include <errno.h>
#include <stdarg.h>

#include "store.h"

static const struct cli_meaning of_opening[] = {
	{ ENOENT, "there is no such file",
	  "chario list shows the disks; chario format --size SIZE FILE makes a file with a store" },
	{ ENODEV, "there is no such disk", "see chario list for the disks that are there" },
	{ ENOTTY, "it is neither a disk of CharIO nor a block device nor a plain file", NULL },
	{ ENOMEDIUM, "there is no store on it", "chario format makes one" },
	{ EACCES, "you have no right to open it",
	  "join the group that owns it (chardisk or disk), or use sudo" },
	{ EROFS, "it is write-protected, or its file system is", NULL },
	{ EBUSY, "another process uses it exclusively, or changes the store",
	  "end that program, or try again later" },
	{ EUCLEAN, "the table of the store is damaged", "chario check says what, and what to do" },
	{ EPROTO, "the store is of a newer format than this program knows",
	  "install a newer release of CharIO" },
	{ ESTALE, "the disk is smaller than the store on it",
	  "the file was cut, or this is a copy on a smaller disk: restore its size" },
	{ EINVAL, "it cannot be opened like this, or reads of it are not aligned", NULL },
	{ 0 },
};

static const struct cli_meaning of_areas[] = {
	{ ENOENT, "there is no area of this name", "see chario ls" },
	{ EEXIST, "there is an area of this name already", "chario rm or chario rename it first" },
	{ ENOSPC, "no hole of the store is long enough",
	  "chario df shows the largest hole, chario defrag makes one of all free space" },
	{ EMFILE, "the table of the store is full, or too many files are open",
	  "chario df shows how many areas there can be; chario format --areas sets it" },
	{ ENAMETOOLONG, "a name has 255 bytes at most", NULL },
	{ EINVAL, "a name is not empty, not \".\" or \"..\" and has no '/'; a size is not 0",
	  NULL },
	{ EBUSY, "another process has the area open, or changes the store",
	  "end that program (fuser STORE names it), or try again later" },
	{ EROFS, "the store is open for reading only, or its disk is write-protected", NULL },
	{ EUCLEAN, "the table of the store is damaged", "chario check says what, and what to do" },
	{ EACCES, "you have no right to write to the store",
	  "join the group that owns it (chardisk or disk), or use sudo" },
	{ ENODATA, "the area holds no recording", "chario ls shows which areas are streams" },
	{ 0 },
};

static const struct cli_meaning of_writing[] = {
	{ ENOSPC, "the file system that the file of the store lies on is full",
	  "make room there (df shows how much there is); chario format --size takes it beforehand" },
	{ EFBIG, "the file of the store may not be written so far",
	  "raise the limit of the length of files (ulimit -f)" },
	{ 0 },
};

int cli_fail_store(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_as(cli, of_opening, err, format, args);
	va_end(args);
	return CLI_FAILED;
}

int cli_fail_write(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_as(cli, of_writing, err, format, args);
	va_end(args);
	return CLI_FAILED;
}

int cli_fail_area(const struct cli *cli, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_fail_as(cli, of_areas, err, format, args);
	va_end(args);
	return CLI_FAILED;
}
