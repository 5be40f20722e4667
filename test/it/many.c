/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many hosts at once that compute nothing. Each is a loop of requests: it reports,
 * lists its jobs, holds large files and deletes them by order. Half of the accounts
 * have a bad line: replies get lost, hosts hang up, requests arrive twice. Every event
 * of a host goes to a log, which the scenario checks against the database.
 *
 *   many --url http://HOST:PORT/PATH... --keys FILE [--trace FILE] [--processes N]
 *        --seed N --logs DIR
 *
 * URLs may differ in the port only; each request goes to one of them at random. Every
 * key has two hosts; each of N processes, by default 40, plays some hosts, never two of
 * one key, and makes one request at a time. Once the
 * file DIR/settle exists, lines are good, and a host ends when it has nothing left to
 * report and gets no more jobs.
 *
 * With a trace all lines are good, and hosts come and go: each line "HOST FROM ROUNDS"
 * is a visit, counted in rounds of one request of every host. After the last visit the
 * hosts settle.
 *
 * A line of DIR/N.log is
 *
 *   T0 T1 HOST KEY EVENT NAME MORE
 *
 * T0 is the time of the request and T1 that of the reply, in microseconds.
 */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/rng.h"
#include "lib/text.h"
#include "proto/reply.h"
#include "lib/banned.h"

enum {
	PROCESSES = 40, /* by default */
	PROCESSES_MOST = 1000,
	NAME = 200,
	JOBS = 40,
	FILES = 100,
	KEYS = 1000,
	URLS = 3,
	SETTLE_S = 900, /* limit for settling */
	QUIET = 3,      /* replies without news after which a host has settled */
};

struct task {
	char name[NAME], file[NAME];
	int left; /* requests until it is computed */
	bool failed;
};

struct held {
	char name[NAME];
	double nbytes;
	bool going; /* ordered deleted; stays while a job needs it */
};

struct sim {
	int number, key;
	bool bad_line;
	long long hostid, seqno;
	struct task jobs[JOBS];
	struct held files[FILES];
	size_t njobs, nfiles;
	int quiet;
	bool over;
};

struct visit {
	int host, from, rounds;
};

struct play {
	const char *where, *path, *logs,
	    *ports[URLS]; /* host, path and ports of the URLs */
	size_t nports;
	char **keys;
	size_t nkeys;
	long long seed;
	int64_t processes;
	const struct visit *visits; /* NULL = hosts never go */
	size_t nvisits;
	struct rng rng;
	FILE *log;
	struct arena a; /* of one request */
	double from;    /* when it was sent */
	long long rpcs, lost, hung_up, copied, failed;
};

static void log_event(const struct play *p, const struct sim *h, const char *event,
    const char *name, const char *more)
{
	fprintf(p->log, "%.0f %.0f %d %d %s %s %s\n", p->from * 1e6,
	    clock_now_f() * 1e6, h->number, h->key, event, name, more);
}

/* --- the request --- */

static void put_jobs_and_files(const struct sim *h, struct buf *b)
{
	for (size_t i = 0; i < h->njobs; i++) {
		const struct task *j = &h->jobs[i];

		if (j->left == 0)
			buf_printf(b,
			    "<result>\n<name>%s</name>\n"
			    "<final_cpu_time>10</final_cpu_time>\n"
			    "<final_elapsed_time>11</final_elapsed_time>\n"
			    "<exit_status>%d</exit_status>\n<state>%d</state>\n"
			    "</result>\n",
			    j->name, j->failed ? 1 : 0, j->failed ? 3 : 5);
	}
	buf_puts(b, "<other_results>\n");
	for (size_t i = 0; i < h->njobs; i++)
		if (h->jobs[i].left > 0)
			buf_printf(b, "<other_result><name>%s</name></other_result>\n",
			    h->jobs[i].name);
	buf_puts(b, "</other_results>\n");
	for (size_t i = 0; i < h->nfiles; i++)
		buf_printf(b,
		    "<file_info><name>%s</name><nbytes>%.0f</nbytes>"
		    "<status>1</status></file_info>\n",
		    h->files[i].name, h->files[i].nbytes);
}

static const char *compose_request(struct play *p, const struct sim *h, bool work)
{
	int secs = work ? 3000 : 0;
	struct buf b = buf_new(&p->a);

	buf_printf(&b,
	    "<scheduler_request>\n<authenticator>%s</authenticator>\n"
	    "<hostid>%lld</hostid>\n<rpc_seqno>%lld</rpc_seqno>\n"
	    "<core_client_major_version>7</core_client_major_version>\n"
	    "<core_client_minor_version>20</core_client_minor_version>\n"
	    "<core_client_release>5</core_client_release>\n"
	    "<work_req_seconds>%d</work_req_seconds>\n"
	    "<cpu_req_secs>%d</cpu_req_secs>\n"
	    "<cpu_req_instances>%d</cpu_req_instances>\n"
	    "<client_cap_plan_class>1</client_cap_plan_class>\n",
	    p->keys[h->key], h->hostid, h->seqno, secs, secs, work);
	buf_printf(&b,
	    "<platform_name>x86_64-pc-linux-gnu</platform_name>\n<host_info>\n"
	    "<domain_name>host%d</domain_name><ip_addr>127.0.0.1</ip_addr>\n"
	    "<host_cpid>%032x</host_cpid>\n<p_ncpus>2</p_ncpus>\n"
	    "<p_vendor>GenuineIntel</p_vendor><p_model>x</p_model>\n"
	    "<p_fpops>5000000000</p_fpops><m_nbytes>8000000000</m_nbytes>\n"
	    "<d_total>100000000000</d_total><d_free>90000000000</d_free>\n"
	    "<os_name>Linux</os_name><os_version>6</os_version>\n</host_info>\n"
	    "<time_stats><on_frac>1</on_frac><connected_frac>1</connected_frac>"
	    "<active_frac>1</active_frac></time_stats>\n",
	    h->number, (unsigned)h->number + 1);
	put_jobs_and_files(h, &b);
	buf_puts(&b, "</scheduler_request>\n");
	return arena_printf(&p->a,
	    "POST %s HTTP/1.0\r\nHost: %s\r\nContent-Type: text/xml\r\n"
	    "Content-Length: %zu\r\n\r\n%s",
	    p->path, p->where, b.n, b.p);
}

/* --- the line --- */

/* Connects and sends. Returns the socket, -1 if the project does not answer. */
static int send_to(struct play *p, const char *text)
{
	size_t to_port = p->nports > 1 ? rng_below(&p->rng, p->nports) : 0;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *to = NULL;
	size_t n = strlen(text);
	int fd = -1;

	if (getaddrinfo(p->where, p->ports[to_port], &hints, &to) != 0)
		return -1;
	fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(to);
	while (fd >= 0 && n > 0) {
		ssize_t k = send(fd, text, n, MSG_NOSIGNAL);
		if (k <= 0) {
			close(fd);
			return -1;
		}
		text += k;
		n -= (size_t)k;
	}
	return fd;
}

/* Reads the reply to its end; NULL unless a client would take it. */
static struct reply *read_reply(struct play *p, int fd)
{
	struct buf b = buf_new(&p->a);
	struct reply *reply = NULL;
	struct fail f = { 0 };
	char part[4096];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			buf_put(&b, part, (size_t)n);
	close(fd);
	const char *body = b.n == 0 ? NULL : strstr(b.p, "\r\n\r\n");
	const char *ok = b.n == 0 ? NULL : strstr(b.p, " 200 ");
	if (body == NULL || ok == NULL || ok > body)
		return NULL;
	body += 4;
	if (reply_parse(&p->a, body, b.n - (size_t)(body - b.p), &reply, &f) != OK)
		return NULL;
	return reply;
}

/* Sends a request and returns the reply; NULL if a bad line loses it. */
static struct reply *exchange_rpc(struct play *p, struct sim *h, bool faults, bool work)
{
	double luck = h->bad_line && faults ? rng_unit(&p->rng) : 1;
	const char *text = compose_request(p, h, work);
	struct reply *reply;
	int fd, again = -1;

	p->from = clock_now_f();
	fd = send_to(p, text);
	if (fd >= 0 && luck >= 0.16 && luck < 0.24)
		again = send_to(p, text);
	p->rpcs++;
	if (fd >= 0 && luck < 0.08) {
		if (luck < 0.04) /* so that the server has begun */
			clock_nap_ms((int)rng_below(&p->rng, 60));
		close(fd);
		p->hung_up++;
		return NULL;
	}
	reply = fd < 0 ? NULL : read_reply(p, fd);
	p->failed += reply == NULL;
	if (again >= 0) { /* one of the two arrives */
		struct reply *second = read_reply(p, again);
		p->failed += second == NULL;
		p->copied++;
		if (rng_below(&p->rng, 2) == 0)
			reply = second;
	}
	p->lost += luck < 0.16;
	return luck < 0.16 ? NULL : reply;
}

/* --- the reply --- */

static struct task *sim_job(struct sim *h, const char *name)
{
	for (size_t i = 0; i < h->njobs; i++)
		if (strcmp(h->jobs[i].name, name) == 0)
			return &h->jobs[i];
	return NULL;
}

static void sim_job_remove(struct sim *h, struct task *j)
{
	*j = h->jobs[--h->njobs];
}

static struct held *sim_file(struct sim *h, const char *name)
{
	for (size_t i = 0; i < h->nfiles; i++)
		if (strcmp(h->files[i].name, name) == 0)
			return &h->files[i];
	return NULL;
}

static bool says_resent(const struct reply *r, const char *name)
{
	static const char text[] = "Resent lost task ";

	for (size_t i = 0; i < r->nmessages; i++) {
		const char *m = r->messages[i].text;
		if (strncmp(m, text, sizeof(text) - 1) == 0 &&
		    strcmp(m + sizeof(text) - 1, name) == 0)
			return true;
	}
	return false;
}

static void fetch_file(
    struct play *p, struct sim *h, const struct reply *r, const char *file)
{
	struct held *f = sim_file(h, file);

	if (f != NULL) {
		f->going = false; /* the new job needs it */
		return;
	}
	if (h->nfiles == FILES) {
		log_event(p, h, "overflow", file, "files");
		return;
	}
	for (size_t i = 0; i < r->nfiles; i++) {
		if (strcmp(r->files[i].name, file) != 0)
			continue;
		f = &h->files[h->nfiles++];
		*f = (struct held){ .nbytes = r->files[i].nbytes };
		snprintf(f->name, NAME, "%s", r->files[i].name);
		log_event(
		    p, h, "fetched", file, arena_printf(&p->a, "%.0f", f->nbytes));
		return;
	}
	log_event(p, h, "undeclared", file, "");
}

static void receive_job(
    struct play *p, struct sim *h, const struct reply *r, const struct rp_result *got)
{
	struct task *j = sim_job(h, got->name);
	const char *end = strstr(got->name, "__");
	const char *as = says_resent(r, got->name) ? "resent" : "new";

	if (j != NULL) {
		log_event(p, h, "again", got->name, as);
		return;
	}
	if (h->njobs == JOBS || end == NULL) {
		log_event(p, h, "overflow", got->name, "jobs");
		return;
	}
	j = &h->jobs[h->njobs++];
	*j = (struct task){ .left = 1 + (int)rng_below(&p->rng, 3),
		.failed = rng_below(&p->rng, 40) == 0 };
	snprintf(j->name, NAME, "%s", got->name);
	snprintf(j->file, NAME, "%.*s", (int)(end - got->name), got->name);
	log_event(p, h, "received", j->name, as);
	fetch_file(p, h, r, j->file);
}

/* Deletes ordered files that no job needs any more. */
static void delete_ordered_files(struct play *p, struct sim *h)
{
	for (size_t i = 0; i < h->nfiles;) {
		bool needed = !h->files[i].going;

		for (size_t k = 0; k < h->njobs; k++)
			needed |= strcmp(h->jobs[k].file, h->files[i].name) == 0;
		if (needed) {
			i++;
			continue;
		}
		log_event(p, h, "deleted", h->files[i].name, "");
		h->files[i] = h->files[--h->nfiles];
	}
}

static void abort_jobs(struct play *p, struct sim *h, char **names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct task *j = sim_job(h, names[i]);

		log_event(p, h, "aborted", names[i], "");
		if (j != NULL && j->left > 0)
			j->left = 0, j->failed = true;
	}
}

static void receive_reply(struct play *p, struct sim *h, const struct reply *r)
{
	size_t before = h->njobs;

	if (r->hostid != 0)
		h->hostid = r->hostid;
	h->seqno++;
	for (size_t i = 0; i < r->nacks; i++) {
		struct task *j = sim_job(h, r->acks[i]);

		log_event(p, h, "acked", r->acks[i], j == NULL ? "unknown" : "");
		if (j != NULL)
			sim_job_remove(h, j);
	}
	/* Delete orders are about files held before this reply's jobs. */
	for (size_t i = 0; i < r->ndelete_files; i++) {
		struct held *f = sim_file(h, r->delete_files[i]);

		log_event(
		    p, h, "ordered", r->delete_files[i], f == NULL ? "unknown" : "");
		if (f != NULL)
			f->going = true;
	}
	for (size_t i = 0; i < r->nresults; i++)
		receive_job(p, h, r, &r->results[i]);
	abort_jobs(p, h, r->aborts, r->naborts);
	abort_jobs(p, h, r->aborts_if_not_started, r->naborts_if_not_started);
	delete_ordered_files(p, h);
	h->quiet = before == 0 && h->njobs == 0 ? h->quiet + 1 : 0;
}

/* --- the loop --- */

static void play_host(struct play *p, struct sim *h, bool settling)
{
	const struct reply *r;

	for (size_t i = 0; i < h->njobs; i++)
		if (h->jobs[i].left > 0 && --h->jobs[i].left == 0)
			log_event(p, h, "done", h->jobs[i].name,
			    h->jobs[i].failed ? "failed" : "");
	r = exchange_rpc(p, h, !settling, !settling || p->visits == NULL);
	if (r != NULL)
		receive_reply(p, h, r);
	else
		clock_nap_ms(20);
	if (!settling)
		h->quiet = 0;
	h->over = h->quiet >= QUIET;
	arena_reset(&p->a);
}

static bool is_there(const struct play *p, const struct sim *h, int round)
{
	bool there = p->visits == NULL;

	for (size_t i = 0; i < p->nvisits; i++)
		there |= p->visits[i].host == h->number && round >= p->visits[i].from &&
		         round - p->visits[i].from < p->visits[i].rounds;
	return there;
}

/* Tells whether the last visit is over. */
static bool all_gone(const struct play *p, int round)
{
	bool gone = p->visits != NULL;

	for (size_t i = 0; i < p->nvisits; i++)
		gone &= round >= p->visits[i].from + p->visits[i].rounds;
	return gone;
}

static void play_hosts(struct play *p, struct sim *h, size_t n)
{
	struct arena a = { 0 };
	const char *settle = arena_printf(&a, "%s/settle", p->logs);
	int64_t since = -1;
	bool left = true;

	for (int round = 0;
	     left && (since < 0 || clock_mono_ms() < since + SETTLE_S * 1000);
	     round++) {
		bool settling = since >= 0 || all_gone(p, round) || fs_exists(settle);

		if (settling && since < 0)
			since = clock_mono_ms();
		left = false;
		for (size_t i = 0; i < n; i++) {
			if (h[i].over)
				continue;
			left = true;
			if (!settling && !is_there(p, &h[i], round))
				continue;
			play_host(p, &h[i], settling);
			clock_nap_ms((int)rng_below(&p->rng, 40));
		}
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < h[i].njobs; k++)
			log_event(p, &h[i], "left", h[i].jobs[k].name, "");
	fprintf(p->log, "# rpcs=%lld lost=%lld hung_up=%lld copied=%lld failed=%lld\n",
	    p->rpcs, p->lost, p->hung_up, p->copied, p->failed);
	arena_free(&a);
}

static int one_process(struct play *p, int number)
{
	struct arena life = { 0 };
	size_t n = 0, all = 2 * p->nkeys;
	struct sim *h = NEWN(&life, struct sim, all / (size_t)p->processes + 1);

	p->rng = rng_seed((uint64_t)(p->seed * p->processes + number));
	p->log = fopen(arena_printf(&life, "%s/%d.log", p->logs, number), "we");
	if (p->log == NULL) {
		perror(p->logs);
		return 1;
	}
	setlinebuf(p->log); /* scenarios read it meanwhile */
	for (size_t i = (size_t)number; i < all; i += (size_t)p->processes)
		h[n++] = (struct sim){ .number = (int)i,
			.key = (int)(i / 2),
			.bad_line = p->visits == NULL && i / 2 % 2 == 1 };
	play_hosts(p, h, n);
	int bad = fclose(p->log);
	arena_free(&p->a);
	arena_free(&life);
	return bad != 0;
}

static bool read_account_keys(struct arena *a, const char *path, struct play *p)
{
	struct fail f = { 0 };
	char *text, *save = NULL;

	if (fs_read(a, path, 1 << 20, &text, NULL, &f) != OK) {
		fprintf(stderr, "many: %s\n", f.detail);
		return false;
	}
	p->keys = NEWN(a, char *, KEYS);
	for (char *k = strtok_r(text, "\n", &save); k != NULL && p->nkeys < KEYS;
	     k = strtok_r(NULL, "\n", &save))
		p->keys[p->nkeys++] = k;
	return p->nkeys > 0;
}

/* Lines "HOST FROM ROUNDS". */
static bool read_visits(struct arena *a, const char *path, struct play *p)
{
	FILE *in = fopen(path, "re");
	struct visit v, *visits = NULL;
	size_t cap = 0;

	while (in != NULL && fscanf(in, "%d %d %d", &v.host, &v.from, &v.rounds) == 3)
		PUSH(a, visits, p->nvisits, cap) = v;
	if (in != NULL)
		fclose(in);
	p->visits = visits;
	return p->nvisits > 0;
}

/* http://HOST:PORT/PATH */
static bool read_url(struct arena *a, const char *url, struct play *p)
{
	char *at = strstr(url, "://") == NULL ? NULL :
	                                        arena_strdup(a, strstr(url, "://") + 3);
	char *path = at == NULL ? NULL : strchr(at, '/');
	char *port = at == NULL ? NULL : strchr(at, ':');

	if (path == NULL || port == NULL || port > path || p->nports == URLS)
		return false;
	p->path = arena_strdup(a, path);
	*path = *port = '\0';
	p->where = at;
	p->ports[p->nports++] = port + 1;
	return true;
}

static bool parse_many_options(struct arena *a, int argc, char **argv, struct play *p)
{
	static const struct option options[] = { { "url", 1, NULL, 'u' },
		{ "keys", 1, NULL, 'k' }, { "seed", 1, NULL, 's' },
		{ "logs", 1, NULL, 'l' }, { "trace", 1, NULL, 't' },
		{ "processes", 1, NULL, 'p' }, { NULL, 0, NULL, 0 } };
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'u')
			good = good && read_url(a, optarg, p);
		else if (c == 'k')
			good = good && read_account_keys(a, optarg, p);
		else if (c == 's')
			p->seed = strtoll(optarg, NULL, 10);
		else if (c == 't')
			good = good && read_visits(a, optarg, p);
		else if (c == 'p')
			good &= text_i64(optarg, 2, PROCESSES_MOST, &p->processes);
		else if (c == 'l')
			p->logs = optarg;
		else
			good = false;
	}
	return good && p->keys != NULL && p->nports > 0;
}

int main(int argc, char **argv)
{
	struct play p = { .seed = 1, .logs = ".", .processes = PROCESSES };
	struct arena a = { 0 };
	int status, bad = 0;

	if (!parse_many_options(&a, argc, argv, &p)) {
		fprintf(stderr, "usage: many --url URL... --keys FILE [--trace FILE] "
				"[--processes N] --seed N --logs DIR\n");
		return 2;
	}
	/* The hosts end with the scenario, however it ends. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	for (int i = 0; i < p.processes; i++)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGTERM);
			_exit(one_process(&p, i));
		}
	while (wait(&status) > 0)
		bad |= status;
	arena_free(&a);
	return bad != 0;
}
