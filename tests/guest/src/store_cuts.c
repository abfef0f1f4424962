// SPDX-License-Identifier: MIT
/*
 * Changes a store again and again, and says afterwards whether a copy of the disk
 * that was taken at any moment is right.
 *
 *	store_cuts run DEVICE SEED      make a store and change it, for ever
 *	store_cuts judge IMAGE SEED     hold a copy against what must be there
 *
 * Step n follows from SEED and from the steps before it.  Its number is written into
 * the area "steps" and made durable after the step: a copy holds the store as it was
 * after that step, or after the next one.
 */
#include <chario/area.h>
#include <chario/check.h>
#include <chario/store.h>

#include "common.h"

#define NR_NAMES 12
#define MOST     (600U << 10)
#define STEPS    "steps"
#define NEVER    UINT32_MAX

/* An area as it must be: @bytes of 0 for none; content up to @valid is that of @seed. */
struct model {
	uint32_t bytes;
	uint32_t valid;
	uint32_t seed;
};

enum kind { CREATE, FILL, RENAME, RESIZE, REMOVE, DEFRAG, NR_KINDS };

struct step {
	enum kind kind;
	unsigned int name;
	unsigned int other;
	uint32_t bytes;
	uint32_t seed;
};

static unsigned char content[MOST], found[MOST];

static uint32_t mix(uint64_t value)
{
	value ^= value >> 31;
	value *= 0x7fb5d329728ea185ULL;
	value ^= value >> 27;
	value *= 0x81dadef4bc2dd44dULL;
	return (uint32_t)(value ^ value >> 33);
}

static void fill_in(uint32_t seed, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		content[i] = (unsigned char)mix((uint64_t)seed << 32 | i / 8) + (unsigned char)i;
}

/* What step n does, given what the steps before have made. */
static struct step choose(uint32_t seed, uint32_t n, const struct model *models)
{
	uint64_t base = (uint64_t)seed << 32 | n;
	struct step step = {
		.name = mix(base * 8) % NR_NAMES,
		.other = mix(base * 8 + 1) % NR_NAMES,
		.bytes = 1 + mix(base * 8 + 2) % MOST,
		.seed = mix(base * 8 + 3),
		.kind = FILL + mix(base * 8 + 4) % (NR_KINDS - FILL),
	};

	if (!models[step.name].bytes && step.kind != DEFRAG)
		step.kind = CREATE;
	return step;
}

static bool is_free(const struct model *models, unsigned int name)
{
	return !models[name].bytes;
}

/* What a step makes of the areas. */
static void model_step(const struct step *step, struct model *models)
{
	struct model *model = &models[step->name];

	switch (step->kind) {
	case CREATE:
		*model = (struct model){ .bytes = step->bytes };
		break;
	case FILL:
		model->valid = model->bytes;
		model->seed = step->seed;
		break;
	case RENAME:
		if (is_free(models, step->other)) {
			models[step->other] = *model;
			model->bytes = 0;
		}
		break;
	case RESIZE:
		model->bytes = step->bytes;
		if (model->valid > model->bytes)
			model->valid = model->bytes;
		break;
	case REMOVE:
		model->bytes = 0;
		break;
	default:
		break;
	}
}

static const char *name_of(unsigned int name)
{
	static char names[2][16];
	static unsigned int turn;

	turn = !turn;
	snprintf(names[turn], sizeof(names[turn]), "area-%u", name);
	return names[turn];
}

static void fill(struct chario_store *store, const struct step *step, uint32_t bytes)
{
	struct chario_area *area;

	fill_in(step->seed, bytes);
	must(chario_area_open(store, name_of(step->name), O_RDWR, &area), "open an area");
	if (chario_area_write(area, content, bytes, 0) != (ssize_t)bytes)
		die("write to an area");
	must(chario_area_sync(area), "sync");
	chario_area_close(area);
}

static void do_step(struct chario_store *store, const struct step *step, const struct model *models)
{
	int err = 0;

	switch (step->kind) {
	case CREATE:
		err = chario_store_create(store, name_of(step->name), step->bytes, 0);
		break;
	case FILL:
		fill(store, step, models[step->name].bytes);
		break;
	case RENAME:
		err = chario_store_rename(store, name_of(step->name), name_of(step->other));
		err = err == -EEXIST ? 0 : err;
		break;
	case RESIZE:
		err = chario_store_resize(store, name_of(step->name), step->bytes);
		break;
	case REMOVE:
		err = chario_store_remove(store, name_of(step->name));
		break;
	default:
		err = chario_store_defrag(store, NULL, NULL);
		break;
	}
	must(err, "a step");
}

static int run(const char *device, uint32_t seed)
{
	struct chario_store_layout layout = { .size = sizeof(layout),
					      .flags = CHARIO_LAYOUT_REPLACE,
					      .max_areas = 30 };
	struct model models[NR_NAMES] = { 0 };
	struct chario_store *store;
	struct chario_area *steps;

	must(chario_store_format(device, &layout), "format");
	must(chario_store_open(device, O_RDWR, &store), "open the store");
	must(chario_store_create(store, STEPS, sizeof(uint32_t), 0), "create");
	must(chario_area_open(store, STEPS, O_RDWR, &steps), "open");
	for (uint32_t n = 0; n < NEVER; n++) {
		struct step step = choose(seed, n, models);

		if (chario_area_write(steps, &n, sizeof(n), 0) != sizeof(n))
			die("write the number of a step");
		must(chario_area_sync(steps), "sync");
		if (n == 1)
			puts("ready");
		fflush(stdout);
		do_step(store, &step, models);
		model_step(&step, models);
	}
	return 0;
}

static int complain(const struct chario_finding *finding, void *data)
{
	if (finding->severity > CHARIO_SEVERITY_NOTE)
		printf("check: %s\n", finding->text);
	return 0;
}

/* Whether an area is as a model says. */
static bool fits(struct chario_store *store, unsigned int name, const struct model *model,
		 bool content_too)
{
	struct chario_area *area;
	struct chario_area_info info;
	int err = chario_store_find(store, name_of(name), &info, sizeof(info));
	ssize_t got;

	if (!model->bytes)
		return err == -ENOENT;
	if (err || info.bytes != model->bytes)
		return false;
	if (!content_too || !model->valid)
		return true;
	fill_in(model->seed, model->valid);
	must(chario_area_open(store, name_of(name), O_RDONLY, &area), "open an area");
	got = chario_area_read(area, found, model->valid, 0);
	chario_area_close(area);
	return got == (ssize_t)model->valid && !memcmp(content, found, model->valid);
}

static bool all_fit(struct chario_store *store, const struct model *models,
		    const struct step *under_way)
{
	for (unsigned int name = 0; name < NR_NAMES; name++) {
		bool filling = under_way->kind == FILL && under_way->name == name;

		if (!fits(store, name, &models[name], !filling))
			return false;
	}
	return true;
}

/* Step @n was under way: the store is as before it or as after it. */
static int judge_step(struct chario_store *store, uint32_t seed, uint32_t n)
{
	struct model models[NR_NAMES] = { 0 };
	struct step step = choose(seed, 0, models);

	for (uint32_t i = 0; i < n; i++) {
		model_step(&step, models);
		step = choose(seed, i + 1, models);
	}
	if (all_fit(store, models, &step)) {
		printf("step %u, kind %d: before\n", n, step.kind);
		return 0;
	}
	model_step(&step, models);
	if (all_fit(store, models, &step)) {
		printf("step %u, kind %d: after\n", n, step.kind);
		return 0;
	}
	printf("step %u, kind %d: neither before nor after\n", n, step.kind);
	return 1;
}

static int judge(const char *image, uint32_t seed)
{
	struct chario_store *store;
	struct chario_area *steps;
	uint32_t n = NEVER;
	int ret = chario_store_check(image, 0, complain, NULL);

	must(ret, "check");
	if (ret > 0)
		return 1;
	must(chario_store_open(image, O_RDWR, &store), "open the store");
	must(chario_area_open(store, STEPS, O_RDONLY, &steps), "open");
	if (chario_area_read(steps, &n, sizeof(n), 0) != sizeof(n))
		die("read the number of a step");
	chario_area_close(steps);
	ret = judge_step(store, seed, n);
	must(chario_store_defrag(store, NULL, NULL), "defrag");
	ret |= judge_step(store, seed, n);
	chario_store_close(store);
	return ret;
}

int main(int argc, char **argv)
{
	uint32_t seed = argc == 4 ? (uint32_t)number(argv[3]) : 0;

	if (argc == 4 && !strcmp(argv[1], "run"))
		return run(argv[2], seed);
	if (argc == 4 && !strcmp(argv[1], "judge"))
		return judge(argv[2], seed);
	die("usage: store_cuts run DEVICE SEED | judge IMAGE SEED");
}
