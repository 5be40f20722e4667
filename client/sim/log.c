/* SPDX-License-Identifier: Apache-2.0 */
/* The event log: one line per event, which depends on nothing but the event. */
#include "client/sim/report.h"

#include <inttypes.h>
#include "lib/banned.h"

void
sim_log_line(const struct sim_scenario *s, const struct sim_event *e, struct buf *b)
{
	const char *text = e->text == NULL ? "" : e->text;

	buf_printf(
	    b, "%.3f %s ", e->t, e->project < 0 ? "-" : s->projects[e->project].name);
	switch (e->kind) {
	case SIM_CONTACT:
		buf_printf(b, "contact %s", text);
		return;
	case SIM_FAILED:
		buf_printf(b, "no-answer %s", text);
		return;
	case SIM_REPLY:
		buf_printf(b, "reply jobs=%" PRId64 " %s", e->n, text);
		return;
	case SIM_JOB:
		buf_printf(b, "job %" PRIu64 " app=%d deadline=%.3f", e->job,
		    (int)e->app, e->x);
		return;
	case SIM_START:
		buf_printf(b, "start %" PRIu64 " on=%s", e->job, s->rsc[e->rsc].name);
		return;
	case SIM_PREEMPT:
		buf_printf(b, "preempt %" PRIu64 " lost=%.3f", e->job, e->x);
		return;
	case SIM_END:
		buf_printf(
		    b, "end %" PRIu64 " %s", e->job, e->n != 0 ? "met" : "missed");
		return;
	case SIM_ABORT:
		buf_printf(b, "abort %" PRIu64, e->job);
		return;
	case SIM_REPORT:
		buf_printf(b, "report jobs=%" PRId64, e->n);
		return;
	case SIM_HOST:
		buf_puts(b, e->n != 0 ? "host on" : "host off");
		return;
	case SIM_ATTACH:
		buf_puts(b, "attach");
		return;
	case SIM_DETACH:
		buf_puts(b, "detach");
		return;
	}
}
