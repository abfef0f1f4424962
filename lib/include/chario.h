/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libchario: the only code that knows the ioctls and the sysfs of CharIO.
 *
 * These rules hold for every function:
 *
 * - A function that can fail returns 0 (or another value that is not negative) when it
 * succeeds and a negative errno when it does not.  It leaves errno(3) undefined and prints
 * nothing.  - Sizes and offsets are bytes, times are nanoseconds; names say so.  - A struct
 * that crosses the border to the library is passed with its size, so that programs and
 * libraries of different age understand each other: members that the other side does not
 * know read as zero.  - Two threads may use the library at the same time, also on one
 * device, unless a function says otherwise.  No function may be called from a signal
 * handler.
 */
#ifndef CHARIO_H
#define CHARIO_H

#include <chario/area.h>
#include <chario/bind.h>
#include <chario/buffer.h>
#include <chario/check.h>
#include <chario/copy.h>
#include <chario/device.h>
#include <chario/drive.h>
#include <chario/error.h>
#include <chario/health.h>
#include <chario/list.h>
#include <chario/pin.h>
#include <chario/plan.h>
#include <chario/player.h>
#include <chario/probe.h>
#include <chario/queue.h>
#include <chario/reader.h>
#include <chario/recorder.h>
#include <chario/region.h>
#include <chario/store.h>
#include <chario/stream.h>
#include <chario/timeline.h>
#include <chario/use.h>
#include <chario/view.h>

#endif /* CHARIO_H */
