/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decision record for people, as a funnel.  Each reason is one
 * line that tells how many jobs were left after it and how many it took away, in the
 * order in which the rules look.
 */
#include "tools/records.h"

#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "rules/sched/quota.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { REASON_WIDTH = 52 };

/* Looked at before a version is chosen, and after; all others belong to the choice. */
static const enum reason before[] = { WHY_LOST_RACE, WHY_WU_ERROR, WHY_WU_DONE,
	WHY_ID_ORDER, WHY_USER_ONCE, WHY_HOST_ONCE };
static const enum reason after[] = { WHY_MEM, WHY_DISK, WHY_BANDWIDTH, WHY_DEADLINE };

static int
place_of(enum reason why)
{
	for (size_t i = 0; i < N(before); i++)
		if (before[i] == why)
			return (int)i;
	for (size_t i = 0; i < N(after); i++)
		if (after[i] == why)
			return (int)(N(before) + WHY__MAX + i);
	return (int)N(before) + (int)why;
}

static void
put_row(
    const char *what, int64_t left, int64_t removed, const char *code, bool decisive)
{
	printf("  %-*s %9lld %9lld  %s%s\n", REASON_WIDTH, what, (long long)left,
	    (long long)removed, code, decisive ? "   <- this stopped it" : "");
}

static const char *
text_of(const char *code)
{
	enum reason why = reason_named(code);

	return why == WHY__MAX ? code : reason_text(why);
}

/* The next count to be shown after the place last; NULL if there is none. */
static const struct rec_count *
next_count(const struct record *r, int *last)
{
	const struct rec_count *best = NULL;
	int place = 0;

	for (size_t i = 0; i < r->ncounts; i++) {
		int at = place_of(reason_named(r->counts[i].why));

		if (r->counts[i].jobs > 0 && at > *last &&
		    (best == NULL || at < place)) {
			best = &r->counts[i];
			place = at;
		}
	}
	*last = best == NULL ? *last : place;
	return best;
}

/* Of the jobs that were looked at: those that were neither sent nor left out one by
 * one, because of r->d.rest. */
static int64_t
not_tried(const struct record *r)
{
	int64_t n = r->d.jobs - (r->d.sends - r->d.resends);

	for (size_t i = 0; i < r->ncounts; i++)
		n -= r->counts[i].jobs;
	return n > 0 ? n : 0;
}

static void
print_funnel(const struct record *r)
{
	const struct rec_decision *d = &r->d;
	int64_t left = d->jobs, rest_n = not_tried(r);
	const char *rest = d->rest, *none = reason_code(WHY_NONE);
	const struct rec_count *c;
	bool marked = strcmp(d->why, none) == 0;
	int last = -1;

	if (rest[0] == '\0' || strcmp(rest, none) == 0)
		rest = marked ? reason_code(WHY_NOT_WANTED) : d->why;
	printf("%-*s %11s %9s\n", REASON_WIDTH, "", "jobs left", "removed");
	printf("%-*s %11lld\n", REASON_WIDTH, "unsent jobs that were looked at",
	    (long long)left);
	while ((c = next_count(r, &last)) != NULL) {
		bool decisive = strcmp(c->why, d->why) == 0;
		int64_t n = c->jobs;

		if (strcmp(c->why, rest) == 0) {
			n += rest_n;
			rest_n = 0;
		}
		left -= n;
		put_row(text_of(c->why), left, n, c->why, decisive);
		marked |= decisive;
	}
	if (rest_n > 0 || !marked)
		put_row(text_of(rest), left - rest_n, rest_n, rest,
		    strcmp(rest, d->why) == 0);
	if (!marked && strcmp(rest, d->why) != 0)
		put_row(text_of(d->why), 0, 0, d->why, true);
	printf(
	    "%-*s %11lld\n", REASON_WIDTH, "sent", (long long)(d->sends - d->resends));
}

static void
print_asked(const struct record *r)
{
	for (size_t i = 0; i < r->nasked; i++) {
		const struct rec_asked *q = &r->asked[i];

		printf("%-12s  %.0f s and %g idle of %g %s\n", i == 0 ? "asked" : "",
		    q->secs, q->instances, q->present, q->resource);
	}
	printf(
	    "%-12s  %lld files held, %lld tasks in progress, %lld reports (%lld acknowledged)\n",
	    "had", (long long)r->d.held_files, (long long)r->d.in_progress,
	    (long long)r->d.reports, (long long)r->d.acked);
}

static void
print_files(struct ctx *x, const struct record *r)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct rec_file *f = &r->files[i];

		printf("%-12s  %s (%s, %s, %s): %lld jobs, %lld sent  %s\n",
		    i == 0 ? "files" : "", f->name, f->how,
		    human_bytes(x->a, (double)f->bytes), f->state, (long long)f->jobs,
		    (long long)f->sent, f->sent > 0 ? "" : f->why);
	}
}

char *
record_replication(struct arena *a, const struct rec_sent *s)
{
	if (strcmp(s->replication, replication_name(REPLICATION_ALONE)) == 0)
		return arena_printf(a, "sent alone: trusted (consecutive_valid %d)",
		    s->consecutive_valid);
	if (strcmp(s->replication, replication_name(REPLICATION_UNTRUSTED)) == 0)
		return arena_printf(a,
		    "replicated to %d: not trusted (consecutive_valid %d of %d)",
		    s->raised_to, s->consecutive_valid, PROVED_IN_A_ROW);
	if (strcmp(s->replication, replication_name(REPLICATION_SPOT_CHECK)) == 0)
		return arena_printf(a,
		    "replicated to %d: trusted, and checked by chance (one in %d)",
		    s->raised_to, s->consecutive_valid);
	return arena_strdup(a, "");
}

static void
print_sent(struct ctx *x, const struct record *r)
{
	for (size_t i = 0; i < r->nsent; i++) {
		const struct rec_sent *s = &r->sent[i];
		const char *replication = record_replication(x->a, s);

		printf(
		    "%-12s  %s (%s): %s %d%s%s on %g %s, %s at %.3g GFLOPS (%s); %s to load, %s saved%s%s\n",
		    i == 0 ? "tasks" : "", s->name, s->how, s->app, s->version_num,
		    s->plan_class[0] == '\0' ? "" : " ", s->plan_class, s->usage,
		    s->resource, human_span(x->a, (int64_t)s->runtime_s),
		    s->flops / 1e9, speed_source_text(speed_source_named(s->speed)),
		    human_bytes(x->a, (double)s->bytes_needed),
		    human_bytes(x->a, (double)s->bytes_saved),
		    replication[0] == '\0' ? "" : "; ", replication);
	}
	if ((int64_t)r->nsent < r->d.sends)
		printf("%-12s  and %lld more\n", "",
		    (long long)r->d.sends - (long long)r->nsent);
	for (size_t i = 0; i < r->nleft; i++)
		printf("%-12s  %s: %s\n", i == 0 ? "left out" : "", r->left[i].name,
		    r->left[i].why);
}

static void
print_told(struct ctx *x, const struct record *r)
{
	for (size_t i = 0; i < r->nmessages; i++)
		printf("%-12s  %s%s\n", i == 0 ? "told" : "", r->messages[i].text,
		    r->messages[i].notice ? "  (notice)" : "");
	for (size_t i = 0; i < r->ndeletes; i++)
		printf("%-12s  %s (%s, %s%s)\n", i == 0 ? "to delete" : "",
		    r->deletes[i].name, human_bytes(x->a, (double)r->deletes[i].bytes),
		    r->deletes[i].state,
		    r->deletes[i].for_space ? ", to make room" : "");
	if (r->d.delay_s > 0)
		printf("%-12s  not before %s\n", "to ask again",
		    human_span(x->a, (int64_t)r->d.delay_s));
}

static void
print_head(struct ctx *x, const struct record *r, int64_t now)
{
	const struct rec_decision *d = &r->d;
	char at[21];

	printf("host %lld \"%s\"%s  user %lld  request %lld (rpc %s) %s ago, %s\n",
	    (long long)d->hostid, d->host_name, d->host_new ? ", new" : "",
	    (long long)d->userid, (long long)d->seqno, record_rpc(x->a, r),
	    human_span(x->a, now - d->at), clock_text(d->at, at));
}

void
record_print(struct ctx *x, const struct record *r, int64_t now)
{
	const struct rec_decision *d = &r->d;

	print_head(x, r, now);
	print_asked(r);
	if (d->refused[0] != '\0') {
		printf("%-12s  %s%s%s   <- this stopped it\n", "refused", d->refused,
		    d->refused_for[0] == '\0' ? "" : ": ", d->refused_for);
		if (d->userid == 0)
			printf(
			    "%-12s  only the request said that it was this host\n", "");
	} else if (d->work_wanted) {
		print_funnel(r);
	} else {
		bool none = strcmp(d->why, reason_code(WHY_NONE)) == 0;

		printf("%-12s  0 tasks: %s  %s%s\n", "sent",
		    none ? "no work was asked for" : text_of(d->why), d->why,
		    none ? "" : "   <- this stopped it");
	}
	print_files(x, r);
	print_sent(x, r);
	print_told(x, r);
	if (d->drawn_fit > 0)
		printf(
		    "%-12s  a job drawn whatever the host holds would have cost %s (mean of %lld)\n",
		    "in contrast", human_bytes(x->a, (double)d->drawn_bytes),
		    (long long)d->drawn_fit);
	if (d->waited_ms > 0)
		printf("%-12s  %.1f s for work made on demand\n", "waited",
		    (double)d->waited_ms / 1000);
	if (d->lost > 0)
		printf("%-12s  %lld jobs that others took meanwhile, in %lld rounds\n",
		    "lost", (long long)d->lost, (long long)d->rounds + 1);
	printf("%-12s  %s, seed %lld\n", "config", d->config, (long long)d->seed);
}
