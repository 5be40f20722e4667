/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/terminal.h"
#include "lib/text.h"
#include "lib/human.h"
#include "lib/banned.h"

enum { TABLE_ROWS = 100 };

struct pager pager_begin(
    struct cmd_ctx *x, const struct print_column *columns, int64_t limit)
{
	bool few = limit == 0 && x->format == FORMAT_TABLE;

	return (struct pager){ .x = x,
		.list = print_list(x, columns),
		.before = INT64_MAX,
		.left = few        ? TABLE_ROWS :
		        limit == 0 ? INT64_MAX :
		                     limit };
}

int64_t pager_wants(struct pager *p)
{
	arena_reset(&p->page);
	if (p->over)
		return 0;
	/* One more than may be printed tells whether there are more. */
	return p->left < PAGE_ROWS ? p->left + 1 : PAGE_ROWS;
}

bool pager_takes(struct pager *p, int64_t id)
{
	p->before = id;
	if (p->left == 0) {
		p->cut = true;
		return false;
	}
	p->left--;
	p->printed++;
	return true;
}

void pager_page(struct pager *p, int64_t wanted, size_t n)
{
	p->over = (int64_t)n < wanted || p->cut;
}

enum err pager_end(struct pager *p, enum err e, const char *what)
{
	print_end(p->list);
	arena_free(&p->page);
	if (e != OK)
		return e;
	if (p->printed == 0)
		return ctx_not_found(p->x, "there is no such %s", what);
	if (p->cut && p->x->format == FORMAT_TABLE)
		fprintf(stderr,
		    "only the newest %zu are shown; --limit NUMBER shows more\n",
		    p->printed);
	return OK;
}

enum err confirm(struct cmd_ctx *x, bool yes, const char *fmt, ...)
{
	char question[400], answer[16];
	va_list ap;

	if (yes)
		return OK;
	va_start(ap, fmt);
	vsnprintf(question, sizeof(question), fmt, ap);
	va_end(ap);
	text_make_printable(question);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ctx_usage(x, "this would %s; add --yes to do it", question);
	fflush(stdout);
	fprintf(stderr, "locus: %s? [y/N] ", question);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return OK;
	x->status = EXIT_DECLINED;
	return FAIL(x->f, E_BADREQ, "nothing was changed");
}

enum { BUSY = 10 }; /* at most a tenth of the time is spent on looking */

struct screen {
	FILE *terminal; /* NULL: standard output is none */
	int signals;    /* becomes readable when it is time to end */
};

static struct screen screen_begin(void)
{
	struct screen s = { 0 };
	sigset_t ends;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	s.signals = signalfd(-1, &ends, SFD_CLOEXEC);
	/* A stream of its own, as the guarded one passes no such sequences. */
	if (isatty(STDOUT_FILENO))
		s.terminal = fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), "w");
	if (s.terminal != NULL) /* the other screen, without cursor */
		fputs("\033[?1049h\033[?25l", s.terminal);
	return s;
}

/* Length of what fits into the columns; escape sequences and the later bytes of a
 * character take no column. */
static size_t fitting(const char *line, size_t n, int columns)
{
	size_t i = 0;

	while (i < n) {
		if (line[i] == '\033') {
			while (i < n && line[i] != 'm')
				i++;
			i += i < n;
			continue;
		}
		if (((unsigned char)line[i] & 0xC0) != 0x80 && columns-- == 0)
			return i;
		i++;
	}
	return n;
}

/* Writes over the old lines and erases what is left of each, so nothing flickers. */
static void show_in_place(FILE *out, const char *text)
{
	struct winsize size = { 0 };
	int rows, columns;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	rows = size.ws_row > 1 ? size.ws_row : 24;
	columns = size.ws_col > 1 ? size.ws_col : 80;
	fputs("\033[H", out);
	for (int i = 0; i < rows - 1 && *text != '\0'; i++) {
		size_t n = strcspn(text, "\n");

		fwrite(text, 1, fitting(text, n, columns), out);
		fputs("\033[0m\033[K\n", out);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", out);
}

/* Collects what look() prints, so that it is shown at once. */
static enum err screen_look(struct cmd_ctx *x, const struct screen *s, bool first,
    enum err (*look)(struct cmd_ctx *, void *), void *arg)
{
	struct arena round = { 0 }, *whole = x->a;
	FILE *out = stdout, *page;
	char *text = NULL;
	size_t n = 0;
	enum err e;

	page = open_memstream(&text, &n);
	if (page == NULL)
		return FAIL_ERRNO(x->f, "cannot collect the output");
	stdout = page;
	x->a = &round;
	e = look(x, arg);
	x->a = whole;
	stdout = out;
	fclose(page);
	if (e == OK && s->terminal != NULL) {
		text[terminal_clean(text, n, NULL)] = '\0';
		show_in_place(s->terminal, text);
	} else if (e == OK) {
		printf("%s%s", first ? "" : "\n", text);
	}
	arena_defer(&round, free, text);
	arena_free(&round);
	return e;
}

enum err screen_repeat(struct cmd_ctx *x, int64_t every_s,
    enum err (*look)(struct cmd_ctx *, void *), void *arg)
{
	struct screen s = screen_begin();
	enum err e = OK;

	for (bool first = true; e == OK; first = false) {
		struct pollfd wait = { s.signals, POLLIN, 0 };
		int64_t began = clock_mono_ms(), took, pause = every_s * 1000;

		e = screen_look(x, &s, first, look, arg);
		if (fflush(s.terminal != NULL ? s.terminal : stdout) != 0 ||
		    ferror(stdout))
			break;
		took = clock_mono_ms() - began;
		if (took * BUSY > pause)
			pause = took * BUSY;
		if (e == OK &&
		    poll(&wait, 1, (int)(pause < 86400000 ? pause : 86400000)) != 0)
			break;
	}
	if (s.terminal != NULL) {
		fputs("\033[?25h\033[?1049l", s.terminal);
		fclose(s.terminal);
	}
	close(s.signals);
	x->status = 0;
	return e;
}

enum { SILENT_MS = 2000, EVERY_MS = 100, BAR = 24, COLUMNS = 80 };

struct progress progress_begin(const char *what, int64_t total)
{
	return (struct progress){ .what = what,
		.total = total,
		.begin_ms = clock_mono_ms(),
		.first = -1,
		.left_s = -1,
		.terminal = isatty(STDERR_FILENO) };
}

struct progress progress_begin_bytes(const char *what, int64_t total)
{
	struct progress p = progress_begin(what, total);

	p.bytes = true;
	return p;
}

static char *amount(struct arena *a, const struct progress *p, double n)
{
	return p->bytes ? human_bytes(a, n) : arena_printf(a, "%.0f", n);
}

static char *bar(struct arena *a, double part)
{
	char text[BAR + 1];
	int full = (int)(part * BAR);

	for (int i = 0; i < BAR; i++)
		text[i] = i < full ? '#' : '.';
	text[BAR] = '\0';
	return arena_strdup(a, text);
}

static char *line(
    struct arena *a, const struct progress *p, int64_t done, double seconds)
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

void progress_set(struct progress *p, int64_t done)
{
	int64_t now = clock_mono_ms();
	struct arena a = { 0 };
	struct winsize size = { 0 };

	if (p->first < 0)
		p->first = done;
	if (!p->terminal || now - p->begin_ms < SILENT_MS ||
	    now - p->shown_ms < EVERY_MS)
		return;
	p->shown_ms = now;
	/* Replaces the line on the terminal; it is cut so that it never wraps. */
	const char *text = line(&a, p, done, (double)(now - p->begin_ms) / 1000);
	int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ?
	                  size.ws_col - 1 :
	                  COLUMNS - 1;

	fprintf(stderr, "\r%.*s\033[K", columns, text);
	fflush(stderr);
	p->width = columns;
	arena_free(&a);
}

void progress_end(struct progress *p)
{
	if (p->width == 0)
		return;
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
	p->width = 0;
}
