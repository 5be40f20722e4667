/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus stats export: writes the files that statistics sites fetch from a project. All
 * of them show one moment, the beginning of one transaction. Rows are read in pages
 * and written as they come; each file takes its name only when all of them are
 * complete.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/project.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "proto/doc_put.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "lib/banned.h"

static const char *const declaration =
    "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n";

static const struct stats_file {
	const char *name, *root, *element;
} files[STATS__MAX] = {
	[STATS_USER] = { "user", "users", "user" },
	[STATS_TEAM] = { "team", "teams", "team" },
	[STATS_HOST] = { "host", "hosts", "host" },
	[STATS_USER_DELETED] = { "user_deleted", "users_deleted", "user" },
	[STATS_HOST_DELETED] = { "host_deleted", "hosts_deleted", "host" },
};

struct stats_opts {
	bool dry_run;
};

static const struct field stats_options[] = {
	DRY_RUN_OPTION(struct stats_opts),
	{ 0 },
};

static const struct print_column stats_columns[] = {
	{ "users", "accounts", PRINT_NUMBER, "accounts with credit that agreed" },
	{ "teams", "teams", PRINT_NUMBER, "teams with credit" },
	{ "hosts", "hosts", PRINT_NUMBER, "hosts with credit of such accounts" },
	{ "deleted", "deleted", PRINT_NUMBER, "accounts and hosts to be forgotten" },
	{ "left_out", "left out", PRINT_NUMBER,
	    "accounts and hosts with credit whose account did not agree" },
	{ "total_credit", "credit", PRINT_REAL, "of all accounts" },
	{ "dir", "directory", PRINT_TEXT, NULL },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct exporting {
	struct cmd_ctx *x;
	struct arena round; /* memory of a page */
	const char *dir;
	bool dry_run;
	struct stats_consent consent;
	int64_t counts[STATS__MAX], earners, now;
	double credit;
	struct progress bar;
};

static char *temporary(struct exporting *k, const char *name)
{
	return arena_printf(k->x->a, "%s/.tmp-%s", k->dir, name);
}

/* --- rows --- */

/* A column without a value is left out; has_profile is an element without text. */
static void put_column(struct buf *b, const struct field *c, const char *row)
{
	static const char in[] = "    ";

	if (c->type == FIELD_TEXT) {
		const char *text = field_text(c, row);
		if (text[0] != '\0')
			doc_put_str(b, in, c->name, text);
	} else if (c->type == FIELD_F64) {
		doc_put_f64(b, in, c->name, field_number(c, row));
	} else {
		int64_t v = field_whole(c, row);

		if (strcmp(c->name, "has_profile") == 0 && v != 0)
			buf_puts(b, "    <has_profile/>\n");
		else if (v != 0 || strcmp(c->name, "timezone") == 0)
			doc_put_int(b, in, c->name, v);
	}
}

static void put_page(struct buf *b, const char *element, const struct stats_page *p)
{
	for (size_t i = 0; i < p->n; i++) {
		buf_printf(b, "<%s>\n", element);
		for (size_t k = 0; k < p->shape->ncols; k++)
			put_column(b, &p->shape->cols[k], p->rows + i * p->shape->size);
		buf_printf(b, "</%s>\n", element);
	}
}

static enum err stats_put_rows(struct exporting *k, enum stats_table t, struct gzip *to)
{
	struct stats_page p = { .n = STATS_PAGE };
	int64_t before = 0;

	for (size_t i = 0; i < STATS__MAX; i++)
		before += i < t ? k->counts[i] : 0;
	while (p.n == STATS_PAGE) {
		struct buf b;

		arena_reset(&k->round);
		TRY(stats_page(
		    k->x->db, &k->round, t, &k->consent, p.last, &p, k->x->f));
		k->counts[t] += (int64_t)p.n;
		progress_set(&k->bar, before + k->counts[t]);
		if (to == NULL)
			continue;
		b = buf_new(&k->round);
		put_page(&b, files[t].element, &p);
		TRY(gzip_put(to, b.p, b.n, k->x->f));
	}
	return OK;
}

static enum err stats_put_file(struct exporting *k, enum stats_table t, struct gzip *to)
{
	const struct stats_file *s = &files[t];
	const char *head = arena_printf(k->x->a, "%s<%s>\n", declaration, s->root);
	const char *foot = arena_printf(k->x->a, "</%s>\n", s->root);

	TRY(gzip_put(to, head, strlen(head), k->x->f));
	TRY(stats_put_rows(k, t, to));
	TRY(gzip_put(to, foot, strlen(foot), k->x->f));
	return gzip_end(to, k->x->f);
}

static enum err export_table(struct exporting *k, enum stats_table t)
{
	struct gzip *to = NULL;
	enum err e;

	if (k->dry_run)
		return stats_put_rows(k, t, NULL);
	e = gzip_create(temporary(k, files[t].name), &to, k->x->f);
	if (e == OK)
		e = stats_put_file(k, t, to);
	gzip_free(to);
	return e;
}

/* --- tables.xml --- */

static enum err export_summary(struct exporting *k)
{
	static const char in[] = "    ";
	struct buf b = buf_new(k->x->a);
	struct catalog *c;

	TRY(tools_catalog(k->x, &c));
	buf_printf(&b, "%s<tables>\n", declaration);
	doc_put_int(&b, in, "update_time", k->now);
	/* Sites look for one name or the other. */
	doc_put_int(&b, in, "nusers", k->counts[STATS_USER]);
	doc_put_int(&b, in, "nteams", k->counts[STATS_TEAM]);
	doc_put_int(&b, in, "nhosts", k->counts[STATS_HOST]);
	doc_put_int(&b, in, "nusers_total", k->counts[STATS_USER]);
	doc_put_int(&b, in, "nteams_total", k->counts[STATS_TEAM]);
	doc_put_int(&b, in, "nhosts_total", k->counts[STATS_HOST]);
	doc_put_f64(&b, in, "total_credit", k->credit);
	buf_puts(&b, "    <applications>\n");
	for (size_t i = 0; i < c->napps; i++) {
		buf_puts(&b, "    <application>\n");
		doc_put_str(&b, "        ", "name", c->apps[i].name);
		doc_put_str(&b, "        ", "user_friendly_name",
		    c->apps[i].user_friendly_name);
		buf_puts(&b, "    </application>\n");
	}
	buf_puts(&b, "    </applications>\n</tables>\n");
	return k->dry_run ? OK :
	                    fs_write(temporary(k, "tables"), b.p, b.n, 0644, k->x->f);
}

/* --- the files get their names --- */

/* Gives the finished file another name, too; a directory entry costs no space. */
static enum err stats_file_link(struct exporting *k, const char *from, const char *name)
{
	const char *second = temporary(k, "link");

	if (unlink(second) < 0 && errno != ENOENT)
		return FAIL_ERRNO(k->x->f, "removing %s", second);
	if (link(from, second) < 0)
		return FAIL_ERRNO(k->x->f, "linking %s", second);
	return fs_rename(second, arena_printf(k->x->a, "%s/%s", k->dir, name), k->x->f);
}

/* tables.xml comes last: whoever sees its new time finds the new files. */
static enum err publish(struct exporting *k)
{
	for (size_t t = 0; t < STATS__MAX; t++) {
		const char *from = temporary(k, files[t].name);

		TRY(stats_file_link(
		    k, from, arena_printf(k->x->a, "%s.gz", files[t].name)));
		TRY(stats_file_link(
		    k, from, arena_printf(k->x->a, "%s.xml.gz", files[t].name)));
		TRY(fs_unlink(from, k->x->f));
	}
	TRY(fs_rename(temporary(k, "tables"),
	    arena_printf(k->x->a, "%s/tables.xml", k->dir), k->x->f));
	return fs_sync_dir(k->dir, k->x->f);
}

/* --- the command --- */

static enum err export_snapshot(struct exporting *k)
{
	enum err e = OK;

	TRY(stats_consent(k->x->db, k->x->a, &k->consent, k->x->f));
	TRY(stats_totals(k->x->db, k->x->a, &k->earners, &k->credit, k->x->f));
	k->bar = progress_begin("exporting statistics", k->earners);
	for (size_t t = 0; t < STATS__MAX && e == OK; t++)
		e = export_table(k, (enum stats_table)t);
	progress_end(&k->bar);
	return e == OK ? export_summary(k) : e;
}

static enum err export_all(struct exporting *k)
{
	enum err e;

	k->now = clock_now();
	TRY(db_begin_snapshot(k->x->db, k->x->f));
	e = export_snapshot(k);
	db_rollback(k->x->db); /* nothing was written */
	arena_free(&k->round);
	if (e == OK && !k->dry_run)
		e = publish(k);
	if (e != OK && !k->dry_run) {
		/* After a failure: removes what was begun, by name. */
		struct fail off = { 0 };

		for (size_t t = 0; t < STATS__MAX; t++)
			(void)fs_unlink(temporary(k, files[t].name), &off);
		(void)fs_unlink(temporary(k, "link"), &off);
		(void)fs_unlink(temporary(k, "tables"), &off);
	}
	return e;
}

static enum err stats_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct stats_opts *o = opts;
	struct exporting k = { .x = x, .dry_run = o->dry_run };
	int lock = -1;
	enum err e;

	(void)args, (void)n;
	TRY(ctx_db_report(x));
	k.dir = project_path(x->a, x->cf, "stats");
	TRY(fs_check_change(arena_printf(x->a, "%s/tables.xml", k.dir), x->f));
	if (!k.dry_run) {
		TRY(fs_mkdirs(k.dir, 0755, x->f));
		TRY(fs_lock(
		    arena_printf(x->a, "%s/stats.lock", x->cf->run_dir), &lock, x->f));
	}
	e = export_all(&k);
	if (lock >= 0)
		close(lock);
	TRY(e);
	print_record(x, stats_columns, k.counts[STATS_USER], k.counts[STATS_TEAM],
	    k.counts[STATS_HOST],
	    k.counts[STATS_USER_DELETED] + k.counts[STATS_HOST_DELETED],
	    k.earners - k.counts[STATS_USER] - k.counts[STATS_TEAM] -
		k.counts[STATS_HOST],
	    k.credit, k.dir, k.dry_run);
	return OK;
}

const struct cmd cmd_stats_export = { .name = "stats export",
	.args = "",
	.purpose = "write the files that statistics sites fetch",
	.about =
	    "Writes tables.xml, user.gz, team.gz, host.gz, user_deleted.gz and host_deleted.gz to\n"
	    "the directory stats of the project, which the web server publishes as URL/stats/ (each\n"
	    "NAME.gz also as NAME.xml.gz). They show accounts, teams and hosts with credit at one\n"
	    "moment, and replace the former ones only when all are complete. No e-mail address,\n"
	    "name of a computer or IP address is in them.",
	.details =
	    "The consent of type STATSEXPORT in the table consent decides: an account whose latest\n"
	    "word is no is left out with its hosts, and, if the type is enabled, so is one that\n"
	    "never said yes. A host names its account only if the account shows its hosts. Reads\n"
	    "the replica if there is one. Run it once a day, as a task of config.xml:\n"
	    "<task><cmd>locus stats export</cmd><output>stats.out</output><period>24\n"
	    "hours</period></task>",
	.opts = stats_options,
	.opts_size = sizeof(struct stats_opts),
	.columns = stats_columns,
	.run = stats_run };
