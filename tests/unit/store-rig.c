// SPDX-License-Identifier: MIT
#include "store-rig.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chario/area.h>

#include "store/inner.h"

int rig_format(struct log_disk *disk, const struct chario_store_layout *layout)
{
	struct chario_device *device = log_disk_open(disk, O_RDWR);
	int err = chario_store_format_device(device, layout);

	chario_device_close(device);
	return err;
}

int rig_open(struct log_disk *disk, int flags, struct chario_store **store)
{
	struct chario_device *device = log_disk_open(disk, flags);
	int err = chario_store_open_device(device, flags, store);

	if (err)
		chario_device_close(device);
	return err;
}

struct log_disk *rig_begin(uint64_t bytes, uint32_t block_bytes,
			   const struct chario_store_layout *layout, struct chario_store **store)
{
	struct log_disk *disk = log_disk_create(bytes, block_bytes);

	if (!disk || rig_format(disk, layout) || rig_open(disk, O_RDWR, store))
		abort();
	return disk;
}

struct chario_area_info rig_info(struct chario_store *store, const char *name)
{
	struct chario_area_info info;

	if (chario_store_find(store, name, &info, sizeof(info)))
		memset(&info, 0, sizeof(info));
	return info;
}

static int count_area(const struct chario_area_info *area, void *data)
{
	int *count = data;

	(*count)++;
	return 0;
}

int rig_count_areas(struct chario_store *store)
{
	int count = 0;
	int err = chario_store_each(store, count_area, &count);

	return err ? err : count;
}

int rig_create_areas(struct chario_store *store, int count, uint64_t bytes)
{
	char name[24];
	int err = 0;

	for (int i = 0; i < count && !err; i++) {
		snprintf(name, sizeof(name), "area-%d", i);
		err = chario_store_create(store, name, bytes, 0);
	}
	return err;
}

int rig_move(struct chario_store *store, const char *name, int flags, void *memory, size_t bytes,
	     uint64_t offset)
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

static int count_finding(const struct chario_finding *finding, void *data)
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

static int check(struct log_disk *disk, unsigned int flags, struct rig_findings *findings)
{
	struct chario_device *device = log_disk_open(disk, flags ? O_RDWR : O_RDONLY);
	int ret = chario_store_check_device(device, flags, count_finding, findings);

	chario_device_close(device);
	return ret;
}

int rig_check(struct log_disk *disk, unsigned int flags, struct rig_findings *findings)
{
	struct rig_findings unwanted;

	findings = findings ?: &unwanted;
	*findings = (struct rig_findings){ 0 };
	return check(disk, flags, findings);
}

/* Whether a check finds nothing but so many notes at most. */
static bool is_clean(struct log_disk *disk, unsigned int most_notes)
{
	struct rig_findings findings = { .is_said = true };
	int ret = check(disk, 0, &findings);

	if (!ret && !findings.bad && findings.notes <= most_notes)
		return true;
	printf("# the check gives %d and %u notes\n", ret, findings.notes);
	return false;
}

bool rig_is_clean(struct log_disk *disk)
{
	return is_clean(disk, UINT_MAX);
}

bool rig_is_finished(struct log_disk *disk)
{
	return is_clean(disk, 0);
}

static int take_name(const struct chario_area_info *info, void *data)
{
	strcpy(data, info->name);
	return 1;
}

int rig_change(struct chario_store *store)
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
