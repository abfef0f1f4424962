/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A servant: a thread that keeps a recording going while no buffers arrive. */
#ifndef CHARIO_GST_SERVANT_H
#define CHARIO_GST_SERVANT_H

#include <chario/stream.h>
#include <glib.h>

struct chario_gst_servant;

/*
 * Start a servant, which must end before the stream is closed.  Returns NULL if there is no
 * thread or no descriptor.
 */
struct chario_gst_servant *chario_gst_servant_create(struct chario_stream *stream);

/* End a servant.  Does nothing for NULL. */
void chario_gst_servant_destroy(struct chario_gst_servant *servant);

#endif /* CHARIO_GST_SERVANT_H */
