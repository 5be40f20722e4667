/* SPDX-License-Identifier: Apache-2.0 */
/* What a user's orders to a running host do, and how requests on its socket are
 * answered. */
#include "test/unit/client_host.h"

#include "client/control/control.h"
#include "lib/buf.h"
#include "lib/log.h"
#include "lib/banned.h"

#define URL   "http://h.example/p/"
#define OTHER "http://i.example/p/"

static const char work[] =
    "<hostid>7</hostid><app><name>app</name></app>"
    "<file_info><name>prog</name><url>http://h/prog</url></file_info>"
    "<app_version><app_name>app</app_name><version_num>1</version_num>"
    "<platform>x86_64-pc-linux-gnu</platform><flops>1e9</flops><file_ref>"
    "<file_name>prog</file_name><main_program/></file_ref></app_version>"
    "<file_info><name>kept</name><url>http://h/kept</url><sticky/></file_info>"
    "<workunit><name>w</name><app_name>app</app_name><file_ref><file_name>kept"
    "</file_name><open_name>in</open_name></file_ref></workunit>"
    "<result><name>r</name><wu_name>w</wu_name><platform>x86_64-pc-linux-gnu"
    "</platform><version_num>1</version_num></result>";

/* A host with a task of its project. */
static struct client *busy_host(void)
{
	struct client *c = unit_host();

	log_open("test", "/dev/null", LOG_ERR);
	host_take(c, work, (struct hope){ 0 });
	ck_assert_uint_eq(c->state->projects->ntasks, 1);
	c->state->projects->schedulers = NEW(&c->keep, char *);
	c->state->projects->schedulers[0] = arena_strdup(&c->keep, URL "cgi");
	c->state->projects->nschedulers = 1;
	c->state->projects->rpc.master_pending = false;
	return c;
}

static const char *ask(
    struct client *c, const char *line, bool may_change, bool *answered)
{
	struct buf out = buf_new(&c->scratch);
	char *copy = arena_strdup(&c->scratch, line);

	*answered = local_answer(c, copy, strlen(copy), may_change, &out);
	return out.p;
}

/* --- orders --- */

static const char *facts(struct client *c)
{
	struct buf b = buf_new(&c->scratch);

	buf_puts(&b, mode_now(c, &c->state->run_mode) == MODE_NEVER ? "H" : "");
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		buf_printf(&b, "%sp%s%s%s%s f%zu", b.n > 0 ? " " : "",
		    p->suspended ? "S" : "", p->no_new_work ? "N" : "",
		    p->rpc.user_request ? "U" : "", p->rpc.master_pending ? "M" : "",
		    p->nfiles);
		for (size_t k = 0; k < p->ntasks; k++)
			buf_printf(&b, " t%s%d", p->tasks[k].suspended ? "S" : "",
			    p->tasks[k].exit_status);
	}
	return b.n == 0 ? "" : b.p;
}

static const struct {
	const char *request, *answer, *facts; /* facts after saving and loading */
} orders[] = {
	{ "{\"command\":\"suspend\"}", "suspended this host", "H p f2 t0" },
	{ "{\"command\":\"resume\"}", "resumed this host", "p f2 t0" },
	{ "{\"command\":\"suspend\",\"url\":\"" URL "\"}", "suspended " URL,
	    "pS f2 t0" },
	{ "{\"command\":\"suspend\",\"url\":\"HTTP://h.example//p\"}", "suspended " URL,
	    "pS f2 t0" },
	{ "{\"command\":\"suspend\",\"task\":\"r\"}", "suspended r", "p f2 tS0" },
	{ "{\"command\":\"suspend\",\"task\":\"r\",\"url\":\"" URL "\"}", "suspended r",
	    "p f2 tS0" },
	{ "{\"command\":\"suspend\",\"task\":\"s\"}", "no task is named s", "p f2 t0" },
	{ "{\"command\":\"suspend\",\"url\":\"" OTHER "\"}", "not attached to " OTHER,
	    "p f2 t0" },
	{ "{\"command\":\"suspend\",\"url\":\"gopher://x/\"}", "is not an http",
	    "p f2 t0" },
	{ "{\"command\":\"nomorework\"}", "no more tasks from any", "pN f2 t0" },
	{ "{\"command\":\"nomorework\",\"task\":\"r\"}", "acts on no task", "p f2 t0" },
	{ "{\"command\":\"update\"}", "each project is contacted", "pU f2 t0" },
	{ "{\"command\":\"abort\",\"task\":\"r\"}", "aborted r", "p f2 t203" },
	{ "{\"command\":\"abort\"}", "give the name of a task", "p f2 t0" },
	/* Sticky files go, too. */
	{ "{\"command\":\"reset\",\"url\":\"" URL "\"}", "reset " URL, "pM f0" },
	{ "{\"command\":\"reset\"}", "give the URL of a project", "p f2 t0" },
	{ "{\"command\":\"attach\",\"url\":\"" OTHER "\",\"key\":\"k\"}",
	    "attached to " OTHER, "p f2 t0 p f0" },
	{ "{\"command\":\"attach\",\"url\":\"" OTHER "\"}", "an account key",
	    "p f2 t0" },
	{ "{\"command\":\"attach\",\"url\":\"" URL "\",\"key\":\"k\"}", "already",
	    "p f2 t0" },
	{ "{\"command\":\"fly\"}", "unknown command", "p f2 t0" },
	{ "{\"command\":7}", "names no command", "p f2 t0" },
	{ "[]", "not a JSON object", "p f2 t0" },
	{ "", "not a JSON object", "p f2 t0" },
};

START_TEST(orders_by_table)
{
	struct client *c = busy_host();
	bool answered;
	const char *answer = ask(c, orders[_i].request, true, &answered);

	ck_assert_msg(answered && strstr(answer, orders[_i].answer) != NULL,
	    "%s: \"%s\"", orders[_i].request, answer);
	save(c);
	ck_assert_int_eq(state_load(&c->keep, c->state_path, &c->state, &c->fail), OK);
	ck_assert_msg(strcmp(facts(c), orders[_i].facts) == 0, "%s: \"%s\", not \"%s\"",
	    orders[_i].request, facts(c), orders[_i].facts);
	unit_host_end(c);
}
END_TEST

START_TEST(changes_wait_while_a_transfer_runs)
{
	struct client *c = busy_host();
	bool answered;

	ask(c, "{\"command\":\"suspend\"}", false, &answered);
	ck_assert(!answered);
	ck_assert_str_eq(facts(c), "p f2 t0");
	ck_assert(strstr(ask(c, "{\"command\":\"tasks\"}", false, &answered),
		      "\"state\":\"downloading\"") != NULL);
	ck_assert(answered);
	unit_host_end(c);
}
END_TEST

START_TEST(an_ended_task_cannot_be_suspended_or_aborted)
{
	struct client *c = busy_host();
	bool answered;

	ask(c, "{\"command\":\"abort\",\"task\":\"r\"}", true, &answered);
	ck_assert(
	    strstr(ask(c, "{\"command\":\"abort\",\"task\":\"r\"}", true, &answered),
		"has ended") != NULL);
	ck_assert(
	    strstr(ask(c, "{\"command\":\"suspend\",\"task\":\"r\"}", true, &answered),
		"has ended") != NULL);
	unit_host_end(c);
}
END_TEST

START_TEST(a_mode_for_a_while_ends)
{
	struct client *c = busy_host();

	mode_set(c, &c->state->run_mode, MODE_NEVER, 60);
	allowed_update(c);
	ck_assert_int_eq(c->hindered.run, HINDER_USER);
	ck_assert_int_eq(c->hindered.gpu, HINDER_USER);
	ck_assert_int_eq(c->hindered.network, HINDER_NOTHING);
	c->now += 61;
	allowed_update(c);
	ck_assert_int_eq(c->hindered.run, HINDER_NOTHING);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_control", {
	ADD_LOOP(orders_by_table, N(orders));
	ADD(changes_wait_while_a_transfer_runs);
	ADD(an_ended_task_cannot_be_suspended_or_aborted);
	ADD(a_mode_for_a_while_ends);
})
