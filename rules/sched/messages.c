/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people are told.  One decisive reason first, with its numbers; clients do not
 * read the text, but for one phrase: "too recent" keeps an empty reply from counting
 * against the project.
 */
#include "rules/sched/ctx.h"

#include <string.h>
#include "rules/say.h"
#include "lib/banned.h"

enum { ANONYMOUS_DELAY_S = 14400, TEXT_MOST = 1000 };

static const struct answer {
	enum reason why;
	bool notice;
	double delay_s;
} answers[] = {
#define ANSWER(why, notice, delay_s) { WHY_##why, notice, delay_s },
#include "rules/sched/answers.def"
#undef ANSWER
};

static void
add(struct ctx *c, bool notice, struct say *s)
{
	if (s->n > TEXT_MOST)
		s->p[TEXT_MOST] =
		    '\0'; /* clients lose messages of 1024 bytes and more */
	PUSH(c->a, c->d->messages, c->d->nmessages,
	    c->messages_cap) = (struct dec_message){ .notice = notice, .text = s->p };
}

void
messages_add(
    struct ctx *c, bool notice, const char *before, const char *name, const char *after)
{
	struct say s = say_new(c->a);

	say_str(&s, before);
	say_str(&s, name);
	say_str(&s, after);
	add(c, notice, &s);
}

/* The first reason of the table that some candidate or file was left out for. */
static enum reason
decisive(const struct ctx *c)
{
	const struct decision *d = c->d;
	enum reason why;

	if (c->could_not_wait)
		return WHY_WAITING;
	for (size_t i = 0; i < N(answers); i++)
		if (d->counts[answers[i].why] > 0)
			return answers[i].why;
	why = limits_more(c);
	if (why == WHY_IN_PROGRESS_LIMIT || why == WHY_MAX_JOBS)
		return why;
	return c->conf->locality_scheduling ? WHY_LOCALITY : WHY_NO_WORK;
}

static void
say_mb(struct say *s, double bytes)
{
	say_fixed(s, bytes / 1e6, 1);
	say_str(s, " MB more");
}

static void
say_numbers(const struct ctx *c, struct say *s, enum reason why)
{
	switch (why) {
	case WHY_DISK:
		say_str(s, "; needs ");
		say_mb(s, c->lack_disk);
		break;
	case WHY_MEM:
		say_str(s, "; needs ");
		say_mb(s, c->lack_ram);
		break;
	case WHY_DEADLINE:
		say_str(s, "; tasks run ");
		say_fixed(s, 100 * c->m.availability, 0);
		say_str(s, "% of the time");
		break;
	case WHY_IN_PROGRESS_LIMIT:
		say_str(s, "; it is ");
		say_int(s, c->conf->max_wus_in_progress * c->m.ncpus);
		break;
	case WHY_MAX_JOBS:
		say_str(s, "; it is ");
		say_int(s, c->snap->project_prefs.max_jobs);
		break;
	case WHY_RPC_TOO_SOON:
		say_str(s, ": ");
		say_int(s, c->now - c->snap->last_rpc_time);
		say_str(s, " s ago, not ");
		say_int(s, c->conf->min_sendwork_interval);
		break;
	default:
		break;
	}
}

static const struct answer *
answer_of(enum reason why)
{
	for (size_t i = 0; i < N(answers); i++)
		if (answers[i].why == why)
			return &answers[i];
	return NULL;
}

/* An anonymous-platform client without the project's app can be helped only by its
 * owner. */
static bool
anonymous_without_app(const struct ctx *c, enum reason why)
{
	return why == WHY_NO_APP_VERSION && c->req->nplatforms > 0 &&
	       strcmp(c->req->platforms[0], "anonymous") == 0;
}

void
messages_why(struct ctx *c)
{
	struct decision *d = c->d;
	const struct answer *answer;
	struct say s;

	if (d->why == WHY_DONT_SEND || d->nsends > 0)
		return;
	if (d->why == WHY_NONE && !d->work_wanted)
		return;
	if (d->why == WHY_NONE)
		d->why = decisive(c);
	answer = answer_of(d->why);
	s = say_new(c->a);
	say_str(&s, "No tasks sent: ");
	say_str(&s, reason_text(d->why));
	say_numbers(c, &s, d->why);
	add(c, (answer != NULL && answer->notice) || anonymous_without_app(c, d->why),
	    &s);
	if (answer != NULL)
		decide_delay(c, answer->delay_s);
	if (d->why == WHY_WAITING &&
	    c->snap->waited) /* the generator is slow or gone */
		decide_delay(c, (double)c->conf->locality_scheduling_wait_period);
	if (anonymous_without_app(c, d->why))
		decide_delay(c, ANONYMOUS_DELAY_S);
}
