/* SPDX-License-Identifier: Apache-2.0 */
/* The output files of a result: what it was to make, what its host reported, where they
 * lie. */
#ifndef DAEMONS_OUTPUTS_H
#define DAEMONS_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>
#include "db/db.h"
#include "model/conf.h"

struct output {
	char *name, *open_name, *path;
	const char *root; /* the upload directory that path is below */
	char *md5;        /* as reported, "" = not reported */
	double nbytes;    /* as reported, 0 = not reported */
	bool optional, no_validate;
};
struct outputs { /* of one result, in template order */
	struct output *v;
	size_t n;
	enum err
	    e; /* E_NOTFOUND: no such result; E_BADREQ: its xml_doc_in cannot be read */
	const char *why;
};
/* Those of at most DB_LIST_MAX results; what cannot be told of one is said in out[i].e.
 */
enum err outputs_of(struct db *, struct arena *, const struct conf *,
    const int64_t *resultids, size_t n, struct outputs *out, struct fail *);

/*
 * Was it uploaded?  E_SYS when nobody can tell now: the directory of all uploads is
 * gone, or the disk fails, which is no fault of the host.
 */
enum err output_there(const struct output *, bool *there, struct fail *);

enum outputs_state { OUTPUT_GOOD, OUTPUT_ABSENT /* optional, not there */, OUTPUT_BAD };
/*
 * Is the file there, readable, and what its host reported?  OUTPUT_BAD: f says why.  OK
 * and a state, or E_SYS when that cannot be told now (the disk fails).
 */
enum err output_check(const struct output *, enum outputs_state *, struct fail *);
/* Are two files byte for byte the same?  E_SYS if one cannot be read. */
enum err output_same(const char *path1, const char *path2, bool *same, struct fail *);

#endif
