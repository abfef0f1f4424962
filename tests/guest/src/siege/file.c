// SPDX-License-Identifier: MIT
/*
 * The open file of a seat: opened, locked, left behind, and what to do when nobody knows
 * whether a write has come to its end.
 */
#include <dirent.h>

#include "siege.h"

#define LOCKS      (1ll << 40) /* behind the end of every disk */
#define PATIENT_NS 300000000000ull
#define MOST_TRIES 100

bool is_mine_to_stop(const struct seat *s)
{
	return __atomic_load_n(&shared->stop[s->worker], __ATOMIC_RELAXED);
}

bool file_is_parts(const struct seat *s)
{
	return s->area != AREA_BLOCKS;
}

/* The disk of a drive, by the drive's PCI address: its number changes when it is bound again. */
int open_disk(const char *address, char node[64], int *error)
{
	char path[128];
	struct dirent *entry;
	DIR *folder;
	int fd = -1;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/chario", address);
	folder = opendir(path);
	*error = ENODEV;
	while (folder && fd < 0 && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, "chardisk", 8) != 0)
			continue;
		snprintf(node, 64, "/dev/%.40s", entry->d_name);
		fd = open(node, O_RDWR | O_DIRECT | O_CLOEXEC);
		*error = errno;
	}
	if (folder)
		closedir(folder);
	return fd;
}

static int set_options(struct seat *s, uint32_t completion, uint64_t deadline_ns)
{
	struct chario_file_options options = {
		.size = sizeof(options),
		.completion = completion,
		.deadline_ns = deadline_ns,
		.spin_ns = 20000,
		.flags = file_is_parts(s) ? CHARIO_FILE_ANY_SIZE : 0,
	};

	return ioctl(s->fd, CHARIO_IOC_SET_FILE, &options) ? errno : 0;
}

static void own_queue(struct seat *s, bool polled)
{
	struct chario_queue_create create = {
		.size = sizeof(create),
		.flags = polled ? CHARIO_QUEUE_POLL : 0,
		.depth = (uint32_t)below(s, 2) * 4,
		.cpu = -1,
	};

	if (!s->own_queue && ioctl(s->fd, CHARIO_IOC_QUEUE_CREATE, &create)) {
		if (errno != ENOSPC && errno != EAGAIN && errno != ENODEV && errno != EIO &&
		    errno != ETIMEDOUT)
			wrong(s, "a queue of its own: %s", strerrorname_np(errno));
		s->mode = MODE_IRQ;
		return;
	}
	s->own_queue = true;
}

/* Another way to learn of the end of calls, and another deadline. */
void file_set_mode(struct seat *s)
{
	static const uint32_t completions[MODES] = {
		[MODE_IRQ] = CHARIO_COMPLETION_IRQ,
		[MODE_POLL] = CHARIO_COMPLETION_POLL,
		[MODE_SPIN] = CHARIO_COMPLETION_SPIN,
		[MODE_OWN_QUEUE] = CHARIO_COMPLETION_IRQ,
		[MODE_OWN_POLLED] = CHARIO_COMPLETION_POLL,
	};
	uint64_t deadline = PATIENT_NS;
	int error;

	s->mode = chance(s, 3) ? MODE_HURRIED : (enum mode)below(s, MODES);
	if (s->mode == MODE_OWN_QUEUE || s->mode == MODE_OWN_POLLED)
		own_queue(s, s->mode == MODE_OWN_POLLED);
	if (s->mode == MODE_HURRIED)
		deadline = 1000000ull << below(s, 9);
	error = set_options(s, completions[s->mode], deadline);
	if (error && error != ENODEV)
		wrong(s, "options: %s", strerrorname_np(error));
}

static void lock(struct seat *s)
{
	struct flock region = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = LOCKS + s->number,
		.l_len = 1,
	};

	while (fcntl(s->fd, F_OFD_SETLKW, &region))
		if (errno != EINTR)
			wrong(s, "lock: %s", strerrorname_np(errno));
}

static bool read_fully(struct seat *s, uint64_t offset, uint64_t bytes)
{
	ssize_t done = pread(s->fd, s->check, bytes, (off_t)offset);

	if (done == (ssize_t)bytes)
		return true;
	if (done < 0 && errno != ENODEV && errno != EIO)
		wrong(s, "a patient read: %s", strerrorname_np(errno));
	return false;
}

/* Reads whole blocks around a run of items. */
static bool read_items(struct seat *s, uint32_t first, uint32_t last, bool adopt)
{
	uint64_t begin, end;
	uint32_t bytes;

	item_place(s, last, &end, &bytes);
	end += bytes + s->block - 1;
	end -= end % s->block;
	item_place(s, first, &begin, &bytes);
	begin -= begin % s->block;
	if (!read_fully(s, begin, end - begin))
		return false;
	items_read(s, first, last, s->check, adopt);
	return true;
}

static void leave(struct seat *s)
{
	buffers_forget(s);
	close(s->fd);
	s->fd = -1;
	s->own_queue = false;
	memset(s->shown, 0, sizeof(s->shown));
}

/* As soon as there is one; with the lock, so that nothing of an earlier holder is on its way. */
void file_open(struct seat *s)
{
	int error;

	for (;;) {
		while ((s->fd = open_disk(s->address, s->node, &error)) < 0) {
			if (error != ENODEV && error != ENOENT && error != ENXIO && error != EIO)
				wrong(s, "open: %s", strerrorname_np(error));
			if (is_mine_to_stop(s))
				_exit(EXIT_SUCCESS);
			usleep(20000);
		}
		lock(s);
		if (!set_options(s, CHARIO_COMPLETION_IRQ, PATIENT_NS) &&
		    read_items(s, 0, s->nr_items - 1, true))
			break;
		leave(s);
		usleep(20000);
	}
	file_set_mode(s);
}

/* Whatever is on its way. */
static void file_reopen(struct seat *s)
{
	leave(s);
	file_open(s);
}

/* All calls have come to their end, so that what was gathered is on the disk if close() says so. */
void file_close_and_open(struct seat *s)
{
	int fd = dup(s->fd);

	if (fd < 0)
		die("dup");
	if (!close(s->fd) && file_is_parts(s))
		for (uint32_t item = 0; item < s->nr_items; item++)
			item_end_write(s, item);
	s->fd = fd;
	count(&shared->tally.events[EVENT_REOPENED]);
	file_reopen(s);
}

static void settle(struct seat *s)
{
	struct chario_settle all = { .size = sizeof(all), .bytes = UINT64_MAX };

	for (int tries = 0; ioctl(s->fd, CHARIO_IOC_SETTLE, &all); tries++)
		if (errno != ETIMEDOUT || tries == MOST_TRIES)
			wrong(s, "settle: %s", strerrorname_np(errno));
}

/* What was gathered is on the disk, or will never be there. */
static bool sync_gathered(struct seat *s)
{
	for (int tries = 0; fsync(s->fd); tries++) {
		if (errno == ENODEV || tries == MOST_TRIES)
			return false;
		if (errno != ETIMEDOUT && errno != EIO)
			wrong(s, "fsync: %s", strerrorname_np(errno));
	}
	return true;
}

static bool adopt_unsure(struct seat *s)
{
	uint32_t first = UINT32_MAX, last = 0;

	for (uint32_t item = 0; item < s->nr_items; item++)
		if (s->items[item].sure != s->items[item].may) {
			first = item < first ? item : first;
			last = item;
		}
	return first > last || read_items(s, first, last, true);
}

/* A call has not come to its end: wait until nothing is on its way, and look. */
void file_recover(struct seat *s)
{
	count(&shared->tally.events[EVENT_UNCERTAIN]);
	memset(s->shown, 0, sizeof(s->shown));
	if (set_options(s, CHARIO_COMPLETION_IRQ, PATIENT_NS) ||
	    (file_is_parts(s) && !sync_gathered(s))) {
		file_reopen(s);
		return;
	}
	settle(s);
	buffers_wait_idle(s);
	if (adopt_unsure(s))
		file_set_mode(s);
	else
		file_reopen(s);
}

void file_check_all(struct seat *s)
{
	if (!set_options(s, CHARIO_COMPLETION_IRQ, PATIENT_NS) &&
	    read_items(s, 0, s->nr_items - 1, false))
		file_set_mode(s);
	else
		file_reopen(s);
}

/* Returns 0, or an error, after which nobody knows what has been written. */
int file_sync(struct seat *s)
{
	if (fsync(s->fd))
		return errno;
	count(&shared->tally.ways[WAY_FSYNC]);
	if (file_is_parts(s))
		for (uint32_t item = 0; item < s->nr_items; item++)
			item_end_write(s, item);
	memset(s->shown, 0, sizeof(s->shown));
	return 0;
}
