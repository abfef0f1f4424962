/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * An error: what an errno means when it comes from a disk of CharIO.
 *
 * The table here, that of chario(4) and the code of the module say the same.
 */
#ifndef CHARIO_ERROR_H
#define CHARIO_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/**
 * chario_error_name() - the name of an errno
 * @error: a negative errno, as this library returns it
 *
 * Context: any.
 * Return: its name, as "ETIMEDOUT"; NULL for one that CharIO does not give.
 * The string is constant.
 */
const char *chario_error_name(int error);

/**
 * chario_error_meaning() - what an errno says about a disk
 * @error: a negative errno, from this library or from a call on a disk
 *
 * Context: any.
 * Return: one sentence without a full stop, in lower case; the text of
 * strerror(3) for one that CharIO does not give, which is valid until the same
 * thread asks again.  The library owns the string.
 */
const char *chario_error_meaning(int error);

/**
 * chario_error_advice() - what to do about an errno
 * @error: a negative errno, from this library or from a call on a disk
 *
 * Context: any.
 * Return: one sentence without a full stop, in lower case; NULL when there is
 * no advice beyond the meaning.  The string is constant.
 */
const char *chario_error_advice(int error);

#ifdef __cplusplus
}
#endif

#endif /* CHARIO_ERROR_H */
