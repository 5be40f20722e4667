/* SPDX-License-Identifier: Apache-2.0 */
/* Read by tables: what model/record.def says is all there is to know. */
#include "proto/record.h"

#include <string.h>
#include "proto/row_text.h"
#include "lib/banned.h"

void
record_put(struct buf *b, const struct record *r)
{
	row_put(b, shape_rec_decision.name, &shape_rec_decision, &r->d);
	for (size_t k = 0; k < REC_LISTS; k++) {
		const struct rec_kind *kind = &rec_kinds[k];
		const char *at = (const char *)r;
		const char *rows = *(
		    const char *const *)(const void *)(at + kind->rows);
		size_t n = *(const size_t *)(const void *)(at + kind->n);

		for (size_t i = 0; i < n; i++)
			row_put(
			    b, kind->kind, kind->shape, rows + i * kind->shape->size);
	}
}

/* A column that is not known was written by a newer program. */
static void
record_set_columns(const struct row_shape *s, void *row, char *p)
{
	struct fail f;

	for (char *word; (word = row_word(&p)) != NULL;) {
		char *value = row_value(word);

		if (value != NULL)
			row_set(s, row, word, value, NULL, &f);
	}
}

static void
record_read_line(struct arena *a, struct record *r, size_t cap[REC_LISTS], char *p)
{
	const char *kind = row_word(&p);

	for (size_t k = 0; kind != NULL && k < REC_LISTS; k++) {
		const struct row_shape *s = rec_kinds[k].shape;
		void **rows = (void **)(void *)((char *)r + rec_kinds[k].rows);
		size_t *n = (size_t *)(void *)((char *)r + rec_kinds[k].n);
		char *row;

		if (strcmp(rec_kinds[k].kind, kind) != 0)
			continue;
		*rows = arena_grow(a, *rows, *n, &cap[k], s->size);
		row = (char *)*rows + s->size * (*n)++;
		memcpy(row, row_new(a, s), s->size);
		record_set_columns(s, row, p);
		return;
	}
}

enum err
record_read(struct arena *a, char *text, struct record **out, struct fail *f)
{
	struct record *r = NEW(a, struct record);
	size_t cap[REC_LISTS] = { 0 }, begin = strlen(shape_rec_decision.name);
	struct rec_decision *d = row_new(a, &shape_rec_decision);

	if (strncmp(text, shape_rec_decision.name, begin) != 0 || text[begin] != ' ')
		return FAIL(f, E_BADREQ, "it is no decision record");
	for (char *line = text, *next; *line != '\0'; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		line[n] = '\0';
		if (line == text)
			record_set_columns(&shape_rec_decision, d, line + begin);
		else
			record_read_line(a, r, cap, line);
	}
	r->d = *d;
	*out = r;
	return OK;
}
