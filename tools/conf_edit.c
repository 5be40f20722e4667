/* SPDX-License-Identifier: Apache-2.0 */
/* New text is inserted before the last end tag; the result is parsed before it replaces
 * the file. */
#include "tools/conf_edit.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { CONF_MAX = 4 << 20 };

static char *
find_last(char *text, const char *what)
{
	char *hit = NULL;

	for (char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what))
		hit = p;
	return hit;
}

/*
 * Skips back over the blanks before the end tag, so that the tag keeps its indentation.
 */
static size_t
line_start(const char *text, const char *at)
{
	while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return (size_t)(at - text);
}

static void
put_daemons(struct buf *b, const struct new_daemon *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buf_puts(b, "\t\t<daemon>\n\t\t\t");
		buf_tag(b, "name", p[i].name);
		buf_puts(b, "\t\t\t");
		buf_tag(b, "cmd", p[i].cmd);
		buf_puts(b, "\t\t</daemon>\n");
	}
}

static const struct conf_daemon *
daemon_named(const struct conf *cf, const char *name)
{
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (strcmp(cf->daemons[i].name, name) == 0)
			return &cf->daemons[i];
	return NULL;
}

enum err
conf_add_daemons(struct cmd_ctx *x, const struct new_daemon *p, size_t n)
{
	const char *path = x->cf->path;
	struct buf b = buf_new(x->a);
	char *text, *at;
	struct conf *cf;
	size_t len, head;
	enum err e = fs_read(x->a, path, CONF_MAX, &text, &len, x->f);

	if (e != OK || n == 0)
		return e;
	for (size_t i = 0; i < n; i++)
		if (daemon_named(x->cf, p[i].name) != NULL)
			return FAIL(x->f, E_CONFIG, "%s already has a daemon \"%s\"",
			    path, p[i].name);
	at = find_last(text, "</daemons>");
	if (at == NULL)
		at = find_last(text, "</boinc>");
	if (at == NULL)
		return FAIL(x->f, E_CONFIG, "%s has no </boinc>", path);
	head = line_start(text, at);
	buf_put(&b, text, head);
	if (strncmp(at, "</daemons>", 10) != 0)
		buf_puts(&b, "\t<daemons>\n");
	put_daemons(&b, p, n);
	if (strncmp(at, "</daemons>", 10) != 0)
		buf_puts(&b, "\t</daemons>\n");
	buf_put(&b, text + head, len - head);
	e = conf_parse(x->a, path, b.p, b.n, &cf, NULL, NULL, x->f);
	for (size_t i = 0; i < n && e == OK; i++)
		if (daemon_named(cf, p[i].name) == NULL)
			return FAIL(x->f, E_CONFIG,
			    "cannot find the end of <daemons> in %s; add the daemon %s by hand: <cmd>%s</cmd>",
			    path, p[i].name, p[i].cmd);
	return e == OK ? fs_replace(path, b.p, b.n, x->f) : e;
}

/* --- values and texts --- */

/* Finds the value of the last <name>: its offset and length; false if there is none. */
static bool
option_value_find(char *text, struct arena *a, const char *name, size_t *at, size_t *n)
{
	const char *open = arena_printf(a, "<%s>", name);
	char *p = find_last(text, open), *end;

	if (p == NULL)
		return false;
	p += strlen(open);
	end = strstr(p, arena_printf(a, "</%s>", name));
	if (end == NULL)
		return false;
	*at = (size_t)(p - text);
	*n = (size_t)(end - p);
	return true;
}

static enum err
option_set(struct cmd_ctx *x, char **text, const struct conf_change *o)
{
	const struct conf_opt *all = conf_opts;
	struct buf b = buf_new(x->a);
	struct conf *cf;
	size_t at, n, i = 0;
	char *end;
	enum err e;

	if (option_value_find(*text, x->a, o->old, &at, &n)) {
		buf_put(&b, *text, at);
		buf_xml(&b, o->new);
		buf_puts(&b, *text + at + n);
	} else {
		end = find_last(*text, "</config>");
		if (end == NULL)
			return FAIL(x->f, E_CONFIG, "%s has no </config>", x->cf->path);
		at = line_start(*text, end);
		buf_put(&b, *text, at);
		buf_puts(&b, "\t\t");
		buf_tag(&b, o->old, o->new);
		buf_puts(&b, *text + at);
	}
	e = conf_parse(x->a, x->cf->path, b.p, b.n, &cf, NULL, NULL, x->f);
	if (e != OK)
		return e;
	while (i < conf_nopts && strcmp(all[i].name, o->old) != 0)
		i++;
	/* Parsing made relative paths absolute, so compare only the end. */
	if (i < conf_nopts && all[i].type == CONF_STRING &&
	    !text_ends_with(*(char **)((char *)cf + all[i].off), o->new))
		return FAIL(x->f, E_CONFIG,
		    "cannot find <%s> in %s; set it to %s by hand", o->old, x->cf->path,
		    o->new);
	*text = b.p;
	return OK;
}

enum err
conf_set_options(struct cmd_ctx *x, const struct conf_change *o, size_t n)
{
	char *text;
	enum err e = fs_read(x->a, x->cf->path, CONF_MAX, &text, NULL, x->f);

	for (size_t i = 0; i < n && e == OK; i++)
		e = option_set(x, &text, &o[i]);
	return e == OK ? fs_replace(x->cf->path, text, strlen(text), x->f) : e;
}

/* True if no longer name continues at p. */
static bool
name_ends_at(const char *p)
{
	return !isalnum((unsigned char)*p) && strchr("_-.", *p) == NULL;
}

static const struct conf_change *
change_at(const char *p, const struct conf_change *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(t[i].old);

		if (strncmp(p, t[i].old, len) == 0 &&
		    (p[len] == '\0' || name_ends_at(p + len)))
			return &t[i];
	}
	return NULL;
}

enum err
conf_replace_texts(struct arena *a, const char *path, const struct conf_change *t,
    size_t n, bool *changed, struct fail *f)
{
	struct buf b = buf_new(a);
	struct stat st;
	char *text;
	enum err e = fs_read(a, path, CONF_MAX, &text, NULL, f);

	if (e != OK)
		return e == E_NOTFOUND ? OK : e;
	while (*text != '\0') {
		const struct conf_change *hit = change_at(text, t, n);

		if (hit == NULL) {
			buf_put(&b, text++, 1);
			continue;
		}
		*changed = true;
		buf_puts(&b, hit->new);
		text += strlen(hit->old);
	}
	if (!*changed)
		return OK;
	if (stat(path, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	return fs_write(path, b.p, b.n, st.st_mode & 07777, f);
}
