// SPDX-License-Identifier: MIT
/*
 * Values: nearly valid ones, edges, and how results are counted.
 */
#include "fuzz.h"

bool chance(struct fuzzer *f, uint64_t of)
{
	return !random_below(&f->random, of);
}

uint64_t below(struct fuzzer *f, uint64_t limit)
{
	return random_below(&f->random, limit);
}

/* A value at which something ends. */
uint64_t edge(struct fuzzer *f, const struct disk *disk, uint64_t size)
{
	const uint64_t block = disk->info.logical_block_bytes;
	const uint64_t values[] = {
		0,
		1,
		(uint64_t)-1,
		block - 1,
		block,
		block + 1,
		(uint64_t)-block,
		disk->info.capacity_bytes,
		disk->info.capacity_bytes - block,
		CHARIO_TRANSFER_MAX,
		1ull << 31,
		(1ull << 31) - 1,
		1ull << 32,
		(1ull << 32) - 1,
		1ull << 40,
		1ull << 63,
		(1ull << 63) - 1,
		size,
		size - 1,
		size + 1,
		PAGE,
		PAGE + 1,
		0x1000000, /* in System RAM */
		(uintptr_t)f->world->arena,
		(uintptr_t)f->world->arena + ARENA_BYTES - block,
		0xffff888000000000,
	};

	return values[below(f, sizeof(values) / sizeof(*values))];
}

static void mutate_one(struct fuzzer *f, const struct disk *disk, char *args, size_t size)
{
	size_t bytes = chance(f, 2) ? 4 : 8, place = below(f, size / 4) * 4;
	uint64_t value = edge(f, disk, size);

	if (place + bytes > size)
		bytes = 4;
	if (chance(f, 4))
		value = 1ull << below(f, 64);
	memcpy(args + place, &value, bytes);
}

/* Mostly nothing, often one member, seldom all of it. */
void mutate(struct fuzzer *f, const struct disk *disk, void *args, size_t size)
{
	uint64_t dice = below(f, 100);
	unsigned int count = dice < 70 ? 0 : dice < 92 ? 1 : dice < 98 ? 3 : 0;

	if (f->careful)
		return;
	while (count--)
		mutate_one(f, disk, args, size);
	for (size_t i = 0; dice >= 99 && i + 4 <= size; i += 4) {
		uint64_t value = random_next(&f->random);

		memcpy((char *)args + i, &value, 4);
	}
	/* Without its size nothing else would be looked at. */
	if (dice >= 99 && chance(f, 2))
		*(uint32_t *)args = (uint32_t)size;
}

struct open_file *some_file(struct fuzzer *f)
{
	return &f->world->files[below(f, FILES)];
}

struct hint *some_buffer(struct fuzzer *f, struct open_file *file)
{
	unsigned int place = (unsigned int)below(f, HINTS);

	/* Mostly one that has been there. */
	for (unsigned int i = 0; i < HINTS && !file->hints[place].id; i++)
		place = (place + 1) % HINTS;
	return &file->hints[place];
}

char *some_memory(struct fuzzer *f)
{
	return f->world->arena + below(f, ARENA_BYTES / 512) * 512;
}

/* For one read of MOVE_BYTES, which may begin later by as many. */
char *own_memory(struct fuzzer *f)
{
	return f->target + f->slot++ % SLOTS * SLOT_BYTES;
}

uint64_t some_blocks(struct fuzzer *f, const struct disk *disk, uint64_t most)
{
	uint64_t block = disk->info.logical_block_bytes;

	return most < block ? block : random_length(&f->random, most / block) * block;
}

uint64_t some_place(struct fuzzer *f, const struct disk *disk)
{
	uint64_t block = disk->info.logical_block_bytes;

	return below(f, disk->info.capacity_bytes / block) * block;
}

/* A result as the kernel gives it: a count or -errno. */
void note(struct fuzzer *f, enum kind kind, long result)
{
	struct tally *tally = f->world->tally;
	uint64_t error = result < 0 ? (uint64_t)-result : 0;

	if (error >= ERRORS)
		error = ERRORS - 1;
	__atomic_fetch_add(&tally->counts[kind][error], 1, __ATOMIC_RELAXED);
	if (kind < KIND_COMMANDS)
		__atomic_fetch_add(&tally->commands, 1, __ATOMIC_RELAXED);
}

/* A result as the C library gives it. */
void note_call(struct fuzzer *f, enum kind kind, long result)
{
	note(f, kind, result < 0 ? -errno : result);
}
