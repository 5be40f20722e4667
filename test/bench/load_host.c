/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a host's request and applies the reply to the host. */
#include "test/bench/load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum mark { M_KEY, M_ID, M_SEQNO, M_WORK, M_CPU, M_INSTANCES, M_CPID, M_LISTS };

/* --- the request --- */

static const struct {
	const char *line; /* start of the template's line, after blanks */
	enum mark mark;
} marks[] = {
	{ "<authenticator>", M_KEY },
	{ "<hostid>", M_ID },
	{ "<rpc_seqno>", M_SEQNO },
	{ "<work_req_seconds>", M_WORK },
	{ "<cpu_req_secs>", M_CPU },
	{ "<cpu_req_instances>", M_INSTANCES },
	{ "<host_cpid>", M_CPID },
	{ "<other_results>", M_LISTS },
};

/*
 * Elements to drop from the template; each spans the lines from its start to its end
 * tag.
 */
static const char *const lists[] = { "file_info", "other_results", "result" };

static bool line_is(const char *line, const char *before, const char *word)
{
	size_t n = strlen(before), m = strlen(word);

	line += strspn(line, " \t");
	return strncmp(line, before, n) == 0 && strncmp(line + n, word, m) == 0;
}

static void template_cut(struct world *w, struct buf *text, enum mark mark)
{
	struct template *t = &w->template;

	t->parts[t->n] = arena_strdup(&w->life, text->p == NULL ? "" : text->p);
	t->marks[t->n++] = (int)mark;
	*text = buf_new(&w->life);
}

bool template_read(struct world *w, const char *path)
{
	struct template *t = &w->template;
	struct buf text = buf_new(&w->life);
	struct fail f = { 0 };
	char *p, *save = NULL;
	const char *in = NULL;

	if (fs_read(&w->life, path, 1 << 20, &p, NULL, &f) != OK) {
		fprintf(stderr, "load: %s\n", f.detail);
		return false;
	}
	t->parts = NEWN(&w->life, char *, N(marks) + 1);
	t->marks = NEWN(&w->life, int, N(marks) + 1);
	for (char *l = strtok_r(p, "\n", &save); l != NULL;
	     l = strtok_r(NULL, "\n", &save)) {
		bool skip = in != NULL;

		for (size_t i = 0; i < N(marks) && t->n < N(marks); i++)
			if (in == NULL && line_is(l, "", marks[i].line)) {
				template_cut(w, &text, marks[i].mark);
				skip = true;
			}
		for (size_t i = 0; i < N(lists); i++) {
			if (in == NULL && line_is(l, "<", lists[i])) {
				in = lists[i];
				skip = true;
			} else if (in == lists[i] && line_is(l, "</", in))
				in = NULL;
		}
		if (!skip)
			buf_printf(&text, "%s\n", l);
	}
	t->parts[t->n] = text.p;
	return t->n == N(marks);
}

static void put_host_report(struct buf *b, const char *name)
{
	buf_printf(b,
	    "<result>\n    <name>%s</name>\n    "
	    "<final_cpu_time>990.5</final_cpu_time>\n"
	    "    <final_elapsed_time>1000.25</final_elapsed_time>\n"
	    "    <exit_status>0</exit_status>\n    <state>5</state>\n"
	    "    <platform>x86_64-pc-linux-gnu</platform>\n"
	    "    <version_num>100</version_num>\n"
	    "    <final_peak_disk_usage>14583</final_peak_disk_usage>\n"
	    "    <app_version_num>100</app_version_num>\n<stderr_out>\n"
	    "<core_client_version>7.20.5</core_client_version>\n<![CDATA[\n"
	    "<stderr_txt>\nstart\n23:48:47 (21520): called boinc_finish(0)\n\n"
	    "</stderr_txt>\n]]>\n</stderr_out>\n<file_info>\n",
	    name);
	buf_printf(b,
	    "    <name>%s_r1_0</name>\n    <nbytes>4000.000000</nbytes>\n"
	    "    <max_nbytes>65536.000000</max_nbytes>\n"
	    "    <md5_cksum>2cad20c19a8eb9bb11a9f76527aec9bc</md5_cksum>\n"
	    "    "
	    "<upload_url>http://127.0.0.1/bench_cgi/file_upload_handler</upload_url>\n"
	    "</file_info>\n</result>\n",
	    name);
}

static void put_host_lists(const struct world *w, struct host *h, struct buf *b)
{
	h->reported = h->ntasks < w->habits.report ? h->ntasks : w->habits.report;
	for (int i = 0; i < h->reported; i++)
		put_host_report(b, h->tasks[i]);
	for (int i = 0; i < h->nheld; i++)
		buf_printf(b,
		    "    <file_info>\n        <name>f%0*d.dat</name>\n"
		    "        <nbytes>%f</nbytes>\n        <status>1</status>\n"
		    "    </file_info>\n",
		    FILE_DIGITS, h->held[i], w->habits.file_bytes);
	buf_puts(b, "<other_results>\n");
	for (int i = h->reported; i < h->ntasks; i++)
		buf_printf(b,
		    "    <other_result>\n        <name>%s</name>\n"
		    "        <app_version>0</app_version>\n    </other_result>\n",
		    h->tasks[i]);
	buf_puts(b, "</other_results>\n");
}

static void put_mark(
    struct world *w, struct host *h, enum mark mark, int want, struct buf *b)
{
	/*
	 * Half a job short of `want` jobs, so that exactly `want` jobs fill the
	 * request.
	 */
	double want_s = want > 0 ? (want - 0.5) * w->habits.job_s : 0;
	long long id = h->id, first = w->habits.first_host;
	long long account = id - (id - first) % w->habits.per_account;

	switch (mark) {
	case M_KEY:
		buf_printf(b, "    <authenticator>%032lld</authenticator>\n", account);
		break;
	case M_ID:
		buf_printf(b, "    <hostid>%lld</hostid>\n", id);
		break;
	case M_SEQNO:
		buf_printf(
		    b, "    <rpc_seqno>%lld</rpc_seqno>\n", (long long)h->seqno++);
		break;
	case M_WORK:
		buf_printf(b, "    <work_req_seconds>%f</work_req_seconds>\n", want_s);
		break;
	case M_CPU:
		buf_printf(b, "    <cpu_req_secs>%f</cpu_req_secs>\n", want_s);
		break;
	case M_INSTANCES:
		buf_printf(b, "    <cpu_req_instances>%d.000000</cpu_req_instances>\n",
		    want > 0 ? w->habits.instances : 0);
		break;
	case M_CPID:
		buf_printf(b, "    <host_cpid>%032lld</host_cpid>\n", id);
		break;
	case M_LISTS:
		put_host_lists(w, h, b);
		break;
	}
}

void request_put(struct world *w, struct host *h, int want, struct buf *b)
{
	const struct template *t = &w->template;

	for (size_t i = 0; i < t->n; i++) {
		buf_puts(b, t->parts[i]);
		put_mark(w, h, (enum mark)t->marks[i], want, b);
	}
	buf_puts(b, t->parts[t->n]);
}

/* --- the answer --- */

static void event(
    struct world *w, const struct host *h, enum event_kind kind, const char *name)
{
	struct event *e = &PUSH(&w->life, w->events, w->nevents, w->events_cap);

	memset(e, 0, sizeof(*e));
	memcpy(e->name, name, strlen(name));
	e->host = (int)h->id;
	e->kind = kind;
}

/*
 * Copies the text of the first such element in [p, end) to out. Returns false if there
 * is none or it does not fit.
 */
static bool element(
    const char *p, const char *end, const char *tag, char *out, size_t size)
{
	const char *from = strstr(p, tag), *to;

	if (from == NULL || from >= end)
		return false;
	from += strlen(tag);
	to = strchr(from, '<');
	if (to == NULL || to > end || (size_t)(to - from) >= size)
		return false;
	memcpy(out, from, (size_t)(to - from));
	out[to - from] = '\0';
	return true;
}

static int task_named(const struct host *h, const char *name)
{
	for (int i = 0; i < h->ntasks; i++)
		if (strcmp(h->tasks[i], name) == 0)
			return i;
	return -1;
}

static void take_ack(struct world *w, struct host *h, const char *name)
{
	int at = task_named(h, name);

	if (at < 0) {
		w->tally.unknown++;
		return;
	}
	w->tally.acked++;
	event(w, h, ACKED, name);
	h->ntasks--;
	memmove(h->tasks[at], h->tasks[at + 1], (size_t)(h->ntasks - at) * TASK_NAME);
}

/*
 * Returns the number of the result's input file from the result's name; 0 if it has
 * none.
 */
static int file_number(const char *name)
{
	return name[0] == 'f' ? (int)strtol(name + 1, NULL, 10) : 0;
}

static void host_take_job(struct world *w, struct host *h, const char *name)
{
	int file = file_number(name);
	bool there = false;

	if (task_named(h, name) >= 0) {
		w->tally.again++;
		return;
	}
	if (h->ntasks == TASKS || strlen(name) >= TASK_NAME) {
		w->tally.overflow++;
		return;
	}
	memcpy(h->tasks[h->ntasks++], name, strlen(name) + 1);
	event(w, h, SENT, name);
	w->tally.sent++;
	for (int i = 0; i < h->nheld; i++)
		there = there || h->held[i] == file;
	w->tally.hits += there;
	if (file != 0 && !there && !w->habits.forget) {
		if (h->nheld == w->habits.hold + MORE_HELD)
			memmove(h->held, h->held + 1, --h->nheld * sizeof(*h->held));
		h->held[h->nheld++] = file;
	}
}

static void drop_file(struct host *h, const char *name)
{
	int file = file_number(name);

	for (int i = 0; i < h->nheld; i++)
		if (h->held[i] == file)
			h->held[i] = h->held[--h->nheld];
}

/* Returns true if the reply says that the server is busy. */
static bool take_busy(
    struct world *w, struct host *h, const char *p, const char *end, double now)
{
	const char *busy = strstr(p, "is busy");
	char text[40];
	double delay_s;

	if (busy == NULL || busy > end ||
	    !element(p, end, "<request_delay>", text, sizeof(text)))
		return false;
	delay_s = strtod(text, NULL);
	h->not_before = now + delay_s;
	if (w->tally.busy++ == 0 || delay_s < w->tally.busy_least_s)
		w->tally.busy_least_s = delay_s;
	if (delay_s > w->tally.busy_most_s)
		w->tally.busy_most_s = delay_s;
	return true;
}

bool reply_take(
    struct world *w, struct host *h, bool wanted, const char *body, double now)
{
	const char *at = strstr(body, "<scheduler_reply>");
	const char *end = at == NULL ? NULL : strstr(at, "</scheduler_reply>");
	long long before = w->tally.sent;
	char name[200];

	w->tally.rpcs++;
	if (end == NULL) {
		w->tally.invalid++;
		return false;
	}
	if (take_busy(w, h, at, end, now))
		return true;
	for (const char *p = at; (p = strstr(p, "<result_ack>")) != NULL; p++)
		if (element(p, end, "<name>", name, sizeof(name)))
			take_ack(w, h, name);
	for (const char *p = at; (p = strstr(p, "\n<result>\n")) != NULL; p++)
		if (element(p, end, "<name>", name, sizeof(name)))
			host_take_job(w, h, name);
	for (const char *p = at;
	     !w->habits.forget &&
	     element(p, end, "<delete_file_info>", name, sizeof(name));
	     p = strstr(p, "<delete_file_info>") + 1)
		drop_file(h, name);
	w->tally.empty += wanted && w->tally.sent == before;
	return true;
}

/* --- all hosts --- */

void hosts_make(struct world *w)
{
	const struct habits *g = &w->habits;

	w->hosts = NEWN(&w->life, struct host, (size_t)g->nhosts);
	for (int i = 0; i < g->nhosts; i++) {
		struct host *h = &w->hosts[i];
		int step = g->nfiles / (g->hold > 0 ? g->hold : 1);

		h->id = g->first_host + i;
		h->held = NEWN(&w->life, int, (size_t)(g->hold + MORE_HELD));
		for (int k = 0; k < g->hold; k++)
			h->held[h->nheld++] = g->first_file +
			                      (i + k * step) % g->nfiles;
	}
}

static int event_order(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;
	int order = (int)a->kind - (int)b->kind;

	return order != 0 ? order : memcmp(a->name, b->name, TASK_NAME);
}

long long events_twice(struct world *w)
{
	long long n = 0;

	if (w->nevents > 0)
		qsort(w->events, w->nevents, sizeof(*w->events), event_order);
	for (size_t i = 1; i < w->nevents; i++)
		n += w->events[i].kind == SENT &&
		     event_order(&w->events[i - 1], &w->events[i]) == 0;
	return n;
}

bool events_write(const struct world *w, const char *path)
{
	FILE *out = fopen(path, "we");

	if (out == NULL)
		return false;
	for (size_t i = 0; i < w->nevents; i++)
		fprintf(out, "%d %s %s\n", w->events[i].host,
		    w->events[i].kind == SENT ? "sent" : "acked", w->events[i].name);
	return fclose(out) == 0;
}
