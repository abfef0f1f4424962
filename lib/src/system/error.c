// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The meaning of each errno, and advice.  The same number means different things for a
 * disk, for a store that is opened, and for an area.  All programs take the texts from this
 * file.
 */
#include <chario/error.h>

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct entry {
	int error;
	const char *name;
	const char *meaning;
	const char *advice;
};

/* Not every C library knows the names of errnos. */
#define ERROR(error, meaning, advice) { error, #error, meaning, advice }

/* The entries follow chario(4); those of the library alone come last. */
static const struct entry of_disks[] = {
	ERROR(EINVAL,
	      "the offset, the length or the buffer is not aligned as the disk needs, or a value is out of its range",
	      "use multiples of the logical block and a buffer aligned to the DMA alignment: chario info shows both"),
	ERROR(ENOSPC,
	      "the write begins at or past the end of the disk, or the drive has no space left",
	      "compare the offset with the capacity that chario info shows"),
	ERROR(EIO, "the drive could not read or write the medium, or it reports an internal error",
	      "look at last_error in sysfs and at the kernel log; read the drive's SMART log; replace a drive that does it again"),
	ERROR(EROFS, "the namespace is write-protected",
	      "take the write protection off in the drive first"),
	ERROR(EACCES, "access is denied, by the permissions of the device file or by the drive",
	      "join the group that owns the device file (chardisk; disk for a block disk), or use sudo; if the drive denies it, unlock the drive"),
	ERROR(EBADE, "another host holds a reservation on the namespace",
	      "release the reservation from the host that holds it"),
	ERROR(EOPNOTSUPP, "the drive or the module does not support this command or option",
	      "see in chario info what the disk can do"),
	ERROR(ETIMEDOUT, "the deadline has passed before the drive answered",
	      "see in the kernel log whether the disk has recovered; raise deadline_ms if the drive is only slow"),
	ERROR(EINTR, "the caller was killed while it waited", NULL),
	ERROR(ENODEV, "the disk is not there or has been removed",
	      "see chario list for the disks that are there"),
	ERROR(ENXIO, "the drive says that the block address is out of its range",
	      "the namespace may have been made smaller: unbind the drive and bind it again"),
	ERROR(EAGAIN, "all command slots are taken and the call must not wait",
	      "call again when earlier requests have completed"),
	ERROR(EFAULT, "the buffer is not memory of this process that can be used", NULL),
	ERROR(ENOMEM, "the pages of the buffer could not be pinned or mapped",
	      "raise the limit of locked memory (ulimit -l) or use smaller calls"),
	ERROR(EBUSY, "the drive or the namespace is in use or not ready",
	      "see who uses it, or try again later"),
	ERROR(EMLINK, "the memory of the buffer is in more pieces than a command of the disk takes",
	      "use memory in larger pieces, such as a buffer of the module"),
	ERROR(ECANCELED, "the command was aborted by the recovery of the disk",
	      "the data may or may not have reached the drive: repeat the call"),
	ERROR(ENOTTY, "this is not a disk of CharIO",
	      "see chario list for the disks that are there"),
	ERROR(ENOTBLK,
	      "what stands at the path of the disk is not its node, but a plain file or a node of another device",
	      "move it away (mv), then bind the drive again with chario unbind and chario bind"),
	ERROR(ENOTUNIQ, "several disks or drives have this name",
	      "name one of them by its path or its PCI address"),
	ERROR(EPROTO, "the kernel module and the library do not understand each other",
	      "install both from the same release"),
	ERROR(EPROTOTYPE, "the source keeps the boundaries of messages, which a copy would lose",
	      "make a recording of it (chario record)"),
	ERROR(E2BIG, "the program asks for something that this kernel module does not know",
	      "install a newer kernel module"),
	ERROR(EPERM, "this needs the rights of root", "use sudo"),
	ERROR(EBADF, "the file was not opened for that, or a descriptor is not what it should be",
	      "open it for reading what is read, and for writing what is written"),
	ERROR(ENOENT, "what is needed is not installed or not there", NULL),
	ERROR(EEXIST, "it is there already", "use another name, or remove what is there"),
	ERROR(EMFILE, "too many files are open",
	      "close some, or raise the limit of open files (ulimit -n)"),
	ERROR(ENOMEDIUM, "there is no store on the disk", "make one with chario format"),
	ERROR(EUCLEAN, "the table of the store is damaged",
	      "chario check says what is damaged and what to do"),
	ERROR(ESTALE, "the disk is smaller than the store on it, or a view could not be read again",
	      "restore the size of the file, or copy the store from where it was made"),
	ERROR(ENAMETOOLONG, "the name is longer than 255 bytes", "use a shorter name"),
	ERROR(ENODATA, "there is no recording, or it ends here", NULL),
	ERROR(EISDIR, "it is a directory", "name a file in it"),
	ERROR(ENOTDIR, "a part of the path is not a directory", NULL),
	ERROR(EFBIG, "the file may not be written so far",
	      "raise the limit of the length of files (ulimit -f)"),
	ERROR(EDQUOT, "the file system that the file of the store lies on has no room left",
	      "make room there (df shows how much there is, quota how much is yours); chario format --size takes it beforehand"),
	ERROR(EMSGSIZE, "the record is longer than a buffer of the stream",
	      "record it in pieces, or use longer segments"),
	{ 0 },
};

/* The library chooses the lengths of these calls, which are as short as they can be. */
#define NO_MEMORY                                                           \
	ERROR(ENOMEM, "there is no memory, or no more of it may be locked", \
	      "raise the limit of locked memory (ulimit -l)")

/* A store is on a device, which a group owns, or in a file, whose owner decides. */
#define RIGHTS                                                                                   \
	"for a device, join the group that owns it (chardisk or disk); for a file, ls -l shows " \
	"its owner and its rights, and ls -ld those of its folder; or use sudo"

static const struct entry of_stores[] = {
	NO_MEMORY,
	ERROR(ENOENT, "there is no such disk and no such file",
	      "chario list shows the disks; chario format --size SIZE FILE makes a file with a store"),
	ERROR(ENODEV, "there is no such disk", "chario list shows the disks that are there"),
	ERROR(ENOTTY, "it is neither a disk of CharIO nor a block device nor a plain file", NULL),
	ERROR(ENOTBLK,
	      "it has the path of a disk and is not its node, but a plain file, as dd makes one while the disk is away, or a node of another device",
	      "move it away (mv), then bind the drive again with chario unbind and chario bind"),
	ERROR(ENOTDIR, "a part of its path is not a directory", NULL),
	ERROR(ENXIO, "it is a device that nothing is behind",
	      "chario list shows the disks that are there"),
	ERROR(ENOMEDIUM, "there is no store on it",
	      "chario format makes one; what is there is lost then"),
	ERROR(EACCES, "you have no right to open it", RIGHTS),
	ERROR(EROFS, "it is write-protected, or its file system is",
	      "blockdev --getro says whether a block device is, blockdev --setrw ends it; of file systems mount says it"),
	ERROR(EBUSY,
	      "another process uses it exclusively, or changes the store; or the block disk, or a writer of another node of the disk, uses a part of it; or its files take calls of any size",
	      "end that program (fuser names it, lsblk says what is mounted), or try again later; a disk with a store has 0 in any_size in /sys/class/chario/chardiskN"),
	ERROR(EUCLEAN, "the table of the store is damaged",
	      "chario check says what, and what to do"),
	ERROR(EPROTO, "the store is of a newer format than this program knows",
	      "install a newer release of CharIO"),
	ERROR(ESTALE, "the disk is smaller than the store on it",
	      "the file was cut, or this is a copy on a smaller disk: chario get copies away what "
	      "lies before its end; restore its size to write to it"),
	ERROR(ENOSPC,
	      "the disk, or the file system that the file of the store lies on, is too small",
	      "take a larger one, or a store of fewer areas"),
	ERROR(EFBIG, "the file may not be as long as that",
	      "raise the limit of the length of files (ulimit -f), or take another file system"),
	ERROR(EINVAL, "it cannot be opened like this, or reads of it are not aligned", NULL),
	{ 0 },
};

static const struct entry of_areas[] = {
	NO_MEMORY,
	ERROR(ENOENT, "there is no such area", "chario ls shows those that there are"),
	ERROR(EEXIST, "there is an area of this name already",
	      "choose another name, or chario rm or chario rename it first"),
	ERROR(ENOSPC, "no hole of the store is long enough",
	      "chario df shows the largest hole, chario defrag makes one of all free space"),
	ERROR(ENAMETOOLONG, "a name has 255 bytes at most", "choose a shorter one"),
	ERROR(EINVAL, "a name is not empty, not \".\" or \"..\" and has no '/'", NULL),
	ERROR(EBUSY, "the area is open elsewhere, or another process changes the store",
	      "close it there, end that program (fuser STORE names it), or try again later"),
	ERROR(EROFS, "the store is open for reading only, or its disk is write-protected", NULL),
	ERROR(EUCLEAN, "the table of the store is damaged",
	      "chario check says what, and what to do"),
	ERROR(EACCES, "you have no right to write to the store", RIGHTS),
	ERROR(ESTALE, "the disk has become smaller than the store on it",
	      "the file was cut: restore its size"),
	ERROR(EFBIG, "the file of the store may not be written so far",
	      "raise the limit of the length of files (ulimit -f)"),
	ERROR(EOPNOTSUPP,
	      "the store is of the format of the first release, which has no attributes, and in which these two areas cannot change in one step",
	      "chario format --upgrade takes it to the present one; older releases cannot read it then"),
	ERROR(E2BIG,
	      "the name of an area and its attributes together have 255 bytes at most, each attribute counting one more than it has",
	      "choose shorter ones, or take attributes away with chario set --unset"),
	ERROR(ENODATA, "the area holds no recording", "chario ls shows which areas are streams"),
	{ 0 },
};

static const struct entry of_new_areas[] = {
	ERROR(EOPNOTSUPP,
	      "the store is of the format of the first release, in which an area has one byte at least",
	      "chario format --upgrade takes it to the present one; older releases cannot read it then"),
	ERROR(EMFILE, "the table of the store is full",
	      "chario df shows how many areas there can be; chario format --areas sets it"),
	{ 0 },
};

static const struct entry of_contents[] = {
	ERROR(EINVAL, "the offset or the length is not of whole blocks, or not inside the area",
	      "a block has 4096 bytes; the last one of the area may be shorter"),
	ERROR(ENOSPC,
	      "the file system that the file of the store lies on is full, or the area ends here",
	      "make room there (df shows how much there is); chario format --size takes it beforehand"),
	{ 0 },
};

/* A recording that is read. */
#define ANOTHER_RECORDING                                                                     \
	ERROR(ESTALE,                                                                         \
	      "another recording has begun in the area, or the disk has become smaller than " \
	      "the store on it",                                                              \
	      "open the area again to read the new one; if the file of the store was cut, "   \
	      "restore its size")

static const struct entry of_recordings[] = {
	ERROR(EEXIST, "the area holds a recording already",
	      "continue it, or force a new one to begin; chario ls shows the areas"),
	ERROR(EALREADY, "the area holds a file of chario put, or a part of one",
	      "take another area, or force a recording over it"),
	ANOTHER_RECORDING,
	ERROR(ENOSPC, "the area is full, or shorter than two segments",
	      "take a longer area, shorter segments, or a ring, which overwrites the oldest"),
	ERROR(EINVAL,
	      "the recording has segments of another length, or an option is out of its range",
	      "a segment is a multiple of 4096 bytes from 8192 to 128 MiB; what goes on with a recording has its segments"),
	ERROR(ENOMEM, "there is no memory for the buffers",
	      "fewer or shorter ones, or a higher limit of locked memory (ulimit -l), help"),
	{ 0 },
};

static const struct entry of_records[] = {
	ANOTHER_RECORDING,
	ERROR(ENOSPC, "the area is full",
	      "take a longer area, or a ring, which overwrites the oldest"),
	ERROR(EMSGSIZE, "the record is longer than a segment",
	      "record it in pieces, or use longer segments"),
	ERROR(ENODATA, "the recording ends here", NULL),
	{ 0 },
};

/**
 * struct words - the texts of one subject
 * @table: entries, ended by one whose errno is zero
 * @rest: subject that has the texts missing in @table
 */
struct words {
	const struct entry *table;
	enum chario_subject rest;
};

static const struct words words[] = {
	[CHARIO_SUBJECT_DISK] = { of_disks, CHARIO_SUBJECT_DISK },
	[CHARIO_SUBJECT_STORE] = { of_stores, CHARIO_SUBJECT_DISK },
	[CHARIO_SUBJECT_AREA] = { of_areas, CHARIO_SUBJECT_DISK },
	[CHARIO_SUBJECT_CONTENT] = { of_contents, CHARIO_SUBJECT_AREA },
	[CHARIO_SUBJECT_RECORDING] = { of_recordings, CHARIO_SUBJECT_AREA },
	[CHARIO_SUBJECT_RECORDS] = { of_records, CHARIO_SUBJECT_CONTENT },
	[CHARIO_SUBJECT_NEW_AREA] = { of_new_areas, CHARIO_SUBJECT_AREA },
};

static const struct entry *find(int error, enum chario_subject subject)
{
	const struct entry *entry;

	if ((unsigned int)subject >= sizeof(words) / sizeof(words[0]))
		subject = CHARIO_SUBJECT_DISK;
	for (entry = words[subject].table; entry->error; entry++)
		if (entry->error == -error)
			return entry;
	return subject == CHARIO_SUBJECT_DISK ? NULL : find(error, words[subject].rest);
}

const char *chario_error_name(int error)
{
	const struct entry *entry = find(error, CHARIO_SUBJECT_DISK);

	return entry ? entry->name : NULL;
}

const char *chario_error_meaning_of(int error, enum chario_subject subject)
{
	const struct entry *entry = find(error, subject);

	return entry ? entry->meaning : strerror(-error);
}

const char *chario_error_advice_of(int error, enum chario_subject subject)
{
	const struct entry *entry = find(error, subject);

	return entry ? entry->advice : NULL;
}

const char *chario_error_meaning(int error)
{
	return chario_error_meaning_of(error, CHARIO_SUBJECT_DISK);
}

const char *chario_error_advice(int error)
{
	return chario_error_advice_of(error, CHARIO_SUBJECT_DISK);
}
