/* SPDX-License-Identifier: MIT */
/*
 * An address of the network as a user writes it: [SOURCE@]HOST[%INTERFACE]:PORT, with
 * brackets around an IPv6 address: [fe80::1%eth0]:5000.
 */
#ifndef CHARIO_CLI_ADDRESS_H
#define CHARIO_CLI_ADDRESS_H

#include <net/if.h>
#include <netdb.h>

#include "cli.h"

/**
 * struct cli_address - an address
 * @text: the address as given, for messages
 * @words: memory of @source, @host and @port
 * @source: host that sends to a group; NULL for any host
 * @host: name or number of a host, or of a group; "" for all addresses of this machine
 * @port: number or name of a port
 * @interface: name of an interface; "" if none is named
 * @index: number of the interface; 0 if none is named
 */
struct cli_address {
	const char *text;
	char words[300];
	const char *source;
	const char *host;
	const char *port;
	char interface[IF_NAMESIZE];
	unsigned int index;
};

/* Parse an address.  Returns CLI_OK, or an exit code after a message. */
int cli_address_parse(const struct cli *cli, struct cli_address *address, const char *text);

/*
 * Find the addresses of a host, which is the host or the source of @address, with the flags,
 * the family and the type of @hints.  Returns CLI_OK, or an exit code after a message; the
 * caller frees @found by freeaddrinfo().
 */
int cli_address_find(const struct cli *cli, const struct cli_address *address, const char *host,
		     const struct addrinfo *hints, struct addrinfo **found);

#endif /* CHARIO_CLI_ADDRESS_H */
