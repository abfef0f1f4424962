// SPDX-License-Identifier: MIT
/*
 * A file gets a buffer while another thread lets its calls have any size: one
 * of them is refused.
 *
 *	buffer_or_any_size DEVICE
 *
 * The buffer is large, and its memory counts as pinned before it is there: so
 * the other asks in the middle of the creation, or else once more.  Prints how
 * the other ended, how the creation did, and how the giving back of a buffer
 * does.
 */
#include "common.h"

#define BYTES (64ul << 20)
#define TRIES 100

struct creation {
	struct chario_buffer_create args;
	int disk;
	int error;
};

static void *create(void *argument)
{
	struct creation *c = argument;

	c->error = ioctl(c->disk, CHARIO_IOC_BUFFER_CREATE, &c->args) ? errno : 0;
	return NULL;
}

static int let_any_size(int disk)
{
	struct chario_file_options any = { .size = sizeof(any), .flags = CHARIO_FILE_ANY_SIZE };

	return ioctl(disk, CHARIO_IOC_SET_FILE, &any) ? errno : 0;
}

static int give_back(int disk)
{
	struct chario_buffer_destroy first = { .size = sizeof(first), .id = 1 };

	return ioctl(disk, CHARIO_IOC_BUFFER_DESTROY, &first) ? errno : 0;
}

static const char *name(int error)
{
	return error ? strerrorname_np(error) : "0";
}

/* Whether the other asked in time. */
static bool meet(const char *path)
{
	struct creation c = {
		.args = { .size = sizeof(c.args), .kind = CHARIO_BUFFER_POOL, .bytes = BYTES },
		.disk = must_open(path, O_RDWR)
	};
	pthread_t thread;
	int error;

	must_start(&thread, create, &c);
	while (!pinned_kib())
		;
	error = let_any_size(c.disk);
	pthread_join(thread, NULL);
	if (!error)
		printf("%s %s %s\n", name(error), name(c.error), name(give_back(c.disk)));
	close(c.disk);
	/* What was refused is given back by a worker. */
	while (pinned_kib())
		;
	return !error;
}

int main(int argc, char **argv)
{
	if (argc != 2)
		die("usage: buffer_or_any_size DEVICE");
	for (int i = 0; i < TRIES; i++)
		if (meet(argv[1]))
			return 0;
	die("the creation has ended first each time");
}
