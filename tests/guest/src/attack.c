// SPDX-License-Identifier: MIT
/*
 * Races for the memory of buffers, as anybody may try who may open the disk.
 *
 *	attack DISK RACE ROUNDS
 *
 * RACE is one of
 *	reuse    transfers by a name that another thread gives back and takes again
 *	unmap    the memory of a buffer is unmapped under its transfers
 *	dmabuf   a dma-buf is closed, and its exporter freed, under its importer's
 *	rings    files and rings are closed with commands in flight
 *	kill     a process is killed that has buffers, a ring and calls
 *	polls    two polled rings share a queue: each finds what the other waits for
 *	heirs    children make pools in a file of their parent, of 1 MiB that may be
 *	         locked, and are gone
 *
 * Memory that is no buffer any more holds what is written there, and so does
 * that of a neighbour: a process with buffers of its own on the same disk.
 *
 * The last line is JSON: how many transfers came to which result.
 */
#include <signal.h>
#include <sys/resource.h>

#include "ring.h"

#define BYTES   (64ul << 10)
#define ON_DISK 0xaa
#define OURS    0x55
#define DEPTH   8

static const char *disk;
static int file;
static volatile uint32_t current;
static volatile bool is_over;
/* By errno; 0: the bytes were moved. */
static unsigned long results[134];

static unsigned char *new_memory(void *at)
{
	int how = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
	void *memory = mmap(at, BYTES, PROT_READ | PROT_WRITE, how, -1, 0);

	if (memory == MAP_FAILED)
		die("no memory");
	return memset(memory, OURS, BYTES);
}

static void check_ours(const unsigned char *memory, const char *whose)
{
	errno = 0;
	for (size_t i = 0; i < BYTES; i++)
		if (memory[i] != OURS)
			die("byte %zu of %s has become 0x%x", i, whose, memory[i]);
}

static void destroy(int fd, uint32_t id)
{
	struct chario_buffer_destroy d = { .size = sizeof(d), .id = id };

	if (ioctl(fd, CHARIO_IOC_BUFFER_DESTROY, &d))
		die("buffer %u is not given back", id);
}

static struct chario_transfer transfer_of(uint32_t id, uint32_t op)
{
	return (struct chario_transfer){
		.size = sizeof(struct chario_transfer), .op = op, .buffer = id, .bytes = BYTES
	};
}

static int move(int fd, uint32_t id, uint32_t op)
{
	struct chario_transfer t = transfer_of(id, op);
	int moved = ioctl(fd, CHARIO_IOC_TRANSFER, &t);

	if (moved >= 0 && moved != (int)BYTES)
		die("a transfer of %lu bytes gave %d", BYTES, moved);
	return moved < 0 ? -errno : 0;
}

static void prepare_disk(void)
{
	void *memory = memset(new_memory(NULL), ON_DISK, BYTES);

	if (pwrite(file, memory, BYTES, 0) != (ssize_t)BYTES)
		die("pwrite");
	munmap(memory, BYTES);
}

/* By the name that there is, and at times by one that was. */
static void *transfer_on(void *unused)
{
	uint32_t before = 0;

	while (!is_over) {
		uint32_t id = current;

		results[-move(file, id, CHARIO_TRANSFER_READ)]++;
		if (before && before != id)
			results[-move(file, before, CHARIO_TRANSFER_READ)]++;
		before = id;
	}
	return unused;
}

/* Until there has been a transfer of what has been made. */
static void wait_moved(void)
{
	unsigned long moved = results[0];

	while (*(volatile unsigned long *)&results[0] < moved + 2)
		usleep(100);
}

static void race_reuse(unsigned char *memory)
{
	uint32_t id = must_create(file, CHARIO_BUFFER_REGISTERED, memory, BYTES, 0).id;

	current = id;
	wait_moved();
	destroy(file, id);
	memset(memory, OURS, BYTES);
	usleep(1000);
	check_ours(memory, "what was a buffer");
}

static void race_unmap(unsigned char *memory)
{
	uint32_t id = must_create(file, CHARIO_BUFFER_REGISTERED, memory, BYTES, 0).id;

	current = id;
	wait_moved();
	new_memory(memory);
	wait_moved();
	check_ours(memory, "what has been mapped since");
	destroy(file, id);
}

static void race_dmabuf(unsigned char *memory)
{
	struct chario_buffer_export e = { .size = sizeof(e) };
	uint32_t id;

	e.id = must_create(file, CHARIO_BUFFER_CMB, NULL, BYTES, 0).id;
	if (ioctl(file, CHARIO_IOC_BUFFER_EXPORT, &e))
		die("export");
	id = must_create(file, CHARIO_BUFFER_DMABUF, NULL, BYTES, e.fd).id;
	current = id;
	wait_moved();
	close(e.fd);
	destroy(file, e.id);
	wait_moved();
	destroy(file, id);
	check_ours(memory, "memory that was no buffer");
}

static void race_threads(void (*round)(unsigned char *memory), uint64_t rounds)
{
	unsigned char *memory = new_memory(NULL);
	pthread_t thread;

	must_start(&thread, transfer_on, NULL);
	while (rounds--)
		round(memory);
	is_over = true;
	pthread_join(thread, NULL);
}

static void submit(struct io_uring *ring, int fd, uint32_t id)
{
	struct chario_transfer t = transfer_of(id, CHARIO_TRANSFER_READ);

	for (int i = 0; i < DEPTH; i++)
		ring_prep_transfer(io_uring_get_sqe(ring), fd, &t, false);
	ring_submit(ring, DEPTH);
}

static void reap(struct io_uring *ring)
{
	for (int i = 0; i < DEPTH; i++) {
		int result = ring_reap(ring);

		__atomic_fetch_add(&results[result < 0 ? -result : 0], 1, __ATOMIC_RELAXED);
	}
}

/* The file goes first, or the ring, or the memory; one round in two looks. */
static void race_rings(uint64_t rounds)
{
	while (rounds--) {
		unsigned char *memory = new_memory(NULL);
		struct io_uring ring;
		int fd = must_open(disk, O_RDWR);

		ring_init(&ring, 2 * DEPTH, IORING_SETUP_SQE128);
		submit(&ring, fd, must_create(fd, CHARIO_BUFFER_REGISTERED, memory, BYTES, 0).id);
		close(fd);
		if (rounds % 2)
			reap(&ring);
		if (rounds % 3)
			munmap(memory, BYTES);
		io_uring_queue_exit(&ring);
	}
}

static void *poll_ring(void *rounds)
{
	struct io_uring ring;

	ring_init(&ring, 2 * DEPTH, IORING_SETUP_SQE128 | IORING_SETUP_IOPOLL);
	for (uint64_t left = *(uint64_t *)rounds; left; left--) {
		submit(&ring, file, current);
		reap(&ring);
	}
	io_uring_queue_exit(&ring);
	return rounds;
}

static void race_polls(uint64_t rounds)
{
	struct chario_queue_create q = { .size = sizeof(q), .flags = CHARIO_QUEUE_POLL, .cpu = -1 };
	pthread_t other;

	if (ioctl(file, CHARIO_IOC_QUEUE_CREATE, &q))
		die("no queue");
	current = must_create(file, CHARIO_BUFFER_REGISTERED, new_memory(NULL), BYTES, 0).id;
	must_start(&other, poll_ring, &rounds);
	poll_ring(&rounds);
	pthread_join(other, NULL);
}

static _Noreturn void be_killed(int ready)
{
	uint32_t id = must_create(file, CHARIO_BUFFER_REGISTERED, new_memory(NULL), BYTES, 0).id;
	struct chario_buffer_create pool = must_create(file, CHARIO_BUFFER_POOL, NULL, BYTES, 0);
	struct io_uring ring;

	must_map(BYTES, MAP_SHARED, file, pool.mmap_offset);
	ring_init(&ring, 2 * DEPTH, IORING_SETUP_SQE128);
	if (write(ready, "", 1) != 1)
		die("write");
	while (true) {
		submit(&ring, file, pool.id);
		move(file, id, CHARIO_TRANSFER_READ);
		reap(&ring);
	}
}

static void race_kill(uint64_t rounds)
{
	int ready[2], status;
	char byte;

	if (pipe(ready))
		die("pipe");
	while (rounds--) {
		pid_t child = fork();

		if (child == 0) {
			file = must_open(disk, O_RDWR);
			be_killed(ready[1]);
		}
		if (child < 0 || read(ready[0], &byte, 1) != 1)
			die("fork");
		usleep((unsigned int)rounds % 20 * 1000);
		kill(child, SIGKILL);
		if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
			die("a child was not killed but ended with 0x%x", status);
		results[0]++;
	}
}

static void race_heirs(uint64_t rounds)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };
	struct chario_buffer_create c = { .size = sizeof(c),
					  .kind = CHARIO_BUFFER_POOL,
					  .bytes = BYTES };
	int status;

	if (setrlimit(RLIMIT_MEMLOCK, &limit))
		die("setrlimit");
	while (rounds--) {
		pid_t child = fork();

		if (child == 0)
			_exit(ioctl(file, CHARIO_IOC_BUFFER_CREATE, &c) ? errno : 0);
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
			die("fork");
		results[WEXITSTATUS(status)]++;
	}
}

/* Somebody else: two buffers whose contents nobody has reason to touch. */
static _Noreturn void be_neighbour(int told)
{
	int fd = must_open(disk, O_RDWR);
	unsigned char *own = new_memory(NULL), *pool;
	struct chario_buffer_create c = must_create(fd, CHARIO_BUFFER_POOL, NULL, BYTES, 0);
	char byte;

	must_create(fd, CHARIO_BUFFER_REGISTERED, own, BYTES, 0);
	pool = must_map(BYTES, MAP_SHARED, fd, c.mmap_offset);
	memset(pool, OURS, BYTES);
	if (read(told, &byte, 1))
		die("nobody should have written");
	check_ours(own, "the neighbour's memory");
	check_ours(pool, "the neighbour's pool");
	exit(EXIT_SUCCESS);
}

static const struct {
	const char *name;
	void (*run)(uint64_t rounds);
	void (*round)(unsigned char *memory); /* beside a thread that transfers */
} races[] = {
	{ .name = "reuse", .round = race_reuse },   { .name = "unmap", .round = race_unmap },
	{ .name = "dmabuf", .round = race_dmabuf }, { .name = "rings", .run = race_rings },
	{ .name = "kill", .run = race_kill },       { .name = "polls", .run = race_polls },
	{ .name = "heirs", .run = race_heirs },
};

static void run(const char *race, uint64_t rounds)
{
	for (size_t i = 0; i < sizeof(races) / sizeof(*races); i++) {
		if (strcmp(race, races[i].name) != 0)
			continue;
		if (races[i].round)
			race_threads(races[i].round, rounds);
		else
			races[i].run(rounds);
		return;
	}
	die("no such race: %s", race);
}

int main(int argc, char **argv)
{
	const char *comma = "";
	int told[2], status;
	pid_t neighbour;

	if (argc != 4)
		die("usage: attack DISK RACE ROUNDS");
	disk = argv[1];
	file = must_open(disk, O_RDWR);
	prepare_disk();
	if (pipe2(told, O_CLOEXEC))
		die("pipe");
	neighbour = fork();
	if (neighbour == 0) {
		close(told[1]);
		be_neighbour(told[0]);
	}
	run(argv[2], number(argv[3]));
	close(told[1]);
	if (waitpid(neighbour, &status, 0) != neighbour || status)
		die("the neighbour ended with 0x%x", status);
	printf("{");
	for (int error = 0; error < 134; error++)
		if (results[error]) {
			printf("%s\"%s\": %lu", comma, error ? strerrorname_np(error) : "ok",
			       results[error]);
			comma = ", ";
		}
	printf("}\n");
	return 0;
}
