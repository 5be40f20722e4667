/* SPDX-License-Identifier: Apache-2.0 */
/* The elements are changed as text; the result is parsed before it replaces the file.
 */
#include "tools/conf_edit.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/conf_text.h"
#include "lib/banned.h"

enum { CONF_MAX = 4 << 20, LOCK_WAIT_MS = 10000 };

/*
 * The file itself is locked, though it is replaced: another account may open and lock
 * its directory, and would keep everybody from changing it.
 */
enum err conf_edit_begin(struct cmd_ctx *x, const char *path, struct conf_edit *d)
{
	enum err e;

	*d = (struct conf_edit){ .path = path };
	e = fs_lock_content(path, LOCK_WAIT_MS, &d->lock, x->f);
	if (e == E_RACE)
		return FAIL(x->f, E_RETRY,
		    "%s is being changed by another command; try again", path);
	TRY(e);
	if (fs_read(x->a, path, CONF_MAX, &d->before, NULL, x->f) != OK) {
		close(d->lock);
		return x->f->code;
	}
	d->text = d->before;
	return OK;
}

static enum err edit_write(struct cmd_ctx *x, void *edit)
{
	const struct conf_edit *d = edit;

	return fs_replace(d->path, d->text, strlen(d->text), x->f);
}

enum err conf_edit_end(struct cmd_ctx *x, struct conf_edit *d, bool write)
{
	enum err e = OK;

	if (write && strcmp(d->text, d->before) != 0)
		e = ctx_as_root(x, edit_write, d);
	close(d->lock);
	return e;
}

static const struct conf_daemon *daemon_named(const struct conf *cf, const char *name)
{
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (strcmp(cf->daemons[i].name, name) == 0)
			return &cf->daemons[i];
	return NULL;
}

static enum err append_daemons(
    struct cmd_ctx *x, struct conf_edit *d, const struct new_daemon *p, size_t n)
{
	struct buf b = buf_new(x->a);
	struct conf *cf;

	for (size_t i = 0; i < n; i++) {
		buf_puts(&b, "\t\t<daemon>\n\t\t\t<name>");
		buf_xml_plain(&b, p[i].name);
		buf_puts(&b, "</name>\n\t\t\t<cmd>");
		buf_xml_plain(&b, p[i].cmd);
		buf_puts(&b, "</cmd>\n\t\t</daemon>\n");
	}
	TRY(conf_text_append(x->a, d->text, "daemons", b.p, &d->text, x->f));
	TRY(conf_parse(x->a, d->path, d->text, strlen(d->text), &cf, NULL, NULL, x->f));
	for (size_t i = 0; i < n; i++)
		if (daemon_named(cf, p[i].name) == NULL)
			return FAIL(x->f, E_CONFIG,
			    "cannot find the end of <daemons> in %s; add the daemon %s by hand: <cmd>%s</cmd>",
			    d->path, p[i].name, p[i].cmd);
	return OK;
}

enum err conf_check_new_daemons(struct cmd_ctx *x, const struct new_daemon *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (daemon_named(x->cf, p[i].name) != NULL)
			return FAIL(x->f, E_CONFIG, "%s already has a daemon \"%s\"",
			    x->cf->path, p[i].name);
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(p[i].name, p[k].name) == 0)
				return FAIL(x->f, E_CONFIG,
				    "two of the daemons would be called \"%s\"",
				    p[i].name);
	return OK;
}

enum err conf_add_daemons(struct cmd_ctx *x, const struct new_daemon *p, size_t n)
{
	struct conf_edit d;
	enum err e;

	if (n == 0)
		return OK;
	TRY(conf_check_new_daemons(x, p, n));
	TRY(conf_edit_begin(x, x->cf->path, &d));
	e = append_daemons(x, &d, p, n);
	if (e != OK) {
		conf_edit_end(x, &d, false);
		return e;
	}
	return conf_edit_end(x, &d, true);
}

static enum err remove_daemon(
    struct cmd_ctx *x, struct conf_edit *d, const struct new_daemon *p, bool *gone)
{
	struct conf *cf;

	TRY(conf_parse(x->a, d->path, d->text, strlen(d->text), &cf, NULL, NULL, x->f));
	*gone = false;
	for (size_t i = 0; i < cf->ndaemons && !*gone; i++) {
		const struct conf_daemon *have = &cf->daemons[i];

		/* Only as conf_add_daemons() wrote it. */
		if (strcmp(have->name, p->name) != 0 ||
		    strcmp(have->cmd, p->cmd) != 0 || have->disabled ||
		    strcmp(have->output, arena_printf(x->a, "%s.log", p->name)) != 0)
			continue;
		TRY(conf_text_remove_item(x->a, d->text, "daemon", i, &d->text, x->f));
		*gone = true;
	}
	return OK;
}

enum err conf_remove_daemons(
    struct cmd_ctx *x, const struct new_daemon *p, size_t n, bool write, bool *gone)
{
	struct conf_edit d;
	struct conf *cf;
	enum err e = OK;

	if (n == 0)
		return OK;
	TRY(conf_edit_begin(x, x->cf->path, &d));
	for (size_t i = 0; i < n && e == OK; i++)
		e = remove_daemon(x, &d, &p[i], &gone[i]);
	if (e == OK)
		e = conf_parse(
		    x->a, d.path, d.text, strlen(d.text), &cf, NULL, NULL, x->f);
	if (e != OK) {
		conf_edit_end(x, &d, false);
		return e;
	}
	return conf_edit_end(x, &d, write);
}

/* --- options --- */

enum err conf_edit_set(struct cmd_ctx *x, struct conf_edit *d, const char *name,
    const char *const *values, size_t n)
{
	enum err e = conf_text_set(x->a, d->text, name, values, n, &d->text, x->f);
	struct conf_text_value *now;
	size_t count, i = 0;

	if (e == E_BADREQ)
		return FAIL(x->f, E_CONFIG, "%s, %.300s", d->path,
		    arena_strdup(x->a, x->f->detail));
	TRY(e);
	/* Does the parsed text have these values, and only these, for the option? */
	TRY(conf_text_values(x->a, d->text, name, &now, &count, x->f));
	while (i < n && i < count && strcmp(now[i].text, values[i]) == 0)
		i++;
	if (i == n && i == count)
		return OK;
	return FAIL(x->f, E_CONFIG,
	    "<%s> of %s cannot hold \"%.60s\" as it is (blanks at its ends, bytes that are not UTF-8?); edit the file by hand",
	    name, d->path, i < n ? values[i] : "");
}

enum err conf_set_options(struct cmd_ctx *x, const struct conf_change *o, size_t n)
{
	struct conf_edit d;
	struct conf *cf;
	enum err e = OK;

	TRY(conf_edit_begin(x, x->cf->path, &d));
	for (size_t i = 0; i < n && e == OK; i++)
		e = conf_edit_set(x, &d, o[i].old, &o[i].new, 1);
	if (e == OK)
		e = conf_parse(
		    x->a, d.path, d.text, strlen(d.text), &cf, NULL, NULL, x->f);
	if (e != OK) {
		conf_edit_end(x, &d, false);
		return e;
	}
	return conf_edit_end(x, &d, true);
}

/* --- texts --- */

static const struct conf_change *change_at(
    const char *p, const struct conf_change *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(t[i].old);

		if (strncmp(p, t[i].old, len) != 0)
			continue;
		/* Does the name end there, too? */
		if (p[len] == '\0' ||
		    (!isalnum((unsigned char)p[len]) && strchr("_-.", p[len]) == NULL))
			return &t[i];
	}
	return NULL;
}

enum err conf_replace_texts(struct arena *a, const char *path,
    const struct conf_change *t, size_t n, bool *changed, struct fail *f)
{
	struct buf b = buf_new(a);
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
	return *changed ? fs_replace(path, b.p, b.n, f) : OK;
}

/* "daemon.NAME.cmd"; a name may have dots of its own. */
static enum err read_item_key(
    struct cmd_ctx *x, const char *kind, const char *rest, struct config_key *k)
{
	const char *dot = strrchr(rest, '.'), *near;

	if (dot == NULL || dot == rest || dot[1] == '\0')
		return ctx_usage(x,
		    "%s: elements of a %s are named %s.NAME.ELEMENT, such as %s.%s.cmd; locus config diff lists them",
		    k->name, kind, kind, kind,
		    strcmp(kind, "daemon") == 0 ? "transitioner" : "backup");
	k->of = arena_memdup(x->a, rest, (size_t)(dot - rest));
	k->sub = conf_item_find(kind, dot + 1, &near);
	if (k->sub != NULL)
		return OK;
	return ctx_usage(x, "a %s has no element %s%s%s", kind, dot + 1,
	    near == NULL ? "" : "; did you mean ", near == NULL ? "" : near);
}

enum err config_key_read(struct cmd_ctx *x, const char *name, struct config_key *k)
{
	const char *near;

	*k = (struct config_key){ .name = name };
	if (strncmp(name, "daemon.", 7) == 0)
		return read_item_key(x, "daemon", name + 7, k);
	if (strncmp(name, "task.", 5) == 0)
		return read_item_key(x, "task", name + 5, k);
	if (strcmp(name, "daemons") == 0 || strcmp(name, "tasks") == 0)
		return ctx_usage(x,
		    "%s is a section: give one element of it, as in %.*s.NAME.cmd; a new one is added by locus app add or in an editor",
		    name, (int)strlen(name) - 1, name);
	k->opt = field_find(conf_opts, name, false, &near);
	if (k->opt != NULL)
		return OK;
	return ctx_usage(x, "there is no option %s%s%s", name,
	    near == NULL ? "; config.xml(5) has them all" : "; did you mean ",
	    near == NULL ? "" : near);
}

enum err config_key_item(struct cmd_ctx *x, const struct conf *cf,
    const struct config_key *k, size_t *number)
{
	bool daemon = strcmp(k->sub->item, "daemon") == 0;
	size_t n = daemon ? cf->ndaemons : cf->ntasks;
	const char *all = NULL;

	for (*number = 0; *number < n; (*number)++) {
		const char *name = daemon ? cf->daemons[*number].name :
		                            cf->tasks[*number].name;

		if (strcmp(name, k->of) == 0)
			return OK;
		all = all == NULL ? name : arena_printf(x->a, "%s, %s", all, name);
	}
	return ctx_not_found(x, "there is no %s \"%s\"; there is %.200s", k->sub->item,
	    k->of, all == NULL ? "none" : all);
}

static const char *daemon_value(const struct conf_daemon *d, const char *element)
{
	if (strcmp(element, "cmd") == 0)
		return d->cmd;
	if (strcmp(element, "name") == 0)
		return d->name;
	if (strcmp(element, "output") == 0)
		return d->output;
	return strcmp(element, "disabled") != 0 ? "" : d->disabled ? "1" : "0";
}

static const char *task_value(
    struct arena *a, const struct conf_task *t, const char *element)
{
	if (strcmp(element, "cmd") == 0)
		return t->cmd;
	if (strcmp(element, "name") == 0)
		return t->name;
	if (strcmp(element, "output") == 0)
		return t->output;
	if (strcmp(element, "period") == 0)
		return arena_printf(a, "%lld s", (long long)t->period_s);
	return strcmp(element, "disabled") != 0 ? "" : t->disabled ? "1" : "0";
}

const char *config_key_value(
    struct arena *a, const struct conf *cf, const struct config_key *k, size_t number)
{
	if (k->opt != NULL)
		return field_get(a, k->opt, cf);
	if (strcmp(k->sub->item, "daemon") == 0)
		return daemon_value(&cf->daemons[number], k->sub->name);
	return task_value(a, &cf->tasks[number], k->sub->name);
}

bool config_key_secret(const struct config_key *k)
{
	return k->opt != NULL && conf_is_secret(k->opt);
}

const char *config_readers(const struct config_key *k)
{
	const char *effect = k->opt != NULL ? conf_trait(k->opt)->effect :
	                                      k->sub->effect;

	if (strncmp(effect, "none", 4) == 0)
		return "nobody";
	return k->opt != NULL ? effect : "supervisor";
}

/* What else decides: an app's own property, or an option that includes this one. */
static const char *overruled(const struct conf *cf, const struct field *o)
{
	if (strcmp(o->name, "locality_scheduling") == 0 && !cf->locality_scheduling)
		return "at once, but not for apps with locality of their own: locus app set APP --locality 0 ends it for one";
	if (strcmp(o->name, "one_result_per_host_per_wu") == 0 &&
	    cf->one_result_per_user_per_wu)
		return "never: one_result_per_user_per_wu includes it";
	if (strncmp(o->name, "certificate_", strlen("certificate_")) == 0)
		return conf_is_installed(cf) ?
		           "after locus create NAME --url URL, as root, which writes Apache's site" :
		           "never: it is for the site of an installed project";
	return NULL;
}

const char *config_when(const struct conf *cf, const struct config_key *k)
{
	const char *other = cf == NULL || k->opt == NULL ? NULL : overruled(cf, k->opt);

	if (other != NULL)
		return other;
	if (k->opt == NULL)
		return k->sub->effect[0] != '\0' ? "never" : "at once";
	switch (conf_trait(k->opt)->taken) {
	case CONF_AT_ONCE:
		return "at once";
	case CONF_REPLACE:
		return "at once: processes are replaced";
	case CONF_PRIVATE:
		return cf != NULL && !cf->private_servers ? "at once" :
		                                            "after locus restart";
	case CONF_RESTART:
		return "after locus restart";
	case CONF_NEVER:
		break;
	}
	return "never";
}

enum err config_path(struct cmd_ctx *x, const char *given, char **path)
{
	char *dir;

	if (given != NULL) {
		*path = arena_strdup(x->a, given);
		return OK;
	}
	TRY(conf_find_project(x->a, x->project, &dir, x->f));
	*path = arena_printf(x->a, "%s/config.xml", dir);
	return OK;
}
