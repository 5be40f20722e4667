/* SPDX-License-Identifier: Apache-2.0 */
#include "db/node.h"

#include <string.h>
#include "config.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { MS = 1000 };

static void holder_text(char out[LEASE_HOLDER_MOST], const struct row_lease *r)
{
	struct arena a = { 0 };
	const char *text = arena_printf(&a, "%.90s on %.100s", r->service, r->node);

	memcpy(out, text, strlen(text) + 1);
	arena_free(&a);
}

/* Notes the row as read; a change of token or seq shows that its holder lives. */
static void watch_row(struct lease_watch *w, const struct row_lease *r)
{
	int64_t now_ms = clock_mono_ms();

	if (w->since_ms != 0 && w->token == r->token && w->seq == r->seq)
		return;
	w->alive = w->since_ms != 0 && w->token == r->token && r->token != 0;
	w->token = r->token;
	w->seq = r->seq;
	w->since_ms = now_ms == 0 ? 1 : now_ms;
	w->holder[0] = '\0';
	if (r->token != 0)
		holder_text(w->holder, r);
}

/*
 * May the lease be taken? An error here costs only a change of holder, as the token
 * guards every write.
 */
static bool lease_is_free(
    const struct lease_claim *c, const struct lease_watch *w, const struct row_lease *r)
{
	if (r->token == 0 || r->left_s <= 0)
		return true;
	/* The kernel knows whether a process of this machine still runs. */
	if (strcmp(r->place, c->me.place) == 0 && strcmp(r->node, c->me.node) == 0 &&
	    (strcmp(r->service, c->me.service) == 0 ||
		(c->runs != NULL && !c->runs(c->ctx, r->service))))
		return true;
	/* Nodes of a cluster have clocks of their own, which may differ. */
	return clock_mono_ms() - w->since_ms > r->term_s * MS;
}

static enum err lease_read(struct db *db, struct arena *a, const char *name,
    struct row_lease **r, struct fail *f)
{
	enum err e = db_row(db, a, f, r, LEASE_BY_NAME, .name = name);

	if (e != E_NOTFOUND)
		return e;
	e = db_exec(db, f, NULL, LEASE_INSERT, .name = name);
	if (e != OK && e != E_RACE)
		return e;
	return db_row(db, a, f, r, LEASE_BY_NAME, .name = name);
}

enum err lease_take(struct db *db, const struct lease_claim *c, struct lease_watch *w,
    bool *taken, struct fail *f)
{
	struct arena a = { 0 };
	struct row_lease *r = NULL;
	int64_t matched = 0;
	enum err e = lease_read(db, &a, c->name, &r, f);

	*taken = false;
	if (e == OK) {
		watch_row(w, r);
		/* Its COMMIT succeeded, but the answer was lost. */
		*taken = r->token == c->token;
	}
	if (e == OK && !*taken && lease_is_free(c, w, r)) {
		e = db_exec(db, f, &matched, LEASE_TAKE, .node = c->me.node,
		    .service = c->me.service, .place = c->me.place, .token = c->token,
		    .term_s = c->term_s, .name = c->name, .token_was = r->token,
		    .seq_was = r->seq);
		*taken = e == OK && matched == 1;
	}
	arena_free(&a);
	return e;
}

enum err lease_renew(
    struct db *db, const char *name, int64_t token, bool *held, struct fail *f)
{
	int64_t matched = 0;
	enum err e = db_exec(
	    db, f, &matched, LEASE_RENEW, .name = name, .token = token);

	*held = e != OK || matched == 1;
	return e;
}

enum err lease_release(struct db *db, const char *name, int64_t token, struct fail *f)
{
	return db_exec(db, f, NULL, LEASE_RELEASE, .name = name, .token = token);
}

enum err leases_list(
    struct db *db, struct arena *a, struct row_lease **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, LEASES);
}

enum { SEEN_LATELY_S = 60 };

static enum err check_same_project(
    const struct row_node *r, const struct node *n, struct fail *f)
{
	bool lately = r->idle_s >= 0 && r->idle_s < SEEN_LATELY_S;

	if (!lately || strcmp(r->place, n->place) == 0)
		return OK;
	return FAIL(f, E_CONFIG,
	    "another machine or directory runs as node %s of this project; give this one a name of its own: locus node join --as NAME",
	    n->name);
}

enum err node_register(struct db *db, const struct node *n, struct fail *f)
{
	struct arena a = { 0 };
	struct row_node *r = NULL;
	enum err e = db_row(db, &a, f, &r, NODE_BY_NAME, .name = n->name);

	if (e == E_NOTFOUND) {
		e = db_exec(db, f, NULL, NODE_INSERT, .name = n->name,
		    .place = n->place, .project = n->project);
		e = e == E_RACE ? OK : e; /* another service of this node */
	} else if (e == OK && strcmp(r->place, n->place) != 0) {
		e = check_same_project(r, n, f);
		if (e == OK)
			e = db_exec(db, f, NULL, NODE_SET_PLACE, .place = n->place,
			    .project = n->project, .name = n->name);
	}
	arena_free(&a);
	return e;
}

enum err node_is_drained(struct db *db, const char *name, bool *drained, struct fail *f)
{
	struct arena a = { 0 };
	struct row_node *r = NULL;
	enum err e = db_row(db, &a, f, &r, NODE_BY_NAME, .name = name);

	if (e == OK || e == E_NOTFOUND) {
		*drained = e == OK && r->drained != 0;
		e = OK;
	}
	arena_free(&a);
	return e;
}

enum err node_set_drained(struct db *db, const char *name, bool drained, struct fail *f)
{
	int64_t matched = 0;

	TRY(db_exec(
	    db, f, &matched, NODE_SET_DRAINED, .drained = drained, .name = name));
	if (matched == 0)
		return FAIL(f, E_NOTFOUND, "no node is named %s", name);
	return OK;
}

enum err node_service_seen(struct db *db, const char *node, const char *service,
    const char *state, bool starts, struct fail *f)
{
	int64_t matched = 0;
	enum err e = db_exec(db, f, &matched, NODE_SERVICE_SEEN, .state = state,
	    .version = PACKAGE_VERSION, .starts = starts, .node = node,
	    .name = service);

	if (e != OK || matched > 0)
		return e;
	e = db_exec(db, f, NULL, NODE_SERVICE_INSERT, .node = node, .name = service,
	    .version = PACKAGE_VERSION, .state = state);
	return e == E_RACE ? OK : e;
}

enum err node_service_ended(
    struct db *db, const char *node, const char *service, struct fail *f)
{
	return db_exec(db, f, NULL, NODE_SERVICE_ENDED, .node = node, .name = service);
}

enum err nodes_list(
    struct db *db, struct arena *a, struct row_node **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, NODES);
}

enum err node_services(struct db *db, struct arena *a, struct row_node_service **rows,
    size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, NODE_SERVICES);
}

enum err node_forget(struct db *db, const char *name, struct fail *f)
{
	int64_t matched = 0;

	TRY(db_exec(db, f, NULL, NODE_SERVICES_DELETE, .node = name));
	TRY(db_exec(db, f, &matched, NODE_DELETE, .name = name));
	if (matched == 0)
		return FAIL(f, E_NOTFOUND, "no node is named %s", name);
	return OK;
}
