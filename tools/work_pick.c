/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/work_pick.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "lib/banned.h"

static const char *const state_names[PICK_STATES] = { "waiting", "unsent",
	"in_progress", "to_validate", "valid", "assimilated", "failed", "cancelled" };

const char *work_pick_state_name(enum work_pick_state s)
{
	return state_names[s];
}

bool work_pick_glob(const char *glob, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name != '\0') {
		if (*glob == '*') {
			star = ++glob;
			from = name;
		} else if (*glob == '?' || *glob == *name) {
			glob++;
			name++;
		} else if (star != NULL) {
			glob = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return *glob == '\0';
}

enum work_pick_state work_pick_state(
    const struct row_wu_glance *wu, const struct row_wu_tally *t)
{
	if ((wu->error_mask & WU_ERROR_CANCELLED) != 0)
		return PICK_CANCELLED;
	if (wu->error_mask != 0)
		return PICK_FAILED;
	if (wu->assimilate_state == ASSIMILATE_DONE)
		return PICK_ASSIMILATED;
	if (wu->canonical_resultid != 0)
		return PICK_VALID;
	if (wu->need_validate != 0)
		return PICK_TO_VALIDATE;
	if (t->in_progress > 0)
		return PICK_IN_PROGRESS;
	return t->unsent > 0 ? PICK_UNSENT : PICK_WAITING;
}

bool work_pick_range(const char *text, struct id_range *r)
{
	struct arena a = { 0 };
	size_t n = strcspn(text, "-");
	bool good = text_i64(arena_memdup(&a, text, n), 1, INT64_MAX - 1, &r->from);

	r->to = r->from;
	if (good && text[n] == '-')
		good = text_i64(text + n + 1, r->from, INT64_MAX - 1, &r->to);
	arena_free(&a);
	return good && text[0] >= '0' && text[0] <= '9';
}

static int range_order(const void *a, const void *b)
{
	const struct id_range *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

size_t work_pick_join(struct id_range *v, size_t n)
{
	size_t last = 0;

	if (n == 0)
		return 0;
	qsort(v, n, sizeof(*v), range_order);
	for (size_t i = 1; i < n; i++)
		if (v[i].from > v[last].to + 1)
			v[++last] = v[i];
		else if (v[i].to > v[last].to)
			v[last].to = v[i].to;
	return last + 1;
}

static bool in_ranges(const struct id_range *v, size_t n, int64_t id)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].from <= id && id <= v[i].to)
			return true;
	return n == 0;
}

bool work_pick_matches(const struct work_pick_filter *q, const struct row_wu_glance *wu)
{
	return (q->appid < 0 || wu->appid == q->appid) &&
	       (q->batch < 0 || wu->batch == q->batch) &&
	       (q->fileset_id < 0 || wu->fileset_id == q->fileset_id) &&
	       in_ranges(q->ids, q->nids, wu->id) &&
	       (q->glob == NULL || work_pick_glob(q->glob, wu->name));
}

unsigned work_pick_states(const char *name)
{
	if (strcmp(name, "open") == 0)
		return PICK_OPEN;
	if (strcmp(name, "valid") == 0)
		return 1u << PICK_VALID | 1u << PICK_ASSIMILATED;
	for (size_t i = 0; i < PICK_STATES; i++)
		if (strcmp(name, state_names[i]) == 0)
			return 1u << i;
	return 0;
}

enum err work_states_named(struct cmd_ctx *x, const char *name, unsigned *states)
{
	const char *near = NULL;
	size_t least = (size_t)-1;

	*states = work_pick_states(name);
	if (*states != 0)
		return OK;
	if (near_offer(name, "open", &least))
		near = "open";
	for (size_t i = 0; i < PICK_STATES; i++)
		if (near_offer(name, state_names[i], &least))
			near = state_names[i];
	if (near != NULL)
		return ctx_usage(x,
		    "--state %.40s: there is no such state, did you mean %s?", name,
		    near);
	return ctx_usage(x,
	    "--state %.40s: it must be open, waiting, unsent, in_progress, to_validate, valid, assimilated, failed or cancelled",
	    name);
}

/* The state as far as the workunit itself tells: which open one it is, its results
 * say. */
static unsigned states_of(const struct row_wu_glance *wu)
{
	unsigned s = 1u << work_pick_state(wu, &(struct row_wu_tally){ 0 });

	return s == 1u << PICK_WAITING ? (unsigned)PICK_OPEN : s;
}

bool work_pick_may_be(const struct work_pick_filter *q, const struct row_wu_glance *wu)
{
	return (q->states & states_of(wu)) != 0;
}

static enum err pick_read_ids(
    struct cmd_ctx *x, const struct text_list *ids, struct work_pick_filter *q)
{
	q->ids = NEWN(x->a, struct id_range, ids->n + 1);
	for (size_t i = 0; i < ids->n; i++)
		if (!work_pick_range(ids->v[i], &q->ids[i]))
			return ctx_usage(x,
			    "--id %.60s: must be an id, such as 17, or a range, such as 17-25",
			    ids->v[i]);
	q->nids = work_pick_join(q->ids, ids->n);
	return OK;
}

enum err work_batch_named(struct cmd_ctx *x, const char *name, int64_t *batch)
{
	int64_t *ids = NULL;
	size_t n = 0;

	if (text_i64(name, 0, INT64_MAX, batch))
		return OK;
	TRY(wu_batches_named(x->db, x->a, name, &ids, &n, x->f));
	if (n == 0)
		return ctx_not_found(x, "there is no batch %.100s", name);
	if (n > 1)
		return ctx_usage(x,
		    "%zu batches are named %.60s, the last with id %" PRId64
		    "; give --batch an id",
		    n, name, ids[n - 1]);
	*batch = ids[0];
	return OK;
}

enum err work_fileset_named(struct cmd_ctx *x, const char *name, int64_t *fileset_id)
{
	struct fileset *set;
	enum err e = fileset_by_name(x->db, x->a, name, &set, x->f);

	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %.200s; locus file list lists them", name);
	if (e == OK)
		*fileset_id = set->id;
	return e;
}

static enum err pick_read_names(
    struct cmd_ctx *x, const struct work_pick_opts *o, struct work_pick_filter *q)
{
	struct catalog *c;
	const struct app *app;

	if (o->app != NULL) {
		TRY(tools_catalog(x, &c));
		TRY(tools_app(x, c, o->app, &app));
		q->appid = app->id;
	}
	if (o->file != NULL)
		TRY(work_fileset_named(x, o->file, &q->fileset_id));
	return o->batch == NULL ? OK : work_batch_named(x, o->batch, &q->batch);
}

/* Chooses the index that has the fewest entries, as far as one can know. */
static struct wu_walk walk_of(struct arena *a, const struct work_pick_filter *q)
{
	struct wu_walk w = { .index = WU_OF_IDS, .from = 1, .to = INT64_MAX - 1 };

	w.open_only = (q->states & ~(unsigned)PICK_OPEN) == 0;
	if (q->glob != NULL)
		w.prefix = arena_memdup(a, q->glob, strcspn(q->glob, "*?"));
	if (q->nids > 0)
		w.from = q->ids[0].from, w.to = q->ids[0].to;
	else if (q->glob != NULL && strcmp(w.prefix, q->glob) == 0)
		w.index = WU_OF_NAME;
	else if (q->fileset_id >= 0)
		w.index = WU_OF_FILESET, w.key = q->fileset_id;
	else if (q->batch > 0)
		w.index = WU_OF_BATCH, w.key = q->batch;
	else if (q->glob != NULL && w.prefix[0] != '\0')
		w.index = WU_OF_NAME;
	else if ((q->states & ~(1u << PICK_FAILED | 1u << PICK_CANCELLED)) == 0)
		w.index = WU_OF_FAILED;
	else if (q->appid >= 0)
		w.index = WU_OF_APP, w.key = q->appid;
	return w;
}

enum err work_pick_begin(struct cmd_ctx *x, const struct work_pick_opts *o,
    unsigned states, struct work_pick *p)
{
	struct work_pick_filter *q = &p->filter;
	unsigned named;

	*p = (struct work_pick){ .filter = { .glob = o->name,
				     .appid = -1,
				     .batch = -1,
				     .fileset_id = -1,
				     .states = states } };
	if (o->name == NULL && o->file == NULL && o->batch == NULL && o->app == NULL &&
	    o->state == NULL && o->ids.n == 0)
		return ctx_usage(x,
		    "say which workunits: --name, --id, --file, --batch, --app or --state");
	if (o->state != NULL) {
		TRY(work_states_named(x, o->state, &named));
		q->states &= named;
	}
	TRY(pick_read_ids(x, &o->ids, q));
	TRY(ctx_db(x));
	TRY(pick_read_names(x, o, q));
	p->walk = walk_of(x->a, q);
	return p->walk.index == WU_OF_FAILED ?
	           wu_walk_failed(x->db, x->a, &p->walk, x->f) :
	           OK;
}

/* Goes on to the next range of ids; false if there is none. */
static bool next_range(struct work_pick *p)
{
	if (p->filter.nids == 0 || ++p->range >= p->filter.nids)
		return false;
	p->walk.from = p->filter.ids[p->range].from;
	p->walk.to = p->filter.ids[p->range].to;
	p->walk.ended = false;
	return true;
}

static enum err picked_of(struct cmd_ctx *x, struct arena *a, const struct work_pick *p,
    const struct row_wu_glance *wu, size_t n, struct work_picked **v, size_t *nv)
{
	const struct work_pick_filter *q = &p->filter;
	struct row_wu_tally *tally = NULL;
	int64_t *open = NEWN(a, int64_t, n + 1);
	size_t nopen = 0, ntally = 0, at = 0, kept = 0;

	*v = NEWN(a, struct work_picked, n + 1);
	for (size_t i = 0; i < n; i++) {
		if (!work_pick_matches(q, &wu[i]) || !work_pick_may_be(q, &wu[i]))
			continue;
		(*v)[kept++].wu = wu[i];
		if ((states_of(&wu[i]) & PICK_OPEN) != 0)
			open[nopen++] = wu[i].id;
	}
	if (nopen > 0)
		TRY(wu_tallies(x->db, a, open, nopen, &tally, &ntally, x->f));
	*nv = 0;
	for (size_t i = 0; i < kept; i++) {
		struct work_picked w = (*v)[i];

		/* Both are ordered by id. */
		while (at < ntally && tally[at].id < w.wu.id)
			at++;
		w.results = at < ntally && tally[at].id == w.wu.id ?
		                tally[at] :
		                (struct row_wu_tally){ .id = w.wu.id };
		w.state = work_pick_state(&w.wu, &w.results);
		if ((q->states & 1u << w.state) != 0)
			(*v)[(*nv)++] = w;
	}
	return OK;
}

enum err work_pick_step(struct cmd_ctx *x, struct arena *a, struct work_pick *p,
    struct work_picked **v, size_t *n, bool *more)
{
	struct row_wu_glance *wu = NULL;
	int64_t *ids = NULL;
	size_t nids = 0, nwu = 0;

	*n = 0;
	TRY(wu_walk_step(x->db, a, &p->walk, &ids, &nids, x->f));
	/* A name outlives the step that found it. */
	if (p->walk.at_name != NULL)
		p->walk.at_name = arena_strdup(x->a, p->walk.at_name);
	p->seen += (int64_t)nids;
	*more = !p->walk.ended || next_range(p);
	if (nids == 0)
		return OK;
	TRY(wu_glances(x->db, a, ids, nids, &wu, &nwu, x->f));
	return picked_of(x, a, p, wu, nwu, v, n);
}

char *work_pick_text(struct arena *a, const struct work_pick_opts *o)
{
	struct buf b = buf_new(a);
	const char *const part[][2] = { { "name", o->name }, { "file", o->file },
		{ "batch", o->batch }, { "app", o->app }, { "state", o->state } };

	for (size_t i = 0; i < N(part); i++)
		if (part[i][1] != NULL)
			buf_printf(&b, "%s%s %s", b.n == 0 ? "" : ", ", part[i][0],
			    part[i][1]);
	for (size_t i = 0; i < o->ids.n; i++)
		buf_printf(&b, "%sid %s", b.n == 0 ? "" : ", ", o->ids.v[i]);
	return b.p;
}
