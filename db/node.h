/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machines of a project, and what runs there. Rows of node_service are for people
 * and for draining: no decision about jobs rests on them.
 */
#ifndef DB_NODE_H
#define DB_NODE_H

#include "db/db.h"
#include "model/identity.h"

/*
 * Leases: which instance of a daemon does a share of the work, however many machines
 * run one (locus-cluster(7)). A lease is a row that carries a random token. Its
 * holder renews it; another instance takes it once it is free, has expired by the
 * database's clock, or was not renewed for its whole term by the other's own clock.
 * Each transaction of the holder starts with lease_renew(), so what a holder that was
 * paused, cut off or believed dead still tries to write is refused: correctness rests
 * on the token, never on a clock.
 */

struct lease_holder {
	const char *node, *service; /* "web2", "validator-stars" */
	const char *place; /* digest of machine and directory (model/identity.h) */
};

enum { LEASE_HOLDER_MOST = 200 };
/* What one instance knows of a lease. */
struct lease_watch {
	int64_t token, seq;             /* as last read */
	int64_t since_ms;               /* unchanged since, monotonic; 0 = never read */
	bool alive;                     /* was renewed while this instance watched */
	char holder[LEASE_HOLDER_MOST]; /* "validator-stars on web2", for messages; "" =
	                                   none */
};

struct lease_claim {
	const char *name;
	struct lease_holder me;
	int64_t token, term_s;
	/* Does a process of this service still run at this place? NULL = not asked. */
	bool (*runs)(void *ctx, const char *service);
	void *ctx;
};
/*
 * Takes the lease for c->me with c->token, a new one, if that is allowed; else only
 * updates *w. The caller is the only process of its service at its place, so a lease
 * in its own name is left over. *taken: is it ours now?
 */
enum err lease_take(struct db *, const struct lease_claim *, struct lease_watch *,
    bool *taken, struct fail *);
/* *held: false if another instance has taken it; then nothing was changed. */
enum err lease_renew(
    struct db *, const char *name, int64_t token, bool *held, struct fail *);
/* Lets another instance take it at once; no error if it is not ours any more. */
enum err lease_release(struct db *, const char *name, int64_t token, struct fail *);
enum err leases_list(
    struct db *, struct arena *, struct row_lease **, size_t *n, struct fail *);

/*
 * Finds the row of this node, or makes it. E_CONFIG: another machine, or a directory
 * of another project, has registered the name, and was seen in the last minute.
 */
enum err node_register(struct db *, const struct node *, struct fail *);
/* *drained: has an admin drained this node? false if the node has no row. */
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
