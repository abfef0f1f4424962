// SPDX-License-Identifier: MIT
/*
 * How far long work is, on a line of the terminal that stderr is.
 */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

#define NS_PER_S  1000000000ULL
#define WAIT_NS   NS_PER_S
#define REDRAW_NS (NS_PER_S / 10)

#define USUAL_COLUMNS 80
#define WIDEST_BAR    50

uint64_t cli_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
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

static int columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return USUAL_COLUMNS;
	return size.ws_col;
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

/* "1.2 GiB of 3.0 GiB, 800.0 MiB/s, 0:03 left" */
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

static void draw_bar(int width, unsigned int percent)
{
	if (width < 5)
		return;
	if (width > WIDEST_BAR)
		width = WIDEST_BAR;
	fputc('[', stderr);
	for (int i = 0; i < width; i++)
		fputc((unsigned int)(100 * i) < percent * (unsigned int)width ? '#' : ' ', stderr);
	fputs("] ", stderr);
}

static void draw(const struct cli_progress *progress, uint64_t done_bytes)
{
	double share = progress->total_bytes ? (double)done_bytes / (double)progress->total_bytes :
					       1;
	unsigned int percent = share < 1 ? (unsigned int)(share * 100) : 100;
	char text[160];
	int room;

	describe(progress, done_bytes, text, sizeof(text));
	room = columns() - (int)(strlen(progress->what) + strlen(text)) - 12;
	fprintf(stderr, "\r%s ", progress->what);
	draw_bar(room, percent);
	fprintf(stderr, "%3u %%  %s\033[K", percent, text);
	fflush(stderr);
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
	if (progress->shown_ns)
		fputs("\r\033[K", stderr);
	progress->shown_ns = 0;
	progress->silent = true;
}
