/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on demand (locality.md 1.1 (L8)): raises need_work for the wanted files, then
 * looks every 100 ms whether the generator has made a result, or has said for all of
 * them that it will not.  A waiting request occupies a worker and its connection, so
 * only locality_max_waiters requests of this machine wait at once.  A place to wait is
 * a locked file, which the kernel releases when its holder dies.
 */
#include "sched/rpc/rpc.h"

#include <unistd.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum {
	LOOK_MS = 100,
	LOOK_FILES = 64
}; /* LOOK_FILES: the longest list of a statement */

/*
 * Returns the decision's entry for a file set; NULL if the decision did not consider
 * it.
 */
static const struct dec_file *
wanted_file(const struct rpc *x, int64_t id)
{
	for (size_t i = 0; i < x->snap->nfiles; i++)
		if (x->snap->files[i].fileset_id == id)
			return &x->dec->files[i];
	return NULL;
}

/*
 * Counts the demand for file sets.  A failure does not affect this host; other files
 * may then be chosen first.
 */
static void
count_demand(struct rpc *x, const int64_t *ids, size_t n, int64_t now)
{
	struct fail f = { 0 };
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i += DB_LIST_MAX)
		e = db_exec(x->db, &f, NULL, FILESETS_DEMANDED, .now = now,
		    .ids = db_ids(
			ids + i, n - i < DB_LIST_MAX ? n - i : (size_t)DB_LIST_MAX));
	if (e != OK)
		log_fail("demand", &f);
}

/*
 * Raises the triggers.  If one cannot be raised because the disk is full, this host
 * loses its on-demand work but not its reply.  Work that others await is being made
 * already.  Returns true if there is something to wait for.
 */
static bool
raise_triggers(struct rpc *x)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);
	int64_t *raised = NEWN(x->a, int64_t, x->dec->nwant + 1), now = clock_now();
	size_t n = 0, awaited = 0;

	for (size_t i = 0; i < x->dec->nwant; i++) {
		const struct dec_file *df = wanted_file(x, x->dec->want[i]);
		struct fail f = { 0 };

		if (df == NULL)
			continue;
		if (df->awaited)
			awaited++;
		else if (trigger_raise(&t, TRIGGER_NEED_WORK, df->file->name, &f) == OK)
			raised[n++] = df->file->fileset_id;
		else
			log_fail("need_work trigger", &f);
	}
	count_demand(x, raised, n, now);
	return n + awaited > 0;
}

/* Takes a place to wait; returns its descriptor, or -1 if all are taken. */
static int
take_slot(struct rpc *x)
{
	char *dir = arena_printf(x->a, "%s/wait", x->conf->run_dir);
	struct fail f = { 0 };
	int fd;

	if (fs_mkdirs(dir, 0775, &f) != OK) {
		log_fail("creating places to wait", &f);
		return -1;
	}
	for (int64_t i = 0; i < x->conf->locality_max_waiters; i++) {
		char *path = arena_printf(x->a, "%s/slot-%lld", dir, (long long)i);

		if (fs_lock(path, &fd, &f) == OK)
			return fd;
		if (f.code != E_RACE) {
			log_fail("taking a place to wait", &f);
			return -1;
		}
	}
	return -1;
}

/* Returns the names of the wanted files; "" (not a trigger) for unknown ones. */
static char **
wanted_names(struct rpc *x)
{
	char **names = NEWN(x->a, char *, x->dec->nwant + 1);

	for (size_t i = 0; i < x->dec->nwant; i++) {
		const struct dec_file *df = wanted_file(x, x->dec->want[i]);

		names[i] = df == NULL ? arena_strdup(x->a, "") : df->file->name;
	}
	return names;
}

/*
 * Has the generator said "no more" for every file?  Not while the last workunit it made
 * waits for the transitioner.
 */
static enum err
nothing_comes(struct rpc *x, char *const *names, bool *nothing)
{
	const struct triggers t = triggers_of(x->conf, x->db, NULL);
	struct arena a = { 0 }; /* freed after each of many looks */
	bool *there = NEWN(&a, bool, x->dec->nwant + 1), unmade = false;
	enum err e = trigger_there(
	    &t, &a, TRIGGER_NO_WORK_AVAILABLE, names, x->dec->nwant, there, &x->fail);

	*nothing = e == OK;
	for (size_t i = 0; i < x->dec->nwant; i++)
		*nothing = *nothing && there[i];
	arena_free(&a);
	if (*nothing)
		e = filesets_unmade(
		    x->db, x->dec->want, x->dec->nwant, &unmade, &x->fail);
	*nothing = *nothing && !unmade;
	return e;
}

/*
 * Looks every LOOK_MS.  The triggers are checked first, so that results made before
 * they were raised are seen.
 */
static enum err
wait_for_results(struct rpc *x, int64_t until_ms)
{
	size_t n = x->dec->nwant < LOOK_FILES ? x->dec->nwant : LOOK_FILES;
	char **names = wanted_names(x);
	struct fail f = { 0 };
	bool nothing = false;
	int64_t ready = 0;
	enum err e;

	do {
		clock_nap_ms(LOOK_MS);
		db_request(
		    x->db, clock_mono_ms()); /* deliberate waiting does not count */
		e = nothing_comes(x, names, &nothing);
		if (e == OK)
			e = filesets_ready(x->db, x->dec->want, n, x->dec->want_after,
			    &ready, &x->fail);
	} while (e == OK && ready == 0 && !nothing && !proc_stopping &&
		 clock_mono_ms() < until_ms);
	x->wait = ready != 0 ? WAIT_BROUGHT : WAIT_IN_VAIN;
	if (e == OK && ready != 0 &&
	    db_exec(x->db, &f, NULL, FILESET_DEMAND_MET, .id = ready) != OK)
		log_fail("demand", &f); /* only a count: no reason to send nothing */
	return e;
}

enum err
rpc_wait(struct rpc *x, enum rpc_step *next)
{
	int64_t start = clock_mono_ms();
	enum err e;
	int fd;

	if (x->dry) { /* nothing is raised, so nothing will come */
		x->wait = WAIT_IN_VAIN;
		*next = RPC_load;
		return OK;
	}
	fd = raise_triggers(x) ? take_slot(x) : -1;
	if (fd < 0) {
		x->wait = WAIT_NO_PLACE;
		x->snap->wait_possible = false;
		*next = RPC_decide;
		return OK;
	}
	e = wait_for_results(
	    x, start + x->conf->locality_scheduling_wait_period * 1000);
	close(fd);
	x->waited_ms = clock_mono_ms() - start;
	db_request(x->db, x->start_ms + x->waited_ms);
	if (e == OK)
		*next = RPC_load;
	return e;
}
