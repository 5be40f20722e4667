/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal other than a request to stop is a crash: no one else works in that process,
 * so the crash is the request's.  Only SIGKILL comes from outside, usually because the
 * machine lacks memory, and another process may have used it up; so it takes two.  A
 * process that takes too long proves nothing, since the database may be to blame.
 */
#include "sched/serve/trial.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/xml.h"
#include "model/trouble.h"
#include "sched/serve/request_identity.h"
#include "lib/banned.h"

enum {
	RUNNING_MOST = 2,
	PLACE_MS = 10000, /* longest wait for one of them */
	LIMIT_S = 30,     /* of a process, besides its wait for work on demand */
	REPLY_MAX = 64 << 20,
	KEPT_FILES = 100,
	KEPT_BYTES = 256 << 20,
	CRASHES_SURE =
	    3,       /* of the process and, by SIGKILL, of two processes of its own */
	KILLED = 128 /* proc_run(): plus the signal */
};

static const char reply_end[] = "</scheduler_reply>\n";
static const char own_exe[] = "/proc/self/exe";

static struct trouble
crash_trouble(struct arena *a)
{
	return (struct trouble){ .daemon = arena_strdup(a, "scheduler"),
		.at = clock_now() };
}

void
trial_begin(
    struct trial *t, struct arena *a, const struct conf *cf, const char *project)
{
	struct fail f = { 0 };
	int64_t now = clock_now();
	size_t found;

	t->project = project;
	t->kept_in = arena_printf(a, "%s/crashing_requests", cf->log_dir);
	t->wait_s = (int)cf->locality_scheduling_wait_period;
	if (suspects_open(&t->suspects, arena_printf(a, "%s/suspects", cf->run_dir),
		now, &found, &f) != OK) {
		log_fail(
		    "requests that crash the scheduler will not be recognised", &f);
		return;
	}
	if (t->suspects.places == NULL)
		log_warn(
		    "too many schedulers: requests that crash this one will not be recognised");
	if (found > 0)
		log_warn(
		    "a scheduler ended while it was working on %zu requests; if their hosts ask again, each is served by a process of its own",
		    found);
	if (!suspects_any_guilty(&t->suspects, now) &&
	    trouble_clear(a, cf, crash_trouble(a).daemon, &f) != OK)
		log_fail("reporting to locus status", &f);
}

void
trial_end(struct trial *t)
{
	suspects_close(&t->suspects);
}

bool
trial_is_due(const struct trial *t, const struct fcgi_request *rq)
{
	return suspects_has(&t->suspects, rq->body, rq->body_n);
}

void
trial_report(const struct trial *t, struct arena *a, const struct conf *cf)
{
	struct trouble tr = crash_trouble(a);
	struct fail f = { 0 };

	tr.text = arena_printf(a,
	    "a request crashes it and is refused; see scheduler.log and %s",
	    t->kept_in);
	if (trouble_write(a, cf, &tr, &f) != OK)
		log_fail("reporting to locus status", &f);
}

static bool
take_place(struct trial *t)
{
	int64_t end = clock_mono_ms() + PLACE_MS;

	while (atomic_fetch_add(&t->running, 1) >= RUNNING_MOST) {
		atomic_fetch_sub(&t->running, 1);
		if (clock_mono_ms() >= end)
			return false;
		clock_nap_ms(20);
	}
	return true;
}

/* Returns this program's path, or that of its open file if it was replaced. */
static const char *
own_program(struct arena *a)
{
	char *path = arena_alloc(a, PATH_MAX);
	ssize_t n = readlink(own_exe, path, PATH_MAX - 1);

	path[n > 0 ? n : 0] = '\0';
	return access(path, X_OK) == 0 ? path : own_exe;
}

enum outcome { SERVED, CRASHED, UNKNOWN };

static bool
stopped_by(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGHUP;
}

static bool
reply_is_whole(const char *out, size_t n)
{
	size_t end = strlen(reply_end);

	return n >= end && memcmp(out + n - end, reply_end, end) == 0;
}

/* Runs the process; *sig is what killed it. */
static enum outcome
run_apart(const struct trial *t, const struct fcgi_request *rq, struct fcgi_reply *rp,
    int *sig)
{
	const char *const argv[] = { own_program(rq->a), "-1", "--project", t->project,
		NULL };
	const char *const env[] = { arena_printf(rq->a, "REMOTE_ADDR=%s", rq->peer),
		NULL };
	const struct proc_run run = { .argv = argv,
		.env = env,
		.in = rq->body,
		.in_n = rq->body_n,
		.out_max = REPLY_MAX,
		.timeout_s = LIMIT_S + t->wait_s };
	struct fail f = { 0 };
	char *out;
	size_t n;
	int status;

	if (proc_run(rq->a, &run, &status, &out, &n, &f) != OK) {
		log_fail("a request that may have crashed the scheduler", &f);
		return UNKNOWN;
	}
	*sig = status - KILLED;
	if (status > KILLED && !stopped_by(*sig))
		return CRASHED;
	if (status != 0 || !reply_is_whole(out, n)) {
		log_warn(
		    "a request that may have crashed the scheduler: its process ended with status %d",
		    status);
		return UNKNOWN;
	}
	/* A project that is down answers in plain text (protocol.md 2.10). */
	rp->type = strstr(out, "<project_is_down/>") != NULL ? "text/plain" :
	                                                       "text/xml";
	buf_put(&rp->body, out, n);
	return SERVED;
}

/* Is there room for another body? */
static bool
has_room_to_keep(const struct trial *t, struct arena *a, size_t bytes)
{
	struct fail f = { 0 };
	int64_t held = 0;
	char **names;
	size_t n;

	if (fs_list(a, t->kept_in, KEPT_FILES, &names, &n, &f) != OK || n >= KEPT_FILES)
		return false;
	for (size_t i = 0; i < n; i++) {
		int64_t size = fs_size(arena_printf(a, "%s/%s", t->kept_in, names[i]));

		held += size > 0 ? size : 0;
	}
	return held + (int64_t)bytes <= KEPT_BYTES;
}

/* Keeps the body; returns where, or why not. */
static const char *
keep_body(const struct trial *t, const struct fcgi_request *rq, const char *digest)
{
	const char *path = arena_printf(rq->a, "%s/%s.xml", t->kept_in, digest);
	struct fail f = { 0 };

	if (fs_exists(path))
		return path;
	if (fs_mkdirs(t->kept_in, 0700, &f) != OK)
		return arena_strdup(rq->a, f.detail);
	if (!has_room_to_keep(t, rq->a, rq->body_n))
		return arena_printf(rq->a, "(not kept: %s is full)", t->kept_in);
	if (fs_write(path, rq->body, rq->body_n, 0600, &f) != OK)
		return arena_printf(rq->a, "(not kept: %s)", f.detail);
	return path;
}

/* Counts the crash; is it the request's doing? */
static bool
crash_is_sure(struct trial *t, uint64_t identity, int sig)
{
	if (sig != SIGKILL)
		return true;
	if (suspects_accuse(&t->suspects, identity, clock_now()) >= CRASHES_SURE)
		return true;
	log_warn(
	    "a request that may have crashed the scheduler: its process was killed; does the machine lack memory?");
	return false;
}

static void
convict(struct trial *t, const struct fcgi_request *rq, uint64_t identity,
    const char digest[MD5_HEX], int sig)
{
	const char *host = xml_between(rq->a, rq->body, "hostid");

	suspects_convict(&t->suspects, identity, digest, clock_now());
	log_err(
	    "host %.20s: its request has crashed the scheduler again (by signal %d). It is refused for %d days, or until the program changes. Please report the bug; the request is %s, and scheduler -1 -n --project %s with it as standard input may repeat the crash",
	    host == NULL ? "?" : host, sig, SUSPECTS_GUILTY_S / 86400,
	    keep_body(t, rq, digest), t->project);
}

/* Serves a suspect's request; a place is taken. */
static enum serve_apart
try_request(struct trial *t, const struct fcgi_request *rq, struct fcgi_reply *rp,
    enum serve_refusal *why)
{
	uint64_t identity = request_identity(rq->body, rq->body_n);
	char digest[MD5_HEX];
	int sig = 0;

	if (!trial_is_due(t, rq))
		return APART_NOT;
	request_digest(rq->a, rq->body, rq->body_n, digest);
	*why = SERVE_CRASHES;
	if (suspects_guilty(&t->suspects, identity, digest, clock_now()))
		return APART_REFUSED;
	switch (run_apart(t, rq, rp, &sig)) {
	case SERVED:
		suspects_clear(&t->suspects, identity, digest);
		return APART_REPLIED;
	case CRASHED:
		if (!crash_is_sure(t, identity, sig))
			break;
		convict(t, rq, identity, digest, sig);
		return APART_REFUSED;
	case UNKNOWN:
		break;
	}
	*why = SERVE_BUSY;
	return APART_REFUSED;
}

enum serve_apart
trial_serve(struct trial *t, const struct fcgi_request *rq, struct fcgi_reply *rp,
    enum serve_refusal *why)
{
	enum serve_apart how;

	*why = SERVE_BUSY;
	if (!take_place(t))
		return APART_REFUSED;
	how = try_request(t, rq, rp, why);
	atomic_fetch_sub(&t->running, 1);
	return how;
}
