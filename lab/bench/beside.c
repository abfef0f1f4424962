// SPDX-License-Identifier: MIT
/*
 * What other programs read from a block device and write to it while the calls go on, as the
 * kernel counts it when requests end.
 */
#include "bench.h"

#define SECTOR_BYTES    512
/* Columns of /sys/class/block/NAME/stat. */
#define SECTORS_READ    2
#define SECTORS_WRITTEN 6

uint64_t read_beside(const char *name)
{
	uint64_t columns[SECTORS_WRITTEN + 1];
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/block/%s/stat", name);
	file = fopen(path, "r");
	if (!file)
		fail(path);
	for (size_t i = 0; i <= SECTORS_WRITTEN; i++)
		if (fscanf(file, "%" SCNu64, &columns[i]) != 1)
			fail(path);
	fclose(file);
	return (columns[SECTORS_READ] + columns[SECTORS_WRITTEN]) * SECTOR_BYTES;
}
