/* SPDX-License-Identifier: Apache-2.0 */
/* Counts rows and triggers. */
#include "tools/census.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "db/entity.h"
#include "db/gauges.h"
#include "db/id_walk.h"
#include "db/project.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

enum err census_triggers(struct cmd_ctx *x, struct census *c)
{
	const struct {
		enum trigger dir;
		int64_t *count;
	} dirs[] = {
		{ TRIGGER_WORKING_SET, &c->working_set },
		{ TRIGGER_NEED_WORK, &c->need_work },
		{ TRIGGER_NO_WORK_AVAILABLE, &c->no_work_available },
		{ TRIGGER_FILES_NO_WORK, &c->files_no_work },
	};
	const struct triggers t = triggers_of(x->cf, x->db, NULL);
	struct claim *claims;
	char **names;
	size_t n;

	TRY(trigger_claims(&t, x->a, clock_now(), &claims, &n, x->f));
	c->claims = (int64_t)n;
	for (size_t i = 0; i < N(dirs); i++) {
		TRY(trigger_list(&t, x->a, dirs[i].dir, &names, &n, x->f));
		*dirs[i].count = (int64_t)n;
	}
	return OK;
}

static void count_file(
    struct cmd_ctx *x, const struct row_file_left *l, bool no_work, struct census *c)
{
	const struct snap_file f = { .has_unsent = l->unsent > 0,
		.has_open_wu = l->has_open_wu != 0,
		.has_any_wu = l->has_any_wu != 0,
		.no_work_available = no_work,
		.draining = l->paused == FILESET_DRAINING };

	c->files[fileset_state(x->cf, &f)]++;
	c->paused += l->paused == FILESET_PAUSED;
	c->draining += l->paused == FILESET_DRAINING;
}

/* Counts files by state, and adds up the work left of all, and of the working set's. */
static enum err count_files(struct cmd_ctx *x, struct census *c)
{
	const struct triggers t = triggers_of(x->cf, x->db, NULL);
	struct row_file_left *left;
	size_t n, nno_work = 0, nset = 0;
	char **no_work = NULL, **set = NULL;

	TRY(drain_files(x, &left, &n));
	TRY(trigger_list(
	    &t, x->a, TRIGGER_NO_WORK_AVAILABLE, &no_work, &nno_work, x->f));
	TRY(trigger_list(&t, x->a, TRIGGER_WORKING_SET, &set, &nset, x->f));
	for (size_t i = 0; i < n; i++) {
		bool none = trigger_in(no_work, nno_work, left[i].name);

		count_file(x, &left[i], none, c);
		drain_add(&c->work, &left[i], none);
		if (trigger_in(set, nset, left[i].name))
			drain_add(&c->set, &left[i], none);
	}
	return OK;
}

enum err census_take(struct cmd_ctx *x, struct census *c)
{
	int64_t since = clock_now() - x->cf->locality_active_host_days * DAY_S;
	struct work_counts work;
	struct row_demand *demand = NULL;

	TRY(work_counts_read(x->db, x->a, clock_now(), &work, x->f));
	TRY(db_row(x->db, x->a, x->f, &demand, DEMAND_OF_ALL));
	tally_note(x, work.apps.behind);
	c->wus = work.wus;
	c->wus_live = work.wus_live;
	c->results = work.results;
	c->demand = *demand;
	TRY(db_number(x->db, x->f, &c->hosts, STATUS_HOSTS));
	TRY(project_drained_since(x->db, &c->drained_since, x->f));
	TRY(hosts_active(x->db, since, &c->active, x->f));
	TRY(ledger_of_all(x->db, x->a, 0, &c->sent, x->f));
	TRY(ledger_of_all(x->db, x->a, clock_now() / DAY_S, &c->today, x->f));
	TRY(baseline_cost_sum(x->db, x->a, &c->without, x->f));
	return count_files(x, c);
}

enum { HOSTS_SLICE = 2000 };

void tally_note(const struct cmd_ctx *x, bool behind)
{
	if (behind && x->format == FORMAT_TABLE)
		fputs(
		    "the transitioner is behind: some workunits are counted as they were before; see its log\n",
		    stderr);
}

size_t tally_first(const struct work_tallies *t, int64_t id)
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
static enum work_pick_state state_of_code(int32_t code)
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

static int compare_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key,
		at = ((const struct tally_states *)item)->id;

	return (id > at) - (id < at);
}

static int64_t tally_key(const struct row_work_count *r, enum tally_kind kind)
{
	return kind == TALLY_OF_APP   ? r->appid :
	       kind == TALLY_OF_BATCH ? r->batch :
	                                r->fileset_id;
}

/* Moves n workunits from unsent to in progress; some may have been sent just now. */
static void put_in_progress(
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

static enum err split_unsent(
    struct cmd_ctx *x, enum tally_kind kind, struct tally_states *v, size_t nv)
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

enum err tally_states_read(struct cmd_ctx *x, enum tally_kind kind, int64_t id,
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

/* locus metrics: what /NAME_ops/metrics shows, measured now. */

/* Figures that cannot be counted are missing; locus_database_up is 0 if no database
 * answers. */
static void put_figures(struct cmd_ctx *x, struct metric_set *s)
{
	struct metric_set counted = { .a = x->a };
	enum err e = ctx_db(x);

	if (e == OK)
		e = gauges_put(&counted,
		    &(const struct gauge_source){ .db = x->db,
			.conf = x->cf,
			.now = clock_now(),
			.file_state = fileset_state,
			.suspicion = host_suspicion },
		    x->f);
	metric_put_one(s, METRIC_DATABASE_UP, gauges_database_up(x->db, e), "");
	if (e != OK)
		return;
	metric_put_one(s, METRIC_FIGURES_AGE, 0, "");
	metric_join(s, &counted);
}

static enum err metrics_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct metric_set s = { .a = x->a };
	struct buf b = buf_new(x->a);

	(void)opts, (void)args, (void)n;
	TRY(ctx_conf(x));
	metric_put_machine(&s, x->cf, PACKAGE_VERSION, SCHEMA_VERSION);
	put_figures(x, &s);
	if (x->format != FORMAT_TABLE) {
		struct print *p = print_tree(x, PRINT_OBJECT);

		for (size_t i = 0; i < s.n; i++) {
			double v = s.v[i].value;
			bool whole = v == (double)(int64_t)v;

			print_put(p, s.v[i].series,
			    whole ? print_of_number((int64_t)v) : print_of_real(v));
		}
		print_end(p);
		return OK;
	}
	buf_puts(&b, "");
	metric_render(&b, &s);
	fwrite(b.p, 1, b.n, stdout);
	return OK;
}

const struct cmd cmd_metrics = { .name = "metrics",
	.args = "",
	.purpose = "print the project's metrics",
	.about =
	    "Prints what Prometheus reads at /NAME_ops/metrics, in its text format: requests by\n"
	    "outcome and time, jobs by state, each daemon's last pass, backlog and its age,\n"
	    "services that run, disks, database, uploads, bytes sent and saved. locus-monitoring(7)\n"
	    "lists them. Counters are those of this machine since run_dir/counters was created;\n"
	    "remove the file to start again from 0. Without a database only its figures are\n"
	    "missing. Codes of reasons are those of the log and of explain.",
	.tree = true,
	.run = metrics_run };
