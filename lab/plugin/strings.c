// SPDX-License-Identifier: MIT
#include "strings.h"

#include <stdbool.h>

#define MAX_INSN_BYTES 15
#define OPERAND_SIZE   0x66
#define REX            0x40
#define REX_MASK       0xf0
#define REX_W          0x08
#define MOVS           0xa4
#define STOS           0xaa
/* The lowest bit of both opcodes: the operand is not a byte. */
#define WIDE           0x01

static bool is_legacy_prefix(uint8_t byte)
{
	switch (byte) {
	case 0xf2: /* repne */
	case 0xf3: /* rep */
	case OPERAND_SIZE:
	case 0x67: /* address size */
	case 0x26: /* segments: es, cs, ss, ds, fs, gs */
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64:
	case 0x65:
		return true;
	default:
		return false;
	}
}

enum string_kind string_kind(const struct qemu_plugin_insn *insn, unsigned int *bytes)
{
	size_t size = qemu_plugin_insn_size(insn), at = 0;
	bool narrow = false, broad = false;
	uint8_t data[MAX_INSN_BYTES];
	uint8_t opcode;

	if (!size || size > sizeof(data))
		return STRING_NONE;
	qemu_plugin_insn_data(insn, data, size);
	while (at < size - 1 && is_legacy_prefix(data[at]))
		narrow |= data[at++] == OPERAND_SIZE;
	if (at < size - 1 && (data[at] & REX_MASK) == REX)
		broad = data[at++] & REX_W;
	opcode = data[at];
	/* Neither has operands: the opcode is the last byte. */
	if (at != size - 1 || ((opcode & ~WIDE) != MOVS && (opcode & ~WIDE) != STOS))
		return STRING_NONE;
	*bytes = !(opcode & WIDE) ? 1 : broad ? 8 : narrow ? 2 : 4;
	return (opcode & ~WIDE) == MOVS ? STRING_MOVS : STRING_STOS;
}
