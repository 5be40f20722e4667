/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes finished workunits and their results from the database, one small transaction
 * each, so that an interrupted purge leaves whole workunits.  Before that they are
 * written to an archive, one file per day; after a crash a workunit may stand in it
 * twice.
 */
#include "daemons/archive.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "db/life.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { BATCH = 100, PAUSE_FIRST_S = 10, PAUSE_MOST_S = 3600, DAY_S = 86400 };

struct own {
	double min_age_days;
	char *archive;
	bool no_archive;
	char *dir;
	struct tries *tries;
};

#define AT(field) offsetof(struct own, field)
static const struct daemon_option options[] = {
	{ "min_age_days", 0, OPTION_REAL, AT(min_age_days), "X", "7", 0, 36500,
	    "only workunits without any change for so many days", false },
	{ "archive", 0, OPTION_TEXT, AT(archive), "DIR", "archives", 0, 0,
	    "write them to DIR/purged-DATE.xml first, below the project", false },
	{ "no_archive", 0, OPTION_FLAG, AT(no_archive), NULL, NULL, 0, 0,
	    "delete without an archive", false },
};

static enum err
start(struct ctx *x)
{
	struct own *o = x->own;

	o->tries = daemon_tries(x, PAUSE_FIRST_S, PAUSE_MOST_S);
	o->dir = project_path(x->life, x->conf, o->archive);
	return o->no_archive ? OK : fs_mkdirs(o->dir, 0750, &x->fail);
}

/* Appends text to the archive of the day and waits until it is on disk. */
static enum err
append(struct ctx *x, const struct buf *text)
{
	const struct own *o = x->own;
	char when[21];
	const char *path = arena_printf(
	    &x->a, "%s/purged-%.10s.xml", o->dir, clock_text(x->now, when));

	return fs_append(path, text->p, text->n, 0640, &x->fail);
}

static enum err
archive(struct ctx *x, const struct workunit *wu, const struct result *r, size_t n)
{
	struct buf b = buf_new(&x->a);
	char *in, *out, *err_text, *xml;
	enum err e = workunit_xml_doc(x->db, &x->a, wu->id, &xml, &x->fail);

	if (e != OK)
		return e;
	archive_workunit(&b, wu, xml);
	for (size_t i = 0; i < n && e == OK; i++) {
		e = result_xml_docs(
		    x->db, &x->a, r[i].id, &in, &out, &err_text, &x->fail);
		if (e == OK)
			archive_result(&b, &r[i], in, out, err_text);
	}
	archive_end(&b);
	return e != OK ? e : append(x, &b);
}

static enum err
unit_purge(struct ctx *x, void *arg)
{
	return workunit_purge(x->db, arg, &x->fail);
}

static enum err
purge(struct ctx *x, struct workunit *wu)
{
	const struct own *o = x->own;
	struct result *r;
	size_t n;
	enum err e = results_of_workunit(x->db, &x->a, wu->id, &r, &n, &x->fail);

	if (e == OK && x->dry_run) {
		log_info("[WU#%lld] %s would go with %zu results", (long long)wu->id,
		    wu->name, n);
		return OK;
	}
	if (e == OK && !o->no_archive)
		e = archive(x, wu, r, n);
	if (e == OK)
		e = daemon_unit(x, unit_purge, wu);
	if (e == OK)
		log_info(
		    "[WU#%lld] %s purged results=%zu", (long long)wu->id, wu->name, n);
	return e;
}

static enum err
step(struct ctx *x, size_t *done)
{
	struct own *o = x->own;
	int64_t before = x->now - (int64_t)(o->min_age_days * DAY_S);
	struct workunit *wu;
	size_t n;
	enum err e = workunits_to_purge(x->db, &x->a,
	    (struct part){ x->mod_n, x->mod_i }, before, BATCH + o->tries->used, &wu,
	    &n, &x->fail);

	return e != OK ? e : daemon_workunits(x, o->tries, wu, n, purge, done);
}

int
main(int argc, char **argv)
{
	static const struct daemon db_purge = {
		.name = "db_purge",
		.purpose =
		    "Archives finished workunits and removes them from the database.",
		.idle_ms = 60000,
		.can_dry_run = true,
		.own_size = sizeof(struct own),
		.options = options,
		.noptions = N(options),
		.start = start,
		.step = step,
	};

	return daemon_main(&db_purge, argc, argv);
}
