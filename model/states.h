/* SPDX-License-Identifier: Apache-2.0 */
/* Enumerations shared with the wire and the database, from states.def. */
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

/* "UNSENT" for (KIND_RESULT, 2); "?" for a value that no state has. */
const char *state_name(enum state_kind, int value);
/* May a row go from one state to another?  Staying is always legal. */
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
 * workunit.transitioner_flags; the last two are ours: its results are only for the
 * targets in the table assignment, one per host; of a broadcast one always waits.
 */
enum { WU_NO_TRANSITION = 1, WU_NO_NEW_RESULTS = 2, WU_TARGETED = 4, WU_BROADCAST = 8 };
/* exit statuses that the client sets (protocol.md 4.8) */
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
/* result.ready: model/ready.def has its meanings.  The numbers of that table in C ...
 */
#define READY_INT(digits)  READY_INT_(digits)
#define READY_INT_(digits) INT64_C(digits)
enum { READY_SHARDS = READY_SHARDS_, READY_PRIORITIES = READY_PRIORITIES_ };
#define READY_URGENT   (-READY_INT(READY_URGENT_))
#define READY_TARGETED (-READY_INT(READY_TARGETED_))
/* ... of a job of a file set that was sent, until the ledger has it: so the index of
 * unsent jobs is also the list of what is to be written there ... */
#define READY_SENT (-READY_INT(READY_SENT_))
/* ... and as text. */
#define READY_TEXT(digits)  READY_TEXT_(digits)
#define READY_TEXT_(digits) #digits

#endif
