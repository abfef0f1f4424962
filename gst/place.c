// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The place of a recording.
 */
#include "place.h"

static void add_name(GObjectClass *class, guint id, const char *name, const char *blurb)
{
	g_object_class_install_property(
		class, id, g_param_spec_string(name, name, blurb, NULL, CHARIO_GST_SETTING));
}

void chario_gst_place_add_properties(GObjectClass *class)
{
	add_name(class, CHARIO_GST_PROP_STORE, "store", "Disk or file that has the store");
	add_name(class, CHARIO_GST_PROP_AREA, "area", "Area that has the recording");
	add_name(class, CHARIO_GST_PROP_LOCATION, "location",
		 "The same as area, for elements such as splitmuxsink");
}

static gchar **find(struct chario_gst_place *place, guint id)
{
	if (id == CHARIO_GST_PROP_STORE)
		return &place->store_name;
	return id < CHARIO_GST_PROP_OWN ? &place->area : NULL;
}

gboolean chario_gst_place_set(struct chario_gst_place *place, GstElement *element, guint id,
			      const GValue *value)
{
	gchar **name = find(place, id);
	gboolean is_late;

	if (!name)
		return FALSE;
	GST_OBJECT_LOCK(element);
	is_late = place->holds_names;
	if (!is_late) {
		g_free(*name);
		*name = g_value_dup_string(value);
	}
	GST_OBJECT_UNLOCK(element);
	if (is_late)
		g_warning("%s has a recording open: its store and area can be changed in the state "
			  "READY only",
			  GST_ELEMENT_NAME(element));
	return TRUE;
}

gboolean chario_gst_place_get(struct chario_gst_place *place, GstElement *element, guint id,
			      GValue *value)
{
	gchar **name = find(place, id);

	if (!name)
		return FALSE;
	GST_OBJECT_LOCK(element);
	g_value_set_string(value, *name);
	GST_OBJECT_UNLOCK(element);
	return TRUE;
}

gboolean chario_gst_place_hold_names(struct chario_gst_place *place, GstElement *element)
{
	GST_OBJECT_LOCK(element);
	place->holds_names = TRUE;
	GST_OBJECT_UNLOCK(element);
	if (chario_gst_check_names(element, place->store_name, place->area))
		return TRUE;
	chario_gst_place_drop_names(place, element);
	return FALSE;
}

void chario_gst_place_drop_names(struct chario_gst_place *place, GstElement *element)
{
	GST_OBJECT_LOCK(element);
	place->holds_names = FALSE;
	GST_OBJECT_UNLOCK(element);
}

int chario_gst_place_open(struct chario_gst_place *place, int flags)
{
	chario_gst_place_set_flushing(place, FALSE);
	return chario_store_open(place->store_name, flags, &place->store);
}

void chario_gst_place_close(struct chario_gst_place *place)
{
	chario_store_close(place->store);
	place->store = NULL;
}

void chario_gst_place_fail(const struct chario_gst_place *place, GstElement *element,
			   enum chario_gst_act act, int err)
{
	chario_gst_fail(element, act, err, place->store_name, place->area);
}

gboolean chario_gst_place_is_flushing(struct chario_gst_place *place)
{
	return g_atomic_int_get(&place->flushing);
}

void chario_gst_place_set_flushing(struct chario_gst_place *place, gboolean flushing)
{
	g_atomic_int_set(&place->flushing, flushing);
}

void chario_gst_place_deinit(struct chario_gst_place *place)
{
	g_free(place->store_name);
	g_free(place->area);
}
