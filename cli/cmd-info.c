// SPDX-License-Identifier: MIT
/* chario info: the properties of a disk. */
#include <inttypes.h>
#include <stdio.h>

#include <chario/device.h>
#include <chario/list.h>

#include "cli.h"

static const struct {
	uint64_t bit;
	const char *name;
} features[] = {
	{ CHARIO_FEATURE_POLL, "poll" },
	{ CHARIO_FEATURE_FUA, "fua" },
	{ CHARIO_FEATURE_WRITE_CACHE, "write-cache" },
	{ CHARIO_FEATURE_READ_ONLY, "read-only" },
	{ CHARIO_FEATURE_PIN, "pin" },
	{ CHARIO_FEATURE_HEALTH, "health" },
};

#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

/* Find the disk with the number that @data has. */
static int find_place(const struct chario_list_disk *disk, void *data)
{
	struct chario_list_disk *place = data;

	if (disk->index != place->index)
		return 0;
	*place = *disk;
	return 1;
}

struct limit {
	const char *name;
	const char *text;
};

static const struct limit *limit_of(const struct chario_info *info)
{
	static const struct limit limits[] = {
		[CHARIO_COMMAND_LIMIT_UNKNOWN] = { "unknown", "unknown; the module is older" },
		[CHARIO_COMMAND_LIMIT_DRIVE] = { "drive", "the drive (MDTS)" },
		[CHARIO_COMMAND_LIMIT_DMA] = { "dma", "the kernel's DMA mapping" },
		[CHARIO_COMMAND_LIMIT_SLOTS] = { "slots", "the module (max_command_kib)" },
	};
	bool is_known = info->command_limit < sizeof(limits) / sizeof(limits[0]);

	return &limits[is_known ? info->command_limit : CHARIO_COMMAND_LIMIT_UNKNOWN];
}

static void print_size(const char *name, uint64_t bytes)
{
	char text[32];

	printf("%-18s %s\n", name, bytes ? cli_exact_size(text, bytes) : "none");
}

static void print_text(const struct chario_device *device, const struct chario_info *info,
		       const struct chario_file_options *options,
		       const struct chario_list_disk *place)
{
	char round[32];

	cli_print("%-18s %s\n", "disk", chario_device_path(device));
	if (info->region)
		printf("%-18s %u of /dev/%s\n", "region", info->region, place->name);
	if (info->offset_bytes)
		printf("%-18s %s\n", "starts at", cli_exact_size(round, info->offset_bytes));
	printf("%-18s %s\n", "state", place->state);
	printf("%-18s %s\n", "address", place->address[0] ? place->address : "none");
	printf("%-18s %s\n", "block disk", place->block[0] ? place->block : "none");
	printf("%-18s %s\n", "back end", info->backend);
	cli_print("%-18s %s\n", "model", info->model);
	cli_print("%-18s %s\n", "serial", info->serial);
	cli_print("%-18s %s\n", "firmware", info->firmware);
	printf("%-18s %u\n", "namespace", info->namespace_id);
	printf("%-18s %" PRIu64 " bytes (%s)\n", "capacity", (uint64_t)info->capacity_bytes,
	       cli_round_size(round, info->capacity_bytes));
	print_size("logical block", info->logical_block_bytes);
	print_size("physical block", info->physical_block_bytes);
	print_size("DMA alignment", info->dma_alignment_bytes);
	print_size("command", info->command_bytes);
	print_size("largest command", info->max_command_bytes);
	printf("%-18s %s\n", "limited by", limit_of(info)->text);
	print_size("chunk", info->chunk_bytes);
	print_size("boundary", info->boundary_bytes);
	print_size("write alignment", info->write_alignment_bytes);
	print_size("optimal write", info->optimal_write_bytes);
	print_size("atomic write", info->atomic_write_bytes);
	printf("%-18s %u by interrupt, %u polled, depth %u\n", "queues", info->nr_queues,
	       info->nr_poll_queues, info->queue_depth);
	printf("%-18s %s\n", "completion", cli_completion_name(info->completion));
	printf("%-18s %u us\n", "spin", info->spin_ns / 1000);
	printf("%-18s %" PRIu64 " ms\n", "deadline", (uint64_t)info->deadline_ns / 1000000);
	printf("%-18s %" PRIu64 " ms\n", "recovery bound",
	       (uint64_t)info->recovery_bound_ns / 1000000);
	printf("%-18s completion %s, deadline %" PRIu64 " ms, spin %u us (0: the disk's)\n",
	       "a new file has", cli_completion_name(options->completion),
	       (uint64_t)options->deadline_ns / 1000000, options->spin_ns / 1000);
	printf("%-18s", "features");
	for (size_t i = 0; i < NR_FEATURES; i++)
		if (info->features & features[i].bit)
			printf(" %s", features[i].name);
	printf("\n%-18s %u\n", "module's ABI", info->abi_version);
}

static struct json_object *make_features(const struct chario_info *info)
{
	struct json_object *array = cli_must(json_object_new_array());

	for (size_t i = 0; i < NR_FEATURES; i++)
		if (info->features & features[i].bit)
			json_object_array_add(array,
					      cli_must(json_object_new_string(features[i].name)));
	return array;
}

static void print_json(const struct chario_device *device, const struct chario_info *info,
		       const struct chario_list_disk *place)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "path", chario_device_path(device));
	cli_json_number(object, "index", info->index);
	cli_json_number(object, "region", info->region);
	cli_json_number(object, "offset_bytes", info->offset_bytes);
	cli_json_text(object, "state", place->state);
	cli_json_text(object, "address", place->address);
	cli_json_text(object, "block", place->block);
	cli_json_text(object, "backend", info->backend);
	cli_json_text(object, "model", info->model);
	cli_json_text(object, "serial", info->serial);
	cli_json_text(object, "firmware", info->firmware);
	cli_json_number(object, "namespace_id", info->namespace_id);
	cli_json_number(object, "capacity_bytes", info->capacity_bytes);
	cli_json_number(object, "logical_block_bytes", info->logical_block_bytes);
	cli_json_number(object, "physical_block_bytes", info->physical_block_bytes);
	cli_json_number(object, "dma_alignment_bytes", info->dma_alignment_bytes);
	cli_json_number(object, "command_bytes", info->command_bytes);
	cli_json_number(object, "max_command_bytes", info->max_command_bytes);
	cli_json_text(object, "command_limit", limit_of(info)->name);
	cli_json_number(object, "chunk_bytes", info->chunk_bytes);
	cli_json_number(object, "boundary_bytes", info->boundary_bytes);
	cli_json_number(object, "write_alignment_bytes", info->write_alignment_bytes);
	cli_json_number(object, "deallocate_alignment_bytes", info->deallocate_alignment_bytes);
	cli_json_number(object, "optimal_write_bytes", info->optimal_write_bytes);
	cli_json_number(object, "atomic_write_bytes", info->atomic_write_bytes);
	cli_json_number(object, "nr_queues", info->nr_queues);
	cli_json_number(object, "nr_poll_queues", info->nr_poll_queues);
	cli_json_number(object, "queue_depth", info->queue_depth);
	cli_json_text(object, "completion", cli_completion_name(info->completion));
	cli_json_number(object, "spin_ns", info->spin_ns);
	cli_json_number(object, "deadline_ns", info->deadline_ns);
	cli_json_number(object, "recovery_bound_ns", info->recovery_bound_ns);
	json_object_object_add(object, "features", make_features(info));
	cli_json_number(object, "abi_version", info->abi_version);
	cli_json_print(object);
}

int cmd_info(struct cli *cli)
{
	struct chario_file_options options;
	struct chario_info info;
	struct chario_list_disk place = { 0 };
	int err;

	if (cli_parse_common(cli) || !cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (!cli_open_disk(cli))
		return CLI_FAILED;
	err = chario_device_get_info(cli->disk, &info, sizeof(info));
	if (!err)
		err = chario_device_get_options(cli->disk, &options, sizeof(options));
	if (err)
		return cli_fail(cli, err, "cannot ask disk \"%s\"", cli->argv[0]);
	place.index = info.index;
	chario_list_disks(find_place, &place);
	if (cli->json)
		print_json(cli->disk, &info, &place);
	else
		print_text(cli->disk, &info, &options, &place);
	return CLI_OK;
}
