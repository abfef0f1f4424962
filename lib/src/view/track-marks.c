// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The program says what it has changed: chario_view_mark() sets the bits, and
 * there is nothing to find.
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
