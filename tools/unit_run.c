/* SPDX-License-Identifier: Apache-2.0 */
/* States of units as struct state, which status and start show. */
#include "tools/unit_run.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/human.h"
#include "tools/procfs.h"
#include "tools/systemctl.h"
#include "tools/units.h"
#include "lib/banned.h"

enum { END_MAX = 400, COMMAND_MAX = 1 << 20 };

struct line { /* a unit that status shows */
	char *unit, *name;
	const char *service; /* its own or, for a socket, that which accepts on it;
	                        NULL = none */
	bool machine;        /* this machine's, not the project's */
	bool of_task; /* the service of the timer before it, of which only failures show
	               */
};
struct lines {
	struct arena *a;
	struct line *v;
	size_t n, cap;
};

static void
add_line(struct lines *l, char *unit, char *name, bool machine)
{
	PUSH(l->a, l->v, l->n,
	    l->cap) = (struct line){ .unit = unit, .name = name, .machine = machine };
}

/* Is the database server one of this machine? */
static bool
db_is_here(const struct conf *cf)
{
	return cf->db_host[0] == '\0' || strcmp(cf->db_host, "localhost") == 0;
}

static void
add_tasks(struct cmd_ctx *x, struct lines *l, const struct unit_names *u)
{
	const char *unit = conf_installation(x->a, x->cf).unit;
	size_t k = 0;

	for (size_t i = 0; i < x->cf->ntasks; i++) {
		const struct conf_task *t = &x->cf->tasks[i];

		if (t->disabled)
			continue;
		add_line(
		    l, u->timers[k++], arena_printf(x->a, "task %s", t->name), false);
		add_line(l,
		    arena_printf(x->a, "%s-task@%s.service", unit,
			units_instance(x->a, t->name)),
		    arena_strdup(x->a, ""), false);
		l->v[l->n - 1].of_task = true;
	}
}

/* Lists the units, the project's before the machine's, whose names may be any of the
 * usual ones. */
static enum err
all_lines(struct cmd_ctx *x, struct lines *l)
{
	static const char *const web[] = { "apache2.service", "nginx.service",
		"httpd.service" };
	static const char *const db[] = { "mariadb.service", "mysql.service",
		"mysqld.service" };
	struct unit_names u;
	struct service *s;
	size_t n;

	*l = (struct lines){ .a = x->a };
	TRY(services_of(x->a, x->cf, &s, &n, x->f));
	TRY(units_names(x->a, x->cf, &u, x->f));
	for (size_t i = 0; i < n; i++) {
		add_line(l, u.services[i], s[i].name, false);
		l->v[l->n - 1].service = s[i].name;
	}
	for (size_t i = 0; i < u.nsockets; i++) {
		char *at = strchr(u.sockets[i], '@') + 1;
		char *name = arena_memdup(x->a, at, strcspn(at, "."));
		struct picked on = services_named(x->a, s, n, name);

		add_line(l, u.sockets[i], arena_printf(x->a, "socket %s", name), false);
		l->v[l->n - 1].service = on.n > 0 ? on.v[0]->name : NULL;
	}
	add_tasks(x, l, &u);
	for (size_t i = 0; i < N(web); i++)
		add_line(l, arena_strdup(x->a, web[i]),
		    arena_strdup(x->a, "web server"), true);
	for (size_t i = 0; i < N(db) && db_is_here(x->cf); i++)
		add_line(
		    l, arena_strdup(x->a, db[i]), arena_strdup(x->a, "database"), true);
	return OK;
}

static enum proc_state
unit_proc_state(const struct unit_state *u)
{
	if (strcmp(u->active, "active") == 0 || strcmp(u->active, "reloading") == 0)
		return PROC_RUNNING;
	if (strcmp(u->active, "activating") == 0)
		return PROC_STARTING;
	if (strcmp(u->active, "deactivating") == 0)
		return PROC_ENDING;
	return strcmp(u->active, "failed") == 0 ? PROC_FAILED : PROC_DOWN;
}

char *
unit_run_end_path(struct arena *a, const struct conf *cf, const char *instance)
{
	return arena_printf(a, "%s/%s.end", cf->run_dir, instance);
}

char *
unit_run_command_path(struct arena *a, const struct conf *cf, const char *instance)
{
	return arena_printf(a, "%s/%s.command", cf->run_dir, instance);
}

char *
unit_run_command_text(struct arena *a, char *const *argv)
{
	char *text = arena_strdup(a, "");

	for (; *argv != NULL; argv++)
		text = arena_printf(a, "%s%s\n", text, *argv);
	return text;
}

/* Does the service run with the command line that config.xml gives it now? */
static bool
runs_as_configured(struct cmd_ctx *x, const struct service *s, pid_t pid)
{
	char **argv = service_command(x->a, s), *text;
	const char *noted = unit_run_command_path(
	    x->a, x->cf, units_instance(x->a, s->name));

	if (pid == 0 || argv == NULL)
		return true;
	if (s->ours)
		return procfs_has_command(pid, argv);
	return fs_read(x->a, noted, COMMAND_MAX, &text, NULL, NULL) == OK &&
	       strcmp(text, unit_run_command_text(x->a, argv)) == 0;
}

/* Returns how the service ended last, if it did so by itself: "exit 1, 2m10s ago". */
static char *
noted_end(struct cmd_ctx *x, const char *service)
{
	const char *path = unit_run_end_path(
	    x->a, x->cf, units_instance(x->a, service));
	char *text;

	if (fs_read(x->a, path, END_MAX, &text, NULL, NULL) != OK)
		return NULL;
	return arena_printf(x->a, "%s, %s ago", text_trim(text),
	    human_span(x->a, clock_now() - fs_mtime(path)));
}

static struct state_proc
state_of_unit(struct cmd_ctx *x, const struct line *l, const struct unit_state *u)
{
	struct state_proc p = { .name = l->name,
		.state = unit_proc_state(u),
		.pid = u->pid,
		.since = u->since,
		.of_machine = l->machine,
		.restarts = l->machine ? 0 : u->restarts };
	char *end = unit_state_end(x->a, u);

	if (p.state == PROC_DOWN && l->service != NULL &&
	    state_is_held(x->a, x->cf, l->service)) {
		p.state = PROC_STOPPED;
		p.note = state_held_note(x->a, l->service);
		return p;
	}
	if (l->machine)
		p.note = u->id;
	else if (end[0] != '\0')
		p.note = end;
	else if (!u->loaded)
		p.note = arena_strdup(x->a, "it has no unit: locus start makes it");
	else if (u->next > 0)
		p.note = arena_printf(
		    x->a, "next in %s", human_span(x->a, u->next - clock_now()));
	else if (p.restarts > 0)
		p.note = noted_end(x, l->name);
	if (p.note == NULL)
		p.note = u->status;
	return p;
}

/* Adds to a task's line how its last run failed, if it did. */
static void
add_task_end(struct cmd_ctx *x, struct state_proc *timer, const struct unit_state *run)
{
	char *end = unit_state_end(x->a, run);

	if (end[0] != '\0')
		timer->note = arena_printf(
		    x->a, "%s; the last run: %s", timer->note, end);
}

/* Of the usual names of a server of this machine, keeps the one that runs, or else the
 * first one that is installed. */
static const struct unit_state *
machine_server(const struct lines *l, const struct unit_state *u, size_t i)
{
	const struct unit_state *best = NULL;

	if (i > 0 && strcmp(l->v[i - 1].name, l->v[i].name) == 0)
		return NULL; /* that was looked for already */
	for (size_t k = i; k < l->n && strcmp(l->v[k].name, l->v[i].name) == 0; k++)
		if (u[k].loaded &&
		    (best == NULL || (unit_proc_state(best) != PROC_RUNNING &&
					 unit_proc_state(&u[k]) == PROC_RUNNING)))
			best = &u[k];
	return best;
}

enum err
unit_run_read(struct cmd_ctx *x, struct state *s, enum running *r)
{
	struct lines l;
	struct unit_state *u;
	char **units;
	size_t up = 0, alive = 0;

	TRY(all_lines(x, &l));
	units = NEWN(x->a, char *, l.n + 1);
	for (size_t i = 0; i < l.n; i++)
		units[i] = l.v[i].unit;
	if (!systemctl_usable())
		return FAIL(x->f, E_SYS,
		    "systemd does not run here, so it cannot say what runs of %s",
		    x->cf->project_dir);
	TRY(unit_states(x->a, units, l.n, &u, x->f));
	*s = (struct state){ .procs = NEWN(x->a, struct state_proc, l.n + 1) };
	for (size_t i = 0; i < l.n; i++) {
		const struct unit_state *at = l.v[i].machine ?
		                                  machine_server(&l, u, i) :
		                                  &u[i];
		const struct state_proc *p = &s->procs[s->n];

		if (at == NULL)
			continue;
		if (l.v[i].of_task) {
			add_task_end(x, &s->procs[s->n - 1], at);
			continue;
		}
		s->procs[s->n++] = state_of_unit(x, &l.v[i], at);
		up += p->state == PROC_RUNNING;
		alive += !l.v[i].machine && p->state != PROC_DOWN &&
		         p->state != PROC_FAILED && p->state != PROC_STOPPED;
	}
	*r = up == s->n ? RUNNING_ALL : alive == 0 ? RUNNING_NONE : RUNNING_PART;
	return OK;
}

/* Returns the service's process; 0 if there is none, or it is about to run. */
static pid_t
pid_of(const struct state *s, const char *service)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->procs[i].name, service) == 0 &&
		    s->procs[i].state == PROC_RUNNING)
			return s->procs[i].pid;
	return 0;
}

const char *
unit_run_waits(struct cmd_ctx *x, const struct state *s, const char ***names, size_t *n)
{
	const char *all = NULL;
	struct fail f = { 0 };
	struct service *v;
	size_t ns;

	*n = 0;
	*names = NULL;
	if (services_of(x->a, x->cf, &v, &ns, &f) != OK)
		return NULL;
	*names = NEWN(x->a, const char *, ns + 2);
	for (size_t i = 0; i < ns; i++)
		if (!runs_as_configured(x, &v[i], pid_of(s, v[i].name)))
			(*names)[(*n)++] = v[i].name;
	if (units_differ(x->a, x->cf, UNITS_DIR))
		(*names)[(*n)++] = "the units of systemd";
	for (size_t i = 0; i < *n; i++)
		all = all == NULL ? (*names)[i] :
		                    arena_printf(x->a, "%s, %s", all, (*names)[i]);
	return all == NULL ?
	           NULL :
	           arena_printf(x->a,
		       "config.xml or Locus has changed; still as before: %s: run locus start as root",
		       all);
}
