/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output files of a result: which ones it was to make, what its host reported, and
 * where they are.
 */
#ifndef DAEMONS_OUTPUTS_H
#define DAEMONS_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include "db/db.h"
#include "model/conf.h"

struct output {
	char *name, *open_name, *path;
	const char *root; /* the upload directory, a parent of path */
	char *md5;        /* as reported, "" = not reported */
	double nbytes;    /* as reported, 0 = not reported */
	bool optional, no_validate;
};
struct outputs { /* of one result, in template order */
	struct output *v;
	size_t n;
	enum err e; /* E_NOTFOUND: no such result; E_BADREQ: unreadable xml_doc_in */
	const char *why; /* the reason of e */
};
/*
 * Reads the output files of at most DB_LIST_MAX results; an error of one result is in
 * out[i].e.
 */
enum err outputs_of(struct db *, struct arena *, const struct conf *,
    const int64_t *resultids, size_t n, struct outputs *out, struct fail *);

/*
 * Was the file uploaded? E_SYS if this cannot be told now because the upload directory
 * is gone or the disk fails, which is no fault of the host.
 */
enum err output_there(const struct output *, bool *there, struct fail *);

enum outputs_state { OUTPUT_GOOD, OUTPUT_ABSENT /* optional, absent */, OUTPUT_BAD };
/*
 * Does the file exist, can it be read, and is it as its host reported? Returns OK and
 * a state (OUTPUT_BAD: f says why), or E_SYS if this cannot be told now (the disk
 * fails).
 */
enum err output_check(const struct output *, enum outputs_state *, struct fail *);
/* Are two files identical byte for byte? E_SYS if one cannot be read. */
enum err output_same(const char *path1, const char *path2, bool *same, struct fail *);

#endif
