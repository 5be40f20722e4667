/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real host and the projects it is attached to: the parts' shared data and functions.
 * The policy is in rules/client; the effects are here: network, processes, files.
 */
#ifndef CLIENT_CLIENT_H
#define CLIENT_CLIENT_H

#include "client/events.h"
#include "client/net.h"
#include "client/preferences.h"
#include "client/state.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/rng.h"
#include "model/request.h"
#include "rules/client/policy.h"

struct attach { /* --url, --key, --share; NULL, < 0: not given */
	const char *url, *key;
	double share;
};
struct coproc { /* --coproc */
	char *name;
	double count, flops; /* number of instances; FLOPS of one instance */
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
	/* Of contacts and transfers; max_s 0 = the usual bounds. */
	struct backoff backoff;
	const struct policy *policy;
	double ram_part; /* fraction of the memory that tasks may use */
	int64_t nice;    /* of the tasks' processes; see nice(2) */
	/* Given as options, which override the account's preferences. */
	bool own_buffer, own_ram, own_ncpus;
	/* Preempted tasks quit instead of staying in memory. */
	bool quit_when_stopped;
	const char *proxy, *no_proxy; /* NULL: as the environment says */
	bool quiet;                   /* nothing on the terminal */
	int64_t gui_port;   /* TCP port of GUI RPC; 0: any free one; < 0: none */
	int64_t max_errors; /* exit after this many failed tasks; 0 = never */
	char *platform;
};

/* The stock client whose requests, files and calls locus-client writes and understands.
 */
enum { CLIENT_MAJOR = 8, CLIENT_MINOR = 0 };

/* Why the host may not do something now. */
enum hindrance {
#define HINDRANCE(name, number, words) HINDER_##name,
#include "client/hindrances.def"
#undef HINDRANCE
};

/* What else goes on in the machine; see machine.c. */
struct machine {
	bool on_batteries, in_use;
	double busy_pct;   /* of all processors, by other programs */
	int64_t looked_at; /* s UTC */
	uint32_t prefs;    /* prefs_changes at that time */
	/* The last look at the load, s UTC, and what was found: seconds of all
	 * processors that were worked, and that the tasks and the client took. */
	int64_t load_at;
	double worked_s, own_s, last_pct;
};

struct control;
struct client {
	struct client_options options;
	struct arena scratch; /* for one round of the loop */
	struct arena keep;    /* for the state's rows */
	struct state *state;
	bool changed; /* the state must be saved before any network traffic */
	/* The accounts changed; to be saved within ACCOUNTS_S. */
	bool accounts_changed;
	int64_t saved_at; /* s UTC */
	/* clock_mono_ms() before which not to retry a failed save. */
	int64_t save_after_ms;
	char *dir, *state_path; /* absolute, process lifetime */
	struct arena process;
	struct net *net;
	struct rng rng;
	int64_t now;
	/* clock_mono_ms() at state->fractions_at; 0: set by an earlier run. */
	int64_t measured_ms;
	double ram_bytes;             /* of the machine */
	struct rq_prefs prefs;        /* what the user prefers, as far as it is given */
	struct host_prefs host_prefs; /* what applies */
	struct fs_seen override_seen;
	uint32_t prefs_changes, prefs_told; /* told to programs */
	char prefs_md5[MD5_HEX];            /* of their text */
	int64_t beat_after_ms;              /* see app_beat_all() */
	struct fail fail;
	size_t transfer_turn; /* the project that may transfer a file next */
	int events;           /* file descriptor of events.log */
	int32_t errors;
	char *orders; /* the lines of DIR/orders, read in this round */
	struct {
		enum hindrance run, gpu, network;
	} hindered;
	struct control *control; /* its sockets; NULL: none */
	char *gui_password;      /* NULL: nobody is let in */
	struct messages *messages;
	struct machine machine;
	double net_bytes;     /* net_bytes() as of the last round */
	const char *root;     /* "": where /proc, /sys and /dev are */
	bool resting;         /* see throttle_tasks() */
	bool disk_full;       /* the projects' files use more than they may */
	int64_t disk_seen_at; /* s UTC */
	uint32_t disk_prefs;  /* prefs_changes at that time */
	int64_t started_at;
};

/* --- options.c --- */
/* Returns -1 to go on, otherwise the exit code. */
int client_options(struct client *, int argc, char **argv);

/* --- attach.c --- */
/* Loads the state or creates one, and attaches to the projects given as options.
 * E_CONFIG: an option is missing; the text says which. */
enum err client_attach(struct client *);
/* Detaches from the project given as option and removes all that it has here. */
enum err client_detach(struct client *);
/* Sets *url to the canonical form of a URL, in the scratch arena. E_CONFIG: it is
 * not one. */
enum err attach_url(struct client *, const char *given, const char **url);
/* Attaches, or changes key and share of a project. */
enum err project_attach(struct client *, const struct attach *);
/* Ends and forgets all tasks of the project, and its files go when the state is saved;
 * the host stays attached. */
void project_reset(struct client *, struct cproject *);
/* Ends its tasks, and removes the project with all that it has here. */
enum err project_detach(struct client *, struct cproject *);
/* Detaches from what is attached twice and has no task left. Moves projects. */
void project_merge_twins(struct client *);

/* --- attach.c: same project --- */
/* Are these attachments to one project, as far as is known? */
bool same_project(struct client *, const struct cproject *, const struct cproject *);
/* A new attachment has read its master page: is its scheduler that of another one? */
void same_project_schedulers(struct client *, struct cproject *);
/* A reply has named the project's URL (NULL: it has not). */
void same_project_said(struct client *, struct cproject *, const char *said);

/* --- state.c: save --- */
/* Saves the state if it changed. Returns false while saving fails; then the client
 * must not use the network, or a host that is killed would forget what the project
 * knows. */
bool client_save(struct client *);

/* --- machine.c --- */
/* Looks at the machine every ten seconds, and when the preferences have changed. */
void machine_look(struct client *);

/* --- allowed.c --- */
extern const char *const hindrance_words[]; /* by enum hindrance */
extern const int32_t hindrance_numbers[];   /* as in GUI RPC */
/* Finds out what hinders the host from computing and from using the network; call it
 * first in each round, after orders_read(). */
void allowed_update(struct client *);
enum mode_kind { MODE_AUTO, MODE_ALWAYS, MODE_NEVER };
/* Sets a mode: for for_s seconds, after which the earlier one applies again; <= 0: for
 * good. */
void mode_set(struct client *, struct mode *, enum mode_kind, double for_s);
enum mode_kind mode_now(const struct client *, const struct mode *);

/* --- events.c --- */
/* Appends a line "TIME EVENT key=value ..." to events.log, the record of what this host
 * did; never rewritten. */
void event_log(struct client *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* --- hostinfo.c --- */
/* Fills in the description of this machine for the project; NULL: for no project. */
void hostinfo_fill(struct client *, const struct cproject *, struct request *);
/* Measures p_fpops and p_iops, once a month. */
void hostinfo_benchmark(struct client *);
double hostinfo_ram_bytes(void); /* 0: unknown */

/* --- allowed.c: what the user orders --- */
void orders_read(struct client *); /* call first in each round */
/* Is there a line with just this word, or with the word and this name? */
bool orders_all(const struct client *, const char *word);
bool orders_name(const struct client *, const char *word, const char *name);

/* --- preferences.c --- */
/* Reads the preferences in the state and in DIR/global_prefs_override.xml, which
 * override them one by one. */
void preferences_read(struct client *);
char *preferences_override_path(struct client *);
/* Does so if the file has changed; call it in each round. */
void preferences_look(struct client *);
/* Logs a warning if bad, a malformed element of rq_prefs or project_prefs, is not
 * NULL. */
void preferences_complain(const char *whose, const char *bad);
/* Takes over a reply's preferences if they are the newest known. */
void preferences_take(struct client *, const struct cproject *, const struct reply *);
/* Fraction of the machine's memory. */
double preferences_ram_part(const struct client *, bool in_use);
/* Returns how many CPUs tasks may use, in whole ones, but at least one. */
double preferences_ncpus(const struct client *);
/* The preferences in effect: command line, then the account's, then defaults. */
struct cw_prefs preferences_now(const struct client *);

/* --- allowed.c: hours --- */
/* Is the hour of the day, 0 to 24, among those? */
bool hours_allow(const struct hours *, double hour);

/* --- allowed.c: disk --- */
struct disk {
	double total, free; /* bytes, of the volume of the host's directory */
	double used;        /* by the projects' files */
	double allowed;     /* what they may use, by the preferences */
};
struct disk disk_now(const struct client *);
double disk_used_bytes(const struct cproject *);
double disk_limit_bytes(
    const struct host_prefs *, double total, double free, double used);

/* --- allowed.c: processors --- */
/* Do programs rest at this time, if they may use this percentage of it? */
bool throttle_rests(double percent, int64_t ms);
/* Stops or continues the running programs, as the preferences say; call it several
 * times a second. Changes no row of the state. */
void throttle_tasks(struct client *);

/* --- allowed.c: averages --- */
void availability_measure(struct client *); /* updates the averages */
struct cw_fractions availability_now(const struct client *);

/* --- view.c: the host as its rules see it --- */
struct view {
	struct client_world world; /* projects in the state's order */
	struct rr_sim rr;
	struct ctask **task; /* per task of the world */
};
/* Loads the host as of now, after adding what was used so far to the accounts, which
 * also go into the state. */
void view_load(struct client *, struct view *);
/* Stores in the state what the rules changed. */
void view_store(struct client *, const struct client_world *);

/* --- task_facts.c: resource --- */
/* Returns the resource that a version uses; -1 if the host does not have it. */
int32_t version_resource(const struct client *, const struct rp_app_version *);

/* --- view.c: standing --- */
/* Updates the project's standing after a task that ended well, or failed. */
void standing_task_ended(
    struct client *, struct cproject *, const struct ctask *, bool well);

/* --- rpc.c --- */
/* Fetches the master page; returns the number of its scheduler URLs and of those that
 * are new. */
enum err rpc_fetch_master(
    struct client *, struct cproject *, int32_t *nurls, int32_t *nnew);
struct answer {
	struct reply *rp;
	size_t nreports; /* in the request */
	char **trickles; /* files of the messages in the request */
	size_t ntrickles;
};
struct request;
/* Makes the request of a contact, in scratch memory; without messages of trickles. */
struct request *rpc_request(
    struct client *, const struct view *, const struct contact *);
/* Asks the project's schedulers in turn until one answers. */
enum err rpc_scheduler(
    struct client *, const struct view *, const struct contact *, struct answer *);

/* --- take_reply.c: take project --- */

/* --- take_reply.c --- */
/* Takes a whole reply over into the state; what it replaces goes when the state is
 * saved. Returns the facts that the rules need. */
void take_reply(
    struct client *, struct cproject *, const struct answer *, struct reply_facts *);
/* Makes files non-sticky whose lifetime is over; they go when the state is saved. */
void expire_files(struct client *);

/* --- enact.c --- */
/* Starts, stops and resumes tasks as the policy says. */
void enact_tasks(struct client *);
/* Makes contact if the policy says so; returns false if not. */
bool enact_contact(struct client *);
/* Takes an answer over and informs the rules. */
void enact_replied(struct client *, const struct contact *, const struct answer *);

/* --- transfer.c --- */
char *transfer_project_dir(struct client *, const struct cproject *);
char *transfer_file_path(struct client *, const struct cproject *, const char *name);
/* Checks all files again, and removes what a killed client or others left. */
void transfer_clean_up(struct client *);
/* Transfers one file, or a part of it, if one is due; false if none is. */
bool transfer_step(struct client *);
/* Is the file to be uploaded? */
bool transfer_uploads(const struct cfile *);
bool transfer_uploads_pending(const struct cproject *, const struct ctask *);
/* Files to upload; those among them that have not failed yet; files that tasks wait for
 * and that are in back-off. */
struct traffic {
	uint32_t nuploads, nfresh, nstalled;
};
struct traffic transfer_traffic(struct client *, const struct cproject *);

/* Removes the project's file of that name, complete or partial. */
void transfer_remove(struct client *, const struct cproject *, const char *name);
/* Gives the file up for good; error is a BOINC error number. */
void transfer_give_up(
    struct client *, const struct cproject *, struct cfile *, int32_t error);
/* The file is no longer what was downloaded: fetches it again after a delay, a limited
 * number of times. */
void transfer_again(
    struct client *, const struct cproject *, struct cfile *, const char *why);

/* --- transfer.c: signature --- */
/* Checks the signature of a version's file with this MD5. Returns 0 if the project
 * signed it, otherwise the BOINC error number; c->fail has the text. */
int32_t signature_error(
    struct client *, const struct cproject *, const struct cfile *, const char *md5);

/* --- task_facts.c: what the host learned about its projects' estimates --- */
/* Returns the same as the mean of the project's versions for a resource. */
double estimates_correction(struct client *, const struct cproject *, int32_t rsc);
/* Learns from a task that succeeded. */
void estimates_learn(struct client *, struct cproject *, const struct ctask *);

/* --- task_facts.c: slots --- */
/* Creates the directory of all slots. E_DENIED if there is one that this client did
 * not make: tasks of another client may be in it. */
enum err slots_make(struct client *);
char *slot_dir(struct client *, const struct ctask *);

/* --- slot.c --- */
/* Starts the task's program in a slot with its files. A slot in which it ran before is
 * kept whole, whether or not the client knows of a checkpoint there. E_RETRY: a file
 * of its version is not what was signed. */
enum err slot_launch(struct client *, struct cproject *, struct ctask *);
/* Call it before anything leaves the slot: if the client is killed then, the task
 * starts again in a fresh one. */
enum err slot_spoil(struct client *, const struct ctask *);
void slot_leave(struct client *, struct ctask *);
/* Reads the program's fraction done and the time of its last checkpoint. */
void slot_look(struct client *, struct ctask *);
/* Did the program leave boinc_finish_called? Then status is what its first line says,
 * which is negative where a program reports an error of the API or of Windows. */
bool slot_finished(struct client *, const struct ctask *, int32_t *status);
/* Did the program leave boinc_temporary_exit? Then it wants to be started again after
 * *s seconds, and says why. */
bool slot_wants_pause(struct client *, const struct ctask *, double *s, char **why);
/* stderr_out for the report. */
char *slot_stderr(struct client *, const struct ctask *);
/* Returns the name by which the program opens a file in its slot; the file there is the
 * file itself or a link file. */
const char *slot_open_name(const struct rp_file_ref *);

/* --- task_facts.c --- */
bool task_files_ready(
    const struct cproject *, const struct ctask *, int32_t *error, const char **failed);
/* Run time in seconds, without what was lost. */
double task_ran_s(const struct client *, const struct ctask *);
double task_remaining_s(
    const struct client *, const struct cproject *, const struct ctask *);
/* How long the program may run (protocol.md 13.6.3). */
int64_t task_time_limit_s(
    const struct client *, const struct cproject *, const struct ctask *);

/* --- task.c --- */
void task_start(struct client *, struct cproject *, struct ctask *);
/* Stops the program, which stays in memory. */
void task_pause(struct client *, struct ctask *);
void task_resume(struct client *, struct ctask *);
/* Ends the program; the task resumes later in its slot, from whatever the program kept
 * there. */
void task_quit(struct client *, struct ctask *);
/* Checks a running task, and finishes it if its program has ended. */
void task_poll(struct client *, struct cproject *, struct ctask *);
void task_fail(struct client *, struct cproject *, struct ctask *, int32_t state,
    int32_t exit_status, const char *why);
void task_abort(struct client *, struct cproject *, struct ctask *, int32_t exit_status,
    const char *why);
/* Ends the program at once and empties the slot; the caller forgets the task. */
void task_drop(struct client *, struct ctask *);
/* At exit; the tasks start again in the next run. */
void task_stop_all(struct client *);
/* Marks programs started from now on as this host's. */
void task_mark(struct client *);
/* Kills programs that a killed client left behind: all that carry the mark. */
void task_clean_up(struct client *);

#endif
