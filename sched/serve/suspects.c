/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file: a head, the places of each process, a table of suspects. Places and the
 * identities of the table are read and written as single words without a lock;
 * everything else under the table's lock.
 */
#include "sched/serve/suspects.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/hash.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/trouble.h"
#include "sched/rpc/host_key.h"
#include "lib/banned.h"

/* --- what a request is recognised by ---
 *
 * MD5 for the digest, because lib/crypt.h has it and its digits make a file name; who
 * finds a collision gets only requests of his own refused.
 */

enum { FIRST_BYTES = 256 };

static const char key_tag[] = "<authenticator>", host_tag[] = "<hostid>";

static bool is_of_number(const char *p, const char *from)
{
	if (*p == 'e' || *p == 'E') /* of an exponent */
		return p > from && p[-1] >= '0' && p[-1] <= '9';
	return (*p >= '0' && *p <= '9') || *p == '.' || *p == '+' || *p == '-';
}

/* Does the value of a tag that names the sender begin here? Returns the tag's length.
 */
static size_t sender_tag(const char *p, const char *end)
{
	if (text_begins(p, end, key_tag))
		return strlen(key_tag);
	return text_begins(p, end, host_tag) ? strlen(host_tag) : 0;
}

/* Writes the body with '#' for each number to `to`, which has room for n bytes. */
static size_t blank_numbers(const char *body, size_t n, char *to)
{
	const char *p = body, *end = body + n;
	char *at = to;

	while (p < end) {
		size_t keep = *p == '<' ? sender_tag(p, end) : 0;

		if (keep > 0) {
			do
				*at++ = *p++;
			while (--keep > 0);
			while (p < end && *p != '<')
				*at++ = *p++;
		} else if (is_of_number(p, body)) {
			while (p < end && is_of_number(p, body))
				p++;
			*at++ = '#';
		} else {
			*at++ = *p++;
		}
	}
	return (size_t)(at - to);
}

uint64_t request_identity(const char *body, size_t n)
{
	uint64_t identity = host_key(body, n);
	char first[FIRST_BYTES];

	if (identity != 0)
		return identity;
	n = blank_numbers(body, n < sizeof(first) ? n : sizeof(first), first);
	identity = hash_bytes(HASH_SEED, first, n);
	return identity == 0 ? 1 : identity;
}

void request_digest(struct arena *a, const char *body, size_t n, char digest[MD5_HEX])
{
	char *blanked = arena_alloc(a, n + 1);

	md5_hex(blanked, blank_numbers(body, n, blanked), digest);
}

/* --- the file --- */

enum {
	PROCESSES = 128,       /* twice the most that scheduler_processes allows */
	PLACES_EACH = 512,     /* a page */
	LOCK_TABLE = PROCESSES /* byte of the file that stands for the table */
};

struct suspect {
	uint64_t identity;    /* 0 = free */
	int64_t at;           /* of the last crash, s UTC */
	int64_t crashes;      /* those of shared processes count as one */
	uint64_t program;     /* that found it guilty */
	char digest[MD5_HEX]; /* of the guilty request; "" = suspect only */
	char pad[7];
};
struct suspects_file {
	char magic[8];
	int64_t used; /* entries of the table */
	char pad[4096 - 16];
	uint64_t places[PROCESSES][PLACES_EACH];
	struct suspect table[SUSPECTS_MOST];
};
static const struct shared_form form = { .magic = "LOCSUS1\n",
	.bytes = sizeof(struct suspects_file),
	.mode = 0600,
	.wait_ms = SHARED_WAIT_MS };

/* --- the table, under its lock --- */

static struct suspect *find_suspect(struct suspects_file *p, uint64_t identity)
{
	for (size_t i = 0; i < SUSPECTS_MOST; i++)
		if (p->table[i].identity == identity)
			return &p->table[i];
	return NULL;
}

static struct suspect *oldest_suspect(struct suspects_file *p)
{
	struct suspect *oldest = &p->table[0];

	for (size_t i = 1; i < SUSPECTS_MOST; i++)
		if (p->table[i].at < oldest->at)
			oldest = &p->table[i];
	return oldest;
}

/* Returns the entry of an identity that crashed a process, a new one if necessary. */
static struct suspect *add_suspect(
    struct suspects_file *p, uint64_t identity, int64_t now)
{
	struct suspect *t = find_suspect(p, identity);

	if (t == NULL) {
		t = find_suspect(p, 0);
		if (t == NULL)
			t = oldest_suspect(p);
		else
			__atomic_fetch_add(&p->used, 1, __ATOMIC_RELAXED);
		t->crashes = 1;
		t->program = 0;
		t->digest[0] = '\0';
		__atomic_store_n(&t->identity, identity, __ATOMIC_RELEASE);
	}
	t->at = now;
	return t;
}

/* A verdict lapses when the program changes: the new version may have been mended. */
static bool verdict_holds(
    const struct suspects *s, const struct suspect *t, int64_t now)
{
	return t->identity != 0 && t->digest[0] != '\0' && t->program == s->program &&
	       now - t->at < SUSPECTS_GUILTY_S;
}

/* --- opening --- */

/* Makes suspects of what dead processes worked on; takes the first free part. */
static size_t take_over_places(struct suspects *s, int64_t now)
{
	struct suspects_file *p = s->file.map;
	uint64_t *ours = NULL;
	size_t found = 0;

	for (size_t i = 0; i < PROCESSES; i++) {
		uint64_t *places = p->places[i];

		if (shared_lock(&s->file, (off_t)i, 0, NULL) != OK)
			continue; /* of a living process */
		for (size_t k = 0; k < PLACES_EACH; k++) {
			if (places[k] == 0)
				continue;
			add_suspect(p, places[k], now);
			places[k] = 0;
			found++;
		}
		if (ours == NULL)
			ours = places;
		else
			shared_unlock(&s->file, (off_t)i);
	}
	__atomic_store_n(&s->places, ours, __ATOMIC_RELEASE);
	return found;
}

/* Identifies the program's file; an upgrade replaces it. */
static uint64_t this_program(void)
{
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0)
		return 0;
	return ((uint64_t)st.st_mtim.tv_sec * 1000000007 ^ (uint64_t)st.st_mtim.tv_nsec
							       << 20) +
	       (uint64_t)st.st_size * 1000003 + (uint64_t)st.st_ino;
}

enum err suspects_open(
    struct suspects *s, const char *path, int64_t now, size_t *found, struct fail *f)
{
	enum err e;

	*s = (struct suspects){ .path = path, .program = this_program() };
	*found = 0;
	TRY(shared_open(&s->file, path, &form, f));
	e = shared_lock(&s->file, LOCK_TABLE, SHARED_WAIT_MS, f);
	if (e != OK) {
		shared_close(&s->file);
		return e;
	}
	pthread_mutex_init(&s->lock, NULL);
	*found = take_over_places(s, now);
	shared_unlock(&s->file, LOCK_TABLE);
	return OK;
}

void suspects_close(struct suspects *s)
{
	if (s->file.bytes == 0)
		return;
	if (s->places != NULL && !shared_gone(&s->file))
		memset(s->places, 0, PLACES_EACH * sizeof(*s->places));
	shared_close(&s->file);
	pthread_mutex_destroy(&s->lock);
	*s = (struct suspects){ 0 };
}

static enum err lock_file(struct suspects *s, struct fail *f)
{
	if (shared_gone(&s->file)) {
		__atomic_store_n(&s->places, NULL, __ATOMIC_RELEASE);
		TRY(shared_reopen(&s->file, s->path, &form, f));
	}
	TRY(shared_lock(&s->file, LOCK_TABLE, SHARED_WAIT_MS, f));
	if (s->places == NULL)
		take_over_places(s, clock_now());
	return OK;
}

/* Locks the table; makes a new file if there is none. */
static bool lock_table(struct suspects *s)
{
	struct fail f = { 0 };

	if (s->file.bytes == 0)
		return false;
	pthread_mutex_lock(&s->lock);
	if (lock_file(s, &f) == OK)
		return true;
	pthread_mutex_unlock(&s->lock);
	log_fail("suspects", &f);
	return false;
}

static void unlock_table(struct suspects *s)
{
	shared_unlock(&s->file, LOCK_TABLE);
	pthread_mutex_unlock(&s->lock);
}

/* --- what workers work on --- */

static void suspects_note(struct suspects *s, size_t place, uint64_t identity)
{
	uint64_t *places = __atomic_load_n(&s->places, __ATOMIC_ACQUIRE);

	if (places != NULL && place < PLACES_EACH && !shared_gone(&s->file))
		__atomic_store_n(&places[place], identity, __ATOMIC_RELEASE);
}

void suspects_enter(struct suspects *s, size_t place, const char *body, size_t n)
{
	if (shared_gone(&s->file) && lock_table(s))
		unlock_table(s);
	suspects_note(s, place, request_identity(body, n));
}

void suspects_leave(struct suspects *s, size_t place)
{
	suspects_note(s, place, 0);
}

/* --- verdicts --- */

bool suspects_has(const struct suspects *s, const char *body, size_t n)
{
	const struct suspects_file *p = s->file.map;
	uint64_t identity;

	if (shared_gone(&s->file) || __atomic_load_n(&p->used, __ATOMIC_RELAXED) == 0)
		return false;
	identity = request_identity(body, n);
	for (size_t i = 0; i < SUSPECTS_MOST; i++)
		if (__atomic_load_n(&p->table[i].identity, __ATOMIC_ACQUIRE) ==
		    identity)
			return true;
	return false;
}

bool suspects_guilty(
    struct suspects *s, uint64_t identity, const char digest[MD5_HEX], int64_t now)
{
	const struct suspect *t;
	bool guilty;

	if (!lock_table(s))
		return false;
	t = find_suspect(s->file.map, identity);
	guilty = t != NULL && verdict_holds(s, t, now) &&
	         strcmp(t->digest, digest) == 0;
	unlock_table(s);
	return guilty;
}

int64_t suspects_accuse(struct suspects *s, uint64_t identity, int64_t now)
{
	struct suspect *t;
	int64_t crashes;

	if (!lock_table(s))
		return 0;
	t = find_suspect(s->file.map, identity);
	if (t != NULL)
		t->crashes++;
	crashes = add_suspect(s->file.map, identity, now)->crashes;
	unlock_table(s);
	return crashes;
}

void suspects_convict(
    struct suspects *s, uint64_t identity, const char digest[MD5_HEX], int64_t now)
{
	struct suspect *t;

	if (!lock_table(s))
		return;
	t = add_suspect(s->file.map, identity, now);
	t->program = s->program;
	memcpy(t->digest, digest, MD5_HEX);
	unlock_table(s);
}

void suspects_clear(struct suspects *s, uint64_t identity, const char digest[MD5_HEX])
{
	struct suspects_file *p;
	struct suspect *t;

	if (!lock_table(s))
		return;
	p = s->file.map;
	t = find_suspect(p, identity);
	if (t != NULL && (t->digest[0] == '\0' || strcmp(t->digest, digest) == 0)) {
		__atomic_store_n(&t->identity, 0, __ATOMIC_RELEASE);
		t->digest[0] = '\0';
		__atomic_fetch_sub(&p->used, 1, __ATOMIC_RELAXED);
	}
	unlock_table(s);
}

bool suspects_any_guilty(struct suspects *s, int64_t now)
{
	const struct suspects_file *p = s->file.map;
	bool any = false;

	if (!lock_table(s))
		return false;
	for (size_t i = 0; i < SUSPECTS_MOST && !any; i++)
		any = verdict_holds(s, &p->table[i], now);
	unlock_table(s);
	return any;
}

/*
 * A signal other than a request to stop is a crash: no one else works in that process,
 * so the crash is the request's. Only SIGKILL comes from outside, usually because the
 * machine lacks memory, and another process may have used it up; so it takes two. A
 * process that takes too long proves nothing, since the database may be to blame.
 */

enum {
	RUNNING_MOST = 2,
	PLACE_MS = 10000, /* longest wait for one of them */
	LIMIT_S = 30,     /* of a process, besides its wait for work on demand */
	REPLY_MAX = 64 << 20,
	KEPT_FILES = 100,
	KEPT_BYTES = 256 << 20,
	CRASHES_SURE =
	    3,       /* of the process and, by SIGKILL, of two processes of its own */
	KILLED = 128 /* proc_collect(): plus the signal */
};

static const char reply_end[] = "</scheduler_reply>\n";
static const char own_exe[] = "/proc/self/exe";

static struct trouble crash_trouble(struct arena *a)
{
	return (struct trouble){ .daemon = arena_strdup(a, "scheduler"),
		.at = clock_now() };
}

void trial_begin(
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

void trial_end(struct trial *t)
{
	suspects_close(&t->suspects);
}

bool trial_is_due(const struct trial *t, const struct fcgi_request *rq)
{
	return suspects_has(&t->suspects, rq->body, rq->body_n);
}

void trial_report(const struct trial *t, struct arena *a, const struct conf *cf)
{
	struct trouble tr = crash_trouble(a);
	struct fail f = { 0 };

	tr.text = arena_printf(a,
	    "a request crashes it and is refused; see scheduler.log and %s",
	    t->kept_in);
	if (trouble_write(a, cf, &tr, &f) != OK)
		log_fail("reporting to locus status", &f);
}

static bool take_place(struct trial *t)
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
static const char *own_program(struct arena *a)
{
	char *path = arena_alloc(a, PATH_MAX);
	ssize_t n = readlink(own_exe, path, PATH_MAX - 1);

	path[n > 0 ? n : 0] = '\0';
	return access(path, X_OK) == 0 ? path : own_exe;
}

enum outcome { SERVED, CRASHED, UNKNOWN };

/* Runs the process; *sig is what killed it. */
static enum outcome run_apart(const struct trial *t, const struct fcgi_request *rq,
    struct fcgi_reply *rp, int *sig)
{
	const char *const argv[] = { own_program(rq->a), "-1", "--project", t->project,
		NULL };
	const char *const env[] = { arena_printf(rq->a, "REMOTE_ADDR=%s", rq->peer),
		NULL };
	const struct proc_run run = { .argv = argv,
		.env = env,
		.in = { PROC_MEMORY, .text = rq->body, .n = rq->body_n },
		.out = { PROC_PIPE },
		.err = { PROC_OURS } };
	struct fail f = { 0 };
	struct proc_told told;

	if (proc_collect(rq->a, &run, LIMIT_S + t->wait_s, REPLY_MAX, &told, &f) !=
	    OK) {
		log_fail("a request that may have crashed the scheduler", &f);
		return UNKNOWN;
	}
	*sig = told.status - KILLED;
	if (told.status > KILLED && *sig != SIGTERM && *sig != SIGINT && *sig != SIGHUP)
		return CRASHED;
	if (told.status != 0 || !text_ends_with(told.out, reply_end)) {
		log_warn(
		    "a request that may have crashed the scheduler: its process ended with status %d",
		    told.status);
		return UNKNOWN;
	}
	/* A project that is down answers in plain text (protocol.md 2.10). */
	rp->type = strstr(told.out, "<project_is_down/>") != NULL ? "text/plain" :
	                                                            "text/xml";
	buf_put(&rp->body, told.out, told.out_n);
	return SERVED;
}

/* Is there room for another body? */
static bool has_room_to_keep(const struct trial *t, struct arena *a, size_t bytes)
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
static const char *keep_body(
    const struct trial *t, const struct fcgi_request *rq, const char *digest)
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
static bool crash_is_sure(struct trial *t, uint64_t identity, int sig)
{
	if (sig != SIGKILL)
		return true;
	if (suspects_accuse(&t->suspects, identity, clock_now()) >= CRASHES_SURE)
		return true;
	log_warn(
	    "a request that may have crashed the scheduler: its process was killed; does the machine lack memory?");
	return false;
}

static void convict(struct trial *t, const struct fcgi_request *rq, uint64_t identity,
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
static enum serve_end try_request(
    struct trial *t, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	uint64_t identity = request_identity(rq->body, rq->body_n);
	char digest[MD5_HEX];
	int sig = 0;

	if (!trial_is_due(t, rq))
		return SERVE_NOT_YET;
	request_digest(rq->a, rq->body, rq->body_n, digest);
	if (suspects_guilty(&t->suspects, identity, digest, clock_now()))
		return SERVE_CRASHES;
	switch (run_apart(t, rq, rp, &sig)) {
	case SERVED:
		suspects_clear(&t->suspects, identity, digest);
		return SERVE_REPLIED;
	case CRASHED:
		if (!crash_is_sure(t, identity, sig))
			break;
		convict(t, rq, identity, digest, sig);
		return SERVE_CRASHES;
	case UNKNOWN:
		break;
	}
	return SERVE_BUSY;
}

enum serve_end trial_serve(
    struct trial *t, const struct fcgi_request *rq, struct fcgi_reply *rp)
{
	enum serve_end how;

	if (!take_place(t))
		return SERVE_BUSY;
	how = try_request(t, rq, rp);
	atomic_fetch_sub(&t->running, 1);
	return how;
}
