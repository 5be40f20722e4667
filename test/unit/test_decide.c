/* SPDX-License-Identifier: Apache-2.0 */
/* A real host follows its rules and its user: real programs are started and stopped. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <unistd.h>
#include "client/client.h"
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { NOW = 1000000 };
static char text_app[] = "app", text_program[] = "program", text_empty[] = "",
	    text_platform[] = "x86_64-pc-linux-gnu", text_url[] = "http://127.0.0.1:1/",
	    text_workunit[] = "w", name_a[] = "a", name_b[] = "b";

static char *schedulers[] = { text_url };
static const char url[] = "http://h.example/p/";

static void
rows(struct cproject *p, struct arena *a)
{
	struct rp_file_ref *ref = NEW(a, struct rp_file_ref);

	*ref = (struct rp_file_ref){
		.file_name = text_program, .open_name = text_empty, .main_program = true
	};
	p->files = NEW(a, struct cfile);
	p->files[p->nfiles++] = (struct cfile){ .info = { .name = text_program,
						    .executable = true },
		.status = FS_PRESENT };
	p->versions = NEW(a, struct rp_app_version);
	p->versions[p->nversions++] = (struct rp_app_version){ .app_name = text_app,
		.platform = text_platform,
		.plan_class = text_empty,
		.cmdline = text_empty,
		.version_num = 1,
		.avg_ncpus = 1,
		.flops = 1e9,
		.refs = ref,
		.nrefs = 1 };
	p->workunits = NEW(a, struct rp_workunit);
	p->workunits[p->nworkunits++] = (struct rp_workunit){ .name = text_workunit,
		.app_name = text_app,
		.command_line = text_empty,
		.rsc_fpops_est = 1e12, /* 1000 s */
		.rsc_fpops_bound = 1e15 };
	p->tasks = NEWN(a, struct ctask, 2);
	for (size_t i = 0; i < 2; i++)
		p->tasks[p->ntasks++] = (struct ctask){
			.r = { .name = i == 0 ? name_a : name_b,
			    .wu_name = text_workunit,
			    .platform = text_platform,
			    .plan_class = text_empty,
			    .version_num = 1,
			    .report_deadline = NOW + 1e6 },
			.received_at = NOW,
			.slot = -1
		};
}

/* One CPU and two tasks of 1000 s, whose program only waits. */
static struct client *
host(const struct policy *policy)
{
	static struct client c;
	static char dir[PATH_MAX];
	static const char program[] = "#!/bin/sh\nexec sleep 1000\n";
	struct cproject *p;

	unit_dir(dir);
	c = (struct client){ .now = NOW,
		.dir = dir,
		.rng = rng_seed(1),
		.o = { .ncpus = 1, .extra_buffer_s = 100, .policy = policy } };
	c.o.platform = text_platform;
	c.events = open("/dev/null", O_WRONLY | O_CLOEXEC);
	c.st = NEW(&c.keep, struct state);
	c.st->p_fpops = 1e9;
	p = state_add(&c.keep, c.st, url);
	p->hostid = 1;
	p->schedulers = schedulers;
	p->nschedulers = 1;
	ck_assert_int_eq(fs_mkdirs(project_dir(&c, p), 0755, &c.fail), OK);
	ck_assert_int_eq(fs_write(file_path(&c, p, text_program), program,
			     sizeof(program) - 1, 0755, &c.fail),
	    OK);
	rows(p, &c.keep);
	return &c;
}

static void
order(struct client *c, const char *lines)
{
	ck_assert_int_eq(fs_write(arena_printf(&c->a, "%s/orders", c->dir), lines,
			     strlen(lines), 0644, &c->fail),
	    OK);
}

/* What runs and what waits in memory, as "a b" or "a (b)". */
static const char *
seen(struct client *c)
{
	struct buf b = buf_new(&c->a);

	decide_tasks(c);
	for (size_t i = 0; i < c->st->projects->ntasks; i++) {
		const struct ctask *t = &c->st->projects->tasks[i];

		if (t->pid != 0)
			buf_printf(&b, t->paused ? "(%s)" : "%s", t->r.name);
	}
	return b.n == 0 ? "" : b.p;
}

static void
host_end(struct client *c)
{
	task_stop_all(c);
	close(c->events);
	ck_assert_int_eq(fs_rmtree(c->dir, &c->fail), OK);
	arena_free(&c->a);
	arena_free(&c->keep);
	arena_free(&c->process);
}

START_TEST(orders)
{
	struct client *c = host(policies[_i]);

	ck_assert_str_eq(seen(c), "a");
	order(c, "nonsense\nsuspend a\n");
	ck_assert_str_eq(seen(c), "(a)b");
	order(c, "suspend\n");
	ck_assert_str_eq(seen(c), "(a)(b)");
	ck_assert(!decide_contact(c));
	order(c, "no-new-work\nsuspend b");
	ck_assert_str_eq(seen(c), "a(b)");
	ck_assert(!decide_contact(c));
	order(c, "suspend c\nsuspend aa\n");
	ck_assert(strlen(seen(c)) == 4); /* one of them runs */
	host_end(c);
}
END_TEST

/* Time in which it was stopped is not its run time. */
START_TEST(deadlines_and_pauses)
{
	struct client *c = host(policies[_i]);
	struct ctask *tasks = c->st->projects->tasks;

	if (strcmp(c->o.policy->name, "classic") == 0) {
		host_end(c);
		return; /* it preempts nothing */
	}
	ck_assert_str_eq(seen(c), "a");
	c->now += 100;
	tasks[1].r.report_deadline = (double)c->now + 1500;
	ck_assert_str_eq(seen(c), "(a)b");
	c->now += 500;
	ck_assert_double_eq(task_ran_s(c, &tasks[0]), 100);
	ck_assert_double_eq(task_ran_s(c, &tasks[1]), 500);
	task_abort(c, c->st->projects, &tasks[1], 0, "no longer wanted");
	ck_assert_str_eq(seen(c), "a");
	c->now += 50;
	ck_assert_double_eq(task_ran_s(c, &tasks[0]), 150);
	host_end(c);
}
END_TEST

UNIT_MAIN("decide", {
	size_t n = 0;

	while (policies[n] != NULL)
		n++;
	ADD_LOOP(orders, n);
	ADD_LOOP(deadlines_and_pauses, n);
})
