/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace: what an RPC saw and decided, as text. Recordings (locus replay), the
 * decision log (locus explain) and golden files are traces with different sections.
 *
 *     locus trace 3
 *     rpc at=1795220000 seed=1 hostid=1000
 *     sent id=21 name=wu_ok_0 runtime_s=3600
 *     text name=reply bytes=12
 *     <12 bytes>
 *     end
 *
 * A line consists of a kind and column=value pairs (row_text.h); trace.def lists the
 * kinds. Only the bytes of a text are not part of a line.
 */
#ifndef PROTO_TRACE_H
#define PROTO_TRACE_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/rows.h"

/* Increase it when the meaning of a column changes, not when a column is added. */
enum { TRACE_VERSION = 3 };

enum trace_section {
	TRACE_SNAPSHOT = 1, /* the rows that the decision used */
	TRACE_OUTCOME = 2,  /* the commit's result, and texts: request, reply, ... */
	TRACE_REASONS = 4,  /* the decision and its reasons */
	TRACE_COMMIT = 8,   /* what the commit writes and expects to find */
};

#define VIEW(kind, type)
#define FIELD(kind, member)
#define VIEW_END(kind)
#define ROW(kind)               struct trace_##kind {
#define COL(kind, column, type) col_##type column;
#define ROW_END(kind)                                                                  \
	}                                                                              \
	;
#include "proto/trace.def"

struct trace_text {
	char *name;
	int64_t bytes;
	char *p; /* a NUL follows */
};

struct trace {
	struct trace_rpc rpc;
	struct trace_reply reply;
	/* without preferences, which are parsed from the user's row */
	struct snapshot snap;
	struct catalog cat;     /* without plan classes and limits, which are texts */
	struct result *results; /* those of snap.reports */
	struct dec_message *notes;  /* put before the decision's messages */
	int64_t *lost, *dropped;    /* lost to others before and after the decision */
	struct trace_text *texts;   /* the caller owns their names */
	struct dec_report *reports; /* decisions about snap.reports */
	size_t nreported, nreports, nresults, nothers, nnotes, nlost, ndropped, ntexts;
	struct trace_decision decision;
#define ONE(kind, sections, shape, member)
#define LIST(kind, sections, shape, members, n)
#define CHILD(kind, shape, parent, members, n)
#define MADE(kind, sections, members)                                                  \
	struct trace_##kind *members;                                                  \
	size_t n##members;
#include "proto/trace.def"
};

/* Appends the lines of these sections (enum trace_section); writes the head first if
 * b is empty. trace_end() completes the trace. */
void trace_put(struct buf *b, const struct trace *, unsigned sections);
void trace_end(struct buf *);

/* True if these bytes begin like a trace, of this version or another. */
bool trace_is(const char *, size_t n);
/*
 * Reads a trace. Changes `in`, which must live as long as the trace. Texts of rows
 * are never NULL. E_BADREQ: not a complete trace of this version, or it has an
 * unknown kind or column.
 */
enum err trace_read(struct arena *, char *in, size_t n, struct trace **, struct fail *);
/* The first text of this name; NULL if there is none. n may be NULL. */
char *trace_text(const struct trace *, const char *name, size_t *n);

struct trace_from { /* req, snap and dec are NULL if the RPC did not get that far */
	const struct conf *conf;
	const struct request *req;
	const struct snapshot *snap;
	const struct decision *dec;
	int64_t at, seed, rounds, lost, waited_ms, userid;
	const char *refused, *refused_for; /* "" = nothing */
};
/*
 * Makes the section TRACE_REASONS and, if asked for, TRACE_COMMIT of an RPC; the
 * result points into `from`. Without TRACE_COMMIT, lists are cut to bound the size
 * of a decision in the log, whatever the request; the numbers in "decision" and
 * "count" include what was cut.
 */
struct trace *trace_of(struct arena *, const struct trace_from *, unsigned sections);

struct trace_kind { /* a line of the table in trace.def */
	const char *name;
	const struct row_shape *shape;
	unsigned sections;
	size_t rows, n;   /* offset of the row, or of the array and its length */
	bool list, child; /* child: belongs to a row of the previous kind */
};
extern const struct trace_kind trace_kinds[];
extern const size_t ntrace_kinds;

#endif
