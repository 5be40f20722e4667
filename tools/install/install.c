/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the steps of locus create NAME --url URL. */
#include "tools/install/install.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "tools/install/rights.h"
#include "lib/banned.h"

enum { ACCOUNT_NAME_MAX = 32 /* useradd takes no more */ };

enum { UPGRADE = 1, JOIN = 2 }; /* when, in steps.def */

static const struct install_step steps[] = {
#define STEP(name, words, when)                                                        \
	{ words, when, name##_text, name##_holds, name##_make, name##_undo },
#include "tools/install/steps.def"
#undef STEP
};

const struct install_step *install_steps(size_t *n)
{
	*n = N(steps);
	return steps;
}

/* --- what is asked for --- */

enum err install_url(struct install *in, const char *url)
{
	const char *host = strstr(url, "://");
	const char *path = host == NULL ? NULL : strchr(host + 3, '/');
	const char *colon;

	if (path == NULL ||
	    strcmp(path, arena_printf(in->x->a, "/%s/", in->p.name)) != 0)
		return FAIL(in->x->f, E_CONFIG,
		    "the URL %s must be http://HOST/%s/ or https://HOST/%s/", url,
		    in->p.name, in->p.name);
	in->https = strncmp(url, "https:", 6) == 0;
	in->port = in->https ? 443 : 80;
	in->host = arena_memdup(in->x->a, host + 3, (size_t)(path - host - 3));
	colon = strchr(in->host, ':');
	if (colon != NULL) {
		in->port = (int)strtol(colon + 1, NULL, 10);
		in->host = arena_memdup(in->x->a, in->host, (size_t)(colon - in->host));
	}
	return create_path_check(in->host, in->x->f);
}

static enum err check_certificate(struct install *in)
{
	const struct create_opts *o = in->c->o;
	struct cert cert;

	if ((o->certificate == NULL) != (o->certificate_key == NULL))
		return ctx_usage(
		    in->x, "--certificate and --certificate-key belong together");
	if (o->certificate == NULL)
		return OK;
	if (!in->https)
		return ctx_usage(
		    in->x, "--certificate needs a --url that begins with https://");
	if (o->certificate[0] != '/' || o->certificate_key[0] != '/')
		return ctx_usage(in->x,
		    "--certificate and --certificate-key must be absolute paths: Apache reads them at each start");
	TRY(create_path_check(o->certificate, in->x->f));
	TRY(create_path_check(o->certificate_key, in->x->f));
	TRY(cert_pair_read(o->certificate, o->certificate_key, &cert, in->x->f));
	if (cert.not_after <= clock_now())
		return FAIL(in->x->f, E_CONFIG, "the certificate %s has expired",
		    o->certificate);
	return OK;
}

/* Reads the configuration that is there; it must be of the same project. */
static enum err read_existing(struct install *in)
{
	struct cmd_ctx *x = in->x;
	const struct create *c = in->c;
	const char *url = arena_printf(x->a, "%s/%s/", c->base_url, c->name);

	TRY(conf_load(x->a, in->config_path, &x->cf, NULL, NULL, x->f));
	if (!conf_is_installed(x->cf))
		return FAIL(x->f, E_CONFIG,
		    "%s does not say <service_manager>systemd</service_manager>: locus create did not make it",
		    in->config_path);
	if (strcmp(x->cf->master_url, url) != 0)
		return FAIL(x->f, E_CONFIG,
		    "the project %s exists and has the URL %s, not %s; choose another name, or let the project move there (locus -p %s relocate --moved --url %s), or remove it first (locus destroy %s)",
		    c->name, x->cf->master_url, url, c->name, url, c->name);
	if (c->o->set.n > 0)
		ctx_progress(
		    x, "note", "--set is for a new project; edit %s", in->config_path);
	return OK;
}

static enum err install_read(struct install *in)
{
	struct cmd_ctx *x = in->x;
	struct create *c = in->c;
	const struct create_opts *o = c->o;
	bool remote = o->db_host != NULL;

	if (o->url == NULL)
		return ctx_usage(x,
		    "--url URL is required: the URL at which clients reach the web server (or use --here DIR for a project with private servers)");
	if (!remote && (o->db_name != NULL || o->db_user != NULL ||
			   o->password_file != NULL || o->db_port != 0))
		return ctx_usage(x,
		    "--db-name, --db-user, --db-port and --password-file are for a database on another machine: give its --db-host");
	if (remote && o->db_socket != NULL)
		return ctx_usage(x, "--db-socket and --db-host exclude each other");
	TRY(create_base_url(x, o->url, c->name, &c->base_url));
	c->installed = &in->p;
	c->owner = in->p.account;
	c->dir = in->p.config_dir;
	c->db_name = o->db_name != NULL ? o->db_name : in->p.database;
	c->db_user = o->db_user != NULL ? o->db_user : in->p.account;
	if (strlen(in->p.account) > ACCOUNT_NAME_MAX)
		return ctx_usage(in->x,
		    "the name \"%s\" is too long for an installed project: its account %s may have %d characters",
		    in->p.name, in->p.account, ACCOUNT_NAME_MAX);
	TRY(install_url(in, arena_printf(x->a, "%s/%s/", c->base_url, c->name)));
	TRY(check_certificate(in));
	if (o->code_sign_public != NULL)
		TRY(fs_read(
		    x->a, o->code_sign_public, KEY_FILE_MAX, &in->key, NULL, x->f));
	in->had_config = fs_exists(in->config_path);
	return in->had_config ? read_existing(in) :
	                        create_config_text(x, c, &in->config, x->f);
}

/* --- running them --- */

static enum err install_step_run(struct install *in, const struct install_step *s)
{
	bool holds = false;

	TRY(s->holds(in, &holds));
	if (in->c->o->dry_run || holds) {
		ctx_progress(in->x, holds ? "holds" : "would do", "%s: %s", s->name,
		    s->text(in));
		return OK;
	}
	TRY(s->make(in));
	ctx_progress(in->x, "done", "%s: %s", s->name, s->text(in));
	return OK;
}

/* Tells what rights_check() found, as a thing to do. */
static void tell_wrong(void *arg, const char *path, const char *wrong, const char *cure)
{
	if (wrong != NULL)
		install_to_do(arg, "%s %s: %s", path, wrong, cure);
}

enum err install_run(struct cmd_ctx *x, struct create *c)
{
	struct install in = { .x = x, .c = c, .p = installation_of(x->a, c->name) };
	enum err e = OK;

	in.config_path = arena_printf(x->a, "%s/config.xml", in.p.config_dir);
	TRY(install_read(&in));
	if (!privilege_is_root() && !c->o->dry_run)
		return FAIL(x->f, E_DENIED,
		    "only root can install a project; with --here DIR a project needs no root, and --dry-run shows the plan");
	for (size_t i = 0; i < N(steps) && e == OK; i++) {
		e = install_step_run(&in, &steps[i]);
		if (e != OK)
			ctx_progress(x, "failed",
			    "%s; correct it and run the command again", steps[i].name);
	}
	ctx_close(x);
	if (e == OK) {
		/* Whatever made it so, files that others may touch are not left unsaid.
		 */
		const struct rights_listener l = { tell_wrong, &in };

		e = in.c->o->dry_run ? OK :
		                       rights_check(in.x->a, in.x->cf, &l, in.x->f);
	}
	if (e != OK)
		return e;
	if (in.to_do != NULL)
		printf("\nLeft to you:\n%s", in.to_do);
	if (!c->o->dry_run)
		printf("\nMaster URL: %s\nNext:       locus -p %s status\n",
		    x->cf->master_url, c->name);
	return OK;
}

/* --- upgrade, and further machines --- */

/* The pages are files of the account. */
static enum err upgrade_pages(struct install *in)
{
	struct site_file *files;
	size_t n;

	TRY(create_site_files(in->x, &files, &n, in->x->f));
	return site_files_upgrade(in->x, files, n, in->c->o->dry_run, in->x->f);
}

/* Runs the steps of that occasion for the project whose configuration was read. */
static enum err steps_for(struct cmd_ctx *x, int when, bool dry_run)
{
	const struct installation p = conf_installation(x->a, x->cf);
	const struct create_opts o = { .url = x->cf->master_url, .dry_run = dry_run };
	struct create c = { .name = p.name, .o = &o, .db_passwd = "" };
	struct install in = { .x = x, .c = &c, .p = p };

	in.config_path = arena_printf(x->a, "%s/config.xml", p.config_dir);
	TRY(install_read(&in));
	if (when == UPGRADE)
		TRY(install_as_account(&in, upgrade_pages));
	for (size_t i = 0; i < N(steps); i++)
		if ((steps[i].when & when) != 0)
			TRY(install_step_run(&in, &steps[i]));
	ctx_close(x);
	if (in.to_do != NULL)
		printf("\nLeft to you:\n%s", in.to_do);
	return OK;
}

enum err install_upgrade(struct cmd_ctx *x, bool dry_run)
{
	return steps_for(x, UPGRADE, dry_run);
}

enum err install_join(struct cmd_ctx *x, bool dry_run)
{
	return steps_for(x, JOIN, dry_run);
}
