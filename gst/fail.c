// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Errors in words, and in GStreamer's codes.
 */
#include "fail.h"

#include <chario/error.h>
#include <errno.h>

struct words {
	enum chario_gst_act act;
	int error;
	gint code;
	const char *text;
	const char *advice;
};

/* What the words of the library, which are about disks, do not say. */
static const struct words table[] = {
	{ CHARIO_GST_OPEN_STORE, ENOENT, GST_RESOURCE_ERROR_NOT_FOUND, "There is no such disk",
	  "chario list shows the disks that there are; a file is named by its path" },
	{ CHARIO_GST_OPEN_STORE, ENODEV, GST_RESOURCE_ERROR_NOT_FOUND, "There is no such disk",
	  "chario list shows the disks that there are; a file is named by its path" },
	{ CHARIO_GST_OPEN_STORE, ENOMEDIUM, GST_RESOURCE_ERROR_NOT_FOUND,
	  "There is no store on the disk",
	  "chario format makes one; what the disk holds is lost then" },
	{ CHARIO_GST_OPEN_STORE, EUCLEAN, GST_RESOURCE_ERROR_OPEN_READ_WRITE,
	  "The table of the store is damaged", "chario check says where, and repairs what can be" },
	{ CHARIO_GST_CREATE, ENOSPC, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
	  "No free piece of the store is as long as the area is to be",
	  "chario df shows what is free; take a smaller size, remove areas, or run chario defrag" },
	{ CHARIO_GST_OPEN, ENOENT, GST_RESOURCE_ERROR_NOT_FOUND, "There is no such area",
	  "chario ls shows the areas that there are; the property size of chariosink creates one" },
	{ CHARIO_GST_OPEN, EBUSY, GST_RESOURCE_ERROR_BUSY, "Somebody else writes to the area",
	  "Wait until that recording is ended, or take another area" },
	{ CHARIO_GST_OPEN, ENODATA, GST_RESOURCE_ERROR_NOT_FOUND, "The area holds no recording",
	  "chariosink makes one; to begin a new one, leave append out" },
	{ CHARIO_GST_OPEN, ENOSPC, GST_RESOURCE_ERROR_NO_SPACE_LEFT,
	  "The area is shorter than two segments",
	  "Make it longer with chario resize, or take a smaller segment-bytes" },
	{ CHARIO_GST_OPEN, EINVAL, GST_RESOURCE_ERROR_SETTINGS, "A property is out of its range",
	  "segment-bytes is a multiple of 4096 from 8192 to 67108864, buffers 2 to 64; with append, "
	  "segment-bytes is 0 or what the recording has" },
	{ CHARIO_GST_WRITE, ENOSPC, GST_RESOURCE_ERROR_NO_SPACE_LEFT, "The area is full",
	  "Take a new area, with a larger size, or set ring=true to overwrite what is oldest" },
};

static const struct words *find(enum chario_gst_act act, int err)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		if (table[i].act == act && table[i].error == -err)
			return &table[i];
	return NULL;
}

static gint code_of(enum chario_gst_act act, int err)
{
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return GST_RESOURCE_ERROR_NOT_AUTHORIZED;
	if (err == -EBUSY)
		return GST_RESOURCE_ERROR_BUSY;
	if (act == CHARIO_GST_WRITE)
		return GST_RESOURCE_ERROR_WRITE;
	return act == CHARIO_GST_READ ? GST_RESOURCE_ERROR_READ :
					GST_RESOURCE_ERROR_OPEN_READ_WRITE;
}

void chario_gst_fail(GstElement *element, enum chario_gst_act act, int err, const char *store,
		     const char *area)
{
	const struct words *words = find(act, err);
	const char *advice = words ? words->advice : chario_error_advice(err);
	const char *name = chario_error_name(err);
	gchar *text, *debug;

	text = g_strdup_printf("%s%s%s.", words ? words->text : chario_error_meaning(err),
			       advice ? ". " : "", advice ? advice : "");
	debug = g_strdup_printf("store \"%s\", area \"%s\": %s (%d)", store, area,
				name ? name : g_strerror(-err), err);
	gst_element_message_full(element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR,
				 words ? words->code : code_of(act, err), text, debug, __FILE__,
				 "chario_gst_fail", __LINE__);
}

gboolean chario_gst_check_names(GstElement *element, const char *store, const char *area)
{
	if (store && *store && area && *area)
		return TRUE;
	GST_ELEMENT_ERROR(element, RESOURCE, NOT_FOUND,
			  ("Set the properties store, a disk or a file, and area, a name in it."),
			  (NULL));
	return FALSE;
}
