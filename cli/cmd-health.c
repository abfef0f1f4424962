// SPDX-License-Identifier: MIT
/* chario health: the health of a disk's drive, once or as it changes. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <chario/device.h>
#include <chario/health.h>

#include "cli.h"

#define ZERO_C     273
#define UNIT_BYTES 512000

#define USUAL_INTERVAL_S 10

/**
 * struct watch - the options of a watch
 * @on: true if the health is printed again and again
 * @interval_s: longest time from one look to the next in seconds
 * @count: number of looks; 0 for no end
 */
struct watch {
	bool on;
	double interval_s;
	uint64_t count;
};

#define MEMBER(name) CLI_MEMBER(chario_health, name)
static const struct cli_member state_members[] = {
	MEMBER(events),           MEMBER(critical_warning),     MEMBER(warning_minutes),
	MEMBER(critical_minutes), MEMBER(spare_percent),        MEMBER(spare_threshold_percent),
	MEMBER(used_percent),     MEMBER(throttle_light_count), MEMBER(throttle_heavy_count),
	MEMBER(throttle_light_s), MEMBER(throttle_heavy_s),     { 0 },
};
static const struct cli_member life_members[] = {
	MEMBER(read_ns),       MEMBER(data_units_read),   MEMBER(data_units_written),
	MEMBER(read_commands), MEMBER(write_commands),    MEMBER(busy_minutes),
	MEMBER(power_cycles),  MEMBER(power_on_hours),    MEMBER(unsafe_shutdowns),
	MEMBER(media_errors),  MEMBER(error_log_entries), { 0 },
};

static const char *status_name(const struct chario_health *health)
{
	const char *name = chario_health_status_name(health->status);

	return name ? name : "unknown";
}

static int exit_code(const struct chario_health *health)
{
	if (health->status == CHARIO_HEALTH_OK)
		return CLI_OK;
	return health->status == CHARIO_HEALTH_WARNING ? CLI_WARNING : CLI_CRITICAL;
}

/* Returns a text such as "50 C", or "-" if the drive does not report the temperature. */
static const char *celsius(char text[16], uint32_t kelvin)
{
	if (kelvin)
		snprintf(text, 16, "%d C", (int)kelvin - ZERO_C);
	else
		strcpy(text, "-");
	return text;
}

static void print_temperature(const struct chario_health *health)
{
	char now[16], warning[16], critical[16];

	printf("%-18s %s (too hot from %s, may stop from %s)\n", "temperature",
	       celsius(now, health->temperature_k), celsius(warning, health->warning_temperature_k),
	       celsius(critical, health->critical_temperature_k));
	for (size_t i = 0; i < sizeof(health->sensors_k) / sizeof(health->sensors_k[0]); i++)
		if (health->sensors_k[i])
			printf("  sensor %zu         %s\n", i + 1,
			       celsius(now, health->sensors_k[i]));
	printf("%-18s %u min, %u min\n", "  time above both", health->warning_minutes,
	       health->critical_minutes);
	printf("%-18s light %u times, %u s; heavy %u times, %u s\n", "throttled",
	       health->throttle_light_count, health->throttle_light_s, health->throttle_heavy_count,
	       health->throttle_heavy_s);
}

static void print_amount(const char *name, uint64_t units)
{
	char text[32];

	printf("%-18s %s (%" PRIu64 " units of %d bytes)\n", name,
	       cli_round_size(text,
			      units > UINT64_MAX / UNIT_BYTES ? UINT64_MAX : units * UNIT_BYTES),
	       units, UNIT_BYTES);
}

static void print_counters(const struct chario_health *health)
{
	printf("%-18s %u %% (the drive warns below %u %%)\n", "spare", health->spare_percent,
	       health->spare_threshold_percent);
	printf("%-18s %u %%\n", "life used", health->used_percent);
	printf("%-18s %" PRIu64 "\n", "media errors", (uint64_t)health->media_errors);
	printf("%-18s %" PRIu64 "\n", "logged errors", (uint64_t)health->error_log_entries);
	printf("%-18s %" PRIu64 " of %" PRIu64 "\n", "unsafe shutdowns",
	       (uint64_t)health->unsafe_shutdowns, (uint64_t)health->power_cycles);
	printf("%-18s %" PRIu64 " h, busy %" PRIu64 " min\n", "powered on",
	       (uint64_t)health->power_on_hours, (uint64_t)health->busy_minutes);
	print_amount("read", health->data_units_read);
	print_amount("written", health->data_units_written);
	printf("%-18s 0x%02x\n", "critical warning", health->critical_warning);
	printf("%-18s %u\n", "events", health->events);
}

/* Make an object that has the advice on each reason, by the name of the reason. */
static struct json_object *make_reasons(const struct chario_health *health)
{
	struct json_object *object = cli_must(json_object_new_object());

	for (unsigned int i = 0; i < 32; i++) {
		uint32_t reason = health->reasons & 1U << i;
		const char *name = reason ? chario_health_reason_name(reason) : NULL;

		if (name)
			cli_json_text(object, name, chario_health_reason_advice(reason));
	}
	return object;
}

static void print_advice(const struct chario_health *health)
{
	struct json_object *reasons = make_reasons(health);

	json_object_object_foreach(reasons, name, advice)
		printf("%s: %s\n", name, json_object_get_string(advice));
	json_object_put(reasons);
}

static void print_text(const struct chario_device *device, const struct chario_health *health)
{
	cli_print("%-18s %s\n", "disk", chario_device_path(device));
	printf("%-18s %s\n", "health", status_name(health));
	print_temperature(health);
	print_counters(health);
	print_advice(health);
}

static void print_line(const struct chario_health *health)
{
	struct json_object *reasons = make_reasons(health);
	char temperature[16], left[16], used[16];
	const char *separator = "";

	snprintf(left, sizeof(left), "%u %%", health->spare_percent);
	snprintf(used, sizeof(used), "%u %%", health->used_percent);
	printf("%-8s  %6s  spare %-5s  used %-5s  media errors %" PRIu64 "  events %u  ",
	       status_name(health), celsius(temperature, health->temperature_k), left, used,
	       (uint64_t)health->media_errors, health->events);
	json_object_object_foreach(reasons, name, advice)
	{
		(void)advice;
		printf("%s%s", separator, name);
		separator = ",";
	}
	json_object_put(reasons);
	printf("\n");
	fflush(stdout);
}

static void add_celsius(struct json_object *object, const char *name, uint32_t kelvin)
{
	struct json_object *value = NULL;

	if (kelvin)
		value = cli_must(json_object_new_int((int)kelvin - ZERO_C));
	json_object_object_add(object, name, value);
}

static struct json_object *make_json(const struct chario_device *device,
				     const struct chario_health *health)
{
	struct json_object *object = cli_must(json_object_new_object());
	struct json_object *sensors = cli_must(json_object_new_array());

	cli_json_text(object, "path", chario_device_path(device));
	cli_json_text(object, "status", status_name(health));
	json_object_object_add(object, "reasons", make_reasons(health));
	add_celsius(object, "temperature_c", health->temperature_k);
	add_celsius(object, "warning_temperature_c", health->warning_temperature_k);
	add_celsius(object, "critical_temperature_c", health->critical_temperature_k);
	for (size_t i = 0; i < sizeof(health->sensors_k) / sizeof(health->sensors_k[0]); i++)
		if (health->sensors_k[i])
			json_object_array_add(
				sensors,
				cli_must(json_object_new_int((int)health->sensors_k[i] - ZERO_C)));
	json_object_object_add(object, "sensors_c", sensors);
	cli_json_members(object, state_members, health);
	cli_json_members(object, life_members, health);
	return object;
}

/* A controller that is being reset has no answer for a moment. */
static int look(const struct cli *cli, struct chario_health *health, bool line)
{
	int err = chario_health_get(cli->disk, health, sizeof(*health));

	if (err)
		return err;
	if (cli->json && line)
		cli_json_print_line(make_json(cli->disk, health));
	else if (cli->json)
		cli_json_print(make_json(cli->disk, health));
	else if (line)
		print_line(health);
	else
		print_text(cli->disk, health);
	return 0;
}

static int follow(const struct cli *cli, const struct watch *watch, struct chario_health *health)
{
	int err = look(cli, health, true);

	for (uint64_t i = 1; !err && (!watch->count || i < watch->count) && !ferror(stdout); i++) {
		err = chario_health_wait(cli->disk, health->events,
					 (unsigned int)(watch->interval_s * 1000));
		if (err >= 0)
			err = look(cli, health, true);
	}
	return err;
}

int cmd_health(struct cli *cli)
{
	struct watch watch = { 0 };
	const struct cli_value values[] = {
		{ 'w', .flag = &watch.on },
		{ 'i', .seconds = &watch.interval_s },
		{ 'c', .number = &watch.count, .range = CLI_COUNT_RANGE },
		{ 0 },
	};
	struct chario_health health;
	int err;

	if (cli_parse(cli, values))
		return CLI_USAGE;
	if (!watch.on && (watch.count || watch.interval_s > 0))
		return cli_usage(cli, "--interval and --count need --watch");
	if (watch.interval_s <= 0)
		watch.interval_s = USUAL_INTERVAL_S;
	if (!cli_has_operands(cli, 1, 1))
		return CLI_USAGE;
	if (!cli_open_disk(cli))
		return CLI_FAILED;
	err = watch.on ? follow(cli, &watch, &health) : look(cli, &health, false);
	if (err)
		return cli_fail(cli, err, "cannot read the health of \"%s\"", cli->argv[0]);
	return exit_code(&health);
}
