/* SPDX-License-Identifier: Apache-2.0 */
/* The web server's configuration is written only once, while sockets follow run_dir,
 * and limits the options. */
#include "tools/web_fit.h"

#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "model/owner.h"
#include "tools/create.h"
#include "tools/dir_cure.h"
#include "tools/program.h"
#include "tools/running.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { FILE_MAX = 1 << 20 };

/* Returns the value of a directive on a line of its own; NULL if there is none. */
static char *directive_value(struct arena *a, const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += strspn(line, "\n\t ");
		if (strncmp(line, name, n) == 0 && line[n] == ' ') {
			line += n + strspn(line + n, " ");
			return arena_memdup(a, line, strcspn(line, " \t\r\n"));
		}
	}
	return NULL;
}

/* Replaces the variables that the supervisor defines. */
static char *with_dirs(struct arena *a, const struct conf *cf, const char *text)
{
	const struct word dirs[] = { { "${" WEB_DIR_VARIABLE "}", cf->project_dir },
		{ "${" WEB_SOCKETS_VARIABLE "}", socket_dir(a, cf) } };

	return words_fill(a, text, dirs, N(dirs));
}

static bool apache_leads(
    struct arena *a, const struct conf *cf, const char *text, const char *service)
{
	return strstr(text, arena_printf(a, "\"unix:%s|",
				service_socket(a, cf, service))) != NULL;
}

/* Does an Alias, or nginx's alias, lead to download_dir? */
static bool leads_to_downloads(struct arena *a, const struct conf *cf, const char *text)
{
	return strstr(text, arena_printf(a, "\"%s/\"", cf->download_dir)) != NULL;
}

static char *nginx_line(struct arena *a, const struct conf *cf, const char *service)
{
	return arena_printf(
	    a, "fastcgi_pass \"unix:%s\";", service_socket(a, cf, service));
}

static void check_directive(struct fault_list *out, const char *path, const char *text,
    const char *name, const char *variable, const char *wanted)
{
	struct arena *a = out->x->a;
	char *value = directive_value(a, text, name);

	if (value == NULL && strcmp(wanted, "0") != 0)
		fault_put(out, path, 0, FAULT_WARNING,
		    "the line \"%s %s\" is missing, which needs \"LoadModule locus_module %s\" outside of any virtual host",
		    name, wanted, program_find(a, NULL, WEB_MODULE));
	else if (value != NULL && strcmp(value, wanted) != 0 &&
		 strcmp(value, arena_printf(a, "${%s}", variable)) != 0)
		fault_put(out, path, 0, FAULT_WARNING,
		    "config.xml requires \"%s %s\", not %s; change it and reload Apache",
		    name, wanted, value);
}

static void check_web_conf(
    struct fault_list *out, const struct conf *cf, const char *path, const char *text)
{
	static const char *const services[] = { "scheduler", "web", "upload" };
	struct cmd_ctx *x = out->x;

	for (size_t i = 0; i < N(services); i++) {
		if (!apache_leads(x->a, cf, text, services[i]))
			fault_put(out, path, 0, FAULT_WARNING,
			    "no ProxyPass leads to unix:%s, where the project listens",
			    service_socket(x->a, cf, services[i]));
	}
	if (!leads_to_downloads(x->a, cf, text))
		fault_put(out, path, 0, FAULT_WARNING,
		    "no Alias leads to %s, where clients' downloads are",
		    cf->download_dir);
	if (cf->private_servers &&
	    strstr(text, arena_printf(x->a, "\"%s/", cf->log_dir)) == NULL)
		fault_put(out, path, 0, FAULT_WARNING,
		    "Apache does not log to %s, where all others do; run: %s && %s",
		    cf->log_dir, locus_command(x->a, cf, "upgrade --no-hint"),
		    locus_command(x->a, cf, "restart apache2"));
	check_directive(out, path, text, "LocusSlowPerAddress", WEB_SLOW_VARIABLE,
	    web_slow_limit(x->a, cf));
	check_directive(out, path, text, "LocusTrustedProxies", WEB_PROXIES_VARIABLE,
	    web_trusted_proxies(x->a, cf));
}

/* The line of the file of another server must be there as it would be written now. */
static void check_nginx_line(
    struct fault_list *out, const char *path, const char *text, const char *line)
{
	if (strstr(text, line) == NULL)
		fault_put(out, path, 0, FAULT_WARNING,
		    "the line \"%s\" is missing; change it and reload nginx", line);
}

static void check_nginx_conf(
    struct fault_list *out, const struct conf *cf, const char *path, const char *text)
{
	static const char *const services[] = { "scheduler", "web", "upload" };
	struct cmd_ctx *x = out->x;

	for (size_t i = 0; i < N(services); i++)
		check_nginx_line(out, path, text, nginx_line(x->a, cf, services[i]));
	check_nginx_line(
	    out, path, text, arena_printf(x->a, "alias \"%s/\";", cf->download_dir));
	check_nginx_line(out, path, text,
	    arena_printf(
		x->a, "limit_conn locus_large %s;", web_nginx_limit(x->a, cf)));
}

const char *web_conf_name(struct cmd_ctx *x)
{
	if (x->cf->private_servers)
		return WEB_PRIVATE_CONF;
	return strcmp(running_web_server(x->a).name, "nginx") == 0 ? WEB_NGINX_SITE :
	                                                             WEB_APACHE_SITE;
}

int64_t loopback_port(const char *url)
{
	static const char base[] = "http://127.0.0.1:";
	size_t n = sizeof(base) - 1;
	int64_t port;

	if (strncmp(url, base, n) != 0)
		return 0;
	port = strtoll(url + n, NULL, 10);
	return port > 0 && port <= UINT16_MAX ? port : 0;
}

char *web_edit_fault(struct cmd_ctx *x, const char *path)
{
	struct fail f = { 0 };
	char *text;

	if (fs_read(x->a, path, FILE_MAX, &text, NULL, &f) != OK)
		return arena_strdup(x->a, f.detail);
	if (site_file_edited(x, path))
		return arena_printf(x->a, "%s was edited since locus wrote it", path);
	return NULL;
}

char *web_fit_fault(struct cmd_ctx *x, const char *path, const char *service)
{
	const struct conf *cf = x->cf;
	const char *port = arena_printf(
	    x->a, "127.0.0.1:%lld", (long long)cf->private_port);
	struct fail f = { 0 };
	char *text, *listens;

	if (fs_read(x->a, path, FILE_MAX, &text, NULL, &f) != OK)
		return arena_strdup(x->a, f.detail);
	text = with_dirs(x->a, cf, text);
	listens = directive_value(x->a, text, "Listen");
	if (cf->private_servers && (listens == NULL || strcmp(listens, port) != 0))
		return arena_printf(x->a, "%s does not say \"Listen %s\"", path, port);
	if (!leads_to_downloads(x->a, cf, text))
		return arena_printf(x->a,
		    "nothing in %s leads to %s, which has the downloads", path,
		    cf->download_dir);
	if (service != NULL && !apache_leads(x->a, cf, text, service) &&
	    strstr(text, nginx_line(x->a, cf, service)) == NULL)
		return arena_printf(x->a, "nothing in %s leads to unix:%s", path,
		    service_socket(x->a, cf, service));
	return web_edit_fault(x, path);
}

void web_fit_check(struct cmd_ctx *x, const struct conf *cf, struct fault_list *out)
{
	static const char *const files[] = { WEB_PRIVATE_CONF, WEB_APACHE_SITE,
		WEB_NGINX_SITE };
	if (cf->web_server_account[0] != '\0' && web_peer_of(cf).n == 0)
		fault_put(out, cf->path, 0, FAULT_WARNING,
		    "web_server_account: this machine has no account %s, so no web server reaches the services",
		    cf->web_server_account);

	for (size_t i = 0; i < N(files); i++) {
		const char *path = project_path(x->a, cf, files[i]);
		struct fail f = { 0 };
		char *text;
		enum err e = fs_read(x->a, path, FILE_MAX, &text, NULL, &f);

		if (e == OK && strcmp(files[i], WEB_NGINX_SITE) == 0)
			check_nginx_conf(out, cf, path, text);
		else if (e == OK)
			check_web_conf(out, cf, path, with_dirs(x->a, cf, text));
		else if (e != E_NOTFOUND)
			fault_put(out, path, 0, FAULT_WARNING, "%s", f.detail);
	}
}
