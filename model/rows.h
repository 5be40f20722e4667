/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed rows. Each row shape has one .def file, with one line per column in SELECT
 * order; the struct, the column table that binds it to SQL, and the check against the
 * live schema are derived from it. Column names are those of a BOINC project's database
 * (protocol.md 9); additions of ours are marked in schema.sql. NULL in the database is
 * 0 or "" here.
 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/field.h"
#include "model/ready.def"
#include "model/tally.def"

/* Enumerations that the wire and the database share, from states.def. */

enum state_value { /* RESULT_UNSENT, OUTCOME_SUCCESS, VALIDATE_VALID, ... */
#define STATE(kind, name, value, to) kind##_##name = value,
#include "model/states.def"
#undef STATE
};

enum state_kind {
	KIND_RESULT,
	KIND_OUTCOME,
	KIND_VALIDATE,
	KIND_ASSIMILATE,
	KIND_FILE_DELETE,
	KIND_CLIENT
};

/* "UNSENT" for (KIND_RESULT, 2); "?" for an undefined value. */
const char *state_name(enum state_kind, int value);
/* May a row go from one state to another? Staying is always legal. */
bool state_may_become(enum state_kind, int from, int to);

/* workunit.error_mask bits (protocol.md 4.7) */
enum {
	WU_ERROR_COULDNT_SEND = 1,
	WU_ERROR_TOO_MANY_ERRORS = 2,
	WU_ERROR_TOO_MANY_SUCCESS = 4,
	WU_ERROR_TOO_MANY_TOTAL = 8,
	WU_ERROR_CANCELLED = 16,
	WU_ERROR_NO_CANONICAL = 32
};
/*
 * workunit.transitioner_flags. The last two are ours: the workunit's results are only
 * for the targets in the table assignment, one per host; a broadcast workunit always
 * has one unsent result.
 */
enum { WU_NO_TRANSITION = 1, WU_NO_NEW_RESULTS = 2, WU_TARGETED = 4, WU_BROADCAST = 8 };
/* Exit statuses that the client sets (protocol.md 4.8). */
enum {
	EXIT_UNKNOWN = -162,       /* the report has no exit_status */
	EXIT_UNSTARTED_LATE = 200, /* not started by its deadline */
	EXIT_ABORTED_BY_PROJECT = 202,
	EXIT_ABORTED_BY_USER = 203
};
/* host.max_results_day of a host that gets no work. */
enum { HOST_BANNED = -1 };
/*
 * Is a host or account with this mark of a ban still banned? until: when the ban ends
 * by itself, 0 = it does not; both in s UTC.
 */
bool ban_holds(bool banned, int64_t until, int64_t now);
/* fileset.paused, set by the admin. */
enum { FILESET_OPEN, FILESET_PAUSED, FILESET_DRAINING };
/*
 * transition_time of a workunit that needs no transition: later than any time. BOINC's
 * 2147483647 is 19 January 2038; a workunit that still has it is visited once then.
 */
#define TRANSITION_NEVER INT64_MAX
/*
 * transition_time of a workunit that waits until the last one of its batch is in: no
 * daemon looks at it before it is released.
 */
#define TRANSITION_STAGED (INT64_MAX - 1)
/* batch.state (protocol.md 4.7). */
enum { BATCH_INIT, BATCH_IN_PROGRESS, BATCH_COMPLETE, BATCH_ABORTED, BATCH_RETIRED };
/* result.ready: model/ready.def has its meanings. Its numbers as C constants ... */
#define READY_INT(digits)  READY_INT_(digits)
#define READY_INT_(digits) INT64_C(digits)
enum { READY_SHARDS = READY_SHARDS_, READY_PRIORITIES = READY_PRIORITIES_ };
#define READY_URGENT   (-READY_INT(READY_URGENT_))
#define READY_TARGETED (-READY_INT(READY_TARGETED_))
/*
 * ... of a sent job of a file set, until the ledger has it: the index of unsent jobs
 * thereby also lists what the ledger still lacks ...
 */
#define READY_SENT (-READY_INT(READY_SENT_))
/* ... and as text. */
#define READY_TEXT(digits)  READY_TEXT_(digits)
#define READY_TEXT_(digits) #digits

struct workunit;
/* result.ready of an unsent result of the workunit: its file set, or its shard. */
int64_t result_ready(const struct workunit *, int32_t priority);

/* A column is a field that has the column's name, or its alias in the statement. */
typedef int32_t col_i32;
typedef int64_t col_i64;
typedef double col_f64;
typedef char *col_str; /* NUL-terminated, never NULL in a fetched row */

#define COL(name, type) col_##type name;
struct host {
#include "model/host.def"
};
struct user {
#include "model/user.def"
};
struct user_info { /* the user row as web RPCs need it */
#include "model/user_info.def"
};
struct team {
#include "model/team.def"
};
struct app {
#include "model/app.def"
};
struct platform {
#include "model/platform.def"
};
struct app_version {
#include "model/app_version.def"
};
struct host_app_version {
#include "model/host_app_version.def"
};
struct workunit {
#include "model/workunit.def"
};
struct result {
#include "model/result.def"
};
/* a candidate: an unsent or lost result with the demands of its workunit */
struct job {
#include "model/job.def"
};
struct file {
#include "model/file.def"
};
struct fileset {
#include "model/fileset.def"
};
#undef COL

/* For each shape: its name, column table, number of columns and size of a row. */
struct row_shape {
	const char *name;
	const struct field *cols;
	size_t ncols, size;
};
extern const struct row_shape shape_host, shape_user, shape_app, shape_platform,
    shape_app_version, shape_host_app_version, shape_workunit, shape_result, shape_job,
    shape_file, shape_fileset, shape_user_info, shape_team;

/*
 * MD5 digests (32 hex digits) of derived account keys: of is that of the weak key for
 * which the other two, the old weak key and the old RSS key, stay valid.
 */
struct user_keys {
	const char *of, *weak, *rss;
};

/*
 * Are the workunit of that name, or the result of that name, its row and its files kept
 * for ever? They are if the name contains "nodelete", as in BOINC.
 */
bool row_is_kept(const char *name);

#endif
