// SPDX-License-Identifier: MIT
/*
 * The unit tests of views that cannot be, on other kernels.
 */
#include <chario/view.h>

#include "../../unit/test-view-errors.c"
