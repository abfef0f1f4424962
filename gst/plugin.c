// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The plugin: chariosink records into an area of a store, chariosrc plays the recording. */
#include "sink.h"
#include "source.h"

#define PACKAGE "chario"

static gboolean plugin_init(GstPlugin *plugin)
{
	return gst_element_register(plugin, "chariosink", GST_RANK_NONE, CHARIO_TYPE_SINK) &&
	       gst_element_register(plugin, "chariosrc", GST_RANK_NONE, CHARIO_TYPE_SRC);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, chario,
		  "Records into areas of CharIO's stores and plays them", plugin_init,
		  CHARIO_VERSION, "LGPL", "CharIO", "libchario")
