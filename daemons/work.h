/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes workunits and results as rows, from templates. work_generator and transitioner
 * share it, so that the first results of a workunit and later ones are made alike.
 * Everything runs in the caller's transaction.
 */
#ifndef DAEMONS_WORK_H
#define DAEMONS_WORK_H

#include <stdbool.h>
#include "db/entity.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/rows.h"

/* What a work generator is about to make, parsed from the output of its command. */

struct planned { /* one workunit, FILE__suffix, with its command line */
	char *suffix, *arguments;
};
/*
 * Parses the output of a generator command: lines SUFFIX<TAB>ARGUMENTS, and a line
 * "exhausted" if no more can be made for the file. E_BADREQ names the line: a suffix
 * is 1 to 100 letters, digits, . _ + -; arguments may not contain control bytes or <.
 */
enum err plan_parse(struct arena *, const char *text, struct planned **, size_t *n,
    bool *exhausted, struct fail *);
/* The same for one workunit that did not come as text. */
enum err planned_check(const struct planned *, struct fail *);

struct work_maker; /* upload key and templates; lives as long as the process */

/*
 * Reads keys/upload_private unless certificates are off; E_CONFIG if the key is
 * missing. *work must be NULL before the first call; further calls do nothing.
 */
enum err work_open(
    struct arena *life, const struct conf *, struct work_maker **, struct fail *);

void work_close(struct work_maker *); /* NULL is allowed */

/*
 * Returns the text of the template at path, reading it again if the file has changed.
 * E_NOTFOUND.
 */
enum err work_template(
    struct work_maker *, const char *path, const char **text, struct fail *);

/*
 * Makes a result named WU_suffix, UNSENT, with unguessable file names and upload
 * certificates; does not store it.
 */
enum err result_create(struct work_maker *, struct arena *, const struct workunit *,
    int32_t suffix, int32_t priority, int64_t now, struct new_result *, struct fail *);

struct new_work {
	struct workunit wu;
	const char *xml_doc;
	bool known; /* out: a workunit of this name exists and was left alone */
};
/*
 * Makes the final checks of a new workunit and sets its times. file: the name of its
 * only large file, NULL if it has none or several; with a file, the workunit must be
 * named FILE__* (locality.md 1.1 (L2)), else E_BADREQ.
 */
enum err work_prepare(
    struct arena *, struct workunit *, const char *file, int64_t now, struct fail *);
/*
 * Stores prepared workunits, each with its first target_nresults results. E_RETRY:
 * another process has just made one of them.
 */
enum err work_create(struct work_maker *, struct db *, struct arena *,
    struct new_work *, size_t n, int64_t now, struct fail *);

#endif
