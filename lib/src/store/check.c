// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Look for damage of a store, and repair what can be repaired safely. */
#include "store/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "device/ops.h"

static const char *const names[] = {
	[CHARIO_DAMAGE_HEADER] = "header",   [CHARIO_DAMAGE_HEADERS] = "headers",
	[CHARIO_DAMAGE_BLOCK] = "block",     [CHARIO_DAMAGE_BLOCKS] = "blocks",
	[CHARIO_DAMAGE_BEHIND] = "behind",   [CHARIO_DAMAGE_CHANGES] = "changes",
	[CHARIO_DAMAGE_ENTRY] = "entry",     [CHARIO_DAMAGE_RANGE] = "range",
	[CHARIO_DAMAGE_OVERLAP] = "overlap", [CHARIO_DAMAGE_NAME] = "name",
	[CHARIO_DAMAGE_MOVE] = "move",       [CHARIO_DAMAGE_GAP] = "gap",
	[CHARIO_DAMAGE_NEWER] = "newer",
};

const char *chario_damage_name(uint32_t damage)
{
	return damage < sizeof(names) / sizeof(names[0]) ? names[damage] : NULL;
}

int chario_check_report(struct chario_check *check, struct chario_finding *finding,
			const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
	finding->size = sizeof(*finding);
	if (finding->severity > CHARIO_SEVERITY_NOTE && !finding->repaired)
		check->left++;
	return check->visit(finding, check->data);
}

int chario_check_repair(struct chario_check *check, struct chario_finding *finding,
			const void *block)
{
	int err;

	if (!(check->flags & CHARIO_CHECK_REPAIR))
		return 0;
	err = chario_block_put(&check->store, finding->offset, block);
	finding->repaired = !err;
	return err;
}

/* A block that the medium cannot read is damaged like any other. */
int chario_check_pull(struct chario_check *check, uint64_t at, uint64_t offset, bool *is_read)
{
	int err = chario_store_pull(&check->store, at, offset, CHARIO_STORE_BLOCK);

	*is_read = !err;
	if (!chario_pool_is_damage(err))
		return err;
	memset(check->store.pool.memory + at, 0, CHARIO_STORE_BLOCK);
	return 0;
}

static int report_header(struct chario_check *check, unsigned int copy, uint64_t offset)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADER,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.copy = copy + 1,
		.offset = offset,
	};
	int err = chario_check_repair(check, &finding, &check->store.header);

	if (err)
		return err;
	return chario_check_report(check, &finding, "the %s copy of the header is damaged",
				   copy ? "second" : "first");
}

static int report_headers(struct chario_check *check)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADERS,
		.severity = CHARIO_SEVERITY_LOSS,
	};

	check->headless = true;
	return chario_check_report(check, &finding,
				   "the header is damaged, and what else is left of a store "
				   "does not belong together: it cannot be opened");
}

/* Without this finding a sound store would look well, and yet refuse every write. */
static int report_newer(struct chario_check *check)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_NEWER,
		.severity = CHARIO_SEVERITY_UNKNOWN,
	};

	if (!chario_layout_is_known(&check->store.header, true))
		return 0;
	return chario_check_report(check, &finding,
				   "the store is of a newer release of CharIO than this "
				   "one, which only reads it");
}

static int check_header(struct chario_check *check, unsigned int copy, uint64_t offset)
{
	bool is_read;
	int ret = chario_check_pull(check, 0, offset, &is_read);

	if (ret || !memcmp(check->store.pool.memory, &check->store.header, CHARIO_STORE_BLOCK))
		return ret;
	return report_header(check, copy, offset);
}

/*
 * Set the header of the store, or mark the store as headless.  Returns 0; -ENOMEDIUM if
 * there is no trace of a store.
 */
static int check_headers(struct chario_check *check)
{
	int ret = chario_layout_read(&check->store);

	/* A block that cannot be read may be a header. */
	if (ret == -EUCLEAN || chario_pool_is_damage(ret))
		return report_headers(check);
	if (!ret && check->store.header.capacity_bytes > check->capacity)
		ret = -ESTALE;
	if (!ret)
		ret = chario_check_refrain(check);
	if (!ret)
		ret = report_newer(check);
	if (!ret)
		ret = check_header(check, 0, 0);
	if (!ret)
		ret = check_header(check, 1,
				   check->store.header.capacity_bytes - CHARIO_STORE_BLOCK);
	return ret;
}

/*
 * The next change renews a damaged note.  It does not renew one that cannot be read now, which
 * may have the only copy of a change of several blocks.
 */
static int report_note(struct chario_check *check, bool is_read)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_CHANGES,
		.severity = is_read ? CHARIO_SEVERITY_NOTE : CHARIO_SEVERITY_REPAIRABLE,
		.offset = (uint64_t)STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK,
	};
	int err = 0;

	if (!is_read && check->flags & CHARIO_CHECK_REPAIR) {
		err = chario_note_renew(&check->store);
		finding.repaired = !err;
	}
	if (err)
		return err;
	return chario_check_report(check, &finding, "the note of the last changes %s",
				   is_read ? "is damaged; the next change renews it" :
					     "cannot be read; it may have an unfinished change");
}

static int check_note(struct chario_check *check)
{
	struct chario_store *store = &check->store;
	int err = chario_note_read(store);

	check->interrupted = UINT64_MAX;
	if (store->unfinished && !err)
		check->interrupted = chario_note_block(store, chario_note_sequence(store) / 2);
	if (err != -EUCLEAN && !chario_pool_is_damage(err))
		return err;
	return report_note(check, err == -EUCLEAN);
}

/*
 * Finish the change in the log, as the next writer of the table would do.  This comes after
 * the check of the table, because a lost block cannot be changed until it has been
 * forgotten.
 */
static int finish_change(struct chario_check *check)
{
	struct chario_store *store = &check->store;
	int err;

	if (!store->nr_logged || check->stuck || !(check->flags & CHARIO_CHECK_REPAIR))
		return 0;
	err = chario_note_read(store);
	if (!err)
		err = chario_change_finish(store);
	if (!err)
		chario_note_end(store);
	return err;
}

static int run(struct chario_check *check)
{
	int ret = check_headers(check);

	if (ret || check->headless)
		return ret;
	ret = chario_index_init(&check->store.index, check->store.header.nr_blocks * STORE_ENTRIES);
	if (!ret)
		ret = check_note(check);
	if (!ret)
		ret = chario_check_table(check);
	if (!ret)
		ret = finish_change(check);
	if (!ret)
		ret = chario_check_overlaps(check);
	chario_index_deinit(&check->store.index);
	return ret;
}

/* Lock out changes of the table and the making of a store; a repair locks out all others. */
static int check_device(struct chario_check *check)
{
	struct chario_store *store = &check->store;
	struct chario_info info;
	int ret = chario_layout_measure(store, &info);

	if (ret)
		return ret;
	check->capacity = info.capacity_bytes;
	store->lock_fd = chario_lock_open(store->device, store->writable);
	if (store->lock_fd < 0)
		return store->lock_fd;
	ret = chario_fence_take_table(store->device, store->lock_fd, store->writable);
	if (!ret)
		ret = chario_store_take(store, store->writable, true);
	if (!ret)
		ret = run(check);
	chario_pool_destroy(&store->pool);
	chario_fence_drop(store->device, STORE_FENCE_OPEN);
	chario_fence_drop(store->device, STORE_LOCK_TABLE);
	chario_lock_close(store->lock_fd, true);
	return ret;
}

int chario_store_check_device(struct chario_device *device, unsigned int flags,
			      chario_finding_visit *visit, void *data)
{
	struct chario_check check = {
		.store = { .device = device, .writable = flags & CHARIO_CHECK_REPAIR },
		.flags = flags,
		.visit = visit,
		.data = data,
	};
	int ret;

	if (flags & ~(CHARIO_CHECK_REPAIR | CHARIO_CHECK_FORGET))
		return -EINVAL;
	ret = check_device(&check);
	return ret ? ret : check.left;
}

int chario_store_check(const char *name, unsigned int flags, chario_finding_visit *visit,
		       void *data)
{
	struct chario_device *device CHARIO_SCOPED(chario_device_leave) = NULL;
	int ret = chario_device_open_any(name, flags & CHARIO_CHECK_REPAIR ? O_RDWR : O_RDONLY,
					 &device);

	return ret ? ret : chario_store_check_device(device, flags, visit, data);
}
