/* SPDX-License-Identifier: Apache-2.0 */
/* The state file may be older than its processes, so what it says is checked against
 * /proc. */
#include "tools/running.h"

#include "tools/procfs.h"
#include "tools/service.h"
#include "tools/unit_run.h"
#include "lib/banned.h"

/* Makes the state of a project that has no state file, as it never ran: all its
 * services are down. */
static enum err
state_from_conf(struct cmd_ctx *x, struct state *s)
{
	struct service *services;
	size_t n;
	enum err e = services_of(x->a, x->cf, &services, &n, x->f);

	if (e != OK)
		return e;
	*s = (struct state){ .procs = NEWN(x->a, struct state_proc, n + 1), .n = n };
	for (size_t i = 0; i < n; i++)
		s->procs[i] = (struct state_proc){ .name = services[i].name,
			.note = arena_strdup(
			    x->a, services[i].argv == NULL ? services[i].why : NULL) };
	return OK;
}

/* Checks the state file against /proc. */
static enum err
supervisor_read(struct cmd_ctx *x, struct state *s, enum running *r)
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
			p->state = supervised && p->state != PROC_DOWN ? PROC_STARTING :
			                                                 PROC_DOWN;
		alive += lives;
		up += lives && p->state == PROC_RUNNING;
	}
	if (!supervised)
		s->supervisor = 0;
	if (supervised)
		*r = up == s->n ? RUNNING_ALL : RUNNING_PART;
	else
		*r = alive == 0 ? RUNNING_NONE : RUNNING_PART;
	return OK;
}

enum err
running_read(struct cmd_ctx *x, struct state *s, enum running *r)
{
	return conf_is_installed(x->cf) ? unit_run_read(x, s, r) :
	                                  supervisor_read(x, s, r);
}

bool
running_any(struct cmd_ctx *x)
{
	struct state s;
	enum running r;

	if (!conf_is_installed(x->cf))
		return state_supervised(x->a, x->cf);
	return running_read(x, &s, &r) != OK || r != RUNNING_NONE;
}

const char *
running_waits(struct cmd_ctx *x, const struct state *s, const char ***names, size_t *n)
{
	if (conf_is_installed(x->cf))
		return unit_run_waits(x, s, names, n);
	*names = state_restart_options(x->a, x->cf, s, n);
	return state_restart_text(x->a, x->cf, s);
}

const char *
running_name(enum running r)
{
	static const char *const names[] = { "running", "stopped", "partly running" };

	return names[r];
}

int
running_exit(enum running r)
{
	static const int codes[] = { 0, EXIT_NOTHING, EXIT_UNSURE };

	return codes[r];
}
