/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A servant: a thread that lets a recording go on when nothing arrives.
 */
#ifndef CHARIO_GST_SERVANT_H
#define CHARIO_GST_SERVANT_H

#include <chario/stream.h>
#include <glib.h>

struct chario_gst_servant;

/* NULL where there is no thread or no descriptor; ends before the stream is closed. */
struct chario_gst_servant *chario_gst_servant_create(struct chario_stream *stream);

/* NULL is let pass. */
void chario_gst_servant_destroy(struct chario_gst_servant *servant);

#endif /* CHARIO_GST_SERVANT_H */
