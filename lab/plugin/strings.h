/* SPDX-License-Identifier: MIT */
/*
 * The x86 string instructions that fill memory: movs copies, stos clears. One
 * of them, with a rep prefix, moves any number of bytes.
 */
#ifndef CHARIO_STRINGS_H
#define CHARIO_STRINGS_H

#include "qemu_api.h"

enum string_kind {
	STRING_NONE, /* another instruction */
	STRING_MOVS,
	STRING_STOS,
};

/*
 * string_kind() - recognise @insn by its bytes
 * @bytes: set to what each of its stores writes: 1, 2, 4 or 8
 */
enum string_kind string_kind(const struct qemu_plugin_insn *insn, unsigned int *bytes);

#endif
