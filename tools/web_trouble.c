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

char *
certificate_cure(struct arena *a, const struct conf *cf)
{
	if (!conf_is_installed(cf))
		return arena_strdup(a,
		    "append the intermediate certificates to SSLCertificateFile, or get a certificate that clients know (certbot), and reload the web server");
	return arena_printf(a,
	    "locus create %s --url %s --certificate FILE --certificate-key FILE",
	    conf_installation(a, cf).name, cf->master_url);
}

static const char *
web_server_name(struct arena *a)
{
	return running_web_server(a).name;
}

/* The command that writes the file anew; what was edited is kept beside it. */
static char *
renew_cure(struct cmd_ctx *x, struct arena *a, const char *path)
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

/* The host of "https://HOST:PORT/NAME/". */
static char *
master_host(struct arena *a, const struct conf *cf)
{
	const char *host = strstr(cf->master_url, "://");

	return host == NULL ? arena_strdup(a, "") :
	                      arena_memdup(a, host + 3, strcspn(host + 3, ":/"));
}

bool
web_conf_trouble(
    struct cmd_ctx *x, struct arena *a, const char *service, struct web_trouble *t)
{
	const char *paths[2] = { NULL };

	if (conf_is_installed(x->cf)) {
		const struct installation p = conf_installation(a, x->cf);

		paths[0] = install_rules_path(a, &p, master_host(a, x->cf));
		paths[1] = install_site_path(a, &p);
	} else {
		paths[0] = project_path(a, x->cf, web_conf_name(x));
	}
	for (size_t i = 0; i < N(paths) && paths[i] != NULL; i++) {
		t->why = web_fit_fault(x, paths[i], i == 0 ? service : NULL);
		if (t->why == NULL)
			continue;
		t->cure = renew_cure(x, a, paths[i]);
		return true;
	}
	return false;
}

/* What nothing else explains. */
static char *
last_cure(struct cmd_ctx *x, struct arena *a, const char *url, bool answered)
{
	const struct conf *cf = x->cf;

	if (cf->private_servers)
		return arena_printf(a, "%s  # or see %s/apache_error.log",
		    locus_command(a, cf, "restart apache2"), cf->log_dir);
	if (answered && !conf_is_installed(cf))
		return arena_printf(a, "include %s in its configuration and reload it",
		    project_path(a, cf, web_conf_name(x)));
	return arena_printf(a,
	    "%s runs: see its error log, and on which address and port it listens for %s",
	    web_server_name(a), url);
}

/* A file that an admin makes to stop the service. */
static const char *
stop_file(struct arena *a, const struct conf *cf, const char *service)
{
	const char *path = strcmp(service, "web") == 0 ?
	                       project_path(a, cf, "stop_web") :
	                       project_path(a, cf, "stop_sched");

	return strcmp(service, "upload") != 0 && fs_exists(path) ? path : NULL;
}

/* Is it the service itself? */
static bool
service_trouble(
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
struct web_trouble
web_no_url(struct cmd_ctx *x, struct arena *a, const char *service)
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

/* Looks from the service outwards. */
static struct web_trouble
find_trouble(struct cmd_ctx *x, struct arena *a, const char *service, const char *url,
    const struct http_answer *w)
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
	if (w->status == 0 && !cf->private_servers && running_web_server(a).pid == 0) {
		t.cure = arena_strdup(
		    a, "systemctl start apache2  # or your web server");
		return t;
	}
	if (conf_is_installed(cf) && strncasecmp(url, "https:", 6) == 0 &&
	    cf->certificate_file[0] == '\0') {
		t.why = arena_printf(a,
		    "%s runs, but has no certificate for this project, so it serves http only",
		    web_server_name(a));
		t.cure = certificate_cure(a, cf);
		return t;
	}
	if (!web_conf_trouble(x, a, service, &t))
		t.cure = last_cure(x, a, url, w->status != 0);
	return t;
}

struct web_trouble
web_trouble(struct cmd_ctx *x, struct arena *a, const char *service, const char *url,
    const struct http_answer *w)
{
	struct web_trouble t = find_trouble(x, a, service, url, w);

	if (url[0] == '\0')
		t.text = t.why;
	else
		t.text = arena_printf(a, "%s%s%s",
		    w->status == 0 ?
			arena_printf(a, "%s: %s", url, w->why) :
			arena_printf(a, "%s answers with HTTP %ld", url, w->status),
		    t.why == NULL ? "" : ": ", t.why == NULL ? "" : t.why);
	return t;
}
