/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks every line of stmts.def on a real server: the statement prepares (for every
 * size of its list), uses the keys named beside it, and reads no more rows than
 * allowed.
 *
 * check_sql SOCKET DATABASE create   makes the schema
 * check_sql SOCKET DATABASE upgrade  upgrades a BOINC project's database to our schema
 * check_sql SOCKET DATABASE bare     checks an empty database; some plans name no key
 * check_sql SOCKET DATABASE adopted  as filled, but a key that is not forced may differ
 * check_sql SOCKET DATABASE old      as adopted, with few rows
 * check_sql SOCKET DATABASE filled   all checks
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/inspect.h"
#include "db/schema.h"
#include "lib/banned.h"

struct check {
	struct db *db;
	const char *mode;
	bool filled, adopted;
	int64_t counting; /* rows read by reading the counters */
	int passed, failed;
};

static const char *const samples[SQL__MAX] = {
#define SAMPLE(name, values) [SQL_##name] = values,
#include "test/sql/samples.def"
#undef SAMPLE
};

static void verdict(struct check *x, bool ok, enum stmt_id id, const char *fmt,
    const char *a, const char *b)
{
	x->passed += ok;
	x->failed += !ok;
	if (ok)
		return;
	printf("%s: ", stmt_infos[id].name);
	printf("%s: \"%s\", \"%s\"\n", fmt, a, b);
}

static void fail_check(
    struct check *x, enum stmt_id id, const char *what, const struct fail *f)
{
	verdict(x, false, id, what, err_name(f->code), f->detail);
}

/* Returns the value of this name in "name=value name=value"; NULL if there is none. */
static char *sample_named(struct arena *a, enum stmt_id id, const char *name)
{
	char *rest = arena_strdup(a, samples[id] != NULL ? samples[id] : ""), *word;

	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		if (strcmp(word, name) == 0)
			return value;
	}
	return NULL;
}

/* Complains of names that the statement does not have. */
static void check_sample(struct check *x, struct arena *a, enum stmt_id id)
{
	const struct stmt_info *st = &stmt_infos[id];
	char *rest = arena_strdup(a, samples[id] != NULL ? samples[id] : ""), *word;

	while ((word = strtok_r(rest, " ", &rest)) != NULL) {
		const char *mark;
		bool known = false;

		*strchr(word, '=') = '\0';
		mark = arena_printf(a, ":%s", word);
		for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END;
		     arg++)
			known |= strcmp(arg->name, word) == 0;
		verdict(x, known || strstr(st->sql, mark) != NULL, id,
		    "its sample names what it does not have", word, "");
	}
}

/* Makes a list of n items that start at the value. */
static void list_arg(
    struct arena *a, enum arg_type type, const char *value, size_t n, void *to)
{
	int64_t *ids = NEWN(a, int64_t, n);
	struct row_pair *pairs = NEWN(a, struct row_pair, n);
	const char **names = NEWN(a, const char *, n), *mark = strstr(value, "%d");

	for (size_t i = 0; i < n; i++) {
		ids[i] = strtoll(value, NULL, 10) + (int64_t)i;
		pairs[i] = (struct row_pair){ ids[i], ids[i] };
		names[i] = mark == NULL ?
		               value :
		               arena_printf(a, "%.*s%zu%s", (int)(mark - value), value,
				   i + 1, mark + 2);
	}
	struct row_head *heads = NEWN(a, struct row_head, n);

	for (size_t i = 0; i < n; i++)
		heads[i] = (struct row_head){ .request = (int64_t)i,
			.ready = ids[i],
			.fileset_id = ids[i],
			.userid = 71,
			.max = 20 };
	if (type == ARG_HEADS)
		memcpy(to, &db_heads(heads, n), sizeof(struct db_heads));
	else if (type == ARG_PAIRS)
		memcpy(to, &db_pairs(pairs, n), sizeof(struct db_pairs));
	else if (type == ARG_IDS || type == ARG_LONG_IDS)
		memcpy(to, &db_ids(ids, n), sizeof(struct db_ids));
	else
		memcpy(to, &db_names(names, n), sizeof(struct db_names));
}

static void value_arg(
    struct arena *a, enum arg_type type, char *value, size_t n, void *to)
{
	bool text = type == ARG_STR || type == ARG_MEDIUMTEXT || type == ARG_BLOB;
	int64_t i64;
	double f64;

	value = value != NULL ? value : arena_strdup(a, text ? "sample" : "71");
	i64 = strtoll(value, NULL, 10);
	f64 = strtod(value, NULL);
	if (type == ARG_I64)
		memcpy(to, &i64, sizeof(i64));
	else if (type == ARG_F64)
		memcpy(to, &f64, sizeof(f64));
	else if (text)
		memcpy(to, &value, sizeof(value));
	else
		list_arg(a, type, value, n, to);
}

/* Sets one column of a row to the value. */
static void value_col(struct arena *a, const struct field *c, char *value, char *row)
{
	int32_t i32 = (int32_t)strtol(value != NULL ? value : "71", NULL, 10);

	if (c->type == FIELD_I32)
		memcpy(row + c->off, &i32, sizeof(i32));
	else
		value_arg(a,
		    c->type == FIELD_TEXT ? ARG_STR :
		    c->type == FIELD_F64  ? ARG_F64 :
					    ARG_I64,
		    value, 0, row + c->off);
}

/* Fills in the sample values as arguments; a list gets n items. */
static void *sample_args(struct arena *a, enum stmt_id id, size_t n)
{
	const struct stmt_info *st = &stmt_infos[id];
	char *args = arena_alloc(a, st->args_size + 1), *row;
	struct stmt_param param;

	for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END; arg++) {
		row = arg->type == ARG_ROW ? arena_alloc(a, arg->shape->size) : NULL;
		if (row != NULL)
			memcpy(args + arg->off, &row, sizeof(row));
		else
			value_arg(a, arg->type, sample_named(a, id, arg->name), n,
			    args + arg->off);
	}
	for (const char *p = st->sql; *p != '\0';) {
		if (!stmt_param_next(id, &p, &param)) {
			p++;
		} else if (param.col != NULL && param.arg->type == ARG_ROW) {
			memcpy(&row, args + param.arg->off, sizeof(row));
			value_col(a, param.col,
			    sample_named(a, id,
				arena_printf(
				    a, "%s.%s", param.arg->name, param.col->name)),
			    row);
		}
	}
	return args;
}

/* Returns how many items the statement's list may have; 0 = it has no list. */
static size_t list_most(enum stmt_id id)
{
	size_t most = 0;

	for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END; arg++) {
		if (arg->type == ARG_LONG_IDS || arg->type == ARG_LONG_NAMES)
			most = DB_LIST_LONG;
		else if (arg->type == ARG_IDS || arg->type == ARG_NAMES ||
			 arg->type == ARG_PAIRS)
			most = DB_LIST_MAX;
		else if (arg->type == ARG_HEADS)
			most = DB_HEADS_MAX;
	}
	return most;
}

/* The key may be one of several, separated by "|". */
static bool keys_named(const char *named, const char *used)
{
	size_t n = strlen(used);

	for (const char *p = named; p != NULL; p = strchr(p, '|')) {
		p += *p == '|';
		if (strncmp(p, used, n) == 0 && (p[n] == '|' || p[n] == '\0'))
			return true;
	}
	return false;
}

/* Returns how many tables the statement reads. */
static size_t keys_of(enum stmt_id id)
{
	size_t keys = 1;

	for (const char *p = stmt_infos[id].key; *p != '\0' && *p != '|'; p++)
		keys += *p == ',';
	return keys;
}

/* With a FORCE INDEX for every table the server has no choice. */
static bool all_forced(enum stmt_id id)
{
	size_t keys = keys_of(id), forced = 0;

	for (const char *p = stmt_infos[id].sql; (p = strstr(p, "FORCE INDEX")) != NULL;
	     p++)
		forced++;
	return keys == forced;
}

static void check_key(
    struct check *x, struct arena *a, enum stmt_id id, const void *args)
{
	struct fail f = { 0 };
	struct plan_row *plan;
	size_t n;
	char *keys = arena_strdup(a, "");

	if (strcmp(stmt_infos[id].key, "-") == 0)
		return;
	if (db_explain(x->db, a, &f, &plan, &n, id, args) != OK) {
		fail_check(x, id, "EXPLAIN", &f);
		return;
	}
	/* The same SELECT for each of several requests. */
	if (strncmp(stmt_infos[id].sql, "EACH[", 5) == 0)
		n = keys_of(id);
	for (size_t i = 0; i < n; i++)
		keys = arena_printf(a, "%s%s%s", keys, i > 0 ? "," : "", plan[i].key);
	bool rows = n > 0;
	for (size_t i = 0; i < n; i++)
		rows = rows && plan[i].key[0] != '\0';
	if ((!x->adopted || all_forced(id)) && (x->filled || rows))
		verdict(x, keys_named(stmt_infos[id].key, keys), id,
		    "keys named and used", stmt_infos[id].key, keys);
	/* The server may scan an empty table. */
	for (size_t i = 0; i < n && x->filled; i++)
		verdict(x, strcmp(plan[i].type, "ALL") != 0, id, "reads a whole table",
		    plan[i].table, keys);
}

static bool is_select(enum stmt_id id)
{
	const char *sql = stmt_infos[id].sql;

	return strncmp(sql, "SELECT", 6) == 0 || strncmp(sql, "SHOW", 4) == 0 ||
	       strncmp(sql, "EACH[", 5) == 0;
}

/*
 * Runs the statement once without counting, because the first use of a table reads its
 * statistics.
 */
static void sql_warm_up(
    struct check *x, struct arena *a, enum stmt_id id, const void *args)
{
	struct fail f = { 0 };
	void *rows;
	size_t n;

	if (db_begin(x->db, &f) == OK)
		(void)db_run(
		    x->db, a, &f, is_select(id) ? &rows : NULL, &n, NULL, id, args);
	db_rollback(x->db);
}

static void check_rows(
    struct check *x, struct arena *a, enum stmt_id id, const void *args, size_t list)
{
	const struct stmt_info *st = &stmt_infos[id];
	bool select = is_select(id);
	struct fail f = { 0 };
	int64_t before, after, affected = 0;
	void *rows;
	size_t n = 0;
	enum err e = db_rows_read(x->db, &before, &f);

	if (e == OK)
		e = db_run(
		    x->db, a, &f, select ? &rows : NULL, &n, &affected, id, args);
	if (e == OK)
		e = db_rows_read(x->db, &after, &f);
	if (e != OK) {
		fail_check(x, id, "run", &f);
		return;
	}
	if (st->base == INT64_MAX)
		return;
	int64_t read = after - before - x->counting;
	int64_t hits = select ? (int64_t)n : affected;
	int64_t may = st->base + st->per_row * hits + st->per_item * (int64_t)list;
	if (x->filled && hits == 0)
		verdict(x, false, id, "its sample finds nothing",
		    samples[id] != NULL ? samples[id] : "", "");
	verdict(x, read <= may, id, "rows read and allowed",
	    arena_printf(a, "%lld", (long long)read),
	    arena_printf(a, "%lld for %lld rows, %zu items", (long long)may,
		(long long)hits, list));
}

static void check_statement(struct check *x, enum stmt_id id)
{
	static const size_t lists[] = { 1, 3, DB_LIST_MAX, DB_LIST_LONG };
	size_t most = list_most(id), nlists = 1;
	struct fail f = { 0 };

	while (nlists < N(lists) && lists[nlists] <= most)
		nlists++;
	for (size_t i = 0; i < nlists; i++) {
		struct arena a = { 0 };
		void *args;

		if (db_prepare(x->db, id, lists[i], &f) != OK)
			fail_check(x, id, "prepare", &f);
		else
			x->passed++;
		/* Such a statement cannot be explained, and ends a transaction. */
		if (strncmp(stmt_infos[id].sql, "CREATE", 6) == 0 || f.code != OK)
			continue;
		check_sample(x, &a, id);
		args = sample_args(&a, id, lists[i]);
		check_key(x, &a, id, args);
		sql_warm_up(x, &a, id, args);
		if (db_begin(x->db, &f) != OK)
			fail_check(x, id, "BEGIN", &f);
		check_rows(x, &a, id, args, most > 0 ? lists[i] : 0);
		db_rollback(x->db);
		arena_free(&a);
	}
}

static int check_all(struct check *x)
{
	struct fail f = { 0 };
	int64_t first, second;

	for (int i = 0; i < 2; i++) { /* prepared by the first run */
		if (db_rows_read(x->db, &first, &f) != OK ||
		    db_rows_read(x->db, &second, &f) != OK) {
			printf("counters: %s\n", f.detail);
			return 1;
		}
		x->counting = second - first;
	}
	for (enum stmt_id id = 0; id < SQL__MAX; id++)
		if (stmt_infos[id].prepared)
			check_statement(x, id);
	printf("check-sql-%s: %d passed, %d failed\n", x->mode, x->passed, x->failed);
	return x->failed == 0 ? 0 : 1;
}

static void sql_say_nothing(const char *what)
{
	(void)what;
}

/* Upgrades the database, and has the schema checked afterwards. */
static enum err check_upgrade(struct db *db, struct fail *f)
{
	struct schema_remark *r = NULL;
	struct arena a = { 0 };
	size_t n = 0;
	enum err e = schema_upgrade(db, &a, false, sql_say_nothing, f);

	if (e == OK)
		e = schema_check(db, &a, &r, &n, f);
	for (size_t i = 0; e == OK && i < n; i++)
		if (r[i].error)
			e = FAIL(f, E_CONFIG, "%s", r[i].text);
	arena_free(&a);
	return e;
}

int main(int argc, char **argv)
{
	static char empty[] = "", root[] = "root";
	struct conf cf = { .db_user = root, .db_passwd = empty, .db_host = empty };
	struct check x = { 0 };
	struct fail f = { 0 };
	int rc;

	if (argc != 4) {
		fprintf(stderr, "usage: check_sql SOCKET DATABASE "
				"create|upgrade|bare|old|adopted|filled\n");
		return 2;
	}
	cf.db_socket = argv[1];
	cf.db_name = argv[2];
	x.mode = argv[3];
	x.adopted = strcmp(argv[3], "adopted") == 0;
	x.filled = x.adopted || strcmp(argv[3], "filled") == 0;
	x.adopted |= strcmp(argv[3], "old") == 0;
	bool create = strcmp(argv[3], "create") == 0;
	bool upgrade = strcmp(argv[3], "upgrade") == 0;
	enum err e = db_open(
	    &cf, create || upgrade ? DB_ANY_SCHEMA : DB_WORK, &x.db, &f);
	if (e == OK && create)
		e = schema_create(x.db, &f);
	if (e == OK && upgrade)
		e = check_upgrade(x.db, &f);
	if (e != OK) {
		fprintf(stderr, "check_sql: %s: %s\n", err_name(e), f.detail);
		return 1;
	}
	rc = create || upgrade ? 0 : check_all(&x);
	db_close(x.db);
	return rc;
}
