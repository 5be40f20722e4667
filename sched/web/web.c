/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web program: master page, web RPCs, status page. Serves FastCGI on a socket
 * (serve.h) and finds pages by the last part of REQUEST_URI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "db/project.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "proto/web.h"
#include "sched/project.h"
#include "sched/serve/serve.h"
#include "sched/web/web_metrics.h"
#include "sched/web/web_page.h"
#include "sched/web/web_account.h"
#include "sched/web/web_limit.h"
#include "lib/banned.h"

enum {
	BODY_MAX = 64 << 10,
	TERMS_MAX =
	    8 << 10, /* with character references still within what clients take */
	STATUS_AGE_S = 10
};

static const char html[] = "text/html; charset=utf-8";
static const char xml[] = "text/xml";

struct web { /* one per worker */
	struct project p;
	struct status status;
	int64_t status_time;  /* 0 = never counted */
	int64_t status_age_s; /* age of the data when they were counted */
	struct web_figures *figures;
	struct web_mailer *mailer;
};

struct web_server {           /* lives as long as the process */
	struct project front; /* of the connection threads; has no database */
	struct web *workers;
	struct web_figures figures;
	struct web_mailer mailer;
	struct arena a;
};

struct visit { /* one request and its reply */
	struct web *w;
	const struct fcgi_request *rq;
	struct fcgi_reply *rp;
	int64_t now;
};

/*
 * Reads a page file: the project's own, otherwise the installed one; returns NULL if
 * neither can be read.
 */
static char *read_page_file(struct visit *v, const char *name)
{
	struct arena *a = v->rq->a;
	const char *const paths[] = {
		project_path(a, v->w->p.conf, arena_printf(a, "html/%s", name)),
		arena_printf(a, "%s/%s", PKGDATADIR, name),
	};
	struct fail f = { 0 };
	char *text;

	for (size_t i = 0; i < N(paths); i++)
		if (fs_read(a, paths[i], WEB_PAGE_MOST, &text, NULL, &f) == OK)
			return text;
	return NULL;
}

static void home(struct visit *v)
{
	page_home(&v->rp->body, v->w->p.conf, read_page_file(v, "home.html"));
}

static void style(struct visit *v)
{
	const char *css = read_page_file(v, "style.css");

	v->rp->type = "text/css; charset=utf-8";
	v->rp->headers = "Cache-Control: public, max-age=3600\r\n";
	buf_puts(&v->rp->body, css == NULL ? "" : css);
}

static void not_found(struct visit *v)
{
	v->rp->status = "404 Not Found";
	page_message(&v->rp->body, v->w->p.conf, "Page not found",
	    "This project has no such page.");
}

/* Connects to the database; logs a failure. */
static bool web_connect(struct visit *v)
{
	struct fail f = { 0 };

	if (project_connect(&v->w->p, v->now, &f) == OK)
		return true;
	log_fail("connecting to the database", &f);
	return false;
}

static bool web_stopped(struct visit *v)
{
	return fs_exists(project_path(v->rq->a, v->w->p.conf, "stop_web"));
}

static void unavailable(struct visit *v, const char *title, const char *text)
{
	v->rp->status = "503 Service Unavailable";
	page_message(&v->rp->body, v->w->p.conf, title, text);
}

static bool stopped_page(struct visit *v)
{
	if (!web_stopped(v))
		return false;
	unavailable(v, "Down for maintenance",
	    "This project is temporarily down for maintenance. Please try again later.");
	return true;
}

/* Returns the text that volunteers must agree to, or NULL. */
static const char *terms_of_use(struct visit *v)
{
	const char *path = project_path(v->rq->a, v->w->p.conf, "terms_of_use.txt");
	struct fail f = { 0 };
	char *text;

	if (!fs_exists(path))
		return NULL;
	if (fs_read(v->rq->a, path, TERMS_MAX, &text, NULL, &f) == OK)
		return text;
	log_fail("terms of use", &f);
	return NULL;
}

/*
 * Needs only small tables; without a database the document is sent without platforms.
 */
static void project_config(struct visit *v)
{
	struct project *p = &v->w->p;

	v->rp->type = xml;
	v->rp->headers = "Cache-Control: no-cache\r\nX-Robots-Tag: noindex\r\n";
	web_project_config(&v->rp->body, &(struct web_project){
					     .conf = p->conf,
					     .catalog = web_connect(v) ? p->cat : NULL,
					     .server_version = PACKAGE_VERSION,
					     .terms_of_use = terms_of_use(v),
					     .web_stopped = web_stopped(v),
					     .sched_stopped = fs_exists(project_path(
						 v->rq->a, p->conf, "stop_sched")),
					 });
}

/* --- RPCs --- */

static struct web_rpc web_rpc_of(struct visit *v)
{
	return (struct web_rpc){ .b = &v->rp->body,
		.a = v->rq->a,
		.conf = v->w->p.conf,
		.db = v->w->p.db,
		.query = v->rq->query,
		.form = v->rq->body,
		.peer = v->rq->peer,
		.now = v->now };
}

static void serve_rpc(struct visit *v, void (*rpc)(struct web_rpc *))
{
	struct web_rpc x;

	v->rp->type = xml;
	v->rp->headers = "Cache-Control: no-store\r\nX-Robots-Tag: noindex\r\n";
	if (web_stopped(v))
		web_error(&v->rp->body, WEB_OFFLINE, NULL);
	else if (!web_connect(v))
		web_error(&v->rp->body, WEB_NO_DATABASE, NULL);
	else {
		x = web_rpc_of(v);
		rpc(&x);
	}
}

/* --- pages --- */

static bool wants_xml(struct visit *v)
{
	struct web_rpc x = web_rpc_of(v);

	return strcmp(web_text(&x, "format"), "xml") == 0;
}

/* A page for people; statistics sites request the same data as XML. */
static void show_user(struct visit *v)
{
	struct web_rpc x;
	struct user_info *u;
	struct fail f = { 0 };
	enum err e = E_DB;

	if (wants_xml(v)) {
		serve_rpc(v, rpc_show_user);
		return;
	}
	if (stopped_page(v))
		return;
	if (web_connect(v)) {
		x = web_rpc_of(v);
		e = web_public_account(&x, &u, &f);
		if (e != OK && e != E_NOTFOUND)
			log_fail("page of an account", &f);
	}
	if (e == OK)
		page_user(&v->rp->body, v->w->p.conf, u);
	else if (e == E_NOTFOUND)
		not_found(v);
	else
		unavailable(v, "Not available",
		    "The database is not available. Please try again later.");
}

/* The BOINC Manager opens this page in a browser after an account is created. */
static void account_finish(struct visit *v)
{
	page_message(&v->rp->body, v->w->p.conf, "Your account is ready",
	    "Your computer is now attached to this project. It will get tasks automatically; you can close this page.");
}

static bool is_post(const struct visit *v)
{
	return strcmp(v->rq->method, "POST") == 0;
}

/* Pages about passwords are nobody else's: no cache keeps them. */
static const char private_page[] =
    "Cache-Control: no-store\r\nX-Robots-Tag: noindex\r\n";

/* The BOINC Manager links to this page for volunteers who forgot their password. */
static void get_passwd(struct visit *v)
{
	struct web_rpc x = web_rpc_of(v);

	if (stopped_page(v))
		return;
	v->rp->headers = private_page;
	v->rp->status = passwd_page_forgotten(&x, is_post(v), v->w->mailer);
}

static void set_passwd(struct visit *v)
{
	struct web_rpc x;

	if (stopped_page(v))
		return;
	v->rp->headers = private_page;
	if (!web_connect(v)) {
		unavailable(v, "Not available",
		    "The database is not available. Please try again later.");
		return;
	}
	x = web_rpc_of(v);
	v->rp->status = passwd_page_set(&x, is_post(v), v->w->mailer);
}

static void robots(struct visit *v)
{
	v->rp->type = "text/plain";
	buf_puts(&v->rp->body, "User-agent: *\nDisallow: /*.php\n");
}

/* Counts on the replica, if there is one that is available and recent. */
static bool replica_status(struct visit *v)
{
	struct web *w = v->w;
	struct fail f = { 0 };
	struct db *db = NULL;
	int64_t age_s = 0;
	enum err e = replica_open(v->rq->a, w->p.conf, DB_LOOK, &db, &age_s, &f);

	if (e == OK)
		e = status_count(db, v->rq->a, v->now, &w->status, &f);
	if (e != OK && e != E_NOTFOUND)
		log_warn("reading from the primary: %s", f.detail);
	w->status_age_s = e == OK ? age_s : 0;
	db_close(db);
	return e == OK;
}

/*
 * Returns the counts, at most STATUS_AGE_S old: anyone may request this page as often
 * as they like.
 */
static const struct status *fresh_status(struct visit *v)
{
	struct web *w = v->w;
	struct fail f = { 0 };

	if (w->status_time != 0 && v->now - w->status_time < STATUS_AGE_S &&
	    v->now >= w->status_time)
		return &w->status;
	w->status_age_s = 0;
	if (replica_status(v)) {
		w->status_time = v->now;
		return &w->status;
	}
	if (!web_connect(v))
		return NULL;
	if (status_count(w->p.db, v->rq->a, v->now, &w->status, &f) != OK) {
		log_fail("status", &f);
		w->status_time = 0;
		return NULL;
	}
	w->status_time = v->now;
	return &w->status;
}

static bool query_flag(struct visit *v, const char *name)
{
	const char *value = query_get(v->rq->a, v->rq->query, name);

	return value != NULL && strcmp(value, "0") != 0;
}

static void server_status(struct visit *v)
{
	const struct status *s;
	int64_t when;

	if (stopped_page(v))
		return;
	s = fresh_status(v);
	when = s == NULL ? v->now : v->w->status_time - v->w->status_age_s;
	if (query_flag(v, "json")) {
		v->rp->type = "application/json";
		page_status_json(&v->rp->body, v->w->p.conf, s, when);
	} else if (query_flag(v, "xml")) {
		v->rp->type = xml;
		page_status_xml(&v->rp->body, v->w->p.conf, s, when);
	} else {
		page_status(&v->rp->body, v->w->p.conf, s, when);
	}
}

static const struct route {
	const char *name; /* ".php" may follow: some clients have it compiled in */
	void (*page)(struct visit *);
	void (*rpc)(struct web_rpc *);
} routes[] = {
	{ "", home, NULL }, /* the master page, where clients find the scheduler */
	{ "index", home, NULL },
	{ "home", home, NULL },
	{ "style.css", style, NULL },
	{ "robots.txt", robots, NULL },
	{ "get_project_config", project_config, NULL },
	{ "create_account", NULL, rpc_create_account },
	{ "lookup_account", NULL, rpc_lookup_account },
	{ "login_token_lookup", NULL, rpc_login_token },
	{ "am_get_info", NULL, rpc_manager_get_info },
	{ "am_set_info", NULL, rpc_manager_set_info },
	{ "am_set_host_info", NULL, rpc_manager_set_host },
	{ "show_user", show_user, NULL },
	{ "team_lookup", NULL, rpc_team_lookup },
	{ "notices", NULL, rpc_notices },
	{ "notify_rss", NULL, rpc_notify_rss },
	{ "server_status", server_status, NULL },
	{ "account_finish", account_finish, NULL },
	{ "get_passwd", get_passwd, NULL },
	{ "set_passwd", set_passwd, NULL },
};

/*
 * Returns what follows the project's path in the URI; behind a proxy that changes the
 * path, what follows its first part.
 */
static const char *page_name(const struct visit *v)
{
	const char *uri = v->rq->uri, *base = strstr(v->w->p.conf->master_url, "://");

	base = base == NULL ? NULL : strchr(base + 3, '/');
	if (base != NULL && strncmp(uri, base, strlen(base)) == 0)
		return uri + strlen(base);
	uri = uri[0] == '/' ? strchr(uri + 1, '/') : NULL;
	return uri == NULL ? "" : uri + 1;
}

static const struct route *find_route(const char *name)
{
	size_t n = strlen(name);

	if (n > 4 && strcmp(name + n - 4, ".php") == 0)
		n -= 4;
	for (size_t i = 0; i < N(routes); i++)
		if (strlen(routes[i].name) == n && memcmp(routes[i].name, name, n) == 0)
			return &routes[i];
	return NULL;
}

/*
 * Is this the URI of the metrics: /NAME_ops/metrics, with the NAME of master_url? It
 * must be spelled exactly so, as the web server judges the address by the decoded path.
 */
static bool is_metrics(const struct visit *v)
{
	const char *base = strstr(v->w->p.conf->master_url, "://");
	const char *uri = v->rq->uri;
	size_t n;

	base = base == NULL ? NULL : strchr(base + 3, '/');
	n = base == NULL ? 0 : strlen(base);
	return n > 1 && strncmp(uri, base, n - 1) == 0 &&
	       strcmp(uri + n - 1, "_ops/metrics") == 0;
}

/* Returns why the metrics are refused; NULL if they are not. */
static const char *metrics_refusal(const struct visit *v)
{
	static const char bearer[] = "Bearer ";
	const char *token = v->w->p.conf->metrics_token, *auth = v->rq->auth;

	if (token[0] == '\0' && auth[0] == '\0')
		return NULL; /* the web server has judged the address */
	if (token[0] != '\0' && strncmp(auth, bearer, sizeof(bearer) - 1) == 0 &&
	    secret_equal(auth + sizeof(bearer) - 1, token))
		return NULL;
	return "401 Unauthorized";
}

static void metrics_page(struct visit *v)
{
	v->rp->type = "text/plain; version=0.0.4; charset=utf-8";
	v->rp->headers = "Cache-Control: no-store\r\n";
	v->rp->status = metrics_refusal(v);
	if (v->rp->status != NULL) {
		v->rp->headers = "WWW-Authenticate: Bearer\r\n";
		buf_puts(&v->rp->body, "See metrics_token in config.xml(5).\n");
		return;
	}
	web_figures_render(v->w->figures, v->w->p.conf, v->now, &v->rp->body);
}

static void web_serve_page(struct visit *v)
{
	const struct route *r = find_route(page_name(v));

	v->rp->type = html;
	if (is_metrics(v)) {
		metrics_page(v);
	} else if (r == NULL) {
		not_found(v);
	} else if (r->rpc != NULL) {
		serve_rpc(v, r->rpc);
	} else {
		r->page(v);
	}
}

static void add_safety(struct arena *a, struct fcgi_reply *rp)
{
	static const char safety[] =
	    "Content-Security-Policy: default-src 'self'; form-action 'self'; frame-ancestors 'none'\r\n"
	    "X-Content-Type-Options: nosniff\r\n"
	    "Referrer-Policy: same-origin\r\n";

	rp->headers = arena_printf(
	    a, "%s%s", safety, rp->headers == NULL ? "" : rp->headers);
}

static void web_answer(
    void *worker, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct visit v = { .w = worker, .rq = rq, .rp = rp, .now = clock_now() };
	struct fail f = { 0 };

	rp->type = html;
	if (project_configure(&v.w->p, &f) != OK) {
		log_fail("configuration", &f);
		rp->status = "503 Service Unavailable";
		page_message(&rp->body, v.w->p.conf, "Down for maintenance",
		    "This project's configuration has an error.");
	} else {
		web_serve_page(&v);
	}
	add_safety(rq->a, rp);
	log_debug("%s %s: %s, %zu bytes", rq->method, rq->uri,
	    rp->status == NULL ? "200" : rp->status, rp->body.n);
}

static void web_refuse(
    void *ctx, enum serve_end why, double delay_s, struct fcgi_reply *rp)
{
	static const struct {
		const char *status, *headers, *title, *text;
	} as[] = {
		[SERVE_BUSY] = { "503 Service Unavailable", "Retry-After: 60\r\n",
		    "Busy", "The server is busy. Please try again in a minute." },
		[SERVE_METHOD] = { "405 Method Not Allowed",
		    "Allow: GET, HEAD, POST\r\n", "Not allowed",
		    "Pages can only be read." },
		[SERVE_TOO_LARGE] = { "413 Request Entity Too Large", NULL, "Too large",
		    "The request is too large." },
		[SERVE_CUT_OFF] = { "400 Bad Request", NULL, "Incomplete request",
		    "The request ended early." },
	};
	struct web_server *s = ctx;

	(void)delay_s; /* browsers do not wait */
	rp->type = html;
	rp->status = as[why].status;
	rp->headers = as[why].headers;
	page_message(&rp->body, s->front.conf, as[why].title, as[why].text);
	add_safety(rp->body.a, rp);
	log_info("request turned away: %s", as[why].status);
}

static struct serve_terms web_terms(void *ctx)
{
	struct web_server *s = ctx;
	struct fail f = { 0 };

	project_read_config(&s->front, &f); /* workers log what is wrong with it */
	return (struct serve_terms){ .body_max = BODY_MAX,
		.proxies = s->front.conf->trusted_proxies };
}

static void *web_worker_begin(void *ctx, int64_t i)
{
	struct web_server *s = ctx;
	struct web *w = &s->workers[i];
	struct fail f = { 0 };

	w->figures = &s->figures;
	w->mailer = &s->mailer;
	/* The main thread has just found the project. */
	if (project_find(&w->p, "web", s->front.dir, true, &f) != OK ||
	    project_configure(&w->p, &f) != OK)
		log_fail("configuration", &f);
	return w;
}

static void web_worker_end(void *worker)
{
	struct web *w = worker;

	project_close(&w->p);
}

/* Serves FastCGI until the process is asked to stop. */
static enum err web_serve(
    struct web_server *s, const struct serve_options *o, struct fail *f)
{
	const struct conf *cf = s->front.conf;
	const struct serve_program program = { .name = "web",
		.ctx = s,
		.socket = o->socket != NULL ?
		              o->socket :
		              arena_printf(&s->a, "%s/web.sock", cf->run_dir),
		.peer = web_peer_of(cf),
		.terms = web_terms,
		.refuse = web_refuse,
		.worker = web_worker_begin,
		.answer = web_answer,
		.worker_end = web_worker_end };
	const struct serve_size size = serve_size_of(o, cf, cf->web_workers);
	enum err e;

	s->workers = NEWN(&s->a, struct web, (size_t)size.workers);
	web_figures_begin(&s->figures, s->front.dir);
	web_mailer_begin(&s->mailer, s->front.dir);
	metric_show_service(cf, "web");
	e = serve_run(&program, &size, f);
	web_figures_end(&s->figures);
	web_mailer_end(&s->mailer);
	return e;
}

int main(int argc, char **argv)
{
	struct web_server s = { 0 };
	struct serve_options o = { 0 };
	struct fail f = { 0 };
	struct args g = { .a = &s.a,
		.program = "web",
		.common = serve_fields,
		.common_row = &o,
		.usage = "usage: web [options]\n\n",
		.version = "web (" PACKAGE_NAME ") " PACKAGE_VERSION };
	int rc = args_answer(&g, args_read(&g, argc, argv, &f), &f);
	enum err e;

	if (rc >= 0)
		return rc;
	log_open("web", NULL, LOG_INFO);
	if (project_find(&s.front, "web", o.project, true, &f) != OK) {
		fprintf(stderr, "web: %s\n", f.detail);
		return err_exit(f.code);
	}
	proc_no_core();
	proc_signals();
	if (project_read_config(&s.front, &f) != OK)
		log_fail("configuration", &f);
	e = web_serve(&s, &o, &f);
	if (e != OK)
		log_fail("web", &f);
	log_end();
	project_close(&s.front);
	arena_free(&s.a);
	return e == OK ? EXIT_SUCCESS : err_exit(e);
}
