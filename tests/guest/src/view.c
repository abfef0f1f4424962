// SPDX-License-Identifier: MIT
/*
 * Loads an area of a disk into a buffer of a kind, changes some blocks, flushes, and
 * reads the area again another way.
 *
 *	view DISK KIND TRACKING [ADDRESS]
 *
 * There must be nothing on DISK that matters: a store is made.  KIND is private or
 * shared, registered memory; pool, streaming; window, at ADDRESS; inside, memory
 * of the drive; heapbuf or udmabuf, a dma-buf.  TRACKING is a number of enum
 * chario_tracking.  Prints the one that was taken, and "done" when what was read is
 * as it should be; or the error of the load.
 */
#include <chario/view.h>
#include <linux/dma-buf.h>

#include "dmabuf.h"

#define BLOCK     ((size_t)CHARIO_STORE_BLOCK)
#define NR_BLOCKS ((size_t)64)
#define BYTES     (NR_BLOCKS * BLOCK)

struct state {
	struct chario_store *store;
	struct chario_device *device;
	struct chario_area *area;
	struct chario_buffer *buffer;
	struct chario_view *view;
	unsigned char *memory;
	int fd; /* of a dma-buf, or -1 */
};

static unsigned char expected[BYTES];

static void make_store(struct state *state, const char *disk)
{
	struct chario_store_layout layout = {
		.size = sizeof(layout),
		.flags = CHARIO_LAYOUT_REPLACE,
	};
	uint64_t seed = 1;

	must(chario_store_format(disk, &layout), "format");
	must(chario_store_open(disk, O_RDWR, &state->store), "open the store");
	must(chario_store_create(state->store, "area", BYTES, 0), "create");
	must(chario_area_open(state->store, "area", O_RDWR, &state->area), "open the area");
	for (size_t i = 0; i < BYTES; i++)
		expected[i] = (unsigned char)random_next(&seed);
	must(chario_area_write(state->area, expected, BYTES, 0), "fill");
	state->device = chario_store_device(state->store);
}

static int make_buffer(struct state *state, const char *kind, uint64_t address)
{
	struct chario_buffer **buffer = &state->buffer;
	int flags = MAP_ANONYMOUS | (strcmp(kind, "shared") ? MAP_PRIVATE : MAP_SHARED), memory;

	CASE(kind, "pool", chario_buffer_pool(state->device, BYTES, 0, buffer));
	CASE(kind, "streaming",
	     chario_buffer_pool(state->device, BYTES, CHARIO_BUFFER_STREAMING, buffer));
	CASE(kind, "window", chario_buffer_window(state->device, address, BYTES, 0, buffer));
	CASE(kind, "inside", chario_buffer_inside(state->device, BYTES, 0, buffer));
	if (!strcmp(kind, "private") || !strcmp(kind, "shared"))
		return chario_buffer_register(state->device, must_map(BYTES, flags, -1, 0), BYTES,
					      0, buffer);
	state->fd = strcmp(kind, "heapbuf") ? dmabuf_of_memory(BYTES, &memory) :
					      dmabuf_of_heap(BYTES);
	must(state->fd, kind);
	state->memory = must_map(BYTES, MAP_SHARED, state->fd, 0);
	return chario_buffer_import(state->device, state->fd, BYTES, 0, buffer);
}

/* The CPU may only use a dma-buf in between. */
static void use(const struct state *state, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags | DMA_BUF_SYNC_RW };

	if (state->fd >= 0 && ioctl(state->fd, DMA_BUF_IOCTL_SYNC, &sync))
		die("sync of the dma-buf");
}

static void compare(const struct state *state, const char *when)
{
	errno = 0;
	if (state->memory && memcmp(state->memory, expected, BYTES))
		die("%s: the buffer is not what the area is", when);
}

/* Memory that the CPU does not reach goes to the disk as it came. */
static void change(const struct state *state, size_t block)
{
	size_t at = block * BLOCK + block;

	use(state, DMA_BUF_SYNC_START);
	if (state->memory)
		expected[at] = ++state->memory[at];
	use(state, DMA_BUF_SYNC_END);
	if (chario_view_tracking(state->view) == CHARIO_TRACKING_MARKS)
		must(chario_view_mark(state->view, at, 1), "mark");
}

static void flush(const struct state *state, uint64_t nr_blocks)
{
	uint64_t bytes;

	must(chario_view_flush(state->view, 0, &bytes), "flush");
	if (bytes != nr_blocks * BLOCK)
		die("%" PRIu64 " bytes have been written, not %" PRIu64 " blocks", bytes,
		    nr_blocks);
}

static void exercise(const struct state *state)
{
	static unsigned char content[BYTES];

	use(state, DMA_BUF_SYNC_START);
	compare(state, "after the load");
	use(state, DMA_BUF_SYNC_END);
	flush(state, 0);
	for (size_t block = 0; block < NR_BLOCKS; block += 3)
		change(state, block);
	change(state, 1);
	flush(state, NR_BLOCKS / 3 + 2);
	change(state, 5);
	flush(state, 1);
	must(chario_area_read(state->area, content, BYTES, 0), "read");
	errno = 0;
	if (memcmp(content, expected, BYTES))
		die("the area is not what it should be");
	must(chario_view_reload(state->view), "reload");
	compare(state, "after the reload");
	flush(state, 0);
}

int main(int argc, char **argv)
{
	struct state state = { .fd = -1 };
	int err;

	if (argc < 4)
		die("view DISK KIND TRACKING [ADDRESS]");
	make_store(&state, argv[1]);
	must(make_buffer(&state, argv[2], argc > 4 ? number(argv[4]) : 0), "buffer");
	if (state.fd < 0)
		state.memory = chario_buffer_memory(state.buffer);
	err = chario_view_load(state.area, 0, BYTES, state.buffer, 0,
			       (enum chario_tracking)number(argv[3]), &state.view);
	if (err) {
		puts(strerrorname_np(-err));
	} else {
		printf("%u\n", chario_view_tracking(state.view));
		exercise(&state);
		must(chario_view_unload(state.view, 1), "unload");
		puts("done");
	}
	must(chario_buffer_free(state.buffer), "free");
	chario_area_close(state.area);
	chario_store_close(state.store);
	return 0;
}
