/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The views of this process: no two of them have memory in common, and none has
 * a part of an area that another one may write.
 */
#ifndef CHARIO_VIEW_LIST_H
#define CHARIO_VIEW_LIST_H

#include "view/track.h"

/* Take a view up: 0, or -EBUSY where another one has what it wants. */
int chario_view_list_add(struct chario_view *view);

/* Let go of what it had. */
void chario_view_list_remove(struct chario_view *view);

#endif /* CHARIO_VIEW_LIST_H */
