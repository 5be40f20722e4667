/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded RPC: the request with every row that its decision looked at, the
 * configuration and what was answered, as one text file.  It is decided again anywhere,
 * without the project and its database (locus record, locus replay).
 */
#ifndef PROTO_RECORDING_H
#define PROTO_RECORDING_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/decision.h"
#include "model/rows.h"
#include "model/snapshot.h"
#include "proto/project_text.h"

#define RECORDING_MAGIC "locus recording 2\n"

struct recording {
	/* scalars */
	int64_t at, seed, hostid; /* hostid: of the row after the commit */
	bool trickles_stored, no_sends;
	char *refused;                          /* code of the refusal, "" = none */
	char *config_hash;                      /* MD5 of config.xml as it was */
	char *code_sign_public, *old_signature; /* "" = none */
	bool others_read;
	/* lists */
	struct dec_message *notes;
	int64_t *lost, *dropped; /* by others: before and after the last decision */
	size_t nnotes, nlost, ndropped;
	size_t nreports, nothers; /* of snap.reports and snap.others */
	struct snapshot snap;     /* without what follows from the account's texts */
	struct catalog cat;       /* without plan classes and limits */
	/* texts */
	char *rows, *request, *config, *classes, *limits, *reply;
	size_t request_n, reply_n;
	char *texts[PROJECT_TEXTS]; /* NULL = none */
};

extern const struct row_shape shape_snap_member;
extern const struct row_shape shape_snap_file; /* without its jobs */

/* Scalars and lists, as they stand before the commit. */
void recording_rows(struct buf *, const struct recording *);
/* The whole file, from rows and the other texts. */
void recording_put(struct buf *, const struct recording *);
/* in is changed.  E_BADREQ: it is no recording, or not of this version's rows. */
enum err recording_read(
    struct arena *, char *in, size_t n, struct recording **, struct fail *);

#endif
