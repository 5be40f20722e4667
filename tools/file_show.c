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
#include "tools/json.h"
#include "tools/table.h"
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

static void
print_other_sets(const struct file_detail *s, size_t i)
{
	const char *before = "            also in ";

	for (size_t k = 0; k < s->nsets[i]; k++)
		if (strcmp(s->sets[i][k].s, s->v.info.name) != 0) {
			printf("%s%s", before, s->sets[i][k].s);
			before = ", ";
		}
	printf("%s", before[0] == ',' ? "\n" : "");
}

static void
print_set_files(struct cmd_ctx *x, const struct file_detail *s)
{
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct file *f = s->files[i];
		const char *path = download_path(x->a, x->cf, f->name);

		printf("file        %s: %s (%.0f bytes), md5 %s\n            %s%s\n",
		    f->name, human_bytes(x->a, f->size), f->size, f->md5sum, path,
		    fs_exists(path) ? "" : " IS MISSING");
		print_other_sets(s, i);
	}
}

static void
print_holders(struct cmd_ctx *x, const struct file_detail *s)
{
	struct table t = table_new(x->a, "rll");
	char since[21];

	printf("holders     %lld\n", (long long)s->v.info.holders);
	for (size_t i = 0; i < s->nholders; i++) {
		table_printf(&t, "            %lld", (long long)s->holders[i].id);
		table_put(&t, s->holders[i].name);
		table_printf(&t, "since %s", clock_text(s->holders[i].since, since));
	}
	table_print(&t);
}

static void
file_detail_print(struct cmd_ctx *x, const struct file_detail *s)
{
	const struct file_view *v = &s->v;
	const char *back = file_view_held_back(v), *parts = file_view_parts(x->a, v);
	struct row_demand demand = file_view_demand(v);
	const char *mark = "";

	printf("%s of %s is %s%s%s%s%s\n", v->info.name, v->info.app,
	    file_state_name(v->state), back[0] == '\0' ? "" : " and ", back,
	    v->info.hold_reason[0] == '\0' ? "" : ": ", v->info.hold_reason);
	print_set_files(x, s);
	if (parts[0] != '\0')
		printf("work made   %s workunits\n", parts);
	printf("workunits   %s\n", work_counts_text(x->a, &s->wus));
	printf(
	    "results     %lld unsent, %lld in progress, %lld done (%lld valid), %lld failed\n",
	    (long long)v->tally.unsent, (long long)v->tally.in_progress,
	    (long long)v->tally.success, (long long)v->tally.valid,
	    (long long)v->tally.failed);
	printf("locality    %s\n", saved_text(x->a, &v->sent));
	printf("work        %s\n", drain_text(x->a, &s->left, clock_now()));
	printf("demand      %s\n", demand_text(x->a, &demand, clock_now()));
	if (s->source.generator[0] != '\0')
		printf("generator   %s\n", s->source.generator);
	if (s->source.low_water > 0)
		printf(
		    "low water   more jobs are made when fewer than %lld are unsent\n",
		    (long long)s->source.low_water);
	printf("triggers    ");
	for (enum trigger t = 0; t < TRIGGER__MAX; t++)
		if (s->trigger[t]) {
			printf("%s%s", mark, trigger_name(t));
			mark = ", ";
		}
	printf("%s\n", mark[0] == '\0' ? "none" : "");
	print_holders(x, s);
}

static void
file_detail_json(struct cmd_ctx *x, const struct file_detail *s)
{
	json_t *root = file_view_json(&s->v), *files = json_array();
	json_t *triggers = json_object(), *hosts = json_array();
	char since[21];

	for (size_t i = 0; i < s->nfiles; i++) {
		json_t *sets = json_array();

		for (size_t k = 0; k < s->nsets[i]; k++)
			json_array_append_new(sets, json_text(s->sets[i][k].s));
		json_array_append_new(
		    files, json_pack("{s:o, s:I, s:s, s:o, s:o}", "name",
			       json_text(s->files[i]->name), "size",
			       (json_int_t)s->files[i]->size, "md5",
			       s->files[i]->md5sum, "path",
			       json_text(download_path(x->a, x->cf, s->files[i]->name)),
			       "sets", sets));
	}
	for (enum trigger t = 0; t < TRIGGER__MAX; t++)
		json_object_set_new(
		    triggers, trigger_name(t), json_boolean(s->trigger[t]));
	for (size_t i = 0; i < s->nholders; i++)
		json_array_append_new(hosts,
		    json_pack("{s:I, s:o, s:s}", "id", (json_int_t)s->holders[i].id,
			"name", json_text(s->holders[i].name), "since",
			clock_text(s->holders[i].since, since)));
	json_object_set_new(root, "files", files);
	json_object_set_new(root, "workunits", work_counts_json(&s->wus));
	json_object_set_new(root, "work_left", drain_json(&s->left, clock_now()));
	json_object_set_new(root, "generator", json_text(s->source.generator));
	json_object_set_new(root, "low_water", json_integer(s->source.low_water));
	json_object_set_new(root, "triggers", triggers);
	json_object_set_new(root, "hosts", hosts);
	json_show(x->format, root);
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
	if (x->format != FORMAT_TABLE)
		file_detail_json(x, &s);
	else
		file_detail_print(x, &s);
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
