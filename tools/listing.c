/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/listing.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/table.h"
#include "lib/banned.h"

enum { PIECE = 1000 }; /* rows of a table that are aligned together */

struct listing {
	struct cmd_ctx *x;
	const struct listing_column *columns;
	size_t ncolumns, at, rows, left; /* left: rows until a table is printed */
	bool record;
	int64_t now;
	struct arena piece; /* cells of the table, or of one row of json */
	struct table table;
	json_t *object;
	char *align;
};

static bool
numeric(enum listing_type type)
{
	return type == LIST_NUMBER || type == LIST_REAL || type == LIST_PERCENT ||
	       type == LIST_BYTES;
}

static void
begin_table(struct listing *l)
{
	size_t n = 0;

	if (l->record) {
		l->table = table_new(&l->piece, "ll");
		return;
	}
	for (size_t i = 0; i < l->ncolumns; i++)
		if (l->columns[i].head != NULL)
			l->align[n++] = numeric(l->columns[i].type) ? 'r' : 'l';
	l->table = table_new(&l->piece, l->align);
	for (size_t i = 0; i < l->ncolumns; i++)
		if (l->columns[i].head != NULL)
			table_put(&l->table, l->columns[i].head);
	l->left = PIECE;
}

static void
print_tsv_head(const struct listing *l)
{
	for (size_t i = 0; i < l->ncolumns; i++)
		printf("%s%s", i == 0 ? "" : "\t", l->columns[i].key);
	printf("\n");
}

static struct listing *
new_listing(struct cmd_ctx *x, const struct listing_column *columns, bool record)
{
	struct listing *l = NEW(x->a, struct listing);

	*l = (struct listing){ .x = x, .columns = columns, .record = record };
	while (columns[l->ncolumns].key != NULL)
		l->ncolumns++;
	l->align = arena_alloc(x->a, l->ncolumns + 1);
	l->now = clock_now();
	if (x->format == FORMAT_TSV)
		print_tsv_head(l);
	return l;
}

struct listing *
listing_begin(struct cmd_ctx *x, const struct listing_column *columns)
{
	return new_listing(x, columns, false);
}

struct listing *
listing_record(struct cmd_ctx *x, const struct listing_column *columns)
{
	return new_listing(x, columns, true);
}

static void
end_table(struct listing *l)
{
	table_print(&l->table);
	l->table = (struct table){ 0 };
	arena_reset(&l->piece);
}

static void
end_object(struct listing *l)
{
	int flags = l->record ? JSON_INDENT(1) : JSON_COMPACT;

	if (!l->record)
		printf(l->rows == 0 ? "[\n" : ",\n");
	json_dumpf(l->object, stdout, flags | JSON_REAL_PRECISION(17));
	if (l->record)
		printf("\n");
	json_decref(l->object);
	l->object = NULL;
}

static void
end_row(struct listing *l)
{
	l->at = 0;
	if (l->x->format == FORMAT_JSON)
		end_object(l);
	else if (l->x->format == FORMAT_TSV)
		printf("\n");
	else if (!l->record && --l->left == 0)
		end_table(l);
	l->rows++;
}

void
tsv_print(const char *text)
{
	size_t n;

	for (const char *p = text; *p != '\0'; p += n)
		switch (n = 1, *p) {
		case '\t':
			printf("\\t");
			break;
		case '\n':
			printf("\\n");
			break;
		case '\\':
			printf("\\\\");
			break;
		default:
			if (!text_shown(p, &n)) {
				putchar('?');
				break;
			}
			printf("%.*s", (int)n, p);
		}
}

static void
put_table(struct listing *l, const char *text)
{
	const struct listing_column *c = &l->columns[l->at];

	if (c->head == NULL)
		return;
	if (l->table.a == NULL)
		begin_table(l);
	if (l->record)
		table_put(&l->table, c->head);
	table_put(&l->table, human_text(&l->piece, text));
}

/* Takes the value over; exact is for tsv, human for a table. */
static void
put_cell(struct listing *l, json_t *value, const char *exact, const char *human)
{
	assert(l->at < l->ncolumns);
	if (l->x->format == FORMAT_JSON) {
		if (l->object == NULL)
			l->object = json_object();
		json_object_set(l->object, l->columns[l->at].key, value);
	} else if (l->x->format == FORMAT_TSV) {
		if (l->at > 0)
			putchar('\t');
		tsv_print(exact);
	} else {
		put_table(l, human);
	}
	json_decref(value);
	if (++l->at == l->ncolumns)
		end_row(l);
}

char *
listing_human(struct arena *a, enum listing_type type, double value, int64_t now)
{
	char text[21];

	switch (type) {
	case LIST_BYTES:
		return human_bytes(a, value);
	case LIST_SPAN:
		return human_span(a, (int64_t)value);
	case LIST_TIME:
		if (value == 0)
			return arena_strdup(a, "never");
		if ((int64_t)value > now)
			return arena_printf(
			    a, "in %s", human_span(a, (int64_t)value - now));
		return arena_printf(a, "%s ago", human_span(a, now - (int64_t)value));
	case LIST_DATE:
		if (value == 0)
			return arena_strdup(a, "never");
		return arena_strdup(a, clock_text((int64_t)value, text));
	case LIST_PERCENT:
		return arena_printf(a, "%.4g %%", value * 100);
	case LIST_REAL:
		return arena_printf(a, "%.4g", value);
	default:
		return arena_printf(a, "%.0f", value);
	}
}

void
listing_text(struct listing *l, const char *text)
{
	assert(l->columns[l->at].type == LIST_TEXT);
	if (text == NULL)
		listing_null(l);
	else
		put_cell(l, json_text(text), text, text);
}

void
listing_number(struct listing *l, int64_t value)
{
	enum listing_type type = l->columns[l->at].type;
	bool time = type == LIST_TIME || type == LIST_DATE;
	char exact[32];

	assert(type == LIST_NUMBER || type == LIST_BYTES || type == LIST_SPAN || time);
	if (time && value == 0) {
		put_cell(l, json_null(), "", listing_human(&l->piece, type, 0, l->now));
		return;
	}
	if (time)
		clock_text(value, exact);
	else
		snprintf(exact, sizeof(exact), "%lld", (long long)value);
	put_cell(l, time ? json_string(exact) : json_integer(value), exact,
	    type == LIST_NUMBER ?
		exact :
		listing_human(&l->piece, type, (double)value, l->now));
}

void
listing_real(struct listing *l, double value)
{
	enum listing_type type = l->columns[l->at].type;
	char exact[32];

	assert(type == LIST_REAL || type == LIST_PERCENT || type == LIST_BYTES);
	snprintf(exact, sizeof(exact), type == LIST_BYTES ? "%.0f" : "%.15g", value);
	put_cell(l,
	    type == LIST_BYTES ? json_integer((json_int_t)value) : json_real(value),
	    exact, listing_human(&l->piece, type, value, l->now));
}

void
listing_flag(struct listing *l, bool value)
{
	assert(l->columns[l->at].type == LIST_FLAG);
	put_cell(
	    l, json_boolean(value), value ? "true" : "false", value ? "yes" : "no");
}

void
listing_null(struct listing *l)
{
	put_cell(l, json_null(), "", "");
}

size_t
listing_end(struct listing *l)
{
	assert(l->at == 0);
	if (l->table.a != NULL)
		end_table(l);
	if (l->x->format == FORMAT_JSON && !l->record)
		printf(l->rows == 0 ? "[]\n" : "\n]\n");
	arena_free(&l->piece);
	return l->rows;
}
