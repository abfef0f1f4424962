// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Areas that have nothing to lose: no records, and no copy of a file, complete or begun.  Of a copy
 * that has begun with an area and ends with nothing in it, the area can be removed.
 *
 * Both functions look while they hold the locks of the area, so nobody begins anything
 * between the look and what follows it.
 */
#include "stream/inner.h"

#include <errno.h>

/*
 * Records that the end in the table tells, or that may be in what cannot be read, count.  Without a
 * head, an end in the table does not tell that nothing was written, so a survey looks for more.
 */
static int check_records(struct chario_tape *tape, const struct chario_area_stream *entry)
{
	const struct store_end *end = &entry->end;
	struct chario_disk_batch batch;
	struct chario_head head;
	int err = chario_tape_head(tape, true, &head);

	if (!err && !tape->surveyed &&
	    !(head.found && chario_tape_reaches_end(&head.last, entry))) {
		tape->doubtful = true;
		err = chario_tape_head(tape, true, &head);
	}
	if (err)
		return err == -ENOMEM ? err : -EEXIST;
	if (head.records || head.last.lost_records || (end->time_ns && end->sequence))
		return -EEXIST;
	/* A reset may have failed the reads of all headers until now. */
	if (!head.found && chario_tape_peek(tape, 0, 0, &batch))
		return -EEXIST;
	return chario_tape_is_unreadable(tape, head.found ? head.last.segment : 0, 0) ? -EEXIST : 0;
}

int chario_stream_check_unused(struct chario_area *area)
{
	struct chario_area_stream entry;
	struct chario_tape tape = { 0 };
	int err;

	if (area->fields.flags & STORE_ENTRY_FILLING)
		return -EALREADY;
	err = chario_area_get_stream(area, &entry);
	if (err == -ENODATA)
		return area->fields.filled_bytes ? -EALREADY : 0;
	if (err)
		return err;
	err = chario_tape_init(&tape, area, &entry);
	if (!err)
		err = check_records(&tape, &entry);
	chario_pool_destroy(&tape.block);
	/* Nothing can be told of a recording whose entry is impossible. */
	return err == -EUCLEAN ? -EEXIST : err;
}

/* Returns whether an area was made for a copy of a file, of which nothing is there. */
static bool is_begun(const struct chario_area *area)
{
	return area->fields.flags & STORE_ENTRY_FILLING && !area->fields.filled_bytes;
}

int chario_stream_remove_unused(struct chario_store *store, const char *name, uint64_t id)
{
	struct chario_area *area CHARIO_SCOPED(chario_area_leave) = NULL;
	int err = chario_area_open_for(store, name, AREA_ALONE, &area);

	if (!err && area->fields.id != id)
		err = -ENOENT;
	if (!err && !is_begun(area))
		err = chario_stream_check_unused(area);
	return err ? err : chario_area_remove(area);
}
