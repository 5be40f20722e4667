/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's Apache, as Debian arranges it. The directives of a project are a file
 * of its own below /etc/locus, which each virtual host of its host includes: so several
 * projects share a host, and an admin's own virtual host may include it, too.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/install/install.h"
#include "tools/program.h"
#include "tools/unit.h"
#include "lib/banned.h"

#define APACHE_DIR     "/etc/apache2"
#define APACHE_ENABLED APACHE_DIR "/mods-enabled"
#define LOCUS_CONF     APACHE_DIR "/conf-available/locus.conf"
#define LOCUS_CONF_ON  APACHE_DIR "/conf-enabled/locus.conf"
#define APACHE_PID     "/run/apache2/apache2.pid"
#define APACHE_LOGS    "/var/log/apache2"
/* Begins the line of locus.conf that lists the modules which create has enabled. */
#define ENABLED_BY_US "# Modules that were off before:"

enum { FILE_MOST = 1 << 20, MODULES_MOST = 1000, PASSES = 5 };

static const char *const modules[] = { "alias", "authz_core", "env", "headers",
	"reqtimeout", "asis", "proxy", "proxy_fcgi" };

char *install_site_path(struct arena *a, const struct installation *p)
{
	return arena_printf(a, APACHE_DIR "/sites-available/%s.conf", p->unit);
}

char *install_rules_path(
    struct arena *a, const struct installation *p, const char *host)
{
	return arena_printf(a, "%s/apache-%s.conf", p->config_dir, host);
}

static bool has_tls(const struct install *in)
{
	return in->x->cf->certificate_file[0] != '\0';
}

/* --- Apache's processes --- */

static pid_t apache_pid(struct install *in)
{
	char *text;
	pid_t pid;

	if (fs_read(in->x->a, APACHE_PID, FILE_MOST, &text, NULL, NULL) != OK)
		return 0;
	pid = (pid_t)strtol(text, NULL, 10);
	return pid > 1 && kill(pid, 0) == 0 ? pid : 0;
}

/* Lets Apache take its files up. */
static enum err reload_apache(struct install *in)
{
	const char *unit[] = { "systemctl",
		in->restart_web ? "restart" : "reload-or-restart", "apache2.service",
		NULL };
	const char *active[] = { "systemctl", "is-active", "--quiet", "apache2.service",
		NULL };
	const char *graceful[] = { "apache2ctl", "graceful", NULL };

	if (systemd_runs()) {
		TRY(install_program(in, unit, "systemd"));
		return install_program(in, active, "systemd");
	}
	if (apache_pid(in) == 0) {
		install_to_do(in, "start Apache: apache2ctl start");
		return OK;
	}
	if (in->restart_web)
		install_to_do(in,
		    "restart Apache, which takes up new limits of threads only then: apache2ctl restart");
	return install_program(in, graceful, "apache2");
}

static enum err check_apache(struct install *in)
{
	const char *argv[] = { "apache2ctl", "configtest", NULL };

	return install_program(in, argv, "apache2");
}

/* --- modules --- */

static bool module_is_on(struct install *in, const char *name)
{
	return fs_exists(arena_printf(in->x->a, APACHE_ENABLED "/%s.load", name));
}

/* Returns the rest of the line that lists the modules which create has enabled. */
static char *enabled_by_us(struct install *in)
{
	char *text, *at;

	if (fs_read(in->x->a, LOCUS_CONF, FILE_MOST, &text, NULL, NULL) != OK)
		return arena_strdup(in->x->a, "");
	at = strstr(text, ENABLED_BY_US);
	if (at == NULL)
		return arena_strdup(in->x->a, "");
	at += strlen(ENABLED_BY_US);
	return arena_memdup(in->x->a, at, strcspn(at, "\n"));
}

/* Fills the template of locus.conf; enabled: " proxy proxy_fcgi". */
static enum err locus_conf_text(struct install *in, const char *enabled, char **text)
{
	const struct word word = { "@ENABLED@",
		arena_printf(in->x->a, ENABLED_BY_US "%s", enabled) };

	TRY(create_web_text(in->x, in->c, "apache-locus.conf.in", text, in->x->f));
	*text = words_fill(in->x->a, *text, &word, 1);
	return OK;
}

bool install_renews_conf(const char *text)
{
	return strstr(text, ENABLED_BY_US) != NULL;
}

static bool is_our_conf(struct install *in)
{
	char *text;

	return fs_read(in->x->a, LOCUS_CONF, FILE_MOST, &text, NULL, NULL) != OK ||
	       install_renews_conf(text);
}

char *install_modules_text(struct install *in)
{
	char *list = arena_strdup(in->x->a, "");

	for (size_t i = 0; i < N(modules); i++)
		if (!module_is_on(in, modules[i]))
			list = arena_printf(in->x->a, "%s %s", list, modules[i]);
	if (has_tls(in) && !module_is_on(in, "ssl"))
		list = arena_printf(in->x->a, "%s ssl", list);
	return arena_printf(in->x->a, "%s%s, " LOCUS_CONF,
	    list[0] == '\0' ? "all are on" : "a2enmod", list);
}

enum err install_modules_holds(struct install *in, bool *yes)
{
	char *text;

	if (!fs_exists(APACHE_DIR "/mods-available"))
		return FAIL(in->x->f, E_CONFIG,
		    "Apache is not installed (Debian: apt-get install apache2)");
	*yes = fs_exists(LOCUS_CONF_ON) && (!has_tls(in) || module_is_on(in, "ssl"));
	for (size_t i = 0; i < N(modules); i++)
		*yes = *yes && module_is_on(in, modules[i]);
	if (!is_our_conf(in))
		return OK;
	TRY(locus_conf_text(in, enabled_by_us(in), &text));
	*yes = *yes && install_file_is(in, LOCUS_CONF, text);
	return OK;
}

/* Lists the names in mods-enabled that end in ".load". */
static enum err list_modules(struct install *in, char ***names, size_t *n)
{
	size_t k = 0;

	TRY(fs_list(in->x->a, APACHE_ENABLED, MODULES_MOST, names, n, in->x->f));
	for (size_t i = 0; i < *n; i++) {
		char *name = (*names)[i];

		if (!text_ends_with(name, ".load"))
			continue;
		name[strlen(name) - strlen(".load")] = '\0';
		(*names)[k++] = name;
	}
	*n = k;
	return OK;
}

/* Enables a module with those that it needs; appends what is new to *list. */
static enum err enable_module(struct install *in, const char *module, char **list)
{
	const char *argv[] = { "a2enmod", "--quiet", module, NULL };
	char **old, **new;
	size_t nold, nnew;

	if (module_is_on(in, module))
		return OK;
	TRY(list_modules(in, &old, &nold));
	TRY(install_program(in, argv, "apache2"));
	TRY(list_modules(in, &new, &nnew));
	for (size_t i = 0; i < nnew; i++)
		if (!text_among(new[i], old, nold))
			*list = arena_printf(in->x->a, "%s %s", *list, new[i]);
	return OK;
}

enum err install_modules_make(struct install *in)
{
	const char *argv[] = { "a2enconf", "--quiet", "locus", NULL };
	char *enabled = enabled_by_us(in);
	size_t all = N(modules) + (has_tls(in) ? 1 : 0);

	for (size_t i = 0; i < all; i++) {
		char *text;
		TRY(enable_module(in, i < N(modules) ? modules[i] : "ssl", &enabled));
		/* Writes locus.conf before modules are enabled, too: its list survives
		 * a failure. */
		if (is_our_conf(in)) {
			TRY(locus_conf_text(in, enabled, &text));

			TRY(fs_write(LOCUS_CONF, text, strlen(text), 0644, in->x->f));
		}
	}
	in->restart_web = true;
	return install_program(in, argv, "apache2");
}

/* Is another installed project left on this machine? */
static enum err other_projects(struct install *in, bool *any)
{
	char **names;
	size_t n;

	*any = false;
	TRY(installation_list(in->x->a, &names, &n, in->x->f));
	for (size_t i = 0; i < n; i++)
		*any = *any || strcmp(names[i], in->p.name) != 0;
	return OK;
}

/* Modules that others need are refused until those are off. */
static enum err disable_modules(struct install *in, const char *list)
{
	char **names;
	bool left = true;

	if (proc_split(in->x->a, list, &names, NULL) != OK)
		return OK;
	for (int pass = 0; pass < PASSES && left; pass++) {
		left = false;
		for (size_t i = 0; names[i] != NULL; i++) {
			const char *argv[] = { "a2dismod", "--quiet", "--purge",
				names[i], NULL };

			if (module_is_on(in, names[i]) &&
			    install_program(in, argv, "apache2") != OK)
				left = true;
		}
	}
	if (left)
		install_to_do(in,
		    "some modules of Apache that locus create enabled are still on, as others need them:%s",
		    list);
	return OK;
}

enum err install_modules_undo(struct install *in)
{
	const char *argv[] = { "a2disconf", "--quiet", "--purge", "locus", NULL };
	char *list = enabled_by_us(in);
	bool others;

	TRY(other_projects(in, &others));
	if (others || !fs_exists(LOCUS_CONF) || !is_our_conf(in))
		return OK;
	if (fs_exists(LOCUS_CONF_ON))
		TRY(install_program(in, argv, "apache2"));
	TRY(disable_modules(in, list));
	TRY(fs_unlink(LOCUS_CONF, in->x->f));
	return reload_apache(in);
}

/* --- the site --- */

static char *site_on_path(struct install *in)
{
	return arena_printf(in->x->a, APACHE_DIR "/sites-enabled/%s.conf", in->p.unit);
}

/* Makes Apache listen at a port that Debian's ports.conf does not have. */
static char *listen_lines(struct install *in, int port)
{
	char *ports = arena_strdup(in->x->a, "");
	const char *line = arena_printf(in->x->a, "Listen %d\n", port);

	fs_read(in->x->a, APACHE_DIR "/ports.conf", FILE_MOST, &ports, NULL, NULL);
	if (port == 80 || port == 443 || strstr(ports, line) != NULL)
		return arena_strdup(in->x->a, "");
	return arena_printf(in->x->a,
	    "<IfDefine !LOCUS_PORT_%d>\n    Define LOCUS_PORT_%d\n    %s</IfDefine>",
	    port, port, line);
}

/* Fills the template of a virtual host. */
static enum err host_text(struct install *in, int port, bool tls, char **text)
{
	struct arena *a = in->x->a;
	const struct conf *cf = in->x->cf;
	const char *path = program_data(a, "apache-host.conf.in");
	const struct word words[] = {
		{ "@NAME@", in->p.name },
		{ "@HOST@", in->host },
		{ "@PORT@", arena_printf(a, "%d", port) },
		{ "@LOGS@", in->p.unit },
		{ "@LISTEN@", listen_lines(in, port) },
		{ "@RULES@", arena_printf(a, INSTALLED_CONFIG_ROOT "/*/apache-%s.conf",
				 in->host) },
		{ "@TLS@", tls ? arena_printf(a,
				     "    SSLEngine on\n"
				     "    SSLCertificateFile \"%s\"\n"
				     "    SSLCertificateKeyFile \"%s\"",
				     cf->certificate_file, cf->certificate_key_file) :
				 "" },
	};

	if (path == NULL)
		return FAIL(in->x->f, E_CONFIG,
		    "apache-host.conf.in is not installed with this program");
	TRY(create_path_check(cf->certificate_file, in->x->f));
	TRY(create_path_check(cf->certificate_key_file, in->x->f));
	TRY(fs_read(a, path, FILE_MOST, text, NULL, in->x->f));
	*text = words_fill(a, *text, words, N(words));
	return OK;
}

/*
 * With a certificate, http is served as well: old clients have a http:// master URL,
 * and adopt the other one from their next scheduler reply.
 */
static enum err site_text(struct install *in, char **text)
{
	char *plain = arena_strdup(in->x->a, ""), *tls = plain;

	if (has_tls(in))
		TRY(host_text(in, in->port, true, &tls));
	if (!has_tls(in) || in->port == 443)
		TRY(host_text(in, in->https ? 80 : in->port, false, &plain));
	*text = arena_printf(in->x->a, "%s%s", plain, tls);
	return OK;
}

char *install_site_text(struct install *in)
{
	return arena_printf(in->x->a, "%s, %s for %s%s",
	    install_site_path(in->x->a, &in->p),
	    install_rules_path(in->x->a, &in->p, in->host), in->x->cf->master_url,
	    !in->https  ? "" :
	    has_tls(in) ? ", with http for old clients" :
			  ", http only as there is no certificate");
}

/*
 * Finds a virtual host of the same name that is not of locus create, in the output of
 * apache2ctl -D DUMP_VHOSTS; *where is its file and line. Its site goes on to serve the
 * name if it comes first, or loses it if it comes later: neither is wanted.
 */
static enum err foreign_host(struct install *in, char **where)
{
	const char *argv[] = { "apache2ctl", "-t", "-D", "DUMP_VHOSTS", NULL };
	const char *name = arena_printf(in->x->a, " %s ", in->host);
	char *out;

	*where = NULL;
	TRY(install_output(in, argv, "apache2", &out));
	for (char *line = out; *line != '\0';) {
		size_t n = strcspn(line, "\n");
		char *text = arena_memdup(in->x->a, line, n), *at = strchr(text, '(');

		if (at != NULL && strstr(text, name) != NULL &&
		    strstr(at, "/sites-enabled/locus-") == NULL)
			*where = arena_memdup(in->x->a, at + 1, strcspn(at + 1, ")"));
		line += n + (line[n] == '\n');
	}
	return OK;
}

/* Says what an admin with a virtual host of that name has to do. */
static void leave_host(struct install *in, const char *where)
{
	install_to_do(in,
	    "%s has a virtual host %s already, so no other one was enabled: add \"IncludeOptional " INSTALLED_CONFIG_ROOT
	    "/*/apache-%s.conf\" and \"CustomLog ${APACHE_LOG_DIR}/access.log locus\" to it and reload Apache (if it is Debian's default site, a2dissite it and run locus create again)",
	    where, in->host, in->host);
}

/* The two files of the site: its virtual hosts, and the rules that they include. */
static enum err site_files_of(struct install *in, struct site_file files[2])
{
	char *site, *rules;

	TRY(site_text(in, &site));
	TRY(create_web_text(in->x, in->c, "apache-site.conf.in", &rules, in->x->f));
	files[0] = (struct site_file){ install_rules_path(in->x->a, &in->p, in->host),
		rules, strlen(rules), 0644, false };
	files[1] = (struct site_file){ install_site_path(in->x->a, &in->p), site,
		strlen(site), 0644, false };
	return OK;
}

enum err install_site_holds(struct install *in, bool *yes)
{
	struct site_file files[2];
	char *where;

	*yes = false;
	TRY(site_files_of(in, files));
	if (!site_file_settled(in->x, &files[0]) ||
	    !site_file_settled(in->x, &files[1]) || in->restart_web)
		return OK;
	*yes = fs_exists(site_on_path(in));
	if (*yes)
		return OK;
	TRY(foreign_host(in, &where));
	if (where != NULL)
		leave_host(in, where);
	*yes = where != NULL;
	return OK;
}

struct old_file { /* a file as it was before */
	const char *path;
	char *text; /* NULL = there was none */
};

static enum err replace_file(
    struct install *in, struct old_file *old, const struct site_file *s)
{
	*old = (struct old_file){ .path = s->path };
	if (fs_exists(s->path))
		TRY(fs_read(in->x->a, s->path, FILE_MOST, &old->text, NULL, in->x->f));
	return site_file_put(in->x, s, in->x->f);
}

static void restore_file(const struct old_file *old)
{
	if (old->path == NULL)
		return;
	if (old->text == NULL)
		fs_unlink(old->path, NULL);
	else
		fs_write(old->path, old->text, strlen(old->text), 0644, NULL);
}

static enum err disable_site(struct install *in)
{
	const char *argv[] = { "a2dissite", "--quiet", "--purge", in->p.unit, NULL };

	return fs_exists(site_on_path(in)) ? install_program(in, argv, "apache2") : OK;
}

/* Checks the new files before the site is enabled, and that Apache goes on with them.
 */
static enum err enable_site(struct install *in)
{
	const char *try[] = { "apache2ctl", "-t", "-c",
		arena_printf(
		    in->x->a, "Include %s", install_site_path(in->x->a, &in->p)),
		NULL };
	const char *on[] = { "a2ensite", "--quiet", in->p.unit, NULL };
	char *where;

	TRY(install_program(in, try, "apache2"));
	TRY(foreign_host(in, &where));
	if (where != NULL) {
		leave_host(in, where);
		TRY(disable_site(in));
	} else {
		TRY(install_program(in, on, "apache2"));
	}
	TRY(check_apache(in));
	return reload_apache(in);
}

static enum err put_site(struct install *in, const struct site_file files[2],
    struct old_file *rules, struct old_file *site)
{
	TRY(replace_file(in, rules, &files[0]));
	TRY(replace_file(in, site, &files[1]));
	return enable_site(in);
}

enum err install_site_make(struct install *in)
{
	struct old_file site = { 0 }, rules = { 0 };
	bool was_on = fs_exists(site_on_path(in));
	struct site_file files[2];
	struct fail saved;
	enum err e;

	TRY(site_files_of(in, files));
	e = put_site(in, files, &rules, &site);
	/* Noted only now: what Apache refuses is not taken for an edited file. */
	if (e == OK)
		return site_files_note(in->x, files, N(files), in->x->f);
	saved = *in->x->f;
	if (!was_on)
		disable_site(in);
	restore_file(&site);
	restore_file(&rules);
	if (check_apache(in) == OK)
		reload_apache(in);
	*in->x->f = saved;
	return e;
}

enum err install_site_undo(struct install *in)
{
	bool was_on = fs_exists(site_on_path(in));

	if (!fs_exists(APACHE_DIR))
		return OK;
	TRY(disable_site(in));
	TRY(site_file_remove(in->x, install_site_path(in->x->a, &in->p), in->x->f));
	/* Other virtual hosts include the rules, too: of this name, and an admin's. */
	if (in->had_config)
		TRY(fs_unlink(
		    install_rules_path(in->x->a, &in->p, in->host), in->x->f));
	if (was_on)
		TRY(reload_apache(in));
	/* Removes the logs of the site, also those that were rotated. */
	const char *begin = arena_printf(in->x->a, "%s_", in->p.unit);
	char **names;
	size_t n;
	enum err e = fs_list(in->x->a, APACHE_LOGS, MODULES_MOST, &names, &n, in->x->f);

	if (e == E_NOTFOUND)
		return OK;
	TRY(e);
	for (size_t i = 0; i < n; i++) {
		const char *rest = names[i] + strlen(begin);

		if (strncmp(names[i], begin, strlen(begin)) == 0 &&
		    (strncmp(rest, "access.log", 10) == 0 ||
			strncmp(rest, "error.log", 9) == 0))
			TRY(fs_unlink(
			    arena_printf(in->x->a, APACHE_LOGS "/%s", names[i]),
			    in->x->f));
	}
	return OK;
}
