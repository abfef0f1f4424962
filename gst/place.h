/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The place of a recording: an area of a store, which both elements name by the
 * properties store and area.  The property location is the area under the name that
 * elements set which write or read several files, such as splitmuxsink.
 */
#ifndef CHARIO_GST_PLACE_H
#define CHARIO_GST_PLACE_H

#include <chario/store.h>
#include <gst/gst.h>

#include "fail.h"

/* A wait is divided into pieces of this length, so that unlock() ends it. */
#define CHARIO_GST_PATIENCE_NS 50000000LL

/* Flags of all properties that are read when a recording is opened. */
#define CHARIO_GST_SETTING (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

/*
 * Numbers of the properties of a place; the numbers of an element's own properties begin
 * with the last.
 */
enum {
	CHARIO_GST_PROP_STORE = 1,
	CHARIO_GST_PROP_AREA,
	CHARIO_GST_PROP_LOCATION,
	CHARIO_GST_PROP_OWN,
};

/**
 * struct chario_gst_place - the place of a recording
 * @store_name: property; the object lock of the element protects it
 * @area: property; the object lock of the element protects it
 * @holds_names: true between start and stop, while the names must not change; the object
 *	lock of the element protects it
 * @store: store, open between start and stop
 * @flushing: true if no wait is allowed; atomic
 */
struct chario_gst_place {
	gchar *store_name;
	gchar *area;
	gboolean holds_names;
	struct chario_store *store;
	gint flushing;
};

void chario_gst_place_add_properties(GObjectClass *class);

/* Set a property, unless the names are held.  Returns FALSE if it is not one of a place. */
gboolean chario_gst_place_set(struct chario_gst_place *place, GstElement *element, guint id,
			      const GValue *value);
gboolean chario_gst_place_get(struct chario_gst_place *place, GstElement *element, guint id,
			      GValue *value);

/*
 * Keep the names as they are until chario_gst_place_drop_names().  Returns FALSE, posts an
 * error message and keeps nothing if a name is missing.
 */
gboolean chario_gst_place_hold_names(struct chario_gst_place *place, GstElement *element);
void chario_gst_place_drop_names(struct chario_gst_place *place, GstElement *element);

/* Open the store, with the flags of open(2).  Returns 0 or a negative errno. */
int chario_gst_place_open(struct chario_gst_place *place, int flags);
void chario_gst_place_close(struct chario_gst_place *place);

/* Post an error message for a negative errno, while the names are held. */
void chario_gst_place_fail(const struct chario_gst_place *place, GstElement *element,
			   enum chario_gst_act act, int err);

/*
 * Returns whether waits must end; chario_gst_place_set_flushing() sets this for unlock()
 * and unlock_stop().
 */
gboolean chario_gst_place_is_flushing(struct chario_gst_place *place);
void chario_gst_place_set_flushing(struct chario_gst_place *place, gboolean flushing);

/* Free the names. */
void chario_gst_place_deinit(struct chario_gst_place *place);

#endif /* CHARIO_GST_PLACE_H */
