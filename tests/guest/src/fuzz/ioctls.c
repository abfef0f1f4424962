// SPDX-License-Identifier: MIT
/*
 * Every ioctl: nearly valid, then spoilt.
 */
#include <linux/fs.h>

#include "fuzz.h"

/* The struct's address: mostly itself, at times one that does not hold it. */
static unsigned long pointer(struct fuzzer *f, size_t size)
{
	if (f->careful || !chance(f, 64))
		return (uintptr_t)f->args;
	switch (below(f, 4)) {
	case 0:
		return 0;
	case 1:
		return (uintptr_t)f->args + ARGS_BYTES - below(f, size + 1);
	case 2:
		return (uintptr_t)f->args + 1 + below(f, 64);
	default:
		return 0xffff888000000000 + below(f, 1ul << 30);
	}
}

static long issue(struct fuzzer *f, enum kind kind, int fd, unsigned long command, size_t size)
{
	long result = ioctl(fd, command, pointer(f, size));

	note_call(f, kind, result);
	return result;
}

/* The struct that has been filled in, spoilt at times. */
static long submit(struct fuzzer *f, enum kind kind, const struct open_file *file,
		   unsigned long command, size_t size)
{
	mutate(f, file->disk, f->args, size);
	return issue(f, kind, file->fd, command, size);
}

/* A struct of zeros but for its size, in memory where a longer one fits too. */
static void *begin(struct fuzzer *f, size_t size)
{
	memset(f->args, 0, PAGE + 64);
	*(uint32_t *)f->args = (uint32_t)size;
	return f->args;
}

static const struct question {
	enum kind kind;
	unsigned long command;
	size_t size;
} questions[] = {
	{ KIND_INFO, CHARIO_IOC_INFO, sizeof(struct chario_info) },
	{ KIND_STATS, CHARIO_IOC_STATS, sizeof(struct chario_stats) },
	{ KIND_GET_FILE, CHARIO_IOC_GET_FILE, sizeof(struct chario_file_options) },
	{ KIND_GET_PIN, CHARIO_IOC_GET_PIN, sizeof(struct chario_pin) },
	{ KIND_HEALTH, CHARIO_IOC_HEALTH, sizeof(struct chario_health) },
};
#define QUESTIONS (sizeof(questions) / sizeof(*questions))

static void ask(struct fuzzer *f, const struct question *question)
{
	begin(f, question->size);
	submit(f, question->kind, some_file(f), question->command, question->size);
}

static void set_file(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_file_options *o = begin(f, sizeof(*o));

	o->completion = (uint32_t)below(f, 4);
	o->deadline_ns = chance(f, 2) ? 0 : (20 + below(f, 3000)) * 1000000000;
	o->spin_ns = chance(f, 2) ? 0 : (uint32_t)below(f, 1000000);
	/* It is for good: the file takes no buffers afterwards. */
	o->flags = chance(f, 64) ? CHARIO_FILE_ANY_SIZE : 0;
	mutate(f, file->disk, o, sizeof(*o));
	/* A drive that is reset all the time would answer nothing else. */
	if (o->deadline_ns < 20000000000)
		o->deadline_ns = 0;
	issue(f, KIND_SET_FILE, file->fd, CHARIO_IOC_SET_FILE, sizeof(*o));
}

/*
 * Each buffer has a place of its own, so that few overlap: DMA-API debug
 * complains of more than seven.
 */
static void describe_buffer(struct fuzzer *f, struct chario_buffer_create *c, uint64_t place)
{
	static const uint32_t kinds[] = { 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 5 };

	c->kind = kinds[below(f, sizeof(kinds) / sizeof(*kinds))];
	c->bytes = random_length(&f->random, 2 * PIECE_BYTES / 512) * 512;
	c->flags = chance(f, 8) ? CHARIO_BUFFER_SOURCE : 0;
	switch (c->kind) {
	case CHARIO_BUFFER_REGISTERED:
		c->address = (uintptr_t)f->world->arena + place * PIECE_BYTES +
			     4 * below(f, 128) * chance(f, 4);
		break;
	case CHARIO_BUFFER_WINDOW:
		c->bytes = (1 + below(f, 2 * PIECE_BYTES / PAGE)) * PAGE;
		c->address = f->world->window + place * PIECE_BYTES;
		break;
	case CHARIO_BUFFER_DMABUF:
		c->fd = f->world->dmabufs[place % DMABUFS];
		c->bytes = (1 + below(f, 8)) * PAGE;
		/* What others export is mapped as they do it: not to be read into. */
		c->flags = CHARIO_BUFFER_SOURCE;
		break;
	}
}

static void destroy(struct fuzzer *f, struct open_file *file, uint32_t id)
{
	struct chario_buffer_destroy *d = begin(f, sizeof(*d));

	d->id = id;
	submit(f, KIND_BUFFER_DESTROY, file, CHARIO_IOC_BUFFER_DESTROY, sizeof(*d));
}

static void create_buffer(struct fuzzer *f, struct open_file *file)
{
	unsigned int place = (unsigned int)below(f, HINTS);
	struct hint *hint = &file->hints[place];
	struct chario_buffer_create *c;

	if (hint->id)
		destroy(f, file, hint->id);
	c = begin(f, sizeof(*c));
	describe_buffer(f, c, (uint64_t)(file - f->world->files) * HINTS + place);
	if (submit(f, KIND_BUFFER_CREATE, file, CHARIO_IOC_BUFFER_CREATE, sizeof(*c)))
		return;
	/* The other threads may see a mixture of two buffers: so much the better. */
	hint->bytes = c->bytes;
	hint->kind = c->kind;
	hint->mmap_offset = c->mmap_offset;
	hint->address = c->address;
	hint->id = c->id;
}

static void destroy_buffer(struct fuzzer *f)
{
	struct open_file *file = some_file(f);

	destroy(f, file, chance(f, 8) ? (uint32_t)below(f, 16) : some_buffer(f, file)->id);
}

static void sync_buffer(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	const struct hint *hint = some_buffer(f, file);
	struct chario_buffer_sync *s = begin(f, sizeof(*s));

	s->id = hint->id;
	s->offset = below(f, hint->bytes + 1);
	s->bytes = below(f, hint->bytes - s->offset + 1);
	s->direction = 1 + (uint32_t)below(f, 2);
	submit(f, KIND_BUFFER_SYNC, file, CHARIO_IOC_BUFFER_SYNC, sizeof(*s));
}

static void export_buffer(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	const struct hint *hint = some_buffer(f, file);
	struct chario_buffer_export *e = begin(f, sizeof(*e));

	for (int i = 0; i < 4 * HINTS && hint->kind != CHARIO_BUFFER_CMB; i++) {
		file = some_file(f);
		hint = some_buffer(f, file);
	}
	e->id = hint->id;
	if (submit(f, KIND_BUFFER_EXPORT, file, CHARIO_IOC_BUFFER_EXPORT, sizeof(*e)))
		return;
	dup3(e->fd, f->world->dmabufs[below(f, DMABUFS)], O_CLOEXEC);
	close(e->fd);
}

/* A transfer that could do, of a buffer of the file. */
void build_transfer(struct fuzzer *f, struct open_file *file, struct chario_transfer *t)
{
	static const uint32_t all_flags[] = {
		0, 0, 0, 0, CHARIO_TRANSFER_POLL, CHARIO_TRANSFER_FUA, CHARIO_TRANSFER_NOWAIT
	};
	const struct hint hint = *some_buffer(f, file);

	memset(t, 0, sizeof(*t));
	t->size = sizeof(*t);
	t->op = chance(f, 24) ? CHARIO_TRANSFER_FLUSH : (uint32_t)below(f, 2);
	t->flags = all_flags[below(f, sizeof(all_flags) / sizeof(*all_flags))];
	t->deadline_ns = chance(f, 8) ? (20 + below(f, 3000)) * 1000000000 : 0;
	if (t->op == CHARIO_TRANSFER_FLUSH)
		return;
	t->buffer = hint.id;
	t->bytes = some_blocks(f, file->disk, hint.bytes);
	if (hint.bytes > t->bytes && chance(f, 2))
		t->buffer_offset = below(f, (hint.bytes - t->bytes) / 4 + 1) * 4;
	t->disk_offset = some_place(f, file->disk);
	if (chance(f, 16) || (hint.kind == CHARIO_BUFFER_WINDOW && chance(f, 2))) {
		t->flags |= CHARIO_TRANSFER_PHYSICAL;
		t->buffer = 0;
		t->buffer_offset += hint.address;
	}
}

static void transfer(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_transfer *t;

	/* Without a buffer there is little to try out. */
	if (!some_buffer(f, file)->id && !chance(f, 8)) {
		create_buffer(f, file);
		return;
	}
	t = begin(f, sizeof(*t));
	build_transfer(f, file, t);
	submit(f, KIND_TRANSFER, file, CHARIO_IOC_TRANSFER, sizeof(*t));
}

static void settle(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_settle *s = begin(f, sizeof(*s));

	s->disk_offset = below(f, 1 << 20);
	s->bytes = chance(f, 4) ? UINT64_MAX - s->disk_offset : below(f, 1 << 20);
	/* Of what is given up while the drive stalls nobody waits for all. */
	s->deadline_ns = 1000000 * (1 + below(f, 20));
	submit(f, KIND_SETTLE, file, CHARIO_IOC_SETTLE, sizeof(*s));
}

static void create_queue(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_queue_create *q = begin(f, sizeof(*q));

	q->flags = (uint32_t)below(f, 4);
	q->depth = (uint32_t)below(f, 300);
	q->cpu = (int32_t)below(f, 3) - 1;
	submit(f, KIND_QUEUE_CREATE, file, CHARIO_IOC_QUEUE_CREATE, sizeof(*q));
}

static void set_pin(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_pin *p = begin(f, sizeof(*p));

	p->wanted = (uint32_t)below(f, CHARIO_PIN_ALL + 1);
	submit(f, KIND_SET_PIN, file, CHARIO_IOC_SET_PIN, sizeof(*p));
}

static void open_timeline(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_timeline_open *o = begin(f, sizeof(*o));
	int fd;

	o->flags = chance(f, 4) ? CHARIO_TIMELINE_BEGIN_FROZEN : 0;
	o->records = CHARIO_TIMELINE_RECORDS_MIN << below(f, 4);
	o->tags = chance(f, 2) ? CHARIO_TIMELINE_RECORDS_MIN : 0;
	o->stop_above_ns = chance(f, 2) ? below(f, 100000000) : 0;
	fd = (int)submit(f, KIND_TIMELINE_OPEN, file, CHARIO_IOC_TIMELINE_OPEN, sizeof(*o));
	if (fd < 0)
		return;
	dup3(fd, f->world->timelines[below(f, TIMELINES)], O_CLOEXEC);
	close(fd);
}

static void control_timeline(struct fuzzer *f)
{
	struct chario_timeline_control *c = begin(f, sizeof(*c));

	c->command = (uint32_t)below(f, 2);
	c->stop_above_ns = chance(f, 2) ? below(f, 100000000) : 0;
	mutate(f, f->world->files->disk, c, sizeof(*c));
	issue(f, KIND_TIMELINE_CONTROL, f->world->timelines[below(f, TIMELINES)],
	      CHARIO_IOC_TIMELINE_CONTROL, sizeof(*c));
}

/* Up to REGIONS of them, mostly such as do not overlap; the array stands behind the struct. */
static void set_regions(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_regions *r = begin(f, sizeof(*r));
	struct chario_region *table = (struct chario_region *)(r + 1);
	uint64_t block = file->disk->info.logical_block_bytes;
	uint64_t part = file->disk->info.capacity_bytes / REGIONS / block * block;

	r->count = (uint32_t)below(f, REGIONS + 1);
	r->address = (uintptr_t)table;
	for (uint32_t i = 0; i < r->count; i++) {
		table[i].number = i + 1;
		table[i].offset = i * part + below(f, 2) * block;
		table[i].bytes = part - block;
		mutate(f, file->disk, &table[i], sizeof(table[i]));
	}
	submit(f, KIND_SET_REGIONS, file, CHARIO_IOC_SET_REGIONS, sizeof(*r));
}

/* Most of a file, which takes its place: calls go on as before, up to the new ends. */
static void confine(struct fuzzer *f)
{
	struct open_file *file = some_file(f);
	struct chario_confine *c = begin(f, sizeof(*c));
	uint64_t block = file->disk->info.logical_block_bytes;
	uint64_t blocks = file->disk->info.capacity_bytes / block;
	int fd;

	c->flags = chance(f, 16) ? CHARIO_CONFINE_READ_ONLY : 0;
	c->offset = below(f, blocks / 16) * block;
	c->bytes = (1 + (chance(f, 8) ? 0 : below(f, blocks / 2))) * block;
	fd = (int)submit(f, KIND_CONFINE, file, CHARIO_IOC_CONFINE, sizeof(*c));
	if (fd < 0)
		return;
	memset(file->hints, 0, sizeof(file->hints));
	dup3(fd, file->fd, O_CLOEXEC);
	close(fd);
}

static void ask_block_device(struct fuzzer *f)
{
	static const unsigned long commands[] = { BLKGETSIZE64, BLKSSZGET, BLKPBSZGET, BLKIOMIN,
						  BLKIOOPT,     BLKROGET,  BLKGETSIZE, BLKFLSBUF };

	begin(f, sizeof(uint64_t));
	issue(f, KIND_BLOCK, some_file(f)->fd, commands[below(f, 8)], sizeof(uint64_t));
}

/* Numbers that nobody has, or that somebody else has. */
static void issue_garbage(struct fuzzer *f)
{
	const struct open_file *file = some_file(f);
	unsigned long command = (unsigned long)random_next(&f->random) & 0xffffffff;

	if (chance(f, 2))
		command = _IO(CHARIO_IOC_TYPE, 0x62 + below(f, 0x9e));
	else if (chance(f, 2))
		command = (command & ~0xff00ul) | CHARIO_IOC_TYPE << 8;
	/* FIOASYNC and its kind are answered before a driver is asked. */
	else if ((command & 0xff00) == 'T' << 8 || (command & 0xff00) == 'X' << 8)
		return;
	begin(f, sizeof(struct chario_info));
	mutate(f, file->disk, f->args, sizeof(struct chario_info));
	issue(f, KIND_GARBAGE, file->fd, command, sizeof(struct chario_info));
}

static void read_something(struct fuzzer *f)
{
	uint64_t which = below(f, QUESTIONS + 1);

	if (which < QUESTIONS)
		ask(f, &questions[which]);
	else
		ask_block_device(f);
}

/* What takes the drive, or all of the kernel, a while; a timeline is opened twice as often. */
static void (*const seldom[])(struct fuzzer *f) = {
	create_queue, set_pin, settle, set_regions, confine, open_timeline, open_timeline,
};

void issue_ioctl(struct fuzzer *f)
{
	uint64_t dice = below(f, 1000);

	if (dice < 500)
		transfer(f);
	else if (dice < 560)
		create_buffer(f, some_file(f));
	else if (dice < 600)
		destroy_buffer(f);
	else if (dice < 660)
		sync_buffer(f);
	else if (dice < 690)
		export_buffer(f);
	else if (dice < 740)
		set_file(f);
	else if (dice < 760)
		control_timeline(f);
	else if (dice < 840)
		issue_garbage(f);
	else if (dice < 852)
		seldom[below(f, sizeof(seldom) / sizeof(*seldom))](f);
	else
		read_something(f);
}

void issue_every_ioctl(struct fuzzer *f)
{
	/* Several, because not every disk has every kind of buffer. */
	for (int i = 0; i < 4; i++)
		create_buffer(f, some_file(f));
	transfer(f);
	sync_buffer(f);
	export_buffer(f);
	destroy_buffer(f);
	set_file(f);
	settle(f);
	create_queue(f);
	set_pin(f);
	open_timeline(f);
	control_timeline(f);
	set_regions(f);
	confine(f);
	for (size_t i = 0; i < QUESTIONS; i++)
		ask(f, &questions[i]);
	ask_block_device(f);
}
