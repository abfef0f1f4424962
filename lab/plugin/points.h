/* SPDX-License-Identifier: MIT */
/*
 * How far an operation had come when certain points were reached: what all CPUs
 * had executed since BEGIN, by layer. A point that is reached again and again,
 * such as the doorbell of a call with many commands, is kept the first and the
 * last time.
 */
#ifndef CHARIO_POINTS_H
#define CHARIO_POINTS_H

#include <stddef.h>
#include <stdint.h>

#include "map.h"

/* The points that the plugin finds by itself; the map names others by higher numbers. */
enum point {
	POINT_NONE = 0,
	POINT_DOORBELL = 1, /* a command was submitted: the store is executed */
	POINT_WAKE = 2, /* a CPU leaves its halt, nearly always for an interrupt */
};

struct snapshot {
	uint64_t point;
	uint64_t occurrence; /* 1 when it is reached for the first time */
	uint64_t vcpu; /* where it was reached */
	uint64_t layer[MAP_MAX_LAYERS];
};

struct points {
	uint64_t occurrences[MAP_MAX_POINTS];
	size_t nr_snapshots;
	struct snapshot snapshots[2 * MAP_MAX_POINTS]; /* in the order of time */
};

/*
 * points_reach() - @vcpu has reached @point
 *
 * Return: the snapshot whose layers the caller sets.
 */
struct snapshot *points_reach(struct points *points, unsigned int point, unsigned int vcpu);

#endif
