/* SPDX-License-Identifier: Apache-2.0 */
/* locus platform add and list. */
#include <string.h>
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { PLATFORM_NAME_MOST = 250 };

struct platform_opts {
	bool dry_run;
};

static const struct field platform_options[] = {
	{ "dry-run", FIELD_OF(struct platform_opts, dry_run), NULL,
	    "Changes nothing; prints what would be done." },
	{ 0 },
};

/* Clients report the name; it becomes part of file names. */
static enum err platform_name_check(struct cmd_ctx *x, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > PLATFORM_NAME_MOST || strstr(name, "__") != NULL ||
	    strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") !=
		n)
		return ctx_usage(x,
		    "\"%.80s\" cannot be a platform's name: letters, digits and _ - . , no \"__\"",
		    name);
	return OK;
}

static enum err platform_add_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct platform_opts *o = opts;
	struct platform p = { .name = args[0], .user_friendly_name = args[1] };
	const struct platform *old;
	struct catalog *c;

	(void)n;
	TRY(platform_name_check(x, args[0]));
	if (args[1][0] == '\0' || strlen(args[1]) > PLATFORM_NAME_MOST)
		return ctx_usage(x, "the text for users must have 1 to %d bytes",
		    PLATFORM_NAME_MOST);
	TRY(tools_catalog(x, &c));
	old = catalog_platform_named(c, args[0]);
	if (old != NULL && strcmp(old->user_friendly_name, args[1]) == 0) {
		ctx_progress(x, "known", "platform %s; nothing was changed", p.name);
		return OK;
	}
	if (o->dry_run) {
		ctx_progress(x, "would", "%s platform %s (%s)",
		    old == NULL ? "create" : "change", p.name, args[1]);
		return OK;
	}
	if (old != NULL)
		p.id = old->id;
	TRY(old == NULL ? platform_insert(x->db, &p, x->f) :
			  platform_update(x->db, &p, x->f));
	ctx_progress(x, old == NULL ? "created" : "changed", "platform %s", p.name);
	return ctx_reread(x);
}

const struct cmd cmd_platform_add = { .name = "platform add",
	.args = "NAME TEXT",
	.min_args = 2,
	.max_args = 2,
	.purpose = "make a platform known",
	.about =
	    "Adds a platform under the name that clients report, with the text shown to users, or\n"
	    "changes that text. The usual platforms are known to every new project.",
	.opts = platform_options,
	.opts_size = sizeof(struct platform_opts),
	.run = platform_add_run };

static const struct print_column columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, "what clients report" },
	{ "user_friendly_name", "SHOWN AS", PRINT_TEXT, NULL },
	{ "versions", "VERSIONS", PRINT_NUMBER,
	    "app versions that are not deprecated" },
	{ 0 },
};

static enum err platform_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct print *l;
	struct catalog *c;

	(void)opts, (void)args, (void)n;
	TRY(tools_catalog(x, &c));
	l = print_list(x, columns);
	for (size_t i = 0; i < c->nplatforms; i++) {
		int64_t versions = 0;

		for (size_t k = 0; k < c->nversions; k++)
			versions += c->versions[k].platformid == c->platforms[i].id &&
			            c->versions[k].deprecated == 0;
		print_cells(l, c->platforms[i].id, c->platforms[i].name,
		    c->platforms[i].user_friendly_name, versions);
	}
	if (print_end(l) == 0)
		x->status = EXIT_NOTHING;
	return OK;
}

const struct cmd cmd_platform_list = { .name = "platform list",
	.args = "",
	.purpose = "list the platforms",
	.about = "Lists the platforms that the project knows.",
	.columns = columns,
	.run = platform_list_run };
