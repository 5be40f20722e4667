/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses changes of config.xml that its own rules allow and the project would not
 * survive. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "model/owner.h"
#include "tools/config_key.h"
#include "tools/dir_cure.h"
#include "tools/running.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

enum { NAMES_MOST = 100000 };

struct judged {
	struct cmd_ctx *x;
	const char *path; /* of config.xml */
	struct conf *old;
	const struct conf *new;
};

/*
 * Would the project be another one, with another database or URL? While it runs, its
 * programs would refuse to go on; in a stopped one the admin says which case it is.
 */
static enum err
judge_identity(const struct judged *j)
{
	struct cmd_ctx *x = j->x;
	struct fail f = { 0 };

	if (identity_check(x->a, j->old, &f) != OK ||
	    identity_check(x->a, j->new, &f) == OK)
		return OK;
	x->cf = j->old;
	if (!running_any(x)) {
		fprintf(stderr, "locus: %.400s\n", f.detail);
		return OK;
	}
	return FAIL(x->f, E_CONFIG,
	    "%s was not changed, because no program would act on it: %.250s; first run: %s",
	    j->path, f.detail, locus_command(x->a, j->old, "stop"));
}

/* Would private servers answer at another port than that of the URL? */
static enum err
judge_port(const struct judged *j)
{
	int64_t port = loopback_port(j->old->master_url);
	struct arena *a = j->x->a;
	const char *url;

	if (port == 0 || j->old->private_port != port || j->new->private_port == port ||
	    loopback_port(j->new->master_url) != port)
		return OK;
	url = strchr(j->old->master_url + strlen("http://"), '/');
	return FAIL(j->x->f, E_CONFIG,
	    "%s was not changed: %s, where clients look for the project, has port %lld; run: %s && %s && %s",
	    j->path, j->old->master_url, (long long)port,
	    locus_command(a, j->old, "stop"),
	    locus_command(a, j->old,
		arena_printf(a, "relocate --moved --url http://127.0.0.1:%lld%s",
		    (long long)j->new->private_port, url == NULL ? "" : url)),
	    locus_command(a, j->old, "start"));
}

/* Would root, or anybody, find no way into the project any more? */
static enum err
judge_owner(const struct judged *j)
{
	struct fail why = { 0 };

	if (owner_keeps(j->x->a, j->old, j->new, &why) == OK)
		return OK;
	return FAIL(
	    j->x->f, E_CONFIG, "%s was not changed: %.400s", j->path, why.detail);
}

static enum err
has_files(struct arena *a, const char *dir, bool *yes, struct fail *f)
{
	char **names, **below;
	size_t n = 0, nbelow;
	struct stat st;
	enum err e = fs_list(a, dir, NAMES_MOST, &names, &n, f);

	for (size_t i = 0; e == OK && !*yes && i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);

		*yes = true;
		if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			break;
		nbelow = 0;
		e = fs_list(a, path, 1, &below, &nbelow, f);
		*yes = nbelow > 0;
		if (e == E_NOTFOUND) /* it went meanwhile */
			e = OK;
	}
	return e == E_NOTFOUND ? OK : e;
}

/* Would the project look for its files where they are not? */
static enum err
judge_dir(const struct judged *j, const char *name, const char *old, const char *new)
{
	struct cmd_ctx *x = j->x;
	struct arena *a = x->a;
	bool left = false, there = false;

	if (strcmp(old, new) == 0)
		return OK;
	TRY(has_files(a, old, &left, x->f));
	TRY(has_files(a, new, &there, x->f));
	if (!left || there)
		return OK;
	if (conf_is_installed(j->old))
		return FAIL(x->f, E_CONFIG,
		    "%s was not changed: the files in %s would stay there; move them first, while the project is stopped",
		    j->path, old);
	return FAIL(x->f, E_CONFIG,
	    "%s was not changed: the files in %s would stay there; run: %s && %s && %s && %s && %s",
	    j->path, old, locus_command(a, j->old, "stop"),
	    owner_command(a, &x->owner,
		arena_printf(a, "mv -T %s %s", text_shell_word(a, old),
		    text_shell_word(a, new))),
	    locus_command(a, j->old,
		arena_printf(a, "config set %s %s", name, text_shell_word(a, new))),
	    locus_command(a, j->old, "upgrade --no-hint"),
	    locus_command(a, j->old, "start"));
}

static enum err
judge_dirs(const struct judged *j)
{
	TRY(judge_dir(j, "key_dir", j->old->key_dir, j->new->key_dir));
	TRY(judge_dir(j, "download_dir", j->old->download_dir, j->new->download_dir));
	return judge_dir(j, "upload_dir", j->old->upload_dir, j->new->upload_dir);
}

static enum err
judge_fanout(const struct judged *j)
{
	const char *const dirs[] = { j->old->download_dir, j->old->upload_dir };

	for (size_t i = 0; i < N(dirs); i++) {
		bool files = false;

		if (j->old->uldl_dir_fanout != j->new->uldl_dir_fanout)
			TRY(has_files(j->x->a, dirs[i], &files, j->x->f));
		if (files)
			return FAIL(j->x->f, E_CONFIG,
			    "%s was not changed: uldl_dir_fanout says where each file in %s is, and can change only while there are none",
			    j->path, dirs[i]);
	}
	return OK;
}

enum err
config_judge(
    struct cmd_ctx *x, const char *path, struct conf *old, const struct conf *new)
{
	static enum err (*const judges[])(const struct judged *) = { judge_owner,
		judge_port, judge_dirs, judge_fanout, judge_identity };
	const struct judged j = { x, path, old, new };

	for (size_t i = 0; i < N(judges); i++)
		TRY(judges[i](&j));
	return OK;
}
