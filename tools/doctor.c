/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus doctor: tries everything that a project needs, and says how to mend what does
 * not work. Checks that need root come first; then the process becomes the project's
 * account, so that every directory is tried by the account that writes to it.
 */
#include "tools/doctor.h"

#include <assert.h>
#include <stdio.h>
#include "tools/print/print.h"
#include "lib/privilege.h"
#include "tools/running.h"
#include "lib/banned.h"

struct doctor_opts {
	bool public;
	const char *ca_file;
};

static const struct field doctor_options[] = {
	{ "public", FIELD_OF(struct doctor_opts, public), NULL,
	    "Also looks at the project as volunteers see it: name, address, redirections." },
	{ "ca-file", FIELD_OF(struct doctor_opts, ca_file), "FILE",
	    "Trusts the certificates in FILE (PEM) instead of the system's." },
	{ 0 },
};

static const struct doctor_row {
	const char *name, *subject, *title;
	unsigned when;
	void (*check)(struct doctor *);
} rows[] = {
#define CHECK(name, subject, when, title)                                              \
	{ #name, #subject, title, when, doctor_##name },
#include "tools/doctor.def"
#undef CHECK
};

static const char *const verdict_names[] = { "ok", "warn", "fail", "skipped" };

/* --- making the checks --- */

/* Returns why a check cannot be made now; NULL if it can. */
static const char *reason_to_skip(const struct doctor *d, const struct doctor_row *r)
{
	if ((r->when & SERVING) && !d->serving)
		return "the project is stopped";
	if ((r->when & DATABASE) && d->x->db == NULL)
		return "there is no connection to the database";
	if ((r->when & AS_ROOT) && !privilege_is_root())
		return "only root can try this: run locus doctor as root";
	return NULL;
}

/* Does the check belong to this run at all? */
static bool row_is_wanted(const struct doctor *d, const struct doctor_row *r)
{
	if (d->brief && !(r->when & SHORT))
		return false;
	if ((r->when & INSTALLED) && !conf_is_installed(d->cf))
		return false;
	if ((r->when & SHARED) && d->cf->private_servers)
		return false;
	return !(r->when & PUBLIC) || d->public;
}

/* What fails by a cause that has been found is not reported as a fault of its own. */
static void skip_consequences(struct doctor *d, size_t from)
{
	for (size_t i = from; i < d->n; i++)
		if (d->v[i].verdict == VERDICT_WARN ||
		    d->v[i].verdict == VERDICT_FAIL) {
			d->n = from;
			doctor_skip(
			    d, "try again when %s is mended", rows[d->cause].name);
			return;
		}
}

static void make_check(struct doctor *d, int i)
{
	const char *skip;
	struct fail f = { 0 };
	size_t before = d->n;

	d->check = i;
	d->f = &f;
	skip = reason_to_skip(d, &rows[i]);
	if (skip != NULL)
		doctor_skip(d, "%s", skip);
	else
		rows[i].check(d);
	if (d->cause >= 0 && d->cause != i && (rows[i].when & FOLLOWS))
		skip_consequences(d, before);
	d->f = NULL;
	assert(d->n > before); /* each check has a result */
}

static void make_checks(struct doctor *d, bool as_root)
{
	for (size_t i = 0; i < N(rows); i++)
		if (row_is_wanted(d, &rows[i]) &&
		    as_root == ((rows[i].when & AS_ROOT) != 0))
			make_check(d, (int)i);
}

static enum err checks_of_root(struct cmd_ctx *x, void *d)
{
	(void)x;
	make_checks(d, true);
	return OK;
}

/* Findings in the order of doctor.def; those of root's checks were made first. */
static void sort_findings(struct doctor *d)
{
	struct doctor_finding *v = NEWN(d->a, struct doctor_finding, d->n + 1);
	size_t n = 0;

	for (int i = 0; i < (int)N(rows); i++)
		for (size_t k = 0; k < d->n; k++)
			if (d->v[k].check == i)
				v[n++] = d->v[k];
	d->v = v;
}

/* Makes all checks of this run; the context's own error stays as it is. */
static enum err examine(struct doctor *d)
{
	struct fail *kept = d->x->f;
	struct fail own = { 0 };
	struct state s;
	enum running running = RUNNING_NONE;
	enum err e;

	d->x->f = &own;
	e = ctx_as_root(d->x, checks_of_root, d);
	if (e == OK)
		e = ctx_become_owner(d->x);
	if (e == OK) {
		if (running_read(d->x, &s, &running) == OK)
			d->serving = running != RUNNING_NONE;
		if (d->x->db == NULL)
			ctx_db_any_schema(d->x);
		make_checks(d, false);
		sort_findings(d);
	}
	d->x->f = kept;
	if (e != OK)
		*kept = own;
	return e;
}

static size_t findings_of(const struct doctor *d, enum verdict v)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->v[i].verdict == v;
	return n;
}

/* --- reports --- */

static void show_finding(struct print *p, const struct doctor_finding *w)
{
	const struct doctor_row *r = &rows[w->check];

	print_object(p, NULL, "check", r->name, "subject", r->subject, "title",
	    r->title, "verdict", verdict_names[w->verdict], "text", w->text, "cure",
	    w->cure);
	print_line(p, verdict_names[w->verdict], "%-15s %s", r->name, w->text);
	if (w->cure[0] != '\0')
		print_line(p, "", "mend: %s", w->cure);
}

static void show_findings(const struct doctor *d)
{
	size_t ok = findings_of(d, VERDICT_OK), warnings = findings_of(d, VERDICT_WARN),
	       failures = findings_of(d, VERDICT_FAIL),
	       skipped = findings_of(d, VERDICT_SKIPPED);
	struct print *p = print_tree(d->x, PRINT_OBJECT);

	print_label(p, 8);
	print_open(p, "checks", PRINT_ARRAY);
	for (size_t i = 0; i < d->n; i++)
		show_finding(p, &d->v[i]);
	print_close(p);
	print_put(p, "ok", ok, "warnings", warnings, "failures", failures, "skipped",
	    skipped);
	print_line(p, NULL, "%zu ok, %zu warnings, %zu failures, %zu skipped", ok,
	    warnings, failures, skipped);
	print_end(p);
}

enum err doctor_short(struct cmd_ctx *x)
{
	struct doctor d = {
		.x = x, .a = x->a, .cf = x->cf, .brief = true, .cause = -1
	};
	struct print *p;
	size_t failures;

	TRY(examine(&d));
	p = print_tree(x, PRINT_ARRAY);
	print_label(p, 8);
	for (size_t i = 0; i < d.n; i++)
		if (d.v[i].verdict == VERDICT_WARN || d.v[i].verdict == VERDICT_FAIL)
			show_finding(p, &d.v[i]);
	print_drop(p);
	failures = findings_of(&d, VERDICT_FAIL);
	if (failures == 0)
		return OK;
	return FAIL(x->f, E_SYS,
	    "the project runs, but %zu checks fail; see above and locus doctor",
	    failures);
}

static enum err doctor_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct doctor_opts *o = opts;
	struct doctor d = { .x = x,
		.a = x->a,
		.public = o->public,
		.ca_file = o->ca_file,
		.cause = -1 };

	(void)args, (void)n;
	TRY(ctx_conf(x));
	d.cf = x->cf;
	TRY(examine(&d));
	x->status = findings_of(&d, VERDICT_FAIL) == 0 ? 0 : 1;
	show_findings(&d);
	return OK;
}

const struct cmd cmd_doctor = { .name = "doctor",
	.args = "",
	.purpose = "try everything that the project needs, and say how to mend it",
	.about =
	    "Tries the project from end to end: sends a scheduler request, also a large one,\n"
	    "uploads and downloads a file, reads the master page as a client does, writes to every\n"
	    "directory as the account that needs it, and checks services, database, keys, clock,\n"
	    "disks, logs and certificates. Prints a line for each check, and for each failure the\n"
	    "command that mends it. Leaves no file and no row behind. As root it also tries what\n"
	    "the web server's account can reach. Exit status 0: no check failed, 1: some did;\n"
	    "warnings do not count.",
	.opts = doctor_options,
	.opts_size = sizeof(struct doctor_opts),
	.as_root = true,
	.tree = true,
	.run = doctor_run };
