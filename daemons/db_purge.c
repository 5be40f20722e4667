/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes finished workunits and their results from the database, a few per
 * transaction, so that an interrupted purge leaves only whole workunits. Each is first
 * written to an archive, one file per day; after a crash a workunit may appear in it
 * twice.
 */
#include <string.h>
#include "daemons/loop.h"
#include "daemons/queue.h"
#include "db/entity.h"
#include "db/file.h"
#include "db/wu_updates.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "lib/log.h"
#include "proto/archive.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum {
	SLICES = 16, /* slices (db/wu_updates.h) per pass, until something is found */
	CHUNK = 32,  /* workunits per transaction */
	DAY_S = 86400,
	HOUR_S = 3600,
	MESSAGE_DAYS = 30,
	ARCHIVES_MOST = 100000,
	COPIES_MOST = 100
};

struct db_purge {
	double min_age_days;
	char *archive;
	bool no_archive;
	char *dir;
	struct daemon_queue queue;
	struct row_pair at;  /* the next slice starts behind this workunit */
	int64_t pack_at;     /* when files of past days are compressed next */
	int64_t messages_at; /* when messages of tasks are looked through next */
};

#define OF(member) FIELD_OF(struct db_purge, member)
static const struct field options[] = {
	{ "min_age_days", OF(min_age_days), "X",
	    "purge only workunits unchanged for X days", .max = 36500, .def = "7" },
	{ "archive", OF(archive), "DIR",
	    "first write them to DIR/purged-DATE.xml, below the project",
	    .def = ARCHIVE_DIR },
	{ "no_archive", OF(no_archive), NULL, "delete without archiving" },
	{ 0 },
};

static enum err purge_start(struct daemon_ctx *x)
{
	struct db_purge *o = x->own;

	queue_start(x, &o->queue, "db_purge", ASIDE_NOTED);
	o->dir = project_path(x->life, x->conf, o->archive);
	return o->no_archive ? OK : fs_mkdirs(o->dir, 0750, &x->fail);
}

/* The workunits of one transaction, by id. */
struct chunk {
	struct workunit *const *wus;
	size_t n;
};

/* Another program has deleted the files of some, and has not taken them off. */
static enum err release_counted(
    struct daemon_ctx *x, struct workunit *const *wus, size_t n)
{
	struct own_inputs freed = { 0 };
	struct counted_docs c;

	TRY(inputs_counted_docs(x->db, &x->a, wus, n, &c, &x->fail));
	for (size_t i = 0; i < c.n; i++)
		if (c.docs[i] != NULL)
			blob_own_inputs(&x->a, c.docs[i], &freed, NULL);
	return inputs_take_off(x->db, &x->a, &c, freed.names, freed.n, &x->fail);
}

static enum err tx_purge(struct daemon_ctx *x, void *arg)
{
	const struct chunk *k = arg;

	TRY(release_counted(x, k->wus, k->n));
	return workunits_purge(x->db, &x->a, k->wus, k->n, &x->fail);
}

/* Archives and removes n workunits, ordered by id. */
static enum err purge_some(struct daemon_ctx *x, struct workunit *const *wu, size_t n)
{
	const struct db_purge *o = x->own;
	bool archive = !x->dry_run && !o->no_archive;
	struct chunk k = { .wus = wu, .n = n };
	struct buf b = buf_new(&x->a);
	struct purged *v;

	TRY(purge_load(x->db, &x->a, wu, n, archive, &v, &x->fail));
	for (size_t i = 0; archive && i < n; i++)
		archive_put(&b, &v[i]);
	if (archive) /* waits until it is on disk */
		TRY(fs_append(
		    archive_path(&x->a, o->dir, x->now), b.p, b.n, 0640, &x->fail));
	if (!x->dry_run)
		TRY(daemon_transaction(x, tx_purge, &k));
	for (size_t i = 0; i < n; i++)
		log_info(x->dry_run ? "[WU#%lld] %s would be purged with %zu results" :
				      "[WU#%lld] %s purged results=%zu",
		    (long long)wu[i]->id, wu[i]->name, v[i].nresults);
	return OK;
}

static enum err purge_one(struct daemon_ctx *x, struct workunit *wu)
{
	return purge_some(x, &wu, 1);
}

/*
 * Finds the workunits of the next slice that are due; sets *last at the end of what is
 * old enough.
 */
static enum err find_due(
    struct daemon_ctx *x, struct workunit **wus, size_t *n, bool *last)
{
	struct db_purge *o = x->own;
	struct purge_range r = { .share = { x->mod_n, x->mod_i },
		.after = o->at,
		.before = x->now - (int64_t)(o->min_age_days * DAY_S) };

	TRY(purge_find(x->db, &x->a, &r, wus, n, &x->fail));
	*last = r.end;
	o->at = r.after;
	if (r.end)
		o->at = (struct row_pair){ 0 };
	return OK;
}

/* Compresses a file of the archive. If that was interrupted before the original was
 * removed, both are kept: nobody knows whether something was appended meanwhile. */
static enum err pack_archive(struct daemon_ctx *x, const char *path)
{
	for (int i = 0; i < COPIES_MOST; i++) {
		const char *to = archive_packed_path(&x->a, path, i);

		if (fs_exists(to))
			continue;
		TRY(gzip_file(path, to, 0640, &x->fail));
		TRY(fs_unlink(path, &x->fail));
		log_info("compressed %s", to);
		return OK;
	}
	return FAIL(&x->fail, E_SYS, "%s has been compressed %d times before: move it",
	    path, (int)COPIES_MOST);
}

/* Compresses what was archived on past days; looks once an hour. Its trouble does not
 * stop the purge. */
static void pack_archives(struct daemon_ctx *x)
{
	struct db_purge *o = x->own;
	bool off = o->no_archive || x->dry_run || x->mod_i != 0;
	char **names;
	size_t n;

	if (off || (x->now < o->pack_at && !x->one_pass))
		return;
	o->pack_at = x->now + HOUR_S;
	if (fs_list(&x->a, o->dir, ARCHIVES_MOST, &names, &n, &x->fail) != OK) {
		log_fail("compressing the archive", &x->fail);
		return;
	}
	for (size_t i = 0; i < n && !daemon_stopping(x); i++) {
		const char *path = arena_printf(&x->a, "%s/%s", o->dir, names[i]);

		if (archive_is_over(names[i], fs_mtime(path), x->now) &&
		    pack_archive(x, path) != OK)
			log_fail("compressing the archive", &x->fail);
	}
}

/* Is there a daemon that sees to the messages of running tasks? */
static bool has_trickle_handler(const struct conf *cf)
{
	static const char name[] = "trickle_handler";

	for (size_t i = 0; i < cf->ndaemons; i++) {
		const char *cmd = cf->daemons[i].cmd, *at = strstr(cmd, name);
		if (at != NULL && (size_t)(at - cmd) < strcspn(cmd, " "))
			return true;
	}
	return false;
}

/* Removes old messages among the next ones after *after; *last: no others are old. */
static enum err remove_old_messages(
    struct daemon_ctx *x, int64_t *after, int64_t *gone, bool *last)
{
	int64_t ids[DB_LIST_MAX], before = x->now - MESSAGE_DAYS * (int64_t)DAY_S;
	struct row_trickle *rows = NULL;
	size_t n = 0, old = 0;

	TRY(trickles_new(x->db, &x->a, *after, DB_LIST_MAX, &rows, &n, &x->fail));
	for (size_t i = 0; i < n; i++)
		if (rows[i].create_time < before)
			ids[old++] = rows[i].id;
	*last = old == 0;
	if (old == 0)
		return OK;
	*after = rows[n - 1].id;
	*gone += (int64_t)old;
	return trickles_delete(x->db, ids, old, &x->fail);
}

/*
 * The messages of tasks in a project that has nobody who takes them would stay for
 * ever. Looks once an hour.
 */
static enum err age_messages_out(struct daemon_ctx *x)
{
	struct db_purge *o = x->own;
	int64_t after = 0, gone = 0;
	bool last = false;
	enum err e = OK;

	if (x->dry_run || x->mod_i != 0 || has_trickle_handler(x->conf) ||
	    (x->now < o->messages_at && !x->one_pass))
		return OK;
	o->messages_at = x->now + HOUR_S;
	while (e == OK && !last && !daemon_stopping(x))
		e = remove_old_messages(x, &after, &gone, &last);
	if (gone > 0)
		log_warn(
		    "%lld messages of tasks removed that nobody has taken for %d days",
		    (long long)gone, (int)MESSAGE_DAYS);
	return e;
}

/*
 * Examines only workunits that are old enough; some of them may still have files to
 * delete. A pass examines up to SLICES slices, and the next pass continues from there,
 * at once if this one found something.
 */
static enum err purge_step(struct daemon_ctx *x, size_t *done)
{
	static const struct queue_calls calls = { CHUNK, purge_some, purge_one, false };
	struct db_purge *o = x->own;
	struct workunit *wu;
	size_t n;
	bool last = false;

	pack_archives(x);
	TRY(age_messages_out(x));
	if (x->one_pass)
		o->at = (struct row_pair){ 0 };
	for (int i = 0;
	     *done == 0 && !last && !daemon_stopping(x) && (x->one_pass || i < SLICES);
	     i++) {
		TRY(find_due(x, &wu, &n, &last));
		TRY(queue_drop_aside(x, &o->queue, wu, &n));
		TRY(queue_chunks(x, &o->queue, &calls, wu, n, done));
	}
	return OK;
}

int main(int argc, char **argv)
{
	static const struct daemon db_purge = {
		.name = "db_purge",
		.purpose =
		    "Archives finished workunits and removes them from the database.",
		.idle_ms = 60000,
		.can_dry_run = true,
		.own_size = sizeof(struct db_purge),
		.options = options,
		.start = purge_start,
		.step = purge_step,
	};

	return daemon_main(&db_purge, argc, argv);
}
