/* SPDX-License-Identifier: Apache-2.0 */
/* None of these statements takes arguments, so names are quoted into their texts. */
#include "db/grant.h"

#include "db/private.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/banned.h"

/*
 * In the database's name of GRANT, "_" stands for any character unless it is escaped.
 */
static char *escape_name(struct arena *a, const char *name)
{
	struct buf b = buf_new(a);

	for (; *name != '\0'; name++) {
		if (*name == '_' || *name == '%')
			buf_puts(&b, "\\");
		buf_put(&b, name, 1);
	}
	return b.p;
}

static char *quote_name(struct arena *a, const char *name)
{
	struct buf b = buf_new(a);

	buf_puts(&b, "`");
	for (; *name != '\0'; name++) {
		buf_put(&b, name, 1);
		if (*name == '`')
			buf_puts(&b, "`");
	}
	buf_puts(&b, "`");
	return b.p;
}

static enum err grant_run(
    struct db *db, enum stmt_id id, const struct grant *g, struct fail *f)
{
	struct arena a = { 0 };
	const struct word names[] = {
		{ "$ACCOUNT", quote_name(&a, g->account) },
		{ "$DATABASE", quote_name(&a, g->database) },
		{ "$PATTERN", quote_name(&a, escape_name(&a, g->database)) },
		{ "$PLUGIN", db->mariadb ? "unix_socket" : "auth_socket" },
	};
	enum err e = conn_need(db, f);

	if (e == OK)
		e = conn_text(db, words_fill(&a, stmt_infos[id].sql, names, N(names)),
		    stmt_infos[id].name, f);
	arena_free(&a);
	return e;
}

enum err grant_database(struct db *db, const struct grant *g, struct fail *f)
{
	return grant_run(db, SQL_GRANT_DATABASE, g, f);
}

enum err grant_account(struct db *db, const struct grant *g, struct fail *f)
{
	TRY(grant_run(db, SQL_GRANT_ACCOUNT, g, f));
	return grant_run(db, SQL_GRANT_RIGHTS, g, f);
}

enum err grant_filling(struct db *db, const struct grant *g, struct fail *f)
{
	return grant_run(db, SQL_GRANT_FILLING, g, f);
}

enum err grant_filled(struct db *db, const struct grant *g, struct fail *f)
{
	return grant_run(db, SQL_GRANT_FILLED, g, f);
}

enum err grant_held(struct db *db, const struct grant *g, bool *yes, struct fail *f)
{
	struct arena a = { 0 };
	int64_t n = 0;
	enum err e = db_number(db, f, &n, GRANT_HELD, .account = g->account,
	    .pattern = escape_name(&a, g->database));

	*yes = n > 0;
	arena_free(&a);
	return e;
}

enum err grant_database_there(
    struct db *db, const struct grant *g, bool *yes, struct fail *f)
{
	int64_t n = 0;
	enum err e = db_number(
	    db, f, &n, GRANT_DATABASE_THERE, .database = g->database);

	*yes = n > 0;
	return e;
}

enum err grant_drop(struct db *db, const struct grant *g, struct fail *f)
{
	TRY(grant_run(db, SQL_GRANT_DROP_ACCOUNT, g, f));
	return grant_run(db, SQL_GRANT_DROP_DATABASE, g, f);
}
