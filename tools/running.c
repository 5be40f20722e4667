/* SPDX-License-Identifier: Apache-2.0 */
/* The state file may be older than its processes, so what it says is checked against
 * /proc. */
#include "tools/running.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/dir_cure.h"
#include "tools/procfs.h"
#include "tools/service.h"
#include "tools/unit.h"
#include "lib/banned.h"

enum { PID_FILE_MAX = 64 };

/* Makes the state of a project that has no state file, as it never ran: all its
 * services are down. */
static enum err state_from_conf(struct cmd_ctx *x, struct state *s)
{
	struct service *services;
	size_t n;

	TRY(services_of(x->a, x->cf, &services, &n, x->f));
	*s = (struct state){ .procs = NEWN(x->a, struct state_proc, n + 1), .n = n };
	for (size_t i = 0; i < n; i++)
		s->procs[i] = (struct state_proc){ .name = services[i].name,
			.note = arena_strdup(
			    x->a, services[i].argv == NULL ? services[i].why : NULL) };
	return OK;
}

struct web_server running_web_server(struct arena *a)
{
	static const struct {
		const char *name, *file;
	} known[] = { { "apache2", "/run/apache2/apache2.pid" },
		{ "nginx", "/run/nginx.pid" } };

	for (size_t i = 0; i < N(known); i++) {
		const char *path = known[i].file;
		char *text;
		int64_t pid;

		if (fs_read(a, path, PID_FILE_MAX, &text, NULL, NULL) == OK &&
		    text_i64(text_trim(text), 1, INT32_MAX, &pid) &&
		    fs_exists(arena_printf(a, "/proc/%lld", (long long)pid)))
			return (struct web_server){ known[i].name, (pid_t)pid,
				fs_mtime(path) };
	}
	return (struct web_server){ known[0].name, 0, 0 };
}

/* Adds the machine's web server. It may be another one than those known here, so it
 * does not decide whether the project runs. */
static void add_web_server(struct cmd_ctx *x, struct state *s)
{
	struct web_server w = running_web_server(x->a);
	struct state_proc *all = NEWN(x->a, struct state_proc, s->n + 1);

	for (size_t i = 0; i < s->n; i++)
		all[i] = s->procs[i];
	all[s->n++] = (struct state_proc){ .name = arena_strdup(x->a, "web server"),
		.state = w.pid == 0 ? PROC_DOWN : PROC_RUNNING,
		.pid = w.pid,
		.since = w.since,
		.of_machine = true,
		.note = arena_strdup(
		    x->a, w.pid == 0 ? "neither Debian's apache2 nor nginx runs here" :
				       w.name) };
	s->procs = all;
}

/* The state of a service that was noted in another one, and has no process. */
static enum proc_state state_without_process(enum proc_state noted, bool supervised)
{
	if (!supervised || noted == PROC_DOWN)
		return PROC_DOWN;
	return noted == PROC_STOPPED ? PROC_STOPPED : PROC_STARTING;
}

enum err running_read(struct cmd_ctx *x, struct state *s, enum running *r)
{
	bool supervised = state_supervised(x->a, x->cf);
	size_t up = 0, alive = 0;
	enum err e = state_read(x->a, x->cf, s, NULL);

	if (e != OK)
		e = state_from_conf(x, s);
	if (e != OK)
		return e;
	for (size_t i = 0; i < s->n; i++) {
		struct state_proc *p = &s->procs[i];
		bool lives = p->pid > 0 && procfs_alive(p->pid, p->start);

		if (!lives)
			p->pid = 0;
		if (!lives && p->state != PROC_FAILED)
			p->state = state_without_process(p->state, supervised);
		if (p->state == PROC_STOPPED)
			p->note = state_held_note(x->a, p->name);
		alive += lives;
		up += lives && p->state == PROC_RUNNING;
	}
	if (!supervised)
		s->supervisor = 0;
	if (supervised)
		*r = up == s->n ? RUNNING_ALL : RUNNING_PART;
	else
		*r = alive == 0 ? RUNNING_NONE : RUNNING_PART;
	if (!x->cf->private_servers)
		add_web_server(x, s);
	return OK;
}

enum err running_fail_held(struct cmd_ctx *x, const struct state *s)
{
	const char *all = NULL, *start = NULL;

	for (size_t i = 0; i < s->n; i++) {
		const char *name = s->procs[i].name;

		if (s->procs[i].state != PROC_STOPPED)
			continue;
		all = all == NULL ? name : arena_printf(x->a, "%s, %s", all, name);
		start = arena_printf(x->a, "%s%s%s %s", start == NULL ? "" : start,
		    start == NULL ? "" : " && ", locus_command(x->a, x->cf, "start"),
		    name);
	}
	if (all == NULL)
		return OK;
	return FAIL(x->f, E_SYS, "all other services run; stopped by name: %s; run: %s",
	    all, start);
}

const char *running_waits(
    struct cmd_ctx *x, const struct state *s, const char ***names, size_t *n)
{
	*names = state_restart_options(x->a, x->cf, s, n);
	if (*n > 0 || !conf_is_installed(x->cf) || !unit_differs(x->a, x->cf, UNIT_DIR))
		return state_restart_text(x->a, x->cf, s);
	*names = NEWN(x->a, const char *, 1);
	(*names)[(*n)++] = "the unit of systemd";
	return arena_printf(x->a,
	    "config.xml or Locus has changed, and the unit of systemd is as before; as root, run: %s",
	    locus_command(x->a, x->cf, "restart"));
}

const char *running_name(enum running r)
{
	static const char *const names[] = { "running", "stopped", "partly running" };

	return names[r];
}

int running_exit(enum running r)
{
	static const int codes[] = { 0, EXIT_NOTHING, EXIT_UNSURE };

	return codes[r];
}
