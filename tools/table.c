/* SPDX-License-Identifier: Apache-2.0 */
/* A table is a list of cells; the widths are computed once all of them are there. */
#include "tools/table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/human.h"
#include "lib/banned.h"

enum {
	CELL_MAX = 512,
	GAP = 2,
	ROOM = 8 /* what the last column gets at least, or it is not cut */
};

struct table
table_new(struct arena *a, const char *align)
{
	return (struct table){ .a = a, .ncols = strlen(align), .align = align };
}

void
table_put(struct table *t, const char *text)
{
	table_put_own(t, human_text(t->a, text));
}

void
table_put_own(struct table *t, const char *text)
{
	PUSH(t->a, t->cells, t->n, t->cap) = arena_strdup(t->a, text);
}

void
table_printf(struct table *t, const char *fmt, ...)
{
	char text[CELL_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	table_put(t, text);
}

/*
 * Counts characters, not bytes: skips the continuation bytes of UTF-8, and the escape
 * sequences of color_text().
 */
static int
width(const char *s)
{
	int n = 0;

	for (; *s != '\0'; s++)
		if (*s == '\033')
			s += strcspn(s, "m") - (strchr(s, 'm') == NULL);
		else
			n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Columns of the terminal; 0 = standard output is none, and nothing is cut. */
static int
columns_of_terminal(void)
{
	struct winsize size = { 0 };

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
		return 0;
	return size.ws_col;
}

/* Prints a text of which at most so many characters have room; colour is not cut. */
static void
print_cut(const char *s, int most)
{
	size_t end = 0;

	if (most <= 0 || width(s) <= most || strchr(s, '\033') != NULL) {
		printf("%s", s);
		return;
	}
	for (int n = 0; s[end] != '\0'; end++) {
		n += ((unsigned char)s[end] & 0xc0) != 0x80;
		if (n > most)
			break;
	}
	printf("%.*s", (int)end, s);
}

static void
print_row(const struct table *t, const char *const *row, const int *widths, int columns)
{
	size_t end = t->ncols;
	int left = columns;

	while (end > 0 && row[end - 1][0] == '\0')
		end--;
	for (size_t c = 0; c < end; c++) {
		int pad = widths[c] - width(row[c]);
		bool last = c + 1 == end;

		if (t->align[c] == 'r')
			printf("%*s%s", pad, "", row[c]);
		else
			print_cut(row[c], last && left >= ROOM ? left : 0);
		if (t->align[c] != 'r' && !last)
			printf("%*s", pad, "");
		printf("%*s", last ? 0 : GAP, "");
		left -= widths[c] + GAP;
	}
	printf("\n");
}

void
table_print(const struct table *t)
{
	int *widths = NEWN(t->a, int, t->ncols), columns = columns_of_terminal();

	assert(t->n % t->ncols == 0);
	for (size_t i = 0; i < t->n; i++)
		if (width(t->cells[i]) > widths[i % t->ncols])
			widths[i % t->ncols] = width(t->cells[i]);
	for (size_t i = 0; i < t->n; i += t->ncols)
		print_row(t, t->cells + i, widths, columns);
}
