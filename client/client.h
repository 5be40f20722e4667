/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One host attached to one project: the context that the shells of the client share.
 * The policy is in rules/client; here are the effects: network, processes, files.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "client/net.h"
#include "client/state.h"
#include "lib/rng.h"
#include "model/request.h"
#include "rules/client/policy.h"

struct client_options {
	const char *url, *key, *dir;
	double ncpus;
	double min_buffer_s, extra_buffer_s;
	struct backoff rpc_backoff, transfer_backoff;
	const struct policy *policy;
	int32_t max_errors; /* leave after so many failed tasks; 0 = never */
};

struct client {
	struct client_options o;
	struct arena a;    /* one round of the loop */
	struct arena keep; /* the state's rows */
	struct state *st;
	bool changed;                       /* the state is to be saved */
	int64_t save_after_ms;              /* clock_mono_ms(): it failed just now */
	char *dir, *files_dir, *state_path; /* absolute, process lifetime */
	struct arena process;
	struct net *net;
	struct rng rng;
	int64_t now;
	struct fail fail;
	int events; /* descriptor of events.log */
	int32_t errors;
	char *platform;
	char *orders; /* of this round: the lines of DIR/orders */
	/* What the policy remembers; a client that starts anew begins anew. */
	struct cw_acct acct;
	double accounted_at;
};

/* --- events.c --- */
/* One line "TIME EVENT key=value ..." in events.log: what this host did, never
 * rewritten. */
void event(struct client *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- hostinfo.c --- */
void hostinfo(
    struct client *, struct request *); /* fills what describes this machine */
void benchmark(struct client *);        /* p_fpops and p_iops, once a month */

/* --- rpc.c --- */
enum err rpc_fetch_master(struct client *); /* scheduler URLs of the master page */
enum err rpc_scheduler(struct client *, const struct contact *);

/* --- take_reply.c --- */
struct rpc_hope { /* of a request */
	bool work;
	size_t reports;
};
/* Takes it all over into the state; what it replaces goes when the state is saved. */
void rpc_take_reply(struct client *, const struct reply *, const struct rpc_hope *);

/* --- decide.c --- */
/* Starts, stops and continues tasks as the policy says. */
void decide_tasks(struct client *);
/* Makes contact if the policy says so; false if it does not. */
bool decide_contact(struct client *);

/* --- transfer.c --- */
char *file_path(struct client *, const char *name);
/* Looks again at all files: what a dead client or somebody else left. */
void transfer_clean_up(struct client *);
/* Moves one file, or a part of it, if one is due; false if there was nothing to do. */
bool transfer_step(struct client *);
bool uploads_pending(const struct client *, const struct ctask *);

/* --- task.c --- */
bool task_files_ready(
    struct client *, const struct ctask *, int32_t *error, const char **failed);
double task_remaining_s(const struct client *, const struct ctask *);
void task_start(struct client *, struct ctask *);
/* It stays in memory and goes on where it was. */
void task_pause(struct client *, struct ctask *);
void task_resume(struct client *, struct ctask *);
/* Looks at a running task; finishes it if its program has ended. */
void task_poll(struct client *, struct ctask *);
void task_fail(struct client *, struct ctask *, int32_t state, int32_t exit_status,
    const char *why);
void task_abort(struct client *, struct ctask *, int32_t exit_status, const char *why);
void task_stop_all(struct client *); /* at exit; they start again next time */
char *task_stderr(
    struct client *, const struct ctask *); /* stderr_out for the report */
/* Marks what is started from now on as this host's. */
void task_mark(struct client *);
/* Ends programs that a killed client left behind: all that carry the mark. */
void task_clean_up(struct client *);

#endif
