// SPDX-License-Identifier: MIT
/*
 * Calls on a disk with nothing around them, for the kernel's tracing.
 *
 *	hotpath DEVICE KIND BYTES CALLS [FLAG]...
 *
 * KIND is read or write, alone or behind how it is asked for:
 *	uring-      by io_uring
 *	transfer-   registered memory, by the ioctl
 *	command-    registered memory, by a command of io_uring
 *	batch-      32 such commands that are submitted together
 *	seen-       a command on a ring that does not look before another one, on the
 *	            same queue, has looked for 32 of its own; always polled
 * All can be polled: read-polled.  Or KIND is control: a pipe made and closed,
 * which allocates.
 *
 * After a warm-up the process switches tracing on for itself, makes the calls,
 * and switches it off: whoever runs it has chosen the events.  FLAG is
 *	huge        the memory is of huge pages
 *	fail        instead of tracing, every allocation of the process is made to
 *	            fail during the calls: the slab's and the page allocator's
 *	            fault injection must have been set up with task-filter
 */
#include "ring.h"

#define WARM_UP   64
#define BATCH     32
#define HUGE_PAGE (2ul << 20)
#define TRACING   "/sys/kernel/tracing/"
#define FAIL      "/proc/self/make-it-fail"

struct kind {
	ssize_t (*call)(const struct kind *kind, uint64_t bytes);
	bool registered;
	bool write;
	bool polled;
	unsigned int batch;
};

static struct io_uring ring, second;
static struct chario_transfer transfer = { .size = sizeof(transfer) };
static char *buffer;
static int fd, file;

static void put(int to, const char *text)
{
	if (pwrite(to, text, strlen(text), 0) != (ssize_t)strlen(text))
		die("cannot write %s", text);
}

/* However the program ends: files are not closed while allocations fail. */
static void stop(void)
{
	if (pwrite(file, "0", 1, 0) != 1)
		_exit(EXIT_FAILURE);
}

static ssize_t by_call(const struct kind *kind, uint64_t bytes)
{
	struct iovec v = { buffer, bytes };

	if (kind->polled)
		return kind->write ? pwritev2(fd, &v, 1, 0, RWF_HIPRI) :
				     preadv2(fd, &v, 1, 0, RWF_HIPRI);
	return kind->write ? pwrite(fd, buffer, bytes, 0) : pread(fd, buffer, bytes, 0);
}

static ssize_t by_ioctl(const struct kind *kind, uint64_t bytes)
{
	transfer.op = kind->write ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ;
	transfer.flags = kind->polled ? CHARIO_TRANSFER_POLL : 0;
	transfer.bytes = bytes;
	return ioctl(fd, CHARIO_IOC_TRANSFER, &transfer);
}

static void prepare(struct io_uring *on, const struct kind *kind, uint64_t bytes, uint64_t offset)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(on);

	if (kind->registered) {
		transfer.op = kind->write ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ;
		transfer.bytes = bytes;
		transfer.disk_offset = offset;
		ring_prep_transfer(sqe, fd, &transfer, false);
	} else {
		ring_prep_call(sqe, fd, kind->write, -1, buffer, bytes, offset);
	}
}

/* All of a batch must come to the same. */
static ssize_t reap(struct io_uring *from, unsigned int count, uint64_t bytes)
{
	ssize_t done = (ssize_t)bytes;

	while (count--) {
		int result = ring_reap(from);

		if (result != (int)bytes)
			done = result;
	}
	return done;
}

static ssize_t run_batch(struct io_uring *on, const struct kind *kind, uint64_t bytes)
{
	for (unsigned int i = 0; i < kind->batch; i++)
		prepare(on, kind, bytes, i * bytes);
	if (io_uring_submit_and_wait(on, kind->batch) != (int)kind->batch)
		die("io_uring_enter");
	return reap(on, kind->batch, bytes);
}

static ssize_t by_ring(const struct kind *kind, uint64_t bytes)
{
	return run_batch(&ring, kind, bytes);
}

/* io_uring_submit() would look for completions too. */
static void submit_only(struct io_uring *to)
{
	struct io_uring_sq *sq = &to->sq;
	unsigned int count = sq->sqe_tail - sq->sqe_head;

	for (unsigned int at = sq->sqe_head; at != sq->sqe_tail; at++)
		sq->array[at & sq->ring_mask] = at & sq->ring_mask;
	sq->sqe_head = sq->sqe_tail;
	io_uring_smp_store_release(sq->ktail, sq->sqe_tail);
	if (io_uring_enter((unsigned int)to->ring_fd, count, 0, 0, NULL) != (int)count)
		die("io_uring_enter");
}

static ssize_t by_two_rings(const struct kind *kind, uint64_t bytes)
{
	prepare(&ring, kind, bytes, 0);
	submit_only(&ring);
	if (run_batch(&second, kind, bytes) != (ssize_t)bytes)
		return -1;
	return reap(&ring, 1, bytes);
}

static ssize_t control(const struct kind *kind, uint64_t bytes)
{
	int ends[2];

	if (pipe(ends))
		return -1;
	close(ends[0]);
	close(ends[1]);
	return (ssize_t)bytes;
}

static const struct way {
	const char *name;
	struct kind kind;
} ways[] = {
	{ "uring-", { .call = by_ring, .batch = 1 } },
	{ "transfer-", { .call = by_ioctl, .registered = true } },
	{ "command-", { .call = by_ring, .registered = true, .batch = 1 } },
	{ "batch-", { .call = by_ring, .registered = true, .batch = BATCH } },
	{ "seen-", { .call = by_two_rings, .registered = true, .batch = BATCH } },
	{ "control", { .call = control } },
	{ "", { .call = by_call } },
};

static struct kind parse(const char *name)
{
	const struct way *way = ways;
	struct kind kind;

	while (strncmp(name, way->name, strlen(way->name)))
		way++;
	kind = way->kind;
	name += strlen(way->name);
	kind.write = !strncmp(name, "write", 5);
	kind.polled = !strcmp(name, "read-polled") || !strcmp(name, "write-polled");
	if (kind.call != control && !kind.polled && strcmp(name, "read") && strcmp(name, "write"))
		die("no such kind");
	return kind;
}

static void set_up_ring(struct io_uring *made, const struct kind *kind)
{
	unsigned int flags = IORING_SETUP_SQE128;

	/* A command that cannot be allocated fails by itself: those after it are submitted. */
	flags |= IORING_SETUP_SUBMIT_ALL;
	if (kind->polled)
		flags |= IORING_SETUP_IOPOLL;
	ring_init(made, BATCH, flags);
}

static void set_up_memory(const struct kind *kind, uint64_t bytes, bool huge)
{
	uint64_t length = huge ? (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE : bytes;

	buffer = must_map_own(length, MAP_POPULATE | (huge ? MAP_HUGETLB : 0));
	if (kind->registered)
		transfer.buffer = must_create(fd, CHARIO_BUFFER_REGISTERED, buffer, bytes, 0).id;
}

/* Calls that came to all they should. */
static uint64_t run(const struct kind *kind, uint64_t bytes, uint64_t calls)
{
	uint64_t good = 0;

	for (uint64_t i = 0; i < calls; i++)
		good += kind->call(kind, bytes) == (ssize_t)bytes;
	return good;
}

int main(int argc, char **argv)
{
	bool fail = false, huge = false;
	uint64_t bytes, calls, good;
	struct kind kind;

	if (argc < 5)
		die("usage: hotpath DEVICE KIND BYTES CALLS [FLAG]...");
	kind = parse(argv[2]);
	bytes = number(argv[3]);
	calls = number(argv[4]);
	for (int i = 5; i < argc; i++) {
		fail |= !strcmp(argv[i], "fail");
		huge |= !strcmp(argv[i], "huge");
	}
	fd = must_open(argv[1], O_RDWR);
	set_up_memory(&kind, bytes, huge);
	set_up_ring(&ring, &kind);
	set_up_ring(&second, &kind);
	/* Program and libraries too: a page that was reclaimed takes an allocation to come back. */
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("mlockall");
	file = must_open(fail ? FAIL : TRACING "tracing_on", O_WRONLY);
	if (run(&kind, bytes, WARM_UP) != WARM_UP)
		die("%s does not work", argv[2]);
	atexit(stop);
	put(file, "1");
	good = run(&kind, bytes, calls);
	put(file, "0");
	printf("%lu\n", good);
	return 0;
}
