/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/config_key.h"

#include <string.h>
#include "lib/banned.h"

/* "daemon.NAME.cmd"; a name may have dots of its own. */
static enum err
read_item_key(
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

enum err
config_key_read(struct cmd_ctx *x, const char *name, struct config_key *k)
{
	const struct conf_opt *near;

	*k = (struct config_key){ .name = name };
	if (strncmp(name, "daemon.", 7) == 0)
		return read_item_key(x, "daemon", name + 7, k);
	if (strncmp(name, "task.", 5) == 0)
		return read_item_key(x, "task", name + 5, k);
	if (strcmp(name, "daemons") == 0 || strcmp(name, "tasks") == 0)
		return ctx_usage(x,
		    "%s is a section: give one element of it, as in %.*s.NAME.cmd; a new one is added by locus app add or in an editor",
		    name, (int)strlen(name) - 1, name);
	k->opt = conf_find(name);
	if (k->opt != NULL)
		return OK;
	near = conf_nearest(name);
	return ctx_usage(x, "there is no option %s%s%s", name,
	    near == NULL ? "; config.xml(5) has them all" : "; did you mean ",
	    near == NULL ? "" : near->name);
}

enum err
config_key_item(struct cmd_ctx *x, const struct conf *cf, const struct config_key *k,
    size_t *number)
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

static const char *
daemon_value(const struct conf_daemon *d, const char *element)
{
	if (strcmp(element, "cmd") == 0)
		return d->cmd;
	if (strcmp(element, "name") == 0)
		return d->name;
	if (strcmp(element, "output") == 0)
		return d->output;
	return strcmp(element, "disabled") != 0 ? "" : d->disabled ? "1" : "0";
}

static const char *
task_value(struct arena *a, const struct conf_task *t, const char *element)
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

const char *
config_key_value(
    struct arena *a, const struct conf *cf, const struct config_key *k, size_t number)
{
	if (k->opt != NULL)
		return conf_value(a, cf, k->opt);
	if (strcmp(k->sub->item, "daemon") == 0)
		return daemon_value(&cf->daemons[number], k->sub->name);
	return task_value(a, &cf->tasks[number], k->sub->name);
}

bool
config_key_secret(const struct config_key *k)
{
	return k->opt != NULL && conf_is_secret(k->opt);
}

const char *
config_readers(const struct config_key *k)
{
	const char *effect = k->opt != NULL ? k->opt->effect : k->sub->effect;

	if (strncmp(effect, "none", 4) == 0)
		return "nobody";
	return k->opt != NULL ? effect : "supervisor";
}

/* What else decides: an app's own property, or an option that includes this one. */
static const char *
overruled(const struct conf *cf, const struct conf_opt *o)
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

const char *
config_when(const struct conf *cf, const struct config_key *k)
{
	bool installed = cf != NULL && conf_is_installed(cf);
	const char *other = cf == NULL || k->opt == NULL ? NULL : overruled(cf, k->opt);

	if (other != NULL)
		return other;
	if (k->opt == NULL)
		return k->sub->effect[0] != '\0' ? "never" :
		       installed                 ? "after locus start, as root" :
		                                   "at once";
	switch (k->opt->taken) {
	case CONF_AT_ONCE:
		return "at once";
	case CONF_REPLACE:
		return installed ? "after locus start, as root" :
		                   "at once: processes are replaced";
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

enum err
config_path(struct cmd_ctx *x, const char *given, char **path)
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
