/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every rule adds to the decision: skipped candidates, a delay, messages. Short,
 * because all other rules need it, and it needs none of them.
 */
#include "rules/sched/ctx.h"

#include "rules/say.h"
#include "lib/banned.h"

enum { SKIPS_KEPT = 64, DELAY_MOST_S = 172800, TEXT_MOST = 1000 };

void decision_skip(struct ctx *c, const struct job *j, enum reason why)
{
	struct decision *d = c->d;

	d->counts[why]++;
	if (d->nskips < SKIPS_KEPT)
		PUSH(c->a, d->skips, d->nskips,
		    c->skips_cap) = (struct dec_skip){ .job = j, .why = why };
}

void decision_delay(struct ctx *c, double s)
{
	if (s > DELAY_MOST_S)
		s = DELAY_MOST_S;
	if (c->d->request_delay < s)
		c->d->request_delay = s;
}

void decision_message(struct ctx *c, bool notice, struct say *s)
{
	if (s->n > TEXT_MOST)
		s->p[TEXT_MOST] =
		    '\0'; /* clients drop messages of 1024 bytes and more */
	PUSH(c->a, c->d->messages, c->d->nmessages,
	    c->messages_cap) = (struct dec_message){ .notice = notice, .text = s->p };
}

void decision_say(
    struct ctx *c, bool notice, const char *before, const char *name, const char *after)
{
	struct say s = say_new(c->a);

	say_str(&s, before);
	say_str(&s, name);
	say_str(&s, after);
	decision_message(c, notice, &s);
}
