// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Properties of a chariosrc.
 */
#include "source.h"

enum {
	PROP_FOLLOW = CHARIO_GST_PROP_OWN,
	PROP_FROM_TIME,
};

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	ChariOSrc *source = CHARIO_SRC(object);

	switch (id) {
	case PROP_FOLLOW:
		source->follow = g_value_get_boolean(value);
		break;
	case PROP_FROM_TIME:
		source->from_time = g_value_get_uint64(value);
		break;
	default:
		if (!chario_gst_place_set(&source->place, GST_ELEMENT(source), id, value))
			G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	ChariOSrc *source = CHARIO_SRC(object);

	switch (id) {
	case PROP_FOLLOW:
		g_value_set_boolean(value, source->follow);
		break;
	case PROP_FROM_TIME:
		g_value_set_uint64(value, source->from_time);
		break;
	default:
		if (!chario_gst_place_get(&source->place, GST_ELEMENT(source), id, value))
			G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

void chario_src_add_properties(GObjectClass *class)
{
	class->set_property = set_property;
	class->get_property = get_property;
	chario_gst_place_add_properties(class);
	g_object_class_install_property(
		class, PROP_FOLLOW,
		g_param_spec_boolean("follow", "follow",
				     "Wait for more until the recording is ended", FALSE,
				     CHARIO_GST_SETTING));
	g_object_class_install_property(
		class, PROP_FROM_TIME,
		g_param_spec_uint64("from-time", "from-time",
				    "Begin with what was taken then, in nanoseconds since 1970 "
				    "(0 = with the oldest)",
				    0, G_MAXUINT64, 0, CHARIO_GST_SETTING));
}
