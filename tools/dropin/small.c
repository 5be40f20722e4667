/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that are a few lines each. */
#include "tools/dropin/small.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/dropin/dropin.h"
#include "tools/file_add.h"
#include "tools/program.h"
#include "tools/terminal.h"
#include "tools/state.h"
#include "tools/upstream.h"
#include "lib/banned.h"

/* The command line of a tool, taken apart by its options, and the command of ours that
 * it becomes. */

static const struct dropin_option known_options[] = {
#define TOOL(name, of, args, min, max, ours, purpose)
#define OPTION(of, name, arg, how, text) { of, name, arg, how, text },
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

const struct dropin_option *dropin_options(size_t *n)
{
	*n = N(known_options);
	return known_options;
}

/* Compares a name of n bytes, in which "-" and "_" are one. */
static bool is_name(const char *typed, size_t n, const char *name)
{
	size_t i = 0;

	for (; i < n && name[i] != '\0'; i++)
		if ((typed[i] == '-' ? '_' : typed[i]) != name[i])
			return false;
	return i == n && name[i] == '\0';
}

static const struct dropin_option *option_of_tool(
    const struct dropin_tool *t, const char *typed, size_t n)
{
	for (size_t i = 0; i < N(known_options); i++)
		if (strcmp(known_options[i].of, t->of) == 0 &&
		    is_name(typed, n, known_options[i].name))
			return &known_options[i];
	return NULL;
}

static enum err fail_unknown(struct arena *a, const struct dropin_tool *t,
    const char *word, size_t n, struct fail *f)
{
	const char *best = NULL, *typed = arena_memdup(a, word + strspn(word, "-"), n);
	size_t least = (size_t)-1;

	for (size_t i = 0; i < N(known_options); i++)
		if (strcmp(known_options[i].of, t->of) == 0 &&
		    near_offer(typed, known_options[i].name, &least))
			best = known_options[i].name;
	if (best != NULL)
		return FAIL(f, E_BADREQ,
		    "unknown command line argument: %s (did you mean --%s?)", word,
		    best);
	return FAIL(f, E_BADREQ, "unknown command line argument: %s", word);
}

static enum err check_utf8(const char *text, struct fail *f)
{
	for (const char *p = text; *p != '\0';) {
		size_t n = text_utf8(p);

		if (n == 0)
			return FAIL(f, E_BADREQ,
			    "\"%.100s\" is not UTF-8: byte %zu is not part of a character",
			    text, (size_t)(p - text) + 1);
		p += n;
	}
	return OK;
}

/* Takes the option at words[0]; *used counts what it consists of. */
static enum err take_typed_option(struct arena *a, const struct dropin_tool *t,
    char **words, size_t *used, struct dropin_words *to, struct fail *f)
{
	const char *name = words[0] + strspn(words[0], "-"), *value = "";
	size_t n = strcspn(name, "=");
	const struct dropin_option *o = option_of_tool(t, name, n);

	*used = 1;
	if (o == NULL)
		return fail_unknown(a, t, words[0], n, f);
	if (o->how == NOT)
		return FAIL(
		    f, E_BADREQ, "%s is not possible here: %s", words[0], o->text);
	if (o->arg == NULL && name[n] == '=')
		return FAIL(f, E_BADREQ, "%s takes no value", words[0]);
	if (o->arg != NULL && name[n] == '=') {
		value = name + n + 1;
	} else if (o->arg != NULL) {
		if (words[1] == NULL)
			return FAIL(
			    f, E_BADREQ, "%s needs a value: %s", words[0], o->arg);
		value = words[1];
		*used = 2;
	}
	PUSH(a, to->given, to->ngiven, to->given_cap) = (struct dropin_given){ o,
		value };
	return OK;
}

enum err dropin_parse(struct arena *a, const struct dropin_tool *t, char **words,
    struct dropin_words *to, struct fail *f)
{
	bool ended = false;
	size_t used;

	*to = (struct dropin_words){ 0 };
	for (; *words != NULL; words += used) {
		used = 1;
		TRY(check_utf8(*words, f));
		if (!ended && strcmp(*words, "--") == 0)
			ended = true;
		else if (ended || (*words)[0] != '-' || (*words)[1] == '\0')
			PUSH(a, to->words, to->n, to->cap) = *words;
		else
			TRY(take_typed_option(a, t, words, &used, to, f));
		if (used == 2)
			TRY(check_utf8(words[1], f));
	}
	if (to->n < (size_t)t->min)
		return FAIL(
		    f, E_BADREQ, "an argument is missing: %s %s", t->name, t->args);
	if (t->max >= 0 && to->n > (size_t)t->max)
		return FAIL(f, E_BADREQ, "unknown command line argument: %s",
		    to->words[t->max]);
	return OK;
}

const char *dropin_value(const struct dropin_words *w, const char *name)
{
	for (size_t i = w->ngiven; i-- > 0;)
		if (strcmp(w->given[i].option->name, name) == 0)
			return w->given[i].value;
	return NULL;
}

/* Runs a command of ours on the tool's project; words ends with NULL. Sets the exit
 * code; main() has printed an error. */
static enum err dropin_locus(struct dropin *d, const char *const *words)
{
	struct arena *a = d->x->a;
	struct cmd_ctx x = { .a = a,
		.f = d->x->f,
		.commands = d->x->commands,
		.project = d->x->project };
	char **argv;
	int n = 0, argc = 0;

	while (words[n] != NULL)
		n++;
	argv = NEWN(a, char *, (size_t)n + 4);
	argv[argc++] = arena_strdup(a, "locus");
	if (x.project != NULL) {
		argv[argc++] = arena_strdup(a, "-p");
		argv[argc++] = arena_strdup(a, x.project);
	}
	for (int i = 0; i < n; i++)
		argv[argc++] = arena_strdup(a, words[i]);
	d->x->status = d->locus(&x, argc, argv);
	return OK;
}

static const char *const link_names[] = {
#define TOOL(name, of, args, min, max, ours, purpose) #name,
#define OPTION(of, name, arg, how, text)
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

/* Returns where the link leads to; NULL if it is none. */
static char *link_target(struct arena *a, const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	return n < 0 ? NULL : arena_memdup(a, to, (size_t)n);
}

bool dropin_is_link(struct arena *a, const char *path)
{
	const char *to = link_target(a, path);

	return to != NULL && strcmp(text_base_name(to), "locus") == 0;
}

/* Puts a new link over an old one at once: a tool is never missing meanwhile. */
static enum err put_link(
    struct arena *a, const char *to, const char *path, struct fail *f)
{
	const char *at = arena_printf(a, "%s.tmp-%d", path, (int)getpid());

	if (symlink(to, at) < 0)
		return FAIL_ERRNO(f, "making the link %s", at);
	if (rename(at, path) < 0) {
		FAIL_ERRNO(f, "making the link %s", path);
		unlink(at);
		return f->code;
	}
	return OK;
}

enum err dropin_links_make(
    struct arena *a, const char *bin, size_t *n, char **kept, struct fail *f)
{
	const char *self = program_self(a), *to;
	size_t made = 0;

	if (kept != NULL)
		*kept = NULL;
	TRY(fs_mkdirs(bin, 0755, f));
	for (size_t i = 0; i < N(link_names); i++) {
		const char *path = arena_printf(a, "%s/%s", bin, link_names[i]);

		to = link_target(a, path);
		if (to != NULL && strcmp(to, self) == 0)
			continue;
		if (fs_exists(path) && !dropin_is_link(a, path)) {
			if (kept != NULL)
				*kept = *kept == NULL ? arena_strdup(a, link_names[i]) :
				                        arena_printf(a, "%s %s", *kept,
							    link_names[i]);
			continue;
		}
		TRY(put_link(a, self, path, f));
		made++;
	}
	if (n != NULL)
		*n = made;
	return OK;
}

bool dropin_links_hold(struct arena *a, const char *bin)
{
	const char *self = program_self(a);
	for (size_t i = 0; i < N(link_names); i++) {
		const char *path = arena_printf(a, "%s/%s", bin, link_names[i]);
		const char *to = link_target(a, path);

		if (!fs_exists(path) ||
		    (dropin_is_link(a, path) && strcmp(to, self) != 0))
			return false;
	}
	return true;
}

/* Needs no project: the key may be on a machine without one. */
enum err dropin_sign_executable(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	char md5[MD5_HEX], *sig;
	struct key *key;

	TRY(md5_file(d->line.words[0], md5, NULL, x->f));
	TRY(key_read_private(d->line.words[1], &key, x->f));
	TRY(sign_md5(x->a, key, md5, &sig, x->f));
	key_free(key);
	fputs(sig, stdout);
	return OK;
}

enum err dropin_cancel_jobs(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	int64_t min, max;

	if (!text_i64(d->line.words[0], 1, INT64_MAX, &min) ||
	    !text_i64(d->line.words[1], 1, INT64_MAX, &max) || min > max)
		return ctx_usage(x,
		    "%s %s: two ids of workunits are needed, the smaller one first",
		    d->line.words[0], d->line.words[1]);

	const char *range = arena_printf(
	    x->a, "%lld-%lld", (long long)min, (long long)max);
	const char *const words[] = { "work", "cancel", "--id", range, "--yes", NULL };

	return dropin_locus(d, words);
}

enum err dropin_show_shmem(struct dropin *d)
{
	(void)d;
	printf(
	    "There is no feeder and no shared memory: schedulers find jobs in the database themselves. \"locus status\" counts the unsent ones.\n");
	return OK;
}

/* BOINC's tool makes the directory, too, as its callers copy a file to that path. */
enum err dropin_dir_hier_path(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	const char *name = text_base_name(d->line.words[0]);
	char *path, *dir;

	TRY(file_name_check(name, x->f));
	TRY(ctx_conf(x));
	path = download_path(x->a, x->cf, name);
	dir = arena_strdup(x->a, path);
	*strrchr(dir, '/') = '\0';
	TRY(fs_mkdirs(dir, 0755, x->f));
	printf("%s\n", path);
	return OK;
}

/* Asks one host with the next reply; the tool's message was the same. */
static enum err delete_on_host(struct dropin *d, int64_t id, const char *name)
{
	struct cmd_ctx *x = d->x;
	struct buf b = buf_new(x->a);
	struct host *h;

	TRY(ctx_db(x));
	TRY(tools_host(x, id, &h));
	buf_tag(&b, "delete_file_info", name);
	TRY(message_insert(x->db, h->id, clock_now(), "delete_file", b.p, x->f));
	printf("host %lld will be asked to delete %s with its next reply\n",
	    (long long)h->id, name);
	if (!x->cf->msg_to_host)
		fprintf(stderr,
		    "%s: the message is not sent until config.xml has <msg_to_host>1</msg_to_host>\n",
		    d->tool->name);
	return OK;
}

enum err dropin_delete_file(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	const char *name = dropin_value(&d->line, "file_name");
	const char *host = dropin_value(&d->line, "host_id");
	const char *const drain[] = { "file", "drain", name, NULL };
	int64_t id = 0;

	if (name == NULL)
		return ctx_usage(x, "--file_name NAME is required");
	TRY(file_name_check(name, x->f));
	if (host == NULL)
		return dropin_locus(d, drain);
	if (!text_i64(host, 1, INT64_MAX, &id))
		return ctx_usage(x, "--host_id %s: it must be the id of a host", host);
	return delete_on_host(d, id, name);
}

/* Becomes the daemon, which knows its options and refuses others. */
enum err dropin_db_purge(struct dropin *d)
{
	struct cmd_ctx *x = d->x;
	struct upstream u;

	TRY(ctx_conf(x));
	u = upstream_command(x->a, d->argv);
	if (u.say != NULL && strchr(u.say, ';') != NULL)
		fprintf(stderr, "%s: %s\n", d->tool->name, u.say);
	u.argv[0] = program_find(x->a, NULL, "db_purge");
	if (u.argv[0] == NULL)
		return FAIL(x->f, E_CONFIG,
		    "the program db_purge is not installed beside locus");
	setenv("LOCUS_PROJECT", conf_dir(x->a, x->cf), 1);
	execv(u.argv[0], u.argv);
	return FAIL_ERRNO(x->f, "running %s", u.argv[0]);
}

/* start, stop and status: one program that goes by its name, unless an option says
 * otherwise. */

/*
 * A crontab calls this every few minutes. What was stopped stays stopped, and systemd
 * restarts the supervisor of an installed project by itself.
 */
static enum err start_by_cron(struct dropin *d)
{
	static const char *const start[] = { "start", NULL };
	struct cmd_ctx *x = d->x;

	TRY(ctx_conf(x));
	if (conf_is_installed(x->cf) || !state_is_meant_to_run(x->a, x->cf) ||
	    state_supervised(x->a, x->cf))
		return OK;
	return dropin_locus(d, start);
}

/* Returns the verb that the last of these options gives, else the tool's name. */
static const char *verb_of(const struct dropin *d)
{
	static const struct {
		const char *name, *verb;
	} verbs[] = { { "enable", "start" }, { "e", "start" }, { "disable", "stop" },
		{ "d", "stop" }, { "status", "status" }, { "s", "status" },
		{ "cron", "cron" }, { "c", "cron" } };
	const char *verb = d->tool->name;

	for (size_t i = 0; i < d->line.ngiven; i++)
		for (size_t k = 0; k < N(verbs); k++)
			if (strcmp(d->line.given[i].option->name, verbs[k].name) == 0)
				verb = verbs[k].verb;
	return verb;
}

static enum err run_verb(struct dropin *d)
{
	const char *words[] = { verb_of(d), NULL };

	if (dropin_value(&d->line, "quiet") != NULL ||
	    dropin_value(&d->line, "q") != NULL) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
			return FAIL_ERRNO(d->x->f, "opening /dev/null");
		close(null);
	}
	return strcmp(words[0], "cron") == 0 ? start_by_cron(d) :
	                                       dropin_locus(d, words);
}

enum err dropin_start(struct dropin *d)
{
	return run_verb(d);
}

enum err dropin_stop(struct dropin *d)
{
	return run_verb(d);
}

enum err dropin_status(struct dropin *d)
{
	return run_verb(d);
}

/*
 * stage_file: moves or copies input files into the download directory. A file that is
 * staged already is never removed, whatever path leads to it.
 */

enum { FILES_MOST = 10000000 };

struct staging {
	struct dropin *d;
	bool move, gzip, verbose;
	struct progress bar;
	int64_t bytes;
};

static bool is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Puts the file there if it is not; E_BADREQ if other contents have the name. */
static enum err stage_contents(
    struct cmd_ctx *x, const char *from, const char *to, const char *md5)
{
	char *dir = arena_strdup(x->a, to), have[MD5_HEX];
	enum err e = E_RACE;

	*strrchr(dir, '/') = '\0';
	TRY(fs_mkdirs(dir, 0755, x->f));
	if (!fs_exists(to))
		e = fs_copy_new(from, to, 0644, x->f);
	if (e != E_RACE)
		return e;
	TRY(md5_file(to, have, NULL, x->f));
	return strcmp(md5, have) == 0 ?
	           OK :
	           FAIL(x->f, E_BADREQ,
		       "%s is staged already with other contents, which hosts may have; give this file another name",
		       text_base_name(to));
}

static enum err stage_one(struct staging *s, const char *from)
{
	struct cmd_ctx *x = s->d->x;
	const char *name = text_base_name(from);
	char *to = download_path(x->a, x->cf, name), md5[MD5_HEX];
	int64_t nbytes;
	bool same = is_same_file(from, to);

	TRY(file_name_check(name, x->f));
	TRY(md5_file(from, md5, &nbytes, x->f));
	TRY(stage_contents(x, from, to, md5));
	/* What create_work needs of the file is kept beside it, as BOINC does. */
	const char *text = arena_printf(x->a, "%s %lld\n", md5, (long long)nbytes);

	TRY(fs_write(arena_printf(x->a, "%s.md5", to), text, strlen(text), 0644, x->f));
	if (s->gzip)
		TRY(file_gzip(x, to));
	if (s->move && !same && unlink(from) < 0)
		return FAIL_ERRNO(x->f, "%s is staged, but removing it here", from);
	s->bytes += nbytes;
	progress_set(&s->bar, s->bytes);
	if (s->verbose)
		printf("%s\n", to);
	return OK;
}

/* All files of the directory, but not of those in it. */
static enum err stage_dir(struct staging *s, const char *dir)
{
	struct cmd_ctx *x = s->d->x;
	char **names;
	size_t n;

	TRY(fs_list(x->a, dir, FILES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, names[i]);
		struct stat st;

		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			TRY(stage_one(s, path));
	}
	return OK;
}

enum err dropin_stage_file(struct dropin *d)
{
	const char *path = d->line.words[0];
	struct staging s = { .d = d,
		.move = dropin_value(&d->line, "copy") == NULL,
		.gzip = dropin_value(&d->line, "gzip") != NULL,
		.verbose = dropin_value(&d->line, "verbose") != NULL,
		.bar = progress_begin_bytes("staging files", 0) };
	struct stat st;
	enum err e;

	TRY(ctx_conf(d->x));
	if (stat(path, &st) < 0)
		return FAIL_ERRNO(d->x->f, "looking at %s", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return FAIL(
		    d->x->f, E_BADREQ, "%s is neither a file nor a directory", path);
	e = S_ISDIR(st.st_mode) ? stage_dir(&s, path) : stage_one(&s, path);
	progress_end(&s.bar);
	return e;
}
