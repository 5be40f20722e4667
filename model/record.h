/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision record: what one RPC asked, what was considered, what was sent and why
 * each, what was not and why not, as one plain value that outlives the RPC.  The
 * scheduler keeps the last ones in ring files; locus explain shows them.
 */
#ifndef MODEL_RECORD_H
#define MODEL_RECORD_H

#include "lib/arena.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/rows.h"

enum { RECORD_VERSION = 1 };

#define DECISION(name, type) col_##type name;
struct rec_decision {
#include "model/record.def"
};
#define ASKED(name, type) col_##type name;
struct rec_asked {
#include "model/record.def"
};
#define REASON_COUNT(name, type) col_##type name;
struct rec_count {
#include "model/record.def"
};
#define CONSIDERED(name, type) col_##type name;
struct rec_file {
#include "model/record.def"
};
#define SENT(name, type) col_##type name;
struct rec_sent {
#include "model/record.def"
};
#define LEFT_OUT(name, type) col_##type name;
struct rec_left {
#include "model/record.def"
};
#define ORDERED_AWAY(name, type) col_##type name;
struct rec_delete {
#include "model/record.def"
};
#define SAID(name, type) col_##type name;
struct rec_message {
#include "model/record.def"
};

struct record {
	struct rec_decision d;
#define REC_LIST(kind, member)                                                         \
	struct rec_##kind *member;                                                     \
	size_t n##member;
#include "model/record.def"
};

enum { REC_LISTS = 7 };
struct rec_kind { /* where the rows of a list stand in struct record */
	const char *kind;
	const struct row_shape *shape;
	size_t rows, n; /* offsets of the pointer and of the count */
};
extern const struct row_shape shape_rec_decision;
extern const struct rec_kind rec_kinds[REC_LISTS];

struct record_from { /* NULL: it did not come so far */
	const struct conf *conf;
	const struct request *req;
	const struct snapshot *snap;
	const struct decision *dec;
	int64_t at, seed, rounds, lost, waited_ms, userid;
	const char *refused, *refused_for; /* "" = nothing */
};
/*
 * Lists are cut, so that a record has a bound whatever was asked: d.sends and the
 * counts stay whole.
 */
struct record *record_of(struct arena *, const struct record_from *);

const char *send_how_name(enum send_how);       /* "held" */
const char *replication_name(enum replication); /* "ALONE"; "" for FIXED */
const char *file_state_name(enum file_state);   /* "DRAINING" */

#endif
