/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus restore: reads a backup, checks every byte of it, and makes a project of it. On
 * failure it removes everything it made.
 */
#include "tools/backup/restore.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/schema.h"
#include "lib/clock.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "tools/create.h"
#include "tools/print/print.h"
#include "tools/site_files.h"
#include "lib/banned.h"

enum { CONFIG_MOST = 4 << 20, CHUNK_BYTES = 256 << 10 };

#define FIELD(name) offsetof(struct restore_opts, name)
static const struct opt restore_options[] = {
	{ "verify", OPT_FLAG, FIELD(verify), NULL,
	    "Only reads everything and compares digests, tables and numbers of rows." },
	{ "into", OPT_TEXT, FIELD(into), "NAME",
	    "Restores it as the installed project NAME, with this machine's servers; for root." },
	{ "here", OPT_TEXT, FIELD(here), "DIR",
	    "Restores a project with private servers into DIR." },
	{ "url", OPT_TEXT, FIELD(url), "URL",
	    "Makes it a project of its own beside the original, with this master URL." },
	{ "port", OPT_NUMBER, FIELD(port), "PORT",
	    "With --here and --url: the port of its Apache; default: a free one." },
	{ "user", OPT_TEXT, FIELD(user), "ACCOUNT",
	    "With --here, when run by root: the account that will own the project; default www-data." },
	{ 0 },
};

/* --- the database's part of an archive --- */

static enum err
feed_database(struct restore *r)
{
	char chunk[CHUNK_BYTES];
	size_t n;

	for (;;) {
		TRY(backup_read(&r->in, chunk, sizeof(chunk), &n));
		if (n == 0)
			return OK;
		dump_count(&r->rows, chunk, n);
		if (r->loading)
			TRY(dump_load(&r->load, chunk, n, r->x->f));
	}
}

static enum err
load_some(struct restore *r)
{
	if (!r->loading && !r->o->verify) {
		TRY(r->into != NULL ?
			restore_into_load(r) :
			dump_load_begin(r->x->a, r->x->cf, &r->load, r->x->f));
		r->loading = true;
	}
	return feed_database(r);
}

static void
say_restored_schema(const char *text)
{
	printf("%-9s %s\n", "schema", text);
}

/* An older release's database becomes one of this release. */
static enum err
adapt_schema(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	int64_t version;

	TRY(schema_version(x->db, &version, x->f));
	if (version < SCHEMA_VERSION) {
		TRY(schema_upgrade(x->db, x->a, false, say_restored_schema, x->f));
		ctx_progress(x, "to do",
		    "locus upgrade: the files from templates are those of the older release");
	}
	ctx_progress(x, "restored", "database %s, schema %lld of the backup",
	    x->cf->db_name, (long long)version);
	return OK;
}

static enum err
finish_database(struct restore *r)
{
	struct cmd_ctx *x = r->x;

	if (!r->loading)
		return OK;
	r->loading = false;
	TRY(dump_load_end(&r->load, false, x->f));
	if (r->into != NULL)
		TRY(restore_into_loaded(r));
	TRY(db_open(r->db != NULL ? r->db : x->cf, DB_ANY_SCHEMA, &x->db, x->f));
	TRY(adapt_schema(r));
	TRY(schema_create_views(x->db, x->f));
	TRY(schema_skip_ids(x->db, x->a, x->f));
	r->loaded = true;
	return OK;
}

/* Compares the tables in the dump with those counted at the time of the backup, and
 * with the schema. */
static enum err
check_dump_rows(struct restore *r)
{
	const json_t *want = json_object_get(r->in.end, "rows");
	json_t *got = dump_counts(&r->rows);
	bool same = json_equal(want, got);
	bool has_schema = json_object_get(got, "locus_schema") != NULL;

	json_decref(got);
	if (!has_schema)
		return FAIL(r->x->f, E_BADREQ, "the archive has no database of Locus");
	if (!same)
		return FAIL(r->x->f, E_BADREQ,
		    "the archive is damaged: its dump has other tables or rows than its %s says",
		    BACKUP_END);
	return OK;
}

/* --- entries --- */

static bool
entry_begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static enum err
take_config(struct restore *r)
{
	const char *name = r->in.now.name + strlen(BACKUP_CONFIG);
	char *text;
	size_t n;

	TRY(backup_read_all(&r->in, r->x->a, CONFIG_MOST, &text, &n));
	if (strcmp(name, "config.xml") == 0)
		r->config = text;
	else if (strcmp(name, IDENTITY_FILE) == 0)
		r->identity = text;
	else if (strcmp(name, SITE_FILES_RECORD) == 0)
		r->record = text;
	return OK;
}

/* A newer release knows columns that this one would leave as they are. */
static enum err
check_schema(struct restore *r)
{
	int64_t version = json_integer_value(json_object_get(r->in.head, "schema"));

	if (!r->o->verify && version > SCHEMA_VERSION + SCHEMA_AHEAD_MOST)
		return FAIL(r->x->f, E_CONFIG,
		    "the backup has schema %lld, this program knows %d; use the Locus that made it, or a newer one",
		    (long long)version, (int)SCHEMA_VERSION);
	return OK;
}

static enum err
prepare(struct restore *r)
{
	if (r->prepared)
		return OK;
	TRY(check_schema(r));
	if (r->config == NULL)
		return FAIL(r->x->f, E_BADREQ, "the archive has no config.xml");
	r->prepared = true;
	if (r->o->verify)
		return OK;
	return r->o->into != NULL ? restore_into_prepare(r) : restore_here_prepare(r);
}

static enum err
take_entry(struct restore *r)
{
	if (entry_begins(r->in.now.name, BACKUP_CONFIG))
		return take_config(r);
	TRY(prepare(r));
	if (entry_begins(r->in.now.name, BACKUP_DATABASE))
		return load_some(r);
	TRY(finish_database(r));
	return r->o->here != NULL ? restore_extract(r) : OK;
}

static enum err
take_entries(struct restore *r)
{
	enum err e;

	while ((e = backup_next(&r->in)) == OK)
		TRY(take_entry(r));
	if (e != E_NOTFOUND)
		return e;
	TRY(check_dump_rows(r));
	if (r->o->verify)
		return OK;
	TRY(finish_database(r));
	return r->o->here != NULL ? restore_extract_end(r) : OK;
}

/* --- the command --- */

static void
describe(struct restore *r)
{
	const json_t *head = r->in.head;

	printf("backup    of %s, made %s by Locus %s, schema %lld, %s\n",
	    backup_text(head, "master_url"), backup_text(head, "time_utc"),
	    backup_text(head, "locus"),
	    (long long)json_integer_value(json_object_get(head, "schema")),
	    backup_text(head, "database"));
}

static enum err
report_verified(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	struct print *p;
	int64_t rows = 0;

	for (size_t i = 0; i < r->rows.n; i++)
		rows += r->rows.tables[i].rows;
	p = print_tree(x, PRINT_OBJECT);
	print_json(p, "head", r->in.head);
	print_json(p, "end", r->in.end);
	print_line(p, NULL,
	    "verified  %lld entries, %lld bytes, %zu tables with %lld rows; torn files: %zu",
	    (long long)r->in.entries, (long long)r->in.bytes, r->rows.n,
	    (long long)rows, r->in.ntorn);
	print_end(p);
	return OK;
}

static enum err
check_options(struct cmd_ctx *x, const struct restore_opts *o)
{
	if (o->into != NULL && (o->user != NULL || o->port > 0))
		return ctx_usage(x, "--user and --port are for --here");
	if (o->verify + (o->here != NULL) + (o->into != NULL) != 1)
		return ctx_usage(x, "give one of --verify, --into NAME and --here DIR");
	if (o->verify && (o->url != NULL || o->user != NULL || o->port > 0))
		return ctx_usage(
		    x, "--verify makes no project: omit the other options");
	return OK;
}

static enum err
restore_end(struct restore *r)
{
	if (r->o->verify)
		return report_verified(r);
	return r->o->into != NULL ? restore_into_end(r) : restore_here_end(r);
}

static void
restore_undo(struct restore *r)
{
	if (r->o->into != NULL)
		restore_into_undo(r);
	else if (r->o->here != NULL)
		restore_here_undo(r);
}

static enum err
restore_from(struct restore *r)
{
	enum err e = backup_in_begin(r->x->a, r->fd, &r->in, r->x->f);

	if (e == OK) {
		if (r->x->format == FORMAT_TABLE)
			describe(r);
		e = take_entries(r);
	}
	if (e == OK)
		e = restore_end(r);
	if (e != OK)
		restore_undo(r);
	backup_in_free(&r->in);
	return e;
}

static enum err
restore_work(struct cmd_ctx *x, void *r)
{
	(void)x;
	return restore_from(r);
}

static enum err
restore_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct restore r = { .x = x, .o = opts, .rows = { .a = x->a } };
	bool is_stdin = strcmp(args[0], "-") == 0;
	enum err e;

	(void)n;
	TRY(check_options(x, r.o));
	proc_signals();
	r.fd = is_stdin ? STDIN_FILENO : open(args[0], O_RDONLY | O_CLOEXEC);
	if (r.fd < 0)
		return FAIL_ERRNO(x->f, "opening %s", args[0]);
	if (r.o->into != NULL && lseek(r.fd, 0, SEEK_CUR) < 0)
		return ctx_usage(x, "--into reads the archive twice: give a file");
	e = r.o->here == NULL ? restore_from(&r) :
	                        create_or_remove(x, r.o->here, restore_work, &r);
	if (!is_stdin)
		close(r.fd);
	return e;
}

const struct cmd cmd_restore = { .name = "restore",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.purpose = "make a project of a backup, or verify the backup",
	.about =
	    "Reads an archive that locus backup made; \"-\" is standard input. Every digest is\n"
	    "compared, and a damaged or partial archive leaves nothing behind. The restored\n"
	    "project is the same project as the original: on another machine, or while the\n"
	    "original is still there, it refuses to start until locus relocate says what it is.\n"
	    "With --url it becomes a project of its own. locus-backup(7) has the whole story.",
	.opts = restore_options,
	.opts_size = sizeof(struct restore_opts),
	.tree = true,
	.run = restore_run };
