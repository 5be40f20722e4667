/* SPDX-License-Identifier: Apache-2.0 */
/* locus start, stop and restart of single services. */
#include "tools/service_order.h"

#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/log_reader.h"
#include "lib/text.h"
#include "tools/dir_cure.h"
#include "tools/running.h"
#include "tools/service.h"
#include "lib/banned.h"

/* --- services by name --- */

struct picked {
	const struct service **v;
	size_t n;
};

/* Servers of the machine, under the names that admins use. */
static const char *const machine_servers[] = { "apache2", "nginx", "mariadb", "mysql" };

static enum err fail_no_service(
    struct cmd_ctx *x, const struct service *all, size_t n, const char *name)
{
	const char *near = NULL, *list = "";
	size_t least = (size_t)-1;

	for (size_t i = 0; i < n; i++) {
		if (near_offer(name, all[i].name, &least))
			near = all[i].name;
		list = arena_printf(
		    x->a, "%s%s%s", list, i == 0 ? "" : ", ", all[i].name);
	}
	if (near != NULL)
		return ctx_not_found(x,
		    "there is no service %.60s in %s; did you mean %s?", name,
		    x->cf->path, near);
	return ctx_not_found(x, "there is no service %.60s in %s, which has %.300s",
	    name, x->cf->path, list);
}

/*
 * Picks the project's services of that name: one service, or for a program with several
 * processes on one socket all of them. E_NOTFOUND suggests the nearest name.
 */
static enum err service_pick(struct cmd_ctx *x, const char *name, struct picked *p)
{
	const struct conf *cf = x->cf;
	struct service *all;
	size_t n;

	TRY(services_of(x->a, cf, &all, &n, x->f));
	*p = (struct picked){ .v = NEWN(x->a, const struct service *, n + 1) };
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].name, name) == 0 ||
		    (all[i].kind == SERVICE_FCGI && all[i].socket_name != NULL &&
			strcmp(all[i].socket_name, name) == 0))
			p->v[p->n++] = &all[i];
	if (p->n > 0)
		return OK;
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (cf->daemons[i].disabled && strcmp(cf->daemons[i].name, name) == 0)
			return ctx_not_found(x,
			    "the daemon %.60s is disabled; run: %s daemon.%s.disabled 0",
			    name, locus_command(x->a, cf, "config set"),
			    cf->daemons[i].name);
	for (size_t i = 0; i < cf->ntasks; i++)
		if (strcmp(cf->tasks[i].name, name) == 0)
			return ctx_not_found(x,
			    "%.60s is a task, which runs at its times; to do so now, run: %s %s",
			    name, locus_command(x->a, cf, "run-task"),
			    cf->tasks[i].name);
	for (size_t i = 0; i < N(machine_servers) && !cf->private_servers; i++)
		if (strcmp(machine_servers[i], name) == 0)
			return ctx_not_found(x,
			    "%s serves the whole machine and not only this project; as root, run: systemctl %s %s",
			    name, x->cmd->name, name);
	return fail_no_service(x, all, n, name);
}

/* --- an order, and its end --- */

enum {
	TICK_MS = 100,
	SETTLED_MS = 1000 /* a daemon with a wrong option ends before that */
};

struct ordered { /* a service that is waited for */
	const char *name;
	bool daemon; /* has no way to say that it is ready */
	pid_t old, pid;
	int64_t up_ms;   /* since when pid was seen to run */
	int first;       /* proc_is_hopeless() */
	int64_t gave_up; /* when it had failed before the order; 0 = it had not */
	int64_t ordered_ms;
	bool done;
};

static const struct state_proc *proc_named(const struct state *s, const char *name)
{
	static const struct state_proc none = { .state = PROC_DOWN };

	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->procs[i].name, name) == 0)
			return &s->procs[i];
	return &none;
}

/* --- waiting --- */

enum { HEARD_MS = 5000 };

/* Does its new process run, and does it stay? */
static bool has_come_up(struct ordered *o, const struct state_proc *p)
{
	int64_t now = clock_mono_ms();

	if (p->state != PROC_RUNNING || p->pid == 0 || p->pid == o->old) {
		o->pid = 0;
		return false;
	}
	if (p->pid != o->pid) {
		o->pid = p->pid;
		o->up_ms = now;
	}
	return !o->daemon || now - o->up_ms >= SETTLED_MS;
}

static enum err fail_order(
    struct cmd_ctx *x, const struct state_proc *p, const char *name)
{
	fprintf(stderr, "%s does not run (%s%s%s); the end of its log:\n%s\n", name,
	    proc_state_name(p->state),
	    p->note == NULL || p->note[0] == '\0' ? "" : ", ",
	    p->note == NULL ? "" : p->note,
	    log_tail(x->a, arena_printf(x->a, "%s/%s.log", x->cf->log_dir, name)));
	return FAIL(x->f, E_SYS, "%s does not run; for what it says, run: %s %s", name,
	    locus_command(x->a, x->cf, "log"), name);
}

/* Looks at one service; *open counts those that are not yet as ordered. */
static enum err service_look(struct cmd_ctx *x, const struct state *s,
    struct ordered *o, enum service_order what, size_t *open)
{
	const struct state_proc *p = proc_named(s, o->name);
	/* A failure of before the order: the supervisor hears the order a moment later.
	 */
	bool old = p->state == PROC_FAILED && p->since == o->gave_up &&
	           clock_mono_ms() < o->ordered_ms + HEARD_MS;
	bool hopeless = proc_is_hopeless(p, &o->first) && !old;

	/* A service that is merely down may be about to start: the order is not heard
	 * yet. */
	if (what == ORDER_STOP ?
		(p->pid == 0 && (p->state == PROC_STOPPED || p->state == PROC_FAILED)) :
		has_come_up(o, p)) {
		if (what == ORDER_STOP)
			ctx_progress(x, "stopped", "%s", o->name);
		else
			ctx_progress(x, "running", "%s, pid %d", o->name, (int)p->pid);
		o->done = true;
		return OK;
	}
	(*open)++;
	if (what != ORDER_STOP && hopeless)
		return fail_order(x, p, o->name);
	return OK;
}

static enum err wait_for_order(struct cmd_ctx *x, struct ordered *v, size_t n,
    enum service_order what, int64_t wait_s)
{
	int64_t end = clock_mono_ms() + wait_s * 1000;
	struct state s;
	enum running r;
	size_t open;

	for (;;) {
		open = 0;
		TRY(running_read(x, &s, &r));
		for (size_t i = 0; i < n; i++)
			if (!v[i].done)
				TRY(service_look(x, &s, &v[i], what, &open));
		if (open == 0)
			return OK;
		if (clock_mono_ms() >= end)
			break;
		clock_nap_ms(TICK_MS);
	}
	for (size_t i = 0; i < n; i++)
		if (!v[i].done && what != ORDER_STOP)
			return fail_order(x, proc_named(&s, v[i].name), v[i].name);
	return FAIL(x->f, E_SYS, "still not down after %lld s; see locus status",
	    (long long)wait_s);
}

/* --- the project's own supervisor --- */

static enum err order_supervisor(struct cmd_ctx *x, const struct picked *p,
    const struct state *s, enum service_order what)
{
	if (!state_supervised(x->a, x->cf))
		return FAIL(x->f, E_SYS,
		    "the project's supervisor has died; to take its services over, run: %s",
		    locus_command(x->a, x->cf, "start"));
	for (size_t i = 0; i < p->n; i++) {
		const char *name = p->v[i]->name;
		bool runs = proc_named(s, name)->state == PROC_RUNNING;
		bool held = state_is_held(x->a, x->cf, name);

		TRY(state_hold(x->a, x->cf, name, what == ORDER_STOP, x->f));
		/* One that was held starts as it is none any more. */
		if (!held && (what == ORDER_RESTART || (what == ORDER_START && !runs)))
			TRY(state_order_restart(x->a, x->cf, name, x->f));
	}
	return OK;
}

/* --- the command --- */

static struct ordered *ordered_list(struct arena *a, const struct picked *p,
    const struct state *s, enum service_order what)
{
	struct ordered *v = NEWN(a, struct ordered, p->n + 1);

	for (size_t i = 0; i < p->n; i++) {
		const struct state_proc *was = proc_named(s, p->v[i]->name);

		v[i] = (struct ordered){ .name = p->v[i]->name,
			.daemon = p->v[i]->kind == SERVICE_DAEMON,
			.gave_up = was->state == PROC_FAILED ? was->since : 0,
			.ordered_ms = clock_mono_ms(),
			.old = what == ORDER_RESTART ? was->pid : 0 };
	}
	return v;
}

enum err service_order(
    struct cmd_ctx *x, const char *name, enum service_order what, int64_t wait_s)
{
	struct picked p;
	struct ordered *v;
	struct state s;
	enum running r;

	TRY(service_pick(x, name, &p));
	TRY(running_read(x, &s, &r));
	if (r == RUNNING_NONE) {
		if (what != ORDER_STOP)
			return ctx_not_found(x,
			    "the project does not run; to start all of it, run: %s",
			    locus_command(x->a, x->cf, "start"));
		ctx_progress(x, "nothing", "was running");
		return OK;
	}
	v = ordered_list(x->a, &p, &s, what);
	TRY(order_supervisor(x, &p, &s, what));
	return wait_for_order(x, v, p.n, what, wait_s);
}
