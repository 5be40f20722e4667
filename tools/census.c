/* SPDX-License-Identifier: Apache-2.0 */
/* Counts rows and triggers. */
#include "tools/census.h"

#include <stdlib.h>
#include <string.h>
#include "db/project.h"
#include "db/entity.h"
#include "db/wu_updates.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "tools/tallies.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

enum err
census_triggers(struct cmd_ctx *x, struct census *c)
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
	enum err e = trigger_claims(&t, x->a, clock_now(), &claims, &n, x->f);

	if (e == OK)
		c->claims = (int64_t)n;
	for (size_t i = 0; i < N(dirs) && e == OK; i++) {
		e = trigger_list(&t, x->a, dirs[i].dir, &names, &n, x->f);
		*dirs[i].count = (int64_t)n;
	}
	return e;
}

static void
count_file(
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
static enum err
count_files(struct cmd_ctx *x, struct census *c)
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

enum err
census_take(struct cmd_ctx *x, struct census *c)
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
