/* SPDX-License-Identifier: Apache-2.0 */
/* What can be tested of the database layer without a server: texts, statements,
 * schema.sql. */
#include "test/unit/unit.h"

#include <ctype.h>
#include "db/adopt.h"
#include "db/private.h"
#include "model/rows.h"
#include "rules/daemon/credit.h"
#include "lib/banned.h"

static struct arena a;

static const struct {
	const char *in;
	int text_bytes;
	size_t max;
	const char *out;
} texts[] = {
#include "test/unit/db_texts.def"
};

START_TEST(text_is_made_valid)
{
	const char *out = text_valid(
	    &a, texts[_i].in, texts[_i].text_bytes, texts[_i].max, true);

	ck_assert_str_eq(out, texts[_i].out);
	if (strcmp(texts[_i].in, texts[_i].out) == 0)
		ck_assert_ptr_eq(out, texts[_i].in); /* a valid text is not copied */
	/* A VARCHAR counts characters. */
	ck_assert_str_eq(text_valid(&a, "\xc3\xa9\xc3\xa9\xc3\xa9", 4, 2, false),
	    "\xc3\xa9\xc3\xa9");
	ck_assert_str_eq(text_valid(&a, "a\xff\xc3\xa9", 4, 2, false), "a?");
	arena_free(&a);
}
END_TEST

/* Does one of the statements that share this list of arguments use the argument? */
static bool is_used(const struct stmt_arg *args, const struct stmt_arg *arg)
{
	struct stmt_param param;

	for (enum stmt_id id = 0; id < SQL__MAX; id++) {
		if (stmt_args(id) != args)
			continue;
		for (const char *p = stmt_infos[id].sql; *p != '\0';)
			if (!stmt_param_next(id, &p, &param))
				p++;
			else if (param.arg == arg)
				return true;
	}
	return false;
}

START_TEST(arguments_fit_the_text)
{
	const struct stmt_info *st = &stmt_infos[_i];
	const struct stmt_arg *args = stmt_args((enum stmt_id)_i);
	struct stmt_param param;

	for (const char *p = st->sql; *p != '\0';) {
		if (!stmt_param_next((enum stmt_id)_i, &p, &param)) {
			ck_assert_msg(*p++ != '?', "%s: a \"?\" has no name", st->name);
			continue;
		}
		ck_assert_msg(
		    param.known, "%s has no argument \"%.30s\"", st->name, param.name);
		ck_assert_msg(st->prepared, "%s is not prepared", st->name);
	}
	for (const struct stmt_arg *arg = args; arg->type != ARG_END; arg++)
		ck_assert_msg(
		    is_used(args, arg), "%s: %s is not used", st->name, arg->name);
	for (size_t slot = 0; slot < LIST_SIZES; slot++) {
		char *sql = stmt_text(&a, (enum stmt_id)_i, slot);

		ck_assert_msg(
		    strchr(sql, '$') == NULL || !st->prepared, "%s: %s", st->name, sql);
	}
	arena_free(&a);
}
END_TEST

/* Returns the column before the parameter at p, as in "column = " or "t.column IN (";
 * NULL if the parameter is not compared with or assigned to a column. */
static const char *column_before(const char *sql, const char *p)
{
	const char *end = p;

	if (end - sql > 5 && strncmp(end - 5, " IN (", 5) == 0) {
		end -= 5;
	} else {
		if (end - sql < 4 || end[-1] != ' ' || strchr("=<>", end[-2]) == NULL)
			return NULL;
		for (end--; strchr("=<>", end[-1]) != NULL;)
			end--;
		if (*--end != ' ')
			return NULL;
	}
	for (p = end; p > sql && (islower((unsigned char)p[-1]) || p[-1] == '_');)
		p--;
	if (p == end || p[-1] == ':') /* of another parameter */
		return NULL;
	return arena_memdup(&a, p, (size_t)(end - p));
}

static bool type_takes(const char *definition, enum field_type type)
{
	return strstr(definition, "INT") != NULL ?
	           type == FIELD_I32 || type == FIELD_I64 :
	       strstr(definition, "DOUBLE") != NULL ? type == FIELD_F64 :
	                                              type == FIELD_TEXT;
}

static enum field_type type_of(const struct stmt_param *param)
{
	switch (param->arg->type) {
	case ARG_ROW:
	case ARG_HEADS:
		return param->col->type;
	case ARG_F64:
		return FIELD_F64;
	case ARG_I64:
	case ARG_IDS:
	case ARG_LONG_IDS:
	case ARG_PAIRS:
		return FIELD_I64;
	default:
		return FIELD_TEXT;
	}
}

/* A parameter fits if a column of this name has its type in some table; the column of a
 * row fits only the column of the same name. */
START_TEST(arguments_are_of_their_columns_types)
{
	const struct stmt_info *st = &stmt_infos[_i];
	struct stmt_param param;
	size_t n;
	struct want *w = wants_read(&a, &n);

	for (const char *p = st->sql; *p != '\0';) {
		const char *column = column_before(st->sql, p);
		size_t there = 0, fits = 0;

		if (!stmt_param_next((enum stmt_id)_i, &p, &param)) {
			p++;
			continue;
		}
		if (column == NULL || !param.known ||
		    (param.arg->type == ARG_ROW && param.col == NULL))
			continue;
		if (param.col != NULL)
			ck_assert_msg(strcmp(param.col->name, column) == 0,
			    "%s: column %s and :%s.%s", st->name, column,
			    param.arg->name, param.col->name);
		for (size_t i = 0; i < n; i++) {
			if (w[i].kind != WANT_COLUMN || strcmp(w[i].name, column) != 0)
				continue;
			there++;
			fits += type_takes(w[i].text, type_of(&param));
		}
		ck_assert_msg(there > 0, "%s: no column %s", st->name, column);
		ck_assert_msg(fits > 0, "%s: column %s and :%s are of different types",
		    st->name, column, param.arg->name);
	}
	arena_free(&a);
}
END_TEST

/* Counts the items of the list at *p, up to the word or bracket that ends it; an item
 * that stands for all columns of a row counts as that many. */
static size_t list_items(enum stmt_id id, const char **p)
{
	const struct row_shape *shape = stmt_infos[id].shape;
	size_t items = 1, depth = 0;
	bool quoted = false;

	for (; **p != '\0'; (*p)++) {
		const char *at = *p;
		struct stmt_param param;

		quoted ^= *at == '\'';
		if (quoted)
			continue;
		if (depth == 0 && (*at == ')' || strncmp(at, " FROM ", 6) == 0))
			return items;
		depth += *at == '(';
		depth -= *at == ')';
		items += depth == 0 && *at == ',';
		if (strncmp(at, "$COLS", 5) == 0)
			for (size_t i = 0; i < shape->ncols; i++)
				items += i > 0 && shape->cols[i].name != NULL;
		if (stmt_param_next(id, &at, &param) && param.known &&
		    param.arg->type == ARG_ROW && param.col == NULL)
			items += param.arg->shape->ncols - 1;
	}
	return items;
}

/* An INSERT has a value for each column; a SELECT has an item for each column of its
 * shape. */
START_TEST(lists_of_columns_fit)
{
	const struct stmt_info *st = &stmt_infos[_i];
	const char *p = st->sql;
	size_t cols;

	if (st->prepared && eat_word(&p, "SELECT ")) {
		ck_assert_msg(list_items((enum stmt_id)_i, &p) == st->shape->ncols,
		    "%s: its answer is not of shape %s", st->name, st->shape->name);
	} else if (eat_word(&p, "INSERT INTO ")) {
		p = strchr(p, '(') + 1;
		cols = list_items((enum stmt_id)_i, &p);
		p++;
		if (eat_word(&p, " VALUES (") || eat_word(&p, " SELECT "))
			ck_assert_msg(cols == list_items((enum stmt_id)_i, &p),
			    "%s: another number of values than columns", st->name);
	}
}
END_TEST

/* A statement that lists whole rows by hand: each item of the select list ends with the
 * name of its column. */
START_TEST(a_job_s_columns_are_in_order)
{
	const struct row_shape *job = &shape_job;
	char *rest = stmt_text(&a, SQL_JOBS_BY_IDS, 0) + strlen("SELECT "), *item;

	*strstr(rest, " FROM ") = '\0';
	for (size_t i = 0; i < job->ncols; i++) {
		item = strtok_r(rest, ",", &rest);
		ck_assert_ptr_nonnull(item);
		const char *name = strrchr(item, '.'), *as = strstr(item, " AS ");
		ck_assert_str_eq(
		    as != NULL ? as + strlen(" AS ") : name + 1, job->cols[i].name);
	}
	ck_assert_str_eq(rest, "");
	arena_free(&a);
}
END_TEST

/* The statements contain states as numbers. */
static const struct {
	const char *text;
	int64_t value;
} states[] = {
#define STMT(name, args, shape, key, rows, sql)
#define STATE_TEXT(text, value) { text, value },
#include "db/stmts.def"
#undef STATE_TEXT
};

START_TEST(states_are_the_model_s)
{
	ck_assert_int_eq(strtol(states[_i].text, NULL, 10), states[_i].value);
}
END_TEST

START_TEST(lists_are_padded_to_four_sizes)
{
	static const size_t want[][2] = { { 0, 1 }, { 1, 1 }, { 2, 4 }, { 4, 4 },
		{ 5, 16 }, { 16, 16 }, { 17, 64 }, { 64, 64 } };

	for (size_t i = 0; i < N(want); i++)
		ck_assert_uint_eq(list_size(list_slot(want[i][0])), want[i][1]);
}
END_TEST

static const struct want *want_named(const struct want *w, size_t n,
    enum want_kind kind, const char *table, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (w[i].kind == kind && strcmp(w[i].table, table) == 0 &&
		    strcmp(w[i].name, name) == 0)
			return &w[i];
	ck_abort_msg("schema.sql has no %s of %s", name, table);
	return NULL;
}

START_TEST(schema_is_read)
{
	size_t n;
	struct want *w = wants_read(&a, &n);
	const struct want *q = want_named(w, n, WANT_INDEX, "result", "q");

	ck_assert_str_eq(q->text, "KEY q (ready, id)");
	ck_assert_str_eq(q->extra, "ready,id");
	ck_assert(q->ours);
	ck_assert(!want_named(w, n, WANT_INDEX, "workunit", "wu_batch")->ours);
	ck_assert_str_eq(want_named(w, n, WANT_COLUMN, "host", "misc")->extra, "('')");
	ck_assert_ptr_null(want_named(w, n, WANT_COLUMN, "result", "ready")->extra);
	ck_assert_str_eq(
	    want_named(w, n, WANT_COLUMN, "result", "size_class")->extra, "-1");
	arena_free(&a);
}
END_TEST

/* Every table has a primary key and uses InnoDB, and every number has a default. */
START_TEST(schema_is_sound)
{
	size_t n;
	struct want *w = wants_read(&a, &n);

	for (size_t i = 0; i < n; i++) {
		if (w[i].kind == WANT_TABLE) {
			want_named(w, n, WANT_INDEX, w[i].table, "PRIMARY");
			ck_assert_ptr_nonnull(strstr(w[i].text, "ENGINE=InnoDB"));
		}
		if (w[i].kind == WANT_COLUMN &&
		    (strstr(w[i].text, "INT") != NULL ||
			strstr(w[i].text, "DOUBLE") != NULL))
			ck_assert_msg(strstr(w[i].text, " DEFAULT ") != NULL ||
					  strstr(w[i].text, "AUTO_INCREMENT") != NULL,
			    "%s.%s has no default", w[i].table, w[i].name);
	}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("db", {
	ADD_LOOP(text_is_made_valid, N(texts));
	ADD_LOOP(arguments_fit_the_text, SQL__MAX);
	ADD_LOOP(arguments_are_of_their_columns_types, SQL__MAX);
	ADD_LOOP(lists_of_columns_fit, SQL__MAX);
	ADD_LOOP(states_are_the_model_s, N(states));
	ADD(a_job_s_columns_are_in_order);
	ADD(lists_are_padded_to_four_sizes);
	ADD(schema_is_read);
	ADD(schema_is_sound);
})
