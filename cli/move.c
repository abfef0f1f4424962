// SPDX-License-Identifier: MIT
/* The common part of bind and unbind.  See move.h. */
#include "move.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <chario/error.h>
#include <chario/list.h>
#include <chario/use.h>

/* Find a drive by the user's name for it.  Returns 0, or a negative errno after a message. */
static int find_drive(const struct cli *cli, const char *name, struct chario_drive *drive)
{
	char disk[32];
	int err;

	if (!cli_has_name(cli, name, "drive"))
		return -EINVAL;
	if (cli_is_region(name, disk)) {
		cli_say(cli,
			"\"%s\" is the name of a region, and this takes the whole drive with all its "
			"regions\nname its disk, %s, for that",
			name, disk);
		return -EINVAL;
	}
	err = chario_drive_find(name, drive, sizeof(*drive));
	if (err == -ENODEV)
		cli_say(cli, "there is no drive \"%s\"; chario list --all shows all NVMe drives",
			name);
	else if (err == -ENOTTY)
		cli_say(cli,
			"\"%s\" is not an NVMe drive on the PCI bus; chario list --all shows them",
			name);
	else if (err == -ENOTUNIQ)
		cli_say(cli,
			"\"%s\" means several drives; use the PCI address, see chario list --all",
			name);
	else if (err)
		cli_fail(cli, err, "cannot find drive \"%s\"", name);
	return err;
}

static int say_use(const struct chario_use *use, void *data)
{
	bool is_ours = use->kind == CHARIO_USE_EXPORT && !strncmp(use->device, "chardisk", 8);

	(void)data;
	cli_print_error("  %s%s%s%s%s%s%s\n", use->device, use->device[0] ? " " : "",
			chario_use_text(use->kind), use->what[0] ? " " : "", use->what,
			is_ours ? "; this ends it: chario export --stop " : "",
			is_ours ? use->device : "");
	return 0;
}

const char *cli_driver_name(const char *driver)
{
	return driver[0] ? driver : "no driver";
}

static void say_uses(const struct cli *cli, const struct chario_drive *drive)
{
	int err;

	cli_say(cli, "%s is in use and stays with %s:", drive->address,
		cli_driver_name(drive->driver));
	err = chario_use_each(drive, say_use, NULL);
	if (err)
		cli_fail(cli, err, "cannot see all uses of %s", drive->address);
}

static int say_failure(const struct cli *cli, const char *address, int err,
		       const struct chario_bind_result *result)
{
	if (err == -EPERM || err == -EACCES)
		return cli_say(cli, "%s: only root may give a drive to another driver; use sudo",
			       address);
	switch (result->step) {
	case CHARIO_BIND_MODULE:
		return cli_say(
			cli,
			"%s: the module chario cannot be loaded: install it for this kernel with \"make\" and \"sudo make install\", or load it with \"sudo insmod kernel/chario.ko\"; the kernel log may say more",
			address);
	case CHARIO_BIND_REMEMBER:
		return cli_fail(cli, err,
				"%s: cannot keep note of the earlier driver in /run/chario",
				address);
	case CHARIO_BIND_RELEASE:
		return cli_fail(cli, err, "%s: its driver does not let it go", address);
	case CHARIO_BIND_ATTACH:
		return cli_fail(cli, err,
				"%s: the other driver refuses it; the kernel log says why",
				address);
	case CHARIO_BIND_APPEAR:
		if (err == -ENOTBLK)
			return cli_fail(cli, err, "%s", address);
		return cli_say(cli, "%s: no /dev/chardiskN has appeared; the kernel log says why",
			       address);
	case CHARIO_BIND_SERVE:
		if (err == -EOPNOTSUPP)
			return cli_say(
				cli,
				"%s: it cannot have block disks, for its blocks are longer than a page or it takes fewer than three commands at a time, see chario(4); bind it without --block",
				address);
		return cli_fail(cli, err, "%s: its disks cannot be block devices", address);
	}
	return cli_fail(cli, err, "%s: cannot move it to another driver", address);
}

void cli_say_step(const struct cli *cli, const struct chario_drive *drive, int err,
		  const struct chario_bind_result *result, const char *force)
{
	if (err == -EBUSY && result->step == CHARIO_BIND_CHECK) {
		say_uses(cli, drive);
		fprintf(stderr, "end the use first; %s\n", force);
		return;
	}
	say_failure(cli, drive->address, err, result);
	if (result->restored)
		cli_say(cli, "%s: it is back with %s", drive->address,
			result->driver[0] ? result->driver : "no driver, as before");
	else if (strcmp(result->driver, drive->driver))
		cli_say(cli, "%s: it is with %s now", drive->address,
			cli_driver_name(result->driver));
}

static int add_use(const struct chario_use *use, void *data)
{
	static const char *const kinds[] = {
		[CHARIO_USE_ROOT] = "root",           [CHARIO_USE_MOUNT] = "mount",
		[CHARIO_USE_SWAP] = "swap",           [CHARIO_USE_HOLDER] = "holder",
		[CHARIO_USE_LOOP] = "loop",           [CHARIO_USE_PROCESS] = "process",
		[CHARIO_USE_EXCLUSIVE] = "exclusive", [CHARIO_USE_UNKNOWN] = "unknown",
		[CHARIO_USE_EXPORT] = "export",
	};
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "kind", kinds[use->kind]);
	cli_json_text(object, "device", use->device);
	cli_json_text(object, "what", use->what);
	json_object_array_add(data, object);
	return 0;
}

struct disks {
	const char *address;
	struct json_object *array;
};

static int add_disk(const struct chario_list_disk *disk, void *data)
{
	struct disks *disks = data;

	if (!strcmp(disk->address, disks->address))
		json_object_array_add(disks->array, cli_must(json_object_new_string(disk->path)));
	return 0;
}

/* Make the outcome as JSON, with uses and disks. */
static struct json_object *make_outcome(const struct chario_drive *drive, int err,
					const struct chario_bind_result *result)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *uses = cli_must(json_object_new_array());
	struct disks disks = { drive->address, cli_must(json_object_new_array()) };
	char name[32];

	if (err == -EBUSY)
		chario_use_each(drive, add_use, uses);
	chario_list_disks(add_disk, &disks);
	cli_json_text(object, "address", drive->address);
	cli_json_text(object, "error", err ? cli_error_name(name, err) : "");
	cli_json_text(object, "earlier_driver", result->earlier_driver);
	cli_json_text(object, "driver", result->driver);
	cli_json_flag(object, "restored", result->restored);
	json_object_object_add(object, "disks", disks.array);
	json_object_object_add(object, "uses", uses);
	return object;
}

int cli_move_all(struct cli *cli, cli_mover *move, uint32_t flags)
{
	struct json_object *array = cli_must(json_object_new_array());
	int status = CLI_OK;

	for (int i = 0; i < cli->argc; i++) {
		struct chario_bind_result result = { 0 };
		struct chario_drive drive;
		int err = find_drive(cli, cli->argv[i], &drive);

		if (!err) {
			err = move(cli, &drive, flags, &result);
			json_object_array_add(array, make_outcome(&drive, err, &result));
		}
		if (err)
			status = CLI_FAILED;
	}
	if (cli->json)
		cli_json_print(array);
	else
		json_object_put(array);
	return status;
}
