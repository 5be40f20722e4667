/* SPDX-License-Identifier: Apache-2.0 */
/* A real host follows its rules and its user: it starts and stops real programs. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client/client.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { NOW = 1000000 };
static char text_app[] = "app", text_program[] = "program", text_empty[] = "",
	    text_platform[] = "x86_64-pc-linux-gnu", text_url[] = "http://127.0.0.1:1/",
	    text_workunit[] = "w", text_quiet[] = "quiet";
static char *schedulers[] = { text_url };
static const char *const urls[] = { "http://h.example/p/", "http://h.example/q/" };

/* Adds two tasks of 1000 s; the first is named by this letter, the second by the next.
 */
static void rows(struct cproject *p, struct arena *a, char first)
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
			.r = { .name = arena_printf(a, "%c", first + (char)i),
			    .wu_name = text_workunit,
			    .platform = text_platform,
			    .plan_class = text_empty,
			    .version_num = 1,
			    .report_deadline = NOW + 1e6 },
			.received_at = NOW,
			.slot = -1
		};
}

/* Signs the program with a key of the project's own. */
static void enact_sign(struct client *c, struct cproject *p, const char *program)
{
	char *private, md5[MD5_HEX];
	struct key *key;

	md5_text(program, md5);
	ck_assert_int_eq(key_make(&c->keep, &private, &p->code_sign_key, &c->fail), OK);
	ck_assert_int_eq(key_parse_private(private, &key, &c->fail), OK);
	ck_assert_int_eq(
	    sign_md5(&c->keep, key, md5, &p->files->info.file_signature, &c->fail), OK);
	key_free(key);
}

/* Adds a project with two tasks, whose program writes its arguments to a file and
 * waits. */
static struct cproject *add(struct client *c, const char *url, char first)
{
	static const char program[] =
	    "#!/bin/sh\necho \"$@\" >new && mv new args\nexec sleep 1000\n";
	struct cproject *p = state_add(&c->keep, c->state, url);

	p->hostid = 1;
	p->schedulers = schedulers;
	p->nschedulers = 1;
	ck_assert_int_eq(fs_mkdirs(transfer_project_dir(c, p), 0755, &c->fail), OK);
	ck_assert_int_eq(fs_write(transfer_file_path(c, p, text_program), program,
			     sizeof(program) - 1, 0755, &c->fail),
	    OK);
	rows(p, &c->keep, first);
	enact_sign(c, p, program);
	return p;
}

static struct client *enact_host(const struct policy *policy)
{
	static struct client c;
	static char dir[PATH_MAX];

	unit_dir(dir);
	c = (struct client){ .now = NOW,
		.dir = dir,
		.rng = rng_seed(1),
		.options = { .ncpus = 1, .extra_buffer_s = 100, .policy = policy } };
	c.options.platform = text_platform;
	c.events = open("/dev/null", O_WRONLY | O_CLOEXEC);
	c.state = NEW(&c.keep, struct state);
	c.state->p_fpops = 1e9;
	add(&c, urls[0], 'a');
	return &c;
}

static void order(struct client *c, const char *lines)
{
	ck_assert_int_eq(fs_write(arena_printf(&c->scratch, "%s/orders", c->dir), lines,
			     strlen(lines), 0644, &c->fail),
	    OK);
}

/* Returns the running tasks and, in brackets, those waiting in memory: "a b" or "a
 * (b)". */
static const char *enact_seen(struct client *c)
{
	struct buf b = buf_new(&c->scratch);

	orders_read(c);
	enact_tasks(c);
	for (size_t i = 0; i < 2 * c->state->nprojects; i++) {
		const struct ctask *t = &c->state->projects[i / 2].tasks[i % 2];

		if (t->pid != 0)
			buf_printf(&b, t->paused ? "(%s)" : "%s", t->r.name);
	}
	return b.n == 0 ? "" : b.p;
}

static void enact_host_end(struct client *c)
{
	task_stop_all(c);
	close(c->events);
	ck_assert_int_eq(fs_rmtree(c->dir, &c->fail), OK);
	arena_free(&c->scratch);
	arena_free(&c->keep);
	arena_free(&c->process);
}

START_TEST(orders)
{
	struct client *c = enact_host(policies[_i]);

	ck_assert_str_eq(enact_seen(c), "a");
	order(c, "nonsense\nsuspend a\n");
	ck_assert_str_eq(enact_seen(c), "(a)b");
	order(c, "suspend\n");
	ck_assert_str_eq(enact_seen(c), "(a)(b)");
	ck_assert(!enact_contact(c));
	order(c, "suspend\nupdate http://h.example/p/\nupdate http://h.example/\n");
	ck_assert_str_eq(enact_seen(c), "(a)(b)");
	ck_assert(c->state->projects->rpc.user_request);
	c->state->projects->rpc.user_request = false;
	ck_assert_str_eq(enact_seen(c), "(a)(b)");
	ck_assert(!c->state->projects->rpc.user_request);
	order(c, "no-new-work\nsuspend b");
	ck_assert_str_eq(enact_seen(c), "a(b)");
	ck_assert(!enact_contact(c));
	order(c, "suspend c\nsuspend aa\n");
	ck_assert(strlen(enact_seen(c)) == 4); /* one of the two runs */
	enact_host_end(c);
}
END_TEST

/* The time for which a task is stopped does not count as its run time. */
START_TEST(deadlines_and_pauses)
{
	struct client *c = enact_host(policies[_i]);
	struct ctask *tasks = c->state->projects->tasks;

	if (strcmp(c->options.policy->name, "classic") == 0) {
		enact_host_end(c);
		return; /* it preempts nothing */
	}
	ck_assert_str_eq(enact_seen(c), "a");
	c->now += 100;
	tasks[1].r.report_deadline = (double)c->now + 1500;
	ck_assert_str_eq(enact_seen(c), "(a)b");
	c->now += 500;
	ck_assert_double_eq(task_ran_s(c, &tasks[0]), 100);
	ck_assert_double_eq(task_ran_s(c, &tasks[1]), 500);
	task_abort(c, c->state->projects, &tasks[1], 0, "no longer wanted");
	ck_assert_str_eq(enact_seen(c), "a");
	c->now += 50;
	ck_assert_double_eq(task_ran_s(c, &tasks[0]), 150);
	enact_host_end(c);
}
END_TEST

/* Two projects with equal shares get one of two CPUs each. */
START_TEST(orders_by_project)
{
	struct client *c = enact_host(policies[_i]);
	struct view v;

	if (strcmp(c->options.policy->name, "classic") == 0) {
		enact_host_end(c);
		return; /* it runs tasks in order of arrival */
	}
	add(c, urls[1], 'c');
	c->options.ncpus = 2;
	ck_assert_str_eq(enact_seen(c), "ac");
	order(c, "suspend http://h.example/p/\nno-new-work http://h.example/q/\n");
	ck_assert_str_eq(enact_seen(c), "(a)cd");
	view_load(c, &v);
	ck_assert(v.world.projects[0].suspended && !v.world.projects[0].no_new_work);
	ck_assert(!v.world.projects[1].suspended && v.world.projects[1].no_new_work);
	ck_assert(!enact_contact(c));
	order(c, "suspend http://h.example/\nsuspend http://h.example/p/a\n");
	ck_assert_uint_eq(strlen(enact_seen(c)), 4 + 1); /* one of three is stopped */
	enact_host_end(c);
}
END_TEST

/* Each of two devices gets one of two tasks, and each program is given the number of
 * its device. */
START_TEST(coprocessors)
{
	static char nvidia[] = "NVIDIA";
	struct client *c = enact_host(policies[_i]);
	struct cproject *p = c->state->projects;
	unsigned devices = 0;

	p->versions[0].coproc_type = nvidia;
	p->versions[0].coproc_count = 1;
	p->versions[0].avg_ncpus = 0.1;
	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ nvidia, 2, 1e12 };
	ck_assert_str_eq(enact_seen(c), "ab");
	for (size_t i = 0; i < 2; i++) {
		const char *path = arena_printf(
		    &c->scratch, "%s/slots/%d/args", c->dir, p->tasks[i].slot);
		char *text;

		while (fs_size(path) <= 0)
			clock_nap_ms(20);
		ck_assert_int_eq(
		    fs_read(&c->scratch, path, 99, &text, NULL, &c->fail), OK);
		ck_assert_str_eq(text,
		    arena_printf(&c->scratch, "--device %d\n", p->tasks[i].device));
		devices |= 1U << p->tasks[i].device;
	}
	ck_assert_uint_eq(devices, 3);
	/* Without the coprocessors the tasks cannot run. */
	c->options.ncoprocs = 0;
	ck_assert_str_eq(enact_seen(c), "");
	ck_assert(p->tasks[0].ready && p->tasks[0].state == CLIENT_ABORTED);
	ck_assert_int_eq(p->tasks[1].exit_status, 201);
	enact_host_end(c);
}
END_TEST

/* A program reports its progress; a preempted task resumes from its checkpoint. */
START_TEST(checkpoints)
{
	struct rp_app app = { .name = text_app, .fraction_done_exact = true };
	struct client *c = enact_host(policies[0]);
	struct cproject *p = c->state->projects;
	struct ctask *t = p->tasks;
	const char *saved;

	c->options.quit_when_stopped = true;
	ck_assert_str_eq(enact_seen(c), "a");
	c->now += 100;
	saved = arena_printf(&c->process, "%s/checkpoint", slot_dir(c, &t[0]));
	ck_assert_int_eq(fs_write(saved, "x", 1, 0644, &c->fail), OK);
	unit_written(saved, c->now);
	ck_assert_int_eq(
	    fs_write(arena_printf(&c->scratch, "%s/fraction_done", slot_dir(c, &t[0])),
		"0.5\n", 4, 0644, &c->fail),
	    OK);
	task_poll(c, p, &t[0]);
	ck_assert_double_eq(t[0].fraction_done, 0.5);
	ck_assert_double_eq_tol(task_remaining_s(c, p, &t[0]), 500, 1e-6);
	p->apps = &app;
	p->napps = 1; /* the fraction is exact now */
	ck_assert_double_eq_tol(task_remaining_s(c, p, &t[0]), 100, 1e-6);
	p->napps = 0;
	c->now += 20;
	t[1].r.report_deadline = (double)c->now + 1100;
	ck_assert_str_eq(enact_seen(c), "b");
	ck_assert_double_eq(task_ran_s(c, &t[0]), 100);
	task_abort(c, p, &t[1], 0, "no longer wanted");
	ck_assert_str_eq(enact_seen(c), "a");
	ck_assert(fs_exists(saved));
	/* Without a checkpoint the client knows of no work that is done. */
	ck_assert_int_eq(fs_unlink(saved, &c->fail), OK);
	t[0].checkpointed_at = 0;
	task_quit(c, &t[0]);
	ck_assert_double_eq(task_ran_s(c, &t[0]), 0);
	enact_host_end(c);
}
END_TEST

/* A program may keep its work in files of its own; only what it said of the end of its
 * last run goes. A slot that is gone is filled again. */
START_TEST(slots_are_kept_whole)
{
	static const struct {
		const char *name;
		bool stays;
	} files[] = { { "own.ckpt", true }, { "stderr.txt", true },
		{ "boinc_finish_called", false }, { "fraction_done", false } };
	struct client *c = enact_host(policies[0]);
	struct ctask *t = c->state->projects->tasks;
	const char *dir;

	ck_assert_str_eq(enact_seen(c), "a");
	dir = arena_strdup(&c->process, slot_dir(c, t));
	task_quit(c, t);
	for (size_t i = 0; i < N(files); i++)
		ck_assert_int_eq(
		    fs_write(arena_printf(&c->scratch, "%s/%s", dir, files[i].name),
			"0\n", 2, 0644, &c->fail),
		    OK);
	task_start(c, c->state->projects, t);
	ck_assert_str_eq(slot_dir(c, t), dir);
	for (size_t i = 0; i < N(files); i++)
		ck_assert_msg(fs_exists(arena_printf(&c->scratch, "%s/%s", dir,
				  files[i].name)) == files[i].stays,
		    "%s", files[i].name);
	/* A killed client had begun to empty it. */
	task_quit(c, t);
	ck_assert_int_eq(slot_spoil(c, t), OK);
	task_start(c, c->state->projects, t);
	ck_assert(!fs_exists(arena_printf(&c->scratch, "%s/%s", dir, files[0].name)));
	task_quit(c, t);
	ck_assert_int_eq(fs_rmtree(dir, &c->fail), OK);
	task_start(c, c->state->projects, t);
	ck_assert_int_ne(t->pid, 0);
	ck_assert(!fs_exists(arena_printf(&c->scratch, "%s/%s", dir, files[0].name)));
	enact_host_end(c);
}
END_TEST

/* A task that was never started is aborted after its deadline; a started task goes on.
 */
START_TEST(never_started_in_time)
{
	struct client *c = enact_host(policies[_i]);
	struct ctask *t = c->state->projects->tasks;

	ck_assert_str_eq(enact_seen(c), "a");
	t[0].r.report_deadline = t[1].r.report_deadline = NOW + 10;
	c->now = NOW + 10;
	ck_assert_str_eq(enact_seen(c), "a");
	ck_assert(!t[1].ready);
	c->now = NOW + 11;
	ck_assert_str_eq(enact_seen(c), "a");
	ck_assert(!t[0].ready && t[1].ready && t[1].state == CLIENT_ABORTED);
	ck_assert_int_eq(t[1].exit_status, 200);
	ck_assert_ptr_nonnull(strstr(t[1].message, "Not started by deadline"));
	ck_assert_int_eq(c->errors, 0);
	/* What the client aborts by itself is a failure: the project backs off. */
	ck_assert_int_eq(c->state->projects->rpc.ntask_failures, 1);
	ck_assert_double_gt(c->state->projects->rpc.min_rpc_time, (double)c->now);
	enact_host_end(c);
}
END_TEST

/* A deadline that had passed when the task came says that a clock is wrong. */
START_TEST(late_on_arrival)
{
	struct client *c = enact_host(policies[_i]);
	struct ctask *t = c->state->projects->tasks;

	ck_assert_str_eq(enact_seen(c), "a");
	for (int i = 0; i < 2; i++) {
		t[i].received_at = NOW;
		t[i].r.report_deadline = NOW - 86400 * i;
	}
	c->now = NOW + 11;
	enact_seen(c);
	ck_assert(!t[0].ready && !t[1].ready);
	ck_assert_int_eq(c->state->projects->rpc.ntask_failures, 0);
	enact_host_end(c);
}
END_TEST

static void nearly(double got, double want)
{
	ck_assert_double_eq_tol(got, want, 1e-9);
}

/* The measured availability reaches the rules and the request. */
START_TEST(availability)
{
	static char nvidia[] = "NVIDIA";
	struct client *c = enact_host(policies[0]);
	struct request rq = { 0 };
	double on = exp(-1), active = exp(-50.0 / (10 * 86400));
	struct view v;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ nvidia, 1, 1e12 };
	orders_read(c);
	availability_measure(c);
	c->now += 10;
	availability_measure(c); /* too short an interval to count */
	ck_assert_double_eq(c->state->fractions_at, NOW);
	order(c, "suspend\n");
	orders_read(c);
	allowed_update(c);
	c->now += 40;
	availability_measure(c);
	nearly(availability_now(c).on, 1);
	nearly(availability_now(c).active, active);
	c->now += 10 * 86400;
	c->measured_ms = 0; /* as after a restart */
	availability_measure(c);
	view_load(c, &v);
	nearly(v.world.rsc[0].avail, on * active);
	nearly(v.world.rsc[1].avail, on * active);
	hostinfo_fill(c, c->state->projects, &rq);
	nearly(rq.host.on_frac, on);
	nearly(rq.host.active_frac, active);
	nearly(rq.host.gpu_active_frac, active);
	c->now += 15 * 86400;
	c->measured_ms = 0;
	availability_measure(c); /* the gap is unknown time: it does not count */
	nearly(availability_now(c).on, on);
	c->now += 200; /* a long RPC */
	c->measured_ms = clock_mono_ms() - 200000;
	availability_measure(c);
	nearly(availability_now(c).on, 1 - (1 - on) * exp(-200.0 / (10 * 86400)));
	c->state->fractions.on = 1e-9;
	view_load(c, &v);
	nearly(v.world.rsc[0].avail, 0.01);
	enact_host_end(c);
}
END_TEST

/* Gives task b an app and a workunit of its own. */
static void enact_add_app(struct client *c, struct cproject *p)
{
	struct rp_app_version *versions = NEWN(&c->keep, struct rp_app_version, 2);
	struct rp_workunit *workunits = NEWN(&c->keep, struct rp_workunit, 2);

	versions[0] = versions[1] = p->versions[0];
	workunits[0] = workunits[1] = p->workunits[0];
	versions[1].app_name = workunits[1].app_name = text_quiet;
	workunits[1].name = text_quiet;
	p->versions = versions;
	p->workunits = workunits;
	p->nversions = p->nworkunits = 2;
	p->tasks[1].r.wu_name = text_quiet;
	p->apps = NEW(&c->keep, struct rp_app);
	p->apps[p->napps++] = (struct rp_app){ .name = text_quiet };
}

/* A task that may need more memory than is free waits; others run in its place. */
START_TEST(memory)
{
	struct client *c = enact_host(policies[_i]);
	struct cproject *p = c->state->projects;

	enact_add_app(c, p);
	c->options.ncpus = 2;
	c->ram_bytes = 1000;
	c->options.ram_part = 0.5;
	p->workunits[0].rsc_memory_bound = 501;
	p->workunits[1].rsc_memory_bound = 500;
	ck_assert_str_eq(enact_seen(c), "b");
	c->prefs.ram_max_used_idle_pct = 100.1; /* beyond all of the memory: clamped */
	ck_assert_str_eq(enact_seen(c), "b");
	p->workunits[1].rsc_memory_bound = 499;
	ck_assert_str_eq(enact_seen(c), "ab");
	c->ram_bytes = 0; /* the size of the memory is unknown */
	p->workunits[1].rsc_memory_bound = 1e30;
	ck_assert_str_eq(enact_seen(c), "ab");
	enact_host_end(c);
}
END_TEST

/* When the memory limit drops, tasks that no longer fit wait in memory. */
START_TEST(less_memory)
{
	struct client *c = enact_host(policies[0]);
	struct cproject *p = c->state->projects;

	c->options.ncpus = 2;
	c->ram_bytes = 1000;
	c->options.ram_part = 0.9;
	p->workunits[0].rsc_memory_bound = 400;
	ck_assert_str_eq(enact_seen(c), "ab");
	c->prefs.ram_max_used_idle_pct = 50;
	ck_assert_str_eq(enact_seen(c), "a(b)");
	c->options.own_ram = true;
	ck_assert_str_eq(enact_seen(c), "ab");
	enact_host_end(c);
}
END_TEST

/* A task that needs no CPU runs beside the tasks that use the CPU, and does not count
 * as work: the project is asked for work as if the task did not exist. */
START_TEST(an_app_that_needs_no_cpu)
{
	struct client *c = enact_host(policies[_i]);
	struct cproject *p = c->state->projects;
	struct contact contact;
	struct view v;

	enact_add_app(c, p);
	p->apps[0].non_cpu_intensive = true;
	c->options.min_buffer_s = 10;
	ck_assert_str_eq(enact_seen(c), "ab");
	task_abort(c, p, &p->tasks[0], 0, "no longer wanted");
	c->now += 100;
	view_load(c, &v); /* books the run time of task a */
	ck_assert_double_eq(v.rr.rsc[CW_CPU].nidle, 1);
	contact_next(&v.world, c->options.policy, &c->scratch, &v.rr, &contact);
	ck_assert_int_eq(contact.why, CONTACT_WORK);
	ck_assert_double_ge(contact.ask.secs[CW_CPU], 100);
	c->now += 100;
	p->acct.rec = p->acct.exp_avg_cpu = 0;
	view_load(c, &v);
	ck_assert(p->acct.rec == 0 && p->acct.exp_avg_cpu == 0);
	ck_assert_str_eq(enact_seen(c), "b");
	/* If the whole project needs no CPU, one task is enough. */
	p->nci = true;
	view_load(c, &v);
	contact_next(&v.world, c->options.policy, &c->scratch, &v.rr, &contact);
	ck_assert_int_eq(contact.why, CONTACT_NONE);
	ck_assert_str_eq(enact_seen(c), "b");
	enact_host_end(c);
}
END_TEST

/* The hybrid policy asks a project without tasks although the CPU is busy, even with
 * buffers of 0. */
START_TEST(project_without_tasks_is_asked_without_a_buffer)
{
	struct client *c = enact_host(policy_find("hybrid"));
	struct contact contact;
	struct view v;

	add(c, urls[1], 'c')->ntasks = 0;
	c->options.min_buffer_s = c->options.extra_buffer_s = 0;
	ck_assert_str_eq(enact_seen(c), "a");
	view_load(c, &v);
	contact_next(&v.world, c->options.policy, &c->scratch, &v.rr, &contact);
	ck_assert_int_eq(contact.project, 1);
	ck_assert_double_eq(contact.ask.inst[CW_CPU], 0.5);
	ck_assert_double_eq(contact.ask.secs[CW_CPU], 1);
	enact_host_end(c);
}
END_TEST

/* A task without a report deadline never misses one. */
START_TEST(no_deadline)
{
	struct client *c = enact_host(policies[0]);
	struct ctask *t = c->state->projects->tasks;

	t[0].r.report_deadline = t[1].r.report_deadline = 0;
	enact_seen(c);
	ck_assert(!t[0].ready && !t[1].ready);
	enact_host_end(c);
}
END_TEST

UNIT_MAIN("client_enact", {
	size_t n = 0;

	while (policies[n] != NULL)
		n++;
	ADD_LOOP(orders, n);
	ADD_LOOP(deadlines_and_pauses, n);
	ADD_LOOP(orders_by_project, n);
	ADD_LOOP(coprocessors, n);
	ADD(checkpoints);
	ADD(slots_are_kept_whole);
	ADD_LOOP(never_started_in_time, n);
	ADD_LOOP(late_on_arrival, n);
	ADD(project_without_tasks_is_asked_without_a_buffer);
	ADD(no_deadline);
	ADD_LOOP(memory, n);
	ADD(less_memory);
	ADD(availability);
	ADD_LOOP(an_app_that_needs_no_cpu, n);
})
