/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the counts of ordinary input files (db/input_use.h) with the workunits that
 * are counted, as of one moment: the project may be at work.  A repair adds the
 * difference, so what has happened meanwhile stays counted.
 */
#include <string.h>
#include "db/id_walk.h"
#include "db/input_use.h"
#include "db/stmts.h"
#include "lib/index.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/fsck.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { INPUTS_AT_ONCE = 1000 };

struct input_needs {
	struct arena a; /* of the names */
	struct index *of;
	struct input_need {
		char *name;
		int64_t needed; /* by workunits */
		int64_t counted;
	} * v;
	size_t n, cap;
};

static struct input_need *
need_of(struct input_needs *s, const char *name)
{
	size_t at;

	if (index_find(s->of, name, &at))
		return &s->v[at];
	PUSH(&s->a, s->v, s->n,
	    s->cap) = (struct input_need){ .name = arena_strdup(&s->a, name) };
	index_put(&s->a, s->of, s->v[s->n - 1].name, s->n - 1);
	return &s->v[s->n - 1];
}

static enum err
read_needed(struct fsck *k, struct input_needs *s)
{
	struct cmd_ctx *x = k->x;
	struct progress bar = progress_begin("checking input files", 0);
	int64_t seen = 0;
	enum err e = OK;

	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END && e == OK; from = to) {
		struct own_inputs own = { 0 };
		struct row_text *docs = NULL;
		size_t n = 0;

		arena_reset(&k->round);
		e = ids_ahead(x->db, IDS_WORKUNITS, from, INPUTS_AT_ONCE, &to, x->f);
		if (e == OK)
			e = db_query(x->db, &k->round, x->f, &docs, &n, WU_COUNTED_DOCS,
			    .from = from, .to = to);
		/* One that cannot be parsed names no files. */
		for (size_t i = 0; e == OK && i < n; i++)
			blob_own_inputs(&k->round, docs[i].s, &own, NULL);
		for (size_t i = 0; i < own.n; i++)
			need_of(s, own.names[i])->needed++;
		progress_set(&bar, seen += (int64_t)n);
	}
	progress_end(&bar);
	return e;
}

static enum err
read_input_uses(struct fsck *k, struct input_needs *s)
{
	char *after = arena_strdup(&s->a, "");
	struct row_input_use *rows;
	size_t n = INPUTS_AT_ONCE;

	while (n == INPUTS_AT_ONCE) {
		arena_reset(&k->round);
		rows = NULL;
		TRY(db_query(k->x->db, &k->round, k->x->f, &rows, &n, INPUT_USES,
		    .after = after, .max = INPUTS_AT_ONCE));
		for (size_t i = 0; i < n; i++) {
			struct input_need *need = need_of(s, rows[i].name);

			need->counted = rows[i].uses;
			after = need->name;
		}
	}
	return OK;
}

static enum err
correct_in_tx(struct cmd_ctx *x, void *arg)
{
	const struct input_need *need = arg;

	return input_correct(x->db, need->name, need->needed - need->counted, x->f);
}

enum err
fsck_inputs(struct fsck *k)
{
	struct input_needs s = { 0 };
	enum err e;

	s.of = index_new(&s.a);
	TRY(db_begin_snapshot(k->x->db, k->x->f));
	e = read_needed(k, &s);
	if (e == OK)
		e = read_input_uses(k, &s);
	db_rollback(k->x->db);
	for (size_t i = 0; e == OK && i < s.n; i++) {
		struct input_need *need = &s.v[i];

		if (need->needed == need->counted)
			continue;
		if (k->repair)
			e = tools_transaction(k->x, correct_in_tx, need);
		if (e == OK)
			fsck_found(k, FSCK_INPUT_USES, need->name,
			    arena_printf(&k->round, "counted %lld, needed by %lld",
				(long long)need->counted, (long long)need->needed),
			    k->repair);
	}
	arena_free(&s.a);
	return e;
}
