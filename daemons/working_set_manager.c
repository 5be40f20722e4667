/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps file_working_set filled with N/M files per app, for N active hosts and M
 * holders wanted per file. Removes files that the scheduler reported in files_no_work
 * and puts them back when results appear or may appear. All state is in the triggers
 * and rows.
 */
#include <stdlib.h>
#include <string.h>
#include "daemons/handlers.h"
#include "daemons/lease_keeper.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "db/ledger.h"
#include "db/wu_updates.h"
#include "lib/names.h"
#include "db/trigger_rows.h"
#include "lib/log.h"
#include "proto/template.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum {
	DAY_S = 86400,
	WARN_EVERY_S = 600,
	HOLDERS = 2,
	FEW_HOSTS = 1000, /* above this number hosts are counted only now and then */
	HOSTS_EVERY_S = 10,
	DECIDE_EVERY_S = 10, /* even if no change was seen */
	SETS_PER_LOOK = 500
};

struct set_states {
	struct row_fileset_state *v; /* by id; in x->life */
	size_t n, cap;
	int64_t at; /* the next read starts after this id; 0 = at the first set */
	bool all;   /* every set has been read at least once */
};

struct working_set_manager {
	struct handler_options handler;
	int64_t warned_at, hosts_at, decided_at;
	int64_t hosts;
	struct set_states sets;
	struct fs_seen seen[TRIGGER__MAX];
};

#define OF(member) FIELD_OF(struct working_set_manager, member)
static const struct field options[] = {
#include "daemons/handler_options.def"
	{ 0 },
};

/*
 * The states of file sets are kept in memory, as read from their rows. Each read takes
 * a bounded part of the table and replaces the part of the array that covers its range
 * of ids, so that a pass costs the same however many sets there are; consecutive reads
 * cover the whole table.
 */

/* Returns the index of the first set with a larger id. */
static size_t set_states_above(const struct set_states *s, int64_t id)
{
	size_t lo = 0, hi = s->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (s->v[mid].id <= id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool set_state_same(
    const struct row_fileset_state *a, const struct row_fileset_state *b)
{
	return a->appid == b->appid && a->paused == b->paused &&
	       a->has_unsent == b->has_unsent && a->has_open_wu == b->has_open_wu &&
	       a->has_any_wu == b->has_any_wu && a->holders == b->holders &&
	       a->dropped_time == b->dropped_time;
}

/* The texts of *from live only until the step ends, so a new name is copied. */
static bool set_state_update(struct arena *life, struct row_fileset_state *to,
    const struct row_fileset_state *from)
{
	bool known = to->id == from->id && to->name != NULL;
	bool renamed = !known || strcmp(to->name, from->name) != 0;
	bool changed = renamed || !set_state_same(to, from);
	char *name = renamed ? arena_strdup(life, from->name) : to->name;

	*to = *from;
	to->name = name;
	return changed;
}

/* Replaces all sets with ids in (after, upto] by the n rows, ordered by id. */
static bool set_states_replace(struct daemon_ctx *x, struct set_states *s,
    int64_t after, int64_t upto, const struct row_fileset_state *rows, size_t n)
{
	size_t from = set_states_above(s, after), to = set_states_above(s, upto),
	       rest = s->n - to;
	bool changed = to - from != n;

	for (size_t i = 0; i < n && !changed; i++)
		changed = s->v[from + i].id != rows[i].id;
	if (changed) { /* sets came or went */
		struct row_fileset_state *old = NEWN(
		    &x->a, struct row_fileset_state, s->n - from + 1);
		size_t k = 0;

		for (size_t i = from; i < s->n; i++)
			old[i - from] = s->v[i];
		while (s->cap < from + n + rest)
			s->v = arena_grow(
			    x->life, s->v, s->cap, &s->cap, sizeof(*s->v));
		s->n = from + n + rest;
		for (size_t i = 0; i < rest; i++)
			s->v[from + n + i] = old[to - from + i];
		for (size_t i = 0; i < n; i++) {
			while (k < to - from && old[k].id < rows[i].id)
				k++;
			s->v[from + i] = k < to - from && old[k].id == rows[i].id ?
			                     old[k] :
			                     (struct row_fileset_state){ 0 };
		}
	}
	for (size_t i = 0; i < n; i++)
		changed |= set_state_update(x->life, &s->v[from + i], &rows[i]);
	return changed;
}

/* Reads the next part, after id `after`; sets *last at the end of the table. */
static enum err set_states_read_part(struct daemon_ctx *x, struct set_states *s,
    int64_t after, bool *changed, bool *last)
{
	struct row_fileset_state *rows;
	size_t n;

	TRY(fileset_states(x->db, &x->a, after, SETS_PER_LOOK, &rows, &n, &x->fail));
	*last = n < SETS_PER_LOOK;
	s->at = *last ? 0 : rows[n - 1].id;
	*changed |= set_states_replace(x, s, after, *last ? INT64_MAX : s->at, rows, n);
	return OK;
}

/*
 * Reads the next part of the table, and new sets. whole, or the first call: reads all
 * of it. Sets *changed if any set differs from before.
 */
static enum err set_states_read_next(
    struct daemon_ctx *x, struct set_states *s, bool whole, bool *changed)
{
	bool last = false;
	int64_t next;
	enum err e;

	if (whole || !s->all)
		s->at = 0;
	do
		TRY(set_states_read_part(x, s, s->at, changed, &last));
	while ((whole || !s->all) && !last);
	s->all = true;
	if (last)
		return OK;
	next = s->at; /* new sets have the highest ids */
	e = set_states_read_part(
	    x, s, s->n == 0 ? 0 : s->v[s->n - 1].id, changed, &last);
	s->at = next;
	return e;
}

/* Reads the sets with these names (sorted) at once. */
static enum err set_states_read_named(struct daemon_ctx *x, struct set_states *s,
    char *const *names, size_t n, bool *changed)
{
	int64_t *ids = NEWN(&x->a, int64_t, n + 1);
	size_t nids = 0;

	for (size_t i = 0; i < s->n && nids < n; i++)
		if (trigger_in(names, n, s->v[i].name))
			ids[nids++] = s->v[i].id;
	for (size_t i = 0; i < nids; i += DB_LIST_MAX) {
		size_t part = nids - i < DB_LIST_MAX ? nids - i : DB_LIST_MAX, got;
		struct row_fileset_state *rows;
		TRY(fileset_states_of(
		    x->db, &x->a, ids + i, part, &rows, &got, &x->fail));
		for (size_t k = 0; k < got; k++) {
			size_t at = set_states_above(s, rows[k].id);
			if (at > 0 && s->v[at - 1].id == rows[k].id)
				*changed |= set_state_update(
				    x->life, &s->v[at - 1], &rows[k]);
		}
	}
	return OK;
}

/* --- what a pass decides --- */

struct dir_names { /* the names in one trigger directory, sorted */
	char **v;
	size_t n;
};

/* The data of one pass. */
struct pass {
	struct daemon_ctx *x;
	struct dir_names dir[TRIGGER__MAX];
	const struct row_fileset_state *fs; /* states of all file sets */
	size_t nfs;
	size_t changes;
};

static bool name_listed(const struct dir_names *names, const char *name)
{
	return trigger_in(names->v, names->n, name);
}

static struct ws_file ws_file_seen(struct pass *p, const struct row_fileset_state *fs)
{
	return (struct ws_file){
		.fileset_id = fs->id,
		.name = fs->name,
		.in_set = name_listed(&p->dir[TRIGGER_WORKING_SET], fs->name),
		.reported_empty = name_listed(&p->dir[TRIGGER_FILES_NO_WORK], fs->name),
		.no_work_available = name_listed(
		    &p->dir[TRIGGER_NO_WORK_AVAILABLE], fs->name),
		.has_unsent = fs->has_unsent != 0,
		.has_open_wu = fs->has_open_wu != 0,
		.paused = fs->paused != 0,
		.holders = (int32_t)fs->holders,
		.dropped_at = fs->dropped_time,
	};
}

/*
 * The drop time is stored first: if a kill left it missing, an exhausted generator
 * would be asked again at once. Triggers are not changed in transactions that the
 * lease guards, so it is checked here; a change that a pause of the process delays
 * beyond that is corrected by the next pass of the lease's holder, which computes the
 * whole set anew.
 */
static enum err manager_move_trigger(
    struct daemon_ctx *x, enum trigger dir, bool raise, const char *name)
{
	struct working_set_manager *o = x->own;

	if (x->keeper != NULL && !keeper_may_work(x->keeper))
		return FAIL(&x->fail, E_RACE, "the lease has ended");
	if (raise)
		return trigger_raise(&x->triggers, dir, name, &x->fail);
	if (dir == TRIGGER_WORKING_SET)
		TRY(fileset_dropped(x->db, name, x->now, &x->fail));
	for (size_t i = 0; dir == TRIGGER_WORKING_SET && i < o->sets.n; i++)
		if (o->sets.v[i].name == name)
			o->sets.v[i].dropped_time = x->now;
	return trigger_clear(&x->triggers, dir, name, &x->fail);
}

static enum err manager_apply(struct pass *p, const struct ws_change *c)
{
	struct daemon_ctx *x = p->x;
	/* What may need disk space comes last. */
	const struct {
		const char **names;
		size_t n;
		enum trigger dir;
		bool raise;
		const char *what;
	} moves[] = {
		{ c->drop, c->ndrop, TRIGGER_WORKING_SET, false, "dropped" },
		{ c->clear_no_work, c->nclear, TRIGGER_FILES_NO_WORK, false, "heard" },
		{ c->add, c->nadd, TRIGGER_WORKING_SET, true, "added" },
	};

	for (size_t m = 0; m < N(moves); m++) {
		for (size_t i = 0; i < moves[m].n; i++) {
			const char *name = moves[m].names[i];

			TRY(manager_move_trigger(
			    x, moves[m].dir, moves[m].raise, name));
			log_info("[FILE %s] %s", name, moves[m].what);
			p->changes++;
		}
	}
	return OK;
}

/* Warns how much work of the app's files is left and how long it will last. */
static void warn_dry(struct pass *p, const struct app *app, size_t size)
{
	struct daemon_ctx *x = p->x;
	struct row_file_left *left;
	struct drain d = { 0 };
	int32_t results = app->target_nresults > 1 ?
	                      1 :
	                      new_work_results(&x->a, x->conf, app->name);
	size_t n;
	int64_t s;

	if (files_left(x->db, &x->a, x->now / DAY_S - 1, &left, &n, &x->fail) != OK) {
		log_fail("forecasting how long the work lasts", &x->fail);
		n = 0;
	}
	for (size_t i = 0; i < n; i++)
		if (left[i].appid == app->id)
			drain_count(&d,
			    &(struct drain_file){ .paused = left[i].paused,
				.no_work = name_listed(
				    &p->dir[TRIGGER_NO_WORK_AVAILABLE], left[i].name),
				.unsent = left[i].unsent,
				.parts = left[i].parts,
				.results = results > 0 ? results : left[i].results,
				.jobs = left[i].jobs,
				.create_time = left[i].create_time });
	s = drain_s(&d, x->now);
	log_warn(
	    "app %s: the working set of %zu files is running dry: %lld results are unsent, %lld can be made, %lld were sent in %lld min%s; add files or work",
	    app->name, size, (long long)d.unsent, (long long)d.makeable,
	    (long long)d.jobs, (long long)(drain_period_s(&d, x->now) / 60),
	    s < 0 ? "" :
		    arena_printf(&x->a, ": enough for %lld min", (long long)(s / 60)));
}

/*
 * Finds how many hosts should hold each file: as many as its workunits want results
 * (locality.md 1.1 (L11)), taken from the newest file that has workunits.
 */
static enum err holders_wanted(struct pass *p, const struct app *app,
    const struct row_fileset_state *const *fs, size_t n, int64_t *wanted)
{
	struct daemon_ctx *x = p->x;
	int64_t id = 0;

	*wanted = x->conf->locality_target_holders;
	if (*wanted <= 0)
		*wanted = app->target_nresults;
	for (size_t i = 0; i < n && *wanted <= 0; i++)
		if (fs[i]->has_any_wu && fs[i]->id > id)
			id = fs[i]->id;
	if (*wanted > 0)
		return OK;
	enum err e = id == 0 ? E_NOTFOUND : fileset_target(x->db, id, wanted, &x->fail);
	if (e == OK && *wanted > 0)
		return OK;
	*wanted = HOLDERS;
	return e == E_NOTFOUND ? OK : e;
}

/* The project's own choice of files (locus-handlers(7), choose). */
struct choice {
	const char *app;
	struct ws_file *f; /* that may be in its set */
	size_t n;
	int64_t hosts;
	size_t wanted;
};

static enum err choose_ask(
    struct daemon_ctx *x, void *item, const char *doc, json_t *request)
{
	const struct choice *c = item;
	json_t *list = json_array();

	(void)doc;
	for (size_t i = 0; i < c->n; i++) {
		const struct ws_file *f = &c->f[i];

		if (ws_may_be_in(f, x->now, x->conf->locality_scheduling_wait_period))
			json_array_append_new(
			    list, json_pack("{s:s, s:i, s:b, s:b}", "name", f->name,
				      "holders", (int)f->holders, "in_set", f->in_set,
				      "has_unsent", f->has_unsent));
	}
	json_object_set_new(request, "app", json_string(c->app));
	json_object_set_new(request, "hosts", json_integer(c->hosts));
	json_object_set_new(request, "wanted", json_integer((json_int_t)c->wanted));
	json_object_set_new(request, "files", list);
	return OK;
}

/*
 * Sets the places of files. A name that is not known is passed over: the file may have
 * been removed meanwhile.
 */
static const char *choose_take(struct daemon_ctx *x, void *item, json_t *reply)
{
	const json_t *list = json_object_get(reply, "files"), *name;
	struct choice *c = item;
	struct names known = { 0 };
	size_t i, at;

	if (!json_is_array(list))
		return "the reply has no list of files";
	for (i = 0; i < c->n; i++)
		names_put(&x->a, &known, c->f[i].name, i);
	json_array_foreach(list, i, name)
	{
		if (!json_is_string(name))
			return "a name in the list of files is no text";
		if (names_find(&known, json_string_value(name), &at) &&
		    c->f[at].place == 0)
			c->f[at].place = i + 1;
	}
	return NULL;
}

/*
 * Asks the handler which files come first. One that fails or cannot say now leaves the
 * choice to the rule, and a trouble; E_RETRY: the daemon is to stop.
 */
static enum err ask_chooser(struct daemon_ctx *x, struct choice *c)
{
	static const struct verb choose = { "choose", choose_ask, choose_take };
	struct question q = { .item = c };
	const char *why;

	TRY(handlers_ask(x, &choose, &q, 1, &why));
	if (why == NULL && q.end == ASK_UNTRIED)
		return FAIL(&x->fail, E_RETRY, "asked to stop");
	if (why == NULL && q.end == ASK_DONE)
		return OK;
	if (why == NULL)
		why = q.why;
	for (size_t i = 0; i < c->n; i++)
		c->f[i].place = 0;
	log_warn("app %s: the file chooser %s: %s; files are chosen without it", c->app,
	    handlers_name(x->handlers), why);
	daemon_trouble(x, "app %s: the file chooser: %s", c->app, why);
	return OK;
}

/* Decides for one app, whose file sets are fs[0..n). */
static enum err manage_app(struct pass *p, const struct app *app,
    const struct row_fileset_state *const *fs, size_t n)
{
	struct daemon_ctx *x = p->x;
	struct working_set_manager *o = x->own;
	struct ws_file *files = NEWN(&x->a, struct ws_file, n);
	struct ws_change c;
	int64_t wanted;

	TRY(holders_wanted(p, app, fs, n, &wanted));
	for (size_t i = 0; i < n; i++)
		files[i] = ws_file_seen(p, fs[i]);
	if (x->handlers != NULL)
		TRY(ask_chooser(x, &(struct choice){ app->name, files, n, o->hosts,
				       ws_size(o->hosts, wanted) }));
	c = working_set(&x->a, files, n, o->hosts, wanted, x->now,
	    x->conf->locality_scheduling_wait_period);
	if (c.running_dry && x->now - o->warned_at >= WARN_EVERY_S) {
		o->warned_at = x->now;
		warn_dry(p, app, c.size);
	}
	return manager_apply(p, &c);
}

/*
 * Removes names that are not file sets from the two directories that this daemon owns.
 */
static enum err drop_strangers(struct pass *p)
{
	static const enum trigger dirs[] = { TRIGGER_WORKING_SET,
		TRIGGER_FILES_NO_WORK };
	struct daemon_ctx *x = p->x;
	struct dir_names known = { NEWN(&x->a, char *, p->nfs + 1), 0 };
	struct fileset *fs;
	enum err e = OK;

	for (size_t i = 0; i < p->nfs; i++)
		known.v[known.n++] = p->fs[i].name;
	if (known.n > 0)
		qsort(known.v, known.n, sizeof(char *), name_order);
	for (size_t d = 0; d < N(dirs); d++) {
		const struct dir_names *names = &p->dir[dirs[d]];
		for (size_t i = 0; i < names->n && e == OK; i++) {
			if (name_listed(&known, names->v[i]))
				continue;
			e = fileset_by_name(x->db, &x->a, names->v[i], &fs, &x->fail);
			if (e != E_NOTFOUND)
				continue; /* its app does not schedule by locality */
			log_warn("trigger %s names no file of this project: removed",
			    names->v[i]);
			e = trigger_clear(&x->triggers, dirs[d], names->v[i], &x->fail);
			p->changes++;
		}
	}
	return e;
}

static int set_by_app(const void *a, const void *b)
{
	const struct row_fileset_state *const *x = a, *const *y = b;

	if ((*x)->appid != (*y)->appid)
		return (*x)->appid < (*y)->appid ? -1 : 1;
	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static enum err count_hosts(struct daemon_ctx *x, bool *changed)
{
	struct working_set_manager *o = x->own;
	int64_t since = x->now - x->conf->locality_active_host_days * DAY_S,
		was = o->hosts;
	enum err e;

	if (was > FEW_HOSTS && x->now < o->hosts_at + HOSTS_EVERY_S)
		return OK;
	o->hosts_at = x->now;
	e = hosts_active(x->db, since, &o->hosts, &x->fail);
	*changed |= was != o->hosts;
	return e;
}

/*
 * Reads the state of the project and sets *changed if the decision may differ from the
 * last one. Files reported in files_no_work are read at once.
 */
static enum err manager_look(struct pass *p, bool *changed)
{
	struct daemon_ctx *x = p->x;
	struct working_set_manager *o = x->own;
	struct dir_names *empty = &p->dir[TRIGGER_FILES_NO_WORK];

	TRY(set_states_read_next(x, &o->sets, x->one_pass, changed));
	TRY(count_hosts(x, changed));
	TRY(trigger_list(&x->triggers, &x->a, TRIGGER_FILES_NO_WORK, &empty->v,
	    &empty->n, &x->fail));
	if (empty->n > 0)
		TRY(set_states_read_named(x, &o->sets, empty->v, empty->n, changed));
	*changed |= empty->n > 0 || o->sets.n <= SETS_PER_LOOK ||
	            x->now >= o->decided_at + DECIDE_EVERY_S;
	*changed |= trigger_changed(
	    &x->triggers, TRIGGER_WORKING_SET, &o->seen[TRIGGER_WORKING_SET]);
	*changed |= trigger_changed(&x->triggers, TRIGGER_NO_WORK_AVAILABLE,
	    &o->seen[TRIGGER_NO_WORK_AVAILABLE]);
	p->fs = o->sets.v;
	p->nfs = o->sets.n;
	return OK;
}

static enum err manager_decide(struct pass *p)
{
	static const enum trigger dirs[] = { TRIGGER_WORKING_SET,
		TRIGGER_NO_WORK_AVAILABLE };
	struct daemon_ctx *x = p->x;
	struct working_set_manager *o = x->own;
	const struct row_fileset_state **fs = NEWN(
	    &x->a, const struct row_fileset_state *, p->nfs + 1);

	o->decided_at = x->now;
	for (size_t i = 0; i < N(dirs); i++)
		TRY(trigger_list(&x->triggers, &x->a, dirs[i], &p->dir[dirs[i]].v,
		    &p->dir[dirs[i]].n, &x->fail));
	TRY(drop_strangers(p));
	for (size_t i = 0; i < p->nfs; i++)
		fs[i] = &p->fs[i];
	qsort(fs, p->nfs, sizeof(*fs), set_by_app);
	for (size_t i = 0, end; i < p->nfs; i = end) {
		struct app *app;
		enum err e;

		for (end = i; end < p->nfs && fs[end]->appid == fs[i]->appid; end++)
			;
		e = app_by_id(x->db, &x->a, fs[i]->appid, &app, &x->fail);
		if (e == E_NOTFOUND)
			continue; /* the app was removed meanwhile */
		TRY(e);
		TRY(manage_app(p, app, fs + i, end - i));
	}
	return OK;
}

static enum err manager_start(struct daemon_ctx *x)
{
	struct working_set_manager *o = x->own;

	TRY(handlers_open(x, &o->handler, "file_chooser", "", daemon_stopping));
	return trigger_dirs_make(x->conf, &x->fail);
}

static enum err manager_step(struct daemon_ctx *x, size_t *done)
{
	struct working_set_manager *o = x->own;
	struct pass p = { .x = x };
	bool changed = false;
	enum err e = manager_look(&p, &changed);

	if (e == OK && changed)
		e = manager_decide(&p);
	if (e != OK)
		o->decided_at = 0; /* the changes seen still need a decision */
	*done = p.changes;
	return e;
}

int main(int argc, char **argv)
{
	static const struct daemon working_set_manager = {
		.name = "working_set_manager",
		.purpose =
		    "Keeps locality_scheduling/file_working_set filled for hosts without a file.",
		.idle_ms = 1000,
		.options = options,
		.own_size = sizeof(struct working_set_manager),
		.start = manager_start,
		.step = manager_step,
	};

	return daemon_main(&working_set_manager, argc, argv);
}
