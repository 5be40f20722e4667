/* SPDX-License-Identifier: Apache-2.0 */
/* locus schema status. */
#include "db/schema.h"

#include <stdio.h>
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "lib/banned.h"

static const struct print_column schema_columns[] = {
	{ "database", "database", PRINT_TEXT, NULL },
	{ "schema", "schema", PRINT_NUMBER, "0: none of Locus" },
	{ "known", "known", PRINT_NUMBER, "the schema of this program" },
	{ 0 },
};

static enum err
schema_status_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	int64_t version = 0;
	enum err e = ctx_db_any_schema(x);

	(void)opts, (void)args, (void)n;
	if (e == OK)
		e = schema_version(x->db, &version, x->f);
	if (e != OK)
		return e;
	if (version != SCHEMA_VERSION)
		x->status = err_exit(E_CONFIG);
	if (x->format != FORMAT_TABLE)
		print_record(
		    x, schema_columns, x->cf->db_name, version, SCHEMA_VERSION);
	else if (version == 0)
		printf("database %s has no schema of Locus; this program knows %d\n",
		    x->cf->db_name, (int)SCHEMA_VERSION);
	else
		printf("database %s has schema %lld; this program knows %d\n",
		    x->cf->db_name, (long long)version, (int)SCHEMA_VERSION);
	if (version != SCHEMA_VERSION)
		printf("%s\n", version > SCHEMA_VERSION ?
				   "It is newer: install the newer Locus." :
				   "Run: locus schema upgrade (with --dry-run first)");
	return OK;
}

const struct cmd cmd_schema_status = { .name = "schema status",
	.args = "",
	.purpose = "show the version of the database's schema",
	.about =
	    "Shows the version of the schema in the database and that of this program. Exits with\n"
	    "78 if they differ.",
	.columns = schema_columns,
	.run = schema_status_run };
