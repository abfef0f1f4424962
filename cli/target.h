/* SPDX-License-Identifier: MIT */
/*
 * Linux's NVMe target over TCP, by its files in configfs: what is exported, where, and to whom.
 */
#ifndef CHARIO_CLI_TARGET_H
#define CHARIO_CLI_TARGET_H

#include <stdbool.h>

/* Room for an NVMe qualified name, which has up to 223 bytes, or for any name in a folder. */
#define CLI_NQN_BYTES 256

/**
 * struct cli_target - a block device that is exported
 * @nqn: NVMe qualified name of the subsystem
 * @device: path of the block device
 * @uuid: UUID that the namespace has
 * @serial: serial number that the subsystem has, up to 20 characters
 */
struct cli_target {
	char nqn[CLI_NQN_BYTES];
	char device[64];
	char uuid[40];
	char serial[24];
};

/**
 * struct cli_listener - the place where the target listens
 * @address: IPv4 or IPv6 address
 * @port: TCP port
 * @is_ipv6: true for IPv6
 */
struct cli_listener {
	char address[64];
	char port[8];
	bool is_ipv6;
};

/*
 * Functions that change something return NULL, or the path in configfs that could not be
 * written or made; errno(3) tells why.  What a start that fails has made is removed.
 */

/* Load the modules and find configfs.  Returns 0, or a negative errno if there is no target. */
int cli_prepare_target(void);

/*
 * Keep other commands from changing exports until this process ends.  Returns 0, also where
 * no target is there, or a negative errno.
 */
int cli_lock_targets(void);

/* Remove what commands that were killed have left.  The caller has the lock. */
void cli_sweep_targets(void);

/* Returns whether a subsystem of this name is CharIO's, or one that has nothing yet. */
bool cli_is_target(const char *nqn);

const char *cli_start_target(const struct cli_target *target, const struct cli_listener *listener,
			     char *const *hosts, int nr_hosts);
const char *cli_stop_target(const char *nqn);

/*
 * Visit what CharIO has exported; what a command that was killed has left has an empty
 * listener, and may have no device.  Returns 0, or what @visit returned when that was not 0.
 */
typedef int cli_target_visit(const struct cli_target *target, const struct cli_listener *listener,
			     void *data);
int cli_each_target(cli_target_visit *visit, void *data);

#endif /* CHARIO_CLI_TARGET_H */
