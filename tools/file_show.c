/* SPDX-License-Identifier: Apache-2.0 */
/* locus file show: one large file or set of files, with its workunits, triggers and
 * holders. */
#include <stdio.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "model/decision.h"
#include "tools/census.h"
#include "tools/file_view.h"
#include "tools/human.h"
#include "tools/print/print.h"
#include "tools/stuck.h"
#include "tools/work_words.h"
#include "lib/banned.h"

struct file_detail {
	struct file_view v;
	struct row_wu_counts wus;
	struct row_fileset_source source;
	struct drain left;
	struct file **files;
	struct row_text *
	    *sets; /* for each file, the names of all sets that contain it */
	size_t *nsets;
	struct row_holder *holders; /* hosts that hold all files */
	size_t nfiles, nholders;
	bool trigger[TRIGGER__MAX];
};

static enum err
detail_load_files(struct cmd_ctx *x, struct file_detail *s)
{
	struct row_member *members;
	enum err e = fileset_files(
	    x->db, x->a, s->v.info.id, &members, &s->nfiles, x->f);

	if (e != OK)
		return e;
	s->files = NEWN(x->a, struct file *, s->nfiles + 1);
	s->sets = NEWN(x->a, struct row_text *, s->nfiles + 1);
	s->nsets = NEWN(x->a, size_t, s->nfiles + 1);
	for (size_t i = 0; i < s->nfiles && e == OK; i++) {
		e = file_by_name(x->db, x->a, members[i].name, &s->files[i], x->f);
		if (e == OK)
			e = db_query(x->db, x->a, x->f, &s->sets[i], &s->nsets[i],
			    SETS_OF_FILE, .file_id = members[i].file_id);
	}
	if (e != OK || s->nfiles == 0)
		return e;
	return db_query(x->db, x->a, x->f, &s->holders, &s->nholders, HOLDERS_OF_SET,
	    .fileset_id = s->v.info.id);
}

/*
 * Explains that no set has the name; a file of that name may be in sets of other names.
 */
static enum err
explain_missing_set(struct cmd_ctx *x, const char *name)
{
	const char *names = "";
	struct row_text *sets = NULL;
	struct file *file;
	size_t n;
	enum err e = file_by_name(x->db, x->a, name, &file, x->f);

	if (e == OK)
		e = db_query(
		    x->db, x->a, x->f, &sets, &n, SETS_OF_FILE, .file_id = file->id);
	else if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; locus file list lists them", name);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n; i++)
		names = arena_printf(x->a, "%s %s", names, sets[i].s);
	return ctx_not_found(x, "file %s has no set of its own; it is in:%s", name,
	    n == 0 ? " none" : names);
}

static enum err
detail_load_ledger(struct cmd_ctx *x, struct file_detail *s)
{
	struct row_file_left *left;
	size_t n;

	TRY(ledger_of_file(x->db, x->a, s->v.info.id, &s->v.sent, x->f));
	TRY(drain_files(x, &left, &n));
	for (size_t i = 0; i < n; i++)
		if (left[i].id == s->v.info.id)
			drain_add(
			    &s->left, &left[i], s->trigger[TRIGGER_NO_WORK_AVAILABLE]);
	return stuck_work(x, &s->left.stuck);
}

static enum err
detail_load(struct cmd_ctx *x, const char *name, struct file_detail *s)
{
	const struct triggers all = triggers_of(x->cf, x->db, NULL);
	struct row_file_info *row = NULL;
	struct row_tally *tally = NULL;
	struct row_wu_counts *wus = NULL;
	enum err e = db_row(x->db, x->a, x->f, &row, FILE_INFO_BY_NAME, .name = name);

	if (e == E_NOTFOUND)
		return explain_missing_set(x, name);
	if (e != OK)
		return e;
	int64_t id = row->id;
	e = db_row(x->db, x->a, x->f, &tally, FILE_TALLY, .fileset_id = id);
	if (e == OK)
		e = db_row(x->db, x->a, x->f, &wus, FILE_WU_COUNTS, .fileset_id = id);
	if (e != OK)
		return e;
	for (enum trigger t = 0; t < TRIGGER__MAX && e == OK; t++) {
		int64_t age_s = -1;

		e = trigger_age(&all, t, name, 0, &age_s, x->f);
		s->trigger[t] = age_s >= 0;
	}
	s->v = file_view_of(x, row, tally, s->trigger[TRIGGER_NO_WORK_AVAILABLE]);
	s->wus = *wus;
	if (e == OK)
		e = fileset_source(x->db, x->a, id, &s->source, x->f);
	if (e == OK)
		e = detail_load_ledger(x, s);
	return e == OK ? detail_load_files(x, s) : e;
}

/* Each file, with the names of all sets that contain it. */
static void
show_set_files(struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	print_open(p, "files", PRINT_ARRAY);
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct file *f = s->files[i];
		const char *path = download_path(x->a, x->cf, f->name), *others = "";

		print_open(p, NULL, PRINT_OBJECT);
		print_put(p, "name", f->name, "size", (int64_t)f->size, "md5",
		    f->md5sum, "path", path);
		print_open(p, "sets", PRINT_ARRAY);
		for (size_t k = 0; k < s->nsets[i]; k++) {
			const char *set = s->sets[i][k].s;

			print_put(p, NULL, set);
			if (strcmp(set, s->v.info.name) != 0)
				others = arena_printf(x->a, "%s%s%s", others,
				    others[0] == '\0' ? "\n            also in " : ", ",
				    set);
		}
		print_close(p);
		print_close(p);
		print_line(p, "file", "%s: %s (%.0f bytes), md5 %s\n            %s%s%s",
		    f->name, human_bytes(x->a, f->size), f->size, f->md5sum, path,
		    fs_exists(path) ? "" : " IS MISSING", others);
	}
	print_close(p);
}

static void
show_holders(struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	char since[21];

	print_line(p, "holders", "%lld", (long long)s->v.info.holders);
	print_open(p, "hosts", PRINT_ARRAY);
	for (size_t i = 0; i < s->nholders; i++) {
		const struct row_holder *h = &s->holders[i];

		clock_text(h->since, since);
		print_object(p, NULL, "id", h->id, "name", h->name, "since", since);
		print_aligned(p, "rll",
		    arena_printf(x->a, "            %lld", (long long)h->id), h->name,
		    arena_printf(x->a, "since %s", since));
	}
	print_close(p);
}

static void
show_tally(struct print *p, const struct row_tally *t)
{
	print_line(p, "results",
	    "%lld unsent, %lld in progress, %lld done (%lld valid), %lld failed",
	    (long long)t->unsent, (long long)t->in_progress, (long long)t->success,
	    (long long)t->valid, (long long)t->failed);
}

static void
show_triggers_of(struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	const char *raised = "";

	print_open(p, "triggers", PRINT_OBJECT);
	for (enum trigger t = 0; t < TRIGGER__MAX; t++) {
		print_put(p, trigger_name(t), s->trigger[t]);
		if (s->trigger[t])
			raised = arena_printf(x->a, "%s%s%s", raised,
			    raised[0] == '\0' ? "" : ", ", trigger_name(t));
	}
	print_close(p);
	print_line(p, "triggers", "%s", raised[0] == '\0' ? "none" : raised);
}

static void
show_file(struct cmd_ctx *x, const struct file_detail *s)
{
	const struct file_view *v = &s->v;
	const struct row_file_info *f = &v->info;
	const struct row_demand demand = { f->demand, f->demand_met, f->demand_time };
	const struct row_tally *t = &v->tally;
	const char *back = file_view_held_back(v);
	struct print *p = print_tree(x, PRINT_OBJECT);

	print_put(p, "name", f->name, "app", f->app, "state", file_state_name(v->state),
	    "held_back", back, "nfiles", f->nfiles, "size", (int64_t)f->size, "unsent",
	    t->unsent, "in_progress", t->in_progress, "done", t->success, "valid",
	    t->valid, "failed", t->failed, "holders", f->holders, "gen_next",
	    f->gen_next, "gen_parts", f->gen_parts, "jobs_sent", NULL, "hits", NULL,
	    "hit_rate", NULL, "bytes_needed", NULL, "bytes_saved", NULL, "demand",
	    NULL);
	print_label(p, 11);
	print_line(p, NULL, "%s of %s is %s%s%s%s%s", f->name, f->app,
	    file_state_name(v->state), back[0] == '\0' ? "" : " and ", back,
	    f->hold_reason[0] == '\0' ? "" : ": ", f->hold_reason);
	show_set_files(x, p, s);
	if (f->gen_parts != 0)
		print_line(
		    p, "work made", "%d of %d workunits", f->gen_next, f->gen_parts);
	work_counts_show(p, &s->wus);
	show_tally(p, t);
	saved_show(x, p, &v->sent);
	drain_put(p, "work_left", &s->left, clock_now());
	print_line(p, "work", "%s", drain_text(x->a, &s->left, clock_now()));
	demand_show(x, p, &demand);
	print_put(
	    p, "generator", s->source.generator, "low_water", s->source.low_water);
	if (s->source.generator[0] != '\0')
		print_line(p, "generator", "%s", s->source.generator);
	if (s->source.low_water > 0)
		print_line(p, "low water",
		    "more jobs are made when fewer than %lld are unsent",
		    (long long)s->source.low_water);
	show_triggers_of(x, p, s);
	show_holders(x, p, s);
	print_end(p);
}

static enum err
file_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct file_detail s = { 0 };
	enum err e = ctx_db(x);

	(void)opts, (void)n;
	if (e == OK)
		e = detail_load(x, args[0], &s);
	if (e != OK)
		return e;
	show_file(x, &s);
	return OK;
}

const struct cmd cmd_file_show = { .name = "file show",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a large file: its work, triggers and holders",
	.about =
	    "Shows what locus file list shows, and the file's checksum and path, its workunits,\n"
	    "its triggers, and the hosts that hold it, at most a thousand. For a set of files it\n"
	    "also shows which other sets contain each file, and the hosts that hold all of them.",
	.tree = true,
	.run = file_show_run };
