/* SPDX-License-Identifier: Apache-2.0 */
/* Orders for single services, which are files in the run directory (tools/state.h). */
#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "tools/supervisor/sup.h"
#include "lib/banned.h"

/* Is any other service than those that are held to answer on the socket? */
static bool
socket_is_served(const struct sup *x, const char *path)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct proc *p = &x->procs[i];

		if (p->s.listen != NULL && p->wanted && !p->held &&
		    strcmp(p->s.listen, path) == 0)
			return true;
	}
	return false;
}

/* Lets it start at once, whatever it waits for. */
static void
try_now(struct sup *x, struct proc *p, int64_t now_ms)
{
	p->delay_ms = 0;
	p->next_ms = now_ms;
	p->restarts = 0;
	p->note[0] = '\0';
	if (p->state == PROC_FAILED || p->state == PROC_STOPPED)
		sup_set_state(x, p, PROC_DOWN);
	else if (p->state == PROC_ENDING)
		p->exit = 0; /* it gave up before the order */
}

static void
take_hold(struct sup *x, struct proc *p, int64_t now_ms)
{
	bool held;

	if (!p->wanted) /* the project is being stopped, or config.xml lacks it */
		return;
	held = state_is_held(&x->round, x->cf, p->s.name);
	if (held == p->held)
		return;
	p->held = held;
	log_info("%s %s by its name", p->s.name, held ? "is stopped" : "is started");
	if (held)
		sup_end(x, p, now_ms);
	else
		try_now(x, p, now_ms);
}

void
sup_take_orders(struct sup *x)
{
	int64_t now_ms = clock_mono_ms();

	if (!fs_changed(x->cf->run_dir, &x->orders_seen))
		return;
	for (size_t i = 0; i < x->n; i++)
		take_hold(x, &x->procs[i], now_ms);
	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];

		if (p->held && p->s.listen != NULL && !socket_is_served(x, p->s.listen))
			sup_unlisten(x, p->s.listen);
		if (state_take_restart(&x->round, x->cf, p->s.name)) {
			log_info("%s is replaced by order", p->s.name);
			sup_end(x, p, now_ms);
			try_now(x, p, now_ms);
		}
	}
	arena_reset(&x->round);
}
