// SPDX-License-Identifier: MIT
/*
 * Two disks under siege: every way to move data and every kind of memory at a time, by
 * threads of processes that are killed, and nothing that anybody reads is ever wrong.
 *
 *	siege SEED SECONDS LEAST STEP WINDOW PEERS ADDRESS ADDRESS
 *
 * Each thread has a seat: an area of a disk.  What it has written before, is writing, or
 * has failed to write, stands in memory that outlives it, see siege/items.c.  A process
 * ends after a while, by itself or by SIGKILL, with whatever is in flight, and another
 * takes its seats: it takes their locks, and from then on nothing of the one before may
 * reach them.  The host meanwhile does to the drives, named by their PCI addresses, what
 * it likes: they stall, fail, are reset, go and come back.
 *
 * Memory begins at multiples of STEP.  WINDOW is the physical address of a range that is
 * open for buffers, or 0.  PEERS is 1 where the second drive reaches memory inside the first.
 * It ends when SECONDS have passed, each way, kind of buffer, memory and mode has had LEAST
 * successes, and each event that needs no coincidence has happened.  The numbers that a thread
 * draws follow from SEED; what comes of them depends on the others too.  The last line is JSON.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

#include "siege/siege.h"

#define LIFE_TURNS       250
#define LIFE_MS          20000 /* if its threads wait for something */
#define SOFT_LIMIT_MS    400000 /* longer than the longest deadline */
#define HARD_LIMIT_MS    60000
#define PATIENCE         10 /* times SECONDS, and ten minutes: then not enough has happened */
#define MOST_BYTE_BLOCKS 256

static const char *const ways[WAYS] = {
	"plain",
	"vector",
	"hipri",
	"dsync",
	"nowait",
	"aio",
	"ring",
	"ring-fixed",
	"ring-polled",
	"ring-polled-fixed",
	"transfer",
	"transfer-polled",
	"transfer-fua",
	"command-128",
	"command-64",
	"command-polled-128",
	"command-polled-64",
	"parts",
	"parts-dsync",
	"parts-shared",
	"fsync",
};
static const char *const kinds[KINDS] = {
	"registered", "source", "pool", "window", "dma-buf", "inside", "peer",
};
static const char *const memories[MEMORIES] = {
	"heap", "odd", "shared", "untouched", "forked", "late", "guarded",
};
static const char *const modes[MODES] = {
	"irq", "poll", "spin", "own-queue", "own-polled", "hurried",
};
static const char *const events[EVENTS] = {
	"killed",  "ended", "reopened",  "gone",       "fault",     "late-page",
	"no-page", "fork",  "uncertain", "not-landed", "undefined",
};

enum end { END_NOT_YET, END_ASKED, END_KILLED };

struct worker {
	pid_t pid;
	enum end end;
	uint64_t due_turns;
	uint64_t due_ms;
};

struct shared *shared;
uint64_t window_address;
bool has_dmabufs, has_userfaultfd, has_peers;

static const char *addresses[DISKS];
static uint64_t seed, step;
static uint64_t lives;
static struct worker workers[WORKERS];

_Noreturn void wrong(const struct seat *s, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (s->op)
		dprintf(STDERR_FILENO, "last, by %s, %s, %s, %s, a %s of %u items from %u in %u: ",
			ways[s->op->way], kinds[s->op->kind], memories[s->op->memory],
			modes[s->mode], s->op->write ? "write" : "read", s->op->pieces[0].count,
			s->op->pieces[0].first, s->op->nr);
	dprintf(STDERR_FILENO, "seat %u on %s: %s\n", s->number, s->node, text);
	_exit(3);
}

void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

uint64_t below(struct seat *s, uint64_t limit)
{
	return random_below(&s->random, limit);
}

bool chance(struct seat *s, uint64_t one_in)
{
	return !below(s, one_in);
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static enum area area_of(unsigned int worker, unsigned int thread)
{
	static const enum area last[WORKERS] = {
		AREA_BYTES_ALONE,
		AREA_BYTES_FIRST,
		AREA_BYTES_ALONE,
		AREA_BYTES_LAST,
	};

	return thread == THREADS - 1 ? last[worker] : AREA_BLOCKS;
}

static void learn_block(struct seat *s)
{
	struct chario_info info = { .size = sizeof(info) };
	int error, fd;

	/* It may be away just now. */
	while ((fd = open_disk(s->address, s->node, &error)) < 0)
		usleep(20000);
	while (ioctl(fd, CHARIO_IOC_INFO, &info)) {
		close(fd);
		usleep(20000);
		fd = open_disk(s->address, s->node, &error);
	}
	close(fd);
	s->block = info.logical_block_bytes;
}

static void seat_init(struct seat *s, unsigned int number)
{
	unsigned int place = number, blocks;

	memset(s, 0, sizeof(*s));
	s->number = number;
	s->worker = number / THREADS;
	s->area = area_of(s->worker, number % THREADS);
	if (s->area == AREA_BYTES_LAST)
		place -= 2 * THREADS;
	s->offset = PLACE_BYTES * (1 + place);
	s->address = addresses[s->worker % DISKS];
	s->peer_address = s->worker % DISKS ? addresses[0] : NULL;
	s->shared = shared;
	s->items = shared->items[number];
	s->window = window_address ? window_address + number * MOST_BYTES : 0;
	s->step = step;
	s->fd = -1;
	s->peer = -1;
	s->random = seed + number + lives * 0x100000001;
	learn_block(s);
	blocks = (unsigned int)AREA_BYTES / s->block;
	if (file_is_parts(s) && blocks > MOST_BYTE_BLOCKS)
		blocks = MOST_BYTE_BLOCKS;
	s->nr_items = blocks * (s->area == AREA_BYTES_ALONE ? 3 :
				s->area == AREA_BYTES_FIRST ? 2 :
							      1);
}

static void *sit(void *seat)
{
	live(seat);
	return NULL;
}

static _Noreturn void run_worker(unsigned int worker)
{
	static struct seat seats[THREADS];
	pthread_t threads[THREADS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < THREADS; i++) {
		seat_init(&seats[i], worker * THREADS + i);
		memory_make(&seats[i]);
	}
	memory_watch(seats);
	for (unsigned int i = 0; i < THREADS; i++)
		must_start(&threads[i], sit, &seats[i]);
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	_exit(EXIT_SUCCESS);
}

static void begin(unsigned int worker)
{
	struct worker *w = &workers[worker];

	shared->stop[worker] = false;
	shared->turns[worker] = 0;
	lives++;
	w->pid = fork();
	if (w->pid < 0)
		die("fork");
	if (!w->pid)
		run_worker(worker);
	w->end = END_NOT_YET;
	w->due_turns = random_below(&seed, LIFE_TURNS);
	w->due_ms = now_ms() + LIFE_MS;
}

/* Which are killed is left to chance; by the end, all are asked. */
static void end(unsigned int worker, bool ask)
{
	struct worker *w = &workers[worker];

	if (ask) {
		__atomic_store_n(&shared->stop[worker], true, __ATOMIC_RELAXED);
		w->end = END_ASKED;
		w->due_ms = now_ms() + SOFT_LIMIT_MS;
		return;
	}
	kill(w->pid, SIGKILL);
	w->end = END_KILLED;
	w->due_ms = now_ms() + HARD_LIMIT_MS;
}

/* Where its threads are, if it still has any. */
static void show_stacks(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof(command),
		 "cd /proc/%d/task && for i in *; do echo thread $i; cat $i/stack; done >&2", pid);
	if (system(command))
		fprintf(stderr, "no stacks\n");
}

static _Noreturn void give_up(unsigned int worker, const char *why, bool hangs)
{
	fprintf(stderr, "worker %u %s\n", worker, why);
	if (hangs)
		show_stacks(workers[worker].pid);
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].pid)
			kill(workers[i].pid, SIGKILL);
	exit(3);
}

/* Returns whether a worker has ended. */
static bool look_after(unsigned int worker)
{
	struct worker *w = &workers[worker];
	int status;
	pid_t ended = waitpid(w->pid, &status, WNOHANG);

	if (ended < 0)
		die("wait");
	if (!ended) {
		bool is_due = w->end == END_NOT_YET && shared->turns[worker] >= w->due_turns;

		if (!is_due && now_ms() < w->due_ms)
			return false;
		if (w->end != END_NOT_YET)
			give_up(worker, w->end == END_KILLED ? "cannot be killed" : "hangs", true);
		end(worker, random_below(&seed, 2));
		return false;
	}
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL || w->end != END_KILLED : status)
		give_up(worker, "has found something wrong", false);
	count(&shared->tally.events[WIFSIGNALED(status) ? EVENT_KILLED : EVENT_ENDED]);
	w->pid = 0;
	return true;
}

static bool has_all(const uint64_t *counts, int nr, uint64_t least)
{
	for (int i = 0; i < nr; i++)
		if (counts[i] < least)
			return false;
	return true;
}

/* Those that need nothing to coincide. */
static bool has_all_events(const uint64_t *events)
{
	return events[EVENT_KILLED] && events[EVENT_ENDED] && events[EVENT_REOPENED] &&
	       events[EVENT_FAULT] && events[EVENT_FORK] && events[EVENT_UNCERTAIN];
}

static bool is_enough(uint64_t least)
{
	const struct tally *tally = &shared->tally;
	int nr_memories = has_userfaultfd ? MEMORY_GUARDED : MEMORY_LATE;
	bool enough = has_all(tally->ways, WAYS, least) && has_all(tally->modes, MODES, least) &&
		      has_all(tally->memories, nr_memories, least) && has_all_events(tally->events);

	for (int kind = 0; kind < KINDS; kind++)
		if ((kind != KIND_DMABUF || has_dmabufs) && (kind != KIND_PEER || has_peers) &&
		    (kind != KIND_WINDOW || window_address))
			enough = enough && tally->kinds[kind] >= least;
	return enough;
}

/* Until it has lasted long enough and enough has happened. */
static void besiege(uint64_t seconds, uint64_t least)
{
	uint64_t start = now_ms(), last = start + seconds * 1000;
	uint64_t latest = last + seconds * 1000 * PATIENCE + 600000;
	unsigned int alive = WORKERS;

	for (unsigned int i = 0; i < WORKERS; i++)
		begin(i);
	while (now_ms() < latest && (now_ms() < last || !is_enough(least))) {
		for (unsigned int i = 0; i < WORKERS; i++)
			if (look_after(i))
				begin(i);
		usleep(5000);
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		if (workers[i].end == END_NOT_YET)
			end(i, true);
	while (alive) {
		for (unsigned int i = 0; i < WORKERS; i++)
			alive -= workers[i].pid && look_after(i);
		usleep(5000);
	}
}

/* All items of an area, those of both seats that have it, are of their first generation. */
static void clear(struct seat *s, struct seat *other)
{
	struct seat *both[] = { s, other };
	ssize_t done;
	int error;

	for (int i = 0; i < 2 && both[i]; i++)
		for (uint32_t item = 0; item < both[i]->nr_items; item++) {
			uint64_t offset;
			uint32_t bytes;

			item_place(both[i], item, &offset, &bytes);
			item_fill(both[i], item, 1, s->check + (offset - s->offset));
			both[i]->items[item] = (struct item){ 1, 1 };
			shared->generation[both[i]->number] = 1;
		}
	do {
		s->fd = open_disk(s->address, s->node, &error);
		done = pwrite(s->fd, s->check, AREA_BYTES, (off_t)s->offset);
		close(s->fd);
	} while (done != AREA_BYTES);
}

/* In a process of its own, whose memory the workers do not have. */
static void clear_all(void)
{
	static struct seat seats[SEATS];
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (child) {
		if (waitpid(child, &status, 0) != child || status)
			exit(3);
		return;
	}
	for (unsigned int i = 0; i < SEATS; i++) {
		seat_init(&seats[i], i);
		memory_make(&seats[i]);
	}
	for (unsigned int i = 0; i < SEATS; i++)
		if (seats[i].area != AREA_BYTES_LAST)
			clear(&seats[i],
			      seats[i].area == AREA_BYTES_FIRST ? &seats[i + 2 * THREADS] : NULL);
	_exit(EXIT_SUCCESS);
}

/* Everybody has gone: all that there should be is there. */
static void check_all(void)
{
	static struct seat s;

	for (unsigned int i = 0; i < SEATS; i++) {
		seat_init(&s, i);
		memory_make(&s);
		file_open(&s);
		close(s.fd);
	}
}

static void print(const char *name, const char *const *names, const uint64_t *counts, int nr)
{
	printf("\"%s\": {", name);
	for (int i = 0; i < nr; i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "", names[i], counts[i]);
	printf("}, ");
}

int main(int argc, char **argv)
{
	const struct tally *tally;

	if (argc != 9)
		die("usage: siege SEED SECONDS LEAST STEP WINDOW PEERS ADDRESS ADDRESS");
	seed = number(argv[1]);
	step = number(argv[4]);
	window_address = number(argv[5]);
	has_peers = number(argv[6]);
	addresses[0] = argv[7];
	addresses[1] = argv[8];
	has_dmabufs = !access("/dev/udmabuf", F_OK);
	has_userfaultfd = !access("/proc/sys/vm/unprivileged_userfaultfd", F_OK);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("memory");
	tally = &shared->tally;
	clear_all();
	besiege(number(argv[2]), number(argv[3]));
	memset(shared->stop, 0, sizeof(shared->stop));
	check_all();
	printf("{\"seed\": %s, \"lives\": %" PRIu64 ", ", argv[1], lives);
	print("ways", ways, tally->ways, WAYS);
	print("kinds", kinds, tally->kinds, KINDS);
	print("memories", memories, tally->memories, MEMORIES);
	print("modes", modes, tally->modes, MODES);
	print("events", events, tally->events, EVENTS);
	printf("\"errors\": {");
	for (int error = 0, some = 0; error < ERRORS; error++)
		if (tally->errors[error])
			printf("%s\"%s\": %" PRIu64, some++ ? ", " : "", strerrorname_np(error),
			       tally->errors[error]);
	printf("}}\n");
	return 0;
}
