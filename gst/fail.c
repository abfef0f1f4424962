// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Errors in words, and in GStreamer's codes. */
#include "fail.h"

#include <chario/error.h>
#include <errno.h>

/**
 * struct own - an error for which a property of an element helps
 * @act: the failed action
 * @error: the errno
 * @advice: the name of the property
 */
struct own {
	enum chario_gst_act act;
	int error;
	const char *advice;
};

static const struct own table[] = {
	{ CHARIO_GST_CREATE, ENOSPC,
	  "chario df shows what is free; take a smaller size, remove areas, or run chario defrag" },
	{ CHARIO_GST_OPEN, ENOENT,
	  "chario ls shows the areas that there are; the property size of chariosink creates one" },
	{ CHARIO_GST_OPEN, EEXIST,
	  "append=true goes on with it, force=true begins a new one; splitmuxsink records each "
	  "fragment into an area of its own with location=\"part-%05d\"" },
	{ CHARIO_GST_OPEN, EALREADY,
	  "Take another area; force=true records over what is in this one" },
	{ CHARIO_GST_OPEN, EBUSY, "Wait until that recording is ended, or take another area" },
	{ CHARIO_GST_OPEN, ENODATA, "chariosink makes one" },
	{ CHARIO_GST_OPEN, ENOSPC,
	  "Take a larger size for a new area, or a smaller segment-bytes" },
	{ CHARIO_GST_OPEN, EINVAL,
	  "segment-bytes is a multiple of 4096 from 8192 to 134217728, buffers 2 to 64; with append, "
	  "segment-bytes is 0 or what the recording has, and ring=true only where it is a ring" },
	{ CHARIO_GST_WRITE, ENOSPC,
	  "Take a new area, with a larger size, or set ring=true to overwrite what is oldest" },
};

static const enum chario_subject subjects[] = {
	[CHARIO_GST_OPEN_STORE] = CHARIO_SUBJECT_STORE,
	[CHARIO_GST_CREATE] = CHARIO_SUBJECT_NEW_AREA,
	[CHARIO_GST_OPEN] = CHARIO_SUBJECT_RECORDING,
	[CHARIO_GST_WRITE] = CHARIO_SUBJECT_RECORDS,
	[CHARIO_GST_READ] = CHARIO_SUBJECT_RECORDS,
};

static const char *advice_of(enum chario_gst_act act, int err)
{
	for (gsize i = 0; i < G_N_ELEMENTS(table); i++)
		if (table[i].act == act && table[i].error == -err)
			return table[i].advice;
	return chario_error_advice_of(err, subjects[act]);
}

static gint code_of(enum chario_gst_act act, int err)
{
	if (err == -EACCES || err == -EPERM || err == -EROFS)
		return GST_RESOURCE_ERROR_NOT_AUTHORIZED;
	if (err == -EBUSY || err == -EALREADY)
		return GST_RESOURCE_ERROR_BUSY;
	if (err == -ENOSPC || err == -EDQUOT)
		return GST_RESOURCE_ERROR_NO_SPACE_LEFT;
	if (err == -ENOENT || err == -ENODEV || err == -ENOMEDIUM || err == -ENODATA)
		return GST_RESOURCE_ERROR_NOT_FOUND;
	if (err == -EINVAL && act == CHARIO_GST_OPEN)
		return GST_RESOURCE_ERROR_SETTINGS;
	if (act == CHARIO_GST_WRITE)
		return GST_RESOURCE_ERROR_WRITE;
	return act == CHARIO_GST_READ ? GST_RESOURCE_ERROR_READ :
					GST_RESOURCE_ERROR_OPEN_READ_WRITE;
}

/* The library's texts begin in lower case, because they are also parts of sentences. */
static gchar *text_of(enum chario_gst_act act, int err)
{
	const char *meaning = chario_error_meaning_of(err, subjects[act]);
	const char *advice = advice_of(act, err);

	return g_strdup_printf("%c%s%s%s.", g_ascii_toupper(meaning[0]), meaning + 1,
			       advice ? ". " : "", advice ? advice : "");
}

void chario_gst_fail(GstElement *element, enum chario_gst_act act, int err, const char *store,
		     const char *area)
{
	const char *name = chario_error_name(err);
	gchar *debug = g_strdup_printf("store \"%s\", area \"%s\": %s (%d)", store, area,
				       name ? name : g_strerror(-err), err);

	gst_element_message_full(element, GST_MESSAGE_ERROR, GST_RESOURCE_ERROR, code_of(act, err),
				 text_of(act, err), debug, __FILE__, "chario_gst_fail", __LINE__);
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
