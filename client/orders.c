/* SPDX-License-Identifier: Apache-2.0 */
/* The user's orders: the lines of DIR/orders, "WORD" or "WORD NAME". */
#include "client/client.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum { ORDERS_MAX = 64 << 10 };

static bool
has_order(const struct client *c, const char *word, const char *name)
{
	size_t n = strlen(word), k = name == NULL ? 0 : strlen(name);

	for (const char *p = c->orders; *p != '\0';
	     p += strcspn(p, "\n"), p += *p != '\0') {
		size_t line = strcspn(p, "\n");

		if (strncmp(p, word, n) != 0)
			continue;
		if (name == NULL ? line == n :
				   line == n + 1 + k && p[n] == ' ' &&
				       strncmp(p + n + 1, name, k) == 0)
			return true;
	}
	return false;
}

void
orders_read(struct client *c)
{
	struct fail f;
	size_t n;

	if (fs_read(&c->scratch, arena_printf(&c->scratch, "%s/orders", c->dir),
		ORDERS_MAX, &c->orders, &n, &f) != OK)
		c->orders = arena_strdup(&c->scratch, "");
	/* A line that was absent in the previous round is a new order, carried out
	 * once. */
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];
		bool wanted = orders_name(c, "update", p->master_url);

		if (wanted == p->update_seen)
			continue;
		p->update_seen = wanted;
		p->rpc.user_request |= wanted;
		c->changed = true;
	}
}

bool
orders_all(const struct client *c, const char *word)
{
	return has_order(c, word, NULL);
}

bool
orders_name(const struct client *c, const char *word, const char *name)
{
	return has_order(c, word, name);
}
