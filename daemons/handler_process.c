/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A handler is a stranger's program: nothing that it writes, or does not write, may
 * block or harm the daemon.
 */
#include "daemons/handler_process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "daemons/verdict.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum {
	CHUNK = 64 << 10,
	PAUSE_FIRST_MS = 20,
	PAUSE_MOST_MS = 30000,
	MUTE_MS = 1000,   /* a process that ends does so within this time */
	SAYS_MOST = 2000, /* bytes of a line of its standard error */
	SAID_MOST = 200,  /* lines logged in a period, without repetitions */
	SAID_PERIOD_MS = 60000,
};

void
handler_init(struct handler *h, const struct handler_terms *terms, int number)
{
	*h = (struct handler){ .terms = terms,
		.number = number,
		.p = { .in = -1, .out = -1, .err = -1 },
		.window = HANDLER_IN_FLIGHT };
	h->in = buf_new(&h->a);
	h->says = buf_new(&h->a);
}

/* --- what it says on its standard error --- */

static void
say_left_out(struct handler *h)
{
	if (h->unsaid > 0)
		log_warn("[handler %s#%d] %zu more lines are left out", h->terms->name,
		    h->number, h->unsaid);
	h->unsaid = 0;
}

static void
say_line(struct handler *h, const char *line)
{
	int64_t now = clock_mono_ms();

	if (now >= h->said_since + SAID_PERIOD_MS) {
		say_left_out(h);
		h->said_since = now;
		h->said = 0;
	}
	if (h->said >= SAID_MOST)
		h->unsaid++;
	else if (log_heard(line, "[handler %s#%d] %s", h->terms->name, h->number, line))
		h->said++;
}

static void
flush_says(struct handler *h)
{
	if (h->says.n > 0)
		say_line(h, h->says.p);
	h->says.n = 0;
}

static void
keep_words(struct handler *h, const char *p, size_t n)
{
	size_t most = sizeof(h->words) - 1, drop;

	if (n > most) {
		p += n - most;
		n = most;
	}
	drop = h->nwords + n > most ? h->nwords + n - most : 0;
	memmove(h->words, h->words + drop, h->nwords - drop);
	h->nwords -= drop;
	memcpy(h->words + h->nwords, p, n);
	h->nwords += n;
	h->words[h->nwords] = '\0';
}

/* Logs whole lines; an end without a newline stays for later. */
static void
say_lines(struct handler *h, const char *p, size_t n)
{
	while (n > 0) {
		const char *end = memchr(p, '\n', n);
		size_t room = SAYS_MOST - h->says.n,
		       m = end == NULL ? n : (size_t)(end - p);

		m = m < room ? m : room;
		buf_put(&h->says, p, m);
		if (p + m == end)
			m++;
		if (m > 0 && (p[m - 1] == '\n' || h->says.n >= SAYS_MOST))
			flush_says(h);
		p += m;
		n -= m;
	}
}

void
handler_says(struct handler *h, const char *text)
{
	flush_says(h);
	say_lines(h, text, strlen(text));
	flush_says(h);
}

static void
take_says(struct handler *h, const char *p, size_t n)
{
	keep_words(h, p, n);
	say_lines(h, p, n);
}

/* --- start and end --- */

/* Is the process there, with its pipes? */
static bool
handler_runs(const struct handler *h)
{
	return h->p.out >= 0;
}

void
handler_end(struct handler *h, int grace_ms)
{
	say_left_out(h);
	proc_dialog_close(&h->p, grace_ms);
	h->greeted = h->gone = h->mute = false;
	h->send = NULL;
	h->nsend = h->taken = h->in.n = h->says.n = 0;
}

void
handler_fail(struct handler *h, const char *fmt, ...)
{
	int64_t pause = PAUSE_FIRST_MS;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->why, sizeof(h->why), fmt, ap);
	va_end(ap);
	flush_says(h);
	handler_end(h, 0);
	for (int i = 0; i < h->failures && pause < PAUSE_MOST_MS; i++)
		pause *= 2;
	h->failures++;
	h->failed = true;
	h->silent = false;
	h->start_ms = clock_mono_ms() + (pause < PAUSE_MOST_MS ? pause : PAUSE_MOST_MS);
	log_warn("[handler %s#%d] %s; the next one starts in %lld ms", h->terms->name,
	    h->number, h->why, (long long)(h->start_ms - clock_mono_ms()));
}

void
handler_works(struct handler *h)
{
	h->failures = 0;
}

static void
handler_start(struct handler *h)
{
	struct fail f = { 0 };

	arena_reset(&h->a);
	h->in = buf_new(&h->a);
	h->says = buf_new(&h->a);
	h->nwords = 0;
	h->words[0] = '\0';
	h->window = HANDLER_IN_FLIGHT;
	if (proc_dialog_open(h->terms->argv, h->terms->dir, &h->p, &f) != OK) {
		handler_fail(h, "cannot be started: %s", f.detail);
		return;
	}
	log_debug("[handler %s#%d] started pid=%ld", h->terms->name, h->number,
	    (long)h->p.pid);
	h->heard_ms = clock_mono_ms();
	handler_give(h, h->terms->hello, strlen(h->terms->hello));
	handler_write(h);
}

bool
handler_ready(struct handler *h)
{
	if (!handler_runs(h) && clock_mono_ms() >= h->start_ms)
		handler_start(h);
	return handler_runs(h) && h->greeted && !h->gone;
}

/* --- bytes --- */

bool
handler_idle(const struct handler *h)
{
	return handler_runs(h) && h->nsend == 0 && !h->gone;
}

void
handler_give(struct handler *h, const char *line, size_t n)
{
	h->send = line;
	h->nsend = n;
}

void
handler_write(struct handler *h)
{
	while (h->nsend > 0 && h->p.in >= 0) {
		ssize_t put = write(h->p.in, h->send, h->nsend);
		if (put < 0 && errno == EINTR)
			continue;
		/* If it has closed its input, its end will be noticed. */
		if (put <= 0)
			return;
		h->send += put;
		h->nsend -= (size_t)put;
	}
}

static void
end_of_output(struct handler *h, int *fd)
{
	if (fd == &h->p.out)
		h->mute = true;
	else {
		close(*fd);
		*fd = -1;
	}
}

/* Reads one output; false: there is nothing now. */
static bool
read_some(struct handler *h, int *fd)
{
	char chunk[CHUNK];
	ssize_t n;

	if (*fd < 0 || (h->mute && fd == &h->p.out))
		return false;
	n = read(*fd, chunk, sizeof(chunk));
	if (n < 0)
		return errno == EINTR;
	if (n == 0) {
		end_of_output(h, fd);
		return false;
	}
	if (fd == &h->p.err)
		take_says(h, chunk, (size_t)n);
	else
		buf_put(&h->in, chunk, (size_t)n);
	return true;
}

void
handler_read(struct handler *h)
{
	h->in.n -= h->taken;
	memmove(h->in.p, h->in.p + h->taken, h->in.n);
	h->taken = 0;
	/* Both are bounded, so that a handler that never stops is read in turns. */
	for (int i = 0; i < 16 && read_some(h, &h->p.err); i++)
		;
	for (int i = 0;
	     i < 16 && h->in.n <= HANDLER_LINE_MOST && read_some(h, &h->p.out); i++)
		;
}

char *
handler_line(struct handler *h, size_t *n)
{
	char *from = h->in.p + h->taken, *end;
	size_t left = h->in.n - h->taken;

	end = left == 0 ? NULL : memchr(from, '\n', left);
	if ((end == NULL ? left : (size_t)(end - from)) > HANDLER_LINE_MOST) {
		handler_fail(
		    h, "wrote a line of more than %d bytes", (int)HANDLER_LINE_MOST);
		return NULL;
	}
	if (end == NULL)
		return NULL;
	*end = '\0';
	*n = (size_t)(end - from);
	h->taken += *n + 1;
	h->heard_ms = clock_mono_ms();
	return from;
}

void
handler_look(struct handler *h, bool owes)
{
	struct arena a = { 0 };

	if (!handler_runs(h))
		return;
	if (h->gone)
		handler_fail(h, "%s%s", command_end(&a, h->status, h->words),
		    owes ? "" : ", with nothing to do");
	else if (proc_dialog_ended(&h->p, &h->status))
		h->gone = true; /* what it wrote before is read first */
	else if (h->mute && clock_mono_ms() >= h->heard_ms + MUTE_MS)
		handler_fail(h, "has closed its standard output");
	else if (owes && clock_mono_ms() >= h->heard_ms + h->terms->silence_ms) {
		handler_fail(h, "was silent for %lld s and was killed",
		    (long long)(h->terms->silence_ms / 1000));
		h->silent = true;
	}
	arena_free(&a);
}
