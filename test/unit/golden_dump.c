/* SPDX-License-Identifier: Apache-2.0 */
/* A decision as text for people: a line for each thing decided, nothing for what is
 * not. */
#include <inttypes.h>
#include <string.h>
#include "model/record.h"
#include "model/states.h"
#include "test/unit/golden_world.h"
#include "lib/banned.h"

static const char *const how[] = { "lost", "targeted", "old", "held", "working set",
	"searched", "plain" };
static const char *const states[] = { "ADVERTISED", "DRAINING", "EXHAUSTED", "DEAD" };

static void
put_reports(struct buf *b, const struct golden *g)
{
	for (size_t i = 0; i < g->req->nreports; i++) {
		const struct dec_report *r = &g->dec->reports[i];

		buf_printf(b, "report %s: %s%s (%s)\n", g->req->reports[i].name,
		    r->ack ? "ack" : "no ack",
		    r->action == REPORT_STORE ? ", store" : "", r->note);
		if (r->action != REPORT_STORE)
			continue;
		buf_printf(b,
		    "  result %" PRId64 " of workunit %" PRId64 ", still %s %s\n",
		    r->result_id, r->workunitid,
		    state_name(KIND_RESULT, r->expect_state),
		    state_name(KIND_OUTCOME, r->expect_outcome));
		buf_printf(b,
		    "  outcome %s, validate %s, exit %d, cpu %g s, elapsed %g s\n",
		    state_name(KIND_OUTCOME, r->outcome),
		    state_name(KIND_VALIDATE, r->validate_state), r->exit_status,
		    r->cpu_time, r->elapsed_time);
	}
}

static void
put_sends(struct buf *b, const struct golden *g)
{
	for (size_t i = 0; i < g->dec->nsends; i++) {
		const struct dec_send *s = &g->dec->sends[i];

		buf_printf(b, "send %s: %s\n", s->job->name, how[s->how]);
		buf_printf(b,
		    "  result %" PRId64 " of workunit %" PRId64 ", still %s\n",
		    s->job->id, s->job->workunitid,
		    s->expect_in_progress ? "IN_PROGRESS" : "UNSENT");
		if (s->version != NULL)
			buf_printf(b, "  version %" PRId64 ": %s %d %s\n",
			    s->version->id, s->app->name, s->version->version_num,
			    s->version->plan_class);
		else
			buf_printf(
			    b, "  the client's version [%d]\n", s->client_version);
		buf_printf(b,
		    "  %g x %s, %g CPUs, %g FLOPS by %s, %g s, deadline now + %" PRId64
		    " s\n",
		    s->usage, g->req->resources[s->resource].type, s->avg_ncpus,
		    s->projected_flops, speed_source_text(s->speed_source),
		    s->runtime_s, s->deadline - g->now);
		if (s->gpu_ram_bytes > 0 || s->memory_bound != s->job->rsc_memory_bound)
			buf_printf(b, "  memory %g, of the coprocessor %g\n",
			    s->memory_bound, s->gpu_ram_bytes);
		buf_printf(b,
		    "  bytes needed %" PRId64 ", saved %" PRId64 ", once %" PRId64 "\n",
		    s->bytes_needed, s->bytes_saved, s->once);
		if (s->replication != REPLICATION_FIXED)
			buf_printf(b, "  replication %s (%d valid), raised to %d\n",
			    replication_name(s->replication), s->consecutive_valid,
			    s->raise_to);
	}
}

static void
put_files(struct buf *b, const struct golden *g)
{
	for (size_t i = 0; i < g->snap.nfiles; i++) {
		const struct dec_file *f = &g->dec->files[i];

		buf_printf(b, "file %s: %s, %zu sent, %zu refused, %s%s\n",
		    f->file->name, states[f->state], f->sent, f->refused,
		    reason_code(f->why), f->mark_no_work ? ", files_no_work" : "");
	}
	for (size_t i = 0; i < g->dec->nwant; i++)
		buf_printf(b, "want work for set %" PRId64 "\n", g->dec->want[i]);
	for (size_t i = 0; i < g->dec->ndeletes; i++)
		buf_printf(b, "delete %s%s\n", g->dec->deletes[i].name,
		    g->dec->deletes[i].for_space ? ", to make room" : "");
}

static void
put_left_out(struct buf *b, const struct decision *d)
{
	for (size_t i = 0; i < d->nskips; i++)
		buf_printf(b, "left out %s: %s\n", d->skips[i].job->name,
		    reason_code(d->skips[i].why));
	for (size_t i = 0; i < d->nexpire; i++)
		buf_printf(b, "expire %s\n", d->expire[i]->name);
	for (size_t i = 0; i < d->nmoves; i++)
		buf_printf(b, "result %" PRId64 " moves here from host %" PRId64 "\n",
		    d->moves[i].result_id, d->moves[i].from);
	for (size_t i = 0; i < d->naborts; i++)
		buf_printf(b, "abort %s\n", d->aborts[i]);
	for (size_t i = 0; i < d->naborts_if_not_started; i++)
		buf_printf(b, "abort %s if not started\n", d->aborts_if_not_started[i]);
}

void
golden_dump(struct buf *b, const struct golden *g)
{
	const struct decision *d = g->dec;

	buf_printf(b, "work: %s\n", d->work_wanted ? "wanted" : "not wanted");
	buf_printf(b, "why: %s\n", reason_code(d->why));
	if (d->request_delay > 0)
		buf_printf(b, "delay: %g s\n", d->request_delay);
	if (d->resend_seen)
		buf_puts(b, "a reply was lost\n");
	put_reports(b, g);
	put_sends(b, g);
	put_files(b, g);
	put_left_out(b, d);
	for (size_t i = 0; i < d->nno_rsc_apps; i++)
		buf_printf(b, "no apps for %s\n", d->no_rsc_apps[i]);
	if (d->send_global_prefs)
		buf_puts(b, "send our preferences\n");
	if (d->store_global_prefs)
		buf_puts(b, "store the client's preferences\n");
	for (size_t i = 0; i < d->nmessages; i++)
		buf_printf(b, "%s: %s\n", d->messages[i].notice ? "notice" : "message",
		    d->messages[i].text);
}
