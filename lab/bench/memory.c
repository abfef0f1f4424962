// SPDX-License-Identifier: MIT
/*
 * The memory of a call: huge pages, or pages in an order of our own.
 */
#include "bench.h"

#define HUGE_PAGE_BYTES (2ul << 20)
#define PAGE_BYTES      4096ul
#define STOCK_FACTOR    4    /* pages to choose from, for each that is needed */
#define LEAST_STOCK     4096 /* pages, in which a small buffer finds neighbours alone */
#define FILL            0xa5
#define PAGEMAP_FRAME   ((1ull << 55) - 1)

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static void *map_memory(size_t bytes, int flags)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* From the beginning of a page table on, so that a small buffer has one in every run. */
static void *map_aligned(size_t bytes)
{
	uintptr_t address = (uintptr_t)map_memory(bytes + HUGE_PAGE_BYTES, 0);

	if (!address)
		fail("no memory");
	return (void *)round_up(address, HUGE_PAGE_BYTES);
}

static void *map_transparent_huge(size_t bytes)
{
	void *aligned = map_aligned(bytes);

	if (madvise(aligned, bytes, MADV_HUGEPAGE))
		fail("no huge pages, reserved or transparent");
	return aligned;
}

/* Reserved huge pages if there are any, else what madvise() gives. */
static void map_huge(struct bench *b)
{
	size_t bytes = round_up(b->bytes, HUGE_PAGE_BYTES);

	b->pages = "hugetlb";
	b->buffer = map_memory(bytes, MAP_HUGETLB);
	if (!b->buffer) {
		b->pages = "thp";
		b->buffer = map_transparent_huge(bytes);
	}
	memset(b->buffer, FILL, b->bytes);
}

/* A page of the buffer: where it is mapped, and its number in memory. */
struct page {
	char *address;
	uint64_t frame;
};

static void read_frames(struct page *pages, char *first, size_t nr_pages)
{
	off_t at = (off_t)((uintptr_t)first / PAGE_BYTES * sizeof(uint64_t));
	uint64_t *entries = calloc(nr_pages, sizeof(*entries));
	int fd = open("/proc/self/pagemap", O_RDONLY);
	ssize_t bytes = (ssize_t)(nr_pages * sizeof(*entries));

	if (fd < 0 || !entries || pread(fd, entries, (size_t)bytes, at) != bytes)
		fail("/proc/self/pagemap");
	for (size_t i = 0; i < nr_pages; i++)
		pages[i] = (struct page){ first + i * PAGE_BYTES, entries[i] & PAGEMAP_FRAME };
	free(entries);
	close(fd);
}

static int by_frame(const void *left, const void *right)
{
	const struct page *a = left, *b = right;

	return (a->frame > b->frame) - (a->frame < b->frame);
}

static bool is_neighbour(const struct page *page)
{
	return page[0].frame == page[-1].frame + 1;
}

/* Return: how many of the pages are the neighbours of those before them. */
static size_t count_neighbours(const struct page *pages, size_t nr_pages)
{
	size_t neighbours = 0;

	for (size_t i = 1; i < nr_pages; i++)
		neighbours += is_neighbour(pages + i);
	return neighbours;
}

/* The run of @nr_pages pages, of @nr_all sorted ones, with most neighbours. */
static const struct page *find_best_run(const struct page *pages, size_t nr_all, size_t nr_pages)
{
	size_t neighbours = count_neighbours(pages, nr_pages), most = neighbours, best = 0;

	for (size_t i = 1; i + nr_pages <= nr_all && nr_pages > 1; i++) {
		neighbours += is_neighbour(pages + i + nr_pages - 1);
		neighbours -= is_neighbour(pages + i);
		if (neighbours > most) {
			most = neighbours;
			best = i;
		}
	}
	return pages + best;
}

/*
 * The block layer joins pages that are neighbours in memory, so the cost of a
 * call depends on the order in which the kernel happened to hand them out.
 * This takes the buffer's pages from a larger stock and puts them in an order
 * of our own: rising, so that nearly all are the neighbours of those before
 * them, or falling, so that none is.
 */
static void map_arranged(struct bench *b, bool rising)
{
	size_t nr_pages = round_up(b->bytes, PAGE_BYTES) / PAGE_BYTES;
	size_t nr_all = nr_pages * STOCK_FACTOR > LEAST_STOCK ? nr_pages * STOCK_FACTOR :
								LEAST_STOCK;
	struct page *pages = calloc(nr_all, sizeof(*pages));
	char *target = map_aligned(nr_pages * PAGE_BYTES);
	char *stock = map_memory(nr_all * PAGE_BYTES, 0);
	const struct page *run;

	if (!pages || !stock)
		fail("no memory");
	madvise(stock, nr_all * PAGE_BYTES, MADV_NOHUGEPAGE);
	memset(stock, FILL, nr_all * PAGE_BYTES);
	read_frames(pages, stock, nr_all);
	qsort(pages, nr_all, sizeof(*pages), by_frame);
	run = find_best_run(pages, nr_all, nr_pages);
	for (size_t i = 0; i < nr_pages; i++) {
		size_t place = rising ? i : nr_pages - 1 - i;

		if (mremap(run[i].address, PAGE_BYTES, PAGE_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED,
			   target + place * PAGE_BYTES) == MAP_FAILED)
			fail("mremap");
	}
	b->pages = rising ? "joined" : "scattered";
	b->buffer = target;
	free(pages);
}

/* As the kernel gives it out, which is how a program gets its memory. */
static void map_plain(struct bench *b)
{
	b->pages = "plain";
	b->buffer = map_memory(round_up(b->bytes, PAGE_BYTES), 0);
	if (!b->buffer)
		fail("no memory");
	memset(b->buffer, FILL, b->bytes);
}

/* Memory of a kind, for the bytes of a call. Return: -1 when there is no such kind. */
int map_buffer(struct bench *b, const char *pages)
{
	if (!strcmp(pages, "huge"))
		map_huge(b);
	else if (!strcmp(pages, "plain"))
		map_plain(b);
	else if (!strcmp(pages, "joined") || !strcmp(pages, "scattered"))
		map_arranged(b, !strcmp(pages, "joined"));
	else
		return -1;
	return 0;
}

/* Other pages than before. */
void renew_buffer(struct bench *b)
{
	munmap(b->buffer, round_up(b->bytes, PAGE_BYTES));
	map_plain(b);
}

/* How many pages of the buffer are the neighbours of those before them. */
size_t buffer_neighbours(const struct bench *b)
{
	size_t nr_pages = round_up(b->bytes, PAGE_BYTES) / PAGE_BYTES;
	struct page *pages = calloc(nr_pages, sizeof(*pages));
	size_t neighbours;

	if (!pages)
		fail("no memory");
	read_frames(pages, b->buffer, nr_pages);
	neighbours = count_neighbours(pages, nr_pages);
	free(pages);
	return neighbours;
}
