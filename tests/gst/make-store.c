// SPDX-License-Identifier: MIT
/*
 * Makes an empty store, or an area of it.
 *
 *	make-store FILE [AREA BYTES [filling]]
 */
#include <chario/store.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

static int create(const char *file, const char *area, const char *bytes, unsigned int flags)
{
	struct chario_store *store;
	int err = chario_store_open(file, O_RDWR, &store);

	if (err)
		return err;
	err = chario_store_create(store, area, strtoull(bytes, NULL, 10), flags);
	chario_store_close(store);
	return err;
}

int main(int argc, char **argv)
{
	unsigned int flags = argc == 5 ? CHARIO_CREATE_FILLING : 0;
	int err;

	if (argc != 2 && argc != 4 && argc != 5) {
		fprintf(stderr, "usage: make-store FILE [AREA BYTES [filling]]\n");
		return 2;
	}
	err = argc > 2 ? create(argv[1], argv[2], argv[3], flags) :
			 chario_store_format(argv[1], NULL);
	if (err)
		fprintf(stderr, "make-store: %s: error %d\n", argv[1], err);
	return err ? 1 : 0;
}
