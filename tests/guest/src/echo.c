// SPDX-License-Identifier: MIT
/*
 * Copies its arguments to its output, one a line, and ends with their number:
 * proof that a program compiled on the host runs in the guest.
 */
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		puts(argv[i]);
	return argc - 1;
}
