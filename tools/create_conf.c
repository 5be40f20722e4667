/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the first config.xml: the options that differ from the defaults, and the
 * daemons that every project has. */
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "proto/plan_class.h"
#include "tools/create.h"
#include "tools/dropin/small.h"
#include "tools/program.h"
#include "tools/service.h"
#include "lib/banned.h"

/* Keys and sample files of a new project. */

enum err create_key_pair(struct cmd_ctx *x, const char *dir, const char *kind,
    unsigned private_mode, unsigned public_mode)
{
	char *private, *public;

	TRY(key_make(x->a, &private, &public, x->f));
	TRY(fs_write(arena_printf(x->a, "%s/%s_private", dir, kind), private,
	    strlen(private), private_mode, x->f));
	return fs_write(arena_printf(x->a, "%s/%s_public", dir, kind), public,
	    strlen(public), public_mode, x->f);
}

enum err create_plan_classes(struct cmd_ctx *x)
{
	const char *from = program_data(x->a, PLAN_CLASS_FILE);
	const char *to = project_path(x->a, x->cf, PLAN_CLASS_FILE);

	if (from == NULL)
		return FAIL(x->f, E_CONFIG, "%s is not installed with this program",
		    PLAN_CLASS_FILE);
	TRY(fs_copy(from, to, 0644, x->f));
	ctx_progress(x, "created", "%s (sample plan classes; edit it as needed)", to);
	return OK;
}

enum err create_links(struct cmd_ctx *x)
{
	const char *bin = project_path(x->a, x->cf, "bin");
	size_t n;
	char *kept;

	TRY(dropin_links_make(x->a, bin, &n, &kept, x->f));
	if (n > 0)
		ctx_progress(x, "created",
		    "%zu links in %s with the names of BOINC's tools", n, bin);
	if (kept != NULL)
		ctx_progress(x, "kept", "other programs in %s: %s", bin, kept);
	return OK;
}

static const char *const first_daemons[] = { "transitioner", "working_set_manager",
	"file_deleter", "db_purge" };

static const struct {
	const char *name, *command, *period;
} first_tasks[] = { { "upload_expire", "locus upload expire", "1 day" } };

struct pair {
	const char *name, *value;
};

enum err create_base_url(
    struct cmd_ctx *x, const char *given, const char *name, char **base)
{
	const char *end = arena_printf(x->a, "/%s/", name);
	const char *url = url_canonical(x->a, given);
	size_t n = url == NULL ? 0 : strlen(url), nend = strlen(end);

	if (n <= nend || strcmp(url + n - nend, end) != 0)
		return ctx_usage(x,
		    "--url %s: it must be a URL that ends in the project's name: https://HOST%s",
		    given, end);
	*base = arena_memdup(x->a, url, n - nend);
	return OK;
}

char *create_db_socket(struct arena *a, const char *run_dir)
{
	char token[SHORT_DIR_DIGITS + 1];

	if (strlen(run_dir) <= RUN_DIR_MOST)
		return arena_strdup(a, "run/mysql.sock");
	random_hex(token, SHORT_DIR_DIGITS);
	return arena_printf(a, SHORT_DIR "%s/mysql.sock", token);
}

static void put_option(struct buf *b, const char *name, const char *value)
{
	buf_printf(b, "\t\t<%s>", name);
	buf_xml_plain(b, value);
	buf_printf(b, "</%s>\n", name);
}

static void put_conf_pairs(struct buf *b, const struct pair *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i].value != NULL && p[i].value[0] != '\0')
			put_option(b, p[i].name, p[i].value);
}

static void put_urls(struct cmd_ctx *x, const struct create *c, struct buf *b)
{
	const char *base = c->base_url, *name = c->name;
	const struct pair places[] = {
		{ "master_url", arena_printf(x->a, "%s/%s/", base, name) },
		{ "long_name", c->o->long_name != NULL ? c->o->long_name : name },
		{ "scheduler_url", arena_printf(x->a, "%s/%s_cgi/cgi", base, name) },
		{ "upload_url",
		    arena_printf(x->a, "%s/%s_cgi/file_upload_handler", base, name) },
		{ "download_url", arena_printf(x->a, "%s/%s/download", base, name) },
		{ "project_dir", c->installed == NULL ? NULL : c->installed->data_dir },
		{ "log_dir", c->installed == NULL ? NULL : c->installed->log_dir },
		{ "run_dir", c->installed == NULL ? NULL : c->installed->run_dir },
		{ "run_user", c->owner },
		{ "service_manager", c->installed == NULL ? NULL : "systemd" },
		{ "certificate_file", c->o->certificate },
		{ "certificate_key_file", c->o->certificate_key },
	};

	put_conf_pairs(b, places, N(places));
}

static void put_database(struct cmd_ctx *x, const struct create *c, struct buf *b)
{
	const struct create_opts *o = c->o;
	const struct pair private[] = {
		{ "private_servers", "1" },
		{ "private_port", arena_printf(x->a, "%d", c->port) },
		/* No password: on a unix socket the server learns the account from the
		 * kernel. */
		{ "db_name", "locus" },
		{ "db_user", c->db_user },
		{ "db_socket",
		    create_db_socket(x->a, arena_printf(x->a, "%s/run", c->dir)) },
	};
	const struct pair shared[] = {
		{ "db_name", c->db_name },
		{ "db_user", c->db_user },
		{ "db_passwd", c->db_passwd },
		{ "db_host", o->db_host },
		{ "db_port", o->db_port > 0 ?
				 arena_printf(x->a, "%lld", (long long)o->db_port) :
				 NULL },
		{ "db_socket", o->db_socket },
	};

	if (c->private)
		put_conf_pairs(b, private, N(private));
	else
		put_conf_pairs(b, shared, N(shared));
}

/* True if --set gives this option; its value in conf_created.def is then omitted. */
static bool is_set_by_admin(const struct create *c, const char *name)
{
	for (size_t i = 0; i < c->o->set.n; i++) {
		size_t n = strcspn(c->o->set.v[i], "=");

		if (strlen(name) == n && strncmp(c->o->set.v[i], name, n) == 0)
			return true;
	}
	return false;
}

static enum err put_options(struct cmd_ctx *x, const struct create *c, struct buf *b)
{
	for (size_t i = 0; i < conf_ncreated; i++)
		if (!is_set_by_admin(c, conf_created[i].name))
			put_option(b, conf_created[i].name, conf_created[i].value);
	for (size_t i = 0; i < c->o->set.n; i++) {
		const char *set = c->o->set.v[i];
		size_t n = strcspn(set, "=");

		if (n == 0 || set[n] == '\0')
			return ctx_usage(x, "--set %s: must be OPTION=VALUE", set);
		put_option(b, arena_memdup(x->a, set, n), set + n + 1);
	}
	return OK;
}

/* Rejects unknown options and bad values: they can only come from --set. */
static enum err check_config_xml(
    struct cmd_ctx *x, const char *path, const struct buf *b, struct fail *f)
{
	struct conf_remark *r;
	size_t n;

	TRY(conf_parse(x->a, path, b->p, b->n, &x->cf, &r, &n, f));
	for (size_t i = 0; i < n; i++)
		if (r[i].error && strncmp(r[i].text, "unknown", strlen("unknown")) == 0)
			return ctx_usage(x, "--set: %s", r[i].text);
		else if (r[i].error || r[i].clamped)
			return FAIL(f, E_CONFIG, "--set: %s", r[i].text);
	return OK;
}

enum err create_config_text(
    struct cmd_ctx *x, const struct create *c, const char **text, struct fail *f)
{
	const char *path = arena_printf(x->a, "%s/config.xml", c->dir);
	struct buf b = buf_new(x->a);
	enum err e;

	buf_puts(&b,
	    "<!-- Options not listed here have their defaults: see config.xml(5). -->\n"
	    "<boinc>\n\t<config>\n");
	put_urls(x, c, &b);
	put_database(x, c, &b);
	e = put_options(x, c, &b);
	buf_puts(&b, "\t</config>\n\t<daemons>\n");
	for (size_t i = 0; i < N(first_daemons); i++)
		buf_printf(&b, "\t\t<daemon>\n\t\t\t<cmd>%s</cmd>\n\t\t</daemon>\n",
		    first_daemons[i]);
	buf_puts(&b, "\t</daemons>\n\t<tasks>\n");
	for (size_t i = 0; i < N(first_tasks); i++)
		buf_printf(&b,
		    "\t\t<task>\n\t\t\t<cmd>%s</cmd>\n\t\t\t<name>%s</name>\n\t\t\t<period>%s</period>\n\t\t</task>\n",
		    first_tasks[i].command, first_tasks[i].name, first_tasks[i].period);
	buf_puts(&b, "\t</tasks>\n</boinc>\n");
	if (e == OK)
		e = check_config_xml(x, path, &b, f);
	*text = b.p;
	return e;
}

enum err create_config_xml(struct cmd_ctx *x, const struct create *c, struct fail *f)
{
	const char *text;

	TRY(create_config_text(x, c, &text, f));
	TRY(fs_write(x->cf->path, text, strlen(text), 0640, f));
	ctx_progress(x, "created", "%s", x->cf->path);
	return OK;
}
