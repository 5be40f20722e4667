/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives output files from clients (protocol.md 6), as FastCGI on its own unix socket
 * (serve.h). The web server streams bodies, so each upload occupies a thread for as
 * long as it takes; it needs no more memory than a piece of its body, and there is no
 * database.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "lib/args.h"
#include "lib/counters.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/identity.h"
#include "model/owner.h"
#include "model/metrics.h"
#include "sched/serve/serve.h"
#include "sched/upload/upload_settings.h"
#include "sched/upload/upload_store.h"
#include "lib/banned.h"

enum {
	DONE = 0,
	TRANSIENT = 1,
	PERMANENT = -1, /* status of a reply */
	CHUNK = 16 << 10,
	FDS_UPLOAD = 2 /* of one: the part, and once more for its MD5 */
};

static const char disk_full[] = "Server is out of disk space";

struct handler { /* lives as long as the process; shared by all threads */
	struct upload_source source;
	struct counters counters; /* under source.lock */
};

struct session {                                /* one request and its reply */
	const struct upload_settings *settings; /* of when the request began */
	struct fcgi_request *rq;
	struct upload upload;
	int status;
	int64_t file_size; /* < 0 = not the reply to a size query */
	const char *message;
	struct fail fail;
	char head[UPLOAD_HEADER_MAX + 1];
	size_t head_n;
};

static void session_answer(struct session *s, int status, const char *message)
{
	s->status = status;
	s->message = message;
}

static bool head_ends_with(const char *p, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && memcmp(p + n - m, end, m) == 0;
}

/* Do the bytes so far end with a line that can end a header? */
static bool may_be_complete(const struct session *s)
{
	size_t n = s->head_n;

	while (n > 0 && text_white(s->head[n - 1]))
		n--;
	return head_ends_with(s->head, n, "<data>") ||
	       head_ends_with(s->head, n, "</data_server_request>");
}

/*
 * Reads the header and nothing more, as the rest may take long to arrive. E_BADREQ:
 * the header is bad; E_NOTFOUND: it is not a header; E_RETRY: the body ended inside it.
 */
static enum err read_header(struct session *s)
{
	while (s->head_n < sizeof(s->head)) {
		char *c = &s->head[s->head_n];
		enum err e;

		if (fcgi_body(s->rq, c, 1) == 0)
			break;
		s->head_n++;
		if (*c != '\n' || !may_be_complete(s))
			continue;
		e = upload_parse(s->rq->a, s->head, s->head_n, &s->upload, &s->fail);
		if (e != E_RETRY)
			return e;
	}
	return upload_parse(s->rq->a, s->head, s->head_n, &s->upload, &s->fail);
}

static bool text_is_blank(const char *s)
{
	while (text_white(*s))
		s++;
	return *s == '\0';
}

static bool certificate_is_valid(struct session *s)
{
	const struct upload_settings *set = s->settings;
	const struct upload *u = &s->upload;
	char *text = upload_certificate_text(s->rq->a, u->name, u->max_nbytes);
	bool valid = verify_text(set->key, text, u->xml_signature, &s->fail) == OK;

	for (size_t i = 0; !valid && i < set->nold; i++)
		valid = verify_text(set->old[i], text, u->xml_signature, &s->fail) ==
		        OK;
	return valid;
}

/*
 * Checks whether the file may be uploaded at all (protocol.md 6.2). Every error here
 * is permanent.
 */
static enum err upload_check(struct session *s)
{
	const struct upload *u = &s->upload;

	TRY(store_name_check(u->name, &s->fail));
	if (!u->has_nbytes)
		return FAIL(&s->fail, E_BADREQ, "Missing or bad nbytes");
	if (s->settings->key == NULL)
		return OK;
	if (u->xml_signature == NULL || text_is_blank(u->xml_signature))
		return FAIL(&s->fail, E_BADREQ, "Missing signature");
	if (!u->has_max_nbytes)
		return FAIL(&s->fail, E_BADREQ, "Missing max_nbytes");
	if (!certificate_is_valid(s))
		return FAIL(&s->fail, E_BADREQ, "Invalid signature");
	if ((double)u->nbytes > u->max_nbytes)
		return FAIL(&s->fail, E_BADREQ,
		    "file size (%.0f KB) exceeds limit (%.0f KB)",
		    (double)u->nbytes / 1024, u->max_nbytes / 1024);
	return OK;
}

/* Writes the bytes that follow the header, then the rest of the body. */
static enum err write_body(struct session *s, struct store_file *file)
{
	char chunk[CHUNK];
	size_t n;

	TRY(store_write(file, s->head + s->upload.header_n,
	    s->head_n - s->upload.header_n, &s->fail));
	while ((n = fcgi_body(s->rq, chunk, sizeof(chunk))) > 0)
		TRY(store_write(file, chunk, n, &s->fail));
	return store_finish(file, s->upload.md5_cksum, &s->fail);
}

static enum err store_upload(struct session *s)
{
	struct store_file file;
	enum err e;

	TRY(store_open(s->rq->a, s->settings->conf, &s->upload, &file, &s->fail));
	e = file.whole ? OK : write_body(s, &file);
	store_close(&file);
	return e;
}

static void session_take_data(struct session *s)
{
	if (upload_check(s) != OK) {
		session_answer(s, PERMANENT, s->fail.detail);
		return;
	}
	if (store_is_full(s->settings->conf)) {
		session_answer(s, TRANSIENT, disk_full);
		return;
	}
	/*
	 * System errors are described in general words: our paths are not the
	 * volunteer's business.
	 */
	switch (store_upload(s)) {
	case OK:
		break;
	case E_DISK_FULL:
		session_answer(s, TRANSIENT, disk_full);
		break;
	case E_BADREQ:
		session_answer(s, PERMANENT, s->fail.detail);
		break;
	case E_SYS:
	case E_DENIED:
		session_answer(
		    s, TRANSIENT, "The server cannot store the file at the moment");
		break;
	default:
		session_answer(s, TRANSIENT, s->fail.detail);
	}
}

static void session_tell_size(struct session *s)
{
	if (store_name_check(s->upload.name, &s->fail) != OK)
		session_answer(s, PERMANENT, s->fail.detail);
	else if (store_is_full(s->settings->conf))
		session_answer(s, TRANSIENT, disk_full);
	else
		s->file_size = store_size(s->rq->a, s->settings->conf, s->upload.name);
}

static void session_decide(struct session *s)
{
	enum err e;

	if (s->settings->fail.code != OK) {
		session_answer(
		    s, TRANSIENT, "The server cannot accept files at the moment");
		return;
	}
	if (fs_exists(project_path(s->rq->a, s->settings->conf, "stop_upload"))) {
		session_answer(s, TRANSIENT, "File uploads are temporarily disabled.");
		return;
	}
	e = read_header(s);
	if (e == E_BADREQ)
		session_answer(s, PERMANENT, s->fail.detail);
	else if (e == E_RETRY && strstr(s->head, "<file_upload>") != NULL)
		session_answer(s, PERMANENT, "The upload contains no <data>");
	else if (e != OK)
		session_answer(s, TRANSIENT, "no command");
	else if (s->upload.kind == UPLOAD_SIZE_QUERY)
		session_tell_size(s);
	else
		session_take_data(s);
}

/*
 * Makes the reply of a body that was cut off. Even a permanent refusal becomes
 * transient, because the missing bytes might have made the request valid. A file that
 * is complete nevertheless is stored.
 */
static void session_cut_off(struct session *s, struct fcgi_reply *rp)
{
	const struct fcgi_request *rq = s->rq;

	if (s->upload.kind == UPLOAD_DATA && s->status == DONE)
		return;
	rp->status = "400 Bad Request";
	s->file_size = -1;
	s->fail.detail[0] = '\0';
	session_answer(s, TRANSIENT,
	    arena_printf(rq->a, "The request ended early, after %zu%s bytes",
		rq->body_n,
		rq->length < 0 ?
		    "" :
		    arena_printf(rq->a, " of %lld", (long long)rq->length)));
}

static enum err counters_of_upload(struct counters *c, const struct session *s)
{
	const char *result = s->status == DONE      ? "done" :
	                     s->status == TRANSIENT ? "transient" :
	                                              "permanent";
	struct arena *a = s->rq->a;
	struct fail f = { 0 };

	if (c->file.map == NULL)
		TRY(counters_open(c,
		    arena_printf(a, "%s/" COUNTERS_FILE, s->settings->conf->run_dir),
		    &f));
	TRY(counters_add(c, metric_series(a, METRIC_UPLOADS, &result), 1, &f));
	if (s->status != DONE)
		return OK;
	return counters_add(c, metric_series(a, METRIC_UPLOAD_BYTES, &result),
	    (uint64_t)s->upload.nbytes, &f);
}

/*
 * Counts an answered upload for locus metrics and logs it, with the reason if it was
 * not done; size queries do not count.
 */
static void session_note(struct handler *h, const struct session *s)
{
	const char *why = s->fail.detail[0] == '\0' ? s->message : s->fail.detail;

	if (s->file_size >= 0)
		return;
	if (s->settings->conf != NULL) {
		pthread_mutex_lock(&h->source.lock);
		if (counters_of_upload(&h->counters, s) == E_NOTFOUND)
			shared_close(&h->counters.file); /* an admin removed the file */
		pthread_mutex_unlock(&h->source.lock);
	}
	log_line(s->status == DONE ? LOG_INFO : LOG_WARN,
	    "upload %.240s offset=%lld nbytes=%lld status=%d%s%s",
	    s->upload.name == NULL ? "?" : s->upload.name, (long long)s->upload.offset,
	    (long long)s->upload.nbytes, s->status, s->status == DONE ? "" : " ",
	    s->status == DONE ? "" : why);
}

/* Returns the settings for an upload; applies and logs what was just read again. */
static struct upload_settings *settings_now(struct handler *h, struct arena *a)
{
	enum log_level level;
	const char *note;
	struct upload_settings *set = upload_settings_take(
	    &h->source, a, &note, &level);

	if (note[0] == '\0')
		return set;
	log_line(level, "%s", note);
	if (set->fail.code == OK) {
		log_set_level((enum log_level)set->conf->sched_debug_level);
		log_info("uploads at once: %lld", (long long)set->conf->upload_threads);
	}
	return set;
}

static struct serve_terms upload_terms(void *ctx)
{
	struct handler *h = ctx;
	struct arena a = { 0 };
	struct upload_settings *set = settings_now(h, &a);
	struct serve_terms t = { 0 };

	if (set->fail.code == OK)
		t.connections = set->conf->upload_threads;
	upload_settings_give_back(&h->source, set);
	arena_free(&a);
	return t;
}

static void upload_stream(void *ctx, struct fcgi_request *rq, struct fcgi_reply *rp)
{
	struct handler *h = ctx;
	struct upload_settings *set = settings_now(h, rq->a);
	struct session s = { .settings = set, .rq = rq, .file_size = -1 };
	char chunk[CHUNK];

	session_decide(&s);
	/*
	 * A web server that cannot deliver all of the body reports an error of its own
	 * instead of our reply.
	 */
	while (fcgi_body(rq, chunk, sizeof(chunk)) > 0)
		;
	if (fcgi_cut_off(rq))
		session_cut_off(&s, rp);
	upload_reply(&rp->body, s.status, s.message, s.file_size);
	session_note(h, &s);
	upload_settings_give_back(&h->source, set);
}

/* Uploads use POST; downloads are answered by the web server itself. */
static void upload_refuse(
    void *ctx, enum serve_end why, double delay_s, struct fcgi_reply *rp)
{
	(void)ctx;
	(void)why; /* SERVE_METHOD */
	(void)delay_s;
	rp->status = "405 Method Not Allowed";
	rp->headers = "Allow: GET, HEAD, POST\r\n";
}

struct upload_options {
	const char *project, *socket, *log; /* NULL = not given */
};
#define OF(member) FIELD_OF(struct upload_options, member)
static const struct field upload_options[] = {
	{ "socket", OF(socket), "PATH", .letter = 's',
	    .help = "unix socket to listen on (run_dir/upload.sock)" },
	{ "log", OF(log), "PATH", .letter = 'l', .help = "log file (standard error)" },
	{ "project", OF(project), "DIR", .letter = 'p', .help = "project directory" },
	{ 0 },
};

/* Serves FastCGI until the process is asked to stop; running uploads then finish. */
static enum err upload_serve(
    struct arena *a, const struct upload_options *o, struct fail *f)
{
	struct handler h = { .source.lock = PTHREAD_MUTEX_INITIALIZER };
	struct serve_program program = { .name = "file_upload_handler",
		.ctx = &h,
		.terms = upload_terms,
		.refuse = upload_refuse,
		.stream = upload_stream };
	struct serve_size size = { .fds = FDS_UPLOAD };
	const struct conf *cf;
	char *dir;

	TRY(conf_find_project(a, o->project, &dir, f));
	TRY(owner_enter(a, dir, false, &(struct owner){ 0 }, NULL, f));
	TRY(upload_settings_start(&h.source, arena_printf(a, "%s/config.xml", dir), f));
	cf = h.source.now->conf;
	TRY(identity_check(a, cf, f));
	log_open("file_upload_handler", o->log, (enum log_level)cf->sched_debug_level);
	metric_show_service(cf, "upload");
	program.peer = web_peer_of(cf);
	program.socket = o->socket != NULL ?
	                     o->socket :
	                     arena_printf(a, "%s/upload.sock", cf->run_dir);
	size.connections = cf->upload_threads;
	TRY(serve_run(&program, &size, f));
	shared_close(&h.counters.file);
	upload_settings_end(&h.source);
	return OK;
}

int main(int argc, char **argv)
{
	struct upload_options o = { 0 };
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct args g = { .a = &a,
		.program = "file_upload_handler",
		.own = upload_options,
		.own_row = &o,
		.usage = "usage: file_upload_handler [options]\n\n",
		.version = "file_upload_handler (" PACKAGE_NAME ") " PACKAGE_VERSION };
	int rc = args_answer(&g, args_read(&g, argc, argv, &f), &f);

	if (rc >= 0)
		return rc;
	proc_no_core();
	proc_signals();
	if (upload_serve(&a, &o, &f) != OK) {
		fprintf(stderr, "file_upload_handler: %s\n", f.detail);
		return err_exit(f.code);
	}
	log_end();
	arena_free(&a);
	return EXIT_SUCCESS;
}
