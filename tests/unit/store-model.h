/* SPDX-License-Identifier: MIT */
/*
 * What a store should be: its areas, and what stands in each sector of them.
 *
 * A sector that has been written says whose it is, where it belongs and which
 * write it was of, so that one that is lost, old or of elsewhere is known for
 * what it is.  Nothing is expected of sectors that nobody has written.
 */
#ifndef CHARIO_STORE_MODEL_H
#define CHARIO_STORE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <chario/store.h>

#define MODEL_AREAS   20
#define MODEL_SECTOR  512
#define MODEL_SECTORS 256

/**
 * struct model_area - an area as it should be
 * @info: what the table should say; its flags without CHARIO_AREA_MOVING; a length
 *	of 0 where there is no area
 * @tag: what its sectors are marked with
 * @durable: by sector: number of the last write that was made durable, 0 for none
 * @latest: by sector: number of the last write
 */
struct model_area {
	struct chario_area_info info;
	uint32_t tag;
	uint16_t durable[MODEL_SECTORS];
	uint16_t latest[MODEL_SECTORS];
};

/**
 * struct model - a store as it should be
 * @areas: in no order
 * @tags: that have been given
 * @writes: that there have been
 */
struct model {
	struct model_area areas[MODEL_AREAS];
	uint32_t tags;
	uint16_t writes;
};

/**
 * struct model_step - a change and what it may leave
 * @before: the store before it
 * @after: the store after it
 */
struct model_step {
	const struct model *before;
	const struct model *after;
};

/* Create small areas, so that others are in the next block of the table: 0 or an error. */
int model_fill(struct model *model, struct chario_store *store, size_t count);

/*
 * Do something to a store, of which a number decides what, and to its model.
 * Returns 0, or the error of a device that fails: then @before and @model are
 * what the store may be.  What else goes wrong is said, and is -EPROTO.
 */
int model_change(struct model *model, struct chario_store *store, uint64_t *random);

/*
 * Whether a store is as it was before a step or after it; says what is wrong.  The
 * names of areas, their lengths and what stands in them.
 */
bool model_holds(const struct model_step *step, struct chario_store *store);

/* An area of a name, NULL where there should be none. */
struct model_area *model_find(struct model *model, const char *name);

#endif /* CHARIO_STORE_MODEL_H */
