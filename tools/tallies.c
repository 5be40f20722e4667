/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/tallies.h"

#include <stdio.h>
#include <stdlib.h>
#include "db/id_walk.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { HOSTS_SLICE = 2000 };

void
tally_note(const struct cmd_ctx *x, bool behind)
{
	if (behind && x->format == FORMAT_TABLE)
		fputs(
		    "the transitioner is behind: some workunits are counted as they were before; see its log\n",
		    stderr);
}

size_t
tally_first(const struct work_tallies *t, int64_t id)
{
	size_t low = 0, high = t->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->v[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* PICK_UNSENT stands for those in progress, too. */
static enum work_pick_state
state_of_code(int32_t code)
{
	if ((code & TALLY_CANCELLED) != 0)
		return PICK_CANCELLED;
	if ((code & TALLY_ERROR) != 0)
		return PICK_FAILED;
	if ((code & TALLY_ASSIMILATED) != 0)
		return PICK_ASSIMILATED;
	if ((code & TALLY_CANONICAL) != 0)
		return PICK_VALID;
	if ((code & TALLY_TO_VALIDATE) != 0)
		return PICK_TO_VALIDATE;
	return (code & TALLY_LIVE) != 0 ? PICK_UNSENT : PICK_WAITING;
}

static int
compare_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key,
		at = ((const struct tally_states *)item)->id;

	return (id > at) - (id < at);
}

static int64_t
tally_key(const struct row_work_count *r, enum tally_kind kind)
{
	return kind == TALLY_OF_APP   ? r->appid :
	       kind == TALLY_OF_BATCH ? r->batch :
	                                r->fileset_id;
}

/* Moves n workunits from unsent to in progress; some may have been sent just now. */
static void
put_in_progress(
    struct tally_states *v, size_t nv, const struct row_work_count *r, int64_t id)
{
	struct tally_states *s = nv == 0 ? NULL :
	                                   bsearch(&id, v, nv, sizeof(*v), compare_id);
	int64_t n = s == NULL ? 0 : r->n < s->n[PICK_UNSENT] ? r->n : s->n[PICK_UNSENT];

	if (n == 0)
		return;
	s->n[PICK_UNSENT] -= n;
	s->n[PICK_IN_PROGRESS] += n;
}

static enum err
split_unsent(struct cmd_ctx *x, enum tally_kind kind, struct tally_states *v, size_t nv)
{
	struct arena page = { 0 };
	struct progress bar = progress_begin("asking what hosts have", 0);
	int64_t slices = 0;
	enum err e = OK;

	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END && e == OK; from = to) {
		struct row_work_count *rows = NULL;
		size_t n = 0;

		arena_reset(&page);
		e = ids_ahead(x->db, IDS_HOSTS, from, HOSTS_SLICE, &to, x->f);
		if (e == OK)
			e = db_query(x->db, &page, x->f, &rows, &n, WUS_IN_PROGRESS,
			    .from = from, .to = to);
		for (size_t i = 0; e == OK && i < n; i++)
			put_in_progress(v, nv, &rows[i], tally_key(&rows[i], kind));
		progress_set(&bar, ++slices * HOSTS_SLICE);
	}
	progress_end(&bar);
	arena_free(&page);
	return e;
}

enum err
tally_states_read(struct cmd_ctx *x, enum tally_kind kind, int64_t id,
    struct tally_states **out, size_t *n)
{
	struct work_tallies t;
	struct tally_states *v;
	bool any = false;

	*n = 0;
	TRY(work_tallies_read(x->db, x->a, kind, id, clock_now(), &t, x->f));
	*out = v = NEWN(x->a, struct tally_states, t.n + 1);
	for (size_t i = 0; i < t.n; i++) {
		enum work_pick_state s = state_of_code(t.v[i].code);

		if (*n == 0 || v[*n - 1].id != t.v[i].id)
			v[(*n)++].id = t.v[i].id;
		v[*n - 1].n[s] += t.v[i].wus;
		any |= s == PICK_UNSENT;
	}
	tally_note(x, t.behind);
	return any ? split_unsent(x, kind, v, *n) : OK;
}
