/* SPDX-License-Identifier: Apache-2.0 */
/* What supply (rules/sched/supply.h) and the database exchange: a query and its
 * rows. Plain data. */
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

/* Maximum number of items in a query's list, as many as one statement takes. */
enum { SUPPLY_LIST_MAX = 64 };

/* How a file set came into the snapshot. */
enum set_origin { SET_HELD, SET_PICKED, SET_SEARCHED };

/* Only the arguments of the query's kind are set (model/supply_queries.def). */
struct supply_query {
	enum supply_kind kind;
	enum supply_stage stage; /* why the query is made */
	/* for people: the file set, or minus the app id; 0 = several */
	int64_t subject;
	/* Lock rows as they are read, and skip rows that others have locked; a
	 * transaction must be open. */
	bool lock;
	bool unlock;         /* roll this transaction back before the query */
	int64_t once;        /* key of the once rule (supply_once_key()); 0 = none */
	int64_t userid;      /* the account whose last jobs are asked for */
	int64_t ready;       /* as result.ready: a file set */
	int64_t first, last; /* range of result.ready; UPTO: last is a result id */
	int64_t urgent_first, urgent_last;
	int64_t multi_first, multi_last; /* range of assignment.multi */
	int64_t after, nth;
	int64_t sent_by; /* s UTC */
	size_t most;     /* maximum of rows; SETS: of file sets to add */
	const int64_t *ids;
	size_t nids; /* at most SUPPLY_LIST_MAX; SETS: any number */
	char *const *names;
	size_t nnames;
	enum set_origin origin;
	bool open_only; /* SETS: leave out sets that the admin holds back */
};

struct supply_pair {
	int64_t id, value;
};

/* The answer; fields that the kind does not answer are 0. */
struct supply_rows {
	size_t n; /* length of the array that is set */
	struct job *jobs;
	struct supply_pair *pairs;
	int64_t *ids;
	char **names;
	struct fileset *sets;
	struct snap_member *members; /* their field held is set */
	bool found;                  /* number is valid */
	int64_t number;
};

/* The codes of kinds and stages in traces, and their texts for people. */
const char *supply_kind_name(enum supply_kind);
const char *supply_stage_name(enum supply_stage);
/* Return NULL for an unknown code. */
const char *supply_kind_text(const char *code);
const char *supply_stage_text(const char *code);

#endif
