// SPDX-License-Identifier: MIT
/*
 * Keeps reads or writes in flight through io_uring and prints how they ended.
 *
 *   fault_uring PATH DEPTH BYTES [iopoll] [fixed] [deadline=MS] [touch=FILE] [until]
 *               [write] [registered] [close] [command] [lock]
 *
 * DEPTH reads, side by side, each of its own range.  With "until" each is
 * repeated until it fails.  "registered" names the file by its place in a table of
 * the ring, "close" closes its descriptor then, "command" is CHARIO_IOC_TRANSFER as a command of io_uring, "lock" locks the
 * open file (F_OFD_SETLK) before.  FILE appears when all have been submitted (and,
 * with "until", the first has come back).  One line a result: "RESULT COUNT",
 * the lowest result first.
 */
#include "ring.h"

#define RESULTS_MAX 16

struct job {
	struct io_uring ring;
	int fd;
	unsigned int depth;
	unsigned int bytes;
	bool iopoll;
	bool fixed;
	bool until;
	bool write;
	bool registered;
	bool close;
	bool command;
	__u32 pool;
	const char *touch;
	unsigned char *memory;
};

static struct {
	int result;
	unsigned long count;
} results[RESULTS_MAX];

static void note(int result)
{
	int i = 0;

	while (i < RESULTS_MAX - 1 && results[i].count && results[i].result != result)
		i++;
	results[i].result = result;
	results[i].count++;
}

static void print_results(void)
{
	for (int i = 0; i < RESULTS_MAX && results[i].count; i++)
		printf("%d %lu\n", results[i].result, results[i].count);
}

static void lock(int fd)
{
	struct flock flock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	if (fcntl(fd, F_OFD_SETLK, &flock))
		must(-errno, "lock");
}

static void prepare_command(const struct job *job, struct io_uring_sqe *sqe, __u64 pos)
{
	const struct chario_transfer transfer = {
		.size = sizeof(transfer),
		.op = job->write ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ,
		.buffer = job->pool,
		.buffer_offset = pos,
		.disk_offset = pos,
		.bytes = job->bytes,
	};

	ring_prep_transfer(sqe, job->fd, &transfer, false);
}

static void submit(struct job *job, unsigned int slot)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&job->ring);
	unsigned char *to = job->memory + (size_t)slot * job->bytes;
	__u64 pos = (__u64)slot * job->bytes;

	if (job->command)
		prepare_command(job, sqe, pos);
	else
		ring_prep_call(sqe, job->fd, job->write, job->fixed ? 0 : -1, to, job->bytes, pos);
	if (job->registered) {
		sqe->fd = 0;
		sqe->flags |= IOSQE_FIXED_FILE;
	}
	sqe->user_data = slot;
	must(io_uring_submit(&job->ring), "submit");
}

static void announce(struct job *job)
{
	if (job->touch)
		touch(job->touch);
	job->touch = NULL;
}

/* When the machine falls asleep, whoever waits is woken up. */
static struct io_uring_cqe *wait_result(struct job *job)
{
	struct io_uring_cqe *cqe;
	int ret;

	do
		ret = io_uring_wait_cqe(&job->ring, &cqe);
	while (ret == -EINTR);
	must(ret, "wait");
	return cqe;
}

static void run(struct job *job)
{
	unsigned int left = job->depth;

	for (unsigned int slot = 0; slot < job->depth; slot++)
		submit(job, slot);
	if (!job->until)
		announce(job);
	while (left) {
		struct io_uring_cqe *cqe = wait_result(job);
		unsigned int slot;
		int result;

		slot = (unsigned int)cqe->user_data;
		result = cqe->res;
		io_uring_cqe_seen(&job->ring, cqe);
		announce(job);
		note(result);
		if (job->until && result > 0)
			submit(job, slot);
		else
			left--;
	}
}

static void set_up(struct job *job)
{
	size_t total = (size_t)job->depth * job->bytes;
	struct iovec iov;

	job->memory = aligned_alloc(4096, total);
	if (!job->memory)
		must(-ENOMEM, "memory");
	memset(job->memory, 0xA5, total);
	ring_init(&job->ring, job->depth,
		  IORING_SETUP_SQE128 | (job->iopoll ? IORING_SETUP_IOPOLL : 0));
	if (job->registered)
		must(io_uring_register_files(&job->ring, &job->fd, 1), "files");
	if (job->close)
		close(job->fd);
	if (job->command)
		job->pool = must_create(job->fd, CHARIO_BUFFER_POOL, NULL, total, 0).id;
	iov.iov_base = job->memory;
	iov.iov_len = total;
	if (job->fixed)
		must(io_uring_register_buffers(&job->ring, &iov, 1), "buffers");
}

int main(int argc, char **argv)
{
	struct job job = { .fd = -1 };

	if (argc < 4)
		die("usage: fault_uring PATH DEPTH BYTES [OPTION...]");
	job.fd = must_open(argv[1], O_RDWR | O_DIRECT);
	job.depth = (unsigned int)atoi(argv[2]);
	job.bytes = (unsigned int)atoi(argv[3]);
	for (int i = 4; i < argc; i++) {
		job.iopoll |= !strcmp(argv[i], "iopoll");
		job.fixed |= !strcmp(argv[i], "fixed");
		job.until |= !strcmp(argv[i], "until");
		job.write |= !strcmp(argv[i], "write");
		job.registered |= !strcmp(argv[i], "registered");
		job.close |= !strcmp(argv[i], "close");
		job.command |= !strcmp(argv[i], "command");
		if (!strcmp(argv[i], "lock"))
			lock(job.fd);
		if (!strncmp(argv[i], "touch=", 6))
			job.touch = argv[i] + 6;
		if (!strncmp(argv[i], "deadline=", 9))
			must_set_file(job.fd, number(argv[i] + 9) * 1000000, 0);
	}
	set_up(&job);
	run(&job);
	print_results();
	return 0;
}
