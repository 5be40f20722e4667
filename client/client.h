/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One real host and the projects that it is attached to: what its parts share.  The
 * policy is in rules/client; here are the effects: network, processes, files.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "client/net.h"
#include "client/state.h"
#include "lib/rng.h"
#include "model/request.h"
#include "rules/client/policy.h"

struct attach { /* --url, --key, --share; NULL, < 0: not told */
	const char *url, *key;
	double share;
};
struct coproc { /* --coproc */
	char *name;
	double count, flops; /* instances; of one of them, operations/s */
};
struct client_options {
	struct attach *attach;
	size_t nattach;
	const char *detach; /* a master URL, NULL = none */
	const char *dir;
	double ncpus;
	struct coproc coproc[CW_RSC_MOST - 1];
	size_t ncoprocs;
	double min_buffer_s, extra_buffer_s;
	struct backoff backoff; /* of contacts and transfers; max_s 0 = as usual */
	const struct policy *policy;
	double ram_part;          /* of the memory, that tasks may use */
	bool own_buffer, own_ram; /* told: the account's preferences do not matter */
	bool quit_when_stopped;   /* tasks that are preempted do not stay in memory */
	int32_t max_errors;       /* leave after so many failed tasks; 0 = never */
	char *platform;
};

struct client {
	struct client_options options;
	struct arena scratch; /* one round of the loop */
	struct arena keep;    /* the state's rows */
	struct state *state;
	bool changed;           /* the state is to be saved */
	bool accounts_changed;  /* it is to be saved some time */
	int64_t saved_at;       /* s UTC */
	int64_t save_after_ms;  /* clock_mono_ms(): it failed just now */
	char *dir, *state_path; /* absolute, process lifetime */
	struct arena process;
	struct net *net;
	struct rng rng;
	int64_t now;
	int64_t measured_ms;   /* clock_mono_ms() of st->fractions_at; 0: another run */
	double ram_bytes;      /* of the machine */
	struct rq_prefs prefs; /* as in the state, read */
	struct fail fail;
	size_t transfer_turn; /* the project that may move a file next */
	int events;           /* descriptor of events.log */
	int32_t errors;
	char *orders; /* of this round: the lines of DIR/orders */
};

/* --- options.c --- */
/* -1: go on; else the exit code. */
int client_options(struct client *, int argc, char **argv);

/* --- attach.c --- */
/*
 * Loads the state or makes a new one, and attaches to the projects of the options.
 * E_CONFIG: in its words what is missing.
 */
enum err client_attach(struct client *);
/* Leaves the project of the options: what it had here goes. */
enum err client_detach(struct client *);

/* --- events.c --- */
/* One line "TIME EVENT key=value ..." in events.log: what this host did, never
 * rewritten. */
void event_log(struct client *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- hostinfo.c --- */
/* Fills what describes this machine, for the project. */
void hostinfo_fill(struct client *, const struct cproject *, struct request *);
void hostinfo_benchmark(struct client *); /* p_fpops and p_iops, once a month */
double hostinfo_ram_bytes(void);          /* 0: not known */

/* --- orders.c: what the user wants --- */
void orders_read(struct client *); /* first thing in each round */
/* Is there a line with this word alone, or with the word and this name? */
bool orders_all(const struct client *, const char *word);
bool orders_name(const struct client *, const char *word, const char *name);

/* --- preferences.c --- */
void preferences_read(struct client *); /* those of the state */
/* Those of a reply, if they are the newest that are known. */
/* A line for the log if bad, of rq_prefs or project_prefs, is there. */
void preferences_complain(const char *kind, const char *bad);
void preferences_take(struct client *, const struct cproject *, const struct reply *);
double preferences_ram_part(const struct client *); /* of the machine's memory */
/* What counts now: the command line, then the account's, then the defaults. */
struct cw_prefs preferences_now(const struct client *);

/* --- availability.c --- */
void availability_measure(struct client *); /* brings it up to date */
struct cw_fractions availability_now(const struct client *);

/* --- view.c: the host as its rules see it --- */
struct view {
	struct client_world world; /* projects as in the state */
	struct rr_sim rr;
	struct ctask **task; /* per task of the world */
};
/* As of now; what was used until now is in the accounts, and they in the state. */
void view_load(struct client *, struct view *);
/* The projects alone, as they are kept: it takes no longer for many tasks. */
void view_load_projects(struct client *, struct view *);
/* What the rules changed goes into the state. */
void view_store(struct client *, const struct client_world *);

/* --- resource.c --- */
/* Resource of a version; -1: the host has none of that type. */
int32_t version_resource(const struct client *, const struct rp_app_version *);

/* --- standing.c --- */
/* The standing of its project is another after a task that ended well, or not. */
void standing_task_ended(
    struct client *, struct cproject *, const struct ctask *, bool well);

/* --- rpc.c --- */
/* Scheduler URLs of the master page: how many, and how many that are new. */
enum err rpc_fetch_master(
    struct client *, struct cproject *, int32_t *nurls, int32_t *nnew);
struct answer {
	struct reply *rp;
	size_t nreports; /* that the request had */
};
/* Asks its schedulers in turn until one answers. */
enum err rpc_scheduler(
    struct client *, const struct view *, const struct contact *, struct answer *);

/* --- take_project.c --- */
/* Identity, key and preferences of a reply. */
void take_project(struct client *, struct cproject *, const struct reply *);

/* --- take_reply.c --- */
/*
 * Takes it all over into the state; what it replaces goes when the state is saved.  The
 * facts are for the rules.
 */
void take_reply(
    struct client *, struct cproject *, const struct answer *, struct reply_facts *);
/* Files whose time is over are sticky no more; they go when the state is saved. */
void expire_files(struct client *);

/* --- decide.c --- */
/* Starts, stops and continues tasks as the policy says. */
void enact_tasks(struct client *);
/* Makes contact if the policy says so; false if it does not. */
bool enact_contact(struct client *);
/* Takes an answer over and tells the rules. */
void enact_replied(struct client *, const struct contact *, const struct answer *);

/* --- transfer.c --- */
char *transfer_project_dir(struct client *, const struct cproject *);
char *transfer_file_path(struct client *, const struct cproject *, const char *name);
/* Looks again at all files: what a dead client or somebody else left. */
void transfer_clean_up(struct client *);
/* Moves one file, or a part of it, if one is due; false if there was nothing to do. */
bool transfer_step(struct client *);
bool transfer_uploads_pending(const struct cproject *, const struct ctask *);
/* Files to be uploaded, those among them not tried yet, and files for which tasks wait
 * that cannot be had now. */
struct traffic {
	uint32_t nuploads, nfresh, nstalled;
};
struct traffic transfer_traffic(struct client *, const struct cproject *);

/* The files of a project that have that name, or begin to, go. */
void transfer_remove(struct client *, const struct cproject *, const char *name);
/* It cannot be had, for good: error is a BOINC error number. */
void transfer_give_up(
    struct client *, const struct cproject *, struct cfile *, int32_t error);
/* It is here and is not what came: it is fetched once more, in a while; not for ever.
 */
void transfer_again(
    struct client *, const struct cproject *, struct cfile *, const char *why);

/* --- signature.c --- */
/*
 * A file of a version with this MD5: 0 if the project signed it, else the BOINC error
 * number, and c->fail tells.
 */
int32_t signature_error(
    struct client *, const struct cproject *, const struct cfile *, const char *md5);

/* --- app_file.c: what may run --- */
/*
 * Opens the file at path, which is that file of a version or its copy, and checks what
 * it opened.  E_RETRY: it is not what the project signed; f is fetched again or has
 * failed.
 */
enum err app_file_open(struct client *, const struct cproject *, struct cfile *f,
    const char *path, int *fd);

/* --- slot.c --- */
/* The directory of all slots.  E_DENIED if one is there that is not ours: another
 * client's tasks may be in it. */
enum err slots_make(struct client *);
char *slot_dir(struct client *, const struct ctask *);
/*
 * Its program, in a slot with its files; it goes on from its checkpoint if it has one.
 * E_RETRY: a file of its version is not what was signed.
 */
enum err slot_launch(struct client *, const struct cproject *, struct ctask *);
void slot_leave(struct client *, struct ctask *);
/* What the program says: how far it is, when it made its last checkpoint. */
void slot_look(struct client *, struct ctask *);
/* First line of boinc_finish_called; -1 if the program did not leave it. */
int32_t slot_finish_status(struct client *, const struct ctask *);
char *slot_stderr(struct client *, const struct ctask *); /* stderr_out, to report */
/* What the program opens by this name is in the slot itself, or a file that says where
 * it is. */
const char *slot_open_name(const struct rp_file_ref *);

/* --- task_facts.c --- */
bool task_files_ready(
    const struct cproject *, const struct ctask *, int32_t *error, const char **failed);
/* Seconds that it ran, as far as that was not lost. */
double task_ran_s(const struct client *, const struct ctask *);
/* Estimated run time of the whole, before all correction. */
double task_static_s(
    const struct client *, const struct cproject *, const struct ctask *);
double task_remaining_s(
    const struct client *, const struct cproject *, const struct ctask *);
/* How long its program may run (protocol.md 13.6.3). */
int64_t task_time_limit_s(
    const struct client *, const struct cproject *, const struct ctask *);

/* --- task.c --- */
void task_start(struct client *, struct cproject *, struct ctask *);
/* It stays in memory and goes on where it was. */
void task_pause(struct client *, struct ctask *);
void task_resume(struct client *, struct ctask *);
/* It ends, and goes on later from its checkpoint, or from its beginning. */
void task_quit(struct client *, struct ctask *);
/* Looks at a running task; finishes it if its program has ended. */
void task_poll(struct client *, struct cproject *, struct ctask *);
void task_fail(struct client *, struct cproject *, struct ctask *, int32_t state,
    int32_t exit_status, const char *why);
void task_abort(struct client *, struct cproject *, struct ctask *, int32_t exit_status,
    const char *why);
void task_stop_all(struct client *); /* at exit; they start again next time */
/* Marks what is started from now on as this host's. */
void task_mark(struct client *);
/* Ends programs that a killed client left behind: all that carry the mark. */
void task_clean_up(struct client *);

#endif
