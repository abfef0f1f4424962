// SPDX-License-Identifier: MIT
/* The line to the host: requests come in, replies go out, a JSON object a line. */
#include "agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORTS            "/sys/class/virtio-ports"
#define READ_BYTES       (1UL << 16)
#define WAIT_US          20000
#define OPENING_LIMIT_US 10000000

static int port;

void die(const char *what)
{
	fprintf(stderr, "agent: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* Room for so many more bytes, and one for a zero behind them. */
char *reserve(struct bytes *bytes, size_t more)
{
	if (bytes->size <= bytes->used + more) {
		bytes->size = 2 * (bytes->used + more) + 1;
		bytes->data = realloc(bytes->data, bytes->size);
		if (!bytes->data)
			die("memory");
	}
	return bytes->data + bytes->used;
}

void append(struct bytes *bytes, const char *text)
{
	strcpy(reserve(bytes, strlen(text)), text);
	bytes->used += strlen(text);
}

/* What is in a file, up to OUTPUT_LIMIT_BYTES and a little; false, and errno, when it cannot be read. */
bool slurp(int fd, struct bytes *bytes)
{
	ssize_t got;

	do {
		got = read(fd, reserve(bytes, READ_BYTES), READ_BYTES);
		if (got > 0)
			bytes->used += (size_t)got;
	} while (got > 0 && bytes->used <= OUTPUT_LIMIT_BYTES);
	return got >= 0;
}

/* The bytes as a text; their memory is gone afterwards. */
struct json_object *take_text(struct bytes *bytes)
{
	struct json_object *text;

	reserve(bytes, 0);
	text = json_object_new_string_len(bytes->data, (int)bytes->used);
	free(bytes->data);
	return text;
}

struct json_object *reply_to(int64_t id)
{
	struct json_object *reply = json_object_new_object();

	json_object_object_add(reply, "id", json_object_new_int64(id));
	return reply;
}

/* Write one line and let go of the reply; the host always reads, so this may block. */
void send_reply(struct json_object *reply)
{
	struct bytes line = { NULL, 0, 0 };
	ssize_t sent;

	append(&line, json_object_to_json_string_ext(
			      reply, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	append(&line, "\n");
	for (size_t place = 0; place < line.used; place += (size_t)sent) {
		sent = write(port, line.data + place, line.used - place);
		if (sent < 0 && errno != EINTR)
			die("the line to the host");
		if (sent < 0)
			sent = 0;
	}
	free(line.data);
	json_object_put(reply);
}

const char *string_in(struct json_object *request, const char *key)
{
	return json_object_get_string(json_object_object_get(request, key));
}

int64_t number_in(struct json_object *request, const char *key)
{
	return json_object_get_int64(json_object_object_get(request, key));
}

/* Whether a port, by its folder in sysfs, has this name. */
static bool has_name(const char *folder, const char *name)
{
	struct bytes said = { NULL, 0, 0 };
	size_t bytes = strlen(name);
	char path[300];
	bool same;
	int fd;

	snprintf(path, sizeof(path), PORTS "/%.200s/name", folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	same = slurp(fd, &said) && said.used == bytes + 1 && !memcmp(said.data, name, bytes);
	close(fd);
	free(said.data);
	return same;
}

/* The device node appears when the port's driver has probed. */
static int find_port(const char *name)
{
	struct dirent *entry;
	char path[300];
	int found = -1;
	DIR *folder;

	folder = opendir(PORTS);
	while (folder && found < 0 && (entry = readdir(folder))) {
		if (!has_name(entry->d_name, name))
			continue;
		snprintf(path, sizeof(path), "/dev/%.200s", entry->d_name);
		found = open(path, O_RDWR | O_CLOEXEC);
	}
	if (folder)
		closedir(folder);
	return found;
}

void open_port(const char *name)
{
	while ((port = find_port(name)) < 0)
		usleep(WAIT_US);
}

int port_descriptor(void)
{
	return port;
}

static void serve_line(char *line, size_t bytes, void (*serve)(struct json_object *request))
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *request;

	request = json_tokener_parse_ex(tokener, line, (int)bytes);
	if (!request) {
		errno = EBADMSG;
		die("a request");
	}
	serve(request);
	json_object_put(request);
	json_tokener_free(tokener);
}

/*
 * Whether the port is open, or will be soon: after a sleep of the machine its
 * driver takes the host's end for closed until the host has answered it.
 */
static bool opens(void)
{
	struct pollfd ready = { .fd = port };

	for (int waited_us = 0; waited_us < OPENING_LIMIT_US; waited_us += WAIT_US) {
		if (poll(&ready, 1, 0) >= 0 && !(ready.revents & POLLHUP))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

/* Take what the host wrote and serve every complete line of it; false when the host has closed its end. */
bool receive(short events, void (*serve)(struct json_object *request))
{
	static struct bytes pending;
	char *line, *end;
	ssize_t got;

	/* A read would wait for the next request, should the port be open again by now. */
	if (events & POLLHUP)
		return opens();
	got = read(port, reserve(&pending, READ_BYTES), READ_BYTES);
	if (got <= 0)
		return opens();
	pending.used += (size_t)got;
	for (line = pending.data; (end = memchr(line, '\n', pending.used)); line = end + 1) {
		serve_line(line, (size_t)(end - line), serve);
		pending.used -= (size_t)(end + 1 - line);
	}
	memmove(pending.data, line, pending.used);
	return true;
}
