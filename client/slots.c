/* SPDX-License-Identifier: Apache-2.0 */
/* Where the slots are. */
#include "client/client.h"

#include "lib/fs.h"
#include "lib/banned.h"

char *
slot_dir(struct client *c, const struct ctask *t)
{
	return arena_printf(&c->scratch, "%s/slots/%d", c->dir, t->slot);
}

enum err
slots_make(struct client *c)
{
	return fs_make_own(
	    arena_printf(&c->scratch, "%s/slots", c->dir), 0755, &c->fail);
}
