// SPDX-License-Identifier: MIT
/* Areas and stores, printed for people and for programs. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "store.h"

/* Returns the bytes of the UTF-8 sequence that begins here; 0 if there is none. */
static size_t utf8_sequence(const unsigned char *at)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = at[0] < 0x80 ? 1 :
		       at[0] < 0xc0 ? 0 :
		       at[0] < 0xe0 ? 2 :
		       at[0] < 0xf0 ? 3 :
				      4;
	uint32_t code;

	if (bytes < 2)
		return bytes;
	code = at[0] & (0x7fU >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3fU);
	}
	if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return bytes;
}

static bool is_utf8(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t bytes;

	while (*at) {
		bytes = utf8_sequence(at);
		if (!bytes)
			return false;
		at += bytes;
	}
	return true;
}

/* Copy a text; if it is not UTF-8, with all bytes that are not ASCII as \xHH. */
static void make_utf8(char escaped[4 * CHARIO_STORE_NAME_MAX + 1], const char *text)
{
	bool is_good = is_utf8(text);

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		escaped += sprintf(escaped, is_good || byte < 0x80 ? "%c" : "\\x%02x", byte);
	}
	*escaped = '\0';
}

/* JSON is UTF-8: if a value is not, its bytes are added as hexadecimal digits. */
static void add_text(struct json_object *object, const char *key, const char *value)
{
	char escaped[4 * CHARIO_STORE_NAME_MAX + 1], digits[2 * CHARIO_STORE_NAME_MAX + 1];
	char hex_key[4 * CHARIO_STORE_NAME_MAX + sizeof("_hex")];

	make_utf8(escaped, value);
	cli_json_text(object, key, escaped);
	if (is_utf8(value))
		return;
	for (size_t i = 0; value[i]; i++)
		snprintf(digits + 2 * i, 3, "%02x", (unsigned char)value[i]);
	snprintf(hex_key, sizeof(hex_key), "%s_hex", key);
	cli_json_text(object, hex_key, digits);
}

static struct json_object *attributes_object(const struct chario_area_info *area)
{
	struct json_object *object = cli_must(json_object_new_object());

	for (const char *at = area->attributes; *at; at += strlen(at) + 1) {
		char key[CHARIO_STORE_NAME_MAX + 1], escaped[4 * CHARIO_STORE_NAME_MAX + 1];
		const char *value = strchr(at, '=') + 1;

		snprintf(key, sizeof(key), "%.*s", (int)(value - 1 - at), at);
		make_utf8(escaped, key);
		add_text(object, escaped, value);
	}
	return object;
}

static unsigned int percent(uint64_t part, uint64_t whole)
{
	return whole ? (unsigned int)((double)part / (double)whole * 100) : 0;
}

const char *cli_area_state(char text[64], const struct chario_area_info *area)
{
	int length = 0;

	text[0] = '\0';
	if (area->flags & CHARIO_AREA_STREAM)
		length += snprintf(text, 64, "stream");
	if (area->flags & CHARIO_AREA_FILLING)
		length += snprintf(text + length, 64 - (size_t)length, "%sfilling %u %%",
				   length ? ", " : "", percent(area->filled_bytes, area->bytes));
	if (area->flags & CHARIO_AREA_MOVING)
		snprintf(text + length, 64 - (size_t)length, "%smoving", length ? ", " : "");
	return text;
}

const char *cli_show_time(char text[32], uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / NS_PER_S);
	struct tm local;

	if (!localtime_r(&seconds, &local) || !strftime(text, 32, "%Y-%m-%d %H:%M:%S", &local))
		snprintf(text, 32, "%" PRIu64 " ns", realtime_ns);
	return text;
}

struct json_object *cli_area_object(const struct chario_area_info *area)
{
	struct json_object *object = cli_must(json_object_new_object());

	add_text(object, "name", area->name);
	cli_json_number(object, "id", area->id);
	cli_json_number(object, "bytes", area->bytes);
	cli_json_number(object, "allocated_bytes", area->allocated_bytes);
	cli_json_number(object, "disk_offset", area->offset);
	cli_json_flag(object, "stream", area->flags & CHARIO_AREA_STREAM);
	cli_json_flag(object, "filling", area->flags & CHARIO_AREA_FILLING);
	cli_json_flag(object, "moving", area->flags & CHARIO_AREA_MOVING);
	cli_json_number(object, "filled_bytes",
			area->flags & CHARIO_AREA_FILLING ? area->filled_bytes : area->bytes);
	cli_json_number(object, "fill_tag", area->fill_tag);
	cli_json_number(object, "created_ns", area->created_ns);
	cli_json_number(object, "changed_ns", area->changed_ns);
	json_object_object_add(object, "attributes", attributes_object(area));
	return object;
}

int cli_print_area_json(const struct cli *cli, const char *name)
{
	struct chario_area_info info;

	if (!cli->json)
		return CLI_OK;
	if (!cli_find_area(cli, name, &info))
		return CLI_FAILED;
	cli_json_print(cli_area_object(&info));
	return CLI_OK;
}

static void uuid_text(char text[40], const uint8_t uuid[16])
{
	char *end = text;

	for (int i = 0; i < 16; i++)
		end += sprintf(end, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			       uuid[i]);
}

static void print_text(const char *path, const struct chario_store_info *info)
{
	char text[40], size[32];

	cli_print("%-14s %s\n", "store", path);
	cli_print_bytes(14, "capacity", info->capacity_bytes);
	cli_print_bytes(14, "table", info->table_bytes);
	cli_print_bytes(14, "used", info->used_bytes);
	cli_print_bytes(14, "free", info->free_bytes);
	cli_print_bytes(14, "largest hole", info->largest_hole_bytes);
	printf("%-14s %" PRIu64 "\n", "holes", info->nr_holes);
	printf("%-14s %" PRIu64 " of %" PRIu64 "\n", "areas", info->nr_areas, info->max_areas);
	printf("%-14s %s\n", "alignment", cli_exact_size(size, info->alignment_bytes));
	printf("%-14s %s\n", "created", cli_show_time(text, info->created_ns));
	uuid_text(text, info->uuid);
	printf("%-14s %s\n", "uuid", text);
}

#define MEMBER(name) CLI_MEMBER(chario_store_info, name)
static const struct cli_member members[] = {
	MEMBER(capacity_bytes),     MEMBER(data_offset), MEMBER(data_bytes),
	MEMBER(table_bytes),        MEMBER(used_bytes),  MEMBER(free_bytes),
	MEMBER(largest_hole_bytes), MEMBER(nr_holes),    MEMBER(alignment_bytes),
	MEMBER(nr_areas),           MEMBER(max_areas),   { 0 },
};

static void print_json(const char *path, const struct chario_store_info *info)
{
	struct json_object *object = cli_must(json_object_new_object());
	char uuid[40];

	uuid_text(uuid, info->uuid);
	cli_json_text(object, "store", path);
	cli_json_text(object, "uuid", uuid);
	cli_json_number(object, "version", info->version);
	cli_json_number(object, "created_ns", info->created_ns);
	cli_json_members(object, members, info);
	cli_json_print(object);
}

int cli_print_store(struct cli *cli)
{
	struct chario_store_info info;
	const char *path;
	int err;

	if (!cli_open_store(cli, O_RDONLY))
		return CLI_FAILED;
	path = chario_device_path(chario_store_device(cli->store));
	err = chario_store_get_info(cli->store, &info, sizeof(info));
	if (err)
		return cli_fail_store(cli, err, "cannot read the table of \"%s\"", path);
	if (cli->json)
		print_json(path, &info);
	else
		print_text(path, &info);
	return CLI_OK;
}
