/* SPDX-License-Identifier: Apache-2.0 */
/* Text is put in before the last end tag; what came of it is read back before it
 * counts. */
#include "tools/conf_edit.h"

#include <string.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { CONF_MAX = 4 << 20 };

static char *
last_of(char *text, const char *what)
{
	char *hit = NULL;

	for (char *p = strstr(text, what); p != NULL; p = strstr(p + 1, what))
		hit = p;
	return hit;
}

/* Back over the blanks before the end tag, so that it keeps its place. */
static size_t
line_start(const char *text, const char *at)
{
	while (at > text && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	return (size_t)(at - text);
}

static void
put_daemons(struct buf *b, const struct conf_pair *p, size_t n)
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
conf_add_daemons(struct ctx *x, const struct conf_pair *p, size_t n)
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
			return FAIL(x->f, E_CONFIG, "%s has a daemon \"%s\" already",
			    path, p[i].name);
	at = last_of(text, "</daemons>");
	if (at == NULL)
		at = last_of(text, "</boinc>");
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
			    "the end of <daemons> in %s cannot be found; add the "
			    "daemon %s by hand: "
			    "<cmd>%s</cmd>",
			    path, p[i].name, p[i].cmd);
	return e == OK ? fs_write(path, b.p, b.n, 0640, x->f) : e;
}
