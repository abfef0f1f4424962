// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Look for damage of a store, and repair what can be repaired safely. */
#include "store/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void chario_check_describe(struct chario_finding *finding, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

int chario_check_report(struct chario_check *check, struct chario_finding *finding)
{
	finding->size = sizeof(*finding);
	if (finding->severity > CHARIO_SEVERITY_NOTE && !finding->repaired)
		check->left++;
	return check->visit(finding, check->data);
}

bool chario_check_repairs(const struct chario_check *check)
{
	return check->flags & CHARIO_CHECK_REPAIR;
}

int chario_check_put(struct chario_check *check, uint64_t offset, const void *block)
{
	const uint64_t at = STORE_BUFFER - CHARIO_STORE_BLOCK;

	memmove(check->store.pool.memory + at, block, CHARIO_STORE_BLOCK);
	return chario_store_push(&check->store, at, offset, CHARIO_STORE_BLOCK,
				 CHARIO_TRANSFER_FUA);
}

/* A block that the medium cannot read is damaged like any other. */
int chario_check_pull(struct chario_check *check, uint64_t at, uint64_t offset)
{
	int err = chario_store_pull(&check->store, at, offset, CHARIO_STORE_BLOCK);

	if (chario_pool_is_damage(err)) {
		memset(check->store.pool.memory + at, 0, CHARIO_STORE_BLOCK);
		check->unread = true;
		return 0;
	}
	return err;
}

static bool is_intact_header(const void *block)
{
	const struct store_header *header = block;

	return chario_block_is_good(block, STORE_MAGIC_HEADER, header->head.uuid, 0);
}

static bool is_good_header(const void *block)
{
	return is_intact_header(block) && chario_layout_is_sane(block);
}

/* A block of a later format may have other data in the place of the sizes. */
static int refuse_unknown(const struct chario_check *check, const void *block)
{
	if (!is_intact_header(block))
		return 0;
	return chario_layout_is_known(block, chario_check_repairs(check));
}

static int report_header(struct chario_check *check, unsigned int copy, uint64_t offset)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADER,
		.severity = CHARIO_SEVERITY_REPAIRABLE,
		.copy = copy + 1,
		.offset = offset,
	};
	int err;

	chario_check_describe(&finding, "the %s copy of the header is damaged",
			      copy ? "second" : "first");
	if (chario_check_repairs(check)) {
		err = chario_check_put(check, offset, &check->store.header);
		if (err)
			return err;
		finding.repaired = 1;
	}
	return chario_check_report(check, &finding);
}

static int report_headers(struct chario_check *check)
{
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_HEADERS,
		.severity = CHARIO_SEVERITY_LOSS,
	};

	check->headless = true;
	chario_check_describe(&finding, "the header is damaged, and what else is left of a store "
					"does not belong together: it cannot be opened");
	return chario_check_report(check, &finding);
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
	chario_check_describe(&finding, "the store is of a newer release of CharIO than this "
					"one, which only reads it");
	return chario_check_report(check, &finding);
}

/* Find the first header or a substitute.  Returns -EUCLEAN if there is neither. */
static int find_header(struct chario_check *check)
{
	struct store_header *header = &check->store.header;
	const void *first = check->store.pool.memory;
	int ret = chario_check_pull(check, 0, 0);

	if (!ret)
		ret = refuse_unknown(check, first);
	if (ret)
		return ret;
	memcpy(header, first, sizeof(*header));
	if (is_good_header(header))
		return header->capacity_bytes > check->capacity ? -ESTALE : 0;
	ret = chario_remains_find(&check->store, check->capacity,
				  header->head.magic == STORE_MAGIC_HEADER ? -EUCLEAN : -ENOMEDIUM,
				  header);
	/* A block that cannot be read may be a header. */
	if (chario_pool_is_damage(ret) || (ret == -ENOMEDIUM && check->unread))
		ret = -EUCLEAN;
	return ret;
}

static int check_header(struct chario_check *check, unsigned int copy, uint64_t offset)
{
	int ret = chario_check_pull(check, 0, offset);

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
	int ret = find_header(check);

	if (ret == -EUCLEAN)
		return report_headers(check);
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

static int check_note(struct chario_check *check)
{
	const uint64_t offset = (uint64_t)STORE_CHANGES_BLOCK * CHARIO_STORE_BLOCK;
	struct chario_finding finding = {
		.damage = CHARIO_DAMAGE_CHANGES,
		.severity = CHARIO_SEVERITY_NOTE,
		.offset = offset,
	};
	struct chario_store *store = &check->store;
	int err = chario_note_read(store);

	check->interrupted = UINT64_MAX;
	if (!err && chario_note_sequence(store) % 2)
		check->interrupted = chario_note_block(store, chario_note_sequence(store) / 2);
	if (err != -EUCLEAN)
		return err;
	chario_check_describe(&finding,
			      "the note of the last changes is damaged; the next change renews it");
	return chario_check_report(check, &finding);
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

	if (!store->nr_logged || check->stuck || !chario_check_repairs(check))
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
static int lock(struct chario_check *check)
{
	int fd = chario_lock_open(check->store.device, check->store.writable);
	int err;

	if (fd < 0)
		return fd;
	check->store.lock_fd = fd;
	err = chario_fence_take_table(check->store.device, fd, check->store.writable);
	if (!err)
		err = chario_lock_try(fd, STORE_LOCK_OPEN, check->store.writable);
	if (!err)
		err = chario_fence_take(check->store.device, STORE_FENCE_OPEN,
					check->store.writable);
	return err;
}

static int check_device(struct chario_check *check)
{
	struct chario_info info;
	int ret = chario_device_get_info(check->store.device, &info, sizeof(info));

	if (ret)
		return ret;
	check->capacity = info.capacity_bytes / CHARIO_STORE_BLOCK * CHARIO_STORE_BLOCK;
	if (check->capacity < 2 * CHARIO_STORE_BLOCK)
		return -ENOMEDIUM;
	if (info.logical_block_bytes > CHARIO_STORE_BLOCK)
		return -EOPNOTSUPP;
	check->store.lock_fd = -1;
	ret = lock(check);
	if (!ret)
		ret = chario_pool_create(&check->store.pool, check->store.device, STORE_BUFFER, 0);
	if (!ret) {
		ret = run(check);
		chario_pool_destroy(&check->store.pool);
	}
	chario_fence_drop(check->store.device, STORE_FENCE_OPEN);
	chario_fence_drop(check->store.device, STORE_LOCK_TABLE);
	chario_lock_close(check->store.lock_fd, true);
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
	struct chario_device *device;
	int ret = chario_device_open_any(name, flags & CHARIO_CHECK_REPAIR ? O_RDWR : O_RDONLY,
					 &device);

	if (ret)
		return ret;
	ret = chario_store_check_device(device, flags, visit, data);
	chario_device_close(device);
	return ret;
}
