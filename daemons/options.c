/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons/options.h"

#include <string.h>
#include "config.h"
#include "db/schema.h"
#include "lib/args.h"
#include "lib/banned.h"

#define OF(member) FIELD_OF(struct daemon_common, member)
static const struct field common[] = {
#include "daemons/common_options.def"
	{ 0 },
};

/*
 * Without --name an instance is named after its work, such as validator-APP,
 * trickle_handler-VARIETY, or transitioner-1 for --mod 4 1.  So two instances that
 * would do the same work exclude each other, and no others.
 */
static char *
instance_name(
    struct arena *a, const struct daemon *d, const struct daemon_common *c, void *own)
{
	const char *app = NULL;
	char *name;

	for (const struct field *o = d->options; o != NULL && o->name != NULL; o++)
		if (strcmp(o->name, "app") == 0 || strcmp(o->name, "variety") == 0)
			app = *(char **)(void *)((char *)own + o->off);
	name = app == NULL ? arena_strdup(a, d->name) :
	                     arena_printf(a, "%s-%s", d->name, app);
	return c->mod[0] <= 1 ? name :
	                        arena_printf(a, "%s-%lld", name, (long long)c->mod[1]);
}

/* Are the options consistent?  Names the instance and its share of the work. */
static enum err
options_check(struct arena *a, const struct daemon *d, struct daemon_common *c,
    void *own, struct fail *f)
{
	if (d->check != NULL)
		TRY(d->check(own, f));
	if (c->dry_run && !d->can_dry_run)
		return FAIL(f, E_BADREQ,
		    "%s has no --dry_run: it cannot tell what it would do", d->name);
	c->work = instance_name(a, d, c, own);
	if (c->name == NULL || c->name[0] == '\0')
		c->name = c->work;
	if (c->mod[0] > 1)
		c->work = arena_printf(a, "%s of %lld", c->work, (long long)c->mod[0]);
	if (strchr(c->name, '/') != NULL || c->name[0] == '.')
		return FAIL(
		    f, E_BADREQ, "--name takes a plain name, not \"%s\"", c->name);
	return OK;
}

int
options_read(struct arena *a, const struct daemon *d, struct daemon_common *c,
    void *own, int argc, char **argv)
{
	struct fail f = { 0 };
	struct args g = { .a = a,
		.program = d->name,
		.own = d->options,
		.own_row = own,
		.common = common,
		.common_row = c,
		.one_dash = true,
		.usage = arena_printf(
		    a, "usage: %s [options]\n%s\n\n", d->name, d->purpose),
		.version = arena_printf(a, "%s (%s) %s, schema %d", d->name,
		    PACKAGE_NAME, PACKAGE_VERSION, (int)SCHEMA_VERSION) };
	enum args_end end = args_read(&g, argc, argv, &f);

	if (end == ARGS_RUN && options_check(a, d, c, own, &f) != OK)
		end = ARGS_WRONG;
	return args_answer(&g, end, &f);
}
