/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statement table: stmts.def as data, and the expansion of the names in a
 * statement's text.
 */
#include "db/private.h"

#include <assert.h>
#include <string.h>
#include "db/entity.h"
#include "lib/buf.h"
#include "model/rows.h"
#include "lib/banned.h"

#define COL(shape, name, type) { #name, FIELD_OF(struct row_##shape, name) },
#define SHAPE(name, cols)                                                              \
	static const struct field name##_cols[] = { cols };                            \
	static const struct row_shape shape_##name = { #name, name##_cols,             \
		N(name##_cols), sizeof(struct row_##name) };
#include "db/shapes.def"
#undef SHAPE
#undef COL

/* A host with its account; columns without a name are written out in the statement. */
static const struct field host_account_cols[] = {
#define COL(column, type)                                                              \
	{ "h." #column, FIELD_OF(struct row_host_account, host.column) },
#include "model/host.def"
#undef COL
#define COL(column, type)                                                              \
	{ "u." #column, FIELD_OF(struct row_host_account, user.column) },
#include "model/user.def"
#undef COL
	{ NULL, FIELD_OF(struct row_host_account, glance.has_jobs) },
	{ NULL, FIELD_OF(struct row_host_account, glance.has_aimed) },
	{ NULL, FIELD_OF(struct row_host_account, glance.team_name) },
};
static const struct row_shape shape_host_account = { "host_account", host_account_cols,
	N(host_account_cols), sizeof(struct row_host_account) };

/* A job with the host that has it, or the request that may get it. */
static const struct field keyed_job_cols[] = {
	{ "key", FIELD_OF(struct row_keyed_job, key) },
#define COL(column, type) { #column, FIELD_OF(struct row_keyed_job, job.column) },
#include "model/job.def"
#undef COL
};
static const struct row_shape shape_keyed_job = { "keyed_job", keyed_job_cols,
	N(keyed_job_cols), sizeof(struct row_keyed_job) };

static const struct row_shape shape_none = { "none", NULL, 0, 0 };

/* Row budgets of stmts.def that are not small constants. */
#define SCAN               INT64_MAX
#define HOSTS_OF_USER      1000
#define TEAMS_FOUND        20
#define FIRST_NAMES        200
#define TARGETS            100
#define R(base, row, item) base, row, item

const struct stmt_info stmt_infos[SQL__MAX] = {
#define ARGS(list) true
#define AS_IS      false
#define LIKE(stmt) true
#define STMT(name, args, shape, key, rows, sql)                                        \
	{ #name, key, sql, args, sizeof(args_##name), &shape_##shape, rows },
#include "db/stmts.def"
};

const struct stmt_arg *stmt_args(enum stmt_id id)
{
	switch (id) {
#define I64(name)        { #name, ARG_I64, offsetof(args_here, name), NULL },
#define F64(name)        { #name, ARG_F64, offsetof(args_here, name), NULL },
#define STR(name)        { #name, ARG_STR, offsetof(args_here, name), NULL },
#define MEDIUMTEXT(name) { #name, ARG_MEDIUMTEXT, offsetof(args_here, name), NULL },
#define BLOB(name)       { #name, ARG_BLOB, offsetof(args_here, name), NULL },
#define ROW(shape, name) { #name, ARG_ROW, offsetof(args_here, name), &shape_##shape },
#define IDS(name)        { #name, ARG_IDS, offsetof(args_here, name), NULL },
#define LONG_IDS(name)   { #name, ARG_LONG_IDS, offsetof(args_here, name), NULL },
#define NAMES(name)      { #name, ARG_NAMES, offsetof(args_here, name), NULL },
#define LONG_NAMES(name) { #name, ARG_LONG_NAMES, offsetof(args_here, name), NULL },
#define PAIRS(name)      { #name, ARG_PAIRS, offsetof(args_here, name), NULL },
#define HEADS(name)      { #name, ARG_HEADS, offsetof(args_here, name), &shape_head },
#define ARGS(list)                                                                     \
	static const struct stmt_arg args[] = { list{ NULL, ARG_END, 0, NULL } };      \
	return args;
#define AS_IS      ARGS()
#define LIKE(stmt) return stmt_args(SQL_##stmt);
#define STMT(name, args, shape, key, rows, sql)                                        \
	case SQL_##name: {                                                             \
		typedef args_##name args_here __attribute__((unused));                 \
		args                                                                   \
	}
#include "db/stmts.def"
	case SQL__MAX:
		break;
	}
	assert(!"a statement of stmts.def");
	return NULL;
}

size_t list_size(size_t slot)
{
	static const size_t sizes[LIST_SIZES] = { 1, 4, 16, DB_LIST_MAX, DB_LIST_LONG };

	return sizes[slot];
}

size_t list_max(enum arg_type type)
{
	static const size_t most[] = {
		[ARG_IDS] = DB_LIST_MAX,
		[ARG_NAMES] = DB_LIST_MAX,
		[ARG_PAIRS] = DB_LIST_MAX,
		[ARG_HEADS] = DB_HEADS_MAX,
		[ARG_LONG_IDS] = DB_LIST_LONG,
		[ARG_LONG_NAMES] = DB_LIST_LONG,
	};

	return type < N(most) ? most[type] : 0;
}

size_t list_slot(size_t n)
{
	size_t slot = 0;

	assert(n <= DB_LIST_LONG);
	while (list_size(slot) < n)
		slot++;
	return slot;
}

static void put_marks(struct buf *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_puts(b, i == 0 ? "?" : ", ?");
}

static void put_cols(struct buf *b, const struct row_shape *shape)
{
	for (size_t i = 0; i < shape->ncols && shape->cols[i].name != NULL; i++) {
		buf_puts(b, i == 0 ? "" : ", ");
		buf_puts(b, shape->cols[i].name);
	}
}

bool eat_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/*
 * Returns the length of a parameter's name: lower case, unlike any SQL name that could
 * follow a colon.
 */
static size_t name_len(const char *p)
{
	return strspn(p, "abcdefghijklmnopqrstuvwxyz0123456789_");
}

static bool name_is(const char *name, const char *text, size_t n)
{
	return strncmp(name, text, n) == 0 && name[n] == '\0';
}

bool stmt_param_next(enum stmt_id id, const char **text, struct stmt_param *to)
{
	const char *name = *text + 1;
	size_t n = **text == ':' ? name_len(name) : 0;

	if (n == 0)
		return false;
	*to = (struct stmt_param){ .name = name };
	*text = name + n;
	for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END; arg++)
		if (name_is(arg->name, name, n))
			to->arg = arg;
	to->known = to->arg != NULL;
	if (to->arg == NULL || to->arg->shape == NULL || **text != '.')
		return true;
	name = *text + 1;
	n = name_len(name);
	*text = name + n;
	for (size_t i = 0; i < to->arg->shape->ncols; i++)
		if (name_is(to->arg->shape->cols[i].name, name, n))
			to->col = &to->arg->shape->cols[i];
	to->known = to->col != NULL;
	return true;
}

static void put_param(struct buf *b, const struct stmt_param *p, size_t slot)
{
	assert(p->known);
	if (p->arg->type == ARG_PAIRS)
		for (size_t i = 0; i < list_size(slot); i++)
			buf_puts(b, i == 0 ? "WHEN ? THEN ?" : " WHEN ? THEN ?");
	else if (p->arg->type == ARG_HEADS)
		put_marks(b, 1); /* in EACH[...] */
	else if (p->arg->type == ARG_ROW && p->col == NULL)
		put_marks(b, p->arg->shape->ncols);
	else
		put_marks(b, list_max(p->arg->type) > 0 ? list_size(slot) : 1);
}

/* The columns are those of the result row, or of the row that is inserted. */
static void put_sql(
    struct buf *b, enum stmt_id id, size_t slot, const char *p, const char *end)
{
	struct stmt_param param;

	while (p < end) {
		if (stmt_param_next(id, &p, &param))
			put_param(b, &param, slot);
		else if (eat_word(&p, "$COLS"))
			put_cols(b, stmt_infos[id].shape);
		else
			buf_put(b, p++, 1);
	}
}

char *stmt_text(struct arena *a, enum stmt_id id, size_t slot)
{
	const char *sql = stmt_infos[id].sql, *end = sql + strlen(sql);
	bool each = eat_word(&sql, "EACH[");
	struct buf b = buf_new(a);

	for (size_t i = 0; each && i < list_size(slot); i++) {
		buf_puts(&b, i == 0 ? "" : " UNION ALL ");
		put_sql(&b, id, slot, sql, end - 1);
	}
	if (!each)
		put_sql(&b, id, slot, sql, end);
	return b.p;
}

/*
 * Columns of whole rows that are not VARCHAR: blobs are neither made valid nor cut;
 * misc is TEXT, which is made valid and cut at its own length.
 */
static const struct {
	const char *name;
	enum arg_type type;
} long_cols[] = {
	{ "xml_doc", ARG_BLOB },
	{ "global_prefs", ARG_BLOB },
	{ "project_prefs", ARG_BLOB },
	{ "misc", ARG_TEXT },
};

static enum arg_type col_arg(const struct field *c)
{
	static const enum arg_type types[] = {
		[FIELD_I32] = ARG_I32,
		[FIELD_I64] = ARG_I64,
		[FIELD_F64] = ARG_F64,
		[FIELD_TEXT] = ARG_STR,
	};

	assert(c->type < N(types));
	for (size_t i = 0; c->type == FIELD_TEXT && i < N(long_cols); i++)
		if (strcmp(long_cols[i].name, c->name) == 0)
			return long_cols[i].type;
	return types[c->type];
}

static struct param row_param(const struct stmt_arg *arg, const struct field *c)
{
	return (struct param){ .type = col_arg(c),
		.of_row = arg->type == ARG_ROW,
		.of_head = arg->type == ARG_HEADS,
		.off = arg->off,
		.row_off = c->off };
}

const struct params *stmt_params(struct db *db, enum stmt_id id)
{
	struct params *ps = db->params[id];
	struct stmt_param at;

	if (ps != NULL)
		return ps;
	db->params[id] = ps = NEW(&db->a, struct params);
	for (const char *p = stmt_infos[id].sql; *p != '\0';) {
		if (!stmt_param_next(id, &p, &at)) {
			p++;
			continue;
		}
		assert(at.known);
		const struct stmt_arg *arg = at.arg;
		if (list_max(arg->type) > 0 && ps->list == NULL)
			ps->list = arg;
		ps->whole_row |= arg->type == ARG_ROW && at.col == NULL;
		if (at.col != NULL)
			PUSH(&db->a, ps->v, ps->n, ps->cap) = row_param(arg, at.col);
		else if (arg->type != ARG_ROW)
			PUSH(&db->a, ps->v, ps->n, ps->cap) = (struct param){
				.type = arg->type, .off = arg->off
			};
		else
			for (size_t i = 0; i < arg->shape->ncols; i++)
				PUSH(&db->a, ps->v, ps->n, ps->cap) = row_param(
				    arg, &arg->shape->cols[i]);
	}
	for (size_t i = 0; i < ps->n; i++) {
		enum arg_type type = ps->v[i].type;

		if (list_max(type) > 0 || ps->v[i].of_head)
			ps->per_item += type == ARG_PAIRS ? 2 : 1;
		else
			ps->single++;
	}
	return ps;
}

/* Returns the number of items of a list; *v and *item_size describe them as bytes. */
static size_t list_arg_items(
    enum arg_type type, const void *at, const void **v, size_t *item_size)
{
	const struct db_ids *ids = at;
	const struct db_names *names = at;
	const struct db_pairs *pairs = at;
	const struct db_heads *heads = at;

	switch (type) {
	case ARG_IDS:
	case ARG_LONG_IDS:
		*v = ids->v;
		*item_size = sizeof(*ids->v);
		return ids->n;
	case ARG_NAMES:
	case ARG_LONG_NAMES:
		*v = names->v;
		*item_size = sizeof(*names->v);
		return names->n;
	case ARG_PAIRS:
		*v = pairs->v;
		*item_size = sizeof(*pairs->v);
		return pairs->n;
	case ARG_HEADS:
		*v = heads->v;
		*item_size = sizeof(*heads->v);
		return heads->n;
	default:
		return 0;
	}
}

size_t stmt_list_len(struct db *db, enum stmt_id id, const void *args)
{
	const struct stmt_arg *list = stmt_params(db, id)->list;
	const void *items;
	size_t size, n;

	if (list == NULL)
		return 0;
	n = list_arg_items(list->type, (const char *)args + list->off, &items, &size);
	assert(n > 0 && n <= list_max(list->type));
	return n;
}

void *stmt_args_keep(struct arena *a, enum stmt_id id, const void *args)
{
	size_t size = stmt_infos[id].args_size;
	char *kept = arena_alloc(a, size + 1);

	memcpy(kept, args, size);
	for (const struct stmt_arg *arg = stmt_args(id); arg->type != ARG_END; arg++) {
		const void *items = NULL;
		size_t n = list_arg_items(arg->type, kept + arg->off, &items, &size);

		if (arg->type == ARG_ROW) {
			memcpy(&items, kept + arg->off, sizeof(items));
			n = 1;
			size = arg->shape->size;
		}
		if (n == 0)
			continue;
		items = arena_memdup(a, items, n * size);
		/* Each kind of list begins with its pointer. */
		memcpy(kept + arg->off, &items, sizeof(items));
	}
	return kept;
}
