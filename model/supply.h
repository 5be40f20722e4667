/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What supply (rules/sched/supply.h) and the database say to each other: a query and
 * its rows.  Plain data.
 */
#ifndef MODEL_SUPPLY_H
#define MODEL_SUPPLY_H

#include "model/rows.h"
#include "model/snapshot.h"

enum supply_kind {
#define QUERY(name, arguments, answer, text) SUPPLY_##name,
#include "model/supply_queries.def"
#undef QUERY
	SUPPLY__KINDS
};
enum supply_stage {
#define STAGE(name, passes, reader, why) STAGE_##name,
#include "model/supply_stages.def"
#undef STAGE
	STAGE__MAX
};

/* Items in a list of a query: what a statement takes at once. */
enum { SUPPLY_LIST_MAX = 64 };

/* How a file set came into the snapshot. */
enum set_origin { SET_HELD, SET_PICKED, SET_SEARCHED };

/* Only the arguments of its kind are set (model/supply_queries.def). */
struct supply_query {
	enum supply_kind kind;
	enum supply_stage stage; /* why it is made */
	int64_t subject; /* for people: the file set, or minus the app; 0 = several */
	/* Rows are locked as they are read, and rows locked by others are skipped: a
	 * transaction has to be open. */
	bool lock;
	bool unlock;         /* roll that transaction back before the query */
	int64_t once;        /* key of the once rule, 0 = none (supply_once_key()) */
	int64_t userid;      /* whose last jobs */
	int64_t ready;       /* of result.ready: a file set */
	int64_t first, last; /* range of result.ready; UPTO: last is a result id */
	int64_t urgent_first, urgent_last;
	int64_t multi_first, multi_last; /* of assignment.multi */
	int64_t after, nth;
	int64_t sent_by; /* s UTC */
	size_t most;     /* rows; SETS: file sets that are added */
	const int64_t *ids;
	size_t nids; /* SETS: any number; else at most SUPPLY_LIST_MAX */
	char *const *names;
	size_t nnames;
	enum set_origin origin;
	bool open_only; /* SETS: those that the admin holds back are left out */
};

struct supply_pair {
	int64_t id, value;
};

/* The answer; what the kind does not answer is 0. */
struct supply_rows {
	size_t n; /* of the array that is set */
	struct job *jobs;
	struct supply_pair *pairs;
	int64_t *ids;
	char **names;
	struct fileset *sets;
	struct snap_member *members; /* held is set */
	bool found;                  /* there is a number: */
	int64_t number;
};

/* The codes that records hold, and texts for people. */
const char *supply_kind_name(enum supply_kind);
const char *supply_stage_name(enum supply_stage);
/* NULL: there is no such code. */
const char *supply_kind_text(const char *code);
const char *supply_stage_text(const char *code);

#endif
