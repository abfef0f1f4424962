// SPDX-License-Identifier: MIT
/*
 * chario export: a region or a partition for other machines, by Linux's NVMe target over TCP.
 */
#include <arpa/inet.h>
#include <blkid/blkid.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chario/list.h>

#include "cli.h"
#include "target.h"

#define NQN_OF_UUID "nqn.2014-08.org.nvmexpress:uuid:"

/* Port that NVMe over TCP has been given for discovery and for use alike. */
#define DEFAULT_PORT "4420"

#define MOST_HOSTS 64

/* Length of the longest NVMe qualified name. */
#define NQN_MOST 223

/**
 * struct job - the job of the verb
 * @listener: address to listen at; no address to show what is exported
 * @hosts: names of the hosts that may connect
 * @nr_hosts: number of hosts
 * @stop: true to end an export
 */
struct job {
	struct cli_listener listener;
	char *hosts[MOST_HOSTS];
	int nr_hosts;
	bool stop;
};

/* Split ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT.  Returns false if it is none of these. */
static bool split_listener(const char *text, struct cli_listener *listener)
{
	const char *port = strrchr(text, ':'), *end = text + strlen(text);
	struct in6_addr address;

	listener->is_ipv6 = text[0] == '[' || (port && strchr(text, ':') != port);
	if (text[0] == '[') {
		end = strchr(++text, ']');
		if (!end || (end[1] && end + 1 != port))
			return false;
		port = end[1] ? port : NULL;
	} else if (listener->is_ipv6) {
		port = NULL;
	} else if (port) {
		end = port;
	}
	snprintf(listener->address, sizeof(listener->address), "%.*s", (int)(end - text), text);
	snprintf(listener->port, sizeof(listener->port), "%s", port ? port + 1 : DEFAULT_PORT);
	return inet_pton(listener->is_ipv6 ? AF_INET6 : AF_INET, listener->address, &address) == 1;
}

static bool is_port_number(const char *text)
{
	unsigned long number = strtoul(text, NULL, 10);

	return strspn(text, "0123456789") == strlen(text) && number && number <= 65535;
}

static bool is_multicast(const struct cli_listener *listener)
{
	struct in6_addr six;
	struct in_addr four;

	if (listener->is_ipv6)
		return inet_pton(AF_INET6, listener->address, &six) == 1 &&
		       IN6_IS_ADDR_MULTICAST(&six);
	return inet_pton(AF_INET, listener->address, &four) == 1 &&
	       IN_MULTICAST(ntohl(four.s_addr));
}

/* Parse ADDRESS, ADDRESS:PORT or [ADDRESS]:PORT. */
static int parse_listener(const struct cli *cli, char *text, void *to)
{
	struct cli_listener *listener = to;

	if (!split_listener(text, listener))
		return cli_usage(cli,
				 "\"%s\" is not an address such as 192.0.2.1, 192.0.2.1:4420 or "
				 "[2001:db8::1]:4420",
				 text);
	if (!is_port_number(listener->port))
		return cli_usage(cli, "the port in \"%s\" is not a number from 1 to 65535", text);
	if (is_multicast(listener))
		return cli_usage(cli,
				 "\"%s\" is an address of a group: give one of this machine, which "
				 "ip address shows",
				 text);
	return CLI_OK;
}

static int add_host(const struct cli *cli, char *text, void *to)
{
	struct job *job = to;

	if (strncmp(text, "nqn.", 4) != 0 || strpbrk(text, "/ \t\r\n") || strlen(text) > NQN_MOST)
		return cli_usage(
			cli,
			"\"%s\" is not the NQN of a host, which is nqn. and up to 219 bytes "
			"more, without blanks; there, it is in /etc/nvme/hostnqn",
			text);
	if (job->nr_hosts == MOST_HOSTS)
		return cli_usage(cli, "at most %d hosts", MOST_HOSTS);
	job->hosts[job->nr_hosts++] = text;
	return CLI_OK;
}

/* Name the partition of the block disk that an operand stands for, be it there or not. */
static int name_device(const struct cli *cli, const char *name, struct cli_target *target)
{
	const char *text = strncmp(name, "/dev/", 5) ? name : name + 5;
	unsigned int disk, part;
	char kind[2];
	int used = 0;

	if (sscanf(text, "chardisk%u%1[pb]%u%n", &disk, kind, &part, &used) != 3 || text[used])
		return cli_say(cli,
			       "\"%s\" is no region and no partition of a block disk: chardisk0p1, "
			       "chardisk0b1\nchario region list and lsblk show them",
			       name);
	snprintf(target->device, sizeof(target->device), "/dev/chardisk%ub%u", disk, part);
	return CLI_OK;
}

/* Is the partition one of this disk?  Its block disk may be missing. */
static int match_disk(const struct chario_list_disk *disk, void *data)
{
	const char *device = data;
	size_t length = strlen(disk->path);

	if (strncmp(device, disk->path, length) != 0 || device[length] != 'b')
		return 0;
	return disk->block[0] ? 1 : -ENXIO;
}

/* Find the partition of the block disk that an operand names. */
static int find_device(const struct cli *cli, const char *name, struct cli_target *target)
{
	int ret = name_device(cli, name, target);

	if (ret)
		return ret;
	ret = chario_list_disks(match_disk, target->device);
	if (ret == -ENXIO)
		return cli_say(cli,
			       "the disk of %s has no block disk, which is what can be exported\n"
			       "chario bind --block, or write 1 to block in "
			       "/sys/class/chario/chardiskN",
			       name);
	if (ret < 0)
		return cli_fail(cli, ret, "cannot read the list");
	return ret ? CLI_OK :
		     cli_say(cli, "there is no disk that %s is on; chario list shows them", name);
}

/* Refuse what is mounted here: two machines would write to one file system. */
static int check_free(const struct cli *cli, const struct cli_target *target)
{
	int err = 0, fd = open(target->device, O_RDONLY | O_EXCL | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		err = -errno;
	else
		close(fd);
	if (err == -EBUSY)
		return cli_say(
			cli,
			"%s is in use on this machine: mounted, or its region is open for writing\n"
			"end that first (lsblk and fuser show by whom)",
			target->device);
	return err ? cli_fail_file(cli, err, "open", target->device) : CLI_OK;
}

/*
 * The partition's UUID names the export, so that it is the same after a new start.  Returns
 * whether there is one.
 */
static bool name_target(struct cli_target *target)
{
	blkid_probe probe = blkid_new_probe_from_filename(target->device);
	const char *uuid = NULL;

	if (probe) {
		blkid_probe_enable_partitions(probe, 1);
		blkid_probe_set_partitions_flags(probe, BLKID_PARTS_ENTRY_DETAILS);
		blkid_do_safeprobe(probe);
		blkid_probe_lookup_value(probe, "PART_ENTRY_UUID", &uuid, NULL);
	}
	if (uuid) {
		snprintf(target->uuid, sizeof(target->uuid), "%s", uuid);
		snprintf(target->nqn, sizeof(target->nqn), NQN_OF_UUID "%s", uuid);
		snprintf(target->serial, sizeof(target->serial), "%.8s%.4s", uuid, uuid + 9);
	}
	blkid_free_probe(probe);
	return uuid;
}

static int fail_target(const struct cli *cli, const char *path)
{
	if (errno == EADDRINUSE || errno == EADDRNOTAVAIL)
		return cli_say(cli,
			       "the address cannot be listened at: %s\n"
			       "ip address shows those of this machine, ss -tlnp who listens",
			       strerror(errno));
	return cli_fail_file(cli, -errno, "write", path);
}

static void show(const struct cli_target *target, const struct cli_listener *listener)
{
	bool has_brackets = listener->is_ipv6;

	if (!listener->address[0])
		cli_print(
			"%s  incomplete: its command is running, or was killed and --stop ends it  %s\n",
			target->device, target->nqn);
	else
		cli_print("%s  %s%s%s:%s  %s\n", target->device, has_brackets ? "[" : "",
			  listener->address, has_brackets ? "]" : "", listener->port, target->nqn);
}

static struct json_object *target_object(const struct cli_target *target,
					 const struct cli_listener *listener)
{
	struct json_object *object = cli_must(json_object_new_object());

	cli_json_text(object, "device", target->device);
	cli_json_text(object, "nqn", target->nqn);
	cli_json_text(object, "address", listener->address);
	cli_json_text(object, "port", listener->port);
	return object;
}

static int match_device(const struct cli_target *target, const struct cli_listener *listener,
			void *data)
{
	struct cli_target *wanted = data;

	(void)listener;
	if (strcmp(target->device, wanted->device) != 0)
		return 0;
	*wanted = *target;
	return 1;
}

static int fail_exported(const struct cli *cli)
{
	return cli_say(cli,
		       "it is exported already: chario export shows where, and --stop ends it");
}

/*
 * Write the page cache of this machine and drop it: another machine is going to read and write
 * the device, or has done so.  Returns CLI_OK, or CLI_FAILED after a message.
 */
static int drop_cache(const struct cli *cli, const struct cli_target *target)
{
	int err = 0, fd = open(target->device, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	/* A device that has gone has nothing cached. */
	if (fd < 0)
		return errno == ENOENT || errno == ENXIO || errno == ENODEV ?
			       CLI_OK :
			       cli_fail_file(cli, -errno, "open", target->device);
	if (fsync(fd))
		err = -errno;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return err ? cli_fail_file(cli, err, "write what is cached of", target->device) : CLI_OK;
}

/* Keep other commands from the exports, and remove what those that were killed have left. */
static int lock_targets(const struct cli *cli, bool sweeps)
{
	int err = cli_lock_targets();

	if (err)
		return cli_fail(cli, err, "cannot lock the exports");
	if (sweeps)
		cli_sweep_targets();
	return CLI_OK;
}

static int start(const struct cli *cli, const struct job *job)
{
	struct cli_target target = { 0 };
	const char *failed;

	if (find_device(cli, cli->argv[0], &target))
		return CLI_FAILED;
	if (cli_prepare_target())
		return cli_say(cli, "this kernel has no NVMe target over TCP: modprobe nvmet-tcp "
				    "says why");
	if (lock_targets(cli, true))
		return CLI_FAILED;
	if (cli_each_target(match_device, &target))
		return fail_exported(cli);
	if (check_free(cli, &target))
		return CLI_FAILED;
	if (!name_target(&target))
		return cli_say(cli, "%s has no UUID: it is no partition of a GPT", target.device);
	if (drop_cache(cli, &target))
		return CLI_FAILED;
	failed = cli_start_target(&target, &job->listener, job->hosts, job->nr_hosts);
	if (failed)
		return errno == EEXIST ? fail_exported(cli) : fail_target(cli, failed);
	if (cli->json) {
		cli_json_print(target_object(&target, &job->listener));
		return CLI_OK;
	}
	show(&target, &job->listener);
	if (!job->nr_hosts)
		printf("  nobody may connect: name hosts with --host\n");
	printf("  there: nvme connect -t tcp -a %s -s %s -n %s\n", job->listener.address,
	       job->listener.port, target.nqn);
	printf("  undo: chario export --stop %s\n", cli->argv[0]);
	return CLI_OK;
}

/*
 * Find the export of a device.  One that a command was killed in the middle of is found by
 * its name, and so is one of a disk that had another number.
 */
static bool find_target(struct cli_target *target)
{
	return cli_each_target(match_device, target) ||
	       (name_target(target) && cli_is_target(target->nqn));
}

static int stop(const struct cli *cli)
{
	struct cli_target target = { 0 };
	const char *failed;
	bool is_exported;

	if (name_device(cli, cli->argv[0], &target) || lock_targets(cli, false))
		return CLI_FAILED;
	is_exported = find_target(&target);
	failed = is_exported ? cli_stop_target(target.nqn) : NULL;
	if (failed)
		return fail_target(cli, failed);
	cli_sweep_targets();
	/* A command that was killed may have ended the export, and not dropped the cache. */
	if (drop_cache(cli, &target))
		return CLI_FAILED;
	if (is_exported)
		return CLI_OK;
	return cli_say(cli,
		       "%s is not exported by chario; chario export shows what is, and "
		       "what another tool exports is its own to end",
		       target.device);
}

static int add_object(const struct cli_target *target, const struct cli_listener *listener,
		      void *data)
{
	json_object_array_add(data, target_object(target, listener));
	return 0;
}

static int print_one(const struct cli_target *target, const struct cli_listener *listener,
		     void *data)
{
	(void)data;
	show(target, listener);
	return 0;
}

static int list(const struct cli *cli)
{
	struct json_object *object, *exports;

	if (!cli->json) {
		cli_each_target(print_one, NULL);
		return CLI_OK;
	}
	object = cli_must(json_object_new_object());
	exports = cli_must(json_object_new_array());
	cli_each_target(add_object, exports);
	json_object_object_add(object, "exports", exports);
	cli_json_print(object);
	return CLI_OK;
}

int cmd_export(struct cli *cli)
{
	struct job job = { 0 };
	const struct cli_value values[] = {
		{ 'l', .parse = parse_listener, .to = &job.listener },
		{ 'H', .parse = add_host, .to = &job },
		{ 's', .flag = &job.stop },
		{ 0 },
	};

	if (cli_parse(cli, values) || !cli_has_operands(cli, 0, 1))
		return CLI_USAGE;
	if (!cli->argc)
		return job.stop || job.listener.address[0] || job.nr_hosts ?
			       cli_usage(cli, "say which region or partition") :
			       list(cli);
	if (job.stop && (job.listener.address[0] || job.nr_hosts))
		return cli_usage(cli, "--stop ends an export: --listen and --host are for another");
	if (job.stop)
		return stop(cli);
	if (!job.listener.address[0])
		return cli_usage(cli, "--listen says at which address");
	return start(cli, &job);
}
