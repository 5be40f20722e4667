/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jansson refuses text that is not UTF-8, but names of files and hosts may contain
 * any bytes. Short, because it is all that jansson lacks here.
 */
#include "lib/json_text.h"

#include "lib/arena.h"
#include "lib/text.h"
#include "lib/banned.h"

/* Makes a string of text that it may change. */
static json_t *json_of(char *s)
{
	json_t *text = json_string(s);

	if (text != NULL)
		return text;
	for (char *p = s; *p != '\0'; p++)
		if ((unsigned char)*p > 126)
			*p = '?';
	return json_string(s);
}

json_t *json_text(const char *s)
{
	struct arena a = { 0 };
	char *copy = arena_strdup(&a, s);
	json_t *text;

	text_make_printable(copy);
	text = json_of(copy);
	arena_free(&a);
	return text;
}

json_t *json_lines(const char *s)
{
	struct arena a = { 0 };
	json_t *text = json_of(arena_strdup(&a, s));

	arena_free(&a);
	return text;
}

json_t *json_number_of(const struct field *f, const void *row)
{
	if (f->type == FIELD_F64)
		return json_real(field_number(f, row));
	return f->type == FIELD_FLAG ? json_boolean(field_whole(f, row)) :
	                               json_integer(field_whole(f, row));
}
