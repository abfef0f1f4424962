// SPDX-License-Identifier: MIT
/* The source of a put. */
#include "source.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "intake.h"

/* FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/ */
#define HASH_BASIS 0xcbf29ce484222325ULL
#define HASH_PRIME 0x100000001b3ULL

static uint64_t hash(uint64_t state, uint64_t number)
{
	for (int i = 0; i < 8; i++) {
		state ^= number >> 8 * i & 0xff;
		state *= HASH_PRIME;
	}
	return state;
}

/* The device number is left out, because it may change at a restart. */
static uint64_t tag_of(const struct stat *status, uint64_t bytes)
{
	uint64_t tag = hash(HASH_BASIS, bytes);

	tag = hash(tag, status->st_ino);
	tag = hash(tag, (uint64_t)status->st_mtim.tv_sec);
	tag = hash(tag, (uint64_t)status->st_mtim.tv_nsec);
	return tag ? tag : 1;
}

/*
 * Returns the number of bytes from the present position on, or -1 if that is not known.  The
 * position stays, because other programs may have the same file as standard input.
 */
static off_t length_of(const struct cli_source *source)
{
	off_t end;

	if (source->position < 0)
		return -1;
	end = lseek(source->fd, 0, SEEK_END);
	if (lseek(source->fd, source->position, SEEK_SET) != source->position)
		return -1;
	return end < source->position ? 0 : end - source->position;
}

static int measure_file(const struct cli *cli, struct cli_source *source, uint64_t size,
			uint64_t bytes)
{
	char count[48];

	if (bytes > size)
		return cli_say(cli, "\"%s\" has %s, fewer than --bytes says", source->name,
			       cli_count(count, size, "byte"));
	source->bytes = bytes ? bytes : size;
	source->is_seekable = !source->position;
	/* Nothing of the node of a disk tells whether its content is the same. */
	if (source->is_seekable && S_ISREG(source->begin.st_mode))
		source->tag = tag_of(&source->begin, source->bytes);
	return CLI_OK;
}

/* Files of /proc report a length of 0, but have content. */
static bool is_empty(const struct cli_source *source)
{
	char byte;

	return S_ISREG(source->begin.st_mode) && !pread(source->fd, &byte, 1, source->position);
}

/* Returns whether the source keeps the boundaries of messages, of which a copy loses a part. */
static bool gives_datagrams(const struct cli_source *source)
{
	int type = SOCK_STREAM;
	socklen_t length = sizeof(type);

	return !getsockopt(source->fd, SOL_SOCKET, SO_TYPE, &type, &length) && type != SOCK_STREAM;
}

/* Refuse what gives no stream of bytes. */
static int check_kind(const struct cli *cli, const struct cli_source *source)
{
	const char *name = source->name;
	char byte;

	if (S_ISDIR(source->begin.st_mode))
		return cli_say(cli, "\"%s\" is a directory; tar -c makes one file of it", name);
	if (cli_is_listening(source->fd))
		return cli_say(cli,
			       "\"%s\" is a socket that listens\n"
			       "chario record takes what the first connection to it gives",
			       name);
	if (gives_datagrams(source))
		return cli_say(cli, "\"%s\" gives datagrams; chario record makes records of them",
			       name);
	if (cli_is_unconnected(source->fd))
		return cli_say(cli,
			       "\"%s\" is a socket without a connection\n"
			       "connect it before chario gets it",
			       name);
	/* A read of nothing tells whether the descriptor is one for reading. */
	if (read(source->fd, &byte, 0) && errno == EBADF)
		return cli_fail_file(cli, -EBADF, "read", name);
	return CLI_OK;
}

static int measure(const struct cli *cli, struct cli_source *source, uint64_t bytes)
{
	off_t size;
	int status;

	source->position = lseek(source->fd, 0, SEEK_CUR);
	size = length_of(source);
	if (fstat(source->fd, &source->begin))
		return cli_fail(cli, -errno, "cannot look at \"%s\"", source->name);
	status = check_kind(cli, source);
	if (status)
		return status;
	/* Devices such as /dev/zero have no end. */
	if (size > 0 || is_empty(source))
		return measure_file(cli, source, (uint64_t)size, bytes);
	if (!bytes)
		return cli_usage(cli, "the length of \"%s\" is not known: give --bytes SIZE",
				 source->name);
	source->bytes = bytes;
	return CLI_OK;
}

static int fail_open(const struct cli *cli, const char *file, int err)
{
	bool is_address = !strncmp(file, "unix:", 5) || !strncmp(file, "udp:", 4) ||
			  !strncmp(file, "tcp:", 4);

	if (err == -ENXIO || (err == -ENOENT && is_address))
		return cli_say(cli,
			       "\"%s\" is no file that can be read\n"
			       "chario record takes data from sockets; put takes a file, or - for "
			       "standard input",
			       file);
	return cli_fail_file(cli, err, "open", file);
}

int cli_source_open(const struct cli *cli, struct cli_source *source, const char *file,
		    uint64_t bytes)
{
	bool standard = !strcmp(file, "-");
	int status;

	if (!standard && cli_check_path(cli, file))
		return CLI_FAILED;
	*source = (struct cli_source){
		.name = standard ? "standard input" : file,
		.fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY),
	};
	if (source->fd < 0)
		return fail_open(cli, file, -errno);
	status = measure(cli, source, bytes);
	if (status)
		cli_source_close(source);
	else
		posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return status;
}

void cli_source_pass(const struct cli_source *source)
{
	if (source->is_seekable)
		lseek(source->fd, (off_t)source->bytes, SEEK_SET);
}

void cli_source_close(struct cli_source *source)
{
	if (source->fd > STDIN_FILENO)
		close(source->fd);
	source->fd = -1;
}

bool cli_source_changed(const struct cli_source *source)
{
	const struct stat *was = &source->begin;
	struct stat is;

	if (!source->tag)
		return false;
	return fstat(source->fd, &is) || is.st_size != was->st_size ||
	       is.st_mtim.tv_sec != was->st_mtim.tv_sec ||
	       is.st_mtim.tv_nsec != was->st_mtim.tv_nsec;
}
