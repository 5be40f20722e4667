/* SPDX-License-Identifier: Apache-2.0 */
/* The directories of rights.def, and the files in them. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/trigger_rows.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "proto/plan_class.h"
#include "tools/conf_edit.h"
#include "tools/dropin/small.h"
#include "tools/install/install.h"
#include "tools/install/rights.h"
#include "lib/banned.h"

/* Directories that all projects share. */
static const char *const shared_dirs[] = { "/etc/locus", "/var/lib/locus",
	"/var/log/locus", "/run/locus" };

char *install_dirs_text(struct install *in)
{
	return arena_printf(in->x->a, "%s, %s, %s, %s", in->p.config_dir,
	    in->p.data_dir, in->p.log_dir, in->p.run_dir);
}

enum err install_dirs_holds(struct install *in, bool *yes)
{
	size_t n;
	const struct right *r = rights_of(in->x->a, &in->p, &n);

	*yes = true;
	for (size_t i = 0; i < n && *yes; i++)
		*yes = r[i].kind != RIGHT_DIR ||
		       right_wrong(in->x->a, &in->p, &r[i]) == NULL;
	return OK;
}

/* Makes the directories below the project's own, as its account. */
static enum err make_inner(struct install *in)
{
	size_t n;
	const struct right *r = rights_of(in->x->a, &in->p, &n);

	for (size_t i = 0; i < n; i++) {
		if (r[i].kind != RIGHT_DIR || !right_is_inner(&in->p, &r[i]))
			continue;
		if (mkdir(r[i].path, r[i].mode) < 0 && errno != EEXIST)
			return FAIL_ERRNO(in->x->f, "making %s", r[i].path);
		TRY(right_set(in->x->a, &in->p, &r[i], in->x->f));
	}
	return OK;
}

enum err install_dirs_make(struct install *in)
{
	size_t n;
	const struct right *r = rights_of(in->x->a, &in->p, &n);

	for (size_t i = 0; i < N(shared_dirs); i++)
		if (!fs_exists(shared_dirs[i]))
			TRY(fs_make_own(shared_dirs[i], 0755, in->x->f));
	for (size_t i = 0; i < n; i++) {
		if (r[i].kind != RIGHT_DIR || right_is_inner(&in->p, &r[i]))
			continue;
		/* The mark shows that the directory is ours; in an existing project,
		 * root's config.xml does. */
		if (!in->had_config || !fs_exists(r[i].path))
			TRY(fs_make_own(r[i].path, 0700, in->x->f));
		TRY(right_set(in->x->a, &in->p, &r[i], in->x->f));
	}
	return install_as_account(in, make_inner);
}

/* Removes a directory of all projects that create has made, if it is empty now. */
static enum err remove_shared(struct install *in, const char *dir)
{
	char **names;
	size_t n;
	enum err e = fs_list(in->x->a, dir, 2, &names, &n, in->x->f);

	if (e == E_NOTFOUND)
		return OK;
	TRY(e);
	if (n != 1 || strcmp(names[0], FS_MARK) != 0 || !fs_is_own(dir))
		return OK;
	return fs_rmtree(dir, in->x->f);
}

enum err install_dirs_undo(struct install *in)
{
	/* The configuration last: a run that fails before can be repeated. */
	const char *const dirs[] = { in->p.run_dir, in->p.log_dir, in->p.data_dir,
		in->p.config_dir };

	for (size_t i = 0; i < N(dirs); i++) {
		/* The account may have removed the mark from its own directory;
		 * config.xml of root names it, too. */
		if (fs_exists(dirs[i]) && !fs_is_own(dirs[i]) && in->had_config)
			TRY(fs_mark_own(dirs[i], in->x->f));
		TRY(fs_rmtree(dirs[i], in->x->f));
	}
	for (size_t i = 0; i < N(shared_dirs); i++)
		TRY(remove_shared(in, shared_dirs[i]));
	return OK;
}

/* --- config.xml --- */

char *install_config_text(struct install *in)
{
	return in->config_path;
}

/* Is the certificate that is asked for, if any, the one of config.xml? */
static bool has_certificate(const struct install *in)
{
	const struct create_opts *o = in->c->o;

	return o->certificate == NULL ||
	       (strcmp(in->x->cf->certificate_file, o->certificate) == 0 &&
		   strcmp(in->x->cf->certificate_key_file, o->certificate_key) == 0);
}

/* Finds the row of rights.def for config.xml. */
static const struct right *config_right(struct install *in)
{
	size_t n;
	const struct right *r = rights_of(in->x->a, &in->p, &n);

	while (strcmp(r->path, in->config_path) != 0)
		r++;
	return r;
}

enum err install_config_holds(struct install *in, bool *yes)
{
	*yes = in->config == NULL && has_certificate(in) &&
	       right_wrong(in->x->a, &in->p, config_right(in)) == NULL;
	return OK;
}

enum err install_config_make(struct install *in)
{
	const struct create_opts *o = in->c->o;
	const struct conf_change change[] = { { "certificate_file", o->certificate },
		{ "certificate_key_file", o->certificate_key } };
	struct cmd_ctx *x = in->x;

	if (in->config != NULL)
		TRY(fs_write(
		    in->config_path, in->config, strlen(in->config), 0600, x->f));
	else if (!has_certificate(in)) {
		TRY(conf_set_options(x, change, N(change)));
		TRY(conf_load(x->a, in->config_path, &x->cf, NULL, NULL, x->f));
	}
	return right_set(x->a, &in->p, config_right(in), x->f);
}

enum err install_config_undo(struct install *in)
{
	(void)in; /* goes with its directory */
	return OK;
}

/* --- files of the account --- */

char *install_files_text(struct install *in)
{
	return arena_printf(in->x->a,
	    "sample plan classes, home page, links with the names of BOINC's tools and trigger directories in %s",
	    in->p.data_dir);
}

enum err install_files_holds(struct install *in, bool *yes)
{
	static const char *const files[] = { PLAN_CLASS_FILE, "html/home.html",
		"locality_scheduling/need_work" };

	*yes = true;
	for (size_t i = 0; i < N(files); i++)
		*yes = *yes && fs_exists(project_path(in->x->a, in->x->cf, files[i]));
	*yes = *yes &&
	       dropin_links_hold(in->x->a, project_path(in->x->a, in->x->cf, "bin"));
	return OK;
}

static enum err write_project_files(struct install *in)
{
	struct cmd_ctx *x = in->x;

	if (!fs_exists(project_path(x->a, x->cf, PLAN_CLASS_FILE)))
		TRY(create_plan_classes(x));
	TRY(create_pages(x, x->f));
	TRY(create_links(x));
	return trigger_dirs_make(x->cf, x->f);
}

enum err install_files_make(struct install *in)
{
	return install_as_account(in, write_project_files);
}

enum err install_files_undo(struct install *in)
{
	(void)in; /* they go with their directory */
	return OK;
}

/* --- keys --- */

static char *key_file(struct install *in, const char *name)
{
	return arena_printf(in->x->a, "%s/%s", in->x->cf->key_dir, name);
}

char *install_keys_text(struct install *in)
{
	return arena_printf(in->x->a, "%s/upload_{private,public}%s",
	    in->x->cf->key_dir,
	    in->c->o->code_sign_here ? ", code_sign_{private,public}" :
	    in->key != NULL          ? ", code_sign_public" :
				       "");
}

/* Sets *same if the project's public code signing key is the given one. */
static bool has_given_key(struct install *in)
{
	char *had;

	return fs_read(in->x->a, key_file(in, "code_sign_public"), KEY_FILE_MAX, &had,
		   NULL, NULL) == OK &&
	       text_same_words(had, in->key);
}

enum err install_keys_holds(struct install *in, bool *yes)
{
	bool public = fs_exists(key_file(in, "code_sign_public"));

	if (in->key != NULL && public && !has_given_key(in))
		return FAIL(in->x->f, E_CONFIG,
		    "the project has another code signing key, by which clients check programs; \"locus key rotate code-sign\" replaces it in a way that they accept");
	*yes = fs_exists(key_file(in, "upload_private")) &&
	       fs_exists(key_file(in, "upload_public")) &&
	       (public || (in->key == NULL && !in->c->o->code_sign_here));
	if (!public && in->key == NULL && !in->c->o->code_sign_here)
		install_to_do(in,
		    "make the code signing keys on a machine without a network: locus key make DIR, and give this server the public one: locus create %s --url %s --code-sign-public FILE (or --code-sign-here)",
		    in->p.name, in->x->cf->master_url);
	return OK;
}

static enum err write_project_keys(struct install *in)
{
	struct cmd_ctx *x = in->x;
	const char *dir = x->cf->key_dir;

	if (!fs_exists(key_file(in, "upload_private")) ||
	    !fs_exists(key_file(in, "upload_public")))
		TRY(create_key_pair(x, dir, "upload", 0600, 0644));
	if (fs_exists(key_file(in, "code_sign_public")))
		return OK;
	if (in->key != NULL)
		return fs_write(key_file(in, "code_sign_public"), in->key,
		    strlen(in->key), 0644, x->f);
	return in->c->o->code_sign_here ?
	           create_key_pair(x, dir, "code_sign", 0600, 0644) :
	           OK;
}

enum err install_keys_make(struct install *in)
{
	struct key *key;

	if (in->key != NULL) {
		if (key_parse_public(in->key, &key, in->x->f) != OK)
			return FAIL(in->x->f, E_CONFIG,
			    "%s is not a public code signing key: %.200s",
			    in->c->o->code_sign_public, in->x->f->detail);
		key_free(key);
	}
	return install_as_account(in, write_project_keys);
}

enum err install_keys_undo(struct install *in)
{
	(void)in; /* they go with their directory */
	return OK;
}

/* --- identity --- */

char *install_identity_text(struct install *in)
{
	return arena_printf(in->x->a, "%s/" IDENTITY_FILE, in->p.config_dir);
}

enum err install_identity_holds(struct install *in, bool *yes)
{
	struct identity noted, now;
	enum standing s;

	*yes = false;
	if (!fs_exists(in->config_path))
		return OK;
	TRY(identity_look(in->x->a, in->x->cf, &noted, &now, &s, in->x->f));
	*yes = s == STANDING_SAME;
	return s == STANDING_NEW ? OK : identity_check(in->x->a, in->x->cf, in->x->f);
}

enum err install_identity_make(struct install *in)
{
	struct identity id;

	TRY(identity_now(in->x->a, in->x->cf, &id, in->x->f));
	return identity_write(in->x->a, &id, in->x->f);
}

enum err install_identity_undo(struct install *in)
{
	(void)in; /* goes with its directory */
	return OK;
}
