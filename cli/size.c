// SPDX-License-Identifier: MIT
/*
 * Sizes: bytes, for people and from people.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char prefixes[] = "kMGTP";

bool cli_parse_size(const char *text, uint64_t *bytes)
{
	const char *prefix;
	unsigned long long number;
	int shift = 0;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno)
		return false;
	if (*end) {
		prefix = strchr(prefixes, *end == 'K' ? 'k' : *end);
		if (!prefix || (end[1] && strcmp(end + 1, "iB")))
			return false;
		shift = 10 * (int)(prefix - prefixes + 1);
	}
	if (number > UINT64_MAX >> shift)
		return false;
	*bytes = (uint64_t)number << shift;
	return true;
}

static char prefix_name(size_t power)
{
	return power == 1 ? 'K' : prefixes[power - 1];
}

const char *cli_exact_size(char text[32], uint64_t bytes)
{
	size_t power = 0;

	while (bytes && !(bytes % 1024) && power < strlen(prefixes)) {
		bytes /= 1024;
		power++;
	}
	if (power)
		snprintf(text, 32, "%llu %ciB", (unsigned long long)bytes, prefix_name(power));
	else
		snprintf(text, 32, "%llu B", (unsigned long long)bytes);
	return text;
}

const char *cli_round_size(char text[32], uint64_t bytes)
{
	double size = (double)bytes;
	size_t power = 0;

	while (size >= 1024 && power < strlen(prefixes)) {
		size /= 1024;
		power++;
	}
	if (power)
		snprintf(text, 32, "%.1f %ciB", size, prefix_name(power));
	else
		snprintf(text, 32, "%llu B", (unsigned long long)bytes);
	return text;
}

const char *cli_count(char text[48], uint64_t number, const char *what)
{
	snprintf(text, 48, "%llu %s%s", (unsigned long long)number, what, number == 1 ? "" : "s");
	return text;
}
