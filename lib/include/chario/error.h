/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * An error: the meaning of an errno that comes from a disk of CharIO, a store, an area or a
 * recording.
 *
 * The table of disks, the one in chario(4) and the code of the module agree.
 */
#ifndef CHARIO_ERROR_H
#define CHARIO_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * chario_error_name() - the name of an errno
 * @error: a negative errno returned by this library
 *
 * Context: any.
 * Return: its name, such as "ETIMEDOUT"; NULL for one that CharIO does not return.  The
 * string is constant.
 */
const char *chario_error_name(int error);

/**
 * chario_error_meaning() - the meaning of an errno of a disk
 * @error: a negative errno, from this library or from a call on a disk
 *
 * Context: any.
 * Return: one sentence without a full stop, in lower case; for an errno that CharIO does
 * not return the text of strerror(3), which is valid until the same thread asks again.  The
 * library owns the string.
 */
const char *chario_error_meaning(int error);

/**
 * chario_error_advice() - advice on an errno of a disk
 * @error: a negative errno, from this library or from a call on a disk
 *
 * Context: any.
 * Return: one sentence without a full stop, in lower case; NULL when there is
 * no advice beyond the meaning.  The string is constant.
 */
const char *chario_error_advice(int error);

/**
 * enum chario_subject - the subject of an errno
 * @CHARIO_SUBJECT_DISK: a disk, or a call on one
 * @CHARIO_SUBJECT_STORE: a store that is made, opened or checked
 * @CHARIO_SUBJECT_AREA: an area that is changed, looked for or opened
 * @CHARIO_SUBJECT_CONTENT: the content of an area, when it is read or written
 * @CHARIO_SUBJECT_RECORDING: a recording that is begun or opened
 * @CHARIO_SUBJECT_RECORDS: the records of a recording, when they are written or read
 * @CHARIO_SUBJECT_NEW_AREA: an area that is created
 */
enum chario_subject {
	CHARIO_SUBJECT_DISK,
	CHARIO_SUBJECT_STORE,
	CHARIO_SUBJECT_AREA,
	CHARIO_SUBJECT_CONTENT,
	CHARIO_SUBJECT_RECORDING,
	CHARIO_SUBJECT_RECORDS,
	CHARIO_SUBJECT_NEW_AREA,
};

/**
 * chario_error_meaning_of() - the meaning of an errno of a subject
 * @error: a negative errno, from this library
 * @subject: subject of the errno; an unknown subject counts as a disk
 *
 * Context: any.
 * Return: see chario_error_meaning().
 */
const char *chario_error_meaning_of(int error, enum chario_subject subject);

/**
 * chario_error_advice_of() - advice on an errno of a subject
 * @error: a negative errno, from this library
 * @subject: subject of the errno; an unknown subject counts as a disk
 *
 * Context: any.
 * Return: see chario_error_advice().
 */
const char *chario_error_advice_of(int error, enum chario_subject subject);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_ERROR_H */
