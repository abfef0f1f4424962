// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Properties of a chariosink.
 */
#include "sink.h"

enum {
	PROP_SIZE = CHARIO_GST_PROP_OWN,
	PROP_RING,
	PROP_APPEND,
	PROP_FORCE,
	PROP_DROP,
	PROP_DURABILITY,
	PROP_FLUSH_MS,
	PROP_SEGMENT_BYTES,
	PROP_BUFFERS,
	PROP_LATE_MS,
	PROP_RECORDS,
	PROP_BYTES,
	PROP_DURABLE_BYTES,
	PROP_LATE,
	PROP_LOST,
};

static GType durability_get_type(void)
{
	static const GEnumValue values[] = {
		{ CHARIO_DURABILITY_AUTO, "What suits the disk", "auto" },
		{ CHARIO_DURABILITY_NONE, "When the recording ends", "none" },
		{ CHARIO_DURABILITY_FLUSH, "By a flush of the disk, see flush-ms", "flush" },
		{ CHARIO_DURABILITY_FUA, "Each segment by itself", "fua" },
		{ 0, NULL, NULL },
	};
	static gsize type;

	if (g_once_init_enter(&type))
		g_once_init_leave(&type, g_enum_register_static("ChariOSinkDurability", values));
	return type;
}

/* The default, for which the library takes 0. */
#define FLUSH_MS 1000
#define LATE_MS  100

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	ChariOSink *sink = CHARIO_SINK(object);

	switch (id) {
	case PROP_SIZE:
		sink->size = g_value_get_uint64(value);
		break;
	case PROP_RING:
		sink->ring = g_value_get_boolean(value);
		break;
	case PROP_APPEND:
		sink->append = g_value_get_boolean(value);
		break;
	case PROP_FORCE:
		sink->force = g_value_get_boolean(value);
		break;
	case PROP_DROP:
		g_atomic_int_set(&sink->drop, g_value_get_boolean(value));
		break;
	case PROP_DURABILITY:
		sink->durability = g_value_get_enum(value);
		break;
	case PROP_FLUSH_MS:
		sink->flush_ms = g_value_get_uint(value);
		break;
	case PROP_SEGMENT_BYTES:
		sink->segment_bytes = g_value_get_uint(value);
		break;
	case PROP_BUFFERS:
		sink->buffers = g_value_get_uint(value);
		break;
	case PROP_LATE_MS:
		sink->late_ms = g_value_get_uint(value);
		break;
	default:
		if (!chario_gst_place_set(&sink->place, GST_ELEMENT(sink), id, value))
			G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void get_status_property(ChariOSink *sink, guint id, GValue *value)
{
	struct chario_stream_status status;
	guint64 number;

	chario_sink_get_status(sink, &status);
	number = id == PROP_RECORDS       ? status.records :
		 id == PROP_BYTES         ? status.bytes :
		 id == PROP_DURABLE_BYTES ? status.durable_bytes :
		 id == PROP_LATE          ? status.late :
					    status.lost_records;
	g_value_set_uint64(value, number);
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	ChariOSink *sink = CHARIO_SINK(object);

	switch (id) {
	case PROP_SIZE:
		g_value_set_uint64(value, sink->size);
		break;
	case PROP_RING:
		g_value_set_boolean(value, sink->ring);
		break;
	case PROP_APPEND:
		g_value_set_boolean(value, sink->append);
		break;
	case PROP_FORCE:
		g_value_set_boolean(value, sink->force);
		break;
	case PROP_DROP:
		g_value_set_boolean(value, g_atomic_int_get(&sink->drop));
		break;
	case PROP_DURABILITY:
		g_value_set_enum(value, sink->durability);
		break;
	case PROP_FLUSH_MS:
		g_value_set_uint(value, sink->flush_ms);
		break;
	case PROP_SEGMENT_BYTES:
		g_value_set_uint(value, sink->segment_bytes);
		break;
	case PROP_BUFFERS:
		g_value_set_uint(value, sink->buffers);
		break;
	case PROP_LATE_MS:
		g_value_set_uint(value, sink->late_ms);
		break;
	case PROP_RECORDS:
	case PROP_BYTES:
	case PROP_DURABLE_BYTES:
	case PROP_LATE:
	case PROP_LOST:
		get_status_property(sink, id, value);
		break;
	default:
		if (!chario_gst_place_get(&sink->place, GST_ELEMENT(sink), id, value))
			G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

#define SETTING CHARIO_GST_SETTING
#define LIVE    (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_PLAYING)
#define COUNTER (G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)

static void add_counter(GObjectClass *class, guint id, const char *name, const char *blurb)
{
	g_object_class_install_property(
		class, id, g_param_spec_uint64(name, name, blurb, 0, G_MAXUINT64, 0, COUNTER));
}

static void add_flag(GObjectClass *class, guint id, const char *name, const char *blurb,
		     GParamFlags flags)
{
	g_object_class_install_property(class, id,
					g_param_spec_boolean(name, name, blurb, FALSE, flags));
}

/**
 * struct number - a property with a number
 * @id: number of the property
 * @name: name of the property
 * @blurb: description
 * @least: least value
 * @most: greatest value
 * @usual: default value
 */
struct number {
	guint id;
	const char *name;
	const char *blurb;
	guint least;
	guint most;
	guint usual;
};

static const struct number numbers[] = {
	{ PROP_FLUSH_MS, "flush-ms", "Time after which what has arrived is written, and flushed", 1,
	  G_MAXUINT, FLUSH_MS },
	{ PROP_SEGMENT_BYTES, "segment-bytes",
	  "Bytes that are written at once, a multiple of 4096 (0 = what suits the area)", 0,
	  128 << 20, 0 },
	{ PROP_BUFFERS, "buffers", "Segments that are held in memory, or 0 for as many as usual", 0,
	  64, 0 },
	{ PROP_LATE_MS, "late-ms", "A segment that takes the disk longer counts as late", 1,
	  G_MAXUINT, LATE_MS },
};

static void add_numbers(GObjectClass *class)
{
	for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
		g_object_class_install_property(class, numbers[i].id,
						g_param_spec_uint(numbers[i].name, numbers[i].name,
								  numbers[i].blurb,
								  numbers[i].least, numbers[i].most,
								  numbers[i].usual, SETTING));
}

static void add_settings(GObjectClass *class)
{
	g_object_class_install_property(
		class, PROP_SIZE,
		g_param_spec_uint64("size", "size",
				    "Bytes of the area that is created where there is none "
				    "(0 = none is created)",
				    0, G_MAXUINT64, 0, SETTING));
	g_object_class_install_property(
		class, PROP_DURABILITY,
		g_param_spec_enum("durability", "durability", "When records become durable",
				  durability_get_type(), CHARIO_DURABILITY_AUTO, SETTING));
	add_flag(class, PROP_RING, "ring", "Overwrite what is oldest when the area is full",
		 SETTING);
	add_flag(class, PROP_APPEND, "append", "Go on with the recording if there is one", SETTING);
	add_flag(class, PROP_FORCE, "force",
		 "Begin a new recording even if there is one, or a file of chario put, which is "
		 "lost then",
		 SETTING);
	add_flag(class, PROP_DROP, "drop", "Never wait for the disk: lose buffers, and count them",
		 LIVE);
	add_numbers(class);
}

static void add_counters(GObjectClass *class)
{
	add_counter(class, PROP_RECORDS, "records", "Records that have been made");
	add_counter(class, PROP_BYTES, "bytes", "Bytes of these records");
	add_counter(class, PROP_DURABLE_BYTES, "durable-bytes", "Of these, that are durable");
	add_counter(class, PROP_LATE, "late", "Segments that took the disk longer than late-ms");
	add_counter(class, PROP_LOST, "lost", "Buffers that have been dropped");
}

void chario_sink_add_properties(GObjectClass *class)
{
	class->set_property = set_property;
	class->get_property = get_property;
	chario_gst_place_add_properties(class);
	add_settings(class);
	add_counters(class);
	gst_type_mark_as_plugin_api(durability_get_type(), 0);
}

void chario_sink_init_properties(ChariOSink *sink)
{
	sink->flush_ms = FLUSH_MS;
	sink->late_ms = LATE_MS;
}
