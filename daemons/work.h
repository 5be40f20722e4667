/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making work: workunits and results as rows, from templates.  Shared by work_generator
 * and transitioner, so that a workunit's first results and its later ones are made
 * alike. Everything here runs in the caller's transaction.
 */
#ifndef DAEMONS_WORK_H
#define DAEMONS_WORK_H

#include "db/entity.h"
#include "model/conf.h"
#include "model/rows.h"

struct work_maker; /* upload key and templates: process lifetime */

/* Reads keys/upload_private unless certificates are off.  E_CONFIG: there is none.
 * *work must be NULL before the first call; once it is open it stays. */
enum err work_open(
    struct arena *life, const struct conf *, struct work_maker **, struct fail *);

void work_close(struct work_maker *); /* NULL is fine */

/* Text of a template by that path; read again when the file has changed.  E_NOTFOUND.
 */
enum err work_template(
    struct work_maker *, const char *path, const char **text, struct fail *);

/*
 * One new result named WU_suffix, UNSENT, with file names that nobody can guess and
 * upload certificates; not stored yet.
 */
enum err result_create(struct work_maker *, struct arena *, const struct workunit *,
    int32_t suffix, int32_t priority, int64_t now, struct new_result *, struct fail *);

struct new_work {
	struct workunit wu;
	const char *xml_doc;
	bool known; /* out: a workunit of this name was there, and was left alone */
};
/*
 * Last checks of a new workunit.  file is the name of its only large file, NULL if it
 * has none or several: then any name will do.  Else the workunit must be named FILE__*
 * (locality.md 1.1 (L2)), or E_BADREQ says so.
 */
enum err work_prepare(
    struct arena *, struct workunit *, const char *file, int64_t now, struct fail *);
/*
 * Stores workunits that were prepared, each with its first target_nresults results.
 * E_RETRY: somebody else made one of them meanwhile.
 */
enum err work_create(struct work_maker *, struct db *, struct arena *,
    struct new_work *, size_t n, int64_t now, struct fail *);

#endif
