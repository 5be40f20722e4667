/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/progress.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "lib/clock.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { SILENT_MS = 2000, EVERY_MS = 100, BAR = 24, COLUMNS = 80 };

struct progress
progress_begin(const char *what, int64_t total)
{
	return (struct progress){ .what = what,
		.total = total,
		.begin_ms = clock_mono_ms(),
		.first = -1,
		.left_s = -1,
		.terminal = isatty(STDERR_FILENO) };
}

struct progress
progress_begin_bytes(const char *what, int64_t total)
{
	struct progress p = progress_begin(what, total);

	p.bytes = true;
	return p;
}

static char *
amount(struct arena *a, const struct progress *p, double n)
{
	return p->bytes ? human_bytes(a, n) : arena_printf(a, "%.0f", n);
}

static char *
bar(struct arena *a, double part)
{
	char text[BAR + 1];
	int full = (int)(part * BAR);

	for (int i = 0; i < BAR; i++)
		text[i] = i < full ? '#' : '.';
	text[BAR] = '\0';
	return arena_strdup(a, text);
}

static char *
line(struct arena *a, const struct progress *p, int64_t done, double seconds)
{
	double rate = (double)(done - p->first) / seconds, part;
	char *speed = arena_printf(a, "%s/s", amount(a, p, rate));
	int64_t left_s;

	if (p->total <= 0)
		return arena_printf(
		    a, "%s: %s, %s", p->what, amount(a, p, (double)done), speed);
	left_s = p->left_s >= 0 ? p->left_s :
	         rate > 0       ? (int64_t)((double)(p->total - done) / rate) :
	                          -1;
	part = done >= p->total ? 1 : (double)done / (double)p->total;
	return arena_printf(a, "%s: [%s] %3.0f %% of %s, %s%s%s", p->what, bar(a, part),
	    part * 100, amount(a, p, (double)p->total), speed,
	    left_s >= 0 ? ", left " : "", left_s >= 0 ? human_span(a, left_s) : "");
}

/* Replaces the line on the terminal; it is cut so that it never wraps. */
static void
show(struct progress *p, const char *text)
{
	struct winsize size = { 0 };
	int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ?
	                  size.ws_col - 1 :
	                  COLUMNS - 1;

	fprintf(stderr, "\r%.*s\033[K", columns, text);
	fflush(stderr);
	p->width = columns;
}

void
progress_set(struct progress *p, int64_t done)
{
	int64_t now = clock_mono_ms();
	struct arena a = { 0 };

	if (p->first < 0)
		p->first = done;
	if (!p->terminal || now - p->begin_ms < SILENT_MS ||
	    now - p->shown_ms < EVERY_MS)
		return;
	p->shown_ms = now;
	show(p, line(&a, p, done, (double)(now - p->begin_ms) / 1000));
	arena_free(&a);
}

void
progress_end(struct progress *p)
{
	if (p->width == 0)
		return;
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
	p->width = 0;
}
