/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads config.xml by the option table; daemons and tasks have a few elements of their
 * own. A message names the file, the line and the element, and says what would be
 * right.
 */
#include "model/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/mirror.h"
#include "lib/banned.h"

enum { PROJECTS_MAX = 10000 };

struct installation installation_of(struct arena *a, const char *name)
{
	return (struct installation){ .name = arena_strdup(a, name),
		.account = arena_printf(a, "locus-%s", name),
		.database = arena_printf(a, "locus_%s", name),
		.config_dir = arena_printf(a, INSTALLED_CONFIG_ROOT "/%s", name),
		.data_dir = arena_printf(a, "/var/lib/locus/%s", name),
		.log_dir = arena_printf(a, "/var/log/locus/%s", name),
		.run_dir = arena_printf(a, "/run/locus/%s", name),
		.web = "www-data",
		.unit = arena_printf(a, "locus-%s", name) };
}

char *installation_find(struct arena *a, const char *name)
{
	char *dir = arena_printf(a, INSTALLED_CONFIG_ROOT "/%s", name);
	char *path = arena_printf(a, "%s/config.xml", dir);
	/* May the directory hold a config.xml that this account cannot see? */
	struct stat st;
	bool hidden = lstat(path, &st) < 0 && errno == EACCES;

	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
	    (!fs_exists(path) && !hidden))
		return NULL;
	return dir;
}

enum err installation_list(struct arena *a, char ***names, size_t *n, struct fail *f)
{
	char **all;
	size_t nall;
	enum err e = fs_list(a, INSTALLED_CONFIG_ROOT, PROJECTS_MAX, &all, &nall, f);

	*names = NULL;
	*n = 0;
	if (e == E_NOTFOUND)
		return OK;
	if (e != OK)
		return e;
	*names = NEWN(a, char *, nall + 1);
	for (size_t i = 0; i < nall; i++)
		if (installation_find(a, all[i]) != NULL)
			(*names)[(*n)++] = all[i];
	return OK;
}

/* Where the project is that a program works for. */

static enum err fail_denied(struct fail *f, const char *dir)
{
	return FAIL(f, E_DENIED,
	    "this account may not read %s/config.xml; run the program as the account that owns the project, or as root",
	    dir);
}

/* Tells a project that this account may not read from one that does not exist. */
static enum err check_readable(struct arena *a, const char *dir, struct fail *f)
{
	const char *path = arena_printf(a, "%s/config.xml", dir);

	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0 && errno == EACCES)
		return fail_denied(f, dir);
	return OK;
}

static bool has_config(struct arena *a, const char *dir)
{
	return fs_exists(arena_printf(a, "%s/config.xml", dir));
}

/* Finds the installed project if this machine has exactly one. */
static enum err find_installed(struct arena *a, char **dir, struct fail *f)
{
	const char *list = "";
	char **names;
	size_t n;

	TRY(installation_list(a, &names, &n, f));
	if (n == 1) {
		*dir = installation_find(a, names[0]);
		return check_readable(a, *dir, f);
	}
	for (size_t i = 0; i < n; i++)
		list = arena_printf(a, "%s%s%s", list, i == 0 ? "" : ", ", names[i]);
	return FAIL(f, E_CONFIG,
	    "no config.xml in this directory or those above it: it is not a project; name one with --project NAME, --project DIR or LOCUS_PROJECT%s%s",
	    n == 0 ? "" : "; this machine has ", list);
}

bool conf_is_installed(const struct conf *cf)
{
	return strcmp(cf->service_manager, "systemd") == 0;
}

char *conf_dir(struct arena *a, const struct conf *cf)
{
	const char *slash = strrchr(cf->path, '/');

	return slash == NULL ? arena_strdup(a, ".") :
	                       arena_memdup(a, cf->path, (size_t)(slash - cf->path));
}

struct installation conf_installation(struct arena *a, const struct conf *cf)
{
	const char *dir = conf_dir(a, cf);
	const char *name = strrchr(dir, '/');
	struct installation p = installation_of(a, name == NULL ? dir : name + 1);

	if (cf->web_server_account[0] != '\0')
		p.web = cf->web_server_account;
	return p;
}

/*
 * Cuts dir down to the nearest directory with a config.xml; false if there is none.
 * Directories that this account may not enter are passed over.
 */
static bool find_above(struct arena *a, char *dir)
{
	while (!has_config(a, dir)) {
		char *slash = strrchr(dir, '/');

		if (slash == NULL || slash == dir)
			return false;
		*slash = '\0';
	}
	return true;
}

enum err conf_find_project(
    struct arena *a, const char *explicit_dir, char **dir, struct fail *f)
{
	const char *from = explicit_dir;
	char at[PATH_MAX];

	if (from == NULL)
		from = getenv("LOCUS_PROJECT");
	if (from == NULL)
		from = getenv("BOINC_PROJECT_DIR");
	if (from != NULL && (*dir = installation_find(a, from)) != NULL) {
		enum err e = check_readable(a, *dir, f);

		/* Somebody else's installed project hides no directory of its name. */
		if (e != E_DENIED || !has_config(a, from))
			return e;
	}
	if (realpath(from == NULL ? "." : from, at) == NULL)
		return errno == EACCES ?
		           fail_denied(f, from == NULL ? "." : from) :
		           FAIL(f, E_CONFIG, "project directory %s does not exist",
			       from);
	*dir = arena_strdup(a, at);
	if (from == NULL)
		return find_above(a, *dir) ? check_readable(a, *dir, f) :
		                             find_installed(a, dir, f);
	TRY(check_readable(a, *dir, f));
	if (has_config(a, *dir))
		return OK;
	return FAIL(f, E_CONFIG,
	    "no config.xml in %s: it is not a project; name one with --project NAME, --project DIR or LOCUS_PROJECT",
	    from);
}

const struct field conf_opts[] = {
#define OPT(name, type, value, least, most, taken, effect, text)                       \
	{ #name, FIELD_OF(struct conf, name), NULL, text, least, most, .def = value },
#include "model/conf.def"
#undef OPT
	{ 0 },
};
const size_t conf_nopts = N(conf_opts) - 1;

const struct conf_trait *conf_trait(const struct field *o)
{
	static const struct conf_trait traits[] = {
#define OPT(name, type, def, min, max, taken, effect, help) { CONF_##taken, effect },
#include "model/conf.def"
#undef OPT
	};

	return &traits[o - conf_opts];
}

const char *const conf_guards[] = {
#define GUARD(name) #name,
#include "model/conf_guards.def"
#undef GUARD
	NULL
};

const struct conf_created conf_created[] = {
#define CREATED(name, value) { #name, value },
#include "model/conf_created.def"
#undef CREATED
};
const size_t conf_ncreated = N(conf_created);

const char *const conf_secrets[] = {
#define SECRET(name) #name,
#include "model/conf_secrets.def"
#undef SECRET
	NULL
};

const struct conf_item conf_items[] = {
#define ITEM(item, name, effect) { #item, #name, effect },
#include "model/conf_items.def"
#undef ITEM
};
const size_t conf_nitems = N(conf_items);

struct conf_reader { /* the file being read */
	struct arena *a;
	const char *path;
	struct conf *cf;
	struct conf_remark *remarks;
	size_t nremarks, cap;
	size_t daemons_cap, tasks_cap;
	bool *seen; /* by option: occurred in the file */
	struct fail *f;
};

static void conf_remark_add(struct conf_reader *p, int line, bool error, char *text)
{
	PUSH(p->a, p->remarks, p->nremarks, p->cap) = (struct conf_remark){
		.line = line, .error = error, .text = text
	};
}

/* The file cannot be used; reading goes on, so that all mistakes are said at once. */
static void conf_fatal(struct conf_reader *p, int line, char *text)
{
	conf_remark_add(p, line, true, text);
	p->remarks[p->nremarks - 1].fatal = true;
}

bool conf_is_repeated(const struct field *o)
{
	return o->type == FIELD_LIST || o->type == FIELD_PATTERNS;
}

bool conf_is_secret(const struct field *o)
{
	for (size_t i = 0; conf_secrets[i] != NULL; i++)
		if (strcmp(conf_secrets[i], o->name) == 0)
			return true;
	return false;
}

bool conf_is_guard(const struct field *o)
{
	for (size_t i = 0; conf_guards[i] != NULL; i++)
		if (strcmp(conf_guards[i], o->name) == 0)
			return true;
	return false;
}

void conf_mask_secrets(struct arena *a, char *config)
{
	for (size_t i = 0; conf_secrets[i] != NULL; i++) {
		const char *open = arena_printf(a, "<%s>", conf_secrets[i]);
		const char *close = arena_printf(a, "</%s>", conf_secrets[i]);
		char *from = config, *to;

		while ((from = strstr(from, open)) != NULL &&
		       (to = strstr(from, close)) != NULL)
			for (from += strlen(open); from < to; from++)
				*from = '*';
	}
}

bool conf_has_effect(const struct field *o)
{
	return strncmp(conf_trait(o)->effect, "none", 4) != 0;
}

const struct conf_item *conf_item_find(
    const char *item, const char *name, const char **near)
{
	const char *best = NULL;
	size_t least = (size_t)-1;

	for (size_t i = 0; i < conf_nitems; i++) {
		const struct conf_item *c = &conf_items[i];

		if (strcmp(c->item, item) != 0)
			continue;
		if (strcmp(c->name, name) == 0)
			return c;
		if (near_offer(name, c->name, &least))
			best = c->name;
	}
	if (near != NULL)
		*near = best;
	return NULL;
}

/* Options whose value is one of a few words. */
static const struct {
	const char *name, *words[3];
} word_opts[] = { { "locality_store", { "dir", "db", NULL } },
	{ "service_manager", { "locus", "systemd", NULL } } };

/* Returns what is wrong with a value that must be one of a few words, or NULL. */
static const char *word_check(struct arena *a, const char *name, const char *v)
{
	for (size_t i = 0; i < N(word_opts); i++) {
		const char *all = NULL;

		if (strcmp(word_opts[i].name, name) != 0)
			continue;
		for (const char *const *w = word_opts[i].words; *w != NULL; w++) {
			if (strcmp(*w, v) == 0)
				return NULL;
			all = all == NULL ? *w : arena_printf(a, "%s or %s", all, *w);
		}
		return arena_printf(a, "it must be %s", all);
	}
	return NULL;
}

/* Returns what is wrong with an element of a list, or NULL. */
static const char *list_item_check(
    struct arena *a, const struct field *o, const char *v)
{
	struct fail f = { 0 };
	struct mirror m;
	int64_t id;

	if (o->off == offsetof(struct conf, dont_search_host_for_user) &&
	    !text_i64(v, 1, INT64_MAX, &id))
		return "it must be the id of an account; repeat the element for several accounts";
	if (o->off == offsetof(struct conf, download_mirror) &&
	    mirror_parse(a, v, &m, &f) != OK)
		return arena_strdup(a, f.detail);
	return NULL;
}

/*
 * Is it an option for which no other value may stand in: a text, a port, or what
 * restricts access?
 */
static bool is_strict(const struct field *o)
{
	if (conf_is_guard(o))
		return true;
	if (o->type == FIELD_FLAG)
		return false;
	return (o->type != FIELD_I64 && o->type != FIELD_F64) ||
	       strstr(o->name, "port") != NULL;
}

static const char *set_conf_number(
    struct arena *a, struct conf *cf, const struct field *o, const char *v)
{
	char *end;
	double x = strtod(v, &end);

	if (end == v || *end != '\0' || !isfinite(x))
		return strchr(v, ',') == NULL ?
		           "it must be a number" :
		           "it must be a number, with a decimal point, not a comma";
	if (o->type == FIELD_FLAG)
		field_put_whole(o, cf, x != 0);
	else if (!field_within(o, x))
		return arena_printf(a, "it must be %g to %.0f", o->min, o->max);
	else if (!field_put_number(o, cf, x))
		return "it must be a whole number";
	return NULL;
}

/* Stores one value; returns what is wrong with it, or NULL. */
static const char *conf_opt_set(
    struct arena *a, struct conf *cf, const struct field *o, const char *v)
{
	char *text = arena_strdup(a, v);
	double n = (double)strlen(v);
	const char *takes;

	switch (o->type) {
	case FIELD_TEXT:
		if (n < o->min || (o->max > 0 && n > o->max))
			return arena_printf(
			    a, "its length must be %g to %g", o->min, o->max);
		field_set(a, o, cf, text);
		return word_check(a, o->name, v);
	case FIELD_LIST:
		field_set(a, o, cf, text);
		return list_item_check(a, o, v);
	case FIELD_PATTERNS:
		takes = field_set(a, o, cf, text);
		return takes == NULL ? NULL : arena_printf(a, "as %s", takes);
	case FIELD_FLAG:
		if (v[0] == '\0') /* <name/> is true */
			return field_set(a, o, cf, text);
		/* fallthrough */
	default:
		return set_conf_number(a, cf, o, v);
	}
}

/* A value that is invalid, or an element without its end tag. */
static void option_is_wrong(struct conf_reader *p, const struct xml_node *n,
    const struct field *o, const char *wrong)
{
	struct arena *a = p->a;
	char *text = n->unclosed ? arena_printf(a, "<%s> has no end tag", o->name) :
	                           arena_printf(a, "<%s>: \"%.60s\" is not valid: %s",
				       o->name, n->text, wrong);
	double x;

	if (is_strict(o)) {
		conf_fatal(p, n->line, text);
	} else if (!n->unclosed && text_f64(n->text, &x) && x > o->max) {
		conf_opt_set(a, p->cf, o, arena_printf(a, "%.15g", o->max));
		conf_remark_add(p, n->line, false,
		    arena_printf(a,
			"<%s>: %.60s is more than there can be: %.15g counts", o->name,
			n->text, o->max));
		p->remarks[p->nremarks - 1].clamped = true;
	} else {
		conf_remark_add(p, n->line, true,
		    arena_printf(a, "%s; it is left out: %s counts", text,
			field_get(a, o, p->cf)));
	}
}

static void read_option(struct conf_reader *p, struct xml_node *n)
{
	const char *name = n->name, *wrong = NULL;
	const char *near;
	const struct field *o = field_find(conf_opts, name, false, &near);
	size_t i;

	if (o == NULL) {
		conf_remark_add(p, n->line, true,
		    near == NULL ?
			arena_printf(p->a, "unknown option <%s>", name) :
			arena_printf(p->a, "unknown option <%s>, did you mean <%s>?",
			    name, near));
		return;
	}
	i = (size_t)(o - conf_opts);
	if (p->seen[i] && !conf_is_repeated(o))
		conf_remark_add(p, n->line, false,
		    arena_printf(p->a, "<%s> is repeated; the last one counts", name));
	p->seen[i] = true;
	if (!conf_has_effect(o))
		conf_remark_add(p, n->line, false,
		    arena_printf(
			p->a, "<%s> has no effect (%s)", name, conf_trait(o)->effect));
	if (!n->unclosed)
		wrong = conf_opt_set(p->a, p->cf, o, n->text);
	if ((wrong != NULL || n->unclosed) && conf_has_effect(o))
		option_is_wrong(p, n, o, wrong);
}

/* Returns the text of a child element; def if it is absent. */
static char *child_text(
    struct arena *a, struct xml_node *parent, const char *name, const char *def)
{
	for (struct xml_node *n = parent->child; n != NULL; n = n->next)
		if (strcmp(n->name, name) == 0)
			return n->text;
	return def == NULL ? NULL : arena_strdup(a, def);
}

/* Remarks on elements of a daemon or task that are unknown or have no effect. */
static void check_items(struct conf_reader *p, struct xml_node *item)
{
	for (struct xml_node *n = item->child; n != NULL; n = n->next) {
		const char *near;
		const struct conf_item *c = conf_item_find(item->name, n->name, &near);
		char *text = NULL;

		if (c == NULL)
			text = arena_printf(p->a, "unknown element <%s> in <%s>%s%s%s",
			    n->name, item->name, near == NULL ? "" : ", did you mean <",
			    near == NULL ? "" : near, near == NULL ? "" : ">?");
		else if (c->effect[0] != '\0')
			text = arena_printf(p->a, "<%s> in <%s> has no effect (%s)",
			    n->name, item->name, c->effect);
		if (text != NULL)
			conf_remark_add(p, n->line, c == NULL, text);
		if (n->unclosed)
			conf_fatal(p, n->line,
			    arena_printf(p->a, "<%s> in <%s> has no end tag", n->name,
				item->name));
	}
}

static bool child_flag(struct arena *a, struct xml_node *parent, const char *name)
{
	char *v = child_text(a, parent, name, "0");

	return strcmp(v, "0") != 0;
}

/*
 * "bin/work_generator --app x" gives "work_generator", or "work_generator-2" if one of
 * the n names is that already.
 */
static char *default_name(
    struct arena *a, const char *cmd, char *const *taken, size_t n)
{
	size_t len = strcspn(cmd, " \t"), same = 1;
	char *word = arena_memdup(a, cmd, len), *slash = strrchr(word, '/');
	const char *base = slash == NULL ? word : slash + 1;

	for (size_t i = 0; i < n; i++) {
		size_t m = strlen(base);

		if (strncmp(taken[i], base, m) == 0 &&
		    (taken[i][m] == '\0' || taken[i][m] == '-'))
			same++;
	}
	return same == 1 ? arena_strdup(a, base) :
	                   arena_printf(a, "%s-%zu", base, same);
}

static void read_daemon(struct conf_reader *p, struct xml_node *n)
{
	struct conf_daemon d = { .cmd = child_text(p->a, n, "cmd", NULL),
		.name = child_text(p->a, n, "name", NULL),
		.disabled = child_flag(p->a, n, "disabled") };

	check_items(p, n);
	if (d.cmd == NULL || d.cmd[0] == '\0') {
		conf_fatal(p, n->line, arena_strdup(p->a, "<daemon> has no <cmd>"));
		return;
	}
	if (d.name == NULL) {
		char **taken = NEWN(p->a, char *, p->cf->ndaemons + 1);

		for (size_t i = 0; i < p->cf->ndaemons; i++)
			taken[i] = p->cf->daemons[i].name;
		d.name = default_name(p->a, d.cmd, taken, p->cf->ndaemons);
	}
	for (size_t i = 0; i < p->cf->ndaemons; i++)
		if (strcmp(p->cf->daemons[i].name, d.name) == 0) {
			conf_fatal(p, n->line,
			    arena_printf(p->a,
				"two daemons have the name \"%s\"; give one of them another <name>",
				d.name));
			return;
		}
	d.output = child_text(p->a, n, "output", arena_printf(p->a, "%s.log", d.name));
	PUSH(p->a, p->cf->daemons, p->cf->ndaemons, p->daemons_cap) = d;
}

/*
 * Seconds of "5 min" or "2 h"; a bare number counts as minutes (scheduling.md 5.4). -1
 * if the text is not a period.
 */
static int64_t parse_period_s(const char *text)
{
	static const struct {
		const char *unit;
		int64_t s;
	} units[] = { { "month", -1 }, { "s", 1 }, { "m", 60 }, { "h", 3600 },
		{ "d", 86400 }, { "w", 604800 } };
	char *end;
	double n = strtod(text, &end);

	end += strspn(end, " ");
	if (end == text || !(n > 0 && n < 1e9))
		return -1;
	if (*end == '\0')
		return (int64_t)(n * 60);
	for (size_t i = 0; i < N(units); i++)
		if (strncmp(end, units[i].unit, strlen(units[i].unit)) == 0)
			return units[i].s < 0 ? -1 : (int64_t)(n * (double)units[i].s);
	return -1;
}

static void read_task(struct conf_reader *p, struct xml_node *n)
{
	struct conf_task t = { .cmd = child_text(p->a, n, "cmd", NULL),
		.output = child_text(p->a, n, "output", "tasks.log"),
		.period_s = parse_period_s(child_text(p->a, n, "period", "")),
		.disabled = child_flag(p->a, n, "disabled") };

	check_items(p, n);
	if (t.cmd == NULL || t.cmd[0] == '\0' || t.period_s <= 0) {
		conf_fatal(p, n->line,
		    arena_strdup(p->a,
			"a <task> needs a <cmd> and a <period> such as \"5 min\", \"2 h\" or \"1 d\""));
		return;
	}
	t.name = child_text(p->a, n, "name", NULL);
	if (t.name == NULL) {
		char **taken = NEWN(p->a, char *, p->cf->ntasks + 1);

		for (size_t i = 0; i < p->cf->ntasks; i++)
			taken[i] = p->cf->tasks[i].name;
		t.name = default_name(p->a, t.cmd, taken, p->cf->ntasks);
	}
	for (size_t i = 0; i < p->cf->ntasks; i++)
		if (strcmp(p->cf->tasks[i].name, t.name) == 0) {
			conf_fatal(p, n->line,
			    arena_printf(p->a,
				"two tasks have the name \"%s\"; give one of them another <name>",
				t.name));
			return;
		}
	PUSH(p->a, p->cf->tasks, p->cf->ntasks, p->tasks_cap) = t;
}

static void read_section(struct conf_reader *p, struct xml_node *section)
{
	static const struct {
		const char *section, *element;
		void (*read)(struct conf_reader *, struct xml_node *);
	} kinds[] = { { "config", NULL, read_option },
		{ "daemons", "daemon", read_daemon }, { "tasks", "task", read_task } };
	const char *name = section->name;

	if (section->unclosed)
		conf_remark_add(p, section->line, true,
		    arena_printf(p->a, "<%s> has no end tag", name));
	for (size_t i = 0; i < N(kinds); i++) {
		if (strcmp(name, kinds[i].section) != 0)
			continue;
		for (struct xml_node *n = section->child; n != NULL; n = n->next) {
			if (kinds[i].element == NULL ||
			    strcmp(n->name, kinds[i].element) == 0)
				kinds[i].read(p, n);
			else
				conf_remark_add(p, n->line, true,
				    arena_printf(p->a, "unknown element <%s> in <%s>",
					n->name, name));
		}
		return;
	}
	conf_remark_add(p, section->line, true,
	    arena_printf(p->a,
		"unknown section <%s>; the sections are <config>, <daemons> and <tasks>",
		name));
}

/* Paths become lines of units, of Apache's configuration and of commands. */
static enum err check_path_line(struct conf_reader *p, const char *path)
{
	for (const char *c = path; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return FAIL(p->f, E_CONFIG,
			    "%s: the path \"%.200s\" has a control character", p->path,
			    path);
	return OK;
}

/* Resolves relative directories against the directory of config.xml. */
static enum err resolve_dirs(struct conf_reader *p)
{
	struct conf *cf = p->cf;
	char **dirs[] = { &cf->key_dir, &cf->download_dir, &cf->upload_dir,
		&cf->log_dir, &cf->run_dir, &cf->debug_req_reply_dir, &cf->db_socket,
		&cf->db_ssl_ca, &cf->db_ssl_cert, &cf->db_ssl_key };
	const char *slash = strrchr(p->path, '/'), *base;
	char here[PATH_MAX];

	if (realpath(".", here) == NULL)
		return FAIL_ERRNO(p->f, "cannot determine the working directory");
	base = p->path[0] == '/' ?
	           arena_memdup(p->a, p->path, (size_t)(slash - p->path)) :
	       slash == NULL ?
	           arena_strdup(p->a, here) :
	           arena_printf(p->a, "%s/%.*s", here, (int)(slash - p->path), p->path);
	if (strcmp(cf->project_dir, ".") == 0)
		cf->project_dir = arena_strdup(p->a, base);
	else if (cf->project_dir[0] != '/')
		cf->project_dir = arena_printf(p->a, "%s/%s", base, cf->project_dir);
	for (size_t i = 0; i < N(dirs); i++) {
		if ((*dirs[i])[0] != '/' && (*dirs[i])[0] != '\0')
			*dirs[i] = arena_printf(
			    p->a, "%s/%s", cf->project_dir, *dirs[i]);
		TRY(check_path_line(p, *dirs[i]));
	}
	TRY(check_path_line(p, cf->project_dir));
	TRY(check_path_line(p, cf->certificate_file));
	return check_path_line(p, cf->certificate_key_file);
}

/*
 * Clients compare the URL with their own, which is canonical, and reset the project if
 * they differ (protocol.md 2.1).
 */
static void resolve_url(struct conf_reader *p)
{
	struct conf *cf = p->cf;
	char *url;

	if (cf->master_url[0] == '\0')
		return;
	url = url_canonical(p->a, cf->master_url);
	if (url == NULL) {
		conf_fatal(p, 0,
		    arena_printf(p->a,
			"<master_url>: \"%.200s\" is not an http or https URL",
			cf->master_url));
		return;
	}
	if (strcmp(url, cf->master_url) != 0)
		conf_remark_add(
		    p, 1, false, arena_printf(p->a, "<master_url> is read as %s", url));
	cf->master_url = url;
}

/* The first fatal remark, and how many errors there are besides. */
static enum err judge_remarks(struct conf_reader *p)
{
	const struct conf_remark *first = NULL;
	const char *at, *more = "";
	size_t errors = 0;

	for (size_t i = p->nremarks; i-- > 0;) {
		errors += p->remarks[i].error;
		if (p->remarks[i].fatal)
			first = &p->remarks[i];
	}
	if (first == NULL)
		return OK;
	at = first->line == 0 ? p->path :
	                        arena_printf(p->a, "%s:%d", p->path, first->line);
	if (errors > 1)
		more = arena_printf(
		    p->a, " (and %zu more, see locus config check)", errors - 1);
	return FAIL(p->f, E_CONFIG, "%s: %s%s", at, first->text, more);
}

static enum err read_document(
    struct conf_reader *p, struct xml_node *root, const char *cause)
{
	if (strcmp(root->name, "boinc") != 0 && cause != NULL)
		return FAIL(p->f, E_CONFIG, "%s", cause);
	if (strcmp(root->name, "boinc") != 0)
		return FAIL(
		    p->f, E_CONFIG, "%s: the root element must be <boinc>", p->path);
	if (root->unclosed) /* perhaps somebody is still writing it */
		conf_fatal(p, root->line, arena_strdup(p->a, "<boinc> has no end tag"));
	for (struct xml_node *n = root->child; n != NULL; n = n->next)
		read_section(p, n);
	resolve_url(p);
	TRY(judge_remarks(p));
	return resolve_dirs(p);
}

enum err conf_parse(struct arena *a, const char *path, const char *text, size_t n,
    struct conf **cf, struct conf_remark **remarks, size_t *nremarks, struct fail *f)
{
	static const char *const containers[] = { "boinc", "config", "daemons",
		"daemon", "tasks", "task", NULL };
	struct conf_reader p = { .a = a,
		.path = path,
		.cf = NEW(a, struct conf),
		.seen = NEWN(a, bool, conf_nopts),
		.f = f };
	struct xml_mistakes bad;
	struct xml_node *root;
	enum err e;

	for (size_t i = 0; i < conf_nopts; i++)
		if (!conf_is_repeated(&conf_opts[i]))
			conf_opt_set(a, p.cf, &conf_opts[i], conf_opts[i].def);
	p.cf->path = arena_strdup(a, path);
	md5_hex(text, n, p.cf->hash);
	e = xml_tree_lenient(
	    a, path, (struct xml_source){ text, n, containers }, &root, &bad, f);
	for (size_t i = 0; e == OK && i < bad.n; i++)
		conf_remark_add(&p, bad.v[i].line, true, bad.v[i].text);
	if (e == OK)
		e = read_document(&p, root, bad.cause);
	*cf = p.cf;
	if (remarks != NULL) {
		*remarks = p.remarks;
		*nremarks = p.nremarks;
	}
	return e;
}

enum err conf_load(struct arena *a, const char *path, struct conf **cf,
    struct conf_remark **remarks, size_t *nremarks, struct fail *f)
{
	char *text;
	size_t n;
	enum err e = fs_read(a, path, CONF_FILE_MAX, &text, &n, f);

	if (e == E_NOTFOUND)
		return FAIL(f, E_CONFIG,
		    "%s does not exist; create a project with \"locus create\" or name its directory with --project",
		    path);
	if (e != OK)
		return e;
	return conf_parse(a, path, text, n, cf, remarks, nremarks, f);
}

bool conf_needs_restart(const struct conf *cf, const struct field *o)
{
	enum conf_taken taken = conf_trait(o)->taken;

	return taken == CONF_RESTART || (taken == CONF_PRIVATE && cf->private_servers);
}
