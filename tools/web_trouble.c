/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at what stands between a client and a service, from the service outwards. */
#include "tools/web_trouble.h"

#include <string.h>
#include <strings.h>
#include "lib/fs.h"
#include "lib/sock.h"
#include "tools/dir_cure.h"
#include "tools/install/install.h"
#include "tools/running.h"
#include "tools/service.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

char *url_host(struct arena *a, const char *url)
{
	const char *p = strstr(url, "://");

	p = p == NULL ? url : p + 3;
	if (*p == '[')
		return arena_memdup(a, p + 1, strcspn(p + 1, "]"));
	return arena_memdup(a, p, strcspn(p, ":/"));
}

/* certbot renews what it keeps; where other certificates come from, Locus cannot know.
 */
char *certificate_cure(struct arena *a, const struct conf *cf)
{
	static const char certbot[] = "/etc/letsencrypt/";
	const char *host = url_host(a, cf->master_url), *p = cf->master_url;

	if (strncmp(cf->certificate_file, certbot, strlen(certbot)) == 0)
		return arena_strdup(a, "certbot renew && systemctl reload apache2");
	if (conf_is_installed(cf))
		return arena_printf(a,
		    "locus create %s --url %s --certificate FILE --certificate-key FILE",
		    conf_installation(a, cf).name, cf->master_url);
	p = strstr(p, "://") == NULL ? p : strstr(p, "://") + 3;
	p = arena_memdup(a, p, strcspn(p, "/"));
	return arena_printf(a,
	    "openssl s_client -connect %s%s -servername %s -showcerts </dev/null  # what the web server sends: renew it, or append the certificate of its issuer, and reload the web server",
	    p, strchr(p, ':') == NULL ? ":443" : "", host);
}

static const char *web_server_name(struct arena *a)
{
	return running_web_server(a).name;
}

/* The command that writes the file anew; what was edited is kept beside it. */
static char *renew_cure(struct cmd_ctx *x, struct arena *a, const char *path)
{
	const struct conf *cf = x->cf;
	const char *keep = "", *again;

	if (conf_is_installed(cf)) {
		if (fs_exists(path))
			keep = arena_printf(
			    a, "mv --backup=t %s %s.edited && ", path, path);
		return arena_printf(a, "%slocus create %s --url %s", keep,
		    conf_installation(a, cf).name, cf->master_url);
	}
	if (fs_exists(path))
		keep = arena_printf(a, "%s && ",
		    owner_command(a, &x->owner,
			arena_printf(a, "mv --backup=t %s %s.edited", path, path)));
	again = cf->private_servers ?
	            locus_command(a, cf, "restart apache2") :
	            arena_printf(a, "systemctl reload %s", web_server_name(a));
	return arena_printf(
	    a, "%s%s && %s", keep, locus_command(a, cf, "upgrade --no-hint"), again);
}

bool web_conf_trouble(
    struct cmd_ctx *x, struct arena *a, const char *service, struct web_trouble *t)
{
	const char *paths[2] = { NULL };

	if (conf_is_installed(x->cf)) {
		const struct installation p = conf_installation(a, x->cf);

		paths[0] = install_rules_path(a, &p, url_host(a, x->cf->master_url));
		paths[1] = install_site_path(a, &p);
	} else {
		paths[0] = project_path(a, x->cf, web_conf_name(x));
	}
	for (size_t i = 0; i < N(paths) && paths[i] != NULL; i++) {
		t->why = i == 0 ? web_fit_fault(x, paths[i], service) :
		                  web_edit_fault(x, paths[i]); /* virtual hosts only */
		if (t->why == NULL)
			continue;
		t->cure = renew_cure(x, a, paths[i]);
		return true;
	}
	return false;
}

char *redirect_cure(struct arena *a, const char *what)
{
	return arena_printf(a,
	    "grep -rniE 'redirect|rewriterule|return +30' /etc/%s  # %s",
	    strcmp(web_server_name(a), "nginx") == 0 ? "nginx" : "apache2", what);
}

/* What nothing else explains. */
static char *last_cure(
    struct cmd_ctx *x, struct arena *a, const char *url, bool answered)
{
	const struct conf *cf = x->cf;

	if (cf->private_servers)
		return arena_printf(a, "%s  # or see %s/apache_error.log",
		    locus_command(a, cf, "restart apache2"), cf->log_dir);
	if (answered && !conf_is_installed(cf))
		return arena_printf(a, "include %s in its configuration and reload it",
		    project_path(a, cf, web_conf_name(x)));
	return arena_printf(a,
	    "%s  # which of them answers %s, at which address and port?",
	    strcmp(web_server_name(a), "nginx") == 0 ?
		"nginx -T 2>/dev/null | grep -E 'listen|server_name|configuration file'" :
		"apache2ctl -S",
	    url);
}

/* A file that an admin makes to stop the service. */
static const char *stop_file(
    struct arena *a, const struct conf *cf, const char *service)
{
	const char *path = strcmp(service, "web") == 0 ?
	                       project_path(a, cf, "stop_web") :
	                       project_path(a, cf, "stop_sched");

	return strcmp(service, "upload") != 0 && fs_exists(path) ? path : NULL;
}

/* Is it the service itself? */
static bool service_trouble(
    struct cmd_ctx *x, struct arena *a, const char *service, struct web_trouble *t)
{
	const char *path = service_socket(a, x->cf, service);
	const char *name = strcmp(service, "upload") == 0 ? "file_upload_handler" :
	                                                    service;
	const char *stop = stop_file(a, x->cf, service);

	if (stop != NULL) {
		t->why = arena_printf(a, "the file %s keeps clients away", stop);
		t->cure = owner_command(a, &x->owner, arena_printf(a, "rm %s", stop));
		return true;
	}
	if (sock_answers(path))
		return false;
	t->why = arena_printf(a, "no %s listens at %s", name, path);
	t->cure = locus_command(a, x->cf, arena_printf(a, "restart %s", name));
	return true;
}

/* Daemons that have ended for it start again. */
struct web_trouble web_no_url(struct cmd_ctx *x, struct arena *a, const char *service)
{
	const char *program = strcmp(service, "upload") == 0 ? "file_upload_handler" :
	                                                       "cgi";
	const char *option = arena_printf(a, "%s_url", service);
	const char *master = x->cf->master_url;
	size_t n = strlen(master);

	n -= n > 0 && master[n - 1] == '/';
	/* http://HOST/NAME/ has its programs in http://HOST/NAME_cgi/. */
	return (struct web_trouble){ .why = arena_printf(
					 a, "%s has no %s", x->cf->path, option),
		.cure = arena_printf(a, "%s && %s",
		    locus_command(a, x->cf,
			arena_printf(a, "config set %s %.*s_cgi/%s", option, (int)n,
			    master, program)),
		    locus_command(a, x->cf, "restart")) };
}

/* Neither name nor web server; NULL = there are both. */
static char *unreached_cure(const struct conf *cf, struct arena *a, const char *url,
    const struct http_answer *w)
{
	if (w->no_host)
		return arena_printf(a,
		    "getent ahosts %s  # nothing: let the DNS lead the name to this machine",
		    url_host(a, url));
	if (w->status == 0 && !cf->private_servers && running_web_server(a).pid == 0)
		return arena_strdup(a, "systemctl start apache2  # or your web server");
	return NULL;
}

/* Looks from the service outwards. */
static struct web_trouble find_trouble(struct cmd_ctx *x, struct arena *a,
    const char *service, const char *url, const struct http_answer *w)
{
	const struct conf *cf = x->cf;
	struct web_trouble t = { 0 };

	if (w->bad_chain) {
		t.cure = certificate_cure(a, cf);
		return t;
	}
	if (url[0] == '\0' && service != NULL)
		return web_no_url(x, a, service);
	if (service != NULL && service_trouble(x, a, service, &t))
		return t;
	t.cure = unreached_cure(cf, a, url, w);
	if (t.cure != NULL)
		return t;
	if (conf_is_installed(cf) && strncasecmp(url, "https:", 6) == 0 &&
	    cf->certificate_file[0] == '\0') {
		t.why = arena_printf(a,
		    "%s runs, but has no certificate for this project, so it serves http only",
		    web_server_name(a));
		t.cure = certificate_cure(a, cf);
		return t;
	}
	if (web_conf_trouble(x, a, service, &t))
		return t;
	t.cure = w->redirect != NULL && !cf->private_servers ?
	             redirect_cure(a, "the line that sends clients away") :
	             last_cure(x, a, url, w->status != 0);
	return t;
}

struct web_trouble web_trouble(struct cmd_ctx *x, struct arena *a, const char *service,
    const char *url, const struct http_answer *w)
{
	struct web_trouble t = find_trouble(x, a, service, url, w);

	if (url[0] == '\0')
		t.text = t.why;
	else
		t.text = arena_printf(a, "%s%s%s%s%s",
		    w->status == 0 ?
			arena_printf(a, "%s: %s", url, w->why) :
			arena_printf(a, "%s answers with HTTP %ld", url, w->status),
		    w->redirect == NULL ? "" : " and sends clients to ",
		    w->redirect == NULL ? "" : w->redirect, t.why == NULL ? "" : ": ",
		    t.why == NULL ? "" : t.why);
	return t;
}
