/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The views of this process: no two of them have memory in common, and none has a part of an
 * area that another view may write.
 */
#ifndef CHARIO_VIEW_LIST_H
#define CHARIO_VIEW_LIST_H

#include "view/track.h"

/* Add a view.  Returns 0, or -EBUSY if another view has its memory or its part of the area. */
int chario_view_list_add(struct chario_view *view);

/* Remove a view. */
void chario_view_list_remove(struct chario_view *view);

#endif /* CHARIO_VIEW_LIST_H */
