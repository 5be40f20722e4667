/* SPDX-License-Identifier: Apache-2.0 */
/* How replies, captured and made up, change the host's state. */
#include "test/unit/client_host.h"

#include <glob.h>
#include <math.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/log.h"
#include "proto/reply.h"
#include "lib/banned.h"

enum { STEPS = 6 };

/* --- replies --- */

static const char *digest(struct client *c)
{
	static const char status[] = { '!', '-', '+' };
	const struct cproject *p = c->state->projects;
	struct buf b = buf_new(&c->scratch);

	for (size_t i = 0; i < p->ntasks; i++) {
		const struct ctask *t = &p->tasks[i];

		buf_printf(&b, " %s", t->r.name);
		if (t->state != 0)
			buf_printf(&b, "%d", t->state);
		buf_puts(&b, t->ready ? "R" : "");
	}
	for (size_t i = 0; i < p->nfiles; i++) {
		const struct cfile *f = &p->files[i];

		buf_printf(&b, " %s%c%s%s", f->info.name, status[f->status + 1],
		    f->info.sticky ? "s" : "", f->output ? "o" : "");
	}
	for (size_t i = 0; i < p->nversions; i++)
		buf_printf(&b, " %d", p->versions[i].version_num);
	return b.n == 0 ? "" : b.p + 1;
}

static void finish(struct client *c, struct ctask *t)
{
	t->state = CLIENT_UPLOADED;
	t->ready = true;
	for (size_t i = 0; i < t->r.nrefs; i++) {
		struct cfile *f = state_file(
		    c->state->projects, t->r.refs[i].file_name);

		f->status = FS_PRESENT;
		f->uploaded = true;
	}
}

static void replay_step(struct client *c, const char *s)
{
	const char *name = s + 5;

	if (s[0] == '<')
		host_take(c, s, (struct hope){ 0 });
	else if (strncmp(s, "have ", 5) == 0)
		state_file(c->state->projects, name)->status = FS_PRESENT;
	else if (strncmp(s, "fail ", 5) == 0)
		state_file(c->state->projects, name)->status = FS_FAILED;
	else if (strncmp(s, "done ", 5) == 0)
		finish(c, state_task(c->state->projects, name));
	else if (strncmp(s, "start ", 6) == 0)
		state_task(c->state->projects, s + 6)->started_at = NOW;
	else
		ck_abort_msg("step \"%s\"", s);
}

static const struct {
	const char *what, *steps[STEPS], *want;
} replies[] = {
#define REPLY_CASES
#include "test/unit/client.def"
#undef REPLY_CASES
};

START_TEST(replies_by_table)
{
	struct client *c = unit_host();

	for (size_t i = 0; i < STEPS && replies[_i].steps[i] != NULL; i++) {
		replay_step(c, replies[_i].steps[i]);
		save(c);
	}
	ck_assert_msg(strcmp(digest(c), replies[_i].want) == 0,
	    "%s: \"%s\", not \"%s\"", replies[_i].what, digest(c), replies[_i].want);
	unit_host_end(c);
}
END_TEST

static const struct {
	const char *what, *reply;
	struct hope hope;
	double rpc_least, rpc_most, work_least, work_most; /* less than 0: none */
} delays[] = {
#define DELAY_CASES
#include "test/unit/client.def"
#undef DELAY_CASES
};

START_TEST(delays_by_table)
{
	struct client *c = unit_host();
	const struct cproject *p = c->state->projects;
	double rpc, work;

	host_take(c, delays[_i].reply, delays[_i].hope);
	rpc = fmax(p->rpc.min_rpc_time - NOW, -1);
	work = fmax(p->standings[0].backoff_until - NOW, -1);
	ck_assert_msg(rpc >= delays[_i].rpc_least && rpc <= delays[_i].rpc_most,
	    "%s: contact after %g s", delays[_i].what, rpc);
	ck_assert_msg(work >= delays[_i].work_least && work <= delays[_i].work_most,
	    "%s: work after %g s", delays[_i].what, work);
	unit_host_end(c);
}
END_TEST

/* A report does not shorten the backoff for work; receiving work ends it. */
START_TEST(wait_for_work)
{
	struct client *c = unit_host();
	const struct cproject *p = c->state->projects;

	host_take(c, "<hostid>1</hostid>", (struct hope){ .work = true });
	ck_assert_double_ge(p->standings[0].backoff_until, NOW + 5);
	host_take(c, "<x/>", (struct hope){ 0 });
	ck_assert_double_ge(p->standings[0].backoff_until, NOW + 5);
	c->now += 15;
	host_take(c, "<x/>", (struct hope){ .work = true });
	ck_assert_double_ge(p->standings[0].backoff_until, NOW + 15 + 10);
	host_take(c, replies[1].steps[0], (struct hope){ .work = true });
	ck_assert_double_eq(p->standings[0].backoff_until, 0);
	ck_assert_double_eq(p->standings[0].backoff_s, 0);
	unit_host_end(c);
}
END_TEST

/* What a reply says about the project reaches the rules. */
START_TEST(facts_reach_the_rules)
{
	static char nvidia[] = "NVIDIA";
	struct client *c = unit_host();
	struct cproject *p = c->state->projects;
	struct view v;

	c->options.coproc[c->options.ncoprocs++] = (struct coproc){ nvidia, 1, 1e12 };
	host_take(c,
	    "<hostid>1</hostid><request_delay>50</request_delay>"
	    "<next_rpc_delay>99</next_rpc_delay><no_work_deadlines/><dont_use_dcf/>"
	    "<no_rsc_apps>CUDA</no_rsc_apps><non_cpu_intensive/><send_full_workload/>"
	    "<host_venue>work</host_venue><project_preferences>"
	    "<resource_share>30</resource_share>"
	    "<venue name=\"work\"><resource_share>70</resource_share><no_cpu>1</no_cpu>"
	    "</venue></project_preferences>",
	    (struct hope){ 0 });
	p->dcf = 3;
	view_load(c, &v);
	ck_assert_double_eq(v.world.projects[0].share, 70);
	ck_assert_double_eq(v.world.projects[0].dcf, 1);
	ck_assert_double_eq(v.world.projects[0].rpc.min_rpc_time, NOW + 50);
	ck_assert_double_eq(v.world.projects[0].rpc.next_rpc_time, NOW + 99);
	ck_assert_double_eq(
	    v.world.projects[0].rpc.latency_limited_until, NOW + 129600);
	ck_assert(v.world.projects[0].nci && c->state->full_workload);
	ck_assert(
	    v.world.projects[0].rsc[0].excluded && !v.world.projects[0].rsc[0].no_apps);
	ck_assert(
	    !v.world.projects[0].rsc[1].excluded && v.world.projects[0].rsc[1].no_apps);
	/* An unreadable share is ignored; a share of 0 would get no work at all. */
	host_take(c,
	    "<host_venue>work</host_venue><project_preferences>"
	    "<resource_share>0,5</resource_share></project_preferences>",
	    (struct hope){ 0 });
	view_load(c, &v);
	ck_assert_double_eq(v.world.projects[0].share, 70);
	/* All of these facts but the user's share last for this one reply. */
	p->own_share = true;
	host_take(c,
	    "<project_preferences><resource_share>5</resource_share>"
	    "</project_preferences>",
	    (struct hope){ 0 });
	view_load(c, &v);
	ck_assert(!v.world.projects[0].nci);
	ck_assert_double_eq(v.world.projects[0].share, 70);
	ck_assert_double_eq(v.world.projects[0].dcf, 3);
	ck_assert(!v.world.projects[0].rsc[1].no_apps &&
		  !v.world.projects[0].rsc[0].excluded);
	unit_host_end(c);
}
END_TEST

/* client.md 6: sticky and requested files are listed; a sticky file stays listed for as
 * long as it may stay. */
START_TEST(sticky_files_expire)
{
	struct client *c = unit_host();
	struct cfile *f;

	host_take(c,
	    "<file_info><name>L</name><url>http://h/L</url><sticky/>"
	    "<sticky_lifetime>100</sticky_lifetime></file_info>"
	    "<file_info><name>S</name><url>http://h/S</url><sticky/></file_info>"
	    "<file_info><name>R</name><url>http://h/R</url><report_on_rpc/></file_info>"
	    "<file_info><name>N</name><url>http://h/N</url></file_info>",
	    (struct hope){ 0 });
	f = c->state->projects->files;
	ck_assert_uint_eq(c->state->projects->nfiles, 4);
	ck_assert(file_listed(&f[0]) && file_listed(&f[1]));
	ck_assert(file_listed(&f[2]) && !file_listed(&f[3]));
	c->now = NOW + 99;
	expire_files(c);
	ck_assert(f[0].info.sticky);
	c->now = NOW + 100;
	expire_files(c);
	ck_assert(!file_listed(&f[0]) && f[1].info.sticky && c->changed);
	unit_host_end(c);
}
END_TEST

#define GLOBAL(text) "<global_preferences>" text "</global_preferences>"
#define VENUE(name)  "<host_venue>" name "</host_venue>"

static struct cw_prefs prefs_seen(struct client *c)
{
	struct view v;

	view_load(c, &v);
	return v.world.prefs;
}

static void see_buffer(struct client *c, double min_s, double extra_s)
{
	ck_assert_double_eq(prefs_seen(c).min_s, min_s);
	ck_assert_double_eq(prefs_seen(c).extra_s, extra_s);
}

static void see_rest(
    struct client *c, double period_s, double ram_bytes, bool leave_in_memory)
{
	ck_assert_double_eq(prefs_seen(c).period_s, period_s);
	ck_assert_double_eq(prefs_seen(c).ram_bytes, ram_bytes);
	ck_assert(prefs_seen(c).leave_in_memory == leave_in_memory);
}

/* The preferences of the account apply to the whole host; defaults replace missing and
 * absurd values. */
START_TEST(preferences_of_the_account)
{
	struct client *c = unit_host();

	c->ram_bytes = 1000;
	c->options.ram_part = 0.9;
	c->options.min_buffer_s = 7;
	c->options.extra_buffer_s = 8;
	see_buffer(c, 7, 8);
	see_rest(c, 3600, 900, true);
	host_take(c,
	    VENUE("work") GLOBAL(
		"<mod_time>5</mod_time>"
		"<work_buf_min_days>9</work_buf_min_days>"
		"<venue name=\"work\"><work_buf_min_days>1.5</work_buf_min_days>"
		"<work_buf_additional_days>0</work_buf_additional_days>"
		"<cpu_scheduling_period_minutes>30</cpu_scheduling_period_minutes>"
		"<ram_max_used_busy_pct>20</ram_max_used_busy_pct>"
		"<ram_max_used_idle_pct>50</ram_max_used_idle_pct>"
		"<leave_apps_in_memory>0</leave_apps_in_memory></venue>"),
	    (struct hope){ 0 });
	save(c);
	c->prefs = (struct rq_prefs){ 0 };
	preferences_read(c); /* as at the next start */
	see_buffer(c, 1.5 * 86400, 0);
	see_rest(c, 1800, 500, false);
	ck_assert_double_eq(prefs_seen(c).cushion_s, 1.5 * 86400);
	ck_assert_double_eq(c->prefs.mod_time, 5);
	host_take(c, VENUE(""), (struct hope){ 0 });
	see_buffer(c, 9 * 86400.0, 8);
	see_rest(c, 3600, 900, true);
	host_take(c,
	    GLOBAL("<work_buf_min_days>0</work_buf_min_days>"
		   "<work_buf_additional_days>1e300</work_buf_additional_days>"
		   "<cpu_scheduling_period_minutes>1e-9</cpu_scheduling_period_minutes>"
		   "<ram_max_used_idle_pct>-1</ram_max_used_idle_pct>"),
	    (struct hope){ 0 });
	see_buffer(c, 180, 30 * 86400.0);
	see_rest(c, 60, 900, true);
	/* The command line takes precedence. */
	c->options.own_buffer = c->options.own_ram = c->options.quit_when_stopped =
	    true;
	host_take(c,
	    GLOBAL("<work_buf_min_days>2</work_buf_min_days>"
		   "<ram_max_used_idle_pct>10</ram_max_used_idle_pct>"
		   "<leave_apps_in_memory>1</leave_apps_in_memory>"),
	    (struct hope){ 0 });
	see_buffer(c, 7, 8);
	ck_assert_double_eq(prefs_seen(c).ram_bytes, 900);
	ck_assert(!prefs_seen(c).leave_in_memory);
	unit_host_end(c);
}
END_TEST

#define BUFFER(time, days)                                                             \
	GLOBAL("<mod_time>" time "</mod_time>"                                         \
	       "<work_buf_min_days>" days "</work_buf_min_days>")

/* The account with the newer preferences counts, unless the newer ones came from an
 * account that the host has left. */
START_TEST(preferences_of_two_accounts)
{
	struct client *c = unit_host();
	struct cproject other = { .master_url = arena_strdup(
				      &c->process, "http://other.example/") };
	struct reply old = { .global_preferences = arena_strdup(&c->process,
				 "<mod_time>4</mod_time>"
				 "<work_buf_min_days>3</work_buf_min_days>"),
		.host_venue = arena_strdup(&c->process, "work") };

	host_take(c, BUFFER("5", "1"), (struct hope){ 0 });
	preferences_take(c, &other, &old);
	ck_assert_double_eq(prefs_seen(c).min_s, 86400);
	ck_assert_ptr_null(c->state->preferences_venue);
	host_take(c, BUFFER("3", "2"),
	    (struct hope){ 0 }); /* the user set the older preferences again */
	ck_assert_double_eq(prefs_seen(c).min_s, 2 * 86400.0);
	preferences_take(c, &other, &old);
	ck_assert_double_eq(prefs_seen(c).min_s, 3 * 86400.0);
	ck_assert_str_eq(c->state->preferences_venue, "work");
	host_take(c, BUFFER("2", "1"),
	    (struct hope){ 0 }); /* the other project is not attached here */
	ck_assert_double_eq(prefs_seen(c).min_s, 86400);
	old.global_preferences = arena_alloc(&c->process, 70000);
	memset(old.global_preferences, ' ', 69999);
	preferences_take(c, c->state->projects, &old);
	ck_assert_double_eq(prefs_seen(c).min_s, 86400);
	unit_host_end(c);
}
END_TEST

#define APP(flags) "<app><name>app</name>" flags "</app>"
#define QUIET      APP("<non_cpu_intensive>1</non_cpu_intensive>")

/* What a reply says about an app holds until a later reply says otherwise; an app
 * without versions is forgotten. */
START_TEST(apps)
{
	struct client *c = unit_host();
	const struct cproject *p = c->state->projects;
	struct view v;

	host_take(c, replies[1].steps[0], (struct hope){ .work = true });
	ck_assert_uint_eq(p->ntasks, 1);
	view_load(c, &v);
	ck_assert(
	    !v.world.tasks[0].nci && !task_app(p, &p->tasks[0])->fraction_done_exact);
	host_take(c, QUIET "<app><name>other</name></app><app/>", (struct hope){ 0 });
	host_take(c, "<hostid>1</hostid>", (struct hope){ 0 });
	save(c);
	p = c->state->projects;
	ck_assert_uint_eq(p->napps, 1);
	view_load(c, &v);
	ck_assert(v.world.tasks[0].nci && !v.world.projects[0].nci);
	host_take(
	    c, APP("<fraction_done_exact>1</fraction_done_exact>"), (struct hope){ 0 });
	view_load(c, &v);
	ck_assert(
	    !v.world.tasks[0].nci && task_app(p, &p->tasks[0])->fraction_done_exact);
	unit_host_end(c);
}
END_TEST

/* A task that needs no CPU does not satisfy a request for CPU work, unless all tasks of
 * the project are of this kind. */
START_TEST(tasks_without_cpu_are_no_work)
{
	struct client *c = unit_host();

	host_take(c,
	    arena_printf(&c->scratch, QUIET "%s%s",
		_i == 0 ? "" : "<non_cpu_intensive/>", replies[1].steps[0]),
	    (struct hope){ .work = true });
	ck_assert_uint_eq(c->state->projects->ntasks, 1);
	ck_assert((c->state->projects->standings[0].backoff_until > NOW) == (_i == 0));
	unit_host_end(c);
}
END_TEST

/* The first two requests carry the number 0 (protocol.md 13.5). */
START_TEST(identity_is_taken)
{
	struct client *c = unit_host();

	c->state->projects->rpc_seqno = 1;
	host_take(c, "<hostid>17</hostid><userid>4</userid>", (struct hope){ 0 });
	ck_assert_int_eq(c->state->projects->hostid, 17);
	ck_assert_int_eq(c->state->projects->rpc_seqno, 0);
	c->state->projects->rpc_seqno = 5;
	host_take(c, "<project_name>P\xe9</project_name>", (struct hope){ 0 });
	ck_assert_int_eq(c->state->projects->hostid, 17);
	ck_assert_int_eq(c->state->projects->rpc_seqno, 5);
	ck_assert_int_eq(c->state->projects->userid, 4);
	save(c);
	ck_assert_str_eq(c->state->projects->project_name, "P\xe9");
	unit_host_end(c);
}
END_TEST

static const char *key_xml(struct client *c, char *key, const char *signature)
{
	key[strcspn(key, ".") + 1] = '\0';
	return arena_printf(&c->scratch, "<code_sign_key>\n%s\n</code_sign_key>%s%s%s",
	    key, signature == NULL ? "" : "<code_sign_key_signature>\n",
	    signature == NULL ? "" : signature,
	    signature == NULL ? "" : "</code_sign_key_signature>");
}

START_TEST(key_changes_if_signed_by_the_old)
{
	struct client *c = unit_host();
	char *private[3], *public[3], *signature;
	struct key *key;

	for (size_t i = 0; i < N(public); i++)
		ck_assert_int_eq(
		    key_make(&c->process, &private[i], &public[i], &c -> fail), OK);
	host_take(c, key_xml(c, public[0], NULL), (struct hope){ 0 });
	ck_assert_str_eq(c->state->projects->code_sign_key, public[0]);
	host_take(c, key_xml(c, public[1], NULL), (struct hope){ 0 });
	ck_assert_str_eq(c->state->projects->code_sign_key, public[0]);
	for (size_t by = 2; by != 1; by -= 2) { /* a stranger's key, then the old key */
		ck_assert_int_eq(key_parse_private(private[by], &key, &c -> fail), OK);
		key_xml(c, public[1], NULL);
		ck_assert_int_eq(
		    sign_text(&c->process, key, public[1], &signature, &c -> fail), OK);
		key_free(key);
		host_take(c, key_xml(c, public[1], signature), (struct hope){ 0 });
		ck_assert_str_eq(
		    c->state->projects->code_sign_key, public[by == 0 ? 1 : 0]);
		if (by == 0)
			break;
	}
	save(c);
	ck_assert_str_eq(c->state->projects->code_sign_key, public[1]);
	unit_host_end(c);
}
END_TEST

/* --- replies that stock clients received --- */

/* Captures whose results are all for this host; the last is of an anonymous platform.
 */
static const struct {
	const char *name;
	size_t tasks;
} with_tasks[] = { { "01-first-contact", 1 },
	{ "13-after-reset-lost-results-resend", 3 }, { "26-report-download-404", 1 },
	{ "29-report-missing-signature", 1 }, { "90-default-config-first-contact", 3 },
	{ "70-anonymous-platform-first-contact", 0 } };

static size_t tasks_of(const char *path)
{
	for (size_t i = 0; i < N(with_tasks); i++)
		if (strstr(path, with_tasks[i].name) != NULL)
			return with_tasks[i].tasks;
	return 0;
}

static void take_capture(const char *path)
{
	struct client *c = unit_host();
	size_t n, tasks;
	struct reply *rp;
	const char *once;
	char *text;

	ck_assert_int_eq(fs_read(&c->process, path, 1 << 20, &text, &n, &c->fail), OK);
	ck_assert_msg(reply_parse(&c->process, text, n, &rp, &c->fail) == OK, "%s: %s",
	    path, c->fail.detail);
	host_answered(c, rp, (struct hope){ .work = true });
	save(c);
	tasks = c->state->projects->ntasks;
	ck_assert_msg(tasks == tasks_of(path), "%s: %zu tasks", path, tasks);
	once = arena_strdup(&c->process, digest(c));
	host_answered(c, rp, (struct hope){ .work = true });
	save(c);
	ck_assert_msg(strcmp(once, digest(c)) == 0, "%s: \"%s\", a second time \"%s\"",
	    path, once, digest(c));
	ck_assert_int_eq(c->state->projects->hostid, rp->hostid);
	unit_host_end(c);
}

START_TEST(captured_replies)
{
	const char *srcdir = getenv("srcdir");
	char pattern[PATH_MAX];
	glob_t g;

	snprintf(pattern, sizeof(pattern), "%s/test/golden/captures/*.reply.xml",
	    srcdir == NULL ? "." : srcdir);
	ck_assert_int_eq(glob(pattern, 0, NULL, &g), 0);
	ck_assert_uint_ge(g.gl_pathc, 30);
	for (size_t i = 0; i < g.gl_pathc; i++)
		take_capture(g.gl_pathv[i]);
	globfree(&g);
}
END_TEST

UNIT_MAIN("client", {
	log_open("test_client", NULL, LOG_ERR);
	ADD_LOOP(replies_by_table, N(replies));
	ADD_LOOP(delays_by_table, N(delays));
	ADD(wait_for_work);
	ADD(facts_reach_the_rules);
	ADD(sticky_files_expire);
	ADD(preferences_of_the_account);
	ADD(preferences_of_two_accounts);
	ADD(apps);
	ADD_LOOP(tasks_without_cpu_are_no_work, 2);
	ADD(identity_is_taken);
	ADD(key_changes_if_signed_by_the_old);
	ADD(captured_replies);
})
