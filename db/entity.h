/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed wrappers around the statements, one .c file per entity. E_NOTFOUND: no such
 * row.
 */
#ifndef DB_ENTITY_H
#define DB_ENTITY_H

#include "db/db.h"
#include "model/decision.h"
#include "model/request.h"

struct id_share { /* an instance's share of the ids: id % n = i; n = 1 = all ids */
	int64_t n, i;
};

struct db_batch;

/* --- user.c --- */
enum err user_by_id(
    struct db *, struct arena *, int64_t id, struct user **, struct fail *);
enum err user_by_authenticator(
    struct db *, struct arena *, const char *, struct user **, struct fail *);
enum err user_by_email(
    struct db *, struct arena *, const char *, struct user **, struct fail *);
/* Inserts an account and fills its id; E_RACE if the e-mail address or authenticator is
 * taken; names may repeat. */
enum err user_insert(struct db *, struct user *, struct fail *);
enum err user_set_prefs(
    struct db *, int64_t id, const char *global_prefs, struct fail *);
/*
 * Serialises the transactions that call this for an account: others wait or, on other
 * nodes of a cluster, end with E_RETRY.
 */
enum err user_lock(struct db *, int64_t id, struct fail *);
enum err user_set_cpid(struct db *, int64_t id, const char *cpid, struct fail *);
/*
 * Replaces the password's hash if it is still was->passwd_hash; keeps the digests of
 * keys that were derived from it.
 */
enum err user_set_passwd_hash(struct db *, const struct user *was, const char *stored,
    const struct user_keys *, struct fail *);
enum err team_name(struct db *, struct arena *, int64_t id, char **name,
    struct fail *); /* "" = no team */

/* --- user.c: account: what web RPCs need from accounts and teams (protocol.md 7) ---
 */
enum err account_by_id(
    struct db *, struct arena *, int64_t id, struct user_info **, struct fail *);
enum err account_by_key(
    struct db *, struct arena *, const char *key, struct user_info **, struct fail *);
/* Did an account have this address at some time after `since`? E_NOTFOUND: no. */
enum err account_had_email(
    struct db *, const char *email, int64_t since, struct fail *);
/*
 * Inserts the account (as user_insert), its membership of team u->teamid, and its
 * owner's consent with the client's name as source; source NULL: stores no consent.
 * All or nothing.
 */
enum err account_insert(struct db *, struct user *u, const char *source, struct fail *);
/* Returns the newest 200 hosts. */
enum err account_hosts(struct db *, struct arena *, int64_t userid, struct host **,
    size_t *n, struct fail *);
/* E_NOTFOUND: the account has no such host. */
enum err account_host_venue(
    struct db *, int64_t userid, int64_t hostid, const char *venue, struct fail *);
/* Finds a team of this name that everyone may join. */
enum err team_to_join(struct db *, const char *name, int64_t *id, struct fail *);
enum err teams_by_ids(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct team **, size_t *nteams, struct fail *);
/* Finds at most 20 teams whose names begin with `start`. */
enum err teams_by_name(struct db *, struct arena *, const char *start, struct team **,
    size_t *n, struct fail *);

/* --- user.c: password token: digest is 64 hex digits; the token itself is not stored
 * --- */
/* Also removes the account's expired tokens. */
enum err password_token_insert(struct db *, int64_t userid, const char *digest,
    int64_t now, int64_t expire_time, struct fail *);
/* Returns the account of a token that has not expired; E_NOTFOUND: there is none. */
enum err password_token_user(
    struct db *, const char *digest, int64_t now, int64_t *userid, struct fail *);
/*
 * Sets the account's password as an admin does (USER_RESET_PASSWD) and removes all its
 * tokens. E_NOTFOUND: the token has been used meanwhile; nothing was changed.
 */
enum err password_token_use(struct db *, const char *digest, int64_t userid,
    const char *passwd_hash, struct fail *);

/* --- host.c --- */
enum err host_by_id(
    struct db *, struct arena *, int64_t id, struct host **, struct fail *);
struct row_host_account {
	struct host host;
	struct user user; /* the host's account; id 0 = none */
	struct snap_glance glance;
};
struct row_keyed_job {
	int64_t key; /* the host that has it, or the request that may get it */
	struct job job;
};
/*
 * Reads the existing ones of at most DB_LIST_MAX hosts, in no order. Whether the host
 * has jobs is only looked up for a single one; has_jobs: not even then, because it is
 * known that there are some.
 */
enum err hosts_and_accounts(struct db *, struct arena *, const int64_t *ids, size_t n,
    bool has_jobs, struct row_host_account **, size_t *nrows, struct fail *);
enum err host_by_cpid(struct db *, struct arena *, int64_t userid,
    const char *hashed_cpid, struct host **, struct fail *); /* newest */
enum err host_similar(struct db *, struct arena *, const struct host *like,
    struct host **, struct fail *); /* protocol.md 3.2 (4) */
/*
 * Returns when the n-th newest of the account's hosts made after `after` (s UTC) was
 * made, n > 0; 0 = there are fewer.
 */
enum err host_made(struct db *, int64_t userid, int64_t after, int64_t n,
    int64_t *create_time, struct fail *);
/*
 * Returns the n-th of the account's hosts with results in progress, except one host, in
 * no order, n > 0; 0 = there are fewer.
 */
enum err host_with_work(
    struct db *, int64_t userid, int64_t except, int64_t n, int64_t *id, struct fail *);
enum err host_insert(struct db *, struct host *, struct fail *); /* fills id */
/* Adds to a batch of HOST_SAVE_RPC: what an RPC changes of the host's row. */
void host_save_rpc_put(struct db_batch *, const struct host *, int64_t rpc_token);
enum err host_token(struct db *, int64_t id, int64_t *rpc_token, struct fail *);
/* Those of 1 to DB_LIST_MAX hosts, in no order. */
enum err host_app_versions(struct db *, struct arena *, const int64_t *hostids,
    size_t n, struct host_app_version **, size_t *nhavs, struct fail *);
/* Counts the hosts that made a request since then (whole days). */
enum err hosts_active(struct db *, int64_t since, int64_t *n, struct fail *);
/*
 * Stores the files that a host holds: writes only what differs from its rows
 * (host_file).
 */
enum err host_files_save(struct db *, struct arena *, int64_t hostid,
    const int64_t *file_ids, size_t n, int64_t now, struct fail *);

/*
 * Logs that clients send about themselves (protocol.md 1.1): the last of each kind is
 * kept, at most its last 1,000,000 bytes, starting with a whole line.
 */
enum host_log { LOG_TIME_STATS = 1, LOG_JOBS = 2 };
enum err host_log_store(struct db *, int64_t hostid, enum host_log, int64_t now,
    const char *text, struct fail *);
enum err host_logs_kept(struct db *, struct arena *, int64_t hostid, bool *time_stats,
    bool *jobs, struct fail *);

/* --- catalog.c --- */
enum err catalog_load(struct db *, struct arena *, struct catalog **, struct fail *);
enum err app_by_id(
    struct db *, struct arena *, int64_t id, struct app **, struct fail *);
enum err app_insert(struct db *, struct app *, struct fail *);
/* Updates all columns but name and create_time, by id. */
enum err app_update(struct db *, const struct app *, struct fail *);
enum err app_version_insert(struct db *, struct app_version *, struct fail *);
/* Returns all versions of an app, also deprecated ones, by id. */
enum err app_versions_of(struct db *, struct arena *, int64_t appid,
    struct app_version **, size_t *n, struct fail *);
enum err app_version_set_deprecated(
    struct db *, int64_t id, bool deprecated, struct fail *);
enum err platform_insert(struct db *, struct platform *, struct fail *);
/* Changes the name shown to users. */
enum err platform_update(struct db *, const struct platform *, struct fail *);

/* --- file.c --- */
enum err file_insert(
    struct db *, struct file *, struct fail *); /* E_RACE: the name is taken */
enum err fileset_insert(
    struct db *, struct fileset *, const int64_t *file_ids, size_t n, struct fail *);
/* Adds the files of a set that has none yet. */
enum err fileset_fill(
    struct db *, int64_t id, const int64_t *file_ids, size_t n, struct fail *);
enum err fileset_by_name(
    struct db *, struct arena *, const char *, struct fileset **, struct fail *);
enum err fileset_by_id(
    struct db *, struct arena *, int64_t, struct fileset **, struct fail *);
enum err fileset_set_next(struct db *, int64_t id, int32_t expect_next, int32_t next,
    struct fail *); /* E_RACE: gen_next has moved */
/* reason: why it is held back, "" = not said. */
enum err fileset_set_paused(
    struct db *, int64_t id, int32_t paused, const char *reason, struct fail *);
/* Drains the set, which file_deleter removes when no work needs it; ends with
 * fileset_set_paused(). now: s UTC. */
enum err fileset_order_removal(struct db *, int64_t id, int64_t now, struct fail *);
/* Where the jobs of a set come from; "" and 0 if it has nothing of its own. */
enum err fileset_source(struct db *, struct arena *, int64_t id,
    struct row_fileset_source *, struct fail *);
enum err fileset_source_set(
    struct db *, const struct row_fileset_source *, struct fail *);
/* Lists the sets of an app that are not held back and have fewer unsent jobs than they
 * should. */
enum err filesets_low(struct db *, struct arena *, int64_t appid, struct row_named **,
    size_t *n, struct fail *);
/* Returns target_nresults of a workunit of the set; E_NOTFOUND if there is none. */
enum err fileset_target(struct db *, int64_t id, int64_t *results, struct fail *);
/* Records that the file leaves the working set now. */
enum err fileset_dropped(struct db *, const char *name, int64_t now, struct fail *);
/* Returns the files of a file set by name, as templates number them. */
enum err fileset_files(struct db *, struct arena *, int64_t id, struct row_member **,
    size_t *n, struct fail *);
/* Returns the rows of the names that are registered, in any order. */
enum err files_by_names(struct db *, struct arena *, const char *const *names, size_t n,
    struct file **, size_t *nfiles, struct fail *);
enum err file_by_name(
    struct db *, struct arena *, const char *, struct file **, struct fail *);

/* --- workunit.c --- */
/* Inserts a workunit and fills its id; E_RACE: the name is taken. */
enum err workunit_insert(
    struct db *, struct workunit *, const char *xml_doc, struct fail *);
/*
 * Inserts n workunits as one batch, in the caller's transaction; fills their ids;
 * E_RACE: a name is taken.
 */
enum err workunits_insert(struct db *, struct arena *, struct workunit *const *,
    const char *const *xml_docs, size_t n, struct fail *);
/* Returns the ids of n names; 0 = no workunit has this name. */
enum err workunit_ids(struct db *, struct arena *, char *const *names, size_t n,
    int64_t *ids, struct fail *);
/*
 * Reads the existing workunits of at most DB_LIST_MAX ids, by id, and locks them until
 * the transaction ends.
 */
enum err workunits_lock(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct workunit **, size_t *nwus, struct fail *);
enum err workunit_by_id(
    struct db *, struct arena *, int64_t id, struct workunit **, struct fail *);
enum err workunit_by_name(
    struct db *, struct arena *, const char *, struct workunit **, struct fail *);
enum err workunit_xml_doc(
    struct db *, struct arena *, int64_t id, char **, struct fail *);
/*
 * Returns xml_doc of at most DB_LIST_MAX workunits in the order of ids; NULL = the
 * workunit is gone.
 */
enum err workunits_xml_docs(struct db *, struct arena *, const int64_t *ids, size_t n,
    const char **docs, struct fail *);
enum err workunits_due(struct db *, struct arena *, struct id_share, int64_t now,
    size_t max, struct workunit **, size_t *n, struct fail *);
enum err workunits_to_validate(struct db *, struct arena *, struct id_share,
    int64_t appid, size_t max, struct workunit **, size_t *n, struct fail *);
enum err workunits_to_assimilate(struct db *, struct arena *, struct id_share,
    int64_t appid, size_t max, struct workunit **, size_t *n, struct fail *);
/*
 * Locks workunits so that nobody else changes them or their results until the
 * transaction ends; ids ascending.
 */
enum err workunits_hold(
    struct db *, struct arena *, const int64_t *ids, size_t n, struct fail *);
/*
 * Sets transition_time to the earlier of it and `at`, and adds 1 to transition_seq; ids
 * ascending.
 */
enum err workunits_touch(
    struct db *, const int64_t *ids, size_t n, int64_t at, struct fail *);
/* As workunits_touch(), each id (a) with its own time (b). */
enum err workunits_touch_each(
    struct db *, const struct row_pair *, size_t n, struct fail *);
/*
 * Touches a workunit and binds it to a class of hosts, an app version, or both (0 =
 * not). E_RACE: it is bound differently already, and nothing was changed.
 */
enum err workunit_bind(struct db *, int64_t id, int32_t hr_class,
    int64_t app_version_id, int64_t at, struct fail *);

/*
 * Sets target_nresults and min_quorum of workunits with target_nresults 1 and no
 * canonical result to `results`; others stay. ids ascending, and touched before.
 */
enum err workunits_raise(
    struct db *, const int64_t *ids, size_t n, int32_t results, struct fail *);

/* --- result.c --- */
/*
 * Inserts a result: UNSENT, with ready from the workunit's file set or shard; fills id.
 * E_RACE: the name is taken.
 */
enum err result_insert(struct db *, const struct workunit *, struct result *,
    const char *xml_doc_in, uint32_t random, struct fail *);
/* Inserts many results as one batch, in the caller's transaction; does not fill ids. */
struct new_result {
	struct result r;
	const struct workunit *wu; /* its id must be set */
	const char *xml_doc_in;
	uint32_t random; /* its order among equals */
};
enum err results_insert(
    struct db *, struct arena *, struct new_result *, size_t n, struct fail *);
enum err results_of_workunit(struct db *, struct arena *, int64_t workunitid,
    struct result **, size_t *n, struct fail *);
/* Returns the results of at most DB_LIST_MAX workunits, by workunit and id. */
enum err results_of_workunits(struct db *, struct arena *, const int64_t *workunitids,
    size_t n, struct result **, size_t *nresults, struct fail *);
enum err result_by_id(
    struct db *, struct arena *, int64_t id, struct result **, struct fail *);
enum err result_by_name(
    struct db *, struct arena *, const char *, struct result **, struct fail *);
enum err result_xml_docs(struct db *, struct arena *, int64_t id, char **xml_doc_in,
    char **xml_doc_out, char **stderr_out, struct fail *);
/*
 * Returns xml_doc_in and xml_doc_out of at most DB_LIST_MAX results, of those that
 * exist.
 */
enum err results_files(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_docs **, size_t *ndocs, struct fail *);
/* As results_files(), with stderr_out. */
enum err results_docs(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct row_docs **, size_t *ndocs, struct fail *);
/*
 * Adds to a batch of RESULT_CLAIM: claims a job (performance.md 1 (W3)), which must be
 * UNSENT. Run by db_batch_all(): E_RACE if it is lost, or the once rule forbids it.
 */
void result_claim_put(struct db_batch *, const struct dec_send *, int64_t hostid,
    int64_t userid, int64_t now, int64_t stored_deadline);
/* Adds to a batch of RESULT_REPORT: stores a report (W2); expects the state in dec. */
void result_report_put(struct db_batch *, const struct dec_report *,
    const struct rq_report *, int64_t hostid, const struct user *, int64_t now);
/*
 * Locks results and reads what a commit expects of them; by id. pairs: ids ascending
 * (a), each with the key of the once rule that it is to get, 0 = none (b). Missing
 * results are left out.
 */
enum err results_hold(struct db *, struct arena *, const struct row_pair *pairs,
    size_t n, struct row_held_result **, size_t *nheld, struct fail *);
/*
 * Moves a result in progress from host `from` to hostid. E_RACE: it is not in progress
 * there.
 */
enum err result_to_host(
    struct db *, int64_t id, int64_t from, int64_t hostid, struct fail *);
enum err results_detach(struct db *, struct arena *, int64_t hostid, int64_t now,
    struct fail *); /* protocol.md 3.2; leaves received_time 0 */

/* --- snapshot.c, snap_held.c: the head of the snapshot, the same for scheduler, replay
 * and explain. Candidates are read by db/supply_rows.h. Reads only. --- */
/* In-progress jobs of each snapshot's host, by id, and behind them those of its
 * predecessor. */
enum err snapshots_in_progress(
    struct db *, struct arena *, struct snapshot *const *, size_t n, struct fail *);
/* The row of every reported name. Jobs in progress that the client neither reports nor
 * lists (lost, if it lists at all) get their blobs. */
enum err snapshot_reported(struct db *, struct arena *, const struct request *,
    struct snapshot *, struct fail *);
/* What became of the tasks that the client lists, and which of the account's hosts has
 * them. After snapshot_reported, whose rows it uses. */
enum err snapshot_others(struct db *, struct arena *, const struct request *,
    struct snapshot *, struct fail *);
struct held_sets;
/*
 * Adds the file sets that were chosen of those that the host holds, with their files:
 * held = the host has all of them. Unordered, no jobs yet. If some that may have work
 * were left out for their number, search.left is set.
 */
enum err snapshot_files(struct db *, struct arena *, const struct conf *,
    const struct held_sets *, int64_t now, struct snapshot *, struct fail *);
/* The newest unsent result of each of these filesets; 0 = none. The waiters' look. */
enum err filesets_newest(struct db *, struct arena *, const int64_t *ids, size_t n,
    int64_t *newest, struct fail *);
/* Is the last workunit of one of these filesets without any result yet, so that the
 * transitioner will make some? */
enum err filesets_unmade(
    struct db *, const int64_t *ids, size_t n, bool *unmade, struct fail *);

/* --- result.c: assignments --- */
enum target { TARGET_ALL, TARGET_HOST, TARGET_USER, TARGET_TEAM }; /* protocol.md 4.7 */
/*
 * Reserves the workunit's results, including those not sent yet, for one more target
 * (id 0 for TARGET_ALL); multi: every host of the target gets one. In the caller's
 * transaction.
 */
enum err assignment_add(struct db *, struct arena *, const struct workunit *,
    enum target, int64_t target_id, bool multi, int64_t now, struct fail *);
/* The same for a workunit that was inserted with these transitioner_flags. */
enum err assignment_row_add(struct db *, int64_t workunitid, enum target,
    int64_t target_id, bool multi, int64_t now, struct fail *);
/* Makes the workunit available to everybody again. */
enum err assignments_drop(
    struct db *, struct arena *, const struct workunit *, int64_t now, struct fail *);
/* --- host.c: messages --- */
enum err trickle_insert(
    struct db *, int64_t hostid, int64_t now, const struct rq_trickle *, struct fail *);
/* Returns the oldest messages for a host that have not been delivered, at most max. */
enum err messages_down(struct db *, struct arena *, int64_t hostid, size_t max,
    struct snap_message **, size_t *n, struct fail *);
/* E_RACE: another reply delivers it. */
enum err message_handled(struct db *, int64_t id, struct fail *);
enum err message_insert(struct db *, int64_t hostid, int64_t now, const char *variety,
    const char *xml, struct fail *);
/* Lists messages from hosts, ids above `after`, ascending, that no handler has taken.
 */
enum err trickles_new(struct db *, struct arena *, int64_t after, size_t max,
    struct row_trickle **, size_t *n, struct fail *);
/* Removes at most DB_LIST_MAX of them; those that are gone already are no error. */
enum err trickles_delete(struct db *, const int64_t *ids, size_t n, struct fail *);

#endif
