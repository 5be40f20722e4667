/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes run/state.json by jansson. */
#include "tools/state.h"

#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "tools/dir_cure.h"
#include "tools/procfs.h"
#include "lib/banned.h"

enum { STATE_MAX = 1 << 20, ERA_MAX = 200, ORDERS_MAX = 100000 };

static const char *const proc_state_names[PROC__MAX] = { "down", "starting", "running",
	"ending", "failed", "stopped" };

const char *proc_state_name(enum proc_state l)
{
	return proc_state_names[l];
}

bool proc_is_hopeless(const struct state_proc *p, int *first)
{
	enum { HOPELESS = 4 };

	if (*first == 0 || p->restarts < *first - 1)
		*first = p->restarts + 1;
	return p->state == PROC_FAILED || p->restarts - (*first - 1) >= HOPELESS;
}

static enum proc_state proc_state_from(const char *name)
{
	for (int i = 0; i < PROC__MAX; i++)
		if (name != NULL && strcmp(proc_state_names[i], name) == 0)
			return (enum proc_state)i;
	return PROC_DOWN;
}

static const char lock_name[] = "supervisor.lock";

static char *meant_path(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%s/started", cf->run_dir);
}

enum err state_mean_to_run(
    struct arena *a, const struct conf *cf, bool run, struct fail *f)
{
	if (!run)
		return fs_unlink(meant_path(a, cf), f);
	TRY(fs_mkdirs(cf->run_dir, private_run_mode(cf), f));
	return fs_touch(meant_path(a, cf), f);
}

bool state_is_meant_to_run(struct arena *a, const struct conf *cf)
{
	return fs_exists(meant_path(a, cf));
}

/*
 * config.xml may name another run_dir since the supervisor was started. A copy of the
 * project has the original's note, so the note is trusted only in the project itself.
 */
const char *state_dir(struct arena *a, const struct conf *cf)
{
	struct identity noted, now;
	enum standing s;

	if (conf_is_installed(cf))
		return conf_installation(a, cf).run_dir;
	if (identity_look(a, cf, &noted, &now, &s, NULL) == OK && s == STANDING_SAME &&
	    noted.run_dir[0] != '\0' && strcmp(noted.run_dir, cf->run_dir) != 0 &&
	    fs_locked(arena_printf(a, "%s/%s", noted.run_dir, lock_name)))
		return noted.run_dir;
	return cf->run_dir;
}

static char *state_path(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%s/state.json", state_dir(a, cf));
}

char *state_lock_path(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%s/%s", state_dir(a, cf), lock_name);
}

bool state_supervised(struct arena *a, const struct conf *cf)
{
	return fs_locked(state_lock_path(a, cf));
}

/*
 * Identifies the period in which a pid means the same process: the boot, in a container
 * its first process, and this directory, as pids in a copied directory are the
 * original's. That of an installed project is made anew at each boot, which its
 * services cannot see (ProtectProc).
 */
static char *pid_era(struct arena *a, const struct conf *cf)
{
	struct procfs first = { 0 };
	struct stat st = { 0 };
	char *boot = arena_strdup(a, "");

	if (!conf_is_installed(cf)) {
		fs_read(a, "/proc/sys/kernel/random/boot_id", 100, &boot, NULL, NULL);
		procfs_read(1, &first);
	}
	stat(state_dir(a, cf), &st);
	return arena_printf(a, "%.36s/%llu/%llu", boot, (unsigned long long)first.start,
	    (unsigned long long)st.st_ino);
}

/* --- orders for single services --- */

static const char held_suffix[] = ".stopped", restart_suffix[] = ".restart";

static char *order_path(
    struct arena *a, const struct conf *cf, const char *service, const char *suffix)
{
	return arena_printf(a, "%s/%s%s", state_dir(a, cf), service, suffix);
}

enum err state_hold(struct arena *a, const struct conf *cf, const char *service,
    bool hold, struct fail *f)
{
	const char *path = order_path(a, cf, service, held_suffix);
	const char *era = pid_era(a, cf);

	return hold ? fs_write(path, era, strlen(era), 0644, f) : fs_unlink(path, f);
}

bool state_is_held(struct arena *a, const struct conf *cf, const char *service)
{
	const char *path = order_path(a, cf, service, held_suffix);
	char *era;

	return fs_read(a, path, ERA_MAX, &era, NULL, NULL) == OK &&
	       strcmp(era, pid_era(a, cf)) == 0;
}

char *state_held_note(struct arena *a, const char *service)
{
	return arena_printf(a, "by its name: locus start %s", service);
}

enum err state_release_all(struct arena *a, const struct conf *cf, struct fail *f)
{
	const char *dir = state_dir(a, cf);
	char **names;
	size_t n;
	enum err e = fs_list(a, dir, ORDERS_MAX, &names, &n, f);

	if (e == E_NOTFOUND)
		return OK;
	for (size_t i = 0; i < n && e == OK; i++)
		if (text_ends_with(names[i], held_suffix))
			e = fs_unlink(arena_printf(a, "%s/%s", dir, names[i]), f);
	return e;
}

enum err state_order_restart(
    struct arena *a, const struct conf *cf, const char *service, struct fail *f)
{
	return fs_touch(order_path(a, cf, service, restart_suffix), f);
}

bool state_take_restart(struct arena *a, const struct conf *cf, const char *service)
{
	const char *path = order_path(a, cf, service, restart_suffix);

	return fs_exists(path) && fs_unlink(path, NULL) == OK;
}

enum err state_write(
    struct arena *a, const struct conf *cf, const struct state *s, struct fail *f)
{
	json_t *list = json_array(), *options = json_object(), *root;
	size_t flags = JSON_INDENT(1), n;
	char *text;

	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:i, s:s}", "name",
			p->name, "state", proc_state_name(p->state), "pid",
			(json_int_t)p->pid, "session", (json_int_t)p->session, "start",
			(json_int_t)p->start, "since", (json_int_t)p->since, "restarts",
			p->restarts, "note", p->note == NULL ? "" : p->note));
	}
	for (size_t i = 0; i < s->noptions; i++)
		json_object_set_new(
		    options, s->options[i].name, json_string(s->options[i].value));
	root = json_pack("{s:s, s:{s:I, s:I}, s:s, s:o, s:o}", "era", pid_era(a, cf),
	    "supervisor", "pid", (json_int_t)s->supervisor, "start",
	    (json_int_t)s->supervisor_start, "config", s->config, "options", options,
	    "processes", list);
	n = json_dumpb(root, NULL, 0, flags);
	text = arena_alloc(a, n + 1);
	json_dumpb(root, text, n, flags);
	json_decref(root);
	return fs_write(state_path(a, cf), text, n, 0644, f);
}

void state_forget(struct arena *a, const struct conf *cf)
{
	fs_unlink(state_path(a, cf), NULL);
}

static struct state_proc proc_from(struct arena *a, const json_t *j)
{
	const char *name = json_string_value(json_object_get(j, "name"));
	const char *note = json_string_value(json_object_get(j, "note"));

	return (struct state_proc){ .name = arena_strdup(a, name),
		.state = proc_state_from(
		    json_string_value(json_object_get(j, "state"))),
		.pid = (pid_t)json_integer_value(json_object_get(j, "pid")),
		.session = (pid_t)json_integer_value(json_object_get(j, "session")),
		.start = (uint64_t)json_integer_value(json_object_get(j, "start")),
		.since = json_integer_value(json_object_get(j, "since")),
		.restarts = (int)json_integer_value(json_object_get(j, "restarts")),
		.note = arena_strdup(a, note) };
}

enum err state_read(
    struct arena *a, const struct conf *cf, struct state *s, struct fail *f)
{
	const char *path = state_path(a, cf);
	json_t *root, *list, *sup;
	const char *of;
	char *text;
	size_t n;
	enum err e = fs_read(a, path, STATE_MAX, &text, &n, f);

	*s = (struct state){ 0 };
	if (e != OK)
		return e;
	root = json_loadb(text, n, 0, NULL);
	if (root == NULL)
		return FAIL(f, E_NOTFOUND, "cannot parse %s", path);
	sup = json_object_get(root, "supervisor");
	s->supervisor = (pid_t)json_integer_value(json_object_get(sup, "pid"));
	s->supervisor_start = (uint64_t)json_integer_value(
	    json_object_get(sup, "start"));
	s->config = arena_strdup(a, json_string_value(json_object_get(root, "config")));
	list = json_object_get(root, "processes");
	s->procs = NEWN(a, struct state_proc, json_array_size(list) + 1);
	for (; s->n < json_array_size(list); s->n++)
		s->procs[s->n] = proc_from(a, json_array_get(list, s->n));
	json_t *j = json_object_get(root, "options");
	s->options = NEWN(a, struct state_option, json_object_size(j) + 1);
	for (void *it = json_object_iter(j); it != NULL;
	     it = json_object_iter_next(j, it))
		s->options[s->noptions++] = (struct state_option){
			arena_strdup(a, json_object_iter_key(it)),
			arena_strdup(a, json_string_value(json_object_iter_value(it)))
		};
	of = json_string_value(json_object_get(root, "era"));
	if (of == NULL || strcmp(of, pid_era(a, cf)) != 0) {
		/* Pids of another era may be other processes by now. */
		s->supervisor = 0;
		for (size_t i = 0; i < s->n; i++)
			s->procs[i].pid = s->procs[i].session = 0;
	}
	json_decref(root);
	return OK;
}

const char **state_restart_options(
    struct arena *a, const struct conf *cf, const struct state *s, size_t *n)
{
	const char **names = NEWN(a, const char *, s->noptions + 1);

	*n = 0;
	if (!state_supervised(a, cf))
		return names;
	for (size_t i = 0; i < s->noptions; i++) {
		const struct field *o = field_find(
		    conf_opts, s->options[i].name, false, NULL);

		if (o != NULL && strcmp(field_get(a, o, cf), s->options[i].value) != 0)
			names[(*n)++] = o->name;
	}
	return names;
}

const char *state_restart_text(
    struct arena *a, const struct conf *cf, const struct state *s)
{
	const char **names, *all = NULL;
	char at[21];
	size_t n;

	names = state_restart_options(a, cf, s, &n);
	for (size_t i = 0; i < n; i++)
		all = all == NULL ? names[i] : arena_printf(a, "%s, %s", all, names[i]);
	if (all == NULL)
		return NULL;
	return arena_printf(a,
	    "config.xml has changed (%s); the project still runs with the old value of %s; run: %s",
	    clock_text(fs_mtime(cf->path), at), all, locus_command(a, cf, "restart"));
}
