// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * What an errno means when it comes from a disk of CharIO.
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

/* Not every C library knows the names. */
#define ERROR(error, meaning, advice) { error, #error, meaning, advice }

/* In the order of chario(4), then what only the library gives. */
static const struct entry table[] = {
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
	      "join the group chardisk or use sudo; if the drive denies it, unlock the drive"),
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
	      "raise the limit of locked memory or use smaller calls"),
	ERROR(EBUSY, "the drive or the namespace is in use or not ready",
	      "see who uses it, or try again later"),
	ERROR(ECANCELED, "the command was aborted by the recovery of the disk",
	      "the data may or may not have reached the drive: repeat the call"),
	ERROR(ENOTTY, "this is not a disk of CharIO",
	      "see chario list for the disks that are there"),
	ERROR(ENOTUNIQ, "several disks or drives have this name",
	      "name one of them by its path or its PCI address"),
	ERROR(EPROTO, "the kernel module and the library do not understand each other",
	      "install both from the same release"),
	ERROR(E2BIG, "the program asks for something that this kernel module does not know",
	      "install a newer kernel module"),
	ERROR(EPERM, "this needs the rights of root", "use sudo"),
	ERROR(ENOENT, "what is needed is not installed or not there", NULL),
	ERROR(EEXIST, "it is there already", "use another name, or remove what is there"),
	ERROR(EMFILE, "the table of the store is full, or too many files are open",
	      "see in chario df how many areas there can be; see the limit of open files"),
	ERROR(ENOMEDIUM, "there is no store on the disk", "make one with chario format"),
	ERROR(EUCLEAN, "the table of the store is damaged",
	      "chario check says what is damaged and what to do"),
	ERROR(ESTALE, "the disk is smaller than the store on it, or a view could not be read again",
	      "restore the size of the file, or copy the store from where it was made"),
	ERROR(ENAMETOOLONG, "the name is longer than 255 bytes", "use a shorter name"),
	ERROR(ENODATA, "there is no recording, or it ends here", NULL),
	ERROR(EMSGSIZE, "the record is longer than a buffer of the stream",
	      "record it in pieces, or use longer segments"),
};

static const struct entry *find(int error)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (table[i].error == -error)
			return &table[i];
	return NULL;
}

const char *chario_error_name(int error)
{
	const struct entry *entry = find(error);

	return entry ? entry->name : NULL;
}

const char *chario_error_meaning(int error)
{
	const struct entry *entry = find(error);

	return entry ? entry->meaning : strerror(-error);
}

const char *chario_error_advice(int error)
{
	const struct entry *entry = find(error);

	return entry ? entry->advice : NULL;
}
