// SPDX-License-Identifier: MIT
/* Sources of a recording in the network: datagrams that arrive here, and connections. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "intake.h"

#define RECEIVE_BYTES (8 << 20)

/**
 * struct place - a place in the network that is being opened
 * @address: address as the user wrote it
 * @source: host that sends to the group; NULL for any host
 */
struct place {
	struct cli_address address;
	struct addrinfo *source;
};

static bool is_multicast(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (address->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(four->sin_addr.s_addr));
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&six->sin6_addr);
}

/* Returns the scope of an address that is meant on one interface only, or NULL. */
static uint32_t *scope_of(struct sockaddr *address)
{
	struct sockaddr_in6 *six = (void *)address;
	const struct in6_addr *in6 = &six->sin6_addr;

	if (address->sa_family != AF_INET6)
		return NULL;
	return IN6_IS_ADDR_LINKLOCAL(in6) || IN6_IS_ADDR_MC_LINKLOCAL(in6) ||
			       IN6_IS_ADDR_MC_NODELOCAL(in6) ?
		       &six->sin6_scope_id :
		       NULL;
}

/* Returns 0, or -EDESTADDRREQ if the address needs an interface and none is named. */
static int set_scope(struct sockaddr *address, unsigned int index)
{
	uint32_t *scope = scope_of(address);

	if (scope && index)
		*scope = index;
	return scope && !*scope ? -EDESTADDRREQ : 0;
}

static int join_group(int fd, const struct place *place, const struct addrinfo *group)
{
	int level = group->ai_family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6;
	const uint32_t *scope = scope_of(group->ai_addr);
	struct group_source_req one = { .gsr_interface = place->address.index };
	struct group_req any = { .gr_interface = place->address.index };

	if (scope)
		one.gsr_interface = any.gr_interface = *scope;
	memcpy(&any.gr_group, group->ai_addr, group->ai_addrlen);
	if (!place->source)
		return setsockopt(fd, level, MCAST_JOIN_GROUP, &any, sizeof(any));
	one.gsr_group = any.gr_group;
	memcpy(&one.gsr_source, place->source->ai_addr, place->source->ai_addrlen);
	return setsockopt(fd, level, MCAST_JOIN_SOURCE_GROUP, &one, sizeof(one));
}

/*
 * Take no datagrams of groups, or of senders to a group, that only other programs of this
 * machine have joined.  Linux gives them to every socket of the port unless it is told not to.
 */
static int ignore_others(int fd, int family)
{
	const int no = 0;

	if (setsockopt(fd, IPPROTO_IP, IP_MULTICAST_ALL, &no, sizeof(no)))
		return -1;
	return family == AF_INET6 ?
		       setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, &no, sizeof(no)) :
		       0;
}

static int bind_udp(int fd, const struct place *place, const struct addrinfo *address)
{
	const int yes = 1;

	if (ignore_others(fd, address->ai_family))
		return -1;
	if (!is_multicast(address->ai_addr))
		return bind(fd, address->ai_addr, address->ai_addrlen);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, address->ai_addr, address->ai_addrlen))
		return -1;
	return join_group(fd, place, address);
}

static int connect_tcp(struct cli_intake *intake, const struct addrinfo *address)
{
	socklen_t size = sizeof(int);
	int err = 0;

	if (!connect(intake->fd, address->ai_addr, address->ai_addrlen))
		return 0;
	if (errno != EINPROGRESS || !cli_intake_wait(intake, intake->fd, POLLOUT))
		return -1;
	if (getsockopt(intake->fd, SOL_SOCKET, SO_ERROR, &err, &size))
		return -1;
	errno = err;
	return err ? -1 : 0;
}

/* Without a host, the first peer that connects is the source. */
static int listen_tcp(struct cli_intake *intake, const struct addrinfo *address)
{
	const int yes = 1;

	setsockopt(intake->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	intake->listens = true;
	return bind(intake->fd, address->ai_addr, address->ai_addrlen) || listen(intake->fd, 1) ?
		       -1 :
		       0;
}

/* Have the socket take from the named interface only, and :: take IPv4 as well. */
static int limit_socket(int fd, const struct place *place, int family)
{
	const char *name = place->address.interface;
	const int no = 0;

	if (*name && setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)))
		return -1;
	if (*place->address.host || family != AF_INET6)
		return 0;
	return setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
}

static int use_socket(struct cli_intake *intake, const struct place *place,
		      const struct addrinfo *address)
{
	if (limit_socket(intake->fd, place, address->ai_family))
		return -1;
	if (intake->datagrams)
		return bind_udp(intake->fd, place, address);
	if (*place->address.host)
		return connect_tcp(intake, address);
	return listen_tcp(intake, address);
}

static int use_address(struct cli_intake *intake, const struct place *place,
		       const struct addrinfo *address)
{
	int err = set_scope(address->ai_addr, place->address.index);

	if (err)
		return err;
	intake->fd =
		socket(address->ai_family, address->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (intake->fd < 0)
		return -errno;
	if (!use_socket(intake, place, address))
		return 0;
	err = -errno;
	close(intake->fd);
	intake->fd = -1;
	return err;
}

static int fail(const struct cli *cli, const struct cli_intake *intake, int err)
{
	static const struct {
		int err;
		const char *meaning;
		const char *advice;
	} texts[] = {
		{ -EDESTADDRREQ, "this address needs an interface",
		  "name it, as in [ff02::5678%eth0]:5000; ip link shows the interfaces" },
		{ -ENODEV, "no interface takes part in the group",
		  "name one, as in 239.1.1.1%eth0:5000; ip link shows the interfaces" },
		{ -EADDRNOTAVAIL, "this machine, or the interface, does not have the address",
		  "ip address shows those that it has" },
		{ -EADDRINUSE, "another program has the port", "ss -lnp shows which" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].err == err)
			return cli_say(cli, "cannot use \"%s\": %s\n%s", intake->name,
				       texts[i].meaning, texts[i].advice);
	return cli_fail_file(cli, err, "use", intake->name);
}

/* Say so where a name has more addresses than the one that datagrams are taken at. */
static void tell_choice(const struct cli *cli, const struct cli_intake *intake,
			const struct place *place, const struct addrinfo *all,
			const struct addrinfo *used)
{
	const struct addrinfo *other = all;
	char host[128];

	while (other && other->ai_addrlen == used->ai_addrlen &&
	       !memcmp(other->ai_addr, used->ai_addr, used->ai_addrlen))
		other = other->ai_next;
	if (!intake->datagrams || !*place->address.host || !other ||
	    getnameinfo(used->ai_addr, used->ai_addrlen, host, sizeof(host), NULL, 0,
			NI_NUMERICHOST))
		return;
	cli_say(cli,
		"\"%s\" has several addresses, and datagrams are taken at %s only\n"
		"give the address that the sender uses, or none for all of this machine",
		place->address.host, host);
}

/* Use the first address that can be used.  Returns 0, or the error of the last one. */
static int use_first(const struct cli *cli, struct cli_intake *intake, const struct place *place,
		     const struct addrinfo *all)
{
	int err = 0;

	for (const struct addrinfo *address = all; address && !intake->ended;
	     address = address->ai_next) {
		err = use_address(intake, place, address);
		if (!err) {
			tell_choice(cli, intake, place, all, address);
			break;
		}
	}
	return err;
}

/* Find the host that may send to a group.  Returns CLI_OK, or an exit code after a message. */
static int find_source(const struct cli *cli, struct place *place, const struct addrinfo *group)
{
	const struct addrinfo hints = { .ai_family = group->ai_family,
					.ai_socktype = group->ai_socktype };

	if (!place->address.source)
		return CLI_OK;
	if (group->ai_socktype != SOCK_DGRAM || !is_multicast(group->ai_addr))
		return cli_usage(cli,
				 "\"%s\" names a source, \"%s\", but no multicast group to take "
				 "from it",
				 place->address.text, place->address.source);
	return cli_address_find(cli, &place->address, place->address.source, &hints,
				&place->source);
}

/*
 * Open the place by its addresses of a family.  Returns CLI_OK and sets @err, or an exit code
 * after a message.
 */
static int open_family(const struct cli *cli, struct cli_intake *intake, struct place *place,
		       int family, int *err)
{
	const struct addrinfo hints = {
		.ai_family = family,
		.ai_socktype = intake->datagrams ? SOCK_DGRAM : SOCK_STREAM,
		.ai_flags = intake->datagrams || !*place->address.host ? AI_PASSIVE : 0,
	};
	struct addrinfo *all;
	int status = cli_address_find(cli, &place->address, place->address.host, &hints, &all);

	if (status)
		return status;
	status = find_source(cli, place, all);
	if (!status)
		*err = use_first(cli, intake, place, all);
	freeaddrinfo(all);
	if (place->source)
		freeaddrinfo(place->source);
	place->source = NULL;
	return status;
}

int cli_open_network(const struct cli *cli, struct cli_intake *intake, const char *text)
{
	struct place place = { 0 };
	int err = 0, status = cli_address_parse(cli, &place.address, text);

	if (status)
		return status;
	/* A socket of :: takes both families; a kernel without IPv6 has none. */
	if (*place.address.host)
		status = open_family(cli, intake, &place, AF_UNSPEC, &err);
	else
		status = open_family(cli, intake, &place, AF_INET6, &err);
	if (!status && !*place.address.host && (err == -EAFNOSUPPORT || err == -EADDRNOTAVAIL))
		status = open_family(cli, intake, &place, AF_INET, &err);
	if (status)
		return status;
	return err && !intake->ended ? fail(cli, intake, err) : CLI_OK;
}

/*
 * Returns whether a socket has a buffer of its own that does not grow by itself: that of a
 * connection grows, above the limit of SO_RCVBUF, and a local socket uses that of its sender.
 */
static bool has_fixed_buffer(int fd)
{
	int domain, kind;
	socklen_t size = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) && domain != AF_UNIX &&
	       kind != SOCK_STREAM;
}

/* Returns the length of the buffer; the kernel doubles the number, for what it needs itself. */
static int buffer_bytes(int fd)
{
	int bytes = 0;
	socklen_t size = sizeof(bytes);

	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &size);
	return bytes / 2;
}

/* A socket that the recorder was given may have a longer buffer already. */
void cli_enlarge_buffer(const struct cli *cli, const struct cli_intake *intake)
{
	const int bytes = RECEIVE_BYTES;
	char is[32], asked[32];
	int granted;

	if (!has_fixed_buffer(intake->fd) || buffer_bytes(intake->fd) >= bytes)
		return;
	if (setsockopt(intake->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(intake->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
	granted = buffer_bytes(intake->fd);
	if (granted >= bytes)
		return;
	cli_say(cli,
		"the socket of \"%s\" has a buffer of %s, not %s, so datagrams may be lost\n"
		"sysctl net.core.rmem_max=%d allows more, and so does the capability CAP_NET_ADMIN",
		intake->name, cli_exact_size(is, (uint64_t)granted),
		cli_exact_size(asked, (uint64_t)bytes), bytes);
}
