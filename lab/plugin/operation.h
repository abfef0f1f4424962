/* SPDX-License-Identifier: MIT */
/*
 * What is counted between a BEGIN and an END marker.
 *
 * An operation belongs to the virtual CPU that began it, and is ended there. A
 * thread that moved to another CPU meanwhile can end it only while no second
 * operation is open: threads that count at the same time must be pinned.
 *
 * All CPUs are read at both markers. The CPU that executes the marker stands
 * still while it is read, so its figures are exact; so are those of a CPU that
 * is halted at both markers, whatever it does in between. A CPU that runs is
 * read at some instruction near the marker: its figures are off by what it
 * executes while the plugin serves the marker.
 */
#ifndef CHARIO_OPERATION_H
#define CHARIO_OPERATION_H

/*
 * operation_begin_series() - like operations follow, the first of which are also
 * recorded by symbol; those of a program that died are forgotten
 */
void operation_begin_series(void);

/* operation_end_series() - write to the file what was recorded. */
void operation_end_series(void);

/* operation_begin() - @vcpu executes BEGIN. */
void operation_begin(unsigned int vcpu);

/*
 * operation_reach() - @vcpu has reached @point
 *
 * It is a point of the operation that @vcpu has begun; while it has begun none,
 * as when it serves an interrupt for another CPU, of all that are open. Nothing
 * is kept where the map names no points.
 */
void operation_reach(unsigned int vcpu, unsigned int point);

/* operation_end() - @vcpu executes END: record what all CPUs did since. */
void operation_end(unsigned int vcpu);

#endif
