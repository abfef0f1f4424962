// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/**
 * SECTION:element-chariosrc
 * @title: chariosrc
 * @short_description: plays a recording of #chariosink
 *
 * Gives back the buffers of a recording with their caps, times and flags. Where records are
 * missing, because they were dropped, overwritten or damaged, a warning is posted and the next
 * buffer has the flag %GST_BUFFER_FLAG_DISCONT. Seeking by time goes to a buffer that can be
 * decoded alone.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 chariosrc store=/dev/chardisk0 area=camera ! matroskamux ! \
 *     filesink location=camera.mkv
 * ]|
 * Makes a file of a recording of H.264.
 * |[
 * gst-launch-1.0 chariosrc store=/dev/chardisk0 area=camera follow=true ! decodebin ! \
 *     autovideosink
 * ]|
 * Shows a recording while it is being made.
 */
#include "source.h"

#include <errno.h>
#include <fcntl.h>

#include "fail.h"

GST_DEBUG_CATEGORY_STATIC(debug);
#define GST_CAT_DEFAULT debug

/* A wait is cut into pieces, so that unlock() ends it. */
#define PATIENCE_NS 50000000LL

/* Segments that follow each other and cannot be read, after which it is given up. */
#define DAMAGES_MAX 8

/* Changes of caps and segment that one recording has at most without being noticed. */
#define EPOCHS_MAX 65536

enum { PROP_0, PROP_STORE, PROP_AREA, PROP_FOLLOW, PROP_FROM_TIME };

static GstStaticPadTemplate pad_template =
	GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE(ChariOSrc, chario_src, GST_TYPE_PUSH_SRC)

static void fail(ChariOSrc *source, enum chario_gst_act act, int err)
{
	if (err == -EBADMSG)
		GST_ELEMENT_ERROR(source, STREAM, WRONG_TYPE,
				  ("The recording was not made by chariosink. Read it with chario "
				   "replay, or with libchario."),
				  ("area \"%s\"", source->area));
	else
		chario_gst_fail(GST_ELEMENT(source), act, err, source->store_name, source->area);
}

static void close_all(ChariOSrc *source)
{
	chario_reader_close(source->reader);
	chario_store_close(source->store);
	source->reader = NULL;
	source->store = NULL;
}

static int open_all(ChariOSrc *source, enum chario_gst_act *act)
{
	int err;

	*act = CHARIO_GST_OPEN_STORE;
	err = chario_store_open(source->store_name, O_RDONLY, &source->store);
	if (err)
		return err;
	*act = CHARIO_GST_OPEN;
	err = chario_reader_open(source->store, source->area, &source->reader);
	if (err)
		return err;
	*act = CHARIO_GST_READ;
	err = chario_src_survey(source);
	source->is_new = TRUE;
	return err || !source->from_time ? err : chario_src_go(source, source->from_time);
}

static gboolean start(GstBaseSrc *base)
{
	ChariOSrc *source = CHARIO_SRC(base);
	enum chario_gst_act act;
	int err;

	if (!chario_gst_check_names(GST_ELEMENT(source), source->store_name, source->area))
		return FALSE;
	source->skip = source->shift = source->end = 0;
	source->is_begun = source->is_discont = source->is_sought = FALSE;
	g_atomic_int_set(&source->flushing, FALSE);
	source->damages = 0;
	source->length = GST_CLOCK_TIME_NONE;
	err = open_all(source, &act);
	if (!err)
		return TRUE;
	close_all(source);
	fail(source, act, err);
	return FALSE;
}

static gboolean stop(GstBaseSrc *base)
{
	close_all(CHARIO_SRC(base));
	gst_caps_replace(&CHARIO_SRC(base)->caps, NULL);
	return TRUE;
}

static void take_caps(ChariOSrc *source, const char *text, gsize bytes)
{
	gchar *copy = g_strndup(text, bytes);
	GstCaps *caps = *copy ? gst_caps_from_string(copy) : NULL;

	if (!caps || !source->caps || !gst_caps_is_strictly_equal(caps, source->caps))
		source->is_new = TRUE;
	gst_caps_replace(&source->caps, caps);
	gst_clear_caps(&caps);
	g_free(copy);
	source->has_caps = TRUE;
}

static void take_segment(ChariOSrc *source, const void *bytes, gsize size)
{
	GstSegment segment;

	if (!chario_gst_segment_read(&segment, bytes, size))
		return;
	if (!source->has_segment || !gst_segment_is_equal(&segment, &source->segment))
		source->is_new = TRUE;
	gst_segment_copy_into(&segment, &source->segment);
	source->has_segment = TRUE;
}

void chario_src_describe(ChariOSrc *source, const struct chario_gst_header *header,
			 const struct chario_record *record)
{
	const char *bytes = (const char *)record->memory + header->bytes;
	gsize size = record->bytes - header->bytes;

	if (header->kind == CHARIO_GST_BUFFER)
		return;
	if (header->epoch != source->epoch) {
		source->epoch = header->epoch;
		source->has_caps = source->has_segment = FALSE;
	}
	if (header->kind == CHARIO_GST_CAPS)
		take_caps(source, bytes, size);
	if (header->kind == CHARIO_GST_SEGMENT)
		take_segment(source, bytes, size);
}

void chario_src_make_segment(const ChariOSrc *source, GstSegment *segment)
{
	gst_segment_copy_into(&source->segment, segment);
	if (segment->format != GST_FORMAT_TIME)
		return;
	segment->position = segment->start;
	if (source->skip <= segment->base) {
		segment->base += source->shift - source->skip;
		return;
	}
	segment->start += source->skip - segment->base;
	segment->time += source->skip - segment->base;
	segment->position = segment->start;
	segment->base = source->shift;
}

static void send_caps(ChariOSrc *source)
{
	GstCaps *sent = gst_pad_get_current_caps(GST_BASE_SRC_PAD(source));

	if (source->caps && !(sent && gst_caps_is_strictly_equal(sent, source->caps)))
		gst_base_src_set_caps(GST_BASE_SRC(source), source->caps);
	gst_clear_caps(&sent);
}

/* Epochs of one pipeline follow each other; those of another begin anywhere. */
static gboolean is_appended(const ChariOSrc *source, const struct chario_gst_header *header)
{
	return source->is_begun && header->epoch - source->sent_epoch >= EPOCHS_MAX;
}

/* Of a part that was appended, times begin anew: it comes after the part before. */
static void send_segment(ChariOSrc *source, const struct chario_gst_header *header)
{
	guint64 sent = header->running + source->shift - source->skip;
	GstSegment segment;

	if (is_appended(source, header) && GST_CLOCK_TIME_IS_VALID(header->running) &&
	    sent < source->end)
		source->shift += source->end - sent;
	chario_src_make_segment(source, &segment);
	gst_base_src_new_segment(GST_BASE_SRC(source), &segment);
}

static GstBuffer *make_buffer(ChariOSrc *source, const struct chario_gst_header *header,
			      const struct chario_record *record)
{
	gsize size = record->bytes - header->bytes;
	GstBuffer *buffer = gst_buffer_new_allocate(NULL, size, NULL);

	if (!buffer)
		return NULL;
	gst_buffer_fill(buffer, 0, (const guint8 *)record->memory + header->bytes, size);
	chario_gst_header_apply(header, buffer);
	if (source->is_discont)
		GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_DISCONT);
	source->is_discont = FALSE;
	return buffer;
}

static void note_end(ChariOSrc *source, const struct chario_gst_header *header)
{
	guint64 end = header->running;

	source->is_begun = TRUE;
	if (!GST_CLOCK_TIME_IS_VALID(end))
		return;
	if (GST_CLOCK_TIME_IS_VALID(header->duration))
		end += header->duration;
	source->end = MAX(source->end, end + source->shift - source->skip);
}

static void note_missing(ChariOSrc *source, const struct chario_record *record)
{
	if (!record->missing)
		return;
	source->is_discont = TRUE;
	GST_ELEMENT_WARNING(source, RESOURCE, READ,
			    ("%" G_GUINT64_FORMAT " records are missing in the recording.",
			     record->missing),
			    ("before record %" G_GUINT64_FORMAT
			     ": dropped when it was made, overwritten, or damaged",
			     record->sequence));
}

/* A record becomes a buffer, or says something of those that follow: *@buffer is NULL. */
static int take_record(ChariOSrc *source, const struct chario_record *record, GstBuffer **buffer)
{
	struct chario_gst_header header;

	note_missing(source, record);
	if (!chario_gst_header_read(&header, record->memory, record->bytes))
		return -EBADMSG;
	chario_src_describe(source, &header, record);
	if (header.kind != CHARIO_GST_BUFFER)
		return 0;
	/* What a ring has overwritten may have said what this is. */
	if (header.epoch != source->epoch || !source->has_caps || !source->has_segment) {
		source->is_discont = TRUE;
		return 0;
	}
	if (source->is_new)
		send_caps(source);
	if (source->is_new && !source->is_sought)
		send_segment(source, &header);
	source->is_new = source->is_sought = FALSE;
	source->sent_epoch = header.epoch;
	*buffer = make_buffer(source, &header, record);
	note_end(source, &header);
	return *buffer ? 0 : -ENOMEM;
}

/* The reader goes on with the next segment of the recording. */
static int note_damage(ChariOSrc *source, int err)
{
	if (err != -EIO || ++source->damages > DAMAGES_MAX)
		return err;
	source->is_discont = TRUE;
	GST_ELEMENT_WARNING(source, RESOURCE, READ,
			    ("A part of the recording cannot be read and is left out. Look at the "
			     "kernel log and at chario health."),
			    (NULL));
	return 0;
}

static int next(ChariOSrc *source, GstBuffer **buffer)
{
	struct chario_record record;
	int err = chario_reader_next(source->reader, source->follow ? PATIENCE_NS : 0, &record);

	if (err == -EAGAIN)
		return source->follow ? 0 : -ENODATA;
	if (err)
		return err == -ENODATA ? err : note_damage(source, err);
	source->damages = 0;
	return take_record(source, &record, buffer);
}

static GstFlowReturn create(GstPushSrc *push, GstBuffer **buffer)
{
	ChariOSrc *source = CHARIO_SRC(push);
	int err = 0;

	*buffer = NULL;
	while (!err && !*buffer) {
		if (g_atomic_int_get(&source->flushing))
			return GST_FLOW_FLUSHING;
		err = next(source, buffer);
	}
	if (!err)
		return GST_FLOW_OK;
	if (err == -ENODATA)
		return GST_FLOW_EOS;
	fail(source, CHARIO_GST_READ, err);
	return GST_FLOW_ERROR;
}

static gboolean is_seekable(GstBaseSrc *base)
{
	(void)base;
	return TRUE;
}

static gboolean do_seek(GstBaseSrc *parent, GstSegment *segment)
{
	ChariOSrc *source = CHARIO_SRC(parent);
	guint64 stop = segment->stop, base = segment->base;
	int err;

	/* The first seek is GstBaseSrc's own, to where the source stands. */
	if (!segment->time && !segment->start && !source->is_begun)
		return TRUE;
	if (segment->format != GST_FORMAT_TIME || segment->rate != 1.0)
		return FALSE;
	source->shift = source->end = 0;
	err = chario_src_go(source, source->first_ns + segment->start);
	if (err) {
		fail(source, CHARIO_GST_READ, err);
		return FALSE;
	}
	if (!source->has_segment)
		return TRUE;
	chario_src_make_segment(source, segment);
	segment->base = base;
	segment->stop = GST_CLOCK_TIME_IS_VALID(stop) ? segment->start + (stop - source->skip) :
							GST_CLOCK_TIME_NONE;
	source->is_sought = TRUE;
	return TRUE;
}

static gboolean query(GstBaseSrc *base, GstQuery *query)
{
	ChariOSrc *source = CHARIO_SRC(base);
	GstFormat format;

	if (GST_QUERY_TYPE(query) == GST_QUERY_DURATION) {
		gst_query_parse_duration(query, &format, NULL);
		if (format == GST_FORMAT_TIME && GST_CLOCK_TIME_IS_VALID(source->length)) {
			gst_query_set_duration(query, format, (gint64)source->length);
			return TRUE;
		}
	}
	return GST_BASE_SRC_CLASS(chario_src_parent_class)->query(base, query);
}

static gboolean unlock(GstBaseSrc *base)
{
	g_atomic_int_set(&CHARIO_SRC(base)->flushing, TRUE);
	return TRUE;
}

static gboolean unlock_stop(GstBaseSrc *base)
{
	g_atomic_int_set(&CHARIO_SRC(base)->flushing, FALSE);
	return TRUE;
}

static void replace(gchar **at, const GValue *value)
{
	g_free(*at);
	*at = g_value_dup_string(value);
}

static void set_property(GObject *object, guint id, const GValue *value, GParamSpec *spec)
{
	ChariOSrc *source = CHARIO_SRC(object);

	switch (id) {
	case PROP_STORE:
		replace(&source->store_name, value);
		break;
	case PROP_AREA:
		replace(&source->area, value);
		break;
	case PROP_FOLLOW:
		source->follow = g_value_get_boolean(value);
		break;
	case PROP_FROM_TIME:
		source->from_time = g_value_get_uint64(value);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void get_property(GObject *object, guint id, GValue *value, GParamSpec *spec)
{
	ChariOSrc *source = CHARIO_SRC(object);

	switch (id) {
	case PROP_STORE:
		g_value_set_string(value, source->store_name);
		break;
	case PROP_AREA:
		g_value_set_string(value, source->area);
		break;
	case PROP_FOLLOW:
		g_value_set_boolean(value, source->follow);
		break;
	case PROP_FROM_TIME:
		g_value_set_uint64(value, source->from_time);
		break;
	default:
		G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
	}
}

static void finalize(GObject *object)
{
	ChariOSrc *source = CHARIO_SRC(object);

	g_free(source->store_name);
	g_free(source->area);
	gst_caps_replace(&source->caps, NULL);
	G_OBJECT_CLASS(chario_src_parent_class)->finalize(object);
}

#define SETTING (G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY)

static void add_properties(GObjectClass *class)
{
	g_object_class_install_property(class, PROP_STORE,
					g_param_spec_string("store", "store",
							    "Disk or file that has the store", NULL,
							    SETTING));
	g_object_class_install_property(
		class, PROP_AREA,
		g_param_spec_string("area", "area", "Area that has the recording", NULL, SETTING));
	g_object_class_install_property(
		class, PROP_FOLLOW,
		g_param_spec_boolean("follow", "follow",
				     "Wait for more until the recording is ended", FALSE, SETTING));
	g_object_class_install_property(
		class, PROP_FROM_TIME,
		g_param_spec_uint64("from-time", "from-time",
				    "Begin with what was taken then, in nanoseconds since 1970 "
				    "(0 = with the oldest)",
				    0, G_MAXUINT64, 0, SETTING));
}

static void chario_src_class_init(ChariOSrcClass *class)
{
	GObjectClass *object = G_OBJECT_CLASS(class);
	GstElementClass *element = GST_ELEMENT_CLASS(class);
	GstBaseSrcClass *base = GST_BASE_SRC_CLASS(class);

	GST_DEBUG_CATEGORY_INIT(debug, "chariosrc", 0, "recordings of CharIO");
	object->set_property = set_property;
	object->get_property = get_property;
	object->finalize = finalize;
	add_properties(object);
	gst_element_class_set_static_metadata(element, "CharIO source", "Source",
					      "Plays a recording of an area of a store of CharIO",
					      "the CharIO project");
	gst_element_class_add_static_pad_template(element, &pad_template);
	base->start = start;
	base->stop = stop;
	base->is_seekable = is_seekable;
	base->do_seek = do_seek;
	base->query = query;
	base->unlock = unlock;
	base->unlock_stop = unlock_stop;
	GST_PUSH_SRC_CLASS(class)->create = create;
}

static void chario_src_init(ChariOSrc *source)
{
	gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
}
