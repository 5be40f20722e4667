/* SPDX-License-Identifier: Apache-2.0 */
/* locus start, stop and restart of an installed project. */
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "tools/log_tail.h"
#include "lib/privilege.h"
#include "tools/probe.h"
#include "tools/systemctl.h"
#include "tools/unit_run.h"
#include "tools/units.h"
#include "lib/banned.h"

enum { LOOK_MS = 300 };

enum err
unit_run_check(struct cmd_ctx *x)
{
	if (!systemctl_usable())
		return FAIL(x->f, E_SYS,
		    "systemd, which runs the services of %s, does not run here; in a container, run its programs by themselves",
		    x->cf->project_dir);
	if (!ctx_may_be_root(x))
		return FAIL(x->f, E_DENIED,
		    "systemd obeys root only: sudo locus -p %s %s",
		    conf_installation(x->a, x->cf).name, x->cmd->name);
	return OK;
}

/* --- what only root may do --- */

struct order {
	const char *const *words;
	char *const *units;
	size_t n;
};

static enum err
run_order(struct cmd_ctx *x, void *arg)
{
	const struct order *o = arg;

	return systemctl_units(x->a, o->words, o->units, o->n, x->f);
}

static enum err
order_units(struct cmd_ctx *x, const char *const *words, char *const *units, size_t n)
{
	struct order o = { words, units, n };

	return ctx_as_root(x, run_order, &o);
}

static enum err
release_all(struct cmd_ctx *x, void *none)
{
	(void)none;
	return state_release_all(x->a, x->cf, x->f);
}

struct hold {
	const struct picked *p;
	bool hold;
};

static enum err
hold_services(struct cmd_ctx *x, void *arg)
{
	const struct hold *h = arg;

	for (size_t i = 0; i < h->p->n; i++)
		TRY(state_hold(x->a, x->cf, h->p->v[i]->name, h->hold, x->f));
	return OK;
}

struct every { /* all units of the project in one list */
	char **units;
	size_t n, nservices; /* the services come first */
};

static enum err
every_unit(struct cmd_ctx *x, struct every *all)
{
	struct unit_names u;

	TRY(units_names(x->a, x->cf, &u, x->f));
	all->n = 0;
	all->nservices = u.nservices;
	all->units = NEWN(x->a, char *, u.nservices + u.nsockets + u.ntimers + 1);
	for (size_t i = 0; i < u.nservices; i++)
		all->units[all->n++] = u.services[i];
	for (size_t i = 0; i < u.nsockets; i++)
		all->units[all->n++] = u.sockets[i];
	for (size_t i = 0; i < u.ntimers; i++)
		all->units[all->n++] = u.timers[i];
	all->units[all->n++] = u.target;
	return OK;
}

/* --- start --- */

static enum err
sync_units(struct cmd_ctx *x, void *change)
{
	return units_sync(x->a, x->cf, change, x->f);
}

static enum err
update_units(struct cmd_ctx *x)
{
	struct units_change c;

	TRY(ctx_as_root(x, sync_units, &c));
	if (c.written + c.removed > 0)
		ctx_progress(x, "units", "%zu files written, %zu removed in " UNITS_DIR,
		    c.written, c.removed);
	return OK;
}

/* Replaces the running services that are not what config.xml says, or all. */
static enum err
replace_services(struct cmd_ctx *x, const struct every *all, bool every)
{
	static const char *const restart[] = { "restart", "--no-block", NULL };
	struct state s;
	enum running r;
	const char **names;
	char **units;
	size_t n, k = 0;

	if (every)
		return order_units(x, restart, all->units, all->nservices);
	TRY(unit_run_read(x, &s, &r));
	unit_run_waits(x, &s, &names, &n);
	units = NEWN(x->a, char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		ctx_progress(x, "replaces", "%s, whose options have changed", names[i]);
		units[k++] = units_service(x->a, x->cf, names[i]);
	}
	return order_units(x, restart, units, k);
}

static size_t
show_progress(
    struct cmd_ctx *x, const struct state *s, bool *shown, int *first, size_t *bad)
{
	size_t open = 0;

	*bad = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];
		bool hopeless = proc_is_hopeless(p, &first[i]);

		if (p->state == PROC_RUNNING && !shown[i] && p->pid > 0)
			ctx_progress(x, "running", "%s, pid %d", p->name, (int)p->pid);
		shown[i] = shown[i] || p->state == PROC_RUNNING;
		if (p->state == PROC_STOPPED)
			continue;
		if (hopeless)
			*bad += p->state != PROC_RUNNING;
		else
			open += p->state != PROC_RUNNING;
	}
	return open;
}

static enum err
fail_units(struct cmd_ctx *x, const struct state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];

		if (p->state == PROC_RUNNING || p->state == PROC_STOPPED)
			continue;
		fprintf(stderr, "%s does not run (%s%s%s); the end of its log:\n%s\n",
		    p->name, proc_state_name(p->state), p->note[0] == '\0' ? "" : ", ",
		    p->note,
		    log_tail(x->a,
			arena_printf(x->a, "%s/%s.log", x->cf->log_dir, p->name)));
	}
	return FAIL(x->f, E_SYS,
	    "not all services run; the others continue: see locus status and journalctl -u '%s@*'",
	    conf_installation(x->a, x->cf).unit);
}

static enum err
wait_for_units(struct cmd_ctx *x, size_t most, int64_t wait_s)
{
	int64_t end = clock_mono_ms() + wait_s * 1000;
	bool *shown = NEWN(x->a, bool, most);
	int *first = NEWN(x->a, int, most);
	struct state s = { 0 };
	struct probe p = { 0 };
	enum running r;
	size_t bad = 0;

	while (clock_mono_ms() < end) {
		TRY(unit_run_read(x, &s, &r));
		if (show_progress(x, &s, shown, first, &bad) == 0) {
			if (bad > 0)
				return fail_units(x, &s);
			TRY(running_fail_held(x, &s));
			p = probe_project(x, x->a);
			if (p.why == NULL) {
				ctx_progress(x, "answers", "%s", x->cf->master_url);
				return OK;
			}
			if (p.lasts)
				break;
		}
		clock_nap_ms(LOOK_MS);
	}
	if (p.why == NULL)
		return fail_units(x, &s);
	return FAIL(x->f, E_SYS,
	    "all services run but the project does not serve: %s; %s", p.why, p.mend);
}

enum err
unit_run_start(struct cmd_ctx *x, int64_t wait_s, bool replace_all)
{
	static const char *const start[] = { "start", "--no-block", NULL },
				 *const reset[] = { "reset-failed", NULL };
	char *ours[] = { arena_printf(
	    x->a, "%s@*", conf_installation(x->a, x->cf).unit) };
	struct every all;

	TRY(unit_run_check(x));
	ctx_progress(x, "project", "%s in %s", x->cf->long_name, x->cf->project_dir);
	TRY(update_units(x));
	TRY(every_unit(x, &all));
	if (replace_all)
		TRY(ctx_as_root(x, release_all, NULL));
	TRY(order_units(x, reset, ours, N(ours)));
	TRY(replace_services(x, &all, replace_all));
	TRY(order_units(x, start, all.units, all.n));
	TRY(ctx_become_owner(x));
	return wait_for_units(x, all.n + 2, wait_s);
}

enum err
unit_run_follow(struct cmd_ctx *x, const char *const *added, size_t n)
{
	static const char *const start[] = { "start", "--no-block", NULL };
	char **units = NEWN(x->a, char *, n + 1);
	struct state s;
	enum running r;

	if (!conf_is_installed(x->cf) || !systemctl_usable() || !ctx_may_be_root(x))
		return OK;
	TRY(unit_run_read(x, &s, &r));
	if (r == RUNNING_NONE)
		return OK;
	TRY(conf_load(x->a, x->cf->path, &x->cf, NULL, NULL, x->f));
	TRY(update_units(x));
	for (size_t i = 0; i < n; i++)
		units[i] = units_service(x->a, x->cf, added[i]);
	return order_units(x, start, units, n);
}

/* --- stop --- */

enum err
unit_run_stop(struct cmd_ctx *x, bool *was_running)
{
	static const char *const stop[] = { "stop", NULL };
	struct every all;
	struct state s;
	enum running r;

	TRY(unit_run_check(x));
	TRY(every_unit(x, &all));
	TRY(unit_run_read(x, &s, &r));
	*was_running = r != RUNNING_NONE;
	/* Tasks that run belong to the target, too. */
	TRY(order_units(x, stop, all.units, all.n));
	TRY(ctx_as_root(x, release_all, NULL));
	TRY(unit_run_read(x, &s, &r));
	if (r != RUNNING_NONE)
		return FAIL(x->f, E_SYS,
		    "some services did not stop: see systemctl status '%s@*'",
		    conf_installation(x->a, x->cf).unit);
	if (*was_running)
		ctx_progress(x, "stopped", "%zu services", all.nservices);
	return OK;
}

/* --- single services --- */

enum err
unit_run_order(struct cmd_ctx *x, const struct picked *p, enum service_order what)
{
	static const char *const stop[] = { "stop", "--no-block", NULL },
				 *const start[] = { "start", "--no-block", NULL },
				 *const restart[] = { "restart", "--no-block", NULL },
				 *const reset[] = { "reset-failed", NULL };
	char **units = NEWN(x->a, char *, p->n + 2),
	     **any = NEWN(x->a, char *, p->n + 2);
	struct hold h = { p, what == ORDER_STOP };
	size_t n = p->n;

	TRY(update_units(x));
	for (size_t i = 0; i < n; i++) {
		units[i] = units_service(x->a, x->cf, p->v[i]->name);
		/* Unlike a name, a pattern may match nothing. */
		any[i] = arena_printf(x->a, "%s*", units[i]);
	}
	TRY(ctx_as_root(x, hold_services, &h));
	if (p->socket != NULL)
		units[n++] = units_socket(x->a, x->cf, p->socket);
	if (what == ORDER_STOP)
		return order_units(x, stop, units, n);
	TRY(order_units(x, reset, any, p->n));
	if (what == ORDER_RESTART)
		TRY(order_units(x, restart, units, p->n));
	TRY(order_units(x, start, units, n));
	return ctx_become_owner(x);
}
