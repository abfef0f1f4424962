/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Errors and warnings of an element, with advice. */
#ifndef CHARIO_GST_FAIL_H
#define CHARIO_GST_FAIL_H

#include <gst/gst.h>

/**
 * enum chario_gst_act - the action that failed
 * @CHARIO_GST_OPEN_STORE: open the store
 * @CHARIO_GST_CREATE: create an area
 * @CHARIO_GST_OPEN: open an area or its recording
 * @CHARIO_GST_WRITE: record
 * @CHARIO_GST_READ: read
 */
enum chario_gst_act {
	CHARIO_GST_OPEN_STORE,
	CHARIO_GST_CREATE,
	CHARIO_GST_OPEN,
	CHARIO_GST_WRITE,
	CHARIO_GST_READ,
};

/*
 * Post an error message for a negative errno.  @store and @area are the names that the user
 * gave, or NULL.
 */
void chario_gst_fail(GstElement *element, enum chario_gst_act act, int err, const char *store,
		     const char *area);

/* Returns FALSE and posts an error message if a name is missing. */
gboolean chario_gst_check_names(GstElement *element, const char *store, const char *area);

#endif /* CHARIO_GST_FAIL_H */
