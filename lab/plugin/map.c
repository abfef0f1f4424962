// SPDX-License-Identifier: MIT
#include "map.h"

#include <inttypes.h>
#include <stdio.h>

static struct map_symbol symbols[MAP_MAX_SYMBOLS];
static size_t nr_symbols;
static bool has_points;

static bool parse_line(const char *line, struct map_symbol *symbol)
{
	unsigned int watch;

	if (sscanf(line, "%" SCNx64 " %" SCNu32 " %u %" SCNu32, &symbol->address, &symbol->layer,
		   &watch, &symbol->point) != 4)
		return false;
	symbol->watch = (enum watch)watch;
	return symbol->layer < MAP_MAX_LAYERS && watch <= WATCH_FILL &&
	       symbol->point < MAP_MAX_POINTS;
}

bool map_load(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[64];
	size_t count = 0;
	bool good = true;

	if (!file) {
		fprintf(stderr, "counter: cannot open the map %s\n", path);
		return false;
	}
	has_points = false;
	while (good && fgets(line, sizeof(line), file)) {
		good = count < MAP_MAX_SYMBOLS && parse_line(line, &symbols[count]) &&
		       (!count || symbols[count].address > symbols[count - 1].address);
		has_points |= good && symbols[count].point;
		count += good;
	}
	fclose(file);
	if (!good)
		fprintf(stderr, "counter: bad line %zu in the map %s\n", count + 1, path);
	nr_symbols = good ? count : 0;
	return nr_symbols > 0;
}

size_t map_size(void)
{
	return nr_symbols;
}

bool map_has_points(void)
{
	return has_points;
}

const struct map_symbol *map_find(uint64_t address)
{
	size_t low = 0, high = nr_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &symbols[low - 1] : NULL;
}

size_t map_index(const struct map_symbol *symbol)
{
	return (size_t)(symbol - symbols);
}

uint32_t map_layer(size_t index)
{
	return symbols[index].layer;
}
