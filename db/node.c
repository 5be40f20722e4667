/* SPDX-License-Identifier: Apache-2.0 */
#include "db/node.h"

#include <string.h>
#include "config.h"
#include "db/stmts.h"
#include "lib/banned.h"

enum { SEEN_LATELY_S = 60 };

static enum err
check_same_project(const struct row_node *r, const struct node *n, struct fail *f)
{
	bool lately = r->idle_s >= 0 && r->idle_s < SEEN_LATELY_S;

	if (!lately || strcmp(r->place, n->place) == 0)
		return OK;
	return FAIL(f, E_CONFIG,
	    "another machine or directory runs as node %s of this project; give this one a name of its own: locus node join --as NAME",
	    n->name);
}

enum err
node_register(struct db *db, const struct node *n, struct fail *f)
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

enum err
node_is_drained(struct db *db, const char *name, bool *drained, struct fail *f)
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

enum err
node_set_drained(struct db *db, const char *name, bool drained, struct fail *f)
{
	int64_t matched = 0;

	TRY(db_exec(
	    db, f, &matched, NODE_SET_DRAINED, .drained = drained, .name = name));
	if (matched == 0)
		return FAIL(f, E_NOTFOUND, "no node is named %s", name);
	return OK;
}

enum err
node_service_seen(struct db *db, const char *node, const char *service,
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

enum err
node_service_ended(struct db *db, const char *node, const char *service, struct fail *f)
{
	return db_exec(db, f, NULL, NODE_SERVICE_ENDED, .node = node, .name = service);
}

enum err
nodes_list(
    struct db *db, struct arena *a, struct row_node **rows, size_t *n, struct fail *f)
{
	return db_query(db, a, f, rows, n, NODES);
}

enum err
node_services(struct db *db, struct arena *a, struct row_node_service **rows, size_t *n,
    struct fail *f)
{
	return db_query(db, a, f, rows, n, NODE_SERVICES);
}

enum err
node_forget(struct db *db, const char *name, struct fail *f)
{
	int64_t matched = 0;

	TRY(db_exec(db, f, NULL, NODE_SERVICES_DELETE, .node = name));
	TRY(db_exec(db, f, &matched, NODE_DELETE, .name = name));
	if (matched == 0)
		return FAIL(f, E_NOTFOUND, "no node is named %s", name);
	return OK;
}
