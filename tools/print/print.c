/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/print/print.h"

#include <assert.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/json_text.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "lib/human.h"
#include "lib/banned.h"

static enum color_when chosen;

void color_choose(enum color_when when)
{
	chosen = when;
}

bool color_used(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (chosen != COLOR_AUTO)
		return chosen == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && term != NULL &&
	       strcmp(term, "dumb") != 0;
}

const char *color_text(struct arena *a, enum color color, const char *text)
{
	static const char *const codes[] = { [COLOR_GOOD] = "32",
		[COLOR_WARN] = "33",
		[COLOR_BAD] = "31",
		[COLOR_BOLD] = "1" };

	if (color == COLOR_NONE || !color_used())
		return text;
	return arena_printf(a, "\033[%sm%s\033[0m", codes[color], text);
}

enum {
	PIECE = 1000, /* rows of a list that are aligned together */
	DEPTH = 8,    /* objects and arrays that are open */
	GAP = 2,      /* between columns */
	ROOM = 8      /* what the last column gets at least, or it is not cut */
};

struct print {
	struct cmd_ctx *x;
	const struct print_column *columns; /* NULL = a tree */
	size_t ncolumns, at, rows;
	bool record, stream;
	int label; /* width of labels */
	int64_t now;
	struct arena piece; /* of the table, or of one row */
	const char *align;  /* of the table; NULL = none has begun */
	const char **cells; /* of the table, row by row */
	size_t ncells, cap;
	json_t *open[DEPTH]; /* of the tree, or the row of a list */
	size_t depth;
};

/* --- values --- */

struct print_value print_of_text(const char *s)
{
	return (struct print_value){ s == NULL ? PRINT_NONE : PRINT_TEXT, .text = s };
}

struct print_value print_of_number(int64_t n)
{
	return (struct print_value){ PRINT_NUMBER, .number = n, .real = (double)n };
}

struct print_value print_of_real(double r)
{
	return (struct print_value){ PRINT_REAL, .real = r };
}

struct print_value print_of_flag(bool set)
{
	return (struct print_value){ PRINT_FLAG, .number = set };
}

struct print_value print_of_none(const void *none)
{
	(void)none;
	return (struct print_value){ .type = PRINT_NONE };
}

struct print_value print_of_value(struct print_value v)
{
	return v;
}

struct print_value print_of_either(bool none, struct print_value v)
{
	return none ? print_of_none(NULL) : v;
}

static json_t *value_json(const struct print_value *v)
{
	char time[21];

	switch (v->type) {
	case PRINT_NONE:
		return json_null();
	case PRINT_TEXT:
	case PRINT_OWN:
		return json_text(v->text);
	case PRINT_LINES:
		return json_lines(v->text);
	case PRINT_REAL:
	case PRINT_PERCENT:
		return json_real(v->real);
	case PRINT_TIME:
	case PRINT_DATE:
		return v->number == 0 ? json_null() :
		                        json_string(clock_text(v->number, time));
	case PRINT_FLAG:
		return json_boolean(v->number);
	default:
		return json_integer(v->number);
	}
}

/* Prints a text of tsv: a tab, a newline and a backslash stand as \t, \n and \\. */
static void print_escaped(const char *text)
{
	size_t n;

	for (const char *p = text; *p != '\0'; p += n)
		if (n = 1, *p == '\t' || *p == '\n' || *p == '\\')
			printf("\\%c", *p == '\t' ? 't' : *p == '\n' ? 'n' : *p);
		else if (text_shown(p, &n))
			printf("%.*s", (int)n, p);
		else
			putchar('?');
}

/* Prints a value of tsv as json has it, but a text without quotes; null is empty. */
static void print_exact(const json_t *v)
{
	if (json_is_string(v))
		print_escaped(json_string_value(v));
	else if (json_is_integer(v))
		printf("%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		printf("%.15g", json_real_value(v));
	else if (json_is_boolean(v))
		printf("%s", json_is_true(v) ? "true" : "false");
}

static const char *value_human(
    struct arena *a, const struct print_value *v, int64_t now)
{
	char text[21];

	switch (v->type) {
	case PRINT_NONE:
		return "";
	case PRINT_FLAG:
		return v->number ? "yes" : "no";
	case PRINT_REAL:
		return arena_printf(a, "%.4g", v->real);
	case PRINT_PERCENT:
		return arena_printf(a, "%.4g %%", v->real * 100);
	case PRINT_BYTES:
		return human_bytes(a, v->real);
	case PRINT_SPAN:
		return human_span(a, v->number);
	case PRINT_TIME:
		return human_ago(a, v->number, now);
	case PRINT_DATE:
		return v->number == 0 ? "never" :
		                        arena_strdup(a, clock_text(v->number, text));
	case PRINT_NUMBER:
		return arena_printf(a, "%lld", (long long)v->number);
	case PRINT_OWN:
		return arena_strdup(a, v->text);
	default:
		return human_text(a, v->text);
	}
}

/* --- tables for people --- */

/*
 * Counts characters, not bytes: skips the continuation bytes of UTF-8, and the escape
 * sequences of color_text().
 */
static int shown_width(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		if (*s == '\033')
			s += strcspn(s, "m") - (strchr(s, 'm') == NULL);
		else
			n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Prints a text of which at most so many characters have room; colour is not cut. */
static void print_shortened(const char *s, int most)
{
	size_t end = 0;

	if (most <= 0 || shown_width(s) <= most || strchr(s, '\033') != NULL)
		end = strlen(s);
	else
		for (int n = 0; n <= most && s[end] != '\0'; end += n <= most)
			n += ((unsigned char)s[end] & 0xc0) != 0x80;
	printf("%.*s", (int)end, s);
}

/* columns: of the terminal; 0 = standard output is none, and nothing is cut. */
static void print_table_row(
    const struct print *p, const char *const *row, const int *widths, int columns)
{
	size_t end = strlen(p->align);
	int left = columns;

	while (end > 0 && row[end - 1][0] == '\0')
		end--;
	for (size_t c = 0; c < end; c++) {
		int pad = widths[c] - shown_width(row[c]);
		bool last = c + 1 == end, right = p->align[c] == 'r';

		printf("%*s", right ? pad : 0, "");
		print_shortened(row[c], !right && last && left >= ROOM ? left : 0);
		printf("%*s", last ? 0 : right ? GAP : pad + GAP, "");
		left -= widths[c] + GAP;
	}
	printf("\n");
}

/* Prints the table that has begun, if one has. */
static void end_table(struct print *p)
{
	struct winsize size = { 0 };
	int *widths;
	size_t n;

	if (p->align == NULL)
		return;
	n = strlen(p->align);
	widths = NEWN(&p->piece, int, n);
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		size.ws_col = 0;
	for (size_t i = 0; i < p->ncells; i++)
		if (shown_width(p->cells[i]) > widths[i % n])
			widths[i % n] = shown_width(p->cells[i]);
	for (size_t i = 0; i < p->ncells; i += n)
		print_table_row(p, p->cells + i, widths, size.ws_col);
	p->align = NULL;
	p->cells = NULL;
	p->ncells = p->cap = 0;
	arena_reset(&p->piece);
}

static void put_human(struct print *p, const char *text)
{
	PUSH(&p->piece, p->cells, p->ncells, p->cap) = text;
}

void print_aligned_of(struct print *p, const char *align, const struct print_value *v)
{
	if (p->x->format != FORMAT_TABLE)
		return;
	if (p->align != NULL && strcmp(p->align, align) != 0)
		end_table(p);
	p->align = align;
	for (; v->type != 0; v++)
		put_human(p, value_human(&p->piece, v, p->now));
	assert(p->ncells % strlen(align) == 0);
}

/* --- lists and records --- */

static struct print *print_new(
    struct cmd_ctx *x, const struct print_column *columns, bool record)
{
	struct print *p = NEW(x->a, struct print);

	*p = (struct print){
		.x = x, .columns = columns, .record = record, .now = clock_now()
	};
	for (; columns != NULL && columns[p->ncolumns].key != NULL; p->ncolumns++)
		if (x->format == FORMAT_TSV)
			printf("%s%s", p->ncolumns == 0 ? "" : "\t",
			    columns[p->ncolumns].key);
	if (x->format == FORMAT_TSV && columns != NULL)
		printf("\n");
	return p;
}

struct print *print_list(struct cmd_ctx *x, const struct print_column *columns)
{
	return print_new(x, columns, false);
}

struct print *print_stream(struct cmd_ctx *x, const struct print_column *columns)
{
	struct print *p = print_new(x, columns, false);

	p->stream = true;
	return p;
}

struct print *print_record_begin(struct cmd_ctx *x, const struct print_column *columns)
{
	return print_new(x, columns, true);
}

/* Begins the table of a list or a record. */
static void begin_table(struct print *p)
{
	char *align = arena_alloc(&p->piece, p->ncolumns + 3);
	size_t n = 0;

	p->align = p->record ? "ll" : align;
	for (size_t i = 0; i < p->ncolumns && !p->record; i++) {
		enum print_type t = p->columns[i].type;

		if (p->columns[i].head == NULL)
			continue;
		align[n++] = t >= PRINT_NUMBER && t <= PRINT_BYTES ? 'r' : 'l';
		put_human(p, p->columns[i].head);
	}
	align[n] = '\0';
}

static void end_row(struct print *p)
{
	if (p->x->format == FORMAT_JSON) {
		if (!p->record && !p->stream)
			printf(p->rows == 0 ? "[\n" : ",\n");
		json_dumpf(p->open[0], stdout,
		    (p->record ? JSON_INDENT(1) : JSON_COMPACT) |
			JSON_REAL_PRECISION(17));
		printf(p->record || p->stream ? "\n" : "");
		json_decref(p->open[0]);
	} else if (p->x->format == FORMAT_TSV) {
		printf("\n");
	}
	p->at = 0;
	if (++p->rows % PIECE == 0)
		end_table(p);
}

/* The value as its column has it. */
static struct print_value value_of_column(enum print_type type, struct print_value v)
{
	bool real = v.type == PRINT_REAL;

	assert(v.type == PRINT_NONE || (v.type == PRINT_TEXT) == (type == PRINT_TEXT));
	assert(!real || (type >= PRINT_REAL && type <= PRINT_BYTES));
	if (real && type == PRINT_BYTES)
		v.number = (int64_t)v.real;
	if (v.type != PRINT_NONE)
		v.type = type;
	return v;
}

static void put_cell(struct print *p, struct print_value v)
{
	const struct print_column *c = &p->columns[p->at];
	json_t *exact;

	v = value_of_column(c->type, v);
	if (p->x->format == FORMAT_TABLE && c->head != NULL) {
		if (p->align == NULL)
			begin_table(p);
		if (p->record)
			put_human(p, c->head);
		put_human(p, value_human(&p->piece, &v, p->now));
	} else if (p->x->format == FORMAT_JSON) {
		if (p->at == 0)
			p->open[0] = json_object();
		json_object_set_new(p->open[0], c->key, value_json(&v));
	} else if (p->x->format == FORMAT_TSV) {
		printf("%s", p->at > 0 ? "\t" : "");
		exact = v.type == PRINT_TEXT ? NULL : value_json(&v);
		if (exact == NULL)
			print_escaped(v.text);
		else
			print_exact(exact);
		json_decref(exact);
	}
	if (++p->at == p->ncolumns)
		end_row(p);
}

void print_cells_of(struct print *p, const struct print_value *v)
{
	for (; v->type != 0; v++)
		put_cell(p, *v);
}

void print_record_of(
    struct cmd_ctx *x, const struct print_column *columns, const struct print_value *v)
{
	struct print *p = print_record_begin(x, columns);

	print_cells_of(p, v);
	print_end(p);
}

/* --- trees --- */

struct print *print_tree(struct cmd_ctx *x, enum print_shape shape)
{
	struct print *p = print_new(x, NULL, true);

	if (x->format != FORMAT_TABLE)
		p->open[p->depth++] = shape == PRINT_ARRAY ? json_array() :
		                                             json_object();
	return p;
}

static void print_member(struct print *p, const char *key, json_t *v)
{
	json_t *in = p->open[p->depth - 1];

	if (key == NULL)
		json_array_append_new(in, v);
	else
		json_object_set_new(in, key, v);
}

void print_members(struct print *p, const struct print_value *v)
{
	for (; v->type != 0 && p->depth > 0; v += 2)
		print_member(p, v[0].text, value_json(&v[1]));
}

void print_json(struct print *p, const char *key, json_t *v)
{
	if (p->depth > 0)
		print_member(p, key, json_incref(v));
}

void print_open(struct print *p, const char *key, enum print_shape shape)
{
	json_t *v;

	if (p->depth == 0)
		return;
	assert(p->depth < DEPTH);
	v = key == NULL ? NULL : json_object_get(p->open[p->depth - 1], key);
	if (!json_is_object(v) && !json_is_array(v)) {
		v = shape == PRINT_ARRAY ? json_array() : json_object();
		print_member(p, key, v);
	}
	p->open[p->depth++] = v;
}

void print_close(struct print *p)
{
	p->depth -= p->depth > 0;
}

void print_object_of(struct print *p, const char *key, const struct print_value *v)
{
	print_open(p, key, PRINT_OBJECT);
	print_members(p, v);
	print_close(p);
}

/* Prints the values below v, whose path is given; depth first, in order. */
static void print_paths(struct arena *a, const char *path, json_t *v)
{
	const char *dot = path[0] == '\0' ? "" : ".", *key;
	json_t *child;
	size_t i;

	if (json_is_object(v)) {
		json_object_foreach(v, key, child)
		    print_paths(a, arena_printf(a, "%s%s%s", path, dot, key), child);
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, child)
		    print_paths(a, arena_printf(a, "%s%s%zu", path, dot, i), child);
	} else {
		print_escaped(path);
		putchar('\t');
		print_exact(v);
		putchar('\n');
	}
}

/* --- lines --- */

void print_label(struct print *p, int width)
{
	p->label = width;
}

void print_alert(
    struct print *p, enum color color, const char *label, const char *fmt, ...)
{
	va_list ap;

	if (p->x->format != FORMAT_TABLE)
		return;
	end_table(p);
	if (label != NULL)
		printf(
		    "%s ", color_text(&p->piece, label[0] == '\0' ? COLOR_NONE : color,
			       arena_printf(&p->piece, "%-*s", p->label, label)));
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

size_t print_end(struct print *p)
{
	bool json = p->x->format == FORMAT_JSON;

	assert(p->at == 0);
	end_table(p);
	if (p->columns == NULL && p->depth > 0) {
		assert(p->depth == 1);
		if (json) {
			json_dumpf(p->open[0], stdout,
			    JSON_INDENT(1) | JSON_REAL_PRECISION(17));
			printf("\n");
		} else {
			printf("path\tvalue\n");
			print_paths(&p->piece, "", p->open[0]);
		}
		json_decref(p->open[0]);
	} else if (json && !p->record && !p->stream) {
		printf(p->rows == 0 ? "[]\n" : "\n]\n");
	}
	arena_free(&p->piece);
	return p->rows;
}

void print_drop(struct print *p)
{
	if (p->depth > 0)
		json_decref(p->open[0]);
	arena_free(&p->piece);
}
