/* SPDX-License-Identifier: Apache-2.0 */
/* What the host may do now: run tasks, use its coprocessors, use the network. */
#include "client/client.h"

#include "lib/banned.h"

const char *const hindrance_words[] = {
#define HINDRANCE(name, bit, words) [HINDER_##name] = words,
#include "client/hindrances.def"
#undef HINDRANCE
};

void
mode_set(struct client *c, struct mode *m, enum mode_kind kind, double for_s)
{
	if (for_s > 0) {
		m->brief = (int32_t)kind;
		m->brief_until = (double)c->now + for_s;
	} else {
		m->lasting = (int32_t)kind;
		m->brief_until = 0;
	}
	c->changed = true;
}

enum mode_kind
mode_now(const struct client *c, const struct mode *m)
{
	return (enum mode_kind)(
	    m->brief_until > (double)c->now ? m->brief : m->lasting);
}

static enum hindrance
hindered(const struct client *c, const struct mode *m)
{
	if (orders_all(c, "suspend") || mode_now(c, m) == MODE_NEVER)
		return HINDER_USER;
	return HINDER_NOTHING;
}

void
allowed_update(struct client *c)
{
	c->hindered.run = hindered(c, &c->state->run_mode);
	c->hindered.gpu = c->hindered.run;
	if (c->hindered.gpu == HINDER_NOTHING)
		c->hindered.gpu = hindered(c, &c->state->gpu_mode);
	c->hindered.network = hindered(c, &c->state->network_mode);
}
