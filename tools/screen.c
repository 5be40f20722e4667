/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/terminal.h"
#include "lib/banned.h"

enum { BUSY = 10 }; /* at most a tenth of the time is spent on looking */

struct screen {
	FILE *terminal; /* NULL: standard output is none */
	int signals;    /* becomes readable when it is time to end */
};

static struct screen
screen_begin(void)
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

static void
screen_end(const struct screen *s)
{
	if (s->terminal != NULL) {
		fputs("\033[?25h\033[?1049l", s->terminal);
		fclose(s->terminal);
	}
	close(s->signals);
}

/* Length of what fits into the columns; escape sequences and the later bytes of a
 * character take no column. */
static size_t
fitting(const char *line, size_t n, int columns)
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
static void
show_in_place(FILE *out, const char *text)
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
static enum err
screen_look(struct cmd_ctx *x, const struct screen *s, bool first,
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

enum err
screen_repeat(struct cmd_ctx *x, int64_t every_s,
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
	screen_end(&s);
	x->status = 0;
	return e;
}
