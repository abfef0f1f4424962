// SPDX-License-Identifier: MIT
/*
 * Makes buffers and the transfers that its input names, one a line, and says
 * how each ended.
 *
 *	buffers DEVICE [FLAG]... <SCRIPT
 *
 * FLAG is one of rdonly, wronly (default: read and write).  A line is one of
 *
 *	heap|huge|shared SLOT BYTES [SKEW]    memory: SLOT is 0 to 15
 *	unmap SLOT                            the memory goes, its buffer stays
 *	register SLOT [FLAGS]                 a buffer of it
 *	pool SLOT BYTES [FLAGS]               a buffer of the module's memory
 *	window SLOT ADDRESS BYTES [FLAGS]     a buffer of physical memory
 *	inside SLOT BYTES                     a buffer inside the drive
 *	heapbuf SLOT BYTES, udmabuf SLOT BYTES
 *	                                      memory that is a dma-buf
 *	export SLOT                           a dma-buf of the slot's buffer
 *	other DEVICE                          new buffers are made on this one
 *	import SLOT FROM BYTES [FLAGS]        a buffer of FROM's dma-buf
 *	close SLOT                            the descriptor of its dma-buf
 *	wait FILE                             until there is one
 *	free SLOT                             give the buffer back
 *	id SLOT                               what the kernel calls it
 *	create KIND FLAGS ADDRESS BYTES       a buffer by the bare ioctl: its id
 *	destroy ID                            the same; a mapping stays
 *	map SLOT OFFSET BYTES [private|readonly]
 *	                                      the open file, at this offset
 *	cut SLOT OFFSET BYTES                 unmap a part
 *	move SLOT BYTES                       the mapping moves, and gets this long
 *	sync SLOT OFFSET BYTES DIRECTION
 *	all SLOT OFFSET BYTES VALUE           1 when each byte is VALUE
 *	fill SLOT SEED, clear SLOT            by the CPU
 *	match SLOT SEED OFFSET BYTES SEED_OFFSET
 *	                                      1 when the bytes are those of SEED
 *	way ioctl|ring|ring-poll|pointer|pointer-poll [FLAGS]
 *	                                      how reads and writes go from now on
 *	read|write SLOT BUFFER_OFFSET BYTES DISK_OFFSET [FLAGS [DEADLINE_NS]]
 *	flush
 *	pread|pwrite SLOT BUFFER_OFFSET BYTES DISK_OFFSET
 *	                                      the same bytes, the ordinary way
 *	raw OP FLAGS ID BUFFER_OFFSET DISK_OFFSET BYTES
 *	locked                                kB that count as pinned
 *	fork                                  a child writes to all memory, and ends
 *
 * The answer is a number or the name of an error.
 */
#include <chario/buffer.h>

#include "dmabuf.h"
#include "ring.h"
#include "script.h"

#define SLOTS 16

struct memory {
	unsigned char *at;
	size_t bytes;
	struct chario_buffer *buffer;
	struct chario_device *owner;
	int fd;
};

static struct chario_device *device;
static struct memory slots[SLOTS];
static int ring_form = -1; /* none: by ioctl */
static uint32_t way_flags;

static struct memory *slot(const struct line *l)
{
	uint64_t index = word(l, 1);

	if (index >= SLOTS)
		die("no such slot: %" PRIu64, index);
	return &slots[index];
}

/* The byte of a seed at a place: the same wherever it is looked for. */
static unsigned char pattern(uint64_t seed, uint64_t offset)
{
	static uint64_t last_seed, last_place = UINT64_MAX, word;

	/* Mostly they are asked for one after the other. */
	if (seed != last_seed || offset / 8 != last_place) {
		uint64_t state = seed * 0x100000001b3 + offset / 8;

		last_seed = seed;
		last_place = offset / 8;
		word = random_next(&state);
	}
	return (unsigned char)(word >> (offset % 8 * 8));
}

static long map_memory(const struct line *l)
{
	struct memory *m = slot(l);
	size_t skew = word(l, 3), bytes = word(l, 2);
	int flags = MAP_ANONYMOUS | (is(l, "shared") ? MAP_SHARED : MAP_PRIVATE);

	if (is(l, "huge"))
		flags |= MAP_HUGETLB;
	m->at = mmap(NULL, bytes + skew, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (m->at == MAP_FAILED)
		return -errno;
	m->at += skew;
	m->bytes = bytes;
	return 0;
}

static long match(const struct line *l)
{
	const struct memory *m = slot(l);
	uint64_t seed = word(l, 2), offset = word(l, 3), bytes = word(l, 4), from = word(l, 5);

	for (uint64_t i = 0; i < bytes; i++)
		if (m->at[offset + i] != pattern(seed, from + i))
			return 0;
	return 1;
}

static long fill(struct memory *m, uint64_t seed)
{
	for (size_t i = 0; i < m->bytes; i++)
		m->at[i] = pattern(seed, i);
	return 0;
}

static long transfer(const struct line *l, enum chario_transfer_op op)
{
	const struct memory *m = slot(l);
	struct chario_transfer t = {
		.op = op,
		.flags = (uint32_t)word(l, 5) | way_flags,
		.buffer = chario_buffer_id(slot(l)->buffer),
		.buffer_offset = word(l, 2),
		.bytes = word(l, 3),
		.disk_offset = word(l, 4),
		.deadline_ns = word(l, 6),
	};

	struct chario_device *on = m->owner ? m->owner : device;

	if (ring_form >= 0)
		return ring_transfer(chario_device_fd(on), (unsigned int)ring_form, &t);
	return chario_transfer(on, &t, sizeof(t));
}

static long choose_way(const struct line *l)
{
	const char *name = l->words[1];

	if (!strcmp(name, "ioctl"))
		ring_form = -1;
	else
		ring_form = (!strncmp(name, "pointer", 7) ? RING_POINTER : 0) |
			    (strstr(name, "poll") ? RING_POLL : 0);
	way_flags = (uint32_t)word(l, 2);
	return 0;
}

static long flush(void)
{
	struct chario_transfer t = { .op = CHARIO_TRANSFER_FLUSH };

	return chario_transfer(device, &t, sizeof(t));
}

static long raw(const struct line *l)
{
	struct chario_transfer t = {
		.op = (uint32_t)word(l, 1),
		.flags = (uint32_t)word(l, 2),
		.buffer = (uint32_t)word(l, 3),
		.buffer_offset = word(l, 4),
		.disk_offset = word(l, 5),
		.bytes = word(l, 6),
	};

	return chario_transfer(device, &t, sizeof(t));
}

static long ordinary(const struct line *l)
{
	unsigned char *at = slot(l)->at + word(l, 2);
	int fd = chario_device_fd(device);
	long done = is(l, "pread") ? pread(fd, at, word(l, 3), (off_t)word(l, 4)) :
				     pwrite(fd, at, word(l, 3), (off_t)word(l, 4));

	return done < 0 ? -errno : done;
}

static long fork_child(void)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		for (int i = 0; i < SLOTS; i++)
			if (slots[i].at)
				memset(slots[i].at, 0xee, slots[i].bytes);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static long register_memory(struct memory *m, unsigned int flags)
{
	return chario_buffer_register(device, m->at, m->bytes, flags, &m->buffer);
}

static long adopt(struct memory *m, int err)
{
	if (err)
		return err;
	m->at = chario_buffer_memory(m->buffer);
	m->bytes = chario_buffer_bytes(m->buffer);
	return 0;
}

static long pool(const struct line *l)
{
	struct memory *m = slot(l);

	return adopt(m,
		     chario_buffer_pool(device, word(l, 2), (unsigned int)word(l, 3), &m->buffer));
}

static long window(const struct line *l)
{
	struct memory *m = slot(l);

	return adopt(m, chario_buffer_window(device, word(l, 2), word(l, 3),
					     (unsigned int)word(l, 4), &m->buffer));
}

static long inside(const struct line *l)
{
	slot(l)->owner = device;
	return chario_buffer_inside(device, word(l, 2), 0, &slot(l)->buffer);
}

static long import(const struct line *l)
{
	int fd = slots[word(l, 2) % SLOTS].fd;

	slot(l)->owner = device;
	return chario_buffer_import(device, fd, word(l, 3), (unsigned int)word(l, 4),
				    &slot(l)->buffer);
}

static long map_shared(struct memory *m, size_t bytes, int fd)
{
	m->bytes = bytes;
	m->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return m->at == MAP_FAILED ? -errno : 0;
}

static long heap_buffer(struct memory *m, size_t bytes)
{
	m->fd = dmabuf_of_heap(bytes);
	return m->fd < 0 ? m->fd : map_shared(m, bytes, m->fd);
}

static long user_buffer(struct memory *m, size_t bytes)
{
	int memory;

	m->fd = dmabuf_of_memory(bytes, &memory);
	return m->fd < 0 ? m->fd : map_shared(m, bytes, memory);
}

static long open_other(const struct line *l)
{
	return chario_device_open(l->words[1], O_RDWR, &device);
}

static long bare(unsigned long request, void *argument)
{
	return ioctl(chario_device_fd(device), request, argument) ? -errno : 0;
}

static long create(const struct line *l)
{
	struct chario_buffer_create create = {
		.size = sizeof(create),
		.kind = (uint32_t)word(l, 1),
		.flags = (uint32_t)word(l, 2),
		.address = word(l, 3),
		.bytes = word(l, 4),
	};
	long err = bare(CHARIO_IOC_BUFFER_CREATE, &create);

	return err ? err : (long)create.id;
}

static long destroy(uint64_t id)
{
	struct chario_buffer_destroy destroy = { .size = sizeof(destroy), .id = (uint32_t)id };

	return bare(CHARIO_IOC_BUFFER_DESTROY, &destroy);
}

static long sync_bytes(const struct line *l)
{
	return chario_buffer_sync(slot(l)->buffer, word(l, 2), word(l, 3),
				  (enum chario_sync)word(l, 4));
}

static long map_file(const struct line *l)
{
	const char *how = l->count > 4 ? l->words[4] : "";
	int flags = strcmp(how, "private") ? MAP_SHARED : MAP_PRIVATE;
	int protection = strcmp(how, "readonly") ? PROT_READ | PROT_WRITE : PROT_READ;
	void *at = mmap(NULL, word(l, 3), protection, flags, chario_device_fd(device),
			(off_t)word(l, 2));

	if (at == MAP_FAILED)
		return -errno;
	slot(l)->at = at;
	slot(l)->bytes = word(l, 3);
	return 0;
}

/* Somewhere else, so that all of it has to be taken along. */
static long move(struct memory *m, size_t bytes)
{
	size_t most = bytes > m->bytes ? bytes : m->bytes;
	void *room = mmap(NULL, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *at = mremap(m->at, m->bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, room);

	if (at == MAP_FAILED)
		return -errno;
	m->at = at;
	m->bytes = bytes;
	return 0;
}

static long are_all(const struct line *l)
{
	const unsigned char *at = slot(l)->at + word(l, 2);

	for (uint64_t i = 0; i < word(l, 3); i++)
		if (at[i] != word(l, 4))
			return 0;
	return 1;
}

static long free_buffer(struct memory *m)
{
	int err = chario_buffer_free(m->buffer);

	m->buffer = NULL;
	return err;
}

static long make(const struct line *l)
{
	const char *verb = l->words[0];

	CASE(verb, "heap", map_memory(l));
	CASE(verb, "huge", map_memory(l));
	CASE(verb, "shared", map_memory(l));
	CASE(verb, "unmap", munmap(slot(l)->at, slot(l)->bytes));
	CASE(verb, "register", register_memory(slot(l), (unsigned int)word(l, 2)));
	CASE(verb, "pool", pool(l));
	CASE(verb, "window", window(l));
	CASE(verb, "create", create(l));
	CASE(verb, "destroy", destroy(word(l, 1)));
	CASE(verb, "map", map_file(l));
	CASE(verb, "move", move(slot(l), word(l, 2)));
	CASE(verb, "cut", munmap(slot(l)->at + word(l, 2), word(l, 3)) ? -errno : 0);
	CASE(verb, "free", free_buffer(slot(l)));
	CASE(verb, "inside", inside(l));
	CASE(verb, "import", import(l));
	CASE(verb, "export", chario_buffer_export(slot(l)->buffer, &slot(l)->fd));
	CASE(verb, "heapbuf", heap_buffer(slot(l), word(l, 2)));
	CASE(verb, "udmabuf", user_buffer(slot(l), word(l, 2)));
	CASE(verb, "other", open_other(l));
	CASE(verb, "close", close(slot(l)->fd) ? -errno : 0);
	CASE(verb, "wait", await(l->words[1]));
	CASE(verb, "id", (long)chario_buffer_id(slot(l)->buffer));
	CASE(verb, "sync", sync_bytes(l));
	CASE(verb, "all", are_all(l));
	CASE(verb, "fill", fill(slot(l), word(l, 2)));
	CASE(verb, "clear", !memset(slot(l)->at, 0, slot(l)->bytes));
	CASE(verb, "match", match(l));
	CASE(verb, "way", choose_way(l));
	CASE(verb, "read", transfer(l, CHARIO_TRANSFER_READ));
	CASE(verb, "write", transfer(l, CHARIO_TRANSFER_WRITE));
	CASE(verb, "flush", flush());
	CASE(verb, "pread", ordinary(l));
	CASE(verb, "pwrite", ordinary(l));
	CASE(verb, "raw", raw(l));
	CASE(verb, "locked", pinned_kib());
	CASE(verb, "fork", fork_child());
	die("no such line: %s", verb);
}

int main(int argc, char **argv)
{
	int flags = O_RDWR;
	struct line l;

	if (argc < 2)
		die("usage: buffers DEVICE [FLAG]... <SCRIPT");
	for (int i = 2; i < argc; i++)
		flags = !strcmp(argv[i], "rdonly") ? O_RDONLY : O_WRONLY;
	must(chario_device_open(argv[1], flags, &device), argv[1]);
	while (next_line(&l)) {
		answer(make(&l));
		putchar('\n');
	}
	return 0;
}
