/* SPDX-License-Identifier: Apache-2.0 */
/* locus top: the project's processes, what they use, and the work that waits for them.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/stmts.h"
#include "lib/clock.h"
#include "tools/catalog.h"
#include "tools/print/print.h"
#include "tools/procfs.h"
#include "tools/running.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum { EVERY_S = 2, SAMPLE_MS = 500, PROCS_MOST = 256 };

struct top_opts {
	bool once;
};
static const struct field top_options[] = {
	{ "once", FIELD_OF(struct top_opts, once), NULL,
	    "Prints one list and ends, as it does if the output is no terminal." },
	{ 0 },
};

static const struct print_column top_columns[] = {
	{ "name", "SERVICE", PRINT_TEXT, NULL },
	{ "state", "STATE", PRINT_TEXT, NULL },
	{ "pid", "PID", PRINT_NUMBER, "null: none" },
	{ "since", "STARTED", PRINT_TIME, NULL },
	{ "restarts", "RESTARTS", PRINT_NUMBER, NULL },
	{ "cpu", "CPU", PRINT_PERCENT, "of one processor, since the look before" },
	{ "memory", "MEMORY", PRINT_BYTES, "of all processes of the service" },
	{ "backlog", "BACKLOG", PRINT_NUMBER,
	    "what waits for it; null: it has no queue" },
	{ "change", "A MINUTE", PRINT_REAL,
	    "change of the backlog since the first look" },
	{ "oldest", "OLDEST", PRINT_SPAN, "how long the first of them has waited" },
	{ 0 },
};

/* The queues of which each daemon takes its work. */
enum queue { QUEUE_TRANSITION, QUEUE_VALIDATE, QUEUE_ASSIMILATE, QUEUE_DELETE, QUEUES };
static const char *const daemons[QUEUES] = { "transitioner", "validator", "assimilator",
	"file_deleter" };

struct sample {
	int64_t at_ms, bytes;
	uint64_t ticks;
};
struct top_view {
	int64_t began_ms;
	struct row_pair
	    first[QUEUES]; /* when it began: length, age of the oldest in s */
	bool counted;
	struct sample before[PROCS_MOST]; /* of the service at this place */
	pid_t pids[PROCS_MOST];
};

/* --- queues --- */

static void add_queue(struct row_pair *sum, const struct row_pair *q)
{
	sum->a += q->a;
	sum->b = q->b > sum->b ? q->b : sum->b;
}

static enum err read_queue(struct cmd_ctx *x, enum stmt_id id, struct row_pair *sum)
{
	struct row_pair *row = NULL;

	TRY(db_row_like(
	    x->db, x->a, x->f, &row, id, QUEUE_TRANSITIONER, .now = clock_now()));
	add_queue(sum, row);
	return OK;
}

static enum err read_queues(struct cmd_ctx *x, struct row_pair *q)
{
	struct row_pair *row = NULL;
	struct catalog *c;

	memset(q, 0, QUEUES * sizeof(*q));
	TRY(read_queue(x, SQL_QUEUE_TRANSITIONER, &q[QUEUE_TRANSITION]));
	TRY(read_queue(x, SQL_QUEUE_DELETE_INPUT, &q[QUEUE_DELETE]));
	TRY(read_queue(x, SQL_QUEUE_DELETE_OUTPUT, &q[QUEUE_DELETE]));
	TRY(catalog_load(x->db, x->a, &c, x->f));
	for (size_t i = 0; i < c->napps; i++) {
		TRY(db_row(x->db, x->a, x->f, &row, QUEUE_VALIDATOR, .now = clock_now(),
		    .appid = c->apps[i].id));
		add_queue(&q[QUEUE_VALIDATE], row);
		TRY(db_row(x->db, x->a, x->f, &row, QUEUE_ASSIMILATOR,
		    .now = clock_now(), .appid = c->apps[i].id));
		add_queue(&q[QUEUE_ASSIMILATE], row);
	}
	return OK;
}

/* The queue of a service such as "validator-search"; QUEUES = it has none. */
static int daemon_queue(const char *service)
{
	for (int i = 0; i < QUEUES; i++)
		if (strncmp(service, daemons[i], strlen(daemons[i])) == 0)
			return i;
	return QUEUES;
}

/* --- processes --- */

/* Adds up the processes of a service, which are a process group. */
static struct sample sample_of(const struct procfs *all, size_t n, pid_t group)
{
	struct sample s = { .at_ms = clock_mono_ms() };

	for (size_t i = 0; i < n && group > 0; i++) {
		uint64_t ticks;
		int64_t bytes;

		if (all[i].pgrp != group || !procfs_usage(all[i].pid, &ticks, &bytes))
			continue;
		s.ticks += ticks;
		s.bytes += bytes;
	}
	return s;
}

/* Fraction of a processor between two samples; 0 after a restart. */
static double cpu_between(const struct sample *was, const struct sample *is)
{
	double s = (double)(is->at_ms - was->at_ms) / 1000;

	if (s <= 0 || is->ticks < was->ticks)
		return 0;
	return (double)(is->ticks - was->ticks) / (double)sysconf(_SC_CLK_TCK) / s;
}

static void put_backlog(
    struct print *l, const struct top_view *v, const struct row_pair *q, int queue)
{
	double minutes = (double)(clock_mono_ms() - v->began_ms) / 60000;

	if (!v->counted || queue == QUEUES) {
		print_cells(l, NULL, NULL, NULL);
		return;
	}
	print_cells(l, q[queue].a,
	    minutes > 0 ? (double)(q[queue].a - v->first[queue].a) / minutes : 0,
	    q[queue].b);
}

static void top_print(struct cmd_ctx *x, struct top_view *v, const struct state *s,
    const struct row_pair *q)
{
	struct print *l = print_list(x, top_columns);
	struct procfs *all;
	size_t n = procfs_all(x->a, &all);

	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];
		struct sample is = sample_of(all, n, p->pid);
		double cpu = 0;

		if (i < PROCS_MOST && v->pids[i] == p->pid)
			cpu = cpu_between(&v->before[i], &is);
		if (i < PROCS_MOST) {
			v->pids[i] = p->pid;
			v->before[i] = is;
		}
		print_cells(l, p->name, proc_state_name(p->state),
		    print_unless(p->pid == 0, p->pid), p->pid == 0 ? 0 : p->since,
		    p->restarts, cpu, is.bytes);
		put_backlog(l, v, q, daemon_queue(p->name));
	}
	print_end(l);
}

/* Takes the first samples, with which the first list can be compared. */
static enum err top_begin(struct cmd_ctx *x, struct top_view *v)
{
	enum running running;
	struct procfs *all;
	struct state s;
	size_t n;

	v->began_ms = clock_mono_ms();
	TRY(running_read(x, &s, &running));
	n = procfs_all(x->a, &all);
	for (size_t i = 0; i < s.n && i < PROCS_MOST; i++) {
		v->pids[i] = s.procs[i].pid;
		v->before[i] = sample_of(all, n, s.procs[i].pid);
	}
	v->counted = ctx_db_report(x) == OK && read_queues(x, v->first) == OK;
	clock_nap_ms(SAMPLE_MS);
	return OK;
}

static enum err top_look(struct cmd_ctx *x, void *arg)
{
	struct top_view *v = arg;
	struct row_pair q[QUEUES] = { 0 };
	enum running running;
	struct state s;

	TRY(running_read(x, &s, &running));
	if (x->db != NULL && v->counted)
		v->counted = db_ready(x->db, x->f) == OK && read_queues(x, q) == OK;
	x->status = running_exit(running);
	top_print(x, v, &s, q);
	if (!v->counted && x->format == FORMAT_TABLE)
		printf("the backlogs are not known: %s\n", x->f->detail);
	return OK;
}

static enum err top_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct top_opts *o = opts;
	struct top_view *v;

	(void)args, (void)n;
	TRY(ctx_conf(x));
	v = NEW(x->a, struct top_view);
	TRY(top_begin(x, v));
	if (o->once || x->format != FORMAT_TABLE || isatty(STDOUT_FILENO) != 1)
		return top_look(x, v);
	return screen_repeat(x, EVERY_S, top_look, v);
}

const struct cmd cmd_top = { .name = "top",
	.args = "",
	.purpose = "show what the services use, and what waits for them",
	.about =
	    "Shows each service's processor time and memory and, for a daemon with a queue, its\n"
	    "backlog, how it changes, and how long the oldest item has waited. On a terminal the\n"
	    "list is repeated every two seconds until ^C. Exit status as of locus status.",
	.opts = top_options,
	.opts_size = sizeof(struct top_opts),
	.columns = top_columns,
	.run = top_run };
