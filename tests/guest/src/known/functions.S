/* SPDX-License-Identifier: MIT */
#include <linux/linkage.h>

	.text

/* 2,002 instructions. */
SYM_START(known_loop, SYM_L_GLOBAL, SYM_A_ALIGN)
	movl	$1000, %eax
1:	decl	%eax
	jnz	1b
	RET
SYM_END(known_loop, SYM_T_FUNC)

/* 101 instructions, the last of which jumps to the next function. */
SYM_START(known_chain, SYM_L_GLOBAL, SYM_A_ALIGN)
	.rept	100
	nop
	.endr
	jmp	known_end
SYM_END(known_chain, SYM_T_FUNC)

SYM_START(known_end, SYM_L_GLOBAL, SYM_A_ALIGN)
	RET
SYM_END(known_end, SYM_T_FUNC)

/* Copies 4,096 bytes, eight at a time. */
SYM_START(known_copy, SYM_L_GLOBAL, SYM_A_ALIGN)
	xorl	%ecx, %ecx
1:	movq	(%rsi, %rcx), %rax
	movq	%rax, (%rdi, %rcx)
	addl	$8, %ecx
	cmpl	$4096, %ecx
	jne	1b
	RET
SYM_END(known_copy, SYM_T_FUNC)
