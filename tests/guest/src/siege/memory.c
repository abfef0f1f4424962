// SPDX-License-Identifier: MIT
/*
 * Memory of calls: there, not there yet, late, never there, shared with a child, forbidden.
 */
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include "siege.h"

#define LONGEST_DELAY_US 30000
#define NEVER            200 /* one page in so many does not come while the process lives */
#define CHILD_US         20000

static int faults = -1;

static void watch_faults(char *memory)
{
	struct uffdio_register all = {
		.range = { (uintptr_t)memory, MEMORY_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	if (ioctl(faults, UFFDIO_REGISTER, &all))
		die("UFFDIO_REGISTER");
}

void memory_make(struct seat *s)
{
	int memory = memfd_create("siege", MFD_CLOEXEC);

	if (memory < 0 || ftruncate(memory, MEMORY_BYTES))
		die("memfd");
	for (int i = 0; i < MEMORIES; i++)
		s->memories[i] = must_map_own(MEMORY_BYTES, 0);
	munmap(s->memories[MEMORY_SHARED], MEMORY_BYTES);
	s->memories[MEMORY_SHARED] = must_map(MEMORY_BYTES, MAP_SHARED, memory, 0);
	close(memory);
	s->late_source = must_map_own(MEMORY_BYTES, 0);
	s->fixed = must_map_own(MEMORY_BYTES, 0);
	s->check = must_map_own(AREA_BYTES, 0);
}

static bool bring(const struct seat *s, uintptr_t address)
{
	uintptr_t page = address & ~(PAGE - 1), base = (uintptr_t)s->memories[MEMORY_LATE];
	struct uffdio_copy copy = { .dst = page, .len = PAGE };

	if (page < base || page >= base + MEMORY_BYTES)
		return false;
	copy.src = (uintptr_t)s->late_source + (page - base);
	if (ioctl(faults, UFFDIO_COPY, &copy) && errno != EEXIST && errno != EAGAIN)
		die("UFFDIO_COPY");
	return true;
}

static void bring_to_any(const struct seat *seats, uintptr_t address)
{
	for (int i = 0; i < THREADS; i++)
		if (bring(&seats[i], address))
			return;
}

/* Brings pages late; those that it has kept come when the process is asked to end. */
static void *serve_faults(void *argument)
{
	const struct seat *seats = argument;
	uintptr_t kept[THREADS * 8];
	uint64_t random = seats->random;
	unsigned int nr_kept = 0;
	struct uffd_msg message;

	for (;;) {
		if (is_mine_to_stop(seats))
			while (nr_kept)
				bring_to_any(seats, kept[--nr_kept]);
		if (read(faults, &message, sizeof(message)) != sizeof(message)) {
			usleep(1000);
			continue;
		}
		if (!is_mine_to_stop(seats) && nr_kept < THREADS * 8 &&
		    !random_below(&random, NEVER)) {
			kept[nr_kept++] = message.arg.pagefault.address;
			count(&shared->tally.events[EVENT_NO_PAGE]);
			continue;
		}
		usleep((useconds_t)random_length(&random, LONGEST_DELAY_US));
		bring_to_any(seats, message.arg.pagefault.address);
		count(&shared->tally.events[EVENT_LATE_PAGE]);
	}
	return NULL;
}

void memory_watch(struct seat *seats)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	if (!has_userfaultfd)
		return;
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		die("userfaultfd");
	for (int i = 0; i < THREADS; i++)
		watch_faults(seats[i].memories[MEMORY_LATE]);
	must_start(&thread, serve_faults, seats);
}

static uint64_t sum(const char *memory)
{
	uint64_t total = 0, word;

	for (size_t at = 0; at < MEMORY_BYTES; at += 8) {
		memcpy(&word, memory + at, 8);
		total = total * 31 + word;
	}
	return total;
}

void memory_join(struct seat *s)
{
	int status;

	if (!s->child)
		return;
	if (waitpid(s->child, &status, 0) != s->child || status)
		wrong(s, "memory of a child changed, or it died: status %#x", status);
	s->child = 0;
}

/* A child has the same memory for a while, and what a drive does to its parent's is not its affair. */
static void fork_child(struct seat *s)
{
	const char *memory = s->memories[MEMORY_FORKED];
	uint64_t before;

	memory_join(s);
	count(&shared->tally.events[EVENT_FORK]);
	s->child = fork();
	if (s->child < 0)
		die("fork");
	if (s->child)
		return;
	before = sum(memory);
	usleep(CHILD_US);
	_exit(sum(memory) != before);
}

/* Memory for a call; what it is to hold goes to memory_data(), before memory_close(). */
char *memory_prepare(struct seat *s, enum memory memory, size_t bytes)
{
	char *base = s->memories[memory];

	switch (memory) {
	case MEMORY_ODD:
		return base + below(s, PAGE / s->step) * s->step;
	case MEMORY_UNTOUCHED:
	case MEMORY_LATE:
		madvise(base, MEMORY_BYTES, MADV_DONTNEED);
		return base + below(s, 2) * PAGE;
	case MEMORY_FORKED:
		fork_child(s);
		return base;
	case MEMORY_GUARDED:
		mprotect(base, MEMORY_BYTES, PROT_READ | PROT_WRITE);
		return base + MEMORY_BYTES - ((bytes + PAGE - 1) & ~(PAGE - 1));
	default:
		return base;
	}
}

/* Where its bytes are now: pages that are late have theirs elsewhere. */
char *memory_data(const struct seat *s, enum memory memory, char *at)
{
	return memory == MEMORY_LATE ? s->late_source + (at - s->memories[memory]) : at;
}

void memory_close(const struct seat *s, enum memory memory, bool write)
{
	if (memory == MEMORY_GUARDED)
		mprotect(s->memories[memory] + MEMORY_BYTES - PAGE, PAGE,
			 write ? PROT_NONE : PROT_READ);
}
