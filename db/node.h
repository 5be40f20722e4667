/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines of a project, and what runs there.  Rows of node_service are for people
 * and for draining: no decision about jobs rests on them.
 */
#ifndef DB_NODE_H
#define DB_NODE_H

#include "db/db.h"
#include "model/identity.h"

/*
 * Finds the row of this node, or makes it.  E_CONFIG: another machine, or a directory
 * of another project, has registered the name, and was seen in the last minute.
 */
enum err node_register(struct db *, const struct node *, struct fail *);
/* *drained: has an admin drained this node?  false if the node has no row. */
enum err node_is_drained(struct db *, const char *name, bool *drained, struct fail *);
/* E_NOTFOUND: no such node. */
enum err node_set_drained(struct db *, const char *name, bool drained, struct fail *);
/* Notes that a service runs; starts: it has just started. */
enum err node_service_seen(struct db *, const char *node, const char *service,
    const char *state, bool starts, struct fail *);
enum err node_service_ended(
    struct db *, const char *node, const char *service, struct fail *);
enum err nodes_list(
    struct db *, struct arena *, struct row_node **, size_t *n, struct fail *);
enum err node_services(
    struct db *, struct arena *, struct row_node_service **, size_t *n, struct fail *);
/* Forgets a node and its services; E_NOTFOUND. */
enum err node_forget(struct db *, const char *name, struct fail *);

#endif
