// SPDX-License-Identifier: MIT
/*
 * Calls whose memory does not come until it is let come.
 *
 *	absent DEVICE WAY COUNT BYTES WAITING GO
 *
 * WAY is read, write, read-parts or write-parts (of a file of any size), read-huge or
 * write-huge (a huge page each, no part of which is there), or uring (reads).  COUNT
 * calls of BYTES each are made at one time, through one open file; the last page of
 * their memory is not there.  When every one of them waits for its page,
 * and for nothing else, the file WAITING is made.  A file of any size is written to,
 * synced and closed by another thread before that.  When there is a file GO the pages
 * come.  Prints how many bytes all calls have moved.
 */
#include "faults.h"
#include "ring.h"

#define PAGE        4096ul
#define HUGE        (2ul << 20)
#define ELSEWHERE   0x1000001
#define MOST        64
#define DEADLINE_NS 60000000000ull

static int fd;
static const char *way;
static bool parts, huge;
static size_t bytes, room;
static unsigned int count;
static char *memory;
static ssize_t moved[MOST];

/* One byte into its page, so that 4096 * n + 100 bytes reach into one page more. */
static char *memory_of(unsigned int i)
{
	return memory + i * room + (parts ? 1 : 0);
}

static off_t place_of(unsigned int i)
{
	return (off_t)(i * 2 * room + (parts ? 7 : 0));
}

static void *call(void *argument)
{
	unsigned int i = (unsigned int)(uintptr_t)argument;
	bool reads = !strncmp(way, "read", 4);

	moved[i] = reads ? pread(fd, memory_of(i), bytes, place_of(i)) :
			   pwrite(fd, memory_of(i), bytes, place_of(i));
	if (moved[i] < 0)
		die("call %u", i);
	return NULL;
}

/* All of a ring's calls; nobody else touches their memory. */
static void *call_ring(void *argument)
{
	struct io_uring ring;

	ring_init(&ring, MOST, 0);
	for (unsigned int i = 0; i < count; i++)
		io_uring_prep_read(io_uring_get_sqe(&ring), fd, memory_of(i), (unsigned int)bytes,
				   (uint64_t)place_of(i));
	ring_submit(&ring, count);
	for (unsigned int i = 0; i < count; i++)
		moved[i] = must(ring_reap(&ring), "a read");
	return argument;
}

static void zero(int faults, char *from, size_t length)
{
	struct uffdio_zeropage pages = { .range = { (uintptr_t)from, length } };

	if (length && ioctl(faults, UFFDIO_ZEROPAGE, &pages) && errno != EEXIST)
		die("UFFDIO_ZEROPAGE");
}

/* There is no zero page of that size. */
static void copy_huge(int faults, char *to)
{
	struct uffdio_copy page = { .dst = (uintptr_t)to, .len = HUGE };

	page.src = (uintptr_t)must_map_own(HUGE, 0);
	if (ioctl(faults, UFFDIO_COPY, &page))
		die("UFFDIO_COPY");
}

/* All memory comes. */
static void come(int faults)
{
	for (unsigned int i = 0; huge && i < count; i++)
		copy_huge(faults, memory + i * room);
	if (huge)
		return;
	zero(faults, memory, count * room);
	for (unsigned int i = 0; i < count; i++)
		zero(faults, memory + (i + 1) * room - PAGE, PAGE);
}

/* All is there but the last page of each call. */
static int map(void)
{
	int faults;

	memory = must_map_own(count * room, huge ? MAP_HUGETLB : 0);
	faults = faults_of(memory, count * room);
	for (unsigned int i = 0; !huge && i < count; i++)
		zero(faults, memory + i * room, room - PAGE);
	return faults;
}

static void wait_faults(int faults)
{
	bool waits[MOST] = { 0 };
	unsigned int waiting = 0;
	struct uffd_msg message;

	while (waiting < count) {
		unsigned int i;

		if (read(faults, &message, sizeof(message)) != sizeof(message))
			die("userfaultfd");
		i = (unsigned int)((message.arg.pagefault.address - (uintptr_t)memory) / room);
		waiting += !waits[i];
		waits[i] = true;
	}
}

/* What others do with a file of any size meanwhile. */
static void use_file(void)
{
	int other = dup(fd);

	if (pwrite(fd, "x", 1, ELSEWHERE) != 1 || fsync(fd) || other < 0 || close(other))
		die("another thread");
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST];
	size_t total = 0;
	bool ring;
	int faults;

	if (argc != 7)
		die("usage: absent DEVICE WAY COUNT BYTES WAITING GO");
	way = argv[2];
	parts = strstr(way, "-parts");
	huge = strstr(way, "-huge");
	ring = !strcmp(way, "uring");
	count = (unsigned int)number(argv[3]);
	bytes = number(argv[4]);
	room = (bytes + PAGE) & ~(PAGE - 1);
	if (!parts)
		room = huge ? HUGE : bytes;
	fd = must_open(argv[1], O_RDWR);
	must_set_file(fd, DEADLINE_NS, parts ? CHARIO_FILE_ANY_SIZE : 0);
	if (count > MOST)
		die("at most %d calls", MOST);
	faults = map();
	for (unsigned int i = 0; i < (ring ? 1 : count); i++)
		must_start(&threads[i], ring ? call_ring : call, (void *)(uintptr_t)i);
	wait_faults(faults);
	if (parts)
		use_file();
	touch(argv[5]);
	await(argv[6]);
	come(faults);
	for (unsigned int i = 0; i < (ring ? 1 : count); i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < count; i++)
		total += (size_t)moved[i];
	printf("%zu\n", total);
	return 0;
}
