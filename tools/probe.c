/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the requests by libcurl; each failure comes with its cure. */
#include "tools/probe.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/node.h"
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/sock.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/probe.h"
#include "proto/upload.h"
#include "tools/dir_cure.h"
#include "tools/http_ask.h"
#include "tools/key.h"
#include "tools/service.h"
#include "tools/traces.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

enum { SECRET_DIGITS = 32, SECRET_MOST = 256, PAD_LINE = 200, NODE_SEEN_S = 60 };

struct asking {
	struct cmd_ctx *x;
	struct arena *a;
	const struct conf *cf;
	const char *ca_file;
	size_t pad_bytes; /* makes the scheduler's request at least so large */
	struct http_answer reply;
	struct probe p;
};

static bool probe_failed(struct asking *q, bool lasts, char *why, char *mend)
{
	q->p.why = why;
	q->p.mend = mend;
	q->p.lasts = lasts;
	return false;
}

static bool probe_failed_web(struct asking *q, char *why, char *mend)
{
	q->p.bad_chain = q->reply.bad_chain;
	q->p.web = !q->p.bad_chain; /* the certificate has a check of its own */
	return probe_failed(q, false, why, mend);
}

static bool probe_failed_at(struct asking *q, const char *service, const char *url)
{
	const struct web_trouble t = web_trouble(q->x, q->a, service, url, &q->reply);

	return probe_failed_web(q, t.text, t.cure);
}

/* Sends a POST if there is a body, else a GET. */
static bool probe_fetch(
    struct asking *q, const char *service, const char *url, const char *body)
{
	const struct http_ask ask = { .url = url,
		.body = body,
		.body_n = body == NULL ? 0 : strlen(body),
		.ca_file = q->ca_file };

	if (http_ask(q->a, &ask, &q->reply))
		return true;
	return probe_failed_at(q, service, url);
}

/* Reads the secret of run_dir; the first caller creates it. A copied project has
 * another run_dir. */
static bool probe_secret(struct asking *q, char **text)
{
	const char *path = arena_printf(q->a, "%s/" PROBE_SECRET_FILE, q->cf->run_dir);
	struct fail f = { 0 };
	char drawn[SECRET_DIGITS + 1];
	enum err e = fs_read(q->a, path, SECRET_MOST, text, NULL, &f);

	if (e == E_NOTFOUND) {
		random_hex(drawn, SECRET_DIGITS);
		*text = arena_strdup(q->a, drawn);
		e = fs_write(path, *text, strlen(*text), 0600, &f);
	}
	if (e == OK)
		return true;
	return probe_failed(q, true, arena_strdup(q->a, f.detail),
	    arena_printf(q->a, "run locus as the account of %s, or as root",
		q->cf->project_dir));
}

static char *first_url(struct arena *a, const char *urls)
{
	return arena_memdup(a, urls, strcspn(urls, " "));
}

/* Returns the message that the reply has for volunteers, if nothing better is known. */
static char *message_of(struct arena *a, const char *reply)
{
	const char *at = strstr(reply, "<message"), *end;

	at = at == NULL ? NULL : strchr(at, '>');
	end = at == NULL ? NULL : strchr(at, '<');
	return end == NULL ? arena_strdup(a, "a reply that is not from this project") :
	                     arena_memdup(a, at + 1, (size_t)(end - at - 1));
}

static const char *account_name(struct arena *a, const char *number)
{
	struct passwd *pw;
	int64_t uid;

	if (!text_i64(number, 0, UINT32_MAX, &uid))
		return NULL;
	pw = getpwuid((uid_t)uid);
	return pw == NULL ? number : arena_strdup(a, pw->pw_name);
}

struct answer { /* elements of the reply */
	const char *decision, *reason, *account, *trouble, *dir, *file;
	const char *stranger; /* the account, if it is not the project's */
	bool full;            /* the file system of dir has no room */
};

/* Parses the reply. Keeps the first trouble: that of the request, or else of a
 * directory. */
static bool read_answer(struct asking *q, struct answer *w)
{
	struct fail f = { 0 };
	struct xml_node *root;

	*w = (struct answer){ 0 };
	if (strstr(q->reply.body.p, "<" PROBE_ELEMENT ">") == NULL ||
	    xml_tree(q->a, "reply", q->reply.body.p, q->reply.body.n, &root, &f) !=
		OK ||
	    root->child == NULL)
		return false;
	for (const struct xml_node *n = root->child->child; n != NULL; n = n->next) {
		if (w->trouble != NULL)
			continue;
		if (strcmp(n->name, PROBE_DECISION) == 0)
			w->decision = n->text;
		else if (strcmp(n->name, PROBE_REASON) == 0)
			w->reason = n->text;
		else if (strcmp(n->name, PROBE_ACCOUNT) == 0)
			w->account = account_name(q->a, n->text);
		else if (strcmp(n->name, PROBE_FILE) == 0)
			w->file = n->text;
		else if (strcmp(n->name, PROBE_DIR) == 0)
			w->dir = n->text;
		else if (strcmp(n->name, PROBE_CODE) == 0)
			w->full = strcmp(n->text, err_name(E_DISK_FULL)) == 0;
		else if (strcmp(n->name, PROBE_TROUBLE) == 0)
			w->trouble = n->text;
	}
	return w->decision != NULL;
}

static bool decision_is_logged(struct asking *q, const char *decision)
{
	struct trace **v;
	size_t n = 0;

	if (q->cf->decision_rings == 0)
		return true;
	return traces_of_rpc(q->x, decision, &v, &n) == OK && n > 0;
}

/* Does another machine of this project serve, to which the URL may lead? */
static bool other_machine_serves(struct asking *q)
{
	struct row_node *nodes;
	struct node here;
	struct fail f = { 0 };
	size_t n;

	if (node_here(q->a, q->cf, &here, &f) != OK || ctx_db(q->x) != OK ||
	    nodes_list(q->x->db, q->a, &nodes, &n, &f) != OK)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(nodes[i].name, here.name) != 0 && nodes[i].idle_s >= 0 &&
		    nodes[i].idle_s <= NODE_SEEN_S)
			return true;
	return false;
}

/*
 * Did a scheduler on another machine of this project reply? It does not know this
 * machine's secret, so its reply is that to a client with a wrong key.
 */
static bool answered_elsewhere(struct asking *q)
{
	struct buf name = buf_new(q->a);

	buf_tag(&name, "project_name", q->cf->long_name);
	return strstr(q->reply.body.p, text_trim(name.p)) != NULL &&
	       other_machine_serves(q);
}

/*
 * Who answers need not be the project's scheduler: no cure, which root may carry out,
 * names a path that config.xml does not know, or has more than a path in it, nor
 * another account than the project's.
 */
static bool path_is_projects(const struct conf *cf, const char *path)
{
	const char *const dirs[] = { cf->project_dir, cf->run_dir, cf->log_dir,
		cf->upload_dir, cf->download_dir, cf->key_dir };

	if (strcmp(path, cf->path) == 0)
		return true;
	if (strstr(path, "..") != NULL || !text_is_plain(path))
		return false;
	for (size_t i = 0; i < N(dirs); i++)
		if (strlen(dirs[i]) > 1 && text_below(dirs[i], path) != NULL)
			return true;
	return false;
}

/* The account as which everything of the project runs; NULL = unknown. */
static const char *account_of_project(const struct asking *q)
{
	const struct passwd *pw;
	struct stat st;

	if (q->x->owner.as.name != NULL)
		return q->x->owner.as.name;
	if (q->cf->run_user[0] != '\0')
		return q->cf->run_user;
	if (stat(q->cf->path, &st) < 0)
		return NULL;
	pw = getpwuid(st.st_uid);
	return pw == NULL ? NULL : arena_strdup(q->a, pw->pw_name);
}

static void doubt_answer(const struct asking *q, struct answer *w)
{
	const char *own = account_of_project(q);

	if (w->account != NULL && (own == NULL || strcmp(w->account, own) != 0)) {
		w->stranger = w->account;
		w->account = NULL;
	}
	if (w->account == NULL || (w->dir != NULL && !path_is_projects(q->cf, w->dir)))
		w->dir = NULL;
	if (w->account == NULL ||
	    (w->file != NULL && !path_is_projects(q->cf, w->file)))
		w->file = NULL;
}

/* The scheduler answers, but gives no work to anybody. */
static bool cannot_serve(struct asking *q, const struct answer *w, const char *url)
{
	const char *stop = project_path(q->a, q->cf, "stop_sched");
	char *why = arena_printf(q->a, "the scheduler cannot serve: %s", w->trouble);

	if (w->stranger != NULL)
		return probe_failed(q, false,
		    arena_printf(q->a,
			"the scheduler that answers at %s says that it runs as the account %s, which is not this project's: %s",
			url, w->stranger, w->trouble),
		    arena_printf(q->a,
			"%s; if another one still answers, see scheduler_url in config.xml",
			locus_command(q->a, q->cf, "restart scheduler")));
	if (fs_exists(stop))
		return probe_failed_web(q, why,
		    owner_command(
			q->a, &q->x->owner, arena_printf(q->a, "rm %s", stop)));
	/* The scheduler has no database. */
	return probe_failed(q, false, why,
	    q->cf->private_servers ?
		arena_printf(q->a, "%s  # or see %s/mariadbd.log",
		    locus_command(q->a, q->cf, "start"), q->cf->log_dir) :
		arena_strdup(q->a,
		    "start the database server, or correct the options db_... in config.xml"));
}

/* The scheduler listens, and the web server's file leads to it. */
static bool probe_not_reached(struct asking *q, const char *url)
{
	const struct web_trouble t = web_trouble(
	    q->x, q->a, "scheduler", url, &q->reply);

	return probe_failed_web(q,
	    arena_printf(q->a,
		"%s is answered by the web server itself, which does not reach the scheduler, though that listens",
		url),
	    t.cure);
}

/* A reply without the words that a scheduler has for the secret of run_dir. */
static bool judge_other_answer(struct asking *q, const char *url)
{
	struct web_trouble t;

	if (answered_elsewhere(q))
		return true;
	if (!sock_answers(service_socket(q->a, q->cf, "scheduler")) ||
	    web_conf_trouble(q->x, q->a, "scheduler", &t))
		return probe_failed_at(q, "scheduler", url);
	/*
	 * Is it the page that a web server has for a scheduler that it does not reach?
	 * The scheduler's own reply, which has the same words, names the project.
	 */
	if (strstr(q->reply.body.p, "The scheduler is busy") != NULL &&
	    strstr(q->reply.body.p, "<project_name>") == NULL)
		return probe_not_reached(q, url);
	return probe_failed(q, false,
	    arena_printf(
		q->a, "%s says \"%.300s\"", url, message_of(q->a, q->reply.body.p)),
	    arena_printf(q->a,
		"see locus config check and %s/scheduler.log; the account of the scheduler must be able to read config.xml and %s",
		q->cf->log_dir, q->cf->run_dir));
}

static bool judge_answer(struct asking *q, const char *url)
{
	struct answer w;

	if (!read_answer(q, &w))
		return judge_other_answer(q, url);
	doubt_answer(q, &w);
	q->p.reason = arena_strdup(q->a, w.reason == NULL ? "" : w.reason);
	if (w.dir != NULL)
		return probe_failed(q, true,
		    arena_printf(q->a, "account %s cannot write to %s: %s", w.account,
			w.dir, w.trouble),
		    dir_cure(
			q->a, q->x, w.dir, w.account, w.full ? E_DISK_FULL : E_SYS));
	if (w.file != NULL)
		return probe_failed(q, true,
		    arena_printf(q->a,
			"new clients get no work because account %s cannot read %s: %s",
			w.account, w.file, w.trouble),
		    fs_exists(w.file) ? file_cure(q->a, q->x, w.file, w.account) :
					key_absent_cure(q->a, q->x, w.file));
	if (w.trouble != NULL)
		return cannot_serve(q, &w, url);
	/* A machine with a copy of run_dir knows the secret. */
	if (!decision_is_logged(q, w.decision) && !other_machine_serves(q))
		return probe_failed(q, true,
		    arena_printf(q->a,
			"decision %s is not in %s/decisions: the scheduler of another machine or project answers at %s",
			w.decision, q->cf->run_dir, url),
		    arena_strdup(q->a, "see scheduler_url in config.xml"));
	return true;
}

/* Lines that the scheduler skips, as clients newer than it may send. */
static char *padding(struct asking *q)
{
	struct buf b = buf_new(q->a);
	char line[PAD_LINE + 1];

	memset(line, 'x', PAD_LINE);
	line[PAD_LINE] = '\0';
	buf_puts(&b, "");
	while (b.n < q->pad_bytes)
		buf_printf(
		    &b, "<" PROBE_ELEMENT "_pad>%s</" PROBE_ELEMENT "_pad>\n", line);
	return b.p;
}

static bool ask_scheduler(struct asking *q)
{
	const char *url = first_url(q->a, q->cf->scheduler_url);
	char *key;

	if (!probe_secret(q, &key))
		return false;
	if (!probe_fetch(q, "scheduler", url,
		arena_printf(q->a,
		    "<scheduler_request>\n<" PROBE_ELEMENT ">%s</" PROBE_ELEMENT ">\n"
		    "<authenticator>probe</authenticator>\n"
		    "<platform_name>x86_64-pc-linux-gnu</platform_name>\n"
		    "<core_client_major_version>8</core_client_major_version>\n"
		    "<core_client_minor_version>0</core_client_minor_version>\n"
		    "<work_req_seconds>1</work_req_seconds>\n"
		    "%s</scheduler_request>\n",
		    text_trim(key), padding(q))))
		return false;
	if (q->reply.status == 404 ||
	    strstr(q->reply.body.p, "<scheduler_reply>") == NULL)
		return probe_failed_at(q, "scheduler", url);
	return judge_answer(q, url);
}

static bool ask_uploads(struct asking *q)
{
	const char *url = first_url(q->a, q->cf->upload_url);
	struct fail f = { 0 };
	char *message;
	int64_t size;
	int status;

	if (!probe_fetch(q, "upload", url,
		"<data_server_request>\n<get_file_size>probe</get_file_size>\n"
		"</data_server_request>\n"))
		return false;
	if (q->reply.status != 200 ||
	    upload_parse_reply(q->a, q->reply.body.p, q->reply.body.n, &status, &size,
		&message, &f) != OK)
		return probe_failed_at(q, "upload", url);
	if (status == 0)
		return true;
	return probe_failed(q, false,
	    arena_printf(q->a, "uploads are refused: %s", message),
	    arena_printf(q->a, "see locus doctor and %s/file_upload_handler.log",
		q->cf->log_dir));
}

struct probe probe_project(struct cmd_ctx *x, struct arena *a)
{
	struct asking q = { .x = x, .a = a, .cf = x->cf };

	/* The scheduler gives the best diagnosis. */
	if (!ask_scheduler(&q) || !probe_fetch(&q, "web", x->cf->master_url, NULL))
		return q.p;
	if (q.reply.status != 200)
		probe_failed_at(&q, "web", x->cf->master_url);
	else
		ask_uploads(&q);
	return q.p;
}

struct probe probe_scheduler(
    struct cmd_ctx *x, struct arena *a, size_t nbytes, const char *ca_file)
{
	struct asking q = {
		.x = x, .a = a, .cf = x->cf, .pad_bytes = nbytes, .ca_file = ca_file
	};

	ask_scheduler(&q);
	return q.p;
}
