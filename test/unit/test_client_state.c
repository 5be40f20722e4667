/* SPDX-License-Identifier: Apache-2.0 */
/* The host's record of itself and its projects: saved, read again, spoiled. */
#include "test/unit/client_host.h"

#include "lib/banned.h"

/* Fills the state with a row of each kind, every text of which is the given text. */
static void state_fill(struct client *c, char *text)
{
	struct rp_file_ref *ref = NEW(&c->keep, struct rp_file_ref);
	struct cproject *p = c->state->projects;

	*ref = (struct rp_file_ref){ text, text, true, true, true };
	p->project_name = p->code_sign_key = text;
	p->schedulers = NEWN(&c->keep, char *, 2);
	p->schedulers[p->nschedulers++] = text;
	p->schedulers[p->nschedulers++] = text;
	p->hostid = (int64_t)1 << 40;
	c->state->p_fpops = 1e9 / 3;
	p->versions = NEW(&c->keep, struct rp_app_version);
	p->versions[p->nversions++] = (struct rp_app_version){ .app_name = text,
		.platform = text,
		.plan_class = text,
		.version_num = 7,
		.refs = ref,
		.nrefs = 1 };
	p->workunits = NEW(&c->keep, struct rp_workunit);
	p->workunits[p->nworkunits++] = (struct rp_workunit){ .name = text,
		.app_name = text,
		.command_line = text,
		.refs = ref,
		.nrefs = 1 };
	p->files = NEW(&c->keep, struct cfile);
	p->files[p->nfiles++] = (struct cfile){ .info = { .name = text,
						    .nbytes = 1e15,
						    .sticky = true,
						    .urls = p->schedulers,
						    .nurls = 2 },
		.status = FS_PRESENT,
		.md5 = text,
		.try_after = NOW,
		.url = 1 };
	p->tasks = NEW(&c->keep, struct ctask);
	p->tasks[p->ntasks++] = (struct ctask){ .r = { .name = text,
						    .wu_name = text,
						    .platform = text,
						    .plan_class = text,
						    .version_num = 7,
						    .report_deadline = 4e9,
						    .refs = ref,
						    .nrefs = 1 },
		.slot = -1,
		.pid = 123,
		.message = text,
		.cpu_s = 0.1 };
}

static const char *const texts[] = { "plain", "", "two words\n\ttab\x01", "\"\\</>&",
	"\xc3\xa9t\xc3\xa9", "caf\xe9", "\xff\xfe\x80\xbf\xc0\xc1", "\xed\xa0\x80",
	"\xf4\x90\x80\x80", "\xc3" };

START_TEST(texts_come_back_as_they_were)
{
	struct client *c = unit_host();
	char *text = arena_strdup(&c->process, texts[_i]);
	const struct cproject *p;

	state_fill(c, text);
	save(c);
	save(c);
	p = c->state->projects;
	ck_assert_uint_eq(p->nschedulers, 2);
	ck_assert_str_eq(p->schedulers[1], text);
	ck_assert_str_eq(p->project_name, text);
	ck_assert_int_eq(p->hostid, (int64_t)1 << 40);
	ck_assert(c->state->p_fpops == 1e9 / 3);
	ck_assert_uint_eq(p->ntasks, 1);
	ck_assert_str_eq(p->tasks[0].r.name, text);
	ck_assert_str_eq(p->tasks[0].message, text);
	ck_assert_str_eq(p->tasks[0].r.refs[0].open_name, text);
	ck_assert(p->tasks[0].r.refs[0].optional);
	ck_assert_int_eq(p->tasks[0].slot, -1);
	ck_assert_int_eq(p->tasks[0].pid, 123);
	ck_assert_double_eq(p->tasks[0].r.report_deadline, 4e9);
	ck_assert_str_eq(p->files[0].info.urls[1], text);
	ck_assert_double_eq(p->files[0].info.nbytes, 1e15);
	ck_assert_int_eq(p->files[0].url, 1);
	ck_assert_ptr_nonnull(task_version(p, &p->tasks[0]));
	unit_host_end(c);
}
END_TEST

static const struct {
	const char *what, *text;
	enum err want;
} bad_states[] = {
	{ "empty", "", E_BADREQ },
	{ "half", "{\"master_url\": \"http", E_BADREQ },
	{ "another document", "{}", E_BADREQ },
	{ "a list", "[1]", E_BADREQ },
	{ "numbers in place of texts",
	    "{\"master_url\": 1, \"authenticator\": 2, \"host_cpid\": 3}", E_BADREQ },
	{ "rows without names",
	    "{\"master_url\":\"u\",\"authenticator\":\"k\",\"host_cpid\":\"c\","
	    "\"tasks\":[{},3],\"files\":[{}],\"workunits\":[{}],\"versions\":[{}]}",
	    OK },
	{ "a project without a key",
	    "{\"host_cpid\":\"c\",\"projects\":[{\"master_url\":\"u\"}]}", E_BADREQ },
	{ "projects that are not objects",
	    "{\"host_cpid\":\"c\",\"projects\":[1,[],null]}", E_BADREQ },
	{ "a project twice",
	    "{\"host_cpid\":\"c\",\"projects\":["
	    "{\"master_url\":\"u\",\"authenticator\":\"k\"},"
	    "{\"master_url\":\"v\",\"authenticator\":\"k\"},"
	    "{\"master_url\":\"u\",\"authenticator\":\"k\"}]}",
	    E_BADREQ },
	{ "an empty list of projects", "{\"host_cpid\":\"c\",\"projects\":[]}", OK },
	{ "characters beyond a byte",
	    "{\"master_url\":\"\\u20ac\",\"authenticator\":\"\\ud83d\\ude00\","
	    "\"host_cpid\":\"c\"}",
	    OK },
};

START_TEST(invalid_states)
{
	struct client *c = unit_host();
	enum err e;

	ck_assert_int_eq(
	    state_load(&c->keep, c->state_path, &c->state, &c->fail), E_NOTFOUND);
	ck_assert_int_eq(fs_write(c->state_path, bad_states[_i].text,
			     strlen(bad_states[_i].text), 0600, &c->fail),
	    OK);
	e = state_load(&c->keep, c->state_path, &c->state, &c->fail);
	ck_assert_msg(e == bad_states[_i].want, "%s: %s %s", bad_states[_i].what,
	    err_name(e), c->fail.detail);
	if (e == OK)
		save(c);
	unit_host_end(c);
}
END_TEST

static void load_text(struct client *c, const char *text)
{
	ck_assert_int_eq(
	    fs_write(c->state_path, text, strlen(text), 0600, &c->fail), OK);
	ck_assert_msg(state_load(&c->keep, c->state_path, &c->state, &c->fail) == OK,
	    "%s", c->fail.detail);
}

/* A number that is malformed or out of range is ignored. */
START_TEST(spoiled_numbers)
{
	struct client *c = unit_host();
	const struct cproject *p;

	load_text(c,
	    "{\"host_cpid\":\"c\",\"fractions_at\":5,\"fractions\":{\"on\":7},"
	    "\"projects\":[{\"master_url\":\"u\","
	    "\"authenticator\":\"k\",\"share\":-5,\"dcf\":0,"
	    "\"rpc\":{\"nrpc_failures\":-3,\"min_rpc_time\":5},"
	    "\"acct\":{\"rec\":\"much\"},\"standings\":[{},4,{\"name\":\"CPU\"}]}]}");
	p = c->state->projects;
	ck_assert(p->share == 100 && p->dcf == 1 && p->acct.rec == 0);
	ck_assert(availability_now(c).on == 1 && availability_now(c).active == 1);
	ck_assert(p->rpc.nrpc_failures == 0 && p->rpc.min_rpc_time == 0);
	ck_assert_double_eq(
	    state_standing(&c->keep, c->state->projects, "CPU")->backoff_until, 0);
	save(c);
	unit_host_end(c);
}
END_TEST

static void keep_accounts(struct client *c, struct cproject *p, double x)
{
	struct standing *s = state_standing(&c->keep, p, "NVIDIA");

	*s = (struct standing){ s->name, x, x + 1, true, true, -x, x * 2, true };
	state_standing(&c->keep, p, "CPU")->backoff_until = x + 2;
	p->share = x + 3;
	p->own_share = true;
	p->dcf = x / 1000;
	p->acct = (struct cw_acct){ .rec = x + 4,
		.exp_avg_cpu = x + 5,
		.owed = -x,
		.delay_bound_s = x + 6,
		.longest_s = x + 7,
		.known = true };
	p->rpc = (struct cw_rpc){ .min_rpc_time = x + 8,
		.next_rpc_time = x + 9,
		.latency_limited_until = x + 10,
		.last_contact = x + 11,
		.nrpc_failures = 3,
		.nmaster_failures = 2,
		.ntask_failures = 1,
		.url = 1,
		.master_pending = true,
		.user_request = true,
		.in_session = true };
}

static void same_times(const struct cw_rpc *r, double x)
{
	ck_assert(r->min_rpc_time == x + 8 && r->next_rpc_time == x + 9 &&
		  r->latency_limited_until == x + 10 && r->last_contact == x + 11 &&
		  r->nrpc_failures == 3 && r->nmaster_failures == 2 &&
		  r->ntask_failures == 1 && r->url == 1 && r->master_pending &&
		  r->user_request && r->in_session);
}

static void same_accounts(struct client *c, struct cproject *p, double x)
{
	const struct standing *s = state_standing(&c->keep, p, "NVIDIA");
	const struct cw_acct *a = &p->acct;

	ck_assert_uint_eq(p->nstandings, 2);
	ck_assert(s->backoff_s == x && s->backoff_until == x + 1 && s->no_apps &&
		  s->refused && s->std == -x && s->ltd == x * 2 && s->gave);
	ck_assert_double_eq(state_standing(&c->keep, p, "CPU")->backoff_until, x + 2);
	ck_assert(p->share == x + 3 && p->own_share && p->dcf == x / 1000);
	ck_assert(a->rec == x + 4 && a->exp_avg_cpu == x + 5 && a->owed == -x &&
		  a->delay_bound_s == x + 6 && a->longest_s == x + 7 && a->known);
	same_times(&p->rpc, x);
}

/* Several projects' accounts are read back in order, whatever the order in which they
 * came. */
START_TEST(accounts_come_back)
{
	static const char *const urls[] = { "http://c/", "http://a/", "http://b/" };
	struct client *c = unit_host();

	state_remove(c->state, c->state->projects->master_url);
	for (size_t i = 0; i < N(urls); i++) {
		struct cproject *p = state_add(&c->keep, c->state, urls[i]);

		p->authenticator = arena_strdup(&c->keep, urls[i]);
		keep_accounts(c, p, 1.1 * (double)urls[i][7]);
	}
	c->state->accounted_at = 5.5;
	c->state->asked_at = 6.5;
	c->state->scheduled_at = 7.5;
	c->state->fractions = (struct cw_fractions){ 0.5, 0.25, 0.125 };
	c->state->fractions_at = 8.5;
	c->state->in_session = c->state->full_workload = true;
	save(c);
	ck_assert_int_eq(state_load(&c->keep, c->state_path, &c->state, &c->fail), OK);
	ck_assert_uint_eq(c->state->nprojects, N(urls));
	for (size_t i = 0; i < N(urls); i++) {
		struct cproject *p = &c->state->projects[i];

		ck_assert_int_eq(p->master_url[7], 'a' + (int)i);
		ck_assert_str_eq(p->authenticator, p->master_url);
		same_accounts(c, p, 1.1 * (double)p->master_url[7]);
	}
	ck_assert(c->state->fractions_at == 8.5 && c->state->fractions.on == 0.5 &&
		  c->state->fractions.active == 0.25 &&
		  c->state->fractions.gpu_active == 0.125);
	ck_assert(c->state->accounted_at == 5.5 && c->state->asked_at == 6.5 &&
		  c->state->scheduled_at == 7.5 && c->state->in_session &&
		  c->state->full_workload);
	unit_host_end(c);
}
END_TEST

/* On a full disk the host goes on with the state in memory, and saves later. */
START_TEST(failed_save_changes_nothing)
{
	struct client *c = unit_host();
	struct dropped *dropped;
	size_t n;

	state_fill(c, arena_strdup(&c->process, "t"));
	c->state->projects->tasks[0].acked = true;
	c->state->projects->files[0].info.sticky = false;
	ck_assert_int_ne(state_save(&c->keep, "/nonexistent/state", &c->state,
			     &c->scratch, &dropped, &n, &c->fail),
	    OK);
	ck_assert_uint_eq(c->state->projects->ntasks, 1);
	ck_assert_str_eq(c->state->projects->tasks[0].r.name, "t");
	ck_assert_uint_eq(c->state->projects->nworkunits, 1);
	ck_assert_int_eq(state_save(&c->keep, c->state_path, &c->state, &c->scratch,
			     &dropped, &n, &c->fail),
	    OK);
	ck_assert_uint_eq(c->state->projects->ntasks, 0);
	ck_assert_uint_eq(c->state->projects->nworkunits, 0);
	unit_host_end(c);
}
END_TEST

START_TEST(clock_set_back)
{
	struct client *c = unit_host();
	struct state *st = c->state;
	struct cproject *p = st->projects;

	state_fill(c, arena_strdup(&c->process, "t"));
	p->rpc.min_rpc_time = NOW + 60;
	state_standing(&c->keep, p, "CPU")->backoff_until = NOW + 70;
	st->accounted_at = st->fractions_at = NOW;
	state_clock(st, NOW);
	state_clock(st, NOW + 10);
	ck_assert_double_eq(p->rpc.min_rpc_time, NOW + 60);
	state_clock(st, NOW + 10 - 5000);
	ck_assert_double_eq(p->rpc.min_rpc_time, NOW + 60 - 5000);
	ck_assert_double_eq(p->standings[0].backoff_until, NOW + 70 - 5000);
	ck_assert_double_eq(st->accounted_at, NOW - 5000);
	ck_assert_double_eq(st->fractions_at, NOW - 5000);
	ck_assert_int_eq(p->files[0].try_after, NOW - 5000);
	ck_assert_double_eq(p->rpc.next_rpc_time, 0);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client state", {
	ADD_LOOP(texts_come_back_as_they_were, N(texts));
	ADD_LOOP(invalid_states, N(bad_states));
	ADD(spoiled_numbers);
	ADD(accounts_come_back);
	ADD(failed_save_changes_nothing);
	ADD(clock_set_back);
})
