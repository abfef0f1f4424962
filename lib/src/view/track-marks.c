// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Tracking by marks: the program calls chario_view_mark(), which sets the bits, and there is
 * nothing to find.
 */
#include "view/track.h"

static int nothing(struct chario_view *view)
{
	(void)view;
	return 0;
}

const struct chario_track_ops chario_track_marks = {
	.kind = CHARIO_TRACKING_MARKS,
	.start = nothing,
	.forget = nothing,
	.collect = nothing,
};
