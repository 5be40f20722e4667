/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the child elements of a text, one level at a time. */
#include "proto/template.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/normalise.h"
#include "lib/banned.h"

char *tmpl_path(struct arena *a, const char *given)
{
	if (strchr(given, '/') != NULL)
		return arena_strdup(a, given);
	return arena_printf(a, "templates/%s", given);
}

enum err tmpl_path_check(const char *path, struct fail *f)
{
	if (path[0] == '\0' || path[0] == '/' || strstr(path, "..") != NULL ||
	    strlen(path) > TMPL_PATH_MAX)
		return FAIL(f, E_BADREQ,
		    "template \"%s\": a path inside the project of at most %d bytes is needed, such as templates/out.xml",
		    path, TMPL_PATH_MAX);
	return OK;
}

enum { NAME_MAX_BYTES = 64 };

static int count_lines(const char *p, const char *end)
{
	int n = 0;

	for (; p < end; p++)
		n += *p == '\n';
	return n;
}

struct tmpl tmpl_text(const char *text, const char *what)
{
	return (struct tmpl){
		.p = text, .end = text + strlen(text), .line = 1, .what = what
	};
}

struct tmpl tmpl_inside(const struct tmpl_elem *e, const char *what)
{
	return (struct tmpl){
		.p = e->inner,
		.end = e->inner + e->inner_n,
		.line = e->line + count_lines(e->outer, e->inner),
		.what = what,
	};
}

/* Advances to q, counting lines. */
static void tmpl_step(struct tmpl *t, const char *q)
{
	t->line += count_lines(t->p, q);
	t->p = q;
}

static bool tmpl_starts(const struct tmpl *t, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(t->end - t->p) >= n && memcmp(t->p, with, n) == 0;
}

static const char *tmpl_find(const char *p, const char *end, const char *s)
{
	return memmem(p, (size_t)(end - p), s, strlen(s));
}

/* Skips white space, comments and the declaration. */
static enum err tmpl_skip(struct tmpl *t, struct fail *f)
{
	const char *q;
	bool comment;

	for (;;) {
		q = t->p + strspn(t->p, " \t\r\n");
		tmpl_step(t, q < t->end ? q : t->end);
		comment = tmpl_starts(t, "<!--");
		if (!comment && !tmpl_starts(t, "<?"))
			return OK;
		q = tmpl_find(t->p, t->end, comment ? "-->" : "?>");
		if (q == NULL)
			return FAIL(f, E_BADREQ, "%s, line %d: the comment has no end",
			    t->what, t->line);
		tmpl_step(t, q + (comment ? 3 : 2));
	}
}

/*
 * Returns the end tag that closes name, counting nested elements of the same name.
 * Nothing is scanned twice: a template may consist of start tags.
 */
static const char *tmpl_end_tag(
    struct arena *a, const char *p, const char *end, const char *name)
{
	const char *open = arena_printf(a, "<%s>", name);
	const char *close = arena_printf(a, "</%s>", name);
	const char *c = tmpl_find(p, end, close), *o;
	size_t depth = 1;

	while (c != NULL) {
		o = tmpl_find(p, c, open);
		if (o != NULL) {
			depth++;
			p = o + strlen(open);
			continue;
		}
		if (--depth == 0)
			return c;
		p = c + strlen(close);
		c = tmpl_find(p, end, close);
	}
	return NULL;
}

enum err tmpl_next(struct arena *a, struct tmpl *t, struct tmpl_elem *e, struct fail *f)
{
	const char *q, *gt;
	size_t n;

	*e = (struct tmpl_elem){ .name = arena_strdup(a, "") };
	if (tmpl_skip(t, f) != OK)
		return f->code;
	if (t->p == t->end)
		return FAIL(f, E_NOTFOUND, "%s: no more elements", t->what);
	e->line = t->line;
	e->outer = t->p;
	q = t->p + 1;
	n = *t->p == '<' ? strcspn(q, "/ \t\r\n<>") : 0;
	gt = memchr(t->p, '>', (size_t)(t->end - t->p));
	if (n == 0 || n > NAME_MAX_BYTES || gt == NULL)
		return FAIL(f, E_BADREQ, "%s, line %d: \"%.*s\" is not a start tag",
		    t->what, t->line,
		    (int)strcspn(t->p, "\n") > 40 ? 40 : (int)strcspn(t->p, "\n"),
		    t->p);
	e->name = arena_memdup(a, q, n);
	e->inner = gt + 1;
	if (gt[-1] == '/') {
		e->outer_n = (size_t)(e->inner - e->outer);
		tmpl_step(t, e->inner);
		return OK;
	}
	e->attributes = gt != q + n;
	q = tmpl_end_tag(a, e->inner, t->end, e->name);
	if (q == NULL)
		return FAIL(f, E_BADREQ, "%s, line %d: <%s> has no end tag", t->what,
		    t->line, e->name);
	e->inner_n = (size_t)(q - e->inner);
	q += strlen(e->name) + 3;
	e->outer_n = (size_t)(q - e->outer);
	tmpl_step(t, q);
	return OK;
}

enum err tmpl_enter(struct arena *a, struct tmpl *t, const char *root, struct fail *f)
{
	struct tmpl look = *t;
	struct tmpl_elem e;
	enum err r = tmpl_next(a, &look, &e, f);

	if (r == E_NOTFOUND)
		return FAIL(f, E_BADREQ, "%s: it is empty", t->what);
	if (r == OK && tmpl_is(&e, root))
		*t = tmpl_inside(&e, t->what);
	return r;
}

char *tmpl_value(struct arena *a, const struct tmpl_elem *e)
{
	return text_decode(a, e->inner, e->inner_n);
}

bool tmpl_is(const struct tmpl_elem *e, const char *name)
{
	return strcmp(e->name, name) == 0;
}

void tmpl_copy(struct buf *b, const struct tmpl_elem *e)
{
	buf_puts(b, "    ");
	buf_put(b, e->outer, e->outer_n);
	buf_puts(b, "\n");
}

/* "--input-template" matches "input_template". */
static bool is_option(const char *word, const char *name)
{
	size_t n = strlen(name), dashes = strspn(word, "-");

	if (dashes < 1 || dashes > 2 || strlen(word) != dashes + n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (word[dashes + i] != name[i] &&
		    !(name[i] == '_' && word[dashes + i] == '-'))
			return false;
	return true;
}

/*
 * Returns the option's last value in a command line, as daemons take it; NULL if
 * absent.
 */
static const char *option_value(char *const *argv, const char *name)
{
	const char *found = NULL;

	for (size_t i = 1; argv[0] != NULL && argv[i] != NULL; i++)
		if (is_option(argv[i], name))
			found = argv[i + 1];
	return found;
}

const char *daemon_option(struct arena *a, const struct conf *cf, const char *program,
    const char *app, const char *option)
{
	for (size_t i = 0; i < cf->ndaemons; i++) {
		struct fail f = { 0 };
		const char *of, *value;
		char **argv;

		if (proc_split(a, cf->daemons[i].cmd, &argv, &f) != OK ||
		    strcmp(text_base_name(argv[0]), program) != 0)
			continue;
		of = option_value(argv, "app");
		value = option_value(argv, option);
		if (of != NULL && value != NULL && strcmp(of, app) == 0)
			return value;
	}
	return NULL;
}

/*
 * Returns the last <target_nresults> of the <workunit>, as the generator takes it; 0 =
 * none.
 */
static int32_t target_nresults(struct arena *a, const char *text)
{
	struct tmpl t = tmpl_text(text, "input template"), inner;
	struct tmpl_elem e, field;
	struct fail f = { 0 };
	double v = 0;

	if (tmpl_enter(a, &t, "input_template", &f) != OK)
		return 0;
	while (tmpl_next(a, &t, &e, &f) == OK) {
		inner = tmpl_inside(&e, "input template");
		while (
		    tmpl_is(&e, "workunit") && tmpl_next(a, &inner, &field, &f) == OK)
			if (tmpl_is(&field, "target_nresults") &&
			    !text_f64(tmpl_value(a, &field), &v))
				return 0;
	}
	return v >= 1 && v <= INT32_MAX ? (int32_t)v : 0;
}

int32_t new_work_results(struct arena *a, const struct conf *cf, const char *app)
{
	struct fail f = { 0 };
	const char *path = daemon_option(
	    a, cf, "work_generator", app, "input_template");
	char *text;

	path = tmpl_path(a, path != NULL ? path : arena_printf(a, "%s_in.xml", app));
	if (tmpl_path_check(path, &f) != OK ||
	    fs_read(a, project_path(a, cf, path), TMPL_BYTES_MAX, &text, NULL, &f) !=
		OK)
		return 0;
	return target_nresults(a, text);
}
