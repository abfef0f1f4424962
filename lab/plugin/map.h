/* SPDX-License-Identifier: MIT */
/*
 * The guest's symbols, sorted by address, as the lab wrote them down: one line
 * a symbol with its address, its layer, what is to be watched there, and which
 * point of an operation its first instruction is.
 */
#ifndef CHARIO_MAP_H
#define CHARIO_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Layers and symbols that the counters have room for. */
#define MAP_MAX_LAYERS  32
#define MAP_MAX_SYMBOLS 200000
/* Points of an operation, of which 0 is none. */
#define MAP_MAX_POINTS  16

enum watch {
	WATCH_NONE = 0,
	WATCH_IRQ = 1, /* entry of a device interrupt's handler */
	WATCH_TICK = 2, /* entry of the timer interrupt's handler */
	WATCH_SWITCH = 3, /* entry of the context switch */
	WATCH_STORES = 4, /* a driver: its stores may ring doorbells */
	WATCH_COPY = 5, /* assembly that copies: all its stores are copied bytes */
	WATCH_FILL = 6, /* assembly that fills: all its stores are cleared bytes */
};

struct map_symbol {
	uint64_t address;
	uint32_t layer;
	enum watch watch;
	uint32_t point; /* see points.h */
};

/*
 * map_load() - read the map, replacing the one before
 * @path: file of lines "ADDRESS LAYER WATCH POINT", the address hexadecimal
 *
 * Return: false when the file cannot be used; the reason went to stderr.
 */
bool map_load(const char *path);

/* map_size() - number of symbols, 0 before a map was loaded. */
size_t map_size(void);

/* map_has_points() - whether any symbol is a point. */
bool map_has_points(void);

/* map_find() - the symbol that covers @address, or NULL below the first. */
const struct map_symbol *map_find(uint64_t address);

/* map_layer() - the layer of the symbol of number @index. */
uint32_t map_layer(size_t index);

/* map_index() - number of @symbol in the order of the file. */
size_t map_index(const struct map_symbol *symbol);

#endif
