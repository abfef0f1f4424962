// SPDX-License-Identifier: MIT
/*
 * Makes the program chario of the unit tests run on a fake machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fake.h"

__attribute__((constructor)) static void join(void)
{
	const char *root = getenv("CHARIO_FAKE_ROOT");

	if (!root) {
		fprintf(stderr, "this chario is for the unit tests only\n");
		exit(1);
	}
	fake_join(root);
}
