/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection remembers of the files that hosts name: the sets of each, and which
 * sets have unsent results (held.h).
 */
#ifndef DB_KNOWN_SETS_H
#define DB_KNOWN_SETS_H

#include "db/db.h"
#include "lib/arena.h"
#include "lib/names.h"
#include "model/decision.h"

struct known_file {
	int64_t id; /* 0: there is no file of this name */
	double size;
	int64_t read_ms; /* when its sets were read, monotonic clock */
	uint64_t round;  /* and for which requests */
	bool cut;        /* it is in more sets */
	size_t *sets;    /* indexes into known_sets.set */
	size_t nsets, cap;
};
struct known_set {
	int64_t id;
	char *name;    /* "" = not read */
	size_t nfiles; /* 0 = not read */
	bool ready;    /* it had unsent results when last looked at */
	enum held_is noted;
	int64_t noted_ms;
	uint64_t request; /* the last one that met it, and where it has it */
	size_t at;
};
struct known_sets { /* part of a struct db, which frees it; all 0 initially */
	struct arena a;
	struct names files, sets; /* values: indexes into file and set */
	struct known_file *file;
	struct known_set *set;
	size_t nfile, file_cap, nset, set_cap;
	struct arena ready_a;
	int64_t *ready; /* ids of the sets with unsent results, ascending */
	size_t nready;
	int64_t ready_ms, ready_took_ms; /* when that was read; 0 = never */
	uint64_t rounds, requests;       /* counted, those of a round read together */
};

void known_sets_free(struct known_sets *);
bool known_sets_full(const struct known_sets *);

/* How long something is remembered, ms; 0 = nothing is. */
int64_t known_keep_ms(const struct known_sets *);

/* The entry of the name, and the index of the set; added if they are new. */
struct known_file *known_file_of(struct known_sets *, const char *name);
size_t known_set_of(struct known_sets *, int64_t id);
/* The index of the set of this row, of which all is remembered that it says. */
size_t known_set_of_row(struct known_sets *, const struct row_set_file *);
void known_link(struct known_sets *, struct known_file *, size_t set);

enum held_is known_set_is(
    const struct known_sets *, const struct known_set *, int64_t now_ms);
/*
 * Are the file's sets to be read? They are if that was long ago, and if the host might
 * be told to delete the file.
 */
bool known_file_is_due(
    const struct known_sets *, const struct known_file *, int64_t now_ms);

/* Is it time to look for sets with work? And what was found, ascending. */
bool known_work_is_due(const struct known_sets *, int64_t now_ms);
void known_ready(struct known_sets *, const struct row_number *rows, size_t n,
    int64_t began_ms, int64_t took_ms);

#endif
