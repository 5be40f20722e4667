/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes questions over the processes of a handler. Each process has several in
 * flight, so that no time is lost between them. When it fails, one of those is to
 * blame, but which? The oldest becomes a suspect, and suspects are asked alone.
 */
#include "daemons/handlers.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "daemons/loop.h"
#include "daemons/verdict.h"
#include "db/entity.h"
#include "lib/buf.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/blob.h"
#include "lib/banned.h"

/*
 * One process of a project's handler, which speaks JSON lines: started with a growing
 * pause after failures, greeted, written to and read without ever blocking. Whatever
 * it does, this process only learns that it failed, and why.
 */

enum {
	HANDLER_LINE_MOST = 1 << 20, /* bytes of a line that it writes */
	HANDLER_WORDS = 4096,        /* bytes of its standard error that are kept */
	HANDLER_IN_FLIGHT = 64,      /* requests that it has not answered */
	HANDLER_PROTOCOL = 1,
};

/* What all processes of a handler share. */
struct handler_terms {
	const char *const *argv;
	const char *name;   /* in the log, and in reasons */
	const char *dir;    /* working directory */
	const char *hello;  /* the first line that it gets, with its end */
	int64_t silence_ms; /* a process that owes an answer may be silent so long */
};

struct handler {
	const struct handler_terms *terms;
	int number; /* from 1 */
	struct proc_child p;
	struct arena a;  /* of this process's buffers */
	struct buf in;   /* what it wrote */
	size_t taken;    /* bytes of it that handler_line() has returned */
	struct buf says; /* a line of its standard error that has no end yet */
	char words[HANDLER_WORDS]; /* the end of its standard error */
	size_t nwords;
	size_t said, unsaid; /* lines logged and left out in this period */
	int64_t said_since;
	bool greeted;     /* it has answered the hello */
	bool gone;        /* it has ended; what it wrote is not all taken yet */
	int status;       /* of its end */
	bool mute;        /* it has closed its standard output */
	const char *send; /* what is left of the line that is being written to it */
	size_t nsend;
	size_t window;    /* requests that it takes at once */
	int64_t heard_ms; /* when it last wrote a line, or got something to do */
	int64_t start_ms; /* it is not started before */
	int failures;     /* in a row, since it last answered */
	bool failed;      /* it has just failed: why */
	bool silent;      /* by silence */
	char why[FAIL_BYTES];
};

enum {
	CHUNK = 64 << 10,
	PAUSE_FIRST_MS = 20,
	PAUSE_MOST_MS = 30000,
	MUTE_MS = 1000,   /* a process that ends does so within this time */
	SAYS_MOST = 2000, /* bytes of a line of its standard error */
	SAID_MOST = 200,  /* lines logged in a period, without repetitions */
	SAID_PERIOD_MS = 60000,
};

static void handler_init(
    struct handler *h, const struct handler_terms *terms, int number)
{
	*h = (struct handler){ .terms = terms,
		.number = number,
		.p = { .in = -1, .out = -1, .err = -1 },
		.window = HANDLER_IN_FLIGHT };
	h->in = buf_new(&h->a);
	h->says = buf_new(&h->a);
}

/* --- what it says on its standard error --- */

static void say_left_out(struct handler *h)
{
	if (h->unsaid > 0)
		log_warn("[handler %s#%d] %zu more lines are left out", h->terms->name,
		    h->number, h->unsaid);
	h->unsaid = 0;
}

static void say_line(struct handler *h, const char *line)
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

static void flush_says(struct handler *h)
{
	if (h->says.n > 0)
		say_line(h, h->says.p);
	h->says.n = 0;
}

/* Logs whole lines; an end without a newline stays for later. */
static void say_lines(struct handler *h, const char *p, size_t n)
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

/* --- start and end --- */

/* Is the process there, with its pipes? */
static bool handler_runs(const struct handler *h)
{
	return h->p.out >= 0;
}

/* Tells it to end, and kills it unless it does. */
static void handler_end(struct handler *h, int grace_ms)
{
	say_left_out(h);
	proc_end(&h->p, grace_ms);
	h->greeted = h->gone = h->mute = false;
	h->send = NULL;
	h->nsend = h->taken = h->in.n = h->says.n = 0;
}

/* Ends the process for a reason; the next one starts after a pause. */
static void handler_fail(struct handler *h, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(h->why, sizeof(h->why), fmt, ap);
	va_end(ap);
	flush_says(h);
	handler_end(h, 0);
	h->failures++;
	h->failed = true;
	h->silent = false;
	h->start_ms = clock_mono_ms() +
	              pause_doubled(PAUSE_FIRST_MS, h->failures, PAUSE_MOST_MS);
	log_warn("[handler %s#%d] %s; the next one starts in %lld ms", h->terms->name,
	    h->number, h->why, (long long)(h->start_ms - clock_mono_ms()));
}

/* It has answered a request, so the next failure is the first one again. */
static void handler_works(struct handler *h)
{
	h->failures = 0;
}

/* Gives it a line that stays until it is written, and is never given twice. */
static void handler_give(struct handler *h, const char *line, size_t n)
{
	h->send = line;
	h->nsend = n;
}

/* Writes what it takes now. */
static void handler_write(struct handler *h)
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

static void handler_start(struct handler *h)
{
	struct fail f = { 0 };

	arena_reset(&h->a);
	h->in = buf_new(&h->a);
	h->says = buf_new(&h->a);
	h->nwords = 0;
	h->words[0] = '\0';
	h->window = HANDLER_IN_FLIGHT;
	if (proc_start(&(const struct proc_run){ .argv = h->terms->argv,
			   .dir = h->terms->dir,
			   .in = { PROC_PIPE },
			   .out = { PROC_PIPE },
			   .err = { PROC_PIPE } },
		&h->p, &f) != OK) {
		handler_fail(h, "cannot be started: %s", f.detail);
		return;
	}
	log_debug("[handler %s#%d] started pid=%ld", h->terms->name, h->number,
	    (long)h->p.pid);
	h->heard_ms = clock_mono_ms();
	handler_give(h, h->terms->hello, strlen(h->terms->hello));
	handler_write(h);
}

/*
 * Starts the process if it does not run and its pause is over. Returns whether it runs
 * and has been greeted.
 */
static bool handler_ready(struct handler *h)
{
	if (!handler_runs(h) && clock_mono_ms() >= h->start_ms)
		handler_start(h);
	return handler_runs(h) && h->greeted && !h->gone;
}

/* --- bytes --- */

static void end_of_output(struct handler *h, int *fd)
{
	if (fd == &h->p.out)
		h->mute = true;
	else {
		close(*fd);
		*fd = -1;
	}
}

/* Reads one output; false: there is nothing now. */
static bool read_some(struct handler *h, int *fd)
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
	if (fd == &h->p.out) {
		buf_put(&h->in, chunk, (size_t)n);
		return true;
	}
	text_keep_end(h->words, sizeof(h->words), &h->nwords, chunk, (size_t)n);
	say_lines(h, chunk, (size_t)n);
	return true;
}

/* Reads what it wrote, on both outputs. */
static void handler_read(struct handler *h)
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

/*
 * Takes the next whole line that it wrote; NULL if there is none. Valid until the next
 * handler_read().
 */
static char *handler_line(struct handler *h, size_t *n)
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

/*
 * Notices that it has ended, or is silent although it owes an answer; then it has
 * failed.
 */
static void handler_look(struct handler *h, bool owes)
{
	struct arena a = { 0 };

	if (!handler_runs(h))
		return;
	if (h->gone)
		handler_fail(h, "%s%s", command_end(&a, h->status, h->words),
		    owes ? "" : ", with nothing to do");
	else if (proc_ended(&h->p, &h->status))
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

enum {
	TICK_MS = 50,
	GIVE_UP = 5, /* failures in a row of each process */
	END_MS = 2000,
	NUMBER_MOST = 64,
	GARBAGE_SHOWN = 100 /* bytes */
};

struct handlers {
	struct handler_terms terms;
	bool (*stopping)(const struct daemon_ctx *);
	struct handler *v;
	size_t n;
	int64_t next_id;
};

/* A question on its way. */
struct ask {
	json_t *request; /* an object; released when its line is written */
	enum ask_end end;
	json_t *reply; /* of ASK_DONE; lives as long as the arena */
	char *why, *detail;
	int64_t id;
	char *line;
	size_t nline;
	int by;      /* number of the process that has it; 0 = none */
	int crashes; /* processes that failed while they had it */
};

/* What is being asked. */
struct asking {
	struct handlers *h;
	struct arena *a;
	struct ask *v;
	size_t n, open; /* open: have not ended */
	size_t fresh;   /* none before this index is without a crash and unasked */
};

/* --- set up --- */

static int put_chars(const char *p, size_t n, void *b)
{
	buf_put(b, p, n);
	return 0;
}

/* Appends the value as a line, and releases it. */
static void put_json(struct buf *b, json_t *value)
{
	json_dump_callback(value, put_chars, b, JSON_COMPACT | JSON_REAL_PRECISION(17));
	buf_puts(b, "\n");
	json_decref(value);
}

static char *hello_line(
    struct arena *a, const char *kind, const char *app, const char *dir)
{
	struct buf b = buf_new(a);
	json_t *hello = json_object();

	json_object_set_new(hello, "type", json_string("hello"));
	json_object_set_new(hello, "protocol", json_integer(HANDLER_PROTOCOL));
	json_object_set_new(hello, "kind", json_text(kind));
	json_object_set_new(hello, "app", json_text(app));
	json_object_set_new(hello, "project_dir", json_text(dir));
	json_object_set_new(hello, "in_flight", json_integer(HANDLER_IN_FLIGHT));
	put_json(&b, hello);
	return b.p;
}

enum err handlers_open(struct daemon_ctx *x, const struct handler_options *o,
    const char *kind, const char *app, bool (*stopping)(const struct daemon_ctx *))
{
	struct handlers *h;
	const char *dir = x->conf->project_dir;
	char **argv;
	bool script;

	if (o->command == NULL || x->handlers != NULL)
		return OK;
	if (proc_split(x->life, o->command, &argv, &x->fail) != OK)
		return FAIL(&x->fail, E_CONFIG,
		    "--handler \"%s\" cannot be split into words", o->command);
	/* What people call it: of "python3 code/compare.py", the script; of "./compare
	 * -v", the program. */
	script = argv[1] != NULL && argv[1][0] != '-';
	h = NEW(x->life, struct handlers);
	h->stopping = stopping;
	h->terms = (struct handler_terms){ .argv = (const char *const *)argv,
		.name = text_base_name(argv[script ? 1 : 0]),
		.dir = dir,
		.hello = hello_line(x->life, kind, app, dir),
		.silence_ms = o->silence_s * 1000 };
	h->n = o->number < 1           ? 1 :
	       o->number > NUMBER_MOST ? NUMBER_MOST :
	                                 (size_t)o->number;
	h->v = NEWN(x->life, struct handler, h->n);
	for (size_t i = 0; i < h->n; i++)
		handler_init(&h->v[i], &h->terms, (int)i + 1);
	x->handlers = h;
	return OK;
}

void handlers_close(struct handlers *h)
{
	int64_t end = clock_mono_ms() + END_MS;

	for (size_t i = 0; h != NULL && i < h->n; i++) {
		int64_t left = end - clock_mono_ms();
		handler_end(&h->v[i], left > 0 ? (int)left : 0);
		arena_free(&h->v[i].a);
		handler_init(&h->v[i], &h->terms, (int)i + 1);
	}
}

const char *handlers_name(const struct handlers *h)
{
	return h->terms.name;
}

/* --- the end of a question --- */

static size_t in_flight(const struct asking *q, const struct handler *p)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += q->v[i].by == p->number;
	return n;
}

static void ask_ended(struct asking *q, struct ask *k, enum ask_end end)
{
	k->end = end;
	k->by = 0;
	q->open--;
}

static void decref_json(void *value)
{
	json_decref(value);
}

/* The text of a member; NULL if it is none. */
static char *member_text(struct asking *q, json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s == NULL ? NULL : arena_strdup(q->a, s);
}

/*
 * The process has failed. Whatever it was doing, the oldest of what it had is the
 * suspect, as most handlers answer in order: it is asked again alone, unless it was
 * silence, which takes long enough. The others are asked as if nothing had been.
 */
static void took_down(struct asking *q, struct handler *p)
{
	struct ask *suspect = NULL;

	for (size_t i = 0; i < q->n; i++) {
		struct ask *k = &q->v[i];
		if (k->by != p->number)
			continue;
		k->by = 0;
		q->fresh = i < q->fresh ? i : q->fresh;
		suspect = suspect == NULL ? k : suspect;
	}
	if (suspect != NULL)
		handler_works(p); /* but for what it was asked */
	if (suspect != NULL && (suspect->crashes++ > 0 || p->silent)) {
		suspect->why = arena_printf(q->a, "%s %s", p->terms->name, p->why);
		suspect->detail = arena_strdup(q->a, p->words);
		ask_ended(q, suspect, ASK_FAILED);
	}
	p->failed = false;
}

/* --- lines --- */

static void hear_hello(struct handler *p, json_t *reply)
{
	json_t *protocol = json_object_get(reply, "protocol"),
	       *window = json_object_get(reply, "in_flight");
	const char *type = json_string_value(json_object_get(reply, "type"));

	if (type == NULL || strcmp(type, "hello") != 0 || !json_is_integer(protocol)) {
		handler_fail(p, "did not answer the hello with one");
		return;
	}
	if (json_integer_value(protocol) != HANDLER_PROTOCOL) {
		handler_fail(p, "speaks protocol %lld, this Locus speaks %d",
		    (long long)json_integer_value(protocol), (int)HANDLER_PROTOCOL);
		return;
	}
	p->greeted = true;
	if (json_is_integer(window) && json_integer_value(window) >= 1 &&
	    json_integer_value(window) < HANDLER_IN_FLIGHT)
		p->window = (size_t)json_integer_value(window);
}

static struct ask *ask_of(struct asking *q, const struct handler *p, json_t *reply)
{
	json_t *id = json_object_get(reply, "id");

	for (size_t i = 0; json_is_integer(id) && i < q->n; i++)
		if (q->v[i].by == p->number && q->v[i].id == json_integer_value(id))
			return &q->v[i];
	return NULL;
}

static void hear_reply(struct asking *q, struct handler *p, json_t *reply)
{
	struct ask *k = ask_of(q, p, reply);

	if (k == NULL) {
		handler_fail(p, "answered a request that it does not have");
		return;
	}
	handler_works(p);
	if ((k->why = member_text(q, reply, "error")) != NULL) {
		k->why = arena_printf(q->a, "%s: %s", p->terms->name, k->why);
		if ((k->detail = member_text(q, reply, "detail")) != NULL) {
			/* Logged as lines of its standard error are. */
			flush_says(p);
			say_lines(p, k->detail, strlen(k->detail));
			flush_says(p);
		}
		ask_ended(q, k, ASK_FAILED);
		return;
	}
	if ((k->why = member_text(q, reply, "later")) != NULL) {
		k->why = arena_printf(q->a, "%s: %s", p->terms->name, k->why);
		ask_ended(q, k, ASK_LATER);
		return;
	}
	k->reply = json_incref(reply);
	arena_defer(q->a, decref_json, reply);
	ask_ended(q, k, ASK_DONE);
}

static void hear_lines(struct asking *q, struct handler *p)
{
	size_t n;
	char *line;

	while (!p->failed && (line = handler_line(p, &n)) != NULL) {
		json_error_t error;
		json_t *reply = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
		if (!json_is_object(reply))
			handler_fail(p, "wrote a line that is no JSON object: %.*s",
			    (int)GARBAGE_SHOWN, line);
		else if (!p->greeted)
			hear_hello(p, reply);
		else
			hear_reply(q, p, reply);
		json_decref(reply);
	}
}

/* --- giving --- */

/* The next question for a process that has this many; NULL if it gets none now. */
static struct ask *next_ask(struct asking *q, size_t has)
{
	while (
	    q->fresh < q->n && (q->v[q->fresh].by != 0 || q->v[q->fresh].crashes > 0 ||
				   q->v[q->fresh].end != ASK_UNTRIED))
		q->fresh++;
	if (q->fresh < q->n)
		return &q->v[q->fresh];
	for (size_t i = 0; has == 0 && i < q->n; i++)
		if (q->v[i].by == 0 && q->v[i].end == ASK_UNTRIED)
			return &q->v[i];
	return NULL;
}

/* Has the process a suspect, beside which it gets nothing else? */
static bool has_suspect(const struct asking *q, const struct handler *p)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].by == p->number && q->v[i].crashes > 0)
			return true;
	return false;
}

static void give(struct asking *q, struct handler *p)
{
	size_t has = in_flight(q, p);
	struct ask *k;

	handler_write(p);
	/* One line is written at a time. */
	while (has < p->window && handler_runs(p) && p->nsend == 0 && !p->gone &&
	       !has_suspect(q, p) && (k = next_ask(q, has)) != NULL) {
		k->by = p->number;
		if (has++ == 0)
			p->heard_ms = clock_mono_ms();
		handler_give(p, k->line, k->nline);
		handler_write(p);
	}
}

/* --- the loop --- */

static void wait_for_any(struct handlers *h)
{
	struct pollfd fds[3 * NUMBER_MOST];
	nfds_t n = 0;

	for (size_t i = 0; i < h->n; i++) {
		const struct handler *p = &h->v[i];
		if (p->p.out < 0)
			continue;
		/* poll() passes over descriptors below 0. */
		fds[n++] = (struct pollfd){ .fd = p->mute ? -1 : p->p.out,
			.events = POLLIN };
		fds[n++] = (struct pollfd){ .fd = p->p.err, .events = POLLIN };
		if (p->nsend > 0)
			fds[n++] = (struct pollfd){ .fd = p->p.in, .events = POLLOUT };
	}
	poll(fds, n, TICK_MS);
}

/* Takes what a process wrote, and notices that it has failed. */
static void hear(struct asking *q, struct handler *p)
{
	handler_read(p);
	hear_lines(q, p);
	if (!p->failed)
		handler_look(p, !p->greeted || in_flight(q, p) > 0);
	if (p->failed)
		took_down(q, p);
}

static void write_requests(struct asking *q)
{
	for (size_t i = 0; i < q->n; i++) {
		struct buf b = buf_new(q->a);
		struct ask *k = &q->v[i];
		k->end = ASK_UNTRIED;
		k->id = ++q->h->next_id;
		k->by = k->crashes = 0;
		json_object_set_new(k->request, "id", json_integer(k->id));
		put_json(&b, k->request);
		k->request = NULL;
		k->line = b.p;
		k->nline = b.n;
	}
}

/* Fails, and ends all processes, if every one has failed again and again. */
static enum err give_up_in_time(struct handlers *h, struct fail *f)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].failures < GIVE_UP)
			return OK;
	for (size_t i = 0; i < h->n; i++)
		handler_end(&h->v[i], 0);
	return FAIL(f, E_SYS,
	    "handler %s does not work: it %s; what it wrote to its standard error is in the log",
	    h->terms.name, h->v[0].why);
}

/* Asks until all have ended; E_SYS: the handler does not work. */
static enum err ask_until_ended(struct daemon_ctx *x, struct ask *asks, size_t n)
{
	struct handlers *h = x->handlers;
	struct asking q = { h, &x->a, asks, n, n, 0 };

	write_requests(&q);
	for (size_t i = 0; i < h->n; i++) {
		/* A handler that did not work at all is tried once each time. */
		if (h->v[i].failures >= GIVE_UP)
			h->v[i].failures = GIVE_UP - 1;
		/* What ended while it had nothing to do takes nothing down. */
		hear(&q, &h->v[i]);
		hear(&q, &h->v[i]);
	}
	while (q.open > 0 && !h->stopping(x)) {
		for (size_t i = 0; i < h->n; i++) {
			if (handler_ready(&h->v[i]))
				give(&q, &h->v[i]);
			else
				handler_write(&h->v[i]);
			hear(&q, &h->v[i]);
		}
		if (q.open == 0)
			return OK;
		TRY(give_up_in_time(h, &x->fail));
		wait_for_any(h);
	}
	if (q.open > 0)
		handlers_close(h); /* late answers belong to nobody */
	return OK;
}

/* Makes the requests; after an error there are none. */
static enum err ask_requests(struct daemon_ctx *x, const struct verb *v,
    const struct question *q, struct ask *asks, size_t n)
{
	const char **docs = NEWN(&x->a, const char *, n + 1);
	int64_t *ids = NEWN(&x->a, int64_t, n + 1);
	enum err e = OK;

	for (size_t i = 0; i < n && q[i].wu != NULL; i++)
		ids[i] = q[i].wu->id;
	for (size_t i = 0; i < n && q[i].wu != NULL; i += DB_LIST_MAX)
		TRY(workunits_xml_docs(x->db, &x->a, ids + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, docs + i, &x->fail));
	for (size_t i = 0; i < n && e == OK; i++) {
		asks[i].request = json_pack("{s:s}", "type", v->type);
		e = v->ask(x, q[i].item, docs[i], asks[i].request);
	}
	for (size_t i = 0; i < n && e != OK; i++)
		json_decref(asks[i].request);
	return e;
}

enum err handlers_ask(struct daemon_ctx *x, const struct verb *v, struct question *q,
    size_t n, const char **broken)
{
	struct ask *asks = NEWN(&x->a, struct ask, n + 1);

	*broken = NULL;
	TRY(ask_requests(x, v, q, asks, n));
	if (ask_until_ended(x, asks, n) != OK)
		*broken = arena_strdup(&x->a, x->fail.detail);
	for (size_t i = 0; i < n; i++) {
		const char *wrong = NULL;

		q[i].end = asks[i].end;
		q[i].why = asks[i].why;
		q[i].detail = asks[i].detail;
		if (q[i].end == ASK_DONE && v->take != NULL)
			wrong = v->take(x, q[i].item, asks[i].reply);
		if (wrong == NULL)
			continue;
		q[i].end = ASK_FAILED;
		q[i].why = arena_printf(
		    &x->a, "%s: %s", handlers_name(x->handlers), wrong);
	}
	return OK;
}

/* Members are named as columns are; times are seconds since 1970. */

void handler_columns(json_t *object, const struct field *c, size_t n, const void *row)
{
	for (size_t i = 0; i < n; i++) {
		const char *s = c[i].type == FIELD_TEXT ? field_text(&c[i], row) : NULL;

		json_object_set_new(object, c[i].name,
		    c[i].type != FIELD_TEXT ? json_number_of(&c[i], row) :
					      json_lines(s == NULL ? "" : s));
	}
}

#define WU(member) FIELD_OF(struct workunit, member)
static const struct field workunit_names[] = {
	{ "id", WU(id) },
	{ "name", WU(name) },
};
static const struct field workunit_columns[] = {
	{ "batch", WU(batch) },
	{ "create_time", WU(create_time) },
	{ "min_quorum", WU(min_quorum) },
	{ "error_mask", WU(error_mask) },
	{ "canonical_resultid", WU(canonical_resultid) },
	{ "rsc_fpops_est", WU(rsc_fpops_est) },
	{ "rsc_fpops_bound", WU(rsc_fpops_bound) },
	{ "rsc_memory_bound", WU(rsc_memory_bound) },
	{ "rsc_disk_bound", WU(rsc_disk_bound) },
	{ "delay_bound", WU(delay_bound) },
};
#undef WU

#define R(member) FIELD_OF(struct result, member)
static const struct field result_columns[] = {
	{ "id", R(id) },
	{ "name", R(name) },
	{ "host", R(hostid) },
	{ "user", R(userid) },
	{ "app_version", R(app_version_id) },
	{ "app_version_num", R(app_version_num) },
	{ "sent_time", R(sent_time) },
	{ "received_time", R(received_time) },
	{ "cpu_time", R(cpu_time) },
	{ "elapsed_time", R(elapsed_time) },
	{ "flops_estimate", R(flops_estimate) },
	{ "exit_status", R(exit_status) },
};
#undef R

#define OUT(member) FIELD_OF(struct output, member)
static const struct field output_columns[] = {
	{ "name", OUT(name) },
	{ "open_name", OUT(open_name) },
	{ "path", OUT(path) },
	{ "md5", OUT(md5) },
	{ "nbytes", OUT(nbytes) },
	{ "optional", OUT(optional) },
};
#undef OUT

json_t *handler_workunit(
    struct arena *a, const struct workunit *wu, const char *xml_doc)
{
	const char *line = NULL, *file = wu_name_file(a, wu->name);
	json_t *o = json_object();

	if (xml_doc != NULL)
		line = xml_between(a, xml_doc, "command_line");
	handler_columns(o, workunit_names, N(workunit_names), wu);
	json_object_set_new(o, "command_line", json_lines(line == NULL ? "" : line));
	json_object_set_new(o, "file", json_lines(file == NULL ? "" : file));
	handler_columns(o, workunit_columns, N(workunit_columns), wu);
	return o;
}

json_t *handler_outputs(const struct output *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		bool absent = v[i].optional && !fs_exists(v[i].path);
		json_t *o = json_object();

		handler_columns(o, output_columns, N(output_columns), &v[i]);
		json_object_set_new(o, "absent", json_boolean(absent));
		json_object_set_new(o, "no_validate", json_boolean(v[i].no_validate));
		json_array_append_new(list, o);
	}
	return list;
}

json_t *handler_result(const struct result *r, const struct outputs *out)
{
	json_t *o = json_object();

	handler_columns(o, result_columns, N(result_columns), r);
	if (out != NULL)
		json_object_set_new(o, "outputs", handler_outputs(out->v, out->n));
	return o;
}
