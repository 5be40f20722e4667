/* SPDX-License-Identifier: Apache-2.0 */
/* A host with very many tasks: the time per operation grows linearly. */
#include "test/unit/client_host.h"

#include <math.h>
#include <sys/resource.h>
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { FEW = 2000, MANY = 20000, TASKS_PER_FILE = 10 };
#define HERE "<platform>x86_64-pc-linux-gnu</platform>"

/* Ten times the tasks take ten times as long, and somewhat more where the cost is n log
 * n or the cache is too small. Comparing every task with every other would take a
 * hundred times as long. */
static const double RATIO_MOST = 40, LEAST_S = 0.02;

static double cpu_s(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	       (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static char *many_tasks(struct client *c, int n)
{
	struct buf b = buf_new(&c->process);

	buf_puts(&b,
	    "<hostid>1</hostid>"
	    "<file_info><name>prog</name><url>http://h/prog</url></file_info>"
	    "<app_version><app_name>app</app_name><version_num>1</version_num>" HERE
	    "<flops>1e9</flops><file_ref><file_name>prog</file_name><main_program/></file_ref></app_version>");
	for (int i = 0; i < n; i++) {
		if (i % TASKS_PER_FILE == 0)
			buf_printf(&b,
			    "<file_info><name>large_%d</name><url>http://h/large_%d</"
			    "url>"
			    "<nbytes>1</nbytes><sticky/></file_info>",
			    i / TASKS_PER_FILE, i / TASKS_PER_FILE);
		buf_printf(&b,
		    "<file_info><name>in_%d</name><url>http://h/in_%d</url></file_info>"
		    "<file_info><name>out_%d</name><generated_locally/>"
		    "<url>http://h/file_upload_handler</url></file_info>"
		    "<workunit><name>w_%d</name><app_name>app</app_name>"
		    "<rsc_fpops_est>1e13</rsc_fpops_est>"
		    "<file_ref><file_name>in_%d</file_name></file_ref>"
		    "<file_ref><file_name>large_%d</file_name></file_ref></workunit><result><name>r_%d</name><wu_name>w_%d</wu_name>" HERE
		    "<report_deadline>%d</report_deadline><version_num>1</version_num><file_ref><file_name>out_%d</file_name></file_ref></result>",
		    i, i, i, i, i, i / TASKS_PER_FILE, i, i, NOW + 100000 + i, i);
	}
	return b.p;
}

/* Returns acks and delete orders for all n tasks. */
static char *all_acked(struct client *c, int n)
{
	struct buf b = buf_new(&c->process);

	for (int i = 0; i < n; i++) {
		buf_printf(&b, "<result_ack><name>r_%d</name></result_ack>", i);
		if (i % TASKS_PER_FILE == 0)
			buf_printf(&b, "<delete_file_info>large_%d</delete_file_info>",
			    i / TASKS_PER_FILE);
	}
	return b.p;
}

enum phase { TAKE, SAVE, LOAD, ROUND, AGAIN, FAILURE, REPORT, ACK, PHASES };
static const char *const phases[] = { "taking the reply", "saving", "loading",
	"a round", "the same reply again", "a round in which all fail",
	"a round with all ready", "acks" };

static void save_and_drop(struct client *c)
{
	save(c);
	ck_assert(c->state->nprojects == 1);
}

/* Plays one round of the client's loop, without the network. */
static void play_round(struct client *c)
{
	struct contact contact;
	struct view v;

	orders_read(c);
	expire_files(c);
	for (size_t i = 0; i < c->state->projects->nfiles; i++)
		c->state->projects->files[i].try_after = NOW + 1000;
	ck_assert(!transfer_step(c));
	enact_tasks(c);
	view_load(c, &v);
	contact_next(&v.world, c->options.policy, &c->scratch, &v.rr, &contact);
}

static void all_ready(struct client *c)
{
	struct cproject *p = c->state->projects;

	for (size_t i = 0; i < p->ntasks; i++) {
		p->tasks[i].state = CLIENT_UPLOADED;
		p->tasks[i].ready = true;
	}
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].status = FS_PRESENT;
	for (size_t i = 0; i < p->nfiles; i++)
		p->files[i].uploaded = p->files[i].output;
}

/* Measures the CPU time of each phase. */
static void many_play(int n, double spent[PHASES])
{
	struct client *c = unit_host();
	char *reply = many_tasks(c, n), *acks = all_acked(c, n);
	struct state *read_back;
	struct arena again = { 0 };

	for (int phase = 0; phase < PHASES; phase++) {
		double begin;

		if (phase == REPORT)
			all_ready(c);
		if (phase == FAILURE)
			state_file(c->state->projects, "prog")->status = FS_FAILED;
		begin = cpu_s();
		if (phase == TAKE || phase == AGAIN)
			host_take(c, reply, (struct hope){ .work = true });
		else if (phase == SAVE)
			save_and_drop(c);
		else if (phase == LOAD)
			ck_assert_int_eq(
			    state_load(&again, c->state_path, &read_back, &c->fail),
			    OK);
		else if (phase == ACK)
			host_take(c, acks, (struct hope){ 0 });
		else
			play_round(c);
		spent[phase] = cpu_s() - begin;
		ck_assert_uint_eq(c->state->projects->ntasks, (size_t)n);
	}
	save(c);
	ck_assert_uint_eq(c->state->projects->ntasks, 0);
	ck_assert_uint_eq(c->state->projects->nfiles, 1);
	arena_free(&again);
	unit_host_end(c);
}

START_TEST(time_grows_with_tasks)
{
	double few[PHASES], many[PHASES], all = 0;

	many_play(FEW, few);
	many_play(MANY, many);
	for (int i = 0; i < PHASES; i++) {
		all += many[i];
		printf("%s: %.3f s, of ten times as many tasks %.3f s\n", phases[i],
		    few[i], many[i]);
	}
	printf("in all %.3f s\n", all);
	for (int i = 0; i < PHASES; i++)
		ck_assert_msg(many[i] <= RATIO_MOST * fmax(few[i], LEAST_S),
		    "%s: %.3f s, of ten times as many tasks %.3f s", phases[i], few[i],
		    many[i]);
}
END_TEST

/* Overwrites the stack, so that a pointer into the frame of a function that has
 * returned is noticed. */
static __attribute__((noinline)) size_t overwrite_stack(void)
{
	volatile char used[64 << 10];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(used); i++)
		used[i] = (char)0xee;
	for (size_t i = 0; i < sizeof(used); i++)
		n += used[i] != 0;
	return n;
}

/* The tables by name must follow the rows when a save moves them. */
START_TEST(more_come_after_a_save)
{
	struct client *c = unit_host();
	const int n[] = { 3, 500, 1000 };

	for (size_t i = 0; i < N(n); i++) {
		host_take(c, many_tasks(c, n[i]), (struct hope){ .work = true });
		for (int k = 0; k < n[i]; k++)
			ck_assert_ptr_nonnull(state_task(
			    c->state->projects, arena_printf(&c->scratch, "r_%d", k)));
		save(c);
		ck_assert_uint_eq(overwrite_stack(), 64 << 10);
		ck_assert_uint_eq(c->state->projects->ntasks, (size_t)n[i]);
	}
	unit_host_end(c);
}
END_TEST

static char *saved(
    struct client *c, struct arena *keep, struct state *st, const char *name)
{
	const char *path = arena_printf(&c->process, "%s/%s", c->dir, name);
	struct dropped *dropped;
	size_t n;
	char *text;

	ck_assert_int_eq(
	    state_save(keep, path, &st, &c->scratch, &dropped, &n, &c->fail), OK);
	ck_assert_int_eq(
	    fs_read(&c->process, path, 64 << 20, &text, NULL, &c->fail), OK);
	return text;
}

/* After a save the state in memory equals the state in the file. */
START_TEST(memory_equals_the_saved_file)
{
	struct client *c = unit_host();
	struct arena again = { 0 };
	struct state *read_back;
	char bytes[] = "b\xe9\x80 \"\\";
	struct ctask *t;
	char *first;

	host_take(c, many_tasks(c, 20), (struct hope){ .work = true });
	t = &c->state->projects->tasks[3];
	t->fraction_done = 1.0 / 3;
	t->saved_s = NAN;
	t->started_at = INT64_MAX;
	c->state->projects->project_name = bytes;
	c->state->projects->code_sign_key = NULL;
	save(c);
	ck_assert_int_eq(state_load(&again, c->state_path, &read_back, &c->fail), OK);
	first = saved(c, &again, read_back, "read");
	ck_assert_str_eq(saved(c, &c->keep, c->state, "kept"), first);
	/* Its last digits depend on the version of the library. */
	ck_assert_ptr_nonnull(strstr(first, "0.333333333333333"));
	ck_assert_ptr_nonnull(strstr(first, "9223372036854775807"));
	ck_assert_ptr_null(strstr(first, "saved_s"));
	arena_free(&again);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_many", {
	ADD(more_come_after_a_save);
	ADD(memory_equals_the_saved_file);
	log_open("test_client_many", "/dev/null", LOG_ERR);
	ADD(time_grows_with_tasks);
})
