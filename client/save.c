/* SPDX-License-Identifier: Apache-2.0 */
/* When the state is saved, and the files that go then. */
#include "client/client.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { SAVE_RETRY_MS = 10000, ACCOUNTS_S = 60 };

static void
unlink_dropped(struct client *c, const struct dropped *dropped, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct cproject *p = state_project(
		    c->state, dropped[i].master_url);

		if (p != NULL)
			transfer_remove(c, p, dropped[i].name);
	}
}

/* Changed accounts alone, which change whenever a task runs, are saved only once a
 * minute. */
bool
client_save(struct client *c)
{
	struct dropped *dropped;
	size_t n;

	bool late = c->now >= c->saved_at + ACCOUNTS_S ||
	            c->now < c->saved_at; /* the clock was set back */

	if (!c->changed && !(c->accounts_changed && late))
		return true;
	if (clock_mono_ms() < c->save_after_ms)
		return false;
	c->state->clock = c->now;
	if (state_save(&c->keep, c->state_path, &c->state, &c->scratch, &dropped, &n,
		&c->fail) != OK) {
		log_fail("state", &c->fail);
		c->save_after_ms = clock_mono_ms() + SAVE_RETRY_MS;
		return false;
	}
	c->changed = c->accounts_changed = false;
	c->saved_at = c->now;
	unlink_dropped(c, dropped, n);
	return true;
}
