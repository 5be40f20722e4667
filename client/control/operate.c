/* SPDX-License-Identifier: Apache-2.0 */
/* The user's orders to a running host, carried out between the steps of a round. */
#include <string.h>
#include "client/control/control.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/banned.h"

/* Requests on the socket in the host's directory. */

static int put_piece(const char *text, size_t n, void *out)
{
	buf_put(out, text, n);
	return 0;
}

void local_put(struct buf *b, const json_t *o)
{
	json_dump_callback(o, put_piece, b, JSON_COMPACT | JSON_ENSURE_ASCII);
	buf_puts(b, "\n");
}

static void send_json(struct buf *out, json_t *o)
{
	local_put(out, o);
	json_decref(o);
}

static void send_error(struct buf *out, const char *why)
{
	json_t *o = json_object();

	json_object_set_new(o, "error", json_text(why));
	json_object_set_new(o, "exit", json_integer(1));
	send_json(out, o);
}

static const char *order_text(struct client *c, const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text == NULL ? NULL : arena_strdup(&c->scratch, text);
}

static void carry_out(
    struct client *c, enum operation op, const json_t *o, struct buf *out)
{
	const json_t *share = json_object_get(o, "share");
	struct order order = { .op = op,
		.url = order_text(c, o, "url"),
		.task = order_text(c, o, "task"),
		.key = order_text(c, o, "key"),
		.share = json_is_number(share) ? json_number_value(share) : -1 };
	const char *done;
	json_t *answer;
	enum err e = operate(c, &order, &done);

	if (e != OK) {
		send_error(out, c->fail.detail);
		return;
	}
	answer = json_object();
	json_object_set_new(answer, "done", json_text(done));
	send_json(out, answer);
}

static enum operation operation_find(const char *word);

/* Returns false if the request must wait. */
static bool answer_object(
    struct client *c, const json_t *o, bool may_change, struct buf *out)
{
	const char *word = json_string_value(json_object_get(o, "command"));
	enum operation op;
	json_t *shown;

	if (word == NULL) {
		send_error(out, "the request names no command");
		return true;
	}
	shown = show_host(c, word);
	if (shown != NULL) {
		send_json(out, shown);
		return true;
	}
	op = operation_find(word);
	if (op == OP_NONE) {
		send_error(
		    out, arena_printf(&c->scratch, "unknown command \"%.40s\"", word));
		return true;
	}
	if (may_change)
		carry_out(c, op, o, out);
	return may_change;
}

bool local_answer(
    struct client *c, char *line, size_t n, bool may_change, struct buf *out)
{
	json_t *o = json_loadb(line, n, 0, NULL);
	bool answered = true;

	if (!json_is_object(o))
		send_error(out, "the request is not a JSON object");
	else
		answered = answer_object(c, o, may_change, out);
	json_decref(o);
	return answered;
}

enum { ABORTED_BY_USER = 203, KEY_MOST = 255 };

enum target { ALL, ALL_PROJECTS, A_PROJECT, A_URL, A_TASK };

static const char no_project[] = "give the URL of a project";

enum err order_project(struct client *c, const char *url, struct cproject **p)
{
	const char *canonical;

	*p = NULL;
	if (url == NULL && c->state->nprojects == 1)
		*p = c->state->projects;
	if (url == NULL)
		return *p != NULL ? OK : FAIL(&c->fail, E_BADREQ, "%s", no_project);
	TRY(attach_url(c, url, &canonical));
	*p = state_project(c->state, canonical);
	return *p != NULL ? OK :
	                    FAIL(&c->fail, E_NOTFOUND,
				"this host is not attached to %s", canonical);
}

/* Finds a task by its name; url (may be NULL) says whose, if several projects have one
 * of that name. */
static enum err order_task(struct client *c, const char *url, const char *name,
    struct cproject **p, struct ctask **t)
{
	struct cproject *only = NULL;
	size_t found = 0;

	if (name == NULL)
		return FAIL(&c->fail, E_BADREQ, "give the name of a task");
	if (url != NULL)
		TRY(order_project(c, url, &only));
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *q = &c->state->projects[i];
		struct ctask *u = state_task(q, name);

		if (u == NULL || u->acked || (only != NULL && q != only))
			continue;
		*p = q;
		*t = u;
		found++;
	}
	if (found == 1)
		return OK;
	return found == 0 ?
	           FAIL(&c->fail, E_NOTFOUND, "no task is named %s", name) :
	           FAIL(&c->fail, E_BADREQ,
		       "several projects have a task named %s: give --url", name);
}

/* --- the operations; p and t are what the order acts on, NULL: the host --- */

static enum err switch_computing(
    struct client *c, struct cproject *p, struct ctask *t, bool off, const char **done)
{
	const char *what = t != NULL ? t->r.name :
	                   p != NULL ? p->master_url :
	                               "this host";

	if (t != NULL && t->ready)
		return FAIL(&c->fail, E_BADREQ, "task %s has ended", t->r.name);
	if (t != NULL) {
		t->suspended = off;
	} else if (p != NULL) {
		p->suspended = off;
	} else {
		mode_set(c, &c->state->run_mode, off ? MODE_NEVER : MODE_AUTO, 0);
		mode_set(c, &c->state->network_mode, off ? MODE_NEVER : MODE_AUTO, 0);
	}
	*done = arena_printf(&c->scratch, "%s %s", off ? "suspended" : "resumed", what);
	return OK;
}

static enum err do_suspend(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o;
	return switch_computing(c, p, t, true, done);
}

static enum err do_resume(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o;
	return switch_computing(c, p, t, false, done);
}

static void switch_requests(
    struct client *c, struct cproject *p, bool off, const char **done)
{
	for (size_t i = 0; i < c->state->nprojects; i++)
		if (p == NULL || p == &c->state->projects[i])
			c->state->projects[i].no_new_work = off;
	*done = arena_printf(&c->scratch, "%s tasks from %s", off ? "no more" : "again",
	    p == NULL ? "any project" : p->master_url);
}

static enum err do_nomorework(struct client *c, const struct order *o,
    struct cproject *p, struct ctask *t, const char **done)
{
	(void)o, (void)t;
	switch_requests(c, p, true, done);
	return OK;
}

static enum err do_allowmorework(struct client *c, const struct order *o,
    struct cproject *p, struct ctask *t, const char **done)
{
	(void)o, (void)t;
	switch_requests(c, p, false, done);
	return OK;
}

static enum err do_update(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o, (void)t;
	for (size_t i = 0; i < c->state->nprojects; i++)
		if (p == NULL || p == &c->state->projects[i])
			c->state->projects[i].rpc.user_request = true;
	*done = arena_printf(
	    &c->scratch, "%s is contacted", p == NULL ? "each project" : p->master_url);
	return OK;
}

static enum err do_abort(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o;
	if (t->ready)
		return FAIL(&c->fail, E_BADREQ, "task %s has ended", t->r.name);
	*done = arena_printf(&c->scratch, "aborted %s", t->r.name);
	task_abort(c, p, t, ABORTED_BY_USER, "aborted by user");
	return OK;
}

static enum err do_reset(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o, (void)t;
	project_reset(c, p);
	*done = arena_printf(&c->scratch, "reset %s", p->master_url);
	return OK;
}

static enum err do_attach(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	struct attach at = { .url = o->url, .key = o->key, .share = o->share };
	const char *url;

	(void)p, (void)t;
	if (o->url == NULL || o->key == NULL || o->key[0] == '\0')
		return FAIL(&c->fail, E_BADREQ,
		    "give the URL of a project and an account key for it");
	if (strlen(o->key) > KEY_MOST)
		return FAIL(&c->fail, E_BADREQ,
		    "an account key has at most %d characters", KEY_MOST);
	TRY(attach_url(c, o->url, &url));
	if (state_project(c->state, url) != NULL)
		return FAIL(
		    &c->fail, E_BADREQ, "this host is attached to %s already", url);
	TRY(project_attach(c, &at));
	*done = arena_printf(&c->scratch, "attached to %s", url);
	return OK;
}

static enum err do_detach(struct client *c, const struct order *o, struct cproject *p,
    struct ctask *t, const char **done)
{
	(void)o, (void)t;
	*done = arena_printf(&c->scratch, "detached from %s", p->master_url);
	return project_detach(c, p);
}

/* --- the table --- */

static const struct {
	const char *word;
	enum target on;
	enum err (*run)(struct client *, const struct order *, struct cproject *,
	    struct ctask *, const char **done);
} operations[] = {
#define OPERATION(word, on, function, arguments, help) { #word, on, function },
#include "client/control/operations.def"
#undef OPERATION
};

/* OP_NONE: there is no operation of that name. */
static enum operation operation_find(const char *word)
{
	for (size_t i = 0; i < N(operations); i++)
		if (strcmp(operations[i].word, word) == 0)
			return (enum operation)i;
	return OP_NONE;
}

static enum err order_target(
    struct client *c, const struct order *o, struct cproject **p, struct ctask **t)
{
	enum target on = operations[o->op].on;

	*p = NULL;
	*t = NULL;
	if (on == A_URL)
		return OK;
	if (on == A_TASK || (on == ALL && o->task != NULL))
		return order_task(c, o->url, o->task, p, t);
	if (o->task != NULL)
		return FAIL(
		    &c->fail, E_BADREQ, "%s acts on no task", operations[o->op].word);
	if (o->url != NULL)
		return order_project(c, o->url, p);
	return on == A_PROJECT ? FAIL(&c->fail, E_BADREQ, "%s", no_project) : OK;
}

enum err operate(struct client *c, const struct order *o, const char **done)
{
	struct cproject *p;
	struct ctask *t;

	TRY(order_target(c, o, &p, &t));
	TRY(operations[o->op].run(c, o, p, t, done));
	c->changed = true;
	log_info("by order: %s", *done);
	return OK;
}
