/* SPDX-License-Identifier: MIT */
/*
 * Stores on disks in memory: making, opening and checking them in a test.
 */
#ifndef CHARIO_STORE_RIG_H
#define CHARIO_STORE_RIG_H

#include <limits.h>

#include <chario/area.h>
#include <chario/check.h>
#include <chario/store.h>

#include "log-device.h"
#include "store/inner.h"
#include "tap.h"

/**
 * struct rig_findings - what a check has found
 * @bad: that is more than a note and was not put right
 * @repaired: that was put right
 * @notes: that are not
 * @last: the last of them
 * @is_said: they are printed, but for notes
 */
struct rig_findings {
	unsigned int bad;
	unsigned int repaired;
	unsigned int notes;
	struct chario_finding last;
	bool is_said;
};

static inline int rig_format(struct log_disk *disk, const struct chario_store_layout *layout)
{
	struct chario_device *device = log_disk_open(disk, O_RDWR);
	int err = chario_store_format_device(device, layout);

	chario_device_close(device);
	return err;
}

static inline int rig_open(struct log_disk *disk, int flags, struct chario_store **store)
{
	struct chario_device *device = log_disk_open(disk, flags);
	int err = chario_store_open_device(device, flags, store);

	if (err)
		chario_device_close(device);
	return err;
}

/* A store on a new disk, open for writing; ends the program where that cannot be had. */
static inline struct log_disk *rig_begin(uint64_t bytes, uint32_t block_bytes,
					 const struct chario_store_layout *layout,
					 struct chario_store **store)
{
	struct log_disk *disk = log_disk_create(bytes, block_bytes);

	if (!disk || rig_format(disk, layout) || rig_open(disk, O_RDWR, store))
		abort();
	return disk;
}

/* What a store says of an area; all zero where it has none of that name. */
static inline struct chario_area_info rig_info(struct chario_store *store, const char *name)
{
	struct chario_area_info info;

	if (chario_store_find(store, name, &info, sizeof(info)))
		memset(&info, 0, sizeof(info));
	return info;
}

static inline int count_area(const struct chario_area_info *area, void *data)
{
	int *count = data;

	(*count)++;
	return 0;
}

/* Areas that a store has, or a negative errno. */
static inline int rig_count_areas(struct chario_store *store)
{
	int count = 0;
	int err = chario_store_each(store, count_area, &count);

	return err ? err : count;
}

/* Make so many areas of one length: "area-0", "area-1" and so on. */
static inline int rig_create_areas(struct chario_store *store, int count, uint64_t bytes)
{
	char name[24];
	int err = 0;

	for (int i = 0; i < count && !err; i++) {
		snprintf(name, sizeof(name), "area-%d", i);
		err = chario_store_create(store, name, bytes, 0);
	}
	return err;
}

/* Write to an area with O_RDWR, or read from it with O_RDONLY; -EIO where not all is moved. */
static inline int rig_move(struct chario_store *store, const char *name, int flags, void *memory,
			   size_t bytes, uint64_t offset)
{
	struct chario_area *area;
	int err = chario_area_open(store, name, flags, &area);
	ssize_t moved;

	if (err)
		return err;
	moved = flags == O_RDWR ? chario_area_write(area, memory, bytes, offset) :
				  chario_area_read(area, memory, bytes, offset);
	chario_area_close(area);
	return moved == (ssize_t)bytes ? 0 : -EIO;
}

static inline int count_finding(const struct chario_finding *finding, void *data)
{
	struct rig_findings *findings = data;
	bool note = finding->severity == CHARIO_SEVERITY_NOTE;

	findings->last = *finding;
	if (finding->repaired)
		findings->repaired++;
	else if (note)
		findings->notes++;
	else
		findings->bad++;
	if (!note && findings->is_said)
		printf("# %s: %s\n", chario_damage_name(finding->damage), finding->text);
	return 0;
}

static inline int check(struct log_disk *disk, unsigned int flags, struct rig_findings *findings)
{
	struct chario_device *device = log_disk_open(disk, flags ? O_RDWR : O_RDONLY);
	int ret = chario_store_check_device(device, flags, count_finding, findings);

	chario_device_close(device);
	return ret;
}

/* What chario_store_check() gives; @findings may be NULL. */
static inline int rig_check(struct log_disk *disk, unsigned int flags,
			    struct rig_findings *findings)
{
	struct rig_findings unwanted;

	findings = findings ?: &unwanted;
	*findings = (struct rig_findings){ 0 };
	return check(disk, flags, findings);
}

/* Whether a check finds nothing but so many notes at most. */
static inline bool is_clean(struct log_disk *disk, unsigned int most_notes)
{
	struct rig_findings findings = { .is_said = true };
	int ret = check(disk, 0, &findings);

	if (!ret && !findings.bad && findings.notes <= most_notes)
		return true;
	printf("# the check gives %d and %u notes\n", ret, findings.notes);
	return false;
}

/* Whether a check finds nothing but notes; it prints what it finds. */
static inline bool rig_is_clean(struct log_disk *disk)
{
	return is_clean(disk, UINT_MAX);
}

/* Whether a check finds nothing at all. */
static inline bool rig_is_finished(struct log_disk *disk)
{
	return is_clean(disk, 0);
}

static inline int take_name(const struct chario_area_info *info, void *data)
{
	strcpy(data, info->name);
	return 1;
}

/* A change that leaves all as it was: of a new area, or of what there is. */
static inline int rig_change(struct chario_store *store)
{
	char name[CHARIO_STORE_NAME_MAX + 1];
	int err = chario_store_create(store, "one more", 4096, 0);

	if (!err)
		return chario_store_remove(store, "one more");
	if (err != -ENOSPC && err != -EMFILE)
		return err;
	err = chario_store_each(store, take_name, name);
	if (err != 1)
		return err ? err : -ENOENT;
	err = chario_store_rename(store, name, "another name");
	return err ? err : chario_store_rename(store, "another name", name);
}

#endif /* CHARIO_STORE_RIG_H */
