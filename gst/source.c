// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/**
 * SECTION:element-chariosrc
 * @title: chariosrc
 * @short_description: plays a recording of #chariosink
 *
 * Plays the buffers of a recording with their caps, times and flags. If records are
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

GST_DEBUG_CATEGORY_STATIC(debug);
#define GST_CAT_DEFAULT debug

static GstStaticPadTemplate pad_template =
	GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

G_DEFINE_TYPE(ChariOSrc, chario_src, GST_TYPE_PUSH_SRC)

static void fail(ChariOSrc *source, enum chario_gst_act act, int err)
{
	if (err == -EBADMSG)
		GST_ELEMENT_ERROR(source, STREAM, WRONG_TYPE,
				  ("The recording was not made by chariosink. Read it with chario "
				   "replay, or with libchario."),
				  ("area \"%s\"", source->place.area));
	else
		chario_gst_place_fail(&source->place, GST_ELEMENT(source), act, err);
}

static void close_all(ChariOSrc *source)
{
	chario_reader_close(source->reader);
	source->reader = NULL;
	chario_gst_place_close(&source->place);
}

static int open_all(ChariOSrc *source, enum chario_gst_act *act)
{
	int err;

	*act = CHARIO_GST_OPEN_STORE;
	err = chario_gst_place_open(&source->place, O_RDONLY);
	if (err)
		return err;
	*act = CHARIO_GST_OPEN;
	err = chario_reader_open(source->place.store, source->place.area, &source->reader);
	if (err)
		return err;
	*act = CHARIO_GST_READ;
	err = chario_src_survey(source);
	/* GstBaseSrc sends no segment of another format. */
	gst_base_src_set_format(GST_BASE_SRC(source), source->format);
	source->is_new = source->is_segment_new = TRUE;
	return err || !source->from_time ? err : chario_src_go(source, source->from_time);
}

static gboolean start(GstBaseSrc *base)
{
	ChariOSrc *source = CHARIO_SRC(base);
	enum chario_gst_act act;
	int err;

	if (!chario_gst_place_hold_names(&source->place, GST_ELEMENT(source)))
		return FALSE;
	source->skip = source->shift = source->end = source->position = 0;
	source->is_begun = source->is_discont = source->is_sought = FALSE;
	source->damages = 0;
	source->until = GST_CLOCK_TIME_NONE;
	source->length = GST_CLOCK_TIME_NONE;
	err = open_all(source, &act);
	if (!err)
		return TRUE;
	close_all(source);
	fail(source, act, err);
	chario_gst_place_drop_names(&source->place, GST_ELEMENT(source));
	return FALSE;
}

static gboolean stop(GstBaseSrc *base)
{
	close_all(CHARIO_SRC(base));
	chario_gst_place_drop_names(&CHARIO_SRC(base)->place, GST_ELEMENT(base));
	gst_caps_replace(&CHARIO_SRC(base)->caps, NULL);
	return TRUE;
}

static GstFlowReturn create(GstPushSrc *push, GstBuffer **buffer)
{
	ChariOSrc *source = CHARIO_SRC(push);
	int err = 0;

	*buffer = NULL;
	while (!err && !*buffer) {
		if (chario_gst_place_is_flushing(&source->place))
			return GST_FLOW_FLUSHING;
		err = chario_src_next(source, buffer);
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
	return CHARIO_SRC(base)->format == GST_FORMAT_TIME;
}

static gboolean do_seek(GstBaseSrc *parent, GstSegment *segment)
{
	ChariOSrc *source = CHARIO_SRC(parent);
	guint64 stop = segment->stop, base = segment->base;
	int err;

	source->until = stop;
	/* GstBaseSrc itself makes the first seek, to the place where the source is. */
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
	segment->stop = GST_CLOCK_TIME_NONE;
	if (GST_CLOCK_TIME_IS_VALID(stop)) {
		source->until = stop - source->skip;
		segment->stop = segment->start + source->until;
	}
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
	chario_gst_place_set_flushing(&CHARIO_SRC(base)->place, TRUE);
	return TRUE;
}

static gboolean unlock_stop(GstBaseSrc *base)
{
	chario_gst_place_set_flushing(&CHARIO_SRC(base)->place, FALSE);
	return TRUE;
}

static void finalize(GObject *object)
{
	ChariOSrc *source = CHARIO_SRC(object);

	chario_gst_place_deinit(&source->place);
	gst_caps_replace(&source->caps, NULL);
	G_OBJECT_CLASS(chario_src_parent_class)->finalize(object);
}

static void chario_src_class_init(ChariOSrcClass *class)
{
	GObjectClass *object = G_OBJECT_CLASS(class);
	GstElementClass *element = GST_ELEMENT_CLASS(class);
	GstBaseSrcClass *base = GST_BASE_SRC_CLASS(class);

	GST_DEBUG_CATEGORY_INIT(debug, "chariosrc", 0, "recordings of CharIO");
	object->finalize = finalize;
	chario_src_add_properties(object);
	gst_element_class_set_static_metadata(element, "CharIO source", "Source/File",
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
	source->format = GST_FORMAT_TIME;
	gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
	/*
	 * Otherwise GstBaseSrc would end at the end of a recorded segment, and not see
	 * later ones.
	 */
	gst_base_src_set_automatic_eos(GST_BASE_SRC(source), FALSE);
}
