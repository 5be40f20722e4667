/* SPDX-License-Identifier: Apache-2.0 */
/* The statement table: stmts.def as data, and the filling in of columns and lists. */
#include "db/private.h"

#include <assert.h>
#include <string.h>
#include "db/entity.h"
#include "lib/buf.h"
#include "lib/banned.h"

#define COL(shape, name, type)                                                         \
	{ #name, COL_##type, offsetof(struct row_##shape, name) },
#define SHAPE(name, cols)                                                              \
	static const struct col name##_cols[] = { cols };                              \
	static const struct row_shape shape_##name = { #name, name##_cols,             \
		N(name##_cols), sizeof(struct row_##name) };
#include "db/shapes.def"
#undef SHAPE
#undef COL

/* A host with its account; what has no name is written out in the statement. */
static const struct col host_account_cols[] = {
#define COL(column, type)                                                              \
	{ "h." #column, COL_##type, offsetof(struct row_host_account, host.column) },
#include "model/host.def"
#undef COL
#define COL(column, type)                                                              \
	{ "u." #column, COL_##type, offsetof(struct row_host_account, user.column) },
#include "model/user.def"
#undef COL
#define GLANCE(member, type)                                                           \
	{                                                                              \
		NULL, COL_##type, offsetof(struct row_host_account, glance.member)     \
	}
	GLANCE(has_jobs, i32),
	GLANCE(has_aimed, i32),
	GLANCE(files, str),
	GLANCE(team_name, str),
#undef GLANCE
};
static const struct row_shape shape_host_account = { "host_account", host_account_cols,
	N(host_account_cols), sizeof(struct row_host_account) };

static const struct row_shape shape_none = { "none", NULL, 0, 0 };

/* Row budgets that are no small number: see stmts.def. */
#define SCAN               INT64_MAX
#define HOSTS_OF_USER      1000
#define TEAMS_FOUND        20
#define TARGETS            100
#define R(base, row, item) base, row, item

const struct stmt_info stmt_infos[SQL__MAX] = {
#define STMT(name, args, shape, key, rows, sql)                                        \
	{ #name, args, key, sql, &shape_##shape, rows },
#include "db/stmts.def"
#undef STMT
};

size_t
list_size(size_t slot)
{
	static const size_t sizes[LIST_SIZES] = { 1, 4, 16, DB_LIST_MAX, DB_LIST_LONG };

	return sizes[slot];
}

size_t
list_max(char letter)
{
	return letter == 'J' || letter == 'N' ? DB_LIST_LONG : DB_LIST_MAX;
}

size_t
list_slot(size_t n)
{
	size_t slot = 0;

	assert(n <= DB_LIST_LONG);
	while (list_size(slot) < n)
		slot++;
	return slot;
}

static void
put_marks(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_puts(b, i == 0 ? "?" : ", ?");
}

static void
put_pairs(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_puts(b, i == 0 ? "WHEN ? THEN ?" : " WHEN ? THEN ?");
}

static void
put_cols(struct buf *b, const struct row_shape *shape)
{
	for (size_t i = 0; i < shape->ncols && shape->cols[i].name != NULL; i++) {
		buf_puts(b, i == 0 ? "" : ", ");
		buf_puts(b, shape->cols[i].name);
	}
}

bool
eat(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

char *
stmt_text(struct arena *a, enum stmt_id id, size_t slot)
{
	const struct stmt_info *st = &stmt_infos[id];
	struct buf b = buf_new(a);

	for (const char *p = st->sql; *p != '\0';) {
		if (eat(&p, "$COLS"))
			put_cols(&b, st->shape);
		else if (eat(&p, "$VALUES"))
			put_marks(&b, st->shape->ncols);
		else if (eat(&p, "$PAIRS"))
			put_pairs(&b, list_size(slot));
		else if (eat(&p, "$LIST"))
			put_marks(&b, list_size(slot));
		else
			buf_put(&b, p++, 1);
	}
	return b.p;
}

void
stmt_args(enum stmt_id id, va_list ap, struct db_arg *arg)
{
	const char *letters = stmt_infos[id].args;

	assert(strlen(letters) <= ARGS_MAX);
	for (size_t k = 0; letters[k] != '\0'; k++) {
		arg[k] = (struct db_arg){ 0 };
		switch (letters[k]) {
		case 'i':
			arg[k].i = va_arg(ap, int64_t);
			break;
		case 'f':
			arg[k].f = va_arg(ap, double);
			break;
		case 'I':
		case 'J':
		case 'N':
		case 'P':
		case 'S':
			arg[k].p = va_arg(ap, const void *);
			arg[k].n = va_arg(ap, size_t);
			assert(arg[k].n > 0 && arg[k].n <= list_max(letters[k]));
			break;
		default:
			assert(strchr("stmbR", letters[k]) != NULL);
			arg[k].p = va_arg(ap, const void *);
		}
	}
}

size_t
stmt_list_len(enum stmt_id id, const struct db_arg *arg)
{
	const char *list = strpbrk(stmt_infos[id].args, LISTS);

	return list == NULL ? 0 : arg[list - stmt_infos[id].args].n;
}
