/* SPDX-License-Identifier: Apache-2.0 */
/* locus work assign: assigns a workunit to a target. */
#include <inttypes.h>
#include <stdio.h>
#include "lib/clock.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "tools/target.h"
#include "lib/banned.h"

struct assign_opts {
	struct target_opts target;
	bool none;
};

static const struct opt assign_options[] = {
	TARGET_OPTIONS(struct assign_opts),
	{ "none", OPT_FLAG, offsetof(struct assign_opts, none), NULL,
	    "Removes all assignments." },
	{ 0 },
};

enum err
target_find(struct cmd_ctx *x, const struct target_opts *o, struct target_of *t)
{
	int given = (o->host != 0) + (o->user != NULL) + (o->team != 0) + o->all;
	struct host *h;
	struct user *u;
	char *name;
	enum err e = OK;

	if (given > 1)
		return ctx_usage(
		    x, "give only one of --host, --user, --team and --all");
	if (given == 0 && o->every)
		return ctx_usage(
		    x, "--every also needs --host, --user, --team or --all");
	*t = (struct target_of){ .given = given > 0, .multi = o->every };
	if (o->host != 0) {
		t->kind = TARGET_HOST;
		t->id = o->host;
		e = tools_host(x, t->id, &h);
	} else if (o->user != NULL) {
		t->kind = TARGET_USER;
		e = tools_user(x, o->user, &u);
		if (e == OK)
			t->id = u->id;
	} else if (o->team != 0) {
		t->kind = TARGET_TEAM;
		t->id = o->team;
		e = team_name(x->db, x->a, t->id, &name, x->f);
		if (e == OK && name[0] == '\0')
			return ctx_not_found(x, "there is no team %" PRId64, t->id);
	}
	return e;
}

void
target_hint(const struct cmd_ctx *x, const struct target_of *t)
{
	if (t->given &&
	    !(t->multi ? x->cf->enable_assignment_multi : x->cf->enable_assignment))
		fprintf(stderr,
		    "locus: it will not be sent until config.xml has <%s>1</%s>\n",
		    t->multi ? "enable_assignment_multi" : "enable_assignment",
		    t->multi ? "enable_assignment_multi" : "enable_assignment");
}

struct assigning {
	const char *name;
	struct target_of target;
	struct workunit *wu;
};

static enum err
assign_in_tx(struct cmd_ctx *x, void *arg)
{
	struct assigning *g = arg;
	int64_t now = clock_now();

	TRY(workunit_by_name(x->db, x->a, g->name, &g->wu, x->f));
	/* A workunit cannot be both targeted and broadcast: drop assignments of the
	 * other kind. */
	if (g->target.given && g->wu->transitioner_flags != 0 &&
	    g->wu->transitioner_flags != (g->target.multi ? WU_BROADCAST : WU_TARGETED))
		TRY(assignments_drop(x->db, x->a, g->wu, now, x->f));
	return g->target.given ? assignment_add(x->db, x->a, g->wu, g->target.kind,
				     g->target.id, g->target.multi, now, x->f) :
	                         assignments_drop(x->db, x->a, g->wu, now, x->f);
}

static enum err
work_assign_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct assign_opts *o = opts;
	struct assigning g = { .name = args[0] };
	enum err e = ctx_db(x);

	(void)n;
	if (e == OK)
		e = target_find(x, &o->target, &g.target);
	if (e == OK && g.target.given == o->none)
		return ctx_usage(
		    x, "give one of --host, --user, --team, --all and --none");
	if (e == OK)
		e = tools_transaction(x, assign_in_tx, &g);
	if (e == E_NOTFOUND && g.wu == NULL && x->status == 0)
		return ctx_not_found(x, "there is no workunit %s", args[0]);
	if (e != OK)
		return e;
	ctx_progress(x, o->none ? "released" : "assigned", "workunit %s", args[0]);
	target_hint(x, &g.target);
	return OK;
}

const struct cmd cmd_work_assign = { .name = "work assign",
	.args = "WORKUNIT",
	.min_args = 1,
	.max_args = 1,
	.purpose = "assign a workunit to hosts",
	.about =
	    "The unsent and future results of the workunit go only to this target, before all other\n"
	    "work; a further call adds a further target. A host gets only one of them, so a single\n"
	    "target host needs a workunit with one result (target_nresults 1). Needs\n"
	    "enable_assignment, or with --every enable_assignment_multi.",
	.details =
	    "Results in progress elsewhere stay there; to rule that out, use \"work add\" with the\n"
	    "same options.",
	.opts = assign_options,
	.opts_size = sizeof(struct assign_opts),
	.run = work_assign_run };
