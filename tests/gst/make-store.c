// SPDX-License-Identifier: MIT
/*
 * Makes an empty store, or an area of it.
 *
 *	make-store FILE [AREA BYTES]
 */
#include <chario/store.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int create(const char *file, const char *area, const char *bytes)
{
	struct chario_store *store;
	int err = chario_store_open(file, O_RDWR, &store);

	if (err)
		return err;
	err = chario_store_create(store, area, strtoull(bytes, NULL, 10), 0);
	chario_store_close(store);
	return err;
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 2 && argc != 4) {
		fprintf(stderr, "usage: make-store FILE [AREA BYTES]\n");
		return 2;
	}
	err = argc == 4 ? create(argv[1], argv[2], argv[3]) : chario_store_format(argv[1], NULL);
	if (err)
		fprintf(stderr, "make-store: %s: error %d\n", argv[1], err);
	return err ? 1 : 0;
}
