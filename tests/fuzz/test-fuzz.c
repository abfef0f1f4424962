// SPDX-License-Identifier: MIT
/*
 * The fuzzer's beginning without the fuzzer: its images, and some mutations of
 * each, always the same.  With a folder it writes the images there instead.
 */
#include <stdio.h>
#include <unistd.h>

#include "input.h"

#define DEPTH   6
#define ALARM_S 300

static int write_images(const char *folder)
{
	static unsigned char image[INPUT_MOST];
	char path[4096];

	for (unsigned int i = 0; i < INPUTS; i++) {
		size_t bytes = input_make(i, image);
		FILE *file;

		snprintf(path, sizeof(path), "%s/image-%u", folder, i);
		file = fopen(path, "w");
		if (!file || fwrite(image, bytes, 1, file) != 1 || fclose(file)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

/* Each mutation goes on from the last, for some generations. */
static void try_image(unsigned int number)
{
	static unsigned char image[INPUT_MOST];
	uint64_t random = number;

	for (unsigned int i = 0; i < input_mutations; i++) {
		size_t bytes = input_make(number, image);

		input_try(image, bytes);
		for (int depth = 0; depth < DEPTH; depth++) {
			bytes = input_mutate(image, bytes, sizeof(image), &random);
			input_try(image, bytes);
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return write_images(argv[1]);
	alarm(ALARM_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%d\n", INPUTS);
	for (unsigned int i = 0; i < INPUTS; i++) {
		try_image(i);
		printf("ok %u - image %u and what becomes of it is borne\n", i + 1, i);
	}
	return 0;
}
