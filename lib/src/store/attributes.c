// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The user's own keys and values of an area.
 *
 * The attributes follow the name in the same field of the area's entry, as texts
 * "key=value" with a NUL each.  Name and attributes together are the area's label, so they
 * are changed and removed together.
 */
#include <errno.h>
#include <string.h>

#include "store/inner.h"

#define LABEL_BYTES (CHARIO_STORE_NAME_MAX + 1)

/* Returns the bytes of the attribute that begins here, with its NUL; 0 if there is none. */
static size_t attribute_bytes(const char *at, const char *end)
{
	size_t length = strnlen(at, (size_t)(end - at));
	const char *equals = memchr(at, '=', length);

	return at + length < end && equals && equals != at ? length + 1 : 0;
}

size_t chario_label_bytes(const char *label)
{
	const char *at = label + strnlen(label, LABEL_BYTES - 1) + 1, *end = label + LABEL_BYTES;
	size_t bytes;

	while ((bytes = attribute_bytes(at, end)))
		at += bytes;
	return (size_t)(at - label);
}

size_t chario_label_attributes(const char *label, char attributes[LABEL_BYTES])
{
	size_t name = strlen(label) + 1, bytes = chario_label_bytes(label) - name;

	memset(attributes, 0, LABEL_BYTES);
	memcpy(attributes, label + name, bytes);
	return bytes;
}

/* Returns the next text of a list that an empty text ends. */
static const char *next(const char *at)
{
	return at + strlen(at) + 1;
}

static size_t key_bytes(const char *attribute)
{
	return strcspn(attribute, "=");
}

/* Find the attribute of a list that has the key of @attribute.  Returns NULL if there is none. */
static const char *find(const char *list, const char *attribute)
{
	const size_t bytes = key_bytes(attribute);

	for (const char *at = list; *at; at = next(at))
		if (key_bytes(at) == bytes && !memcmp(at, attribute, bytes))
			return at;
	return NULL;
}

const char *chario_area_attribute(const struct chario_area_info *info, const char *key)
{
	const char *found = key[key_bytes(key)] ? NULL : find(info->attributes, key);

	return found ? found + strlen(key) + 1 : NULL;
}

static int append(char *label, size_t *bytes, const char *text)
{
	size_t length = strlen(text) + 1;

	if (length > LABEL_BYTES - *bytes)
		return -E2BIG;
	memcpy(label + *bytes, text, length);
	*bytes += length;
	return 0;
}

int chario_label_make(char *label, const char *name, const char *old, const char *changes)
{
	size_t bytes = 0;
	int err;

	memset(label, 0, LABEL_BYTES);
	err = append(label, &bytes, name);
	for (const char *at = old; *at && !err; at = next(at))
		if (!find(changes, at))
			err = append(label, &bytes, at);
	/* If a key occurs twice, the last value counts. */
	for (const char *at = changes; *at && !err; at = next(at))
		if (!key_bytes(at))
			err = -EINVAL;
		else if (at[key_bytes(at)] && !find(next(at), at))
			err = append(label, &bytes, at);
	return err;
}

int chario_store_set_attributes(struct chario_store *store, const char *name, const char *changes)
{
	const struct store_item *item;
	char attributes[LABEL_BYTES];
	struct store_entry entry;
	int err = chario_store_has_log(store) ? chario_change_begin(store) : -EOPNOTSUPP;

	if (err)
		return err;
	STORE_CHANGED(store);
	item = chario_index_find(&store->index, name);
	if (!item)
		return -ENOENT;
	chario_change_copy(item, &entry);
	chario_label_attributes(item->name, attributes);
	err = chario_label_make(entry.name, name, attributes, changes);
	if (err)
		return err;
	entry.fields.changed_ns = chario_store_now();
	return chario_change_entry(store, item->slot, &entry);
}
