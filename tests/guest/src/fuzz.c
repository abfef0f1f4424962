// SPDX-License-Identifier: MIT
/*
 * Random ioctls, commands of io_uring and calls, by several processes of
 * several threads each, on the same disks.
 *
 *	fuzz SEED COMMANDS PROCESSES THREADS WINDOW DISK...
 *
 * Issues COMMANDS ioctls and commands of io_uring, and other calls between.
 * Most are nearly valid: one member has been changed to a value at which
 * something ends.  The threads of a process share its files, memory and
 * buffers without any lock: what one uses, another frees.  Each process ends
 * after a while, mostly by itself, at times by SIGKILL, with whatever is in
 * flight, and another takes its place.  WINDOW is the physical address of a
 * range that may be open, or 0.
 *
 * Before that, and not counted in COMMANDS, one process alone issues commands
 * and calls that are not spoilt, until each kind has been accepted once.
 *
 * The numbers that a thread draws depend on SEED, its process and its place;
 * what comes of them depends on the others too.
 *
 * The last line is JSON: of each kind, how many were accepted ("ok") and how
 * many got which error.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "dmabuf.h"
#include "fuzz/fuzz.h"

/* Turns of a thread before its process ends. */
#define LIFE_TURNS     3000
/* Rounds within which each kind must have been accepted: of 200 runs, the longest took 41. */
#define CAREFUL_ROUNDS 500

static const char *const names[KINDS] = {
	[KIND_INFO] = "info",
	[KIND_STATS] = "stats",
	[KIND_GET_FILE] = "get-file",
	[KIND_SET_FILE] = "set-file",
	[KIND_BUFFER_CREATE] = "buffer-create",
	[KIND_BUFFER_DESTROY] = "buffer-destroy",
	[KIND_BUFFER_SYNC] = "buffer-sync",
	[KIND_BUFFER_EXPORT] = "buffer-export",
	[KIND_TRANSFER] = "transfer",
	[KIND_SETTLE] = "settle",
	[KIND_QUEUE_CREATE] = "queue-create",
	[KIND_GET_PIN] = "get-pin",
	[KIND_SET_PIN] = "set-pin",
	[KIND_HEALTH] = "health",
	[KIND_TIMELINE_OPEN] = "timeline-open",
	[KIND_TIMELINE_CONTROL] = "timeline-control",
	[KIND_SET_REGIONS] = "set-regions",
	[KIND_CONFINE] = "confine",
	[KIND_BLOCK] = "block",
	[KIND_GARBAGE] = "garbage",
	[KIND_URING_64] = "uring-64",
	[KIND_URING_128] = "uring-128",
	[KIND_URING_POLLED_64] = "uring-polled-64",
	[KIND_URING_POLLED_128] = "uring-polled-128",
	[KIND_URING_GARBAGE] = "uring-garbage",
	[KIND_URING_FILE] = "uring-file",
	[KIND_READ] = "read",
	[KIND_WRITE] = "write",
	[KIND_MMAP] = "mmap",
	[KIND_MUNMAP] = "munmap",
	[KIND_FSYNC] = "fsync",
	[KIND_LSEEK] = "lseek",
	[KIND_POLL] = "poll",
	[KIND_OPEN] = "open",
	[KIND_DUP] = "dup",
};

static struct disk disks[DISKS];
static struct world world;

/*
 * Nothing is behind it: what is too long for it reaches nothing else of ours.
 * Nor is anything else, such as a stack, where an address leads of which half
 * has become another value: the disk would write to it, as it was told.
 */
static void *map_memory(size_t bytes)
{
	static uintptr_t next = 0x200090000000;
	int how = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	char *at = mmap((void *)next, bytes + PAGE, PROT_READ | PROT_WRITE, how, -1, 0);

	if (at == MAP_FAILED || mprotect(at + bytes, PAGE, PROT_NONE))
		die("no memory");
	next += bytes + PAGE;
	return at;
}

static void learn_disk(struct disk *disk, const char *path)
{
	int fd = must_open(path, O_RDWR);

	disk->path = path;
	disk->info.size = sizeof(disk->info);
	if (ioctl(fd, CHARIO_IOC_INFO, &disk->info))
		die("%s", path);
	close(fd);
}

/* A descriptor whose number stays, whatever it stands for. */
static int reserve_fd(void)
{
	return must_open("/dev/null", O_RDWR);
}

/* Memory as a dma-buf where the kernel makes such, and else nothing. */
static void make_dmabuf(int fd)
{
	int memory, made = dmabuf_of_memory(8 * PAGE, &memory);

	if (made >= 0) {
		dup3(made, fd, O_CLOEXEC);
		close(made);
	}
	if (memory >= 0)
		close(memory);
}

static void open_world(struct fuzzer *first)
{
	world.arena = map_memory(ARENA_BYTES);
	for (int i = 0; i < MAPPINGS; i++)
		world.mappings[i] = map_memory(ARENA_BYTES);
	for (int i = 0; i < DMABUFS; i++)
		world.dmabufs[i] = reserve_fd();
	make_dmabuf(world.dmabufs[0]);
	for (int i = 0; i < TIMELINES; i++)
		world.timelines[i] = reserve_fd();
	for (unsigned int i = 0; i < world.nr_threads; i++) {
		world.args[i] = map_memory(ARGS_BYTES);
		world.targets[i] = map_memory(SLOTS * SLOT_BYTES);
	}
	for (int i = 0; i < FILES; i++) {
		world.files[i].fd = reserve_fd();
		world.files[i].disk = disks;
		open_some(first, &world.files[i]);
	}
}

/* Behind another thread's back, while the kernel may be reading it. */
static void spoil(struct fuzzer *f)
{
	uint64_t value = edge(f, disks, sizeof(struct chario_transfer));
	char *args = world.args[below(f, world.nr_threads)];

	memcpy(args + below(f, 16) * 4 + (chance(f, 2) ? PAGE : 0), &value, 4);
}

static void take_turn(struct fuzzer *f)
{
	uint64_t dice = below(f, 1000);

	if (dice < 750)
		issue_ioctl(f);
	else if (dice < 850)
		use_ring(f);
	else if (dice < 950)
		use_file(f);
	else
		spoil(f);
	if (chance(f, 4 * LIFE_TURNS)) {
		__atomic_fetch_add(&world.tally->killed, 1, __ATOMIC_RELAXED);
		kill(getpid(), SIGKILL);
	}
}

static void *live(void *argument)
{
	struct fuzzer *f = argument;

	for (int turn = 0; turn < LIFE_TURNS; turn++) {
		if (__atomic_load_n(&world.tally->commands, __ATOMIC_RELAXED) >= world.limit)
			break;
		take_turn(f);
	}
	return NULL;
}

/* Garbage does not have to be accepted, nor what an ordinary user may not do. */
static bool may_fail(int kind)
{
	return kind == KIND_GARBAGE || kind == KIND_URING_GARBAGE ||
	       (kind == KIND_SET_REGIONS && geteuid());
}

/* Every kind has been accepted at least once. */
static bool has_each_worked(void)
{
	for (int kind = 0; kind < KINDS; kind++)
		if (!world.tally->counts[kind][0] && !may_fail(kind))
			return false;
	return true;
}

static void live_carefully(struct fuzzer *f)
{
	f->careful = true;
	for (int round = 0; round < CAREFUL_ROUNDS && !has_each_worked(); round++) {
		make_every_call(f);
		issue_every_ioctl(f);
		use_every_ring(f);
	}
}

/* The first thread that is through ends all of them, wherever they are. */
static _Noreturn void run_process(uint64_t seed, bool careful)
{
	static struct fuzzer fuzzers[THREADS];
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int i = 0; i < world.nr_threads; i++) {
		fuzzers[i].world = &world;
		fuzzers[i].random = seed + i * 0x100000001;
	}
	open_world(fuzzers);
	for (unsigned int i = 0; i < world.nr_threads; i++) {
		fuzzers[i].args = world.args[i];
		fuzzers[i].target = world.targets[i];
	}
	if (careful) {
		live_carefully(fuzzers);
		_exit(EXIT_SUCCESS);
	}
	for (unsigned int i = 1; i < world.nr_threads; i++)
		must_start(&thread, live, &fuzzers[i]);
	live(&fuzzers[0]);
	/* Some tidy up. */
	if (chance(&fuzzers[0], 2))
		end_ring(&fuzzers[0]);
	_exit(EXIT_SUCCESS);
}

static void begin_process(uint64_t *seed, bool careful)
{
	uint64_t own = random_next(seed);
	pid_t child = fork();

	if (child < 0)
		die("fork");
	if (child == 0)
		run_process(own, careful);
}

static bool is_done(void)
{
	return __atomic_load_n(&world.tally->commands, __ATOMIC_RELAXED) >= world.limit;
}

static void wait_process(void)
{
	int status;

	if (wait(&status) < 0)
		die("wait");
	if (WIFSIGNALED(status) ? WTERMSIG(status) != SIGKILL : status)
		die("a process ended with status 0x%x", status);
}

/*
 * A careful process runs alone first: random commands would leave it to chance
 * whether each kind is ever accepted.
 */
static unsigned long run_all(uint64_t seed, unsigned int processes)
{
	unsigned int alive = 0;
	unsigned long lives = 1;

	begin_process(&seed, true);
	wait_process();
	world.limit += world.tally->commands;

	while (alive || !is_done()) {
		if (alive < processes && !is_done()) {
			begin_process(&seed, false);
			alive++;
			lives++;
			continue;
		}
		wait_process();
		alive--;
	}
	return lives;
}

static void print_kind(enum kind kind)
{
	const char *comma = "";

	printf("%s\"%s\": {", kind ? ", " : "", names[kind]);
	for (int error = 0; error < ERRORS; error++) {
		uint64_t count = world.tally->counts[kind][error];
		const char *name = error == ERRORS - 1 ? "unknown" : strerrorname_np(error);

		if (!count)
			continue;
		printf("%s\"%s\": %lu", comma, error ? name : "ok", count);
		comma = ", ";
	}
	printf("}");
}

int main(int argc, char **argv)
{
	uint64_t seed;
	unsigned int processes;
	unsigned long lives;

	if (argc < 7 || argc > 6 + DISKS)
		die("usage: fuzz SEED COMMANDS PROCESSES THREADS WINDOW DISK...");
	seed = number(argv[1]);
	world.limit = number(argv[2]);
	processes = (unsigned int)number(argv[3]);
	world.nr_threads = (unsigned int)number(argv[4]);
	if (!world.nr_threads || world.nr_threads > THREADS)
		die("a process has 1 to %d threads", THREADS);
	world.window = number(argv[5]);
	world.disks = disks;
	for (; argv[6 + world.nr_disks]; world.nr_disks++)
		learn_disk(&disks[world.nr_disks], argv[6 + world.nr_disks]);
	world.tally = map_memory((sizeof(*world.tally) + PAGE - 1) & ~(PAGE - 1));
	lives = run_all(seed, processes);
	printf("{\"seed\": %s, \"commands\": %lu, \"processes\": %lu, \"killed\": %lu, \"kinds\": {",
	       argv[1], world.tally->commands, lives, world.tally->killed);
	for (int kind = 0; kind < KINDS; kind++)
		print_kind((enum kind)kind);
	printf("}}\n");
	return 0;
}
