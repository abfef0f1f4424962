// SPDX-License-Identifier: MIT
/* The progress of long work, on a line of the terminal at stderr. */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

#define WAIT_NS   NS_PER_S
#define REDRAW_NS (NS_PER_S / 10)

uint64_t cli_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void cli_sleep_until(uint64_t time_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(time_ns / NS_PER_S),
		.tv_nsec = (long)(time_ns % NS_PER_S),
	};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static bool drawn;

/* A line that is too long for the terminal is cut off, and does not continue on a new line. */
void cli_progress_line(const char *format, ...)
{
	va_list args;

	fputs("\r\033[?7l", stderr);
	va_start(args, format);
	cli_print_error_list(format, args);
	va_end(args);
	fputs("\033[K\033[?7h", stderr);
	fflush(stderr);
	drawn = true;
}

void cli_progress_clear(void)
{
	if (drawn)
		fputs("\r\033[K", stderr);
	drawn = false;
}

void cli_progress_begin(struct cli_progress *progress, const char *what, uint64_t done_bytes,
			uint64_t total_bytes, bool quiet)
{
	*progress = (struct cli_progress){
		.what = what,
		.total_bytes = total_bytes,
		.first_bytes = done_bytes,
		.begin_ns = cli_now_ns(),
		.silent = quiet || !isatty(STDERR_FILENO),
	};
}

static void describe_time(char text[32], uint64_t seconds)
{
	unsigned int hours = (unsigned int)(seconds / 3600);
	unsigned int minutes = (unsigned int)(seconds / 60 % 60);

	if (hours)
		snprintf(text, 32, "%u:%02u:%02u", hours, minutes, (unsigned int)(seconds % 60));
	else
		snprintf(text, 32, "%u:%02u", minutes, (unsigned int)(seconds % 60));
}

static unsigned int percent_of(uint64_t done_bytes, uint64_t total_bytes)
{
	if (done_bytes >= total_bytes)
		return 100;
	return (unsigned int)((double)done_bytes / (double)total_bytes * 100);
}

/* Make a text such as "1.2 GiB of 3.0 GiB, 800.0 MiB/s, 0:03 left". */
static void describe(const struct cli_progress *progress, uint64_t done_bytes, char *text,
		     size_t size)
{
	double seconds = (double)(progress->shown_ns - progress->begin_ns) / (double)NS_PER_S;
	double rate = (double)(done_bytes - progress->first_bytes) / seconds;
	char done[32], total[32], speed[32], left[32];

	cli_round_size(done, done_bytes);
	cli_round_size(total, progress->total_bytes);
	cli_round_size(speed, (uint64_t)rate);
	if (rate >= 1 && progress->total_bytes >= done_bytes)
		describe_time(left,
			      (uint64_t)((double)(progress->total_bytes - done_bytes) / rate));
	else
		snprintf(left, sizeof(left), "-:--");
	snprintf(text, size, "%s of %s, %s/s, %s left", done, total, speed, left);
}

static void draw(const struct cli_progress *progress, uint64_t done_bytes)
{
	static const char bar[] = "##############################";
	unsigned int percent = percent_of(done_bytes, progress->total_bytes);
	char text[160];

	describe(progress, done_bytes, text, sizeof(text));
	cli_progress_line("[%-30.*s] %3u %%  %s  %s", (int)(percent * (sizeof(bar) - 1) / 100), bar,
			  percent, text, progress->what);
}

void cli_progress_update(struct cli_progress *progress, uint64_t done_bytes)
{
	uint64_t now_ns;

	if (progress->silent)
		return;
	now_ns = cli_now_ns();
	if (now_ns - progress->begin_ns < WAIT_NS || now_ns - progress->shown_ns < REDRAW_NS)
		return;
	progress->shown_ns = now_ns;
	draw(progress, done_bytes);
}

void cli_progress_end(struct cli_progress *progress)
{
	cli_progress_clear();
	progress->shown_ns = 0;
	progress->silent = true;
}
