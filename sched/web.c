/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web program: master page, web RPCs of attaching clients, status page.  FastCGI on
 * descriptor 0. Pages are found by the last part of REQUEST_URI.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "db/status.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "proto/web.h"
#include "sched/fcgi.h"
#include "sched/project.h"
#include "sched/web_account.h"
#include "sched/web_page.h"
#include "lib/banned.h"

enum { BODY_MAX = 64 << 10, FILE_MAX = 256 << 10, STATUS_AGE_S = 30 };

static const char html[] = "text/html; charset=utf-8";
static const char xml[] = "text/xml";

struct web { /* process lifetime */
	struct project p;
	struct status status;
	int64_t status_time; /* 0: never counted */
};

struct visit { /* one request */
	struct web *w;
	const struct fcgi_request *rq;
	struct fcgi_reply *rp;
	int64_t now;
};

/* A file that the project may have changed: its own, else the installed one; NULL if
 * neither. */
static char *
read_page_file(struct visit *v, const char *name)
{
	struct arena *a = v->rq->a;
	const char *const paths[] = {
		project_path(a, v->w->p.conf, arena_printf(a, "html/%s", name)),
		arena_printf(a, "%s/%s", PKGDATADIR, name),
	};
	struct fail f = { 0 };
	char *text;

	for (size_t i = 0; i < N(paths); i++)
		if (fs_read(a, paths[i], FILE_MAX, &text, NULL, &f) == OK)
			return text;
	return NULL;
}

static void
home(struct visit *v)
{
	page_home(&v->rp->body, v->w->p.conf, read_page_file(v, "home.html"));
}

static void
style(struct visit *v)
{
	const char *css = read_page_file(v, "style.css");

	v->rp->type = "text/css; charset=utf-8";
	v->rp->headers = "Cache-Control: public, max-age=3600\r\n";
	buf_puts(&v->rp->body, css == NULL ? "" : css);
}

static void
not_found(struct visit *v)
{
	v->rp->status = "404 Not Found";
	page_message(&v->rp->body, v->w->p.conf, "Page not found",
	    "There is no such page at this project.");
}

/* Connected, or an error line in the log. */
static bool
connected(struct visit *v)
{
	struct fail f = { 0 };

	if (project_connect(&v->w->p, v->now, &f) == OK)
		return true;
	log_fail("no database", &f);
	return false;
}

static bool
web_stopped(struct visit *v)
{
	return fs_exists(project_path(v->rq->a, v->w->p.conf, "stop_web"));
}

/* Small tables are all that it needs; without a database it goes out without platforms.
 */
static void
project_config(struct visit *v)
{
	static const struct catalog none;
	struct project *p = &v->w->p;
	const struct catalog *cat = connected(v) ? p->cat : &none;

	v->rp->type = xml;
	web_project_config(&v->rp->body, p->conf, cat, web_stopped(v),
	    fs_exists(project_path(v->rq->a, p->conf, "stop_sched")));
}

/* May the RPC go on?  Else an error document was written. */
static bool
rpc_possible(struct visit *v)
{
	v->rp->type = xml;
	v->rp->headers = "Cache-Control: no-store\r\n";
	if (web_stopped(v))
		web_error(&v->rp->body, WEB_OFFLINE, "Project is temporarily offline");
	else if (!connected(v))
		web_error(&v->rp->body, WEB_NO_DATABASE, "Can't access database");
	else
		return true;
	return false;
}

/* Clients send parameters in the query; a form may post them. */
static const char *
parameters(const struct visit *v)
{
	return v->rq->query[0] == '\0' && v->rq->body_n > 0 ? v->rq->body :
	                                                      v->rq->query;
}

static void
create_account(struct visit *v)
{
	if (rpc_possible(v))
		account_create(
		    &v->rp->body, v->w->p.conf, v->w->p.db, parameters(v), v->now);
}

static void
lookup_account(struct visit *v)
{
	if (rpc_possible(v))
		account_lookup(&v->rp->body, v->w->p.conf, v->w->p.db, parameters(v));
}

/* Counts are kept for a while: this page may be asked for as often as anyone likes. */
static const struct status *
counted(struct visit *v)
{
	struct web *w = v->w;
	struct fail f = { 0 };

	if (w->status_time != 0 && v->now - w->status_time < STATUS_AGE_S &&
	    v->now >= w->status_time)
		return &w->status;
	if (!connected(v))
		return NULL;
	if (status_count(w->p.db, v->rq->a, v->now, &w->status, &f) != OK) {
		log_fail("status", &f);
		w->status_time = 0;
		return NULL;
	}
	w->status_time = v->now;
	return &w->status;
}

static void
server_status(struct visit *v)
{
	const struct status *s = counted(v);
	int64_t when = s == NULL ? v->now : v->w->status_time;
	char *as_xml = query_get(v->rq->a, v->rq->query, "xml");

	if (as_xml != NULL && strcmp(as_xml, "0") != 0) {
		v->rp->type = xml;
		page_status_xml(&v->rp->body, v->w->p.conf, s, when);
	} else {
		page_status(&v->rp->body, v->w->p.conf, s, when);
	}
}

static const struct route {
	const char *name;
	void (*page)(struct visit *);
	bool
	    while_stopped; /* served although stop_web is there, or answers it itself */
} routes[] = {
	{ "", home, true }, /* the master page: clients need it to find a scheduler */
	{ "index.php", home, true },
	{ "style.css", style, true },
	{ "get_project_config.php", project_config, true },
	{ "create_account.php", create_account, true },
	{ "lookup_account.php", lookup_account, true },
	{ "server_status.php", server_status, false },
};

/* What follows the project's path; behind a proxy that changes it, what follows its
 * first part. */
static const char *
page_name(const struct visit *v)
{
	const char *uri = v->rq->uri, *base = strstr(v->w->p.conf->master_url, "://");

	base = base == NULL ? NULL : strchr(base + 3, '/');
	if (base != NULL && strncmp(uri, base, strlen(base)) == 0)
		return uri + strlen(base);
	uri = uri[0] == '/' ? strchr(uri + 1, '/') : NULL;
	return uri == NULL ? "" : uri + 1;
}

static const struct route *
find_route(const char *name)
{
	for (size_t i = 0; i < N(routes); i++)
		if (strcmp(routes[i].name, name) == 0)
			return &routes[i];
	return NULL;
}

static void
serve_page(struct visit *v)
{
	const struct route *r = find_route(page_name(v));

	v->rp->type = html;
	if (r == NULL) {
		not_found(v);
	} else if (!r->while_stopped && web_stopped(v)) {
		v->rp->status = "503 Service Unavailable";
		page_message(&v->rp->body, v->w->p.conf, "Down for maintenance",
		    "This project is temporarily down for maintenance. Please try "
		    "again later.");
	} else {
		r->page(v);
	}
}

static void
handle(void *ctx, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct visit v = { .w = ctx, .rq = rq, .rp = rp, .now = clock_now() };
	static const char safety[] =
	    "Content-Security-Policy: default-src 'self'; frame-ancestors 'none'\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Referrer-Policy: same-origin\r\n";
	struct fail f = { 0 };

	rp->type = html;
	if (project_configure(&v.w->p, &f) != OK) {
		log_fail("configuration", &f);
		rp->status = "503 Service Unavailable";
		page_message(&rp->body, v.w->p.conf, "Down for maintenance",
		    "This project's configuration cannot be used.");
	} else if (rq->too_large) {
		rp->status = "413 Request Entity Too Large";
		page_message(
		    &rp->body, v.w->p.conf, "Too large", "The request is too large.");
	} else {
		serve_page(&v);
	}
	rp->headers = arena_printf(
	    rq->a, "%s%s", safety, rp->headers == NULL ? "" : rp->headers);
	log_debug("%s %s: %s, %zu bytes", rq->method, rq->uri,
	    rp->status == NULL ? "200" : rp->status, rp->body.n);
}

static size_t
body_max(void *ctx)
{
	(void)ctx;
	return BODY_MAX;
}

static const char usage_text[] = "usage: web [--project DIR]\n"
				 "\n"
				 "  -p, --project DIR\n"
				 "  -h, --help\n"
				 "  -V, --version\n";

static const struct option longopts[] = {
	{ "project", required_argument, NULL, 'p' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

/* -1: go on; else the exit code. */
static int
parse_options(int argc, char **argv, const char **project)
{
	int c;

	while ((c = getopt_long(argc, argv, "p:hV", longopts, NULL)) != -1) {
		switch (c) {
		case 'p':
			*project = optarg;
			break;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		case 'V':
			printf("web (%s) %s\n", PACKAGE_NAME, PACKAGE_VERSION);
			return 0;
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (optind < argc) {
		fputs(usage_text, stderr);
		return 2;
	}
	return -1;
}

int
main(int argc, char **argv)
{
	static struct web w;
	const char *project = NULL;
	struct fail f = { 0 };
	int rc = parse_options(argc, argv, &project);

	if (rc >= 0)
		return rc;
	log_open("web", NULL, LOG_INFO);
	if (project_find(&w.p, "web", project, true, &f) != OK) {
		fprintf(stderr, "web: %s\n", f.detail);
		return err_exit(f.code);
	}
	proc_signals();
	if (project_configure(&w.p, &f) != OK)
		log_fail("configuration", &f);
	fcgi_serve(body_max, handle, &w);
	project_close(&w.p);
	return EXIT_SUCCESS;
}
