// SPDX-License-Identifier: MIT
/* An address of the network as a user writes it. */
#include "address.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail_form(const struct cli *cli, const char *text)
{
	return cli_usage(cli,
			 "\"%s\" is not HOST:PORT; an IPv6 address stands in brackets, as in "
			 "[::1]:5000",
			 text);
}

/* End a word at the first of these bytes.  Returns the text behind it, or NULL. */
static char *cut(char *text, char byte)
{
	char *at = strchr(text, byte);

	if (at)
		*at++ = '\0';
	return at;
}

/*
 * Split "[HOST%INTERFACE]", "[HOST]%INTERFACE" or "HOST%INTERFACE".  Returns the host, or
 * NULL if the brackets are wrong.
 */
static char *split_host(char *text, char **interface)
{
	char *end = strchr(text, ']');

	if ((text[0] == '[') != (end != NULL))
		return NULL;
	*interface = NULL;
	if (end) {
		*end++ = '\0';
		text++;
		*interface = cut(end, '%');
		if (*end)
			return NULL;
	}
	if (!*interface)
		*interface = cut(text, '%');
	return text;
}

/* Returns the host of "[HOST]" or "HOST", or NULL if the brackets are wrong. */
static char *open_brackets(char *text)
{
	char *end = strchr(text, ']');

	if ((text[0] == '[') != (end != NULL) || (end && (end[1] || end == text + 1)))
		return NULL;
	if (end)
		*end = '\0';
	return end ? text + 1 : text;
}

/*
 * Check a port: getaddrinfo() would take the lower 16 bits of a larger number, which is
 * another port; and for 0 the kernel would choose a port that no peer knows.
 */
static bool is_port(const char *text)
{
	if (text[strspn(text, "0123456789")])
		return true;
	return strlen(text) <= 5 && atoi(text) > 0 && atoi(text) <= UINT16_MAX;
}

/* An interface has a name, or a number such as the scopes of IPv6 may have. */
static int find_interface(const struct cli *cli, struct cli_address *address, const char *name)
{
	char *end;

	if (!name)
		return CLI_OK;
	address->index = if_nametoindex(name);
	if (!address->index && strtoul(name, &end, 10) <= UINT32_MAX && !*end)
		address->index = (unsigned int)strtoul(name, NULL, 10);
	if (address->index && if_indextoname(address->index, address->interface))
		return CLI_OK;
	return cli_say(cli, "there is no interface \"%s\"; ip link shows them", name);
}

int cli_address_parse(const struct cli *cli, struct cli_address *address, const char *text)
{
	char *words = address->words, *host, *port, *interface;

	*address = (struct cli_address){ .text = text };
	if (!strncmp(text, "//", 2))
		return cli_usage(
			cli,
			"\"%s\" is not HOST:PORT: a source is no URL, and has no slashes, as in "
			"udp:127.0.0.1:5000",
			text);
	if ((size_t)snprintf(words, sizeof(address->words), "%s", text) >= sizeof(address->words))
		return fail_form(cli, text);
	host = cut(words, '@');
	if (host && *words && !(address->source = open_brackets(words)))
		return fail_form(cli, text);
	if (!host)
		host = words;
	port = strrchr(host, ':');
	if (!port || strchr(port, ']'))
		return fail_form(cli, text);
	*port++ = '\0';
	address->port = port;
	address->host = split_host(host, &interface);
	if (!address->host || !*port)
		return fail_form(cli, text);
	if (!is_port(port))
		return cli_usage(cli, "\"%s\" is not a port from 1 to 65535", port);
	return find_interface(cli, address, interface);
}

int cli_address_find(const struct cli *cli, const struct cli_address *address, const char *host,
		     const struct addrinfo *hints, struct addrinfo **found)
{
	int ret = getaddrinfo(*host ? host : NULL, address->port, hints, found);

	if (!ret)
		return CLI_OK;
	if (ret == EAI_SERVICE)
		return cli_usage(cli,
				 "\"%s\" is not a port from 1 to 65535, and no name of one "
				 "(/etc/services)",
				 address->port);
	return cli_say(cli, "cannot find \"%s\": %s", host,
		       ret == EAI_SYSTEM ? strerror(errno) : gai_strerror(ret));
}
