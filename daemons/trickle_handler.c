/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands the messages of running tasks (trickle-up) to the project and removes them. A
 * message is removed, and its answer queued, in one transaction after the handler has
 * taken it, so a crash may hand it over twice but never loses one. What nobody takes
 * is removed when it is old, and counted.
 */
#include <string.h>
#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "lib/banned.h"

enum {
	PAGE = DB_LIST_MAX, /* messages asked about at once, and removed together */
	STEP_MOST = 1024,   /* messages read in a step */
	AGAIN_S = 60,       /* between two readings of what stays, */
	RETRY_S = 5,        /* if some of it waits for another try */
	PAUSE_FIRST_S = 5,
	PAUSE_MOST_S = 600,
	DOWN_MOST = 65536, /* bytes of an answer */
	LINE_MOST = 254,   /* bytes of its lines */
	DAY_S = 86400
};

struct trickles {
	char *variety;
	int64_t keep_days;
	struct handler_options handler;
	int64_t after;    /* messages up to this id have been seen */
	int64_t again_at; /* when to begin with the first one again */
	int64_t aged;     /* removed because of their age, since the last log line */
	struct item_backoff *backoff;
};

#define OF(member) FIELD_OF(struct trickles, member)
static const struct field options[] = {
	{ "variety", OF(variety), "NAME",
	    "only messages of this variety; default: all" },
	{ "keep_days", OF(keep_days), "N",
	    "remove messages that nobody has taken for N days", .min = 1, .max = 36500,
	    .def = "30" },
#include "daemons/handler_options.def"
	{ 0 },
};

/* One message being handed over. */
struct handed {
	const struct row_trickle *row;
	const char *result; /* name of its task's result; "" = unknown */
	const char *down;   /* lines for the task, NULL = none */
};
/* Messages that are removed in one transaction. */
struct removal {
	struct handed *v;
	size_t n;
};

static enum err trickles_start(struct daemon_ctx *x)
{
	struct trickles *o = x->own;

	o->backoff = daemon_backoff(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	return handlers_open(x, &o->handler, "trickle_handler", "", daemon_stopping);
}

#define COLUMN(member) FIELD_OF(struct row_trickle, member)
static const struct field message_columns[] = {
	{ "id", COLUMN(id) },
	{ "time", COLUMN(create_time) },
	{ "host", COLUMN(hostid) },
	{ "variety", COLUMN(variety) },
};
#undef COLUMN

static enum err message_ask(
    struct daemon_ctx *x, void *item, const char *doc, json_t *request)
{
	const struct handed *h = item;
	json_t *m = json_object();

	(void)x, (void)doc;
	handler_columns(m, message_columns, N(message_columns), h->row);
	json_object_set_new(m, "result", json_lines(h->result));
	json_object_set_new(m, "xml", json_lines(h->row->xml));
	json_object_set_new(request, "message", m);
	return OK;
}

/* Can clients take the answer (protocol.md 2.8)? */
static const char *down_wrong(const struct handed *h)
{
	if (h->result[0] == '\0')
		return "has an answer for a message that names no result";
	if (strlen(h->down) > DOWN_MOST)
		return "has an answer of more than 65536 bytes";
	if (strstr(h->down, "</trickle_down>") != NULL)
		return "has an answer that contains </trickle_down>";
	for (const char *p = h->down; *p != '\0';) {
		size_t len = strcspn(p, "\n");
		if (len > LINE_MOST)
			return "has an answer with a line of more than 254 bytes";
		p += len + (p[len] == '\n');
	}
	return NULL;
}

static const char *message_take(struct daemon_ctx *x, void *item, json_t *reply)
{
	struct handed *h = item;

	(void)x;
	h->down = json_string_value(json_object_get(reply, "down"));
	return h->down == NULL ? NULL : down_wrong(h);
}

static enum err queue_answer(struct daemon_ctx *x, const struct handed *h)
{
	size_t n = strlen(h->down);
	const char *end = n > 0 && h->down[n - 1] != '\n' ? "\n" : "";
	const char *xml = arena_printf(&x->a,
	    "<trickle_down>\n<result_name>%s</result_name>\n<time>%lld</time>\n%s%s</trickle_down>\n",
	    h->result, (long long)x->now, h->down, end);

	return message_insert(
	    x->db, h->row->hostid, x->now, "trickle_down", xml, &x->fail);
}

static enum err tx_remove(struct daemon_ctx *x, void *arg)
{
	const struct removal *r = arg;
	int64_t ids[PAGE];

	for (size_t i = 0; i < r->n; i++) {
		ids[i] = r->v[i].row->id;
		if (r->v[i].down != NULL)
			TRY(queue_answer(x, &r->v[i]));
	}
	return trickles_delete(x->db, ids, r->n, &x->fail);
}

static enum err remove_messages(struct daemon_ctx *x, struct removal *r, size_t *done)
{
	const struct trickles *o = x->own;

	if (r->n > 0)
		TRY(daemon_transaction(x, tx_remove, r));
	for (size_t i = 0; i < r->n; i++)
		item_backoff_forget(o->backoff, r->v[i].row->id);
	*done += r->n;
	return OK;
}

/* What becomes of a message that the handler has not taken. */
static enum err message_stays(
    struct daemon_ctx *x, const struct handed *h, const struct question *q)
{
	const struct trickles *o = x->own;
	const char *label = arena_printf(&x->a, "[MESSAGE#%lld] of host %lld",
	    (long long)h->row->id, (long long)h->row->hostid);

	if (q->end == ASK_FAILED)
		return daemon_item_ended(x, o->backoff, h->row->id, label,
		    FAIL(&x->fail, E_SYS, "%s", q->why));
	if (q->end == ASK_LATER) {
		log_warn("%s: %s; asked again later", label, q->why);
		daemon_trouble(x, "%s: %s", label, q->why);
		item_backoff_wait(o->backoff, h->row->id, x->now);
	}
	return OK;
}

/* Asks the handler about messages, and removes those that it takes. */
static enum err hand_messages(struct daemon_ctx *x, struct removal *r, size_t *done)
{
	static const struct verb trickle = { "trickle", message_ask, message_take };
	struct question *q = NEWN(&x->a, struct question, r->n + 1);
	const char *broken;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		q[i].item = &r->v[i];
	TRY(handlers_ask(x, &trickle, q, r->n, &broken));
	for (size_t i = 0; i < r->n; i++)
		if (q[i].end == ASK_DONE)
			r->v[n++] = r->v[i];
		else
			TRY(message_stays(x, &r->v[i], &q[i]));
	r->n = n;
	TRY(remove_messages(x, r, done));
	if (n > 0)
		log_info("%zu messages handled", n);
	return broken != NULL ? FAIL(&x->fail, E_SYS, "%s", broken) : OK;
}

/* Sorts a page: what is ours and too old, and what the handler is asked about. */
static void sort_page(struct daemon_ctx *x, const struct row_trickle *rows, size_t n,
    struct removal *old, struct removal *due)
{
	const struct trickles *o = x->own;

	for (size_t i = 0; i < n; i++) {
		const struct row_trickle *row = &rows[i];
		char *result = xml_between(&x->a, row->xml, "result_name");
		struct handed h = { row, result == NULL ? "" : text_trim(result),
			NULL };
		if (o->variety != NULL && strcmp(row->variety, o->variety) != 0)
			continue;
		if (row->create_time < x->now - o->keep_days * DAY_S)
			old->v[old->n++] = h;
		else if (x->handlers != NULL &&
			 !item_backoff_must_wait(o->backoff, row->id, x->now))
			due->v[due->n++] = h;
	}
}

/* Handles the next page of messages; *last: there are no more. */
static enum err one_page(struct daemon_ctx *x, bool *last, size_t *done)
{
	struct trickles *o = x->own;
	struct removal old = { NEWN(&x->a, struct handed, PAGE), 0 },
		       due = { NEWN(&x->a, struct handed, PAGE), 0 };
	struct row_trickle *rows = NULL;
	size_t n = 0;

	TRY(trickles_new(x->db, &x->a, o->after, PAGE, &rows, &n, &x->fail));
	sort_page(x, rows, n, &old, &due);
	TRY(remove_messages(x, &old, done));
	o->aged += (int64_t)old.n;
	if (due.n > 0)
		TRY(hand_messages(x, &due, done));
	*last = n < PAGE;
	if (n > 0)
		o->after = rows[n - 1].id;
	return OK;
}

static enum err trickles_step(struct daemon_ctx *x, size_t *done)
{
	struct trickles *o = x->own;
	bool last = false;
	enum err e = OK;

	/* What stays is not read again in each step: there may be much of it. */
	if (x->now >= o->again_at) {
		o->after = 0;
		o->again_at = x->now + (o->backoff->used > 0 ? RETRY_S : AGAIN_S);
	}
	for (size_t i = 0; i < STEP_MOST && e == OK && !last && !daemon_stopping(x);
	     i += PAGE)
		e = one_page(x, &last, done);
	if (e != OK)
		o->again_at = 0;
	if (o->aged > 0 && (last || e != OK)) {
		log_warn("%lld messages removed that nobody has taken for %lld days",
		    (long long)o->aged, (long long)o->keep_days);
		o->aged = 0;
	}
	return e;
}

int main(int argc, char **argv)
{
	static const struct daemon trickle_handler = {
		.name = "trickle_handler",
		.purpose =
		    "Hands messages of running tasks to the project's handler, and removes them.",
		.idle_ms = 1000,
		.bell = DOORBELL_TRICKLE_HANDLER,
		.own_size = sizeof(struct trickles),
		.options = options,
		.start = trickles_start,
		.step = trickles_step,
	};

	return daemon_main(&trickle_handler, argc, argv);
}
