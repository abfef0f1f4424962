// SPDX-License-Identifier: MIT

#include "../common.h"
#include "../dmabuf.h"
#include "setup.h"

#define BYTES   (64u << 10)
#define WINDOWS "/sys/module/chario/parameters/windows"

static int windows_fd = -1;
static int memory_fd = -1; /* a dma-buf */
static void *registered;
static const char *window;

static int create(int disk, struct chario_buffer_create *args)
{
	args->size = sizeof(*args);
	args->bytes = args->bytes ?: BYTES;
	return ioctl(disk, CHARIO_IOC_BUFFER_CREATE, args);
}

/* A buffer inside the drive, as a dma-buf: its descriptor, or -1. */
static int export(int disk)
{
	struct chario_buffer_create inside = { .kind = CHARIO_BUFFER_CMB };
	struct chario_buffer_export args = { .size = sizeof(args) };

	if (create(disk, &inside))
		return -1;
	args.id = inside.id;
	return ioctl(disk, CHARIO_IOC_BUFFER_EXPORT, &args) ? -1 : args.fd;
}

static int close_ok(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

static int run_registered(int disk)
{
	return create(disk, &(struct chario_buffer_create){ .kind = CHARIO_BUFFER_REGISTERED,
							    .address = (uintptr_t)registered });
}

static int run_pool(int disk)
{
	struct chario_buffer_create args = { .kind = CHARIO_BUFFER_POOL };
	void *mapped;

	if (create(disk, &args))
		return -1;
	mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, disk,
		      (off_t)args.mmap_offset);
	return mapped == MAP_FAILED ? -1 : munmap(mapped, BYTES);
}

static int run_window(int disk)
{
	if (pwrite(windows_fd, window, strlen(window), 0) < 0)
		return -1;
	return create(disk, &(struct chario_buffer_create){ .kind = CHARIO_BUFFER_WINDOW,
							    .address = strtoull(window, NULL, 0),
							    .bytes = 4096 });
}

static int run_dmabuf(int disk)
{
	return create(disk, &(struct chario_buffer_create){ .kind = CHARIO_BUFFER_DMABUF,
							    .fd = memory_fd });
}

static int run_export(int disk)
{
	return close_ok(export(disk));
}

static int run_timeline(int disk)
{
	struct chario_timeline_open args = { .size = sizeof(args), .records = 64, .tags = 64 };

	return close_ok(ioctl(disk, CHARIO_IOC_TIMELINE_OPEN, &args));
}

static int run_any_size(int disk)
{
	struct chario_file_options args = { .size = sizeof(args), .flags = CHARIO_FILE_ANY_SIZE };

	return ioctl(disk, CHARIO_IOC_SET_FILE, &args);
}

static int run_pin(int disk)
{
	struct chario_pin args = { .size = sizeof(args), .wanted = CHARIO_PIN_ALL };

	return ioctl(disk, CHARIO_IOC_SET_PIN, &args);
}

static const struct {
	const char *name;
	int (*run)(int disk);
} kinds[] = {
	{ "registered", run_registered }, { "pool", run_pool },         { "window", run_window },
	{ "dmabuf", run_dmabuf },         { "peer", run_dmabuf },       { "export", run_export },
	{ "timeline", run_timeline },     { "any-size", run_any_size }, { "pin", run_pin },
};

int setup_run(const char *kind, int disk)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, kind))
			return kinds[i].run(disk);
	die("no such call: %s", kind);
}

void setup_prepare(const char *kind, const char *more)
{
	bool peer = !strcmp(kind, "peer");

	registered = must_map_own(BYTES, MAP_POPULATE);
	window = more;
	windows_fd = must_open(WINDOWS, O_WRONLY);
	/* The other disk stays open: its buffer goes with its file. */
	memory_fd = peer ? export(open(more, O_RDWR)) : dmabuf_of_heap(BYTES);
	if (memory_fd < 0)
		die("cannot prepare %s", kind);
}

void setup_undo(const char *kind)
{
	char text[64] = "-";

	/* What failed late is let go a moment later, and the same pages should not be mapped meanwhile. */
	if (!strcmp(kind, "dmabuf")) {
		close(memory_fd);
		memory_fd = dmabuf_of_heap(BYTES);
		if (memory_fd < 0)
			die("cannot prepare %s", kind);
	}
	if (strcmp(kind, "window") != 0)
		return;
	strncat(text, window, sizeof(text) - 2);
	/* A buffer that got no name is let go a moment later, and uses the window until then. */
	while (pwrite(windows_fd, text, strlen(text), 0) < 0) {
		if (errno == ENOENT)
			return;
		if (errno != EBUSY)
			die("cannot close the window");
		usleep(1000);
	}
}
