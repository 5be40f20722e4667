/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives output files from clients (protocol.md 6), as FastCGI on its own unix
 * socket.  The web server streams bodies, so each upload occupies a thread for as long
 * as it takes; threads are many and cheap (small stacks, buffers of a few KB), and
 * there is no database.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fcgiapp.h>
#include "config.h"
#include "lib/args.h"
#include "lib/clock.h"
#include "lib/counters.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/text.h"
#include "model/identity.h"
#include "model/owner.h"
#include "model/metrics.h"
#include "sched/serve/arrivals.h"
#include "sched/serve/serve.h"
#include "sched/upload/upload_settings.h"
#include "sched/upload/upload_store.h"
#include "lib/banned.h"

enum {
	DONE = 0,
	TRANSIENT = 1,
	PERMANENT = -1, /* status of a reply */
	CHUNK = 16 << 10,
	STACK = 256 << 10,
	FINISH_S = 10, /* grace for running uploads when the process stops */
	ACCEPT_PAUSE_MS = 250,
	STATUS_EVERY_S = 5,
	FDS_OWN = 16 + ARRIVALS_MOST, /* of the process itself */
	FDS_UPLOAD = 3 /* connection, part, and the part once more for its MD5 */
};

static const char disk_full[] = "Server is out of disk space";

/* Lives as long as the process; shared by all threads, which change only the atomics.
 */
struct handler {
	struct upload_source source;
	struct arrivals arrivals; /* under accept_lock */
	int fd;
	bool passed;     /* the socket is the service manager's, and outlives us */
	atomic_int open; /* connections */
	atomic_int busy, threads;
	atomic_bool stopping;
	pthread_mutex_t counters_lock, grow_lock, accept_lock;
	struct counters counters; /* under counters_lock */
};

struct session { /* one request and its reply */
	struct handler *handler;
	const struct upload_settings *settings; /* of when the request began */
	struct arena *a;
	FCGX_Request *fcgi;
	struct upload upload;
	int status;
	int64_t file_size; /* < 0 = not the reply to a size query */
	const char *message;
	struct fail fail;
	char head[UPLOAD_HEADER_MAX + 1];
	size_t head_n;
	int64_t body_n; /* bytes of the request received so far */
};

static void
session_answer(struct session *s, int status, const char *message)
{
	s->status = status;
	s->message = message;
}

/* Reads up to CHUNK bytes of the body and counts them. */
static int
get_bytes(struct session *s, char *chunk)
{
	int got = FCGX_GetStr(chunk, CHUNK, s->fcgi->in);

	if (got > 0)
		s->body_n += got;
	return got;
}

static bool
head_ends_with(const char *p, size_t n, const char *end)
{
	size_t m = strlen(end);

	return n >= m && memcmp(p + n - m, end, m) == 0;
}

/* Do the bytes so far end with a line that can end a header? */
static bool
may_be_complete(const struct session *s)
{
	size_t n = s->head_n;

	while (n > 0 && text_white(s->head[n - 1]))
		n--;
	return head_ends_with(s->head, n, "<data>") ||
	       head_ends_with(s->head, n, "</data_server_request>");
}

/*
 * Reads the header and nothing more, as the rest may take long to arrive.  E_BADREQ:
 * the header is bad; E_NOTFOUND: it is not a header; E_RETRY: the body ended inside it.
 */
static enum err
read_header(struct session *s)
{
	int c = 0;
	enum err e = E_RETRY;

	while (e == E_RETRY && c != EOF && s->head_n < sizeof(s->head)) {
		c = FCGX_GetChar(s->fcgi->in);
		if (c != EOF) {
			s->head[s->head_n++] = (char)c;
			s->body_n++;
		}
		if (c == EOF || s->head_n == sizeof(s->head) ||
		    (c == '\n' && may_be_complete(s)))
			e = upload_parse(
			    s->a, s->head, s->head_n, &s->upload, &s->fail);
	}
	return e;
}

static bool
text_is_blank(const char *s)
{
	while (text_white(*s))
		s++;
	return *s == '\0';
}

static bool
certificate_is_valid(struct session *s)
{
	const struct upload_settings *set = s->settings;
	const struct upload *u = &s->upload;
	char *text = upload_certificate_text(s->a, u->name, u->max_nbytes);
	bool valid = verify_text(set->key, text, u->xml_signature, &s->fail) == OK;

	for (size_t i = 0; !valid && i < set->nold; i++)
		valid = verify_text(set->old[i], text, u->xml_signature, &s->fail) ==
		        OK;
	return valid;
}

/*
 * Checks whether the file may be uploaded at all (protocol.md 6.2).  Every error here
 * is permanent.
 */
static enum err
upload_check(struct session *s)
{
	const struct upload *u = &s->upload;
	enum err e = store_name_check(u->name, &s->fail);

	if (e == OK && !u->has_nbytes)
		e = FAIL(&s->fail, E_BADREQ, "Missing or bad nbytes");
	if (e != OK || s->settings->key == NULL)
		return e;
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
static enum err
copy_data(struct session *s, struct store_file *file)
{
	char chunk[CHUNK];
	enum err e = store_write(file, s->head + s->upload.header_n,
	    s->head_n - s->upload.header_n, &s->fail);
	int got;

	while (e == OK && (got = get_bytes(s, chunk)) > 0)
		e = store_write(file, chunk, (size_t)got, &s->fail);
	return e;
}

static void
session_take_data(struct session *s)
{
	struct store_file file;
	enum err e = upload_check(s);

	if (e != OK) {
		session_answer(s, PERMANENT, s->fail.detail);
		return;
	}
	if (store_is_full(s->settings->conf)) {
		session_answer(s, TRANSIENT, disk_full);
		return;
	}
	e = store_open(s->a, s->settings->conf, &s->upload, &file, &s->fail);
	if (e == OK && !file.whole) {
		e = copy_data(s, &file);
		if (e == OK)
			e = store_finish(&file, s->upload.md5_cksum, &s->fail);
		store_close(&file);
	}
	/*
	 * System errors are described in general words: our paths are not the
	 * volunteer's business.
	 */
	if (e == E_DISK_FULL)
		session_answer(s, TRANSIENT, disk_full);
	else if (e == E_BADREQ)
		session_answer(s, PERMANENT, s->fail.detail);
	else if (e == E_SYS || e == E_DENIED)
		session_answer(
		    s, TRANSIENT, "The server cannot store the file at the moment");
	else if (e != OK)
		session_answer(s, TRANSIENT, s->fail.detail);
}

static void
session_tell_size(struct session *s)
{
	if (store_name_check(s->upload.name, &s->fail) != OK)
		session_answer(s, PERMANENT, s->fail.detail);
	else if (store_is_full(s->settings->conf))
		session_answer(s, TRANSIENT, disk_full);
	else
		s->file_size = store_size(s->a, s->settings->conf, s->upload.name);
}

static void
session_decide(struct session *s)
{
	enum err e;

	if (s->settings->fail.code != OK) {
		session_answer(
		    s, TRANSIENT, "The server cannot accept files at the moment");
		return;
	}
	if (fs_exists(project_path(s->a, s->settings->conf, "stop_upload"))) {
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
 * Reads the rest of the body: a web server that cannot deliver all of it reports an
 * error of its own instead of our reply.
 */
static void
session_drain(struct session *s)
{
	char chunk[CHUNK];

	while (get_bytes(s, chunk) > 0)
		;
}

/*
 * Did the body end before its Content-Length, or did the web server give up?  Then even
 * a permanent refusal becomes transient, because the missing bytes might have made the
 * request valid.  A file that is complete nevertheless is stored.
 */
static bool
session_cut_off(struct session *s)
{
	const char *length = FCGX_GetParam("CONTENT_LENGTH", s->fcgi->envp);
	int64_t n;

	if (s->upload.kind == UPLOAD_DATA && s->status == DONE)
		return false;
	if (FCGX_GetError(s->fcgi->in) == 0 &&
	    (length == NULL || !text_i64(length, 0, INT64_MAX, &n) || s->body_n >= n))
		return false;
	s->file_size = -1;
	s->fail.detail[0] = '\0';
	session_answer(s, TRANSIENT,
	    arena_printf(s->a, "The request ended early, after %lld%s%s bytes",
		(long long)s->body_n, length == NULL || *length == '\0' ? "" : " of ",
		length == NULL ? "" : length));
	return true;
}

/* Uploads use POST; downloads are answered by the web server itself. */
static bool
upload_method_known(const struct session *s)
{
	static const char *const known[] = { "GET", "HEAD", "POST" };
	const char *method = FCGX_GetParam("REQUEST_METHOD", s->fcgi->envp);

	for (size_t i = 0; i < N(known); i++)
		if (method != NULL && strcmp(method, known[i]) == 0)
			return true;
	FCGX_PutS("Status: 405 Method Not Allowed\r\nAllow: GET, HEAD, POST\r\n"
		  "Content-Length: 0\r\n\r\n",
	    s->fcgi->out);
	return false;
}

static enum err
counters_of_upload(struct session *s)
{
	const char *result = s->status == DONE      ? "done" :
	                     s->status == TRANSIENT ? "transient" :
	                                              "permanent";
	struct counters *c = &s->handler->counters;
	const char *path = arena_printf(
	    s->a, "%s/" COUNTERS_FILE, s->settings->conf->run_dir);
	struct fail f = { 0 };

	if (c->map == NULL)
		TRY(counters_open(c, path, &f));
	TRY(counters_add(c, metric_series(s->a, METRIC_UPLOADS, &result), 1, &f));
	if (s->status != DONE)
		return OK;
	return counters_add(c, metric_series(s->a, METRIC_UPLOAD_BYTES, &result),
	    (uint64_t)s->upload.nbytes, &f);
}

/* Counts an answered upload for locus metrics; size queries do not count. */
static void
count_upload(struct session *s)
{
	struct handler *h = s->handler;

	if (s->file_size >= 0 || s->settings->conf == NULL)
		return;
	pthread_mutex_lock(&h->counters_lock);
	if (counters_of_upload(s) == E_NOTFOUND) /* an admin removed the file */
		counters_close(&h->counters);
	pthread_mutex_unlock(&h->counters_lock);
}

/* Why the upload was not done, for the log. */
static const char *
session_why(const struct session *s)
{
	if (s->status == DONE)
		return "";
	return s->fail.detail[0] == '\0' ? s->message : s->fail.detail;
}

static void
session_serve(struct session *s)
{
	struct buf out = buf_new(s->a);
	const char *name;

	if (!upload_method_known(s))
		return;
	session_decide(s);
	session_drain(s);
	if (session_cut_off(s))
		FCGX_PutS("Status: 400 Bad Request\r\n", s->fcgi->out);
	upload_reply(&out, s->status, s->message, s->file_size);
	FCGX_FPrintF(s->fcgi->out,
	    "Content-Type: text/plain\r\nContent-Length: %lu\r\n\r\n",
	    (unsigned long)out.n);
	FCGX_PutStr(out.p, (int)out.n, s->fcgi->out);

	count_upload(s);
	name = s->upload.name == NULL ? "?" : s->upload.name;
	if (s->file_size < 0)
		log_line(s->status == DONE ? LOG_INFO : LOG_WARN,
		    "upload %.240s offset=%lld nbytes=%lld status=%d%s%s", name,
		    (long long)s->upload.offset, (long long)s->upload.nbytes, s->status,
		    s->status == DONE ? "" : " ", session_why(s));
}

/*
 * Waits for a connection with a request.  One thread waits at a time, and none after it
 * is time to stop; then only the queue of a socket to which no path leads any more is
 * emptied.  Returns -1 when there will be no more.
 */
static int
accept_upload(struct handler *h)
{
	struct pollfd p = { .fd = h->arrivals.events, .events = POLLIN };
	int fd = -1;

	pthread_mutex_lock(&h->accept_lock);
	while (fd < 0) {
		bool ending = atomic_load(&h->stopping);
		int some;

		if (ending)
			arrivals_end(&h->arrivals, !h->passed);
		some = poll(&p, 1,
		    ending                                 ? 1 :
		    arrivals_timeout_ms(&h->arrivals) == 0 ? 0 :
							     ACCEPT_PAUSE_MS);
		fd = arrivals_take(&h->arrivals);
		if (fd < 0 && some == 0 && ending && !arrivals_left(&h->arrivals))
			break;
	}
	if (fd >= 0)
		atomic_fetch_add(&h->open, 1);
	pthread_mutex_unlock(&h->accept_lock);
	return fd;
}

static void *thread_main(void *);

/*
 * Returns how many of n threads can have their descriptors.  A waiting accept() already
 * holds one, so with too many threads no file could be opened.
 */
static int64_t
threads_possible(int64_t n)
{
	int64_t most;
	struct fail f = { 0 };
	struct rlimit fds;

	if (getrlimit(RLIMIT_NOFILE, &fds) < 0)
		return n;
	fds.rlim_cur = fds.rlim_max;
	setrlimit(RLIMIT_NOFILE, &fds);
	if (fds.rlim_cur >= (rlim_t)(n * FDS_UPLOAD + FDS_OWN))
		return n;
	most = ((int64_t)fds.rlim_cur - FDS_OWN) / FDS_UPLOAD;
	most = most < 1 ? 1 : most;
	FAIL(&f, E_SYS,
	    "only %lld of %lld uploads at once: a process may have %lld open files",
	    (long long)most, (long long)n, (long long)fds.rlim_cur);
	log_warn("%s", f.detail);
	return most;
}

/*
 * Starts threads until there are `wanted`; they all leave signals to the main thread.
 * E_SYS if none could be started.
 */
static enum err
start_threads(struct handler *h, int64_t wanted, struct fail *f)
{
	int64_t have = atomic_load(&h->threads), n;
	pthread_attr_t attr;
	pthread_t t;
	int rc;

	if (wanted <= have)
		return OK;
	n = threads_possible(wanted);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int64_t i = have; i < n; i++) {
		rc = pthread_create(&t, &attr, thread_main, h);
		if (rc == 0) {
			atomic_fetch_add(&h->threads, 1);
			continue;
		}
		errno = rc;
		if (i == 0)
			return FAIL_ERRNO(f, "starting a thread");
		FAIL_ERRNO(f, "only %lld threads could be started", (long long)i);
		log_warn("%s", f->detail);
		break;
	}
	pthread_attr_destroy(&attr);
	return OK;
}

/* Counts one more running upload unless there are `most` already. */
static bool
upload_enter(struct handler *h, int64_t most)
{
	int now = atomic_load(&h->busy);

	do {
		if (now >= most)
			return false;
	} while (!atomic_compare_exchange_weak(&h->busy, &now, now + 1));
	return true;
}

/* Applies settings that were just read again. */
static void
apply_settings(struct handler *h, const struct conf *cf)
{
	struct fail f = { 0 };

	log_set_level((enum log_level)cf->sched_debug_level);
	pthread_mutex_lock(&h->grow_lock);
	if (start_threads(h, cf->upload_threads, &f) != OK)
		log_warn("%s", f.detail);
	pthread_mutex_unlock(&h->grow_lock);
	log_info("uploads at once: %lld", (long long)cf->upload_threads);
}

/*
 * Waits until an upload may begin and returns its settings.  Surplus threads, left from
 * a config.xml that allowed more, wait here.
 */
static struct upload_settings *
session_begin(struct handler *h, struct arena *a)
{
	for (;; clock_nap_ms(ACCEPT_PAUSE_MS)) {
		enum log_level level;
		const char *note;
		struct upload_settings *set = upload_settings_take(
		    &h->source, a, &note, &level);
		bool usable = set->fail.code == OK;

		if (note[0] != '\0')
			log_line(level, "%s", note);
		if (note[0] != '\0' && usable)
			apply_settings(h, set->conf);
		if (upload_enter(h, usable ? set->conf->upload_threads : INT_MAX))
			return set;
		upload_settings_give_back(&h->source, set);
	}
}

static void
receive_upload(struct handler *h, struct arena *a, int fd)
{
	struct session s = { .handler = h, .a = a, .file_size = -1 };
	struct upload_settings *set;
	struct fcgi_request head;
	FCGX_Request f;

	if (!fcgi_begin(&f, fd, a, 0, &head))
		return;
	set = session_begin(h, a);
	s.fcgi = &f;
	s.settings = set;
	session_serve(&s);
	upload_settings_give_back(&h->source, set);
	FCGX_Finish_r(&f);
	FCGX_Free(&f, 1);
	atomic_fetch_sub(&h->busy, 1);
}

static void *
thread_main(void *arg)
{
	struct handler *h = arg;
	struct arena a = { 0 };
	int fd;

	while ((fd = accept_upload(h)) >= 0) {
		receive_upload(h, &a, fd);
		arena_reset(&a);
		atomic_fetch_sub(&h->open, 1);
	}
	arena_free(&a);
	return NULL;
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

static enum err
handler_set_up(
    struct handler *h, struct arena *a, struct upload_options *o, struct fail *f)
{
	const struct conf *cf;
	char *dir;
	struct owner owner = { 0 };
	struct web_peer peer;

	TRY(conf_find_project(a, o->project, &dir, f));
	TRY(owner_enter(a, dir, false, &owner, NULL, f));
	TRY(upload_settings_start(
	    &h->source, arena_printf(a, "%s/config.xml", dir), f));
	cf = h->source.now->conf;
	TRY(identity_check(a, cf, f));
	log_open("file_upload_handler", o->log, (enum log_level)cf->sched_debug_level);
	metric_show_service(cf, "upload");
	if (o->socket == NULL)
		o->socket = arena_printf(a, "%s/upload.sock", cf->run_dir);
	peer = web_peer_of(cf);
	TRY(serve_socket(o->socket, &peer, &h->fd, f));
	h->passed = h->fd == STDIN_FILENO;
	return arrivals_begin(&h->arrivals, a, h->fd, &peer, f);
}

/*
 * Tells the service manager that the process goes on.  The locks that all threads need
 * are taken for it: if one keeps a lock for ever, uploads hang, and so shall this.
 */
static void
report_uploads(struct handler *h)
{
	pthread_mutex_t *const locks[] = { &h->counters_lock, &h->grow_lock,
		&h->source.lock };

	for (size_t i = 0; i < N(locks); i++) {
		pthread_mutex_lock(locks[i]);
		pthread_mutex_unlock(locks[i]);
	}
	notify_status("%d uploads at once, of which %d are received; %d threads",
	    atomic_load(&h->open), atomic_load(&h->busy), atomic_load(&h->threads));
	notify_alive();
}

/* Does the queue of our own socket hold connections that no thread has taken? */
static bool
uploads_queued(const struct handler *h)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };

	return !h->passed && poll(&p, 1, 0) > 0;
}

/*
 * Serves until a signal asks to stop; then running uploads get FINISH_S seconds, and
 * their parts stay on disk.
 */
static void
run_until_signal(struct handler *h, const sigset_t *stops, const char *socket)
{
	static const struct timespec round = { .tv_sec = STATUS_EVERY_S };
	struct fail f = { 0 };

	while (sigtimedwait(stops, NULL, &round) < 0)
		report_uploads(h);
	notify_stopping();
	if (!h->passed)
		fs_unlink(socket, &f);
	atomic_store(&h->stopping, true);
	/* Whoever waits for a connection has left, or has it. */
	pthread_mutex_lock(&h->accept_lock);
	pthread_mutex_unlock(&h->accept_lock);
	for (int64_t end = clock_mono_ms() + FINISH_S * 1000;
	     (atomic_load(&h->open) > 0 || uploads_queued(h)) && clock_mono_ms() < end;)
		clock_nap_ms(20);
}

int
main(int argc, char **argv)
{
	static struct handler h = { .source.lock = PTHREAD_MUTEX_INITIALIZER,
		.counters_lock = PTHREAD_MUTEX_INITIALIZER,
		.grow_lock = PTHREAD_MUTEX_INITIALIZER,
		.accept_lock = PTHREAD_MUTEX_INITIALIZER };
	struct upload_options o = { 0 };
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct args g = { .a = &a,
		.program = "file_upload_handler",
		.own = upload_options,
		.own_row = &o,
		.usage = "usage: file_upload_handler [options]\n\n",
		.version = "file_upload_handler (" PACKAGE_NAME ") " PACKAGE_VERSION };
	sigset_t stops;
	enum err e;
	int rc = args_answer(&g, args_read(&g, argc, argv, &f), &f);

	if (rc >= 0)
		return rc;
	/* Two heaps are plenty for threads that hold a few KB each. */
	mallopt(M_ARENA_MAX, 2);
	proc_no_core();
	proc_signals();
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGHUP);
	e = handler_set_up(&h, &a, &o, &f);
	if (e == OK && FCGX_Init() != 0)
		e = FAIL(&f, E_SYS, "cannot initialise libfcgi");
	pthread_sigmask(SIG_BLOCK, &stops, NULL);
	if (e == OK)
		e = start_threads(&h, h.source.now->conf->upload_threads, &f);
	if (e != OK) {
		fprintf(stderr, "file_upload_handler: %s\n", f.detail);
		return err_exit(e);
	}
	log_info("serving %s", o.socket);
	notify_ready();
	run_until_signal(&h, &stops, o.socket);
	log_end();
	log_info("stopped");
	/*
	 * Not exit(), which would destroy libcrypto's state and the heap while the
	 * threads still use them.
	 */
	_exit(EXIT_SUCCESS);
}
