// SPDX-License-Identifier: MIT
/*
 * The unit tests of views, for kernels that the machine at hand does not have.
 */
#include <chario/view.h>

#include "../../unit/test-view.c"
