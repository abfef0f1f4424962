// SPDX-License-Identifier: MIT
/* What the files of the agent have in common. */
#ifndef AGENT_H
#define AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <json-c/json.h>

#define SPOOL              "/run/lab"
#define OUTPUT_LIMIT_BYTES (32UL << 20)

/* A growing piece of memory; `data` is NULL until something is reserved. */
struct bytes {
	char *data;
	size_t used, size;
};

/* line.c: what comes from the host and goes there */
void die(const char *what) __attribute__((noreturn));
char *reserve(struct bytes *bytes, size_t more);
void append(struct bytes *bytes, const char *text);
bool slurp(int fd, struct bytes *bytes);
struct json_object *take_text(struct bytes *bytes);
const char *string_in(struct json_object *request, const char *key);
int64_t number_in(struct json_object *request, const char *key);
struct json_object *reply_to(int64_t id);
void open_port(const char *name);
int port_descriptor(void);
void send_reply(struct json_object *reply);
bool receive(short events, void (*serve)(struct json_object *request));

/* jobs.c: commands, from the request to the report of the end */
void run(struct json_object *request);
void kill_job(struct json_object *request);
void reap(void);
void expire(void);
int patience_ms(void);

/* files.c: small files of the guest, and the kernel log */
void open_kmsg(void);
void read_kmsg(struct json_object *request);

bool answer(struct json_object *request);

#endif
