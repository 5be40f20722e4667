/* SPDX-License-Identifier: Apache-2.0 */
/* locus plan-class check and test: the project's classes, and which of them fit a
 * client. */
#include "tools/plan_class.h"

#include <stdio.h>
#include <string.h>
#include "db/entity.h"
#include "lib/fs.h"
#include "proto/plan_class.h"
#include "proto/prefs.h"
#include "proto/request.h"
#include "rules/sched/version.h"
#include "rules/sched/plan_class.h"
#include "tools/catalog.h"
#include "tools/fsck_rows.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct spec { /* a parsed plan_class_spec.xml */
	const char *path;
	struct plan_classes *all;
	struct pc_remark *remarks;
	size_t nremarks;
};

static enum err spec_load(struct cmd_ctx *x, const char *path, struct spec *s)
{
	TRY(path == NULL ? ctx_conf(x) : OK);
	if (path != NULL && !fs_exists(path))
		return ctx_not_found(x, "%s does not exist", path);
	s->path = path != NULL ? path : project_path(x->a, x->cf, PLAN_CLASS_FILE);
	return plan_classes_load(
	    x->a, s->path, &s->all, &s->remarks, &s->nremarks, x->f);
}

enum err plan_class_known(struct cmd_ctx *x, const char *class, const char **why)
{
	struct spec s = { 0 };
	enum err e;

	*why = NULL;
	if (class[0] == '\0')
		return OK;
	e = spec_load(x, NULL, &s);
	if (e != OK) { /* the reason is the caller's answer, not a failure */
		*why = arena_strdup(x->a, x->f->detail);
		*x->f = (struct fail){ 0 };
		x->status = 0;
		return OK;
	}
	if (plan_class_named(s.all, class) != NULL)
		return OK;
	for (size_t i = 0; i < s.nremarks; i++)
		if (s.remarks[i].out && strcmp(s.remarks[i].class, class) == 0)
			*why = arena_printf(x->a, "%s:%d: %s", s.path,
			    s.remarks[i].line, s.remarks[i].text);
	if (*why == NULL)
		*why =
		    s.all->built_in ?
			arena_printf(x->a,
			    "%s does not exist, and no class of that name is built in",
			    s.path) :
			arena_printf(x->a, "%s has no class of that name", s.path);
	return OK;
}

/* --- check --- */

static enum err plan_class_check_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct spec s = { 0 };
	struct fault_list out;

	(void)opts;
	TRY(spec_load(x, n > 0 ? args[0] : NULL, &s));
	out = fault_list_begin(x);
	for (size_t i = 0; i < s.nremarks; i++) {
		const struct pc_remark *r = &s.remarks[i];

		fault_put(&out, s.path, r->line, r->lost ? FAULT_ERROR : FAULT_WARNING,
		    "%s%s%s", r->class, r->class[0] == '\0' ? "" : ": ", r->text);
	}
	TRY(fault_list_end(
	    &out, arena_printf(x->a, "%s; what has errors is not used", s.path)));
	if (x->format == FORMAT_TABLE)
		printf("%s: %s, %zu classes%s\n", s.path,
		    s.all->built_in ? "does not exist" : "good", s.all->n,
		    s.all->built_in ? " are built in" : "");
	return OK;
}

const struct cmd cmd_plan_class_check = { .name = "plan-class check",
	.args = "[FILE]",
	.max_args = 1,
	.purpose = "check plan_class_spec.xml",
	.about =
	    "Reports elements and classes that are left out and why, unknown elements with the nearest name, bounds\n"
	    "that no computer can meet, and names that mislead clients. Exits with 78 if there is\n"
	    "an error.",
	.columns = fault_columns,
	.run = plan_class_check_run };

/* --- test --- */

struct test_opts {
	int64_t host;
	const char *spec, *class;
};

#define FIELD(name) FIELD_OF(struct test_opts, name)
static const struct field test_options[] = {
	{ "host", FIELD(host), "ID",
	    "Uses the account, preferences and venue of this host; default: none." },
	{ "class", FIELD(class), "NAME", "Tests only this class." },
	{ "spec", FIELD(spec), "FILE",
	    "Uses FILE instead of the project's plan_class_spec.xml." },
	{ 0 },
};

/* Loads what the scheduler would load for that host. */
static enum err load_host(struct cmd_ctx *x, int64_t id, struct snapshot *s)
{
	struct host *host;
	struct user *user;
	struct catalog *cat;

	TRY(tools_catalog(x, &cat));
	TRY(tools_host(x, id, &host));
	TRY(user_by_id(x->db, x->a, host->userid, &user, x->f));
	s->cat = cat;
	s->host = *host;
	s->user = *user;
	s->project_prefs = prefs_project(x->a, user->project_prefs, host->venue);
	return OK;
}

static void show_use(struct cmd_ctx *x, struct print *p, const char *class,
    enum reason why, const struct class_use *u)
{
	const char *device = u->coproc_count > 0 ? arena_printf(x->a, "%g %s, ",
						       u->coproc_count, u->type) :
	                                           "";
	const char *mem = u->mem_bytes > 0 ? arena_printf(x->a, ", %s of memory",
						 human_bytes(x->a, u->mem_bytes)) :
	                                     "";

	if (why != WHY_NONE) {
		print_object(p, NULL, "class", class, "fits", print_of_flag(false),
		    "reason", reason_code(why), "text", reason_text(why));
		print_aligned(p, "lll", class, "no",
		    arena_printf(x->a, "%s: %s", reason_code(why), reason_text(why)));
		return;
	}
	print_object(p, NULL, "class", class, "fits", print_of_flag(true), "type",
	    u->type, "avg_ncpus", u->avg_ncpus, "coproc_count", u->coproc_count,
	    "gpu_ram_bytes", u->gpu_ram_bytes, "flops", u->flops, "mem_bytes",
	    u->mem_bytes, "cmdline", u->cmdline);
	print_aligned(p, "lll", class, "fits",
	    arena_printf(x->a, "%s%.3g CPUs, %.4g GFLOPS%s%s%s", device, u->avg_ncpus,
		u->flops / 1e9, mem, u->cmdline[0] == '\0' ? "" : ", ", u->cmdline));
}

/* Prints whether each class fits; returns the number of classes printed. */
static size_t show_fits(struct cmd_ctx *x, const struct plan_classes *all,
    const char *only, const struct plan_class_host *h)
{
	struct print *p = print_tree(x, PRINT_ARRAY);
	size_t told = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct plan_class *pc = &all->classes[i];
		struct class_use use;
		enum reason why;

		if (only != NULL && strcmp(only, pc->name) != 0)
			continue;
		told++;
		why = plan_class_use(x->a, pc, h, NULL, NULL, &use);
		show_use(x, p, pc->name, why, &use);
	}
	print_end(p);
	return told;
}

static enum err plan_class_test_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct test_opts *o = opts;
	const struct catalog none = { 0 };
	struct snapshot snap = { .cat = &none };
	struct spec s = { 0 };
	struct plan_class_host h;
	struct machine m;
	struct request *rq;
	char *text;

	TRY(ctx_conf(x));
	TRY(fs_read(x->a, args[0], (size_t)x->cf->max_request_bytes, &text, &n, x->f));
	TRY(request_parse(x->a, text, n, &rq, x->f));
	TRY(spec_load(x, o->spec, &s));
	if (o->host != 0)
		TRY(load_host(x, o->host, &snap));
	if (o->class != NULL && plan_class_named(s.all, o->class) == NULL)
		return ctx_not_found(x,
		    "%s has no usable class %s; see locus plan-class check", s.path,
		    o->class);
	m = machine_of(x->cf, rq, &snap);
	h = (struct plan_class_host){ .req = rq,
		.userid = snap.user.id,
		.project_prefs = snap.project_prefs.text,
		.ncpus = m.ncpus,
		.p_fpops = m.p_fpops,
		.usable_ram = m.usable_ram };
	if (show_fits(x, s.all, o->class, &h) == 0)
		return ctx_not_found(x, "%s has no usable class", s.path);
	return OK;
}

const struct cmd cmd_plan_class_test = { .name = "plan-class test",
	.args = "REQUEST",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show which plan classes fit a client, and why others do not",
	.about =
	    "REQUEST is a request sent by a client (see debug_req_reply_dir in config.xml).\n"
	    "Prints for each class what a job would use on that computer, or the first\n"
	    "requirement that it does not meet. Ignores requirements on workunits and random\n"
	    "choices.",
	.opts = test_options,
	.opts_size = sizeof(struct test_opts),
	.tree = true,
	.run = plan_class_test_run };
