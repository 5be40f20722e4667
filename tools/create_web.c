/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the web server's configuration from its template, and copies the page files
 * that a project may change. */
#include "tools/create.h"

#include <ctype.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/log.h"
#include "tools/program.h"
#include "tools/service.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

enum { TEMPLATE_MAX = 1 << 20 };

static const char *modules_dir(void)
{
	static const char *const dirs[] = { "/usr/lib/apache2/modules",
		"/usr/lib64/httpd/modules", "/usr/lib/httpd/modules",
		"/usr/libexec/apache2" };

	for (size_t i = 0; i < N(dirs); i++)
		if (fs_exists(dirs[i]))
			return dirs[i];
	return NULL;
}

static char *dir_of(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? arena_strdup(a, ".") :
	                       arena_memdup(a, path, (size_t)(slash - path));
}

/* Apache would misread a line whose path contains blanks or quotes. */
enum err create_path_check(const char *path, struct fail *f)
{
	for (const char *p = path; *p != '\0'; p++)
		if (!isgraph((unsigned char)*p) || strchr("\"'\\<>%$#@|", *p) != NULL)
			return FAIL(f, E_BADREQ,
			    "the path %s is written into Apache's configuration and must not contain blanks, quotes or other special characters",
			    path);
	return OK;
}

/* Replaces the directory of sockets, or else the project's, by a variable that a
 * private Apache gets at start, so that the file stays valid wherever the project or
 * db_socket is moved. */
static char *relative(
    struct arena *a, const struct create *c, const struct conf *cf, const char *path)
{
	const char *rest;

	if (!c->private)
		return arena_strdup(a, path);
	if ((rest = text_below(socket_dir(a, cf), path)) != NULL)
		return arena_printf(a, "${" WEB_SOCKETS_VARIABLE "}%s", rest);
	if ((rest = text_below(cf->project_dir, path)) != NULL)
		return arena_printf(a, "${" WEB_DIR_VARIABLE "}%s", rest);
	return arena_strdup(a, path);
}

/* Returns the reply in busy.asis, without its head, for a quoted string of nginx. */
static enum err busy_reply(
    struct arena *a, const char *path, char **reply, struct fail *f)
{
	const char *blank;
	char *text;

	TRY(fs_read(a, path, TEMPLATE_MAX, &text, NULL, f));
	blank = strstr(text, "\n\n");
	if (blank == NULL || strpbrk(blank, "'$\\") != NULL)
		return FAIL(f, E_CONFIG,
		    "%s needs a head and a reply without quotes, dollars and backslashes",
		    path);
	*reply = arena_strdup(a, blank + 2);
	return OK;
}

enum err create_web_text(struct cmd_ctx *x, const struct create *c, const char *name,
    char **filled, struct fail *f)
{
	const char *from = program_data(x->a, name), *modules = modules_dir();
	const char *busy = program_data(x->a, "busy.asis");
	const char *module = program_find(x->a, NULL, WEB_MODULE);
	const struct conf *cf = x->cf;
	char *text, *reply = NULL;

	TRY(create_path_check(cf->project_dir, f));
	if (from == NULL || busy == NULL || module == NULL)
		return FAIL(f, E_CONFIG, "%s is not installed with this program",
		    from == NULL ? name :
		    busy == NULL ? "busy.asis" :
				   WEB_MODULE);
	if (c->private && modules == NULL)
		return FAIL(f, E_CONFIG,
		    "Apache is not installed (Debian: apt-get install apache2)");
	TRY(busy_reply(x->a, busy, &reply, f));
	const struct word places[] = {
		{ "@NAME@", c->name },
		{ "@PORT@", arena_printf(x->a, "%d", c->port) },
		{ "@DIR@", relative(x->a, c, cf, cf->project_dir) },
		{ "@RUN@", relative(x->a, c, cf, socket_dir(x->a, cf)) },
		{ "@LOG@", relative(x->a, c, cf, cf->log_dir) },
		{ "@DOWNLOAD@", relative(x->a, c, cf, cf->download_dir) },
		{ "@DATA@", dir_of(x->a, busy) },
		{ "@SCHEDULER@",
		    relative(x->a, c, cf, service_socket(x->a, cf, "scheduler")) },
		{ "@WEB@", relative(x->a, c, cf, service_socket(x->a, cf, "web")) },
		{ "@UPLOAD@",
		    relative(x->a, c, cf, service_socket(x->a, cf, "upload")) },
		{ "@SLOW@", web_slow_limit(x->a, cf) },
		{ "@LIMIT@", web_nginx_limit(x->a, cf) },
		{ "@PROXIES@", web_trusted_proxies(x->a, cf) },
		{ "@LOCUS@", module },
		{ "@MODULES@", modules == NULL ? "" : modules },
		{ "@BUSY@", reply },
	};
	for (size_t i = 0; i < N(places); i++)
		if (places[i].value[0] == '/' &&
		    create_path_check(places[i].value, f) != OK)
			return f->code;
	TRY(fs_read(x->a, from, TEMPLATE_MAX, &text, NULL, f));
	*filled = words_fill(x->a, text, places, N(places));
	return OK;
}

static enum err write_conf(struct cmd_ctx *x, const struct create *c, const char *name,
    const char *to, struct fail *f)
{
	char *text;

	TRY(create_web_text(x, c, name, &text, f));
	return fs_write(to, text, strlen(text), 0644, f);
}

static const char *const pages[] = { "home.html", "style.css" };

enum err create_pages(struct cmd_ctx *x, struct fail *f)
{
	for (size_t i = 0; i < N(pages); i++) {
		const char *from = program_data(x->a, pages[i]);
		const char *to = project_path(
		    x->a, x->cf, arena_printf(x->a, "html/%s", pages[i]));

		struct site_file page = { .path = arena_strdup(x->a, to),
			.mode = 0644 };
		char *text;

		if (from == NULL || fs_exists(to))
			continue;
		TRY(fs_read(x->a, from, TEMPLATE_MAX, &text, &page.n, f));
		page.text = text;
		TRY(fs_write(to, page.text, page.n, page.mode, f));
		TRY(site_files_note(x, &page, 1, f));
	}
	return OK;
}

enum err create_web(struct cmd_ctx *x, struct create *c, struct fail *f)
{
	struct site_file *files;
	size_t n;
	char *text;
	const char *nginx = project_path(x->a, x->cf, WEB_NGINX_SITE);
	const char *to = project_path(
	    x->a, x->cf, c->private ? WEB_PRIVATE_CONF : WEB_APACHE_SITE);

	TRY(write_conf(x, c,
	    c->private ? "apache-private.conf.in" : "apache-site.conf.in", to, f));
	if (!c->private)
		TRY(write_conf(x, c, "nginx-site.conf.in", nginx, f));
	TRY(create_pages(x, f));
	text = log_rotation_text(x->a, x->cf, c->name, NULL);
	TRY(fs_write(
	    project_path(x->a, x->cf, LOG_ROTATION_FILE), text, strlen(text), 0644, f));
	TRY(create_site_files(x, &files, &n, f));
	TRY(site_files_note(x, files, n, f));
	ctx_progress(x, "created", "%s", to);
	if (!c->private)
		ctx_progress(x, "to do",
		    "include that file in a virtual host of your Apache, and load the modules listed at its top; or include %s in a server block of your nginx",
		    nginx);
	return OK;
}

/* Returns "stars" of "http://127.0.0.1:8123/stars/". */
static char *short_name(struct arena *a, const char *url)
{
	size_t n = strlen(url), from;

	while (n > 0 && url[n - 1] == '/')
		n--;
	for (from = n; from > 0 && url[from - 1] != '/'; from--)
		;
	return arena_memdup(a, url + from, n - from);
}

enum err create_site_files(
    struct cmd_ctx *x, struct site_file **files, size_t *n, struct fail *f)
{
	static const struct {
		const char *template, *path;
		bool private;
	} confs[] = { { "apache-private.conf.in", WEB_PRIVATE_CONF, true },
		{ "apache-site.conf.in", WEB_APACHE_SITE, false },
		{ "nginx-site.conf.in", WEB_NGINX_SITE, false } };
	const struct create c = { .name = short_name(x->a, x->cf->master_url),
		.private = x->cf->private_servers,
		.port = (int)x->cf->private_port };
	struct site_file *v = NEWN(x->a, struct site_file, N(confs) + N(pages) + 1);

	*n = 0;
	*files = v;
	for (size_t i = 0; i < N(confs); i++) {
		char *text;

		if (confs[i].private != c.private || conf_is_installed(x->cf))
			continue;
		TRY(create_web_text(x, &c, confs[i].template, &text, f));
		v[(*n)++] = (struct site_file){ .path = project_path(
						    x->a, x->cf, confs[i].path),
			.text = text,
			.n = strlen(text),
			.mode = 0644,
			.needed = strcmp(confs[i].path, web_conf_name(x)) == 0 };
	}
	if (!conf_is_installed(x->cf)) {
		char *text = log_rotation_text(x->a, x->cf, c.name, NULL);

		v[(*n)++] = (struct site_file){ project_path(
						    x->a, x->cf, LOG_ROTATION_FILE),
			text, strlen(text), 0644, false };
	}
	for (size_t i = 0; i < N(pages); i++) {
		const char *from = program_data(x->a, pages[i]);
		struct site_file s = { .mode = 0644 };
		char *text;

		if (from == NULL)
			continue;
		TRY(fs_read(x->a, from, TEMPLATE_MAX, &text, &s.n, f));
		s.text = text;
		s.path = project_path(
		    x->a, x->cf, arena_printf(x->a, "html/%s", pages[i]));
		v[(*n)++] = s;
	}
	return OK;
}
