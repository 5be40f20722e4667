/* SPDX-License-Identifier: Apache-2.0 */
/* The templates of a new app. */
#include <inttypes.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/template.h"
#include "tools/app_parts.h"
#include "tools/program.h"
#include "lib/banned.h"

/* Sets the number in <name>, in place or at the end of <workunit>. */
static char *
with_number(struct cmd_ctx *x, char *text, const char *name, int64_t value)
{
	const char *open = arena_printf(x->a, "<%s>", name);
	const char *at = strstr(text, open), *end;

	if (at != NULL && (end = strchr(at + 1, '<')) != NULL) {
		at += strlen(open);
		return arena_printf(
		    x->a, "%.*s%" PRId64 "%s", (int)(at - text), text, value, end);
	}
	at = strstr(text, "</workunit>");
	if (at == NULL)
		return text; /* the check says so */
	return arena_printf(x->a, "%.*s    <%s>%" PRId64 "</%s>\n%s", (int)(at - text),
	    text, name, value, name, at);
}

/* Returns the text of the pair for any program. */
static enum err
first_template(
    struct cmd_ctx *x, const struct app_templates *t, const char *kind, char **text)
{
	const char *name = arena_printf(x->a, "first-%s.xml", kind);
	const char *path = program_data(x->a, name);
	const struct word words[] = {
		{ "%LARGE%",
		    t->sticky ?
			"    <sticky/>\n    <no_delete/>\n    <report_on_rpc/>\n" :
			"" },
		{ "%QUORUM%",
		    arena_printf(x->a, "%" PRId64, t->quorum > 0 ? t->quorum : 2) },
	};

	if (path == NULL)
		return FAIL(
		    x->f, E_CONFIG, "%s is not installed with this program", name);
	TRY(fs_read(x->a, path, TMPL_BYTES_MAX, text, NULL, x->f));
	*text = words_fill(x->a, *text, words, N(words));
	return OK;
}

char *
app_template_path(struct cmd_ctx *x, const char *app, const char *kind)
{
	return project_path(
	    x->a, x->cf, arena_printf(x->a, "templates/%s_%s.xml", app, kind));
}

/* Never replaces a template with other contents. *md5: of what was written, or NULL. */
static enum err
write_template(
    struct cmd_ctx *x, const char *to, const char *text, bool dry, const char **md5)
{
	size_t n = strlen(text), have;
	char *old, *digest = arena_alloc(x->a, MD5_HEX);

	if (fs_read(x->a, to, TMPL_BYTES_MAX, &old, &have, NULL) == OK) {
		if (have != n || memcmp(old, text, n) != 0)
			return FAIL(x->f, E_BADREQ,
			    "%s exists with different contents; remove it first", to);
		return OK; /* somebody else's */
	}
	TRY(fs_check_change(to, x->f));
	if (dry) {
		ctx_progress(x, "would", "create %s", to);
		return OK;
	}
	md5_text(text, digest);
	*md5 = digest;
	TRY(fs_mkdirs(project_path(x->a, x->cf, "templates"), 0755, x->f));
	TRY(fs_write(to, text, n, 0644, x->f));
	ctx_progress(x, "created", "%s", to);
	return OK;
}

static enum err
install_one(struct cmd_ctx *x, const char *app, const struct app_templates *t,
    const char *kind, const char **md5)
{
	bool in = strcmp(kind, "in") == 0;
	const char *file = in ? t->in : t->out;
	const char *to = app_template_path(x, app, kind);
	char *text;

	if (file == NULL && (!t->first || fs_exists(to)))
		return OK;
	if (file != NULL)
		TRY(fs_read(x->a, file, TMPL_BYTES_MAX, &text, NULL, x->f));
	else
		TRY(first_template(x, t, kind, &text));
	if (in && t->quorum > 0) {
		text = with_number(x, text, "min_quorum", t->quorum);
		text = with_number(x, text, "target_nresults", t->quorum);
	}
	TRY(in ? template_check_in(x, file == NULL ? to : file, text, t->large) :
		 template_check_out(x, file == NULL ? to : file, text));
	return write_template(x, to, text, t->dry_run, md5);
}

enum err
app_templates_install(struct cmd_ctx *x, const char *app, const struct app_templates *t,
    struct app_added *added)
{
	TRY(install_one(x, app, t, "in", &added->in));
	return install_one(x, app, t, "out", &added->out);
}
