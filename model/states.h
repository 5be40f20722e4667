/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerations shared with the wire and the database, from states.def. */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include <stdbool.h>
#include <stdint.h>

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

/* "UNSENT" for (KIND_RESULT, 2); "?" for a value that no state has. */
const char *state_name(enum state_kind, int value);
/* May a row go from one state to another?  Staying is always legal. */
bool state_may_become(enum state_kind, int from, int to);

/* workunit.error_mask bits (wire.md 4.7) */
enum {
	WU_ERROR_COULDNT_SEND = 1,
	WU_ERROR_TOO_MANY_ERRORS = 2,
	WU_ERROR_TOO_MANY_SUCCESS = 4,
	WU_ERROR_TOO_MANY_TOTAL = 8,
	WU_ERROR_CANCELLED = 16,
	WU_ERROR_NO_CANONICAL = 32
};
/*
 * workunit.transitioner_flags; the last two are ours: its results are only for the
 * targets in the table assignment, one per host; of a broadcast one always waits.
 */
enum { WU_NO_TRANSITION = 1, WU_NO_NEW_RESULTS = 2, WU_TARGETED = 4, WU_BROADCAST = 8 };
/* exit statuses that the client sets (wire.md 4.8) */
enum {
	EXIT_UNKNOWN = -162, /* no exit_status in the report */
	EXIT_ABORTED_BY_PROJECT = 202,
	EXIT_ABORTED_BY_USER = 203
};
/* host.max_results_day of one that gets no work */
enum { HOST_BANNED = -1 };
/* fileset.paused: what the admin holds back */
enum { FILESET_OPEN, FILESET_PAUSED, FILESET_DRAINING };
/* Next transition of a workunit that needs none: the largest value of BOINC's int
 * column. */
enum { TRANSITION_NEVER = 2147483647 };
/*
 * result.ready of a plain job: -(appid * 64 + workunit id mod 64) - 1, so that no
 * fileset id is ever equal to it (hot-path.md, plain jobs in 64 shards).
 */
enum { READY_SHARDS = 64 };
/*
 * The same of a plain job with a priority above 0, so that the index holds an app's
 * most urgent first: this, less the app's id times the number of priorities, less the
 * priority.
 */
#define READY_URGENT (-INT64_C(2305843009213693952))
enum { READY_PRIORITIES = 1048576 };
/* The same of a targeted or broadcast one: this minus the workunit's id. */
#define READY_TARGETED (-INT64_C(4611686018427387904))
/*
 * The same of a job of a file set that was sent, until the ledger has it.  So the
 * index of unsent jobs is also the list of what is to be written there.
 */
#define READY_SENT (-INT64_C(9223372036854775807))

#endif
