/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons/retire.h"

#include <string.h>
#include "db/entity.h"
#include "db/file.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { SETS_AT_ONCE = 500, ROUND_S = 60, DAY_S = 86400 };

/* The reason of draining, as shown to the admin; sets drained for it are opened again
 * if they are needed after all. */
static const char own_reason[] = "retired: nothing has needed it for retain_days";

struct gone { /* a set that is removed */
	int64_t id;
	const char *name;
	struct row_member *files; /* those that are in no other set */
	size_t n;
	int64_t told; /* hosts that hold one of them */
};

/* Workunits may have been made since the set was read; then nothing is removed. */
static enum err
tx_retire(struct daemon_ctx *x, void *arg)
{
	struct gone *g = arg;
	bool used;

	g->told = 0;
	TRY(fileset_is_used(x->db, &x->a, g->id, &used, &x->fail));
	if (used)
		return FAIL(&x->fail, E_RACE, "%s has work again", g->name);
	for (size_t i = 0; i < g->n; i++)
		TRY(file_tell_holders(
		    x->db, &x->a, &g->files[i], x->now, &g->told, &x->fail));
	return fileset_remove(x->db, &x->a, g->id, g->files, g->n, &x->fail);
}

static enum err
unlink_files(struct daemon_ctx *x, const struct gone *g)
{
	static const char *const endings[] = { "", ".md5", ".gz" };

	for (size_t i = 0; i < g->n; i++) {
		const char *path = download_path(&x->a, x->conf, g->files[i].name);

		for (size_t k = 0; k < N(endings); k++)
			TRY(fs_unlink(
			    arena_printf(&x->a, "%s%s", path, endings[k]), &x->fail));
		log_info("[FILE %s] deleted %s", g->name, path);
	}
	return OK;
}

/* The rows go first: a file without rows is a stranger that fsck names, but a set whose
 * file is missing would send tasks that fail. */
static enum err
retire_remove(struct daemon_ctx *x, int64_t id, const char *name, const char *why)
{
	struct gone g = { .id = id, .name = name };
	struct row_member *m = NULL;
	size_t n = 0;
	bool shared;
	enum err e;

	TRY(fileset_files(x->db, &x->a, id, &m, &n, &x->fail));
	g.files = NEWN(&x->a, struct row_member, n + 1);
	for (size_t i = 0; i < n; i++) {
		TRY(file_is_shared(x->db, &x->a, m[i].file_id, &shared, &x->fail));
		if (!shared)
			g.files[g.n++] = m[i];
	}
	e = daemon_transaction(x, tx_retire, &g);
	if (e == E_RACE || e == E_RETRY)
		return OK; /* the next round looks again */
	TRY(e);
	log_info(
	    "[FILE %s] %s: files=%zu shared=%zu; %lld times a host is told to delete one",
	    name, why, g.n, n - g.n, (long long)g.told);
	for (int i = TRIGGER_NEED_WORK; i < TRIGGER__MAX; i++)
		TRY(trigger_clear(&x->triggers, (enum trigger)i, name, &x->fail));
	return unlink_files(x, &g);
}

static enum err
retire_needed(struct daemon_ctx *x, const struct row_retire *s)
{
	TRY(fileset_set_idle(x->db, s->id, 0, &x->fail));
	if (strcmp(s->hold_reason, own_reason) != 0)
		return OK;
	log_info("[FILE %s] is needed again, and not retired", s->name);
	return fileset_set_paused(x->db, s->id, FILESET_OPEN, "", &x->fail);
}

static enum err
retire_step(struct daemon_ctx *x, const struct row_retire *s, enum retire_step step)
{
	if (x->dry_run) {
		if (step == RETIRE_DRAIN || step == RETIRE_REMOVE)
			log_info("[FILE %s] would be retired", s->name);
		return OK;
	}
	switch (step) {
	case RETIRE_NONE:
		return OK;
	case RETIRE_NEEDED:
		return retire_needed(x, s);
	case RETIRE_IDLE:
		log_info("[FILE %s] nothing needs it any more", s->name);
		return fileset_set_idle(x->db, s->id, x->now, &x->fail);
	case RETIRE_DRAIN:
		return fileset_set_paused(
		    x->db, s->id, FILESET_DRAINING, own_reason, &x->fail);
	case RETIRE_REMOVE:
		return retire_remove(x, s->id, s->name, "retired");
	}
	return OK;
}

static enum err
retire_sets(struct daemon_ctx *x, const struct row_retire *rows, size_t n)
{
	char **names = NEWN(&x->a, char *, n + 1);
	bool *no_work = NEWN(&x->a, bool, n + 1);

	for (size_t i = 0; i < n; i++)
		names[i] = rows[i].name;
	if (n > 0)
		TRY(trigger_there(&x->triggers, &x->a, TRIGGER_NO_WORK_AVAILABLE, names,
		    n, no_work, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++) {
		const struct row_retire *r = &rows[i];
		const struct retire_set s = { .has_workunit = r->has_workunit != 0,
			.no_work_available = no_work[i],
			.paused = r->paused,
			.gen_parts = r->gen_parts,
			.gen_next = r->gen_next,
			.idle_since = r->idle_since };

		TRY(retire_step(
		    x, r, retire(&s, x->conf->retain_days * DAY_S, x->now)));
	}
	return OK;
}

/* --- sets whose removal an admin ordered --- */

static enum err
tx_leave(struct daemon_ctx *x, void *arg)
{
	return fileset_leave(x->db, &x->a, arg, &x->fail);
}

/* Its finished workunits, which are not purged yet, no longer name the set. */
static enum err
release_workunits(struct daemon_ctx *x, int64_t id)
{
	struct fileset_leaving l = { .fileset_id = id };

	do
		TRY(daemon_transaction(x, tx_leave, &l));
	while (l.left > 0 && !daemon_stopping(x));
	return OK;
}

static enum err
remove_ordered(struct daemon_ctx *x, const struct row_named *s)
{
	struct fileset_use use;
	enum err e;

	TRY(fileset_use(x->db, &x->a, s->id, &use, &x->fail));
	if (fileset_is_needed(&use))
		return OK;
	if (x->dry_run) {
		log_info("[FILE %s] would be removed", s->name);
		return OK;
	}
	e = release_workunits(x, s->id);
	if (e == E_RETRY || daemon_stopping(x))
		return OK; /* the next round goes on */
	TRY(e);
	return retire_remove(x, s->id, s->name, "removed");
}

static enum err
remove_all_ordered(struct daemon_ctx *x)
{
	struct row_named *v;
	size_t n;

	TRY(filesets_leaving(
	    x->db, &x->a, x->now - RETIRE_SETTLE_S, SETS_AT_ONCE, &v, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		TRY(remove_ordered(x, &v[i]));
	return OK;
}

enum err
retire_some(struct daemon_ctx *x, struct retiring *o)
{
	struct row_retire *rows = NULL;
	size_t n = 0;
	bool first = o->after == 0;

	if (x->mod_i != 0 || (first && x->now < o->next_at && !x->one_pass))
		return OK;
	if (first)
		TRY(remove_all_ordered(x));
	if (x->conf->retain_days == 0) {
		o->next_at = x->now + ROUND_S;
		return OK;
	}
	TRY(filesets_to_retire(
	    x->db, &x->a, o->after, SETS_AT_ONCE, &rows, &n, &x->fail));
	o->after = n < SETS_AT_ONCE ? 0 : rows[n - 1].id;
	if (o->after == 0)
		o->next_at = x->now + ROUND_S;
	return retire_sets(x, rows, n);
}
