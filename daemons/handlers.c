/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Distributes questions over the processes of a handler.  Each process has several in
 * flight, so that no time is lost between them.  When it fails, one of those is to
 * blame, but which?  The oldest becomes a suspect, and suspects are asked alone.
 */
#include "daemons/handlers.h"

#include <poll.h>
#include <string.h>
#include "daemons/handler_process.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/banned.h"

enum {
	TICK_MS = 50,
	GIVE_UP = 5, /* failures in a row of each process */
	END_MS = 2000,
	NUMBER_MOST = 64,
	GARBAGE_SHOWN = 100 /* bytes */
};

struct handlers {
	struct handler_spec spec;
	struct handler_terms terms;
	struct handler *v;
	size_t n;
	int64_t next_id;
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

/*
 * What people call it: of "python3 code/compare.py", the script; of "./compare -v", the
 * program.
 */
static const char *
name_of_command(char *const *argv)
{
	bool script = argv[1] != NULL && argv[1][0] != '-';

	return text_base_name(argv[script ? 1 : 0]);
}

static int
put_chars(const char *p, size_t n, void *b)
{
	buf_put(b, p, n);
	return 0;
}

/* Appends the value as a line, and releases it. */
static void
put_json(struct buf *b, json_t *value)
{
	json_dump_callback(value, put_chars, b, JSON_COMPACT | JSON_REAL_PRECISION(17));
	buf_puts(b, "\n");
	json_decref(value);
}

static char *
hello_line(struct arena *a, const struct handler_spec *s)
{
	struct buf b = buf_new(a);
	json_t *hello = json_object();

	json_object_set_new(hello, "type", json_string("hello"));
	json_object_set_new(hello, "protocol", json_integer(HANDLER_PROTOCOL));
	json_object_set_new(hello, "kind", json_text(s->kind));
	json_object_set_new(hello, "app", json_text(s->app));
	json_object_set_new(hello, "project_dir", json_text(s->dir));
	json_object_set_new(hello, "in_flight", json_integer(HANDLER_IN_FLIGHT));
	put_json(&b, hello);
	return b.p;
}

enum err
handlers_open(struct arena *life, const struct handler_spec *spec,
    struct handlers **out, struct fail *f)
{
	struct handlers *h = NEW(life, struct handlers);
	char **argv;

	if (proc_split(life, spec->command, &argv, f) != OK)
		return FAIL(f, E_CONFIG, "--handler \"%s\" cannot be split into words",
		    spec->command);
	h->spec = *spec;
	h->terms = (struct handler_terms){ .argv = (const char *const *)argv,
		.name = name_of_command(argv),
		.dir = spec->dir,
		.hello = hello_line(life, spec),
		.silence_ms = spec->silence_s * 1000 };
	h->n = spec->number < 1           ? 1 :
	       spec->number > NUMBER_MOST ? NUMBER_MOST :
	                                    (size_t)spec->number;
	h->v = NEWN(life, struct handler, h->n);
	for (size_t i = 0; i < h->n; i++)
		handler_init(&h->v[i], &h->terms, (int)i + 1);
	*out = h;
	return OK;
}

void
handlers_close(struct handlers *h)
{
	int64_t end = clock_mono_ms() + END_MS;

	for (size_t i = 0; h != NULL && i < h->n; i++) {
		int64_t left = end - clock_mono_ms();
		handler_end(&h->v[i], left > 0 ? (int)left : 0);
		arena_free(&h->v[i].a);
		handler_init(&h->v[i], &h->terms, (int)i + 1);
	}
}

const char *
handlers_name(const struct handlers *h)
{
	return h->terms.name;
}

/* --- the end of a question --- */

static size_t
in_flight(const struct asking *q, const struct handler *p)
{
	size_t n = 0;

	for (size_t i = 0; i < q->n; i++)
		n += q->v[i].by == p->number;
	return n;
}

static void
ask_ended(struct asking *q, struct ask *k, enum ask_end end)
{
	k->end = end;
	k->by = 0;
	q->open--;
}

static void
decref_json(void *value)
{
	json_decref(value);
}

/* The text of a member; NULL if it is none. */
static char *
member_text(struct asking *q, json_t *object, const char *name)
{
	const char *s = json_string_value(json_object_get(object, name));

	return s == NULL ? NULL : arena_strdup(q->a, s);
}

/*
 * The process has failed.  Whatever it was doing, the oldest of what it had is the
 * suspect, as most handlers answer in order: it is asked again alone, unless it was
 * silence, which takes long enough.  The others are asked as if nothing had been.
 */
static void
took_down(struct asking *q, struct handler *p)
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

static void
hear_hello(struct handler *p, json_t *reply)
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

static struct ask *
ask_of(struct asking *q, const struct handler *p, json_t *reply)
{
	json_t *id = json_object_get(reply, "id");

	for (size_t i = 0; json_is_integer(id) && i < q->n; i++)
		if (q->v[i].by == p->number && q->v[i].id == json_integer_value(id))
			return &q->v[i];
	return NULL;
}

static void
hear_reply(struct asking *q, struct handler *p, json_t *reply)
{
	struct ask *k = ask_of(q, p, reply);

	if (k == NULL) {
		handler_fail(p, "answered a request that it does not have");
		return;
	}
	handler_works(p);
	if ((k->why = member_text(q, reply, "error")) != NULL) {
		k->why = arena_printf(q->a, "%s: %s", p->terms->name, k->why);
		if ((k->detail = member_text(q, reply, "detail")) != NULL)
			handler_says(p, k->detail);
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

static void
hear_lines(struct asking *q, struct handler *p)
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
static struct ask *
next_ask(struct asking *q, size_t has)
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
static bool
has_suspect(const struct asking *q, const struct handler *p)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->v[i].by == p->number && q->v[i].crashes > 0)
			return true;
	return false;
}

static void
give(struct asking *q, struct handler *p)
{
	size_t has = in_flight(q, p);
	struct ask *k;

	handler_write(p);
	while (has < p->window && handler_idle(p) && !has_suspect(q, p) &&
	       (k = next_ask(q, has)) != NULL) {
		k->by = p->number;
		if (has++ == 0)
			p->heard_ms = clock_mono_ms();
		handler_give(p, k->line, k->nline);
		handler_write(p);
	}
}

/* --- the loop --- */

static void
wait_for_any(struct handlers *h)
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
static void
hear(struct asking *q, struct handler *p)
{
	handler_read(p);
	hear_lines(q, p);
	if (!p->failed)
		handler_look(p, !p->greeted || in_flight(q, p) > 0);
	if (p->failed)
		took_down(q, p);
}

/* One turn of one process. */
static void
turn(struct asking *q, struct handler *p)
{
	if (handler_ready(p))
		give(q, p);
	else
		handler_write(p);
	hear(q, p);
}

/* Has every process failed again and again? */
static bool
hopeless(const struct handlers *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->v[i].failures < GIVE_UP)
			return false;
	return true;
}

static enum err
gave_up(struct handlers *h, struct fail *f)
{
	for (size_t i = 0; i < h->n; i++)
		handler_end(&h->v[i], 0);
	return FAIL(f, E_SYS,
	    "handler %s does not work: it %s; what it wrote to its standard error is in the log",
	    h->terms.name, h->v[0].why);
}

static void
write_requests(struct asking *q)
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

enum err
handlers_ask(
    struct handlers *h, struct arena *a, struct ask *asks, size_t n, struct fail *f)
{
	struct asking q = { h, a, asks, n, n, 0 };

	write_requests(&q);
	for (size_t i = 0; i < h->n; i++) {
		/* A handler that did not work at all is tried once each time. */
		if (h->v[i].failures >= GIVE_UP)
			h->v[i].failures = GIVE_UP - 1;
		/* What ended while it had nothing to do takes nothing down. */
		hear(&q, &h->v[i]);
		hear(&q, &h->v[i]);
	}
	while (q.open > 0 && !h->spec.stopping(h->spec.stopping_arg)) {
		for (size_t i = 0; i < h->n; i++)
			turn(&q, &h->v[i]);
		if (q.open > 0 && hopeless(h))
			return gave_up(h, f);
		if (q.open > 0)
			wait_for_any(h);
	}
	if (q.open > 0)
		handlers_close(h); /* late answers belong to nobody */
	return OK;
}
