// SPDX-License-Identifier: MIT
#include "input.h"
#include "store-exercise.h"

#define BLOCK      CHARIO_STORE_BLOCK
#define NR_BLOCKS  2
#define DATA_BLOCK (STORE_TABLE_BLOCK + NR_BLOCKS)

/* Of an image that the fuzzer begins with. */
#define IMAGE_BYTES (96U << 10)

static const struct chario_store_layout layout = {
	.size = sizeof(layout),
	.max_areas = NR_BLOCKS * STORE_ENTRIES,
};

const unsigned int input_mutations = 30;

/* images to begin with */

static void must(int err)
{
	if (err)
		abort();
}

static void add_areas(struct chario_store *store, unsigned int count)
{
	char name[16];

	for (unsigned int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "area-%u", i);
		must(chario_store_create(store, name, 1 + i * 300, 0));
	}
}

static int stop(uint64_t done_bytes, uint64_t total_bytes, void *data)
{
	return 1;
}

/* An area whose slide over itself was interrupted. */
static void add_move(struct chario_store *store)
{
	must(chario_store_create(store, "gap", 4096, 0));
	must(chario_store_create(store, "moves", 20000, 0));
	must(chario_store_create(store, "behind", 1, 0));
	must(chario_store_remove(store, "gap"));
	must(chario_store_defrag(store, stop, NULL) != 1);
}

static void add_filling(struct chario_store *store)
{
	struct chario_area *area;

	must(chario_store_create(store, "fills", 10000, CHARIO_CREATE_FILLING));
	must(chario_area_open(store, "fills", O_RDWR, &area));
	must(chario_area_set_filled(area, 5000, 1));
	chario_area_close(area);
}

static void add_stream(struct chario_store *store)
{
	const struct chario_area_stream stream = {
		.session = 1, .segment_bytes = BLOCK, .window = 2, .ring = true
	};
	struct chario_area *area;

	must(chario_store_create(store, "records", 20000, 0));
	must(chario_area_open(store, "records", O_RDWR, &area));
	must(chario_area_set_stream(area, &stream));
	chario_area_close(area);
}

static void change(struct chario_store *store, unsigned int number)
{
	if (number == 1)
		add_areas(store, 4);
	if (number == 2)
		add_areas(store, 12);
	if (number == 3 || number == 5)
		add_move(store);
	if (number >= 4)
		add_filling(store);
	if (number >= 4)
		add_stream(store);
}

size_t input_make(unsigned int number, unsigned char *image)
{
	struct log_disk *disk = log_disk_create(IMAGE_BYTES, 512);
	struct chario_store *store;

	must(rig_format(disk, &layout));
	must(rig_open(disk, O_RDWR, &store));
	change(store, number);
	chario_store_close(store);
	memcpy(image, disk->image, IMAGE_BYTES);
	log_disk_destroy(disk);
	return IMAGE_BYTES;
}

/* mutations */

/**
 * struct input - an image that is mutated
 * @image: its bytes
 * @bytes: how many
 * @random: decides
 */
struct input {
	unsigned char *image;
	size_t bytes;
	uint64_t *random;
};

/* Any block of the first table or before, seldom one of the others. */
static unsigned char *choose_block(const struct input *input)
{
	size_t nr_blocks = input->bytes / BLOCK;
	size_t first = log_below(input->random, DATA_BLOCK);

	if (!log_below(input->random, 4))
		first = log_below(input->random, nr_blocks);
	return input->image + (first < nr_blocks ? first : 0) * BLOCK;
}

static void set_value(const struct input *input)
{
	unsigned char *block = choose_block(input);
	size_t entry = log_below(input->random, STORE_ENTRIES);
	size_t at = log_below(input->random, 3) ?
			    96 + 400 * entry + 8 * log_below(input->random, 18) :
			    8 * log_below(input->random, BLOCK / 8);
	uint64_t value;

	memcpy(&value, block + at, sizeof(value));
	value = input_value(input->random, value);
	memcpy(block + at, &value, log_below(input->random, 4) ? 8 : 4);
}

static void copy_entry(const struct input *input)
{
	struct store_table *from = (struct store_table *)choose_block(input);
	struct store_table *to = (struct store_table *)choose_block(input);
	struct store_entry entry = from->entries[log_below(input->random, STORE_ENTRIES)];

	to->entries[log_below(input->random, STORE_ENTRIES)] = entry;
}

static void copy_block(const struct input *input)
{
	unsigned char *from = choose_block(input), *to = choose_block(input);

	memmove(to, from, BLOCK);
}

static void flip_flag(const struct input *input)
{
	struct store_table *table = (struct store_table *)choose_block(input);
	size_t entry = log_below(input->random, STORE_ENTRIES);

	table->entries[entry].fields.flags ^= 1U << log_below(input->random, 6);
}

static void scribble(const struct input *input)
{
	unsigned char *block = choose_block(input);

	for (uint64_t n = log_below(input->random, 8); n; n--)
		block[log_below(input->random, BLOCK)] = (unsigned char)log_random(input->random);
}

/* What stands in the first copy stands in the second too. */
static void mirror(const struct input *input)
{
	size_t nr_blocks = input->bytes / BLOCK;

	if (nr_blocks < 2 * (NR_BLOCKS + 2))
		return;
	memcpy(input->image + (nr_blocks - 1 - NR_BLOCKS) * BLOCK,
	       input->image + STORE_TABLE_BLOCK * BLOCK, NR_BLOCKS * BLOCK);
	memcpy(input->image + (nr_blocks - 1) * BLOCK, input->image, BLOCK);
}

/* A disk that is shorter or longer than it was. */
static void resize(struct input *input, size_t most)
{
	size_t bytes = (1 + log_below(input->random, most / BLOCK)) * BLOCK;

	if (bytes > input->bytes)
		memset(input->image + input->bytes, 0, bytes - input->bytes);
	input->bytes = bytes;
}

size_t input_mutate(unsigned char *image, size_t bytes, size_t most, uint64_t *random)
{
	static void (*const mutations[])(const struct input *input) = {
		set_value,  set_value,  set_value, set_value,
		copy_entry, copy_block, flip_flag, scribble,
	};
	struct input input = { image, bytes / BLOCK * BLOCK, random };

	if (most < BLOCK)
		return bytes;
	if (!input.bytes || !log_below(random, 50))
		resize(&input, most);
	for (uint64_t n = 1 + log_below(random, 4); n; n--)
		mutations[log_below(random, sizeof(mutations) / sizeof(mutations[0]))](&input);
	if (log_below(random, 4))
		mirror(&input);
	if (log_below(random, 8))
		exercise_seal(image, input.bytes);
	return input.bytes;
}

/* trying */

/* One for all images, with a file in /tmp that is removed at the end. */
static struct log_disk *disk;

static void drop_disk(void)
{
	log_disk_destroy(disk);
}

static void make_disk(void)
{
	disk = log_disk_create(INPUT_MOST, 512);
	if (!disk || atexit(drop_disk))
		abort();
}

void input_try(const unsigned char *image, size_t bytes)
{
	uint64_t random = bytes;

	if (!disk)
		make_disk();
	disk->bytes = bytes < INPUT_MOST ? bytes / BLOCK * BLOCK : INPUT_MOST;
	memcpy(disk->image, image, disk->bytes);
	for (size_t i = 0; i < bytes; i += 1 + bytes / 64)
		random = random * 31 + image[i];
	if (!exercise_disk(disk, &random)) {
		fflush(stdout);
		abort();
	}
}
