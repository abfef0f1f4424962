// SPDX-License-Identifier: MIT
/* Small files of the guest, which are read and written without a process, and the kernel log. */
#define _GNU_SOURCE /* asprintf */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECORD_BYTES 8192

static int kmsg;          /* the kernel log, behind the newest record that was read */
static int64_t last = -1; /* the number of that record */

void open_kmsg(void)
{
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (kmsg < 0)
		die("/dev/kmsg");
}

/* Records of the kernel log above a number.  Only those are read that were not before, if that will do. */
void read_kmsg(struct json_object *request)
{
	struct json_object *reply = reply_to(number_in(request, "id"));
	struct json_object *records = json_object_new_array();
	int64_t after = number_in(request, "after");
	char record[RECORD_BYTES + 1];
	ssize_t got;

	if (after < last)
		lseek(kmsg, 0, SEEK_SET);
	while ((got = read(kmsg, record, sizeof(record) - 1)) > 0 || errno == EPIPE) {
		if (got <= 0)
			continue; /* it was overwritten while we read: go on behind */
		record[got] = '\0';
		last = strtoll(strchr(record, ',') + 1, NULL, 10);
		if (last > after)
			json_object_array_add(records,
					      json_object_new_string_len(record, (int)got - 1));
	}
	json_object_object_add(reply, "records", records);
	json_object_object_add(reply, "last", json_object_new_int64(last));
	send_reply(reply);
}

static struct json_object *read_path(const char *path)
{
	struct bytes bytes = { NULL, 0, 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	bool whole;

	if (fd < 0)
		return NULL;
	whole = slurp(fd, &bytes);
	error = errno;
	close(fd);
	errno = error;
	if (whole)
		return take_text(&bytes);
	free(bytes.data);
	return NULL;
}

/* The functions from here to answer() do what a request asks for; NULL stands for what errno says. */
static struct json_object *read_file(struct json_object *request)
{
	return read_path(string_in(request, "path"));
}

/* Calls `take` with each name of a folder, in order; false, and errno, where there is no folder. */
static bool each_name(const char *folder, struct json_object *found,
		      void (*take)(const char *folder, const char *name, struct json_object *found))
{
	struct dirent **entries;
	int count = scandir(folder, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		if (strcmp(entries[i]->d_name, ".") && strcmp(entries[i]->d_name, ".."))
			take(folder, entries[i]->d_name, found);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return count >= 0;
}

/* What cannot be read is left out. */
static void take_content(const char *folder, const char *name, struct json_object *found)
{
	struct json_object *content = NULL;
	char *path;

	if (asprintf(&path, "%s/%s", folder, name) < 0)
		die("memory");
	content = read_path(path);
	if (content)
		json_object_object_add(found, name, content);
	free(path);
}

static struct json_object *found_or_null(bool complete, struct json_object *found)
{
	int error = errno;

	if (complete)
		return found;
	json_object_put(found);
	errno = error;
	return NULL;
}

static struct json_object *read_folder(struct json_object *request)
{
	struct json_object *found = json_object_new_object();

	return found_or_null(each_name(string_in(request, "path"), found, take_content), found);
}

static void take_name(const char *folder, const char *name, struct json_object *found)
{
	json_object_array_add(found, json_object_new_string(name));
}

static struct json_object *list_folder(struct json_object *request)
{
	struct json_object *found = json_object_new_array();

	return found_or_null(each_name(string_in(request, "path"), found, take_name), found);
}

/* Write a text with one call, as files of the kernel want it. */
static struct json_object *write_file(struct json_object *request)
{
	struct json_object *text = json_object_object_get(request, "text");
	int fd = open(string_in(request, "path"), O_WRONLY | O_TRUNC | O_CLOEXEC), error;
	ssize_t written;

	if (fd < 0)
		return NULL;
	written = write(fd, json_object_get_string(text), (size_t)json_object_get_string_len(text));
	error = errno;
	close(fd);
	errno = error;
	return written < 0 ? NULL : json_object_new_string("");
}

static struct json_object *touch_file(struct json_object *request)
{
	int fd = open(string_in(request, "path"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return NULL;
	close(fd);
	return json_object_new_string("");
}

static struct json_object *remove_file(struct json_object *request)
{
	return unlink(string_in(request, "path")) ? NULL : json_object_new_string("");
}

static struct json_object *resolve(struct json_object *request)
{
	char *path = realpath(string_in(request, "path"), NULL);
	struct json_object *text = path ? json_object_new_string(path) : NULL;

	free(path);
	return text;
}

static const struct {
	const char *operation;
	struct json_object *(*answer)(struct json_object *request);
} answers[] = {
	{ "read", read_file },   { "read_folder", read_folder }, { "write", write_file },
	{ "touch", touch_file }, { "remove", remove_file },      { "list", list_folder },
	{ "resolve", resolve },
};

/* What a file says, or why it does not; false where a request is for no file. */
bool answer(struct json_object *request)
{
	struct json_object *reply, *value;
	size_t i = 0, count = sizeof(answers) / sizeof(*answers);

	while (i < count && strcmp(answers[i].operation, string_in(request, "op")))
		i++;
	if (i == count)
		return false;
	reply = reply_to(number_in(request, "id"));
	value = answers[i].answer(request);
	if (value)
		json_object_object_add(reply, "value", value);
	else
		json_object_object_add(reply, "errno", json_object_new_int(errno));
	send_reply(reply);
	return true;
}
