// SPDX-License-Identifier: MIT
/* Linux's NVMe target over TCP, see target.h. */
#include "target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIG "/sys/kernel/config"
#define NVMET  CONFIG "/nvmet"

/* Model number of the subsystems, by which they are told from those of others. */
#define MODEL "CharIO"

/*
 * Numbers of ports that are CharIO's.  Nothing else tells them from those of other tools, which
 * count from 1.
 */
#define PORT_FIRST 17224
#define PORT_LAST  17479

/* The path that a function works on, for messages. */
static char path[512];

static const char *set_path(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

static const char *set_path(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	return path;
}

/* Write a text to the file at @path.  Returns NULL or @path. */
static const char *put(const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t length = (ssize_t)strlen(text);
	bool is_written = fd >= 0 && write(fd, text, (size_t)length) == length;
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return is_written ? NULL : path;
}

/* Read the first line of the file at @path; a file that cannot be read is empty. */
static void get(char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	if (!file || !fgets(text, (int)size, file))
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* Make the folder at @path; one that is there is as good.  Returns NULL or @path. */
static const char *make(void)
{
	return mkdir(path, 0755) && errno != EEXIST ? path : NULL;
}

/* Link @path to @to.  Returns NULL or @path. */
static const char *make_link(const char *to)
{
	return symlink(to, path) && errno != EEXIST ? path : NULL;
}

static int run(const char *const words[])
{
	pid_t child = fork();
	int status;

	if (!child) {
		execvp(words[0], (char *const *)words);
		_exit(127);
	}
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ENOENT;
}

int cli_prepare_target(void)
{
	static const char *const modprobe[] = { "modprobe", "-a",        "-q", "configfs",
						"nvmet",    "nvmet-tcp", NULL };
	int err = run(modprobe);

	if (err)
		return err;
	if (!access(NVMET, F_OK))
		return 0;
	if (mount("none", CONFIG, "configfs", 0, NULL))
		return -errno;
	return access(NVMET, F_OK) ? -errno : 0;
}

/* The name of an entry of a folder that is none of its own two. */
static const char *next_name(DIR *folder)
{
	struct dirent *entry;

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			return entry->d_name;
	return NULL;
}

static bool is_empty(const char *folder_path)
{
	DIR *folder = opendir(folder_path);
	bool is = folder && !next_name(folder);

	if (folder)
		closedir(folder);
	return is;
}

/* Returns whether the port is one of TCP. */
static bool read_listener(struct cli_listener *listener, const char *port)
{
	char word[16];

	set_path(NVMET "/ports/%s/addr_traddr", port);
	get(listener->address, sizeof(listener->address));
	set_path(NVMET "/ports/%s/addr_trsvcid", port);
	get(listener->port, sizeof(listener->port));
	set_path(NVMET "/ports/%s/addr_adrfam", port);
	get(word, sizeof(word));
	listener->is_ipv6 = !strcmp(word, "ipv6");
	set_path(NVMET "/ports/%s/addr_trtype", port);
	get(word, sizeof(word));
	return !strcmp(word, "tcp");
}

/*
 * Find the port that listens there, or the number of a new one.  Returns whether there is
 * one.
 */
static bool find_port(const struct cli_listener *listener, unsigned int *number)
{
	struct cli_listener known;
	DIR *folder = opendir(NVMET "/ports");
	const char *name;
	bool found = false;

	*number = PORT_FIRST;
	while (folder && !found && (name = next_name(folder))) {
		found = read_listener(&known, name) && !strcmp(known.address, listener->address) &&
			!strcmp(known.port, listener->port);
		if (found)
			*number = (unsigned int)strtoul(name, NULL, 10);
	}
	if (folder)
		closedir(folder);
	for (; !found && *number <= PORT_LAST; ++*number)
		if (access(set_path(NVMET "/ports/%u", *number), F_OK))
			break;
	return found;
}

/* Make the port unless it is there; @is_new tells. */
static const char *start_port(const struct cli_listener *listener, unsigned int *number,
			      bool *is_new)
{
	const struct {
		const char *name;
		const char *text;
	} values[] = {
		{ "addr_trtype", "tcp" },
		{ "addr_adrfam", listener->is_ipv6 ? "ipv6" : "ipv4" },
		{ "addr_traddr", listener->address },
		{ "addr_trsvcid", listener->port },
	};
	const char *failed;

	*is_new = !find_port(listener, number);
	if (!*is_new)
		return NULL;
	set_path(NVMET "/ports/%u", *number);
	failed = make();
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !failed; i++) {
		set_path(NVMET "/ports/%u/%s", *number, values[i].name);
		failed = put(values[i].text);
	}
	return failed;
}

/* The model comes first: from then on the subsystem is known as CharIO's if this is killed. */
static const char *start_subsystem(const struct cli_target *target)
{
	const struct {
		const char *name;
		const char *text;
	} values[] = {
		{ "attr_model", MODEL },
		{ "attr_allow_any_host", "0" },
		{ "attr_serial", target->serial },
		{ "namespaces/1", NULL },
		{ "namespaces/1/device_path", target->device },
		{ "namespaces/1/device_uuid", target->uuid },
		{ "namespaces/1/enable", "1" },
	};
	const char *failed = NULL;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]) && !failed; i++) {
		set_path(NVMET "/subsystems/%s/%s", target->nqn, values[i].name);
		failed = values[i].text ? put(values[i].text) : make();
	}
	return failed;
}

static const char *allow(const struct cli_target *target, const char *host)
{
	char to[300];
	const char *failed;

	snprintf(to, sizeof(to), NVMET "/hosts/%s", host);
	set_path("%s", to);
	failed = make();
	if (failed)
		return failed;
	set_path(NVMET "/subsystems/%s/allowed_hosts/%s", target->nqn, host);
	return make_link(to);
}

/*
 * Find where a subsystem can be reached, by TCP if an administrator has added other ports; the
 * listener stays empty if it is nowhere.
 */
static void find_listener(const char *nqn, struct cli_listener *listener)
{
	DIR *folder = opendir(NVMET "/ports");
	const char *name;
	bool found = false;

	*listener = (struct cli_listener){ 0 };
	while (folder && !found && (name = next_name(folder)))
		if (!access(set_path(NVMET "/ports/%s/subsystems/%s", name, nqn), F_OK))
			found = read_listener(listener, name);
	if (folder)
		closedir(folder);
}

/*
 * Returns whether a subsystem has nothing yet: it has just been made by a command that was
 * killed then.  Otherwise errno is EEXIST.
 */
static bool is_blank(const char *nqn)
{
	struct cli_listener listener;
	bool is;

	find_listener(nqn, &listener);
	is = !listener.address[0] && is_empty(set_path(NVMET "/subsystems/%s/namespaces", nqn)) &&
	     is_empty(set_path(NVMET "/subsystems/%s/allowed_hosts", nqn));
	set_path(NVMET "/subsystems/%s", nqn);
	errno = EEXIST;
	return is;
}

const char *cli_start_target(const struct cli_target *target, const struct cli_listener *listener,
			     char *const *hosts, int nr_hosts)
{
	unsigned int port;
	bool is_new = false;
	const char *failed;
	char to[300], where[sizeof(path)];
	int error;

	/* A subsystem that is there is in use, and not changed, unless it has nothing yet. */
	set_path(NVMET "/subsystems/%s", target->nqn);
	if (mkdir(path, 0755) && (errno != EEXIST || !is_blank(target->nqn)))
		return path;
	failed = start_subsystem(target);
	for (int i = 0; i < nr_hosts && !failed; i++)
		failed = allow(target, hosts[i]);
	if (!failed)
		failed = start_port(listener, &port, &is_new);
	if (!failed) {
		snprintf(to, sizeof(to), NVMET "/subsystems/%s", target->nqn);
		set_path(NVMET "/ports/%u/subsystems/%s", port, target->nqn);
		failed = make_link(to);
	}
	if (!failed)
		return NULL;
	error = errno;
	memcpy(where, path, sizeof(where));
	cli_stop_target(target->nqn);
	if (is_new)
		rmdir(set_path(NVMET "/ports/%u", port));
	memcpy(path, where, sizeof(where));
	errno = error;
	return path;
}

static bool is_own_port(const char *name)
{
	unsigned long number = strtoul(name, NULL, 10);

	return number >= PORT_FIRST && number <= PORT_LAST;
}

/* Take a subsystem from the ports; a port of CharIO's that has no other one goes. */
static void leave_ports(const char *nqn)
{
	DIR *folder = opendir(NVMET "/ports");
	const char *name;

	while (folder && (name = next_name(folder))) {
		if (unlink(set_path(NVMET "/ports/%s/subsystems/%s", name, nqn)))
			continue;
		if (is_own_port(name) && is_empty(set_path(NVMET "/ports/%s/subsystems", name)))
			rmdir(set_path(NVMET "/ports/%s", name));
	}
	if (folder)
		closedir(folder);
}

/* Forget a host, unless somebody has given it a key; one that others use stays by itself. */
static void forget_host(const char *host)
{
	char key[8];

	set_path(NVMET "/hosts/%s/dhchap_key", host);
	get(key, sizeof(key));
	if (!key[0])
		rmdir(set_path(NVMET "/hosts/%s", host));
}

static void leave_hosts(const char *nqn)
{
	char allowed[300];
	const char *name;
	DIR *folder;

	snprintf(allowed, sizeof(allowed), NVMET "/subsystems/%s/allowed_hosts", nqn);
	folder = opendir(allowed);
	while (folder && (name = next_name(folder))) {
		unlink(set_path("%s/%s", allowed, name));
		forget_host(name);
	}
	if (folder)
		closedir(folder);
}

const char *cli_stop_target(const char *nqn)
{
	leave_ports(nqn);
	leave_hosts(nqn);
	set_path(NVMET "/subsystems/%s/namespaces/1", nqn);
	if (rmdir(path) && errno != ENOENT)
		return path;
	set_path(NVMET "/subsystems/%s", nqn);
	return rmdir(path) && errno != ENOENT ? path : NULL;
}

static bool read_target(const char *nqn, struct cli_target *target)
{
	char model[48];

	*target = (struct cli_target){ 0 };
	snprintf(target->nqn, sizeof(target->nqn), "%s", nqn);
	set_path(NVMET "/subsystems/%s/attr_model", nqn);
	get(model, sizeof(model));
	set_path(NVMET "/subsystems/%s/namespaces/1/device_path", nqn);
	get(target->device, sizeof(target->device));
	set_path(NVMET "/subsystems/%s/namespaces/1/device_uuid", nqn);
	get(target->uuid, sizeof(target->uuid));
	return !strcmp(model, MODEL);
}

int cli_each_target(cli_target_visit *visit, void *data)
{
	struct cli_listener listener;
	struct cli_target target;
	DIR *folder = opendir(NVMET "/subsystems");
	const char *name;
	int ret = 0;

	while (folder && !ret && (name = next_name(folder))) {
		if (!read_target(name, &target))
			continue;
		find_listener(name, &listener);
		ret = visit(&target, &listener, data);
	}
	if (folder)
		closedir(folder);
	return ret;
}

bool cli_is_target(const char *nqn)
{
	struct cli_target target;

	if (access(set_path(NVMET "/subsystems/%s", nqn), F_OK))
		return false;
	return read_target(nqn, &target) || is_blank(nqn);
}

/* The lock lasts as long as the process, however it ends. */
int cli_lock_targets(void)
{
	int fd = open(NVMET, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return flock(fd, LOCK_EX) ? -errno : 0;
}

/* Find an export that has no port, which is left of a command that was killed. */
static int find_left(const struct cli_target *target, const struct cli_listener *listener,
		     void *data)
{
	if (!listener->address[0])
		*(struct cli_target *)data = *target;
	return !listener->address[0];
}

void cli_sweep_targets(void)
{
	struct cli_target target;
	const char *name;
	DIR *folder;

	while (cli_each_target(find_left, &target))
		if (cli_stop_target(target.nqn))
			break;
	folder = opendir(NVMET "/ports");
	while (folder && (name = next_name(folder)))
		if (is_own_port(name) && is_empty(set_path(NVMET "/ports/%s/subsystems", name)))
			rmdir(set_path(NVMET "/ports/%s", name));
	if (folder)
		closedir(folder);
}
