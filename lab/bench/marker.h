/* SPDX-License-Identifier: MIT */
/*
 * What the guest's program tells the counting plugin. A marker is a NOP with a
 * displacement: the processor ignores it, the plugin recognises it when it
 * translates the code. It costs no exit, no device access and no system call,
 * and it is not counted.
 */
#ifndef CHARIO_MARKER_H
#define CHARIO_MARKER_H

#define MARKER_MAGIC      0x43480000 /* "CH" in the upper half */
#define MARKER_MAGIC_MASK 0xffff0000

enum marker {
	MARKER_BEGIN = 1, /* the operation starts at the next instruction */
	MARKER_END = 2, /* the operation ended before this instruction */
	MARKER_RELOAD = 3, /* read the symbol map again, translate anew */
	MARKER_SEGMENT = 4, /* a new series of like operations follows */
	MARKER_SEGMENT_END = 5, /* write the series to the file */
	MARKER_DEVICE_FREE = 6, /* the device answers when it likes */
	MARKER_DEVICE_LATE = 7, /* ... when the processor has gone idle */
	MARKER_DEVICE_STALL = 8, /* ... before the doorbell store ends */
	MARKER_NR,
};

#ifdef __x86_64__
/* The displacement of nopl disp32(%rax). */
#define MARKER(kind)                                  \
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t" \
			 ".long %c0"                  \
			 :                            \
			 : "i"(MARKER_MAGIC | (kind)) \
			 : "memory")
#else
/* Other processors are not emulated: nobody counts. */
#define MARKER(kind) ((void)(kind))
#endif

#endif
