// SPDX-License-Identifier: MIT
/*
 * Records a timeline and makes calls, as its input says, one a line.
 *
 *	timeline DEVICE <SCRIPT
 *
 *	open RECORDS TAGS [STOP_NS [FLAGS]]    begin to record
 *	close
 *	control COMMAND [STOP_NS]
 *	pread|pwrite|hipri BYTES OFFSET [COUNT]
 *	register                               a buffer, for
 *	transfer|polled BYTES OFFSET [COUNT]
 *	uring|iopoll BYTES OFFSET [COUNT]      an asynchronous read
 *	flush
 *	tag VALUE [COUNT [THREADS]]
 *	totals                                 records lost tags lost_tags
 *	header                                 frozen, stop_duration_ns, polled POLLIN
 *	map OFFSET_PAGES PAGES PROTECTION FLAGS
 *	                                       mmap of the descriptor, undone at once
 *	write                                  to the rings, where it must not work
 *	raw COMMAND SIZE [WORD]...             an ioctl of the timeline's descriptor
 *	records, requests                      all there are, then a line "end"
 *	touch|await FILE
 *	die                                    by SIGKILL
 *
 * The answer is a number or the name of an error; a call answers with the bytes
 * of the last of COUNT.
 */
#include <chario/buffer.h>
#include <chario/timeline.h>
#include <poll.h>
#include <signal.h>

#include "ring.h"
#include "script.h"

#define BUFFER_BYTES (16ul << 20)

static struct chario_device *device;
static struct chario_timeline *timeline;
static struct chario_buffer *registered;
static unsigned char *memory;

static long open_timeline(const struct line *l)
{
	struct chario_timeline_open options = {
		.records = (uint32_t)word(l, 1),
		.tags = (uint32_t)word(l, 2),
		.stop_above_ns = word(l, 3),
		.flags = (uint32_t)word(l, 4),
	};

	return chario_timeline_open(device, &options, sizeof(options), &timeline);
}

static long register_once(void)
{
	if (registered)
		return 0;
	return chario_buffer_register(device, memory, BUFFER_BYTES, 0, &registered);
}

static long transfer(const struct line *l)
{
	unsigned int flags = is(l, "polled") ? CHARIO_TRANSFER_POLL : 0;

	return chario_buffer_read(registered, 0, word(l, 1), word(l, 2), flags);
}

static long by_ring(const struct line *l)
{
	unsigned int flags = is(l, "iopoll") ? IORING_SETUP_IOPOLL : 0;
	struct io_uring ring;
	long done;

	ring_init(&ring, 8, flags);
	io_uring_prep_read(io_uring_get_sqe(&ring), chario_device_fd(device), memory,
			   (unsigned int)word(l, 1), word(l, 2));
	must(io_uring_submit_and_wait(&ring, 1), "io_uring_submit_and_wait");
	done = ring_reap(&ring);
	io_uring_queue_exit(&ring);
	return done;
}

static long call(const struct line *l)
{
	struct iovec v = { memory, word(l, 1) };
	int fd = chario_device_fd(device);
	long done;

	if (is(l, "transfer") || is(l, "polled"))
		return transfer(l);
	if (is(l, "uring") || is(l, "iopoll"))
		return by_ring(l);
	if (is(l, "hipri"))
		done = preadv2(fd, &v, 1, (off_t)word(l, 2), RWF_HIPRI);
	else if (is(l, "pread"))
		done = pread(fd, memory, v.iov_len, (off_t)word(l, 2));
	else
		done = pwrite(fd, memory, v.iov_len, (off_t)word(l, 2));
	return done < 0 ? -errno : done;
}

static long calls(const struct line *l)
{
	uint64_t count = l->count > 3 ? word(l, 3) : 1;
	long done = 0;

	while (count-- && done >= 0)
		done = call(l);
	return done;
}

static void *put_tags(void *data)
{
	const struct line *l = data;

	for (uint64_t i = 0; i < word(l, 2); i++)
		chario_timeline_tag(timeline, word(l, 1) + i);
	return NULL;
}

static long tag(struct line *l)
{
	pthread_t threads[16];
	uint64_t count = word(l, 3);

	if (l->count < 4) {
		if (l->count < 3)
			chario_timeline_tag(timeline, word(l, 1));
		else
			put_tags(l);
		return 0;
	}
	for (uint64_t i = 0; i < count; i++)
		must_start(&threads[i], put_tags, l);
	for (uint64_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static long print_totals(void)
{
	struct chario_timeline_totals totals;
	int err = chario_timeline_get_totals(timeline, &totals, sizeof(totals));

	printf("%lu %lu %lu ", totals.records, totals.lost, totals.tags);
	return err ? err : (long)totals.lost_tags;
}

static long print_header(void)
{
	const struct chario_timeline_header *header = chario_timeline_header(timeline);
	struct pollfd fd = { .fd = chario_timeline_fd(timeline), .events = POLLIN };

	poll(&fd, 1, 0);
	printf("%u %llu ", header->frozen, header->stop_duration_ns);
	return !!(fd.revents & POLLIN);
}

static long map(const struct line *l)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = word(l, 2) * page;
	void *at = mmap(NULL, bytes, (int)word(l, 3), (int)word(l, 4), chario_timeline_fd(timeline),
			(off_t)(word(l, 1) * page));

	if (at == MAP_FAILED)
		return -errno;
	munmap(at, bytes);
	return 0;
}

/* 0 where it could not be made writable, which is as it should be. */
static long make_writable(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, chario_timeline_fd(timeline), 0);
	long err = mprotect(at, page, PROT_READ | PROT_WRITE) ? -errno : 0;

	munmap(at, page);
	return err;
}

static long raw(const struct line *l)
{
	uint32_t words[MAX_WORDS] = { 0 };

	words[0] = (uint32_t)word(l, 2);
	for (int i = 3; i < l->count; i++)
		words[i - 2] = (uint32_t)word(l, i);
	return ioctl(chario_timeline_fd(timeline), word(l, 1), words) < 0 ? -errno : 0;
}

static int print_record(const struct chario_timeline_record *r, void *data)
{
	printf("%s op=%u cpu=%u disk=%u task=%u queue=%u request=%u command=%u offset=%llu "
	       "bytes=%llu result=%lld time=%llu\n",
	       chario_timeline_stage_name(r->stage), r->op, r->cpu, r->disk, r->task, r->queue,
	       r->request, r->command, r->offset, r->bytes, (long long)r->result, r->time_ns);
	return 0;
}

static int print_request(const struct chario_timeline_request *r, void *data)
{
	printf("request op=%u task=%u queue=%u commands=%u polled=%u offset=%lu result=%ld", r->op,
	       r->task, r->queue, r->commands, r->polled, r->offset, r->result);
	for (unsigned int stage = 0; stage < CHARIO_TIMELINE_STAGES; stage++)
		printf(" %s=%lu", chario_timeline_stage_name(stage), r->last_ns[stage]);
	printf("\n");
	return 0;
}

static long print_all(const struct line *l)
{
	long ret = is(l, "records") ? chario_timeline_each(timeline, print_record, NULL) :
				      chario_timeline_each_request(timeline, print_request, NULL);

	printf("end ");
	return ret;
}

static long make(struct line *l)
{
	const char *verb = l->words[0];

	CASE(verb, "open", open_timeline(l));
	if (is(l, "close")) {
		chario_timeline_close(timeline);
		timeline = NULL;
		return 0;
	}
	CASE(verb, "control",
	     chario_timeline_control(timeline, (enum chario_timeline_command)word(l, 1),
				     word(l, 2)));
	CASE(verb, "register", register_once());
	CASE(verb, "flush", fsync(chario_device_fd(device)) ? -errno : 0);
	CASE(verb, "tag", tag(l));
	CASE(verb, "totals", print_totals());
	CASE(verb, "header", print_header());
	CASE(verb, "map", map(l));
	CASE(verb, "write", make_writable());
	CASE(verb, "raw", raw(l));
	CASE(verb, "records", print_all(l));
	CASE(verb, "requests", print_all(l));
	CASE(verb, "touch", touch(l->words[1]));
	CASE(verb, "await", await(l->words[1]));
	CASE(verb, "die", raise(SIGKILL));
	return calls(l);
}

int main(int argc, char **argv)
{
	struct line l;

	if (argc < 2)
		die("usage: timeline DEVICE <SCRIPT");
	must(chario_device_open(argv[1], O_RDWR | O_DIRECT, &device), argv[1]);
	memory = must_map_own(BUFFER_BYTES, MAP_POPULATE);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while (next_line(&l)) {
		answer(make(&l));
		putchar('\n');
	}
	return 0;
}
