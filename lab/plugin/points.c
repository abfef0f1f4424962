// SPDX-License-Identifier: MIT
#include "points.h"

#include <string.h>

/* Forget a point's last snapshot, which is not its first. */
static void drop_last(struct points *points, unsigned int point)
{
	struct snapshot *end = points->snapshots + points->nr_snapshots;
	struct snapshot *last = end - 1;

	while (last->point != point)
		last--;
	memmove(last, last + 1, (size_t)(end - last - 1) * sizeof(*last));
	points->nr_snapshots--;
}

struct snapshot *points_reach(struct points *points, unsigned int point, unsigned int vcpu)
{
	uint64_t occurrence = ++points->occurrences[point];
	struct snapshot *snapshot;

	if (occurrence > 2)
		drop_last(points, point);
	snapshot = &points->snapshots[points->nr_snapshots++];
	*snapshot = (struct snapshot){ .point = point, .occurrence = occurrence, .vcpu = vcpu };
	return snapshot;
}
