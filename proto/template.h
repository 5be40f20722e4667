/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of job templates as text: templates are copied byte for byte into blobs, so
 * they are walked, not parsed into trees. Templates belong to the project: every error
 * is refused with line and element.
 */
#ifndef PROTO_TEMPLATE_H
#define PROTO_TEMPLATE_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"

enum { TMPL_BYTES_MAX = 256 << 10, TMPL_PATH_MAX = 254 /* limit of the column */ };

/* Returns the path in the project of a template that an admin names: NAME, or PATH. */
char *tmpl_path(struct arena *, const char *given);
/* E_BADREQ unless path lies within the project and has at most TMPL_PATH_MAX bytes. */
enum err tmpl_path_check(const char *path, struct fail *);

struct tmpl_elem {
	char *name;
	const char *outer, *inner; /* <x>..</x>, and the text between the tags */
	size_t outer_n, inner_n;
	int line;
	bool attributes; /* nobody reads them */
};
struct tmpl { /* the text being walked; what and line are for messages */
	const char *p, *end;
	int line;
	const char *what; /* "input template", ... */
};

struct tmpl tmpl_text(const char *text, const char *what);
struct tmpl tmpl_inside(const struct tmpl_elem *, const char *what);
/*
 * Returns the next child element, skipping comments and the XML declaration. E_NOTFOUND
 * at the end; E_BADREQ: text outside of elements, or a missing end tag.
 */
enum err tmpl_next(struct arena *, struct tmpl *, struct tmpl_elem *, struct fail *);
/* Enters the enclosing element, if the text begins with one of that name. */
enum err tmpl_enter(struct arena *, struct tmpl *, const char *root, struct fail *);
/* Returns the text of the element, trimmed and decoded. */
char *tmpl_value(struct arena *, const struct tmpl_elem *);
bool tmpl_is(const struct tmpl_elem *, const char *name);
/* Copies the element's text, on lines of its own. */
void tmpl_copy(struct buf *, const struct tmpl_elem *);

/* Predicts work that an app's generator has yet to make. */

/*
 * Returns the number of results with which each new workunit of the app begins, unless
 * the app replicates adaptively: target_nresults of its input template. That template
 * is the one of the app's work_generator in config.xml, else templates/APP_in.xml. 0 if
 * it cannot be read.
 */
int32_t new_work_results(struct arena *, const struct conf *, const char *app);
/*
 * The value of an option in the command line of an app's daemon in config.xml, such as
 * "copy_to" of its assimilator; NULL if the app has no such daemon, or it lacks the
 * option.
 */
const char *daemon_option(struct arena *, const struct conf *, const char *program,
    const char *app, const char *option);

#endif
