// SPDX-License-Identifier: MIT
/*
 * chario: look at character disks, bind drives, plan calls, keep areas in a store.
 */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <chario/device.h>
#include <chario/error.h>
#include <chario/probe.h>
#include <chario/store.h>

#include "cli.h"
#include "interrupt.h"

static int print_version(void)
{
	struct chario_probe probe;
	int err = chario_probe(&probe, sizeof(probe));

	if (err) {
		fprintf(stderr, "chario: cannot look for the module: %s\n",
			chario_error_meaning(err));
		return CLI_FAILED;
	}
	printf("chario %s, ABI %u\n", probe.library_version, probe.library_abi_version);
	if (probe.module_loaded)
		printf("module %s, %u disks\n", probe.module_version, probe.nr_disks);
	else
		printf("module not loaded\n");
	return CLI_OK;
}

static int refuse_operands(void)
{
	fprintf(stderr, "chario: nothing goes behind --version\nsee chario help\n");
	return CLI_USAGE;
}

/*
 * Keep closed standard descriptors occupied.  A newly opened file gets the lowest free
 * descriptor: it would be the store, and the next message would overwrite its header.  So
 * the descriptor is taken by a file that gives the same error as a closed one.
 */
static void keep_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			exit(CLI_FAILED);
}

/*
 * Ignore SIGXFSZ with a handler.  A write beyond the limit of the length of files (ulimit
 * -f) then fails with EFBIG, which is reported; the signal would end the program without a
 * message.  Programs started from here have the default again.
 */
static void pass_over(int number)
{
	(void)number;
}

/*
 * Output that did not reach its reader must not pass for success; an earlier failure has
 * been reported.
 */
static int flush(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	if (status != CLI_FAILED && status != CLI_USAGE)
		perror("chario: cannot write the output");
	return status ? status : CLI_FAILED;
}

static bool wants_help(const struct cli *cli)
{
	for (int i = 1; i < cli->argc && strcmp(cli->argv[i], "--"); i++)
		if (!strcmp(cli->argv[i], "--help") || !strcmp(cli->argv[i], "-h"))
			return true;
	return false;
}

/* Report once that the program waits, which may take a minute, and end it on an interrupt. */
static int say_wait(uint64_t patience_ns, void *data)
{
	static bool is_said;

	if (!is_said)
		cli_say(data,
			"writes of a process that has died may still be on their way to the disk, or "
			"one that changes the store stands still\nwaiting for that, up to %.0f s",
			(double)patience_ns / 1e9);
	is_said = true;
	return cli_interrupted();
}

int main(int argc, char **argv)
{
	struct cli cli = { .argc = argc - 1, .argv = argv + 1 };
	const char *name = argc > 1 ? argv[1] : NULL;
	int status;

	keep_standard_files();
	cli_catch(SIGXFSZ, pass_over, SA_RESTART);
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (name && !strcmp(name, "--version"))
		return flush(argc > 2 ? refuse_operands() : print_version());
	if (name && (!strcmp(name, "--help") || !strcmp(name, "-h")))
		name = "help";
	if (!name) {
		cli_print_help(NULL);
		flush(CLI_OK);
		return CLI_USAGE;
	}
	cli.command = cli_find_command(name);
	if (!cli.command)
		return CLI_USAGE;
	if (wants_help(&cli)) {
		cli_print_help(cli.command);
		return flush(CLI_OK);
	}
	chario_store_on_wait(say_wait, &cli);
	status = cli.command->run(&cli);
	chario_store_close(cli.store);
	chario_device_close(cli.disk);
	return flush(status);
}
