// SPDX-License-Identifier: MIT
/*
 * Buffers of every kind, and transfers between them and the disk.
 */
#include "../dmabuf.h"
#include "siege.h"

#define MOST_LOOKS 10000

static const uint32_t kinds[KINDS] = {
	[KIND_REGISTERED] = CHARIO_BUFFER_REGISTERED,
	[KIND_SOURCE] = CHARIO_BUFFER_REGISTERED,
	[KIND_POOL] = CHARIO_BUFFER_POOL,
	[KIND_WINDOW] = CHARIO_BUFFER_WINDOW,
	[KIND_DMABUF] = CHARIO_BUFFER_DMABUF,
	[KIND_INSIDE] = CHARIO_BUFFER_CMB,
	[KIND_PEER] = CHARIO_BUFFER_DMABUF,
};

static bool has_gone(int error)
{
	return error == ENODEV || error == EIO || error == EAGAIN;
}

static int create(struct seat *s, int fd, struct buffer *b, struct chario_buffer_create *create)
{
	create->size = sizeof(*create);
	create->bytes = MOST_BYTES;
	if (ioctl(fd, CHARIO_IOC_BUFFER_CREATE, create)) {
		if (!has_gone(errno) && errno != EOPNOTSUPP)
			wrong(s, "a buffer of kind %u: %s", create->kind, strerrorname_np(errno));
		return -1;
	}
	b->id = create->id;
	return 0;
}

/* NULL when the drive has gone meanwhile. */
static char *map(int fd, uint64_t offset)
{
	int how = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char *at = mmap(NULL, MOST_BYTES, PROT_READ | PROT_WRITE, how, fd, (off_t)offset);

	if (at != MAP_FAILED)
		return at;
	if (errno != ENODEV)
		die("a mapping");
	return NULL;
}

static void destroy(struct seat *s, int fd, uint32_t id)
{
	struct chario_buffer_destroy destroy = { .size = sizeof(destroy), .id = id };

	if (ioctl(fd, CHARIO_IOC_BUFFER_DESTROY, &destroy))
		wrong(s, "to destroy a buffer: %s", strerrorname_np(errno));
}

/* Memory of the other drive, as a dma-buf; -1 while there is none. */
static int export_peer(struct seat *s)
{
	struct chario_buffer_export export = { .size = sizeof(export) };
	struct chario_buffer_create wanted = { .kind = CHARIO_BUFFER_CMB };
	struct buffer inside = { 0 };
	int error;

	s->peer = open_disk(s->peer_address, s->peer_node, &error);
	if (s->peer < 0)
		return -1;
	if (!create(s, s->peer, &inside, &wanted)) {
		export.id = inside.id;
		if (!ioctl(s->peer, CHARIO_IOC_BUFFER_EXPORT, &export))
			return export.fd;
		if (!has_gone(errno))
			wrong(s, "export: %s", strerrorname_np(errno));
	}
	close(s->peer);
	s->peer = -1;
	return -1;
}

static void make(struct seat *s, enum kind kind)
{
	struct chario_buffer_create wanted = { .kind = kinds[kind] };
	struct buffer *b = &s->buffers[kind];
	int memory = -1;

	if (kind == KIND_REGISTERED || kind == KIND_SOURCE) {
		b->memory = map(-1, 0);
		memset(b->memory, 0, MOST_BYTES);
		wanted.address = (uintptr_t)b->memory;
		wanted.flags = kind == KIND_SOURCE ? CHARIO_BUFFER_SOURCE : 0;
	}
	if (kind == KIND_WINDOW)
		wanted.address = s->window;
	if (kind == KIND_DMABUF)
		wanted.fd = dmabuf_of_memory(MOST_BYTES, &memory);
	if (kind == KIND_PEER)
		wanted.fd = export_peer(s);
	if (wanted.fd >= 0 && !create(s, s->fd, b, &wanted)) {
		if (wanted.mmap_offset)
			b->memory = map(s->fd, wanted.mmap_offset);
		if (memory >= 0)
			b->memory = map(memory, 0);
	} else if (b->memory) {
		munmap(b->memory, MOST_BYTES);
		b->memory = NULL;
	}
	if (wanted.fd > 0)
		close(wanted.fd);
	if (memory >= 0)
		close(memory);
}

static void forget(struct seat *s, enum kind kind)
{
	struct buffer *b = &s->buffers[kind];

	if (b->memory)
		munmap(b->memory, MOST_BYTES);
	*b = (struct buffer){ 0 };
	if (kind == KIND_PEER && s->peer >= 0) {
		close(s->peer);
		s->peer = -1;
	}
}

void buffer_drop(struct seat *s, enum kind kind)
{
	if (s->buffers[kind].id)
		destroy(s, s->fd, s->buffers[kind].id);
	forget(s, kind);
}

/* Is there a buffer of this kind?  At times another one. */
bool buffer_have(struct seat *s, enum kind kind)
{
	struct buffer *b = &s->buffers[kind];

	if (kind == KIND_WINDOW && !s->window)
		return false;
	if (kind == KIND_DMABUF && !has_dmabufs)
		return false;
	if (kind == KIND_PEER && !has_peers)
		return false;
	if (chance(s, 30))
		buffer_drop(s, kind);
	if (!b->id)
		make(s, kind);
	return b->id && (b->memory || kind >= KIND_INSIDE);
}

/* They go with the file. */
void buffers_forget(struct seat *s)
{
	for (int kind = 0; kind < KINDS; kind++)
		forget(s, (enum kind)kind);
}

void buffers_wait_idle(struct seat *s)
{
	for (int kind = 0; kind < KINDS; kind++) {
		struct chario_buffer_sync idle = {
			.size = sizeof(idle),
			.id = s->buffers[kind].id,
			.bytes = MOST_BYTES,
			.direction = CHARIO_SYNC_IDLE,
		};

		for (int looks = 0; idle.id && ioctl(s->fd, CHARIO_IOC_BUFFER_SYNC, &idle);
		     looks++) {
			/* Its exporter has taken the memory back. */
			if (errno == EINVAL && kind == KIND_PEER)
				break;
			if (errno != EBUSY || looks == MOST_LOOKS)
				wrong(s, "a settled buffer of kind %d: %s", kind,
				      strerrorname_np(errno));
			usleep(1000);
		}
	}
}

void transfer_of(const struct seat *s, const struct op *op, const struct piece *p,
		 struct chario_transfer *t)
{
	const struct buffer *b = &s->buffers[op->kind];

	*t = (struct chario_transfer){
		.size = sizeof(*t),
		.op = op->write ? CHARIO_TRANSFER_WRITE : CHARIO_TRANSFER_READ,
		.buffer = b->id,
		.buffer_offset = (uint64_t)(p->memory - b->memory),
		.disk_offset = p->disk_offset,
		.bytes = p->bytes,
	};
	if (op->way == WAY_TRANSFER_POLLED)
		t->flags = CHARIO_TRANSFER_POLL;
	if (op->way == WAY_TRANSFER_FUA && op->write)
		t->flags = CHARIO_TRANSFER_FUA;
	if (op->kind == KIND_WINDOW && op->way == WAY_TRANSFER_POLLED) {
		t->flags |= CHARIO_TRANSFER_PHYSICAL;
		t->buffer = 0;
		t->buffer_offset += s->window;
	}
}

void run_transfer(struct seat *s, struct op *op)
{
	struct chario_transfer t;

	for (uint32_t i = 0; i < op->nr; i++) {
		transfer_of(s, op, &op->pieces[i], &t);
		op->pieces[i].result = ioctl(s->fd, CHARIO_IOC_TRANSFER, &t);
		if (op->pieces[i].result < 0)
			op->pieces[i].result = -errno;
	}
}

/*
 * How often the controller of a drive has been reset, once it works: a reset counts when
 * it is over.  0 where that cannot be had.
 */
static uint64_t resets(int fd, const char *node)
{
	struct chario_stats stats = { .size = sizeof(stats) };
	char path[128], state[16];
	FILE *file;

	for (int looks = 0; looks < MOST_LOOKS; looks++) {
		snprintf(path, sizeof(path), "/sys/class/chario/%s/state", node + strlen("/dev/"));
		file = fopen(path, "r");
		if (!file || !fgets(state, sizeof(state), file))
			strcpy(state, "gone");
		if (file)
			fclose(file);
		if (!strncmp(state, "live", 4) && !ioctl(fd, CHARIO_IOC_STATS, &stats))
			return stats.resets + 1;
		if (strncmp(state, "recovering", 10) != 0)
			return 0;
		usleep(10000);
	}
	return 0;
}

/*
 * From the disk to memory inside a drive, from there to another place on the disk, and the
 * ordinary way to the CPU.  A reset of the drive that has the memory leaves it undefined.
 */
void buffer_copy(struct seat *s, struct op *op, run_fn *run)
{
	struct piece *p = op->pieces;
	bool is_peer = op->kind == KIND_PEER;
	int owner = is_peer ? s->peer : s->fd;
	const char *node = is_peer ? s->peer_node : s->node;
	uint64_t before = resets(owner, node), copy = s->offset + AREA_BYTES;

	run(s, op);
	if (p->result == p->bytes) {
		p->disk_offset = copy;
		op->write = true;
		run(s, op);
		op->write = false;
	}
	p->memory = s->check;
	if (p->result == p->bytes) {
		p->result = pread(s->fd, s->check, p->bytes, (off_t)copy);
		if (p->result < 0)
			p->result = -errno;
	} else if (p->result > 0) {
		/* A part of the way: nothing of it has come to s->check. */
		p->result = 0;
	}
	op->is_undefined = !before || resets(owner, node) != before;
	item_place(s, p->first, &p->disk_offset, &p->bytes);
	p->bytes *= p->count;
}
