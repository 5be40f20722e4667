/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes single elements of a config.xml that is given as text. Every byte outside of
 * them stays as it is: comments, order, indentation, line ends. Pure; the caller checks
 * and writes the result.
 */
#ifndef TOOLS_CONF_TEXT_H
#define TOOLS_CONF_TEXT_H

#include "lib/arena.h"
#include "lib/err.h"

/*
 * Makes the values those of the elements <name> in <config>, in this order: an element
 * that has its value already is not touched, the others change in place, missing ones
 * follow the last one or end the section, and superfluous ones go with their lines.
 * E_BADREQ: the text is not XML.
 */
enum err conf_text_set(struct arena *, const char *text, const char *name,
    const char *const *values, size_t n, char **out, struct fail *);
/*
 * The same for one child element of an <item> ("daemon" or "task", the number-th of its
 * section, from 0); value NULL removes it. E_NOTFOUND if there is no such item.
 */
struct conf_text_child {
	const char *item;
	size_t number;
	const char *child, *value;
};
enum err conf_text_set_child(struct arena *, const char *text,
    const struct conf_text_child *, char **out, struct fail *);
/* Removes one item of a section, with its lines. E_NOTFOUND as above. */
enum err conf_text_remove_item(struct arena *, const char *text, const char *item,
    size_t number, char **out, struct fail *);
/* Appends whole lines to the last <section>, which is created if there is none. */
enum err conf_text_append(struct arena *, const char *text, const char *section,
    const char *lines, char **out, struct fail *);
/*
 * Lists the texts of the elements <name> in <config>, in order, and their lines.
 */
struct conf_text_value {
	char *text;
	int line;
};
enum err conf_text_values(struct arena *, const char *text, const char *name,
    struct conf_text_value **, size_t *n, struct fail *);

#endif
