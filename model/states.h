/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerations that the wire and the database share, from states.def. */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include <stdbool.h>
#include <stdint.h>
#include "model/ready.def"

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
 * transition_time of a workunit that needs no transition: later than any time.  BOINC's
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

#endif
