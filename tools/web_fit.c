/* SPDX-License-Identifier: Apache-2.0 */
/* The web server's configuration is written only once, while sockets follow run_dir,
 * and limits the options. */
#include "tools/web_fit.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/words.h"
#include "model/web_peer.h"
#include "tools/create.h"
#include "tools/program.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { FILE_MAX = 1 << 20 };

/* Returns the value of a directive on a line of its own; NULL if there is none. */
static char *
directive_value(struct arena *a, const char *text, const char *name)
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

static void
check_directive(struct fault_list *out, const char *path, const char *text,
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

static void
check_web_conf(
    struct fault_list *out, const struct conf *cf, const char *path, const char *text)
{
	static const char *const services[] = { "scheduler", "web", "upload" };
	struct cmd_ctx *x = out->x;

	for (size_t i = 0; i < N(services); i++) {
		const char *socket = service_socket(x->a, cf, services[i]);

		if (strstr(text, arena_printf(x->a, "\"unix:%s|", socket)) == NULL)
			fault_put(out, path, 0, FAULT_WARNING,
			    "no ProxyPass leads to unix:%s, where the project listens",
			    socket);
	}
	check_directive(out, path, text, "LocusSlowPerAddress", WEB_SLOW_VARIABLE,
	    web_slow_limit(x->a, cf));
	check_directive(out, path, text, "LocusTrustedProxies", WEB_PROXIES_VARIABLE,
	    web_trusted_proxies(x->a, cf));
}

/* The line of the file of another server must be there as it would be written now. */
static void
check_nginx_line(
    struct fault_list *out, const char *path, const char *text, const char *line)
{
	if (strstr(text, line) == NULL)
		fault_put(out, path, 0, FAULT_WARNING,
		    "the line \"%s\" is missing; change it and reload nginx", line);
}

static void
check_nginx_conf(
    struct fault_list *out, const struct conf *cf, const char *path, const char *text)
{
	static const char *const services[] = { "scheduler", "web", "upload" };
	struct cmd_ctx *x = out->x;

	for (size_t i = 0; i < N(services); i++)
		check_nginx_line(out, path, text,
		    arena_printf(x->a, "fastcgi_pass \"unix:%s\";",
			service_socket(x->a, cf, services[i])));
	check_nginx_line(out, path, text,
	    arena_printf(
		x->a, "limit_conn locus_large %s;", web_nginx_limit(x->a, cf)));
}

void
web_fit_check(struct cmd_ctx *x, const struct conf *cf, struct fault_list *out)
{
	static const char *const files[] = { "apache/httpd.conf", "apache/site.conf",
		WEB_NGINX_SITE };
	const struct word dirs[] = { { "${" WEB_DIR_VARIABLE "}", cf->project_dir },
		{ "${" WEB_SOCKETS_VARIABLE "}", socket_dir(x->a, cf) } };

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
			check_web_conf(
			    out, cf, path, words_fill(x->a, text, dirs, N(dirs)));
		else if (e != E_NOTFOUND)
			fault_put(out, path, 0, FAULT_WARNING, "%s", f.detail);
	}
}
