/* SPDX-License-Identifier: Apache-2.0 */
/* locus schema check and upgrade. */
#include "db/schema.h"

#include <stdio.h>
#include "tools/fault_list.h"
#include "lib/banned.h"

static enum err
schema_check_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct schema_remark *r;
	const char *place;
	struct fault_list out;
	size_t nr;

	(void)opts, (void)args, (void)n;
	TRY(ctx_db_any_schema(x));
	TRY(schema_check(x->db, x->a, &r, &nr, x->f));
	place = x->format == FORMAT_TABLE ? "" : x->cf->db_name;
	out = fault_list_begin(x);
	for (size_t i = 0; i < nr; i++)
		fault_put(&out, place, 0, r[i].error ? FAULT_ERROR : FAULT_NOTE, "%s",
		    r[i].text);
	TRY(fault_list_end(&out, "the schema"));
	if (x->format == FORMAT_TABLE)
		printf("database %s: the schema is good\n", x->cf->db_name);
	return OK;
}

const struct cmd cmd_schema_check = { .name = "schema check",
	.args = "",
	.purpose = "compare the database with the schema",
	.about =
	    "Reports what the programs could not work with, each with the command that corrects\n"
	    "it: missing or different tables, columns, defaults and indexes, and additions by an\n"
	    "administrator that refuse rows which Locus inserts, such as a column without a\n"
	    "default. Also reports indexes that cost more than they gain.",
	.columns = fault_columns,
	.run = schema_check_run };

struct upgrade_opts {
	bool dry_run;
};

static const struct opt upgrade_options[] = {
	{ "dry-run", OPT_FLAG, offsetof(struct upgrade_opts, dry_run), NULL,
	    "Only shows what would be done." },
	{ 0 },
};

static void
print_schema_step(const char *text)
{
	printf("%s\n", text);
}

static enum err
schema_upgrade_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct upgrade_opts *o = opts;
	enum err e = ctx_db_any_schema(x);

	(void)args, (void)n;
	if (e == OK)
		e = schema_upgrade(x->db, x->a, o->dry_run, print_schema_step, x->f);
	if (e == OK && !o->dry_run)
		printf(
		    "database %s has schema %d\n", x->cf->db_name, (int)SCHEMA_VERSION);
	return e;
}

const struct cmd cmd_schema_upgrade = { .name = "schema upgrade",
	.args = "",
	.purpose = "bring the database to this program's schema",
	.about =
	    "Upgrades an older schema, or adopts the database of a BOINC project by adding what\n"
	    "is missing and by renaming indexes to the names that statements use. Each step may\n"
	    "be repeated: after a failure run the command again. Stop the project's daemons\n"
	    "first.",
	.as_root = true,
	.opts = upgrade_options,
	.opts_size = sizeof(struct upgrade_opts),
	.run = schema_upgrade_run };
