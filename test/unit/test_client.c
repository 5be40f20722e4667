/* SPDX-License-Identifier: Apache-2.0 */
/* The host's state: saved and read again, and changed by replies, captured and made up.
 */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>
#include "client/client.h"
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "proto/reply.h"
#include "lib/banned.h"

enum { NOW = 1000000, STEPS = 6 };

/* A host that has just been attached, in a directory of its own. */
static struct client *
host(void)
{
	static struct client c;
	static char dir[PATH_MAX];

	c = (struct client){ .dir = unit_dir(dir), .now = NOW, .rng = rng_seed(42) };
	c.o.rpc_backoff = c.o.transfer_backoff = (struct backoff){ 10, 1000 };
	c.o.ncpus = 2;
	c.files_dir = arena_printf(&c.process, "%s/projects/p", dir);
	c.state_path = arena_printf(&c.process, "%s/client_state.json", dir);
	c.platform = arena_strdup(&c.process, "x86_64-pc-linux-gnu");
	c.events = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ck_assert_int_eq(fs_mkdirs(c.files_dir, 0755, &c.fail), OK);
	c.st = NEW(&c.keep, struct state);
	c.st->master_url = arena_strdup(&c.keep, "http://h.example/p/");
	c.st->authenticator = arena_strdup(&c.keep, "k");
	c.st->host_cpid = arena_strdup(&c.keep, "0123");
	return &c;
}

static void
host_end(struct client *c)
{
	close(c->events);
	ck_assert_int_eq(fs_rmtree(c->dir, &c->fail), OK);
	arena_free(&c->a);
	arena_free(&c->keep);
	arena_free(&c->process);
}

static void
save(struct client *c)
{
	char **dropped;
	size_t n;

	ck_assert_msg(state_save(&c->keep, c->state_path, &c->st, &c->a, &dropped, &n,
			  &c->fail) == OK,
	    "%s", c->fail.detail);
	arena_reset(&c->a);
}

static void
take(struct client *c, const char *inside, struct rpc_hope hope)
{
	const char *text = arena_printf(
	    &c->a, "<scheduler_reply>\n%s\n</scheduler_reply>\n", inside);
	struct reply *rp;

	ck_assert_msg(reply_parse(&c->a, text, strlen(text), &rp, &c->fail) == OK, "%s",
	    c->fail.detail);
	rpc_take_reply(c, rp, &hope);
}

/* --- save and load --- */

/* A state with a row of everything, each text of which is the given one. */
static void
fill(struct client *c, char *text)
{
	struct rp_file_ref *ref = NEW(&c->keep, struct rp_file_ref);
	struct state *st = c->st;

	*ref = (struct rp_file_ref){ text, text, true, true, true };
	st->project_name = st->venue = st->code_sign_key = text;
	st->schedulers = NEWN(&c->keep, char *, 2);
	st->schedulers[st->nschedulers++] = text;
	st->schedulers[st->nschedulers++] = text;
	st->hostid = (int64_t)1 << 40;
	st->contacted = true;
	st->p_fpops = 1e9 / 3;
	st->versions = NEW(&c->keep, struct rp_app_version);
	st->versions[st->nversions++] = (struct rp_app_version){ .app_name = text,
		.platform = text,
		.plan_class = text,
		.version_num = 7,
		.refs = ref,
		.nrefs = 1 };
	st->workunits = NEW(&c->keep, struct rp_workunit);
	st->workunits[st->nworkunits++] = (struct rp_workunit){ .name = text,
		.app_name = text,
		.command_line = text,
		.refs = ref,
		.nrefs = 1 };
	st->files = NEW(&c->keep, struct cfile);
	st->files[st->nfiles++] = (struct cfile){ .info = { .name = text,
						      .nbytes = 1e15,
						      .sticky = true,
						      .urls = st->schedulers,
						      .nurls = 2 },
		.status = FS_PRESENT,
		.md5 = text,
		.try_after = NOW,
		.url = 1 };
	st->tasks = NEW(&c->keep, struct ctask);
	st->tasks[st->ntasks++] = (struct ctask){ .r = { .name = text,
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
	struct client *c = host();
	char *text = arena_strdup(&c->process, texts[_i]);
	const struct state *st;

	fill(c, text);
	save(c);
	save(c);
	st = c->st;
	ck_assert_uint_eq(st->nschedulers, 2);
	ck_assert_str_eq(st->schedulers[1], text);
	ck_assert_str_eq(st->project_name, text);
	ck_assert_int_eq(st->hostid, (int64_t)1 << 40);
	ck_assert(st->contacted && st->p_fpops == 1e9 / 3);
	ck_assert_uint_eq(st->ntasks, 1);
	ck_assert_str_eq(st->tasks[0].r.name, text);
	ck_assert_str_eq(st->tasks[0].message, text);
	ck_assert_str_eq(st->tasks[0].r.refs[0].open_name, text);
	ck_assert(st->tasks[0].r.refs[0].optional);
	ck_assert_int_eq(st->tasks[0].slot, -1);
	ck_assert_int_eq(st->tasks[0].pid, 123);
	ck_assert_double_eq(st->tasks[0].r.report_deadline, 4e9);
	ck_assert_str_eq(st->files[0].info.urls[1], text);
	ck_assert_double_eq(st->files[0].info.nbytes, 1e15);
	ck_assert_int_eq(st->files[0].url, 1);
	ck_assert_ptr_nonnull(task_version(st, &st->tasks[0]));
	host_end(c);
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
	{ "numbers for texts",
	    "{\"master_url\": 1, \"authenticator\": 2, \"host_cpid\": 3}", E_BADREQ },
	{ "rows without names",
	    "{\"master_url\":\"u\",\"authenticator\":\"k\",\"host_cpid\":\"c\","
	    "\"tasks\":[{},3],\"files\":[{}],\"workunits\":[{}],\"versions\":[{}]}",
	    OK },
	{ "characters that no byte has",
	    "{\"master_url\":\"\\u20ac\",\"authenticator\":\"\\ud83d\\ude00\","
	    "\"host_cpid\":\"c\"}",
	    OK },
};

START_TEST(states_that_are_none)
{
	struct client *c = host();
	enum err e;

	ck_assert_int_eq(
	    state_load(&c->keep, c->state_path, &c->st, &c->fail), E_NOTFOUND);
	ck_assert_int_eq(fs_write(c->state_path, bad_states[_i].text,
			     strlen(bad_states[_i].text), 0600, &c->fail),
	    OK);
	e = state_load(&c->keep, c->state_path, &c->st, &c->fail);
	ck_assert_msg(e == bad_states[_i].want, "%s: %s %s", bad_states[_i].what,
	    err_name(e), c->fail.detail);
	if (e == OK)
		save(c);
	host_end(c);
}
END_TEST

/* The disk is full: the host goes on with what it knows, and saves later. */
START_TEST(failed_save_changes_nothing)
{
	struct client *c = host();
	char **dropped;
	size_t n;

	fill(c, arena_strdup(&c->process, "t"));
	c->st->tasks[0].acked = true;
	c->st->files[0].info.sticky = false;
	ck_assert_int_ne(state_save(&c->keep, "/nonexistent/state", &c->st, &c->a,
			     &dropped, &n, &c->fail),
	    OK);
	ck_assert_uint_eq(c->st->ntasks, 1);
	ck_assert_str_eq(c->st->tasks[0].r.name, "t");
	ck_assert_uint_eq(c->st->nworkunits, 1);
	ck_assert_int_eq(
	    state_save(&c->keep, c->state_path, &c->st, &c->a, &dropped, &n, &c->fail),
	    OK);
	ck_assert_uint_eq(c->st->ntasks, 0);
	ck_assert_uint_eq(c->st->nworkunits, 0);
	host_end(c);
}
END_TEST

START_TEST(clock_set_back)
{
	struct client *c = host();
	struct state *st = c->st;

	fill(c, arena_strdup(&c->process, "t"));
	st->min_rpc_time = NOW + 60;
	state_clock(st, NOW);
	state_clock(st, NOW + 10);
	ck_assert_int_eq(st->min_rpc_time, NOW + 60);
	state_clock(st, NOW + 10 - 5000);
	ck_assert_int_eq(st->min_rpc_time, NOW + 60 - 5000);
	ck_assert_int_eq(st->files[0].try_after, NOW - 5000);
	ck_assert_int_eq(st->next_rpc_time, 0);
	host_end(c);
}
END_TEST

/* --- replies --- */

static const char *
digest(struct client *c)
{
	static const char status[] = { '!', '-', '+' };
	const struct state *st = c->st;
	struct buf b = buf_new(&c->a);

	for (size_t i = 0; i < st->ntasks; i++) {
		const struct ctask *t = &st->tasks[i];

		buf_printf(&b, " %s", t->r.name);
		if (t->state != 0)
			buf_printf(&b, "%d", t->state);
		buf_puts(&b, t->ready ? "R" : "");
	}
	for (size_t i = 0; i < st->nfiles; i++) {
		const struct cfile *f = &st->files[i];

		buf_printf(&b, " %s%c%s%s", f->info.name, status[f->status + 1],
		    f->info.sticky ? "s" : "", f->output ? "o" : "");
	}
	for (size_t i = 0; i < st->nversions; i++)
		buf_printf(&b, " %d", st->versions[i].version_num);
	return b.n == 0 ? "" : b.p + 1;
}

static void
finish(struct client *c, struct ctask *t)
{
	t->state = CLIENT_UPLOADED;
	t->ready = true;
	for (size_t i = 0; i < t->r.nrefs; i++) {
		struct cfile *f = state_file(c->st, t->r.refs[i].file_name);

		f->status = FS_PRESENT;
		f->uploaded = true;
	}
}

static void
step(struct client *c, const char *s)
{
	const char *name = s + 5;

	if (s[0] == '<')
		take(c, s, (struct rpc_hope){ 0 });
	else if (strncmp(s, "have ", 5) == 0)
		state_file(c->st, name)->status = FS_PRESENT;
	else if (strncmp(s, "fail ", 5) == 0)
		state_file(c->st, name)->status = FS_FAILED;
	else if (strncmp(s, "done ", 5) == 0)
		finish(c, state_task(c->st, name));
	else if (strncmp(s, "start ", 6) == 0)
		state_task(c->st, s + 6)->started_at = NOW;
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
	struct client *c = host();

	for (size_t i = 0; i < STEPS && replies[_i].steps[i] != NULL; i++) {
		step(c, replies[_i].steps[i]);
		save(c);
	}
	ck_assert_msg(strcmp(digest(c), replies[_i].want) == 0,
	    "%s: \"%s\", not \"%s\"", replies[_i].what, digest(c), replies[_i].want);
	host_end(c);
}
END_TEST

static const struct {
	const char *what, *reply;
	struct rpc_hope hope;
	int64_t rpc_least, rpc_most, work_least, work_most;
} delays[] = {
#define DELAY_CASES
#include "test/unit/client.def"
#undef DELAY_CASES
};

START_TEST(delays_by_table)
{
	struct client *c = host();
	int64_t rpc, work;

	take(c, delays[_i].reply, delays[_i].hope);
	rpc = c->st->min_rpc_time - NOW;
	work = c->st->work_backoff_until - NOW;
	ck_assert_msg(rpc >= delays[_i].rpc_least && rpc <= delays[_i].rpc_most,
	    "%s: contact after %lld s", delays[_i].what, (long long)rpc);
	ck_assert_msg(work >= delays[_i].work_least && work <= delays[_i].work_most,
	    "%s: work after %lld s", delays[_i].what, (long long)work);
	host_end(c);
}
END_TEST

/* A report does not shorten the wait for work, work ends it. */
START_TEST(wait_for_work)
{
	struct client *c = host();

	take(c, "<hostid>1</hostid>", (struct rpc_hope){ .work = true });
	ck_assert_int_ge(c->st->work_backoff_until, NOW + 10);
	take(c, "<x/>", (struct rpc_hope){ 0 });
	ck_assert_int_ge(c->st->work_backoff_until, NOW + 10);
	take(c, "<x/>", (struct rpc_hope){ .work = true });
	ck_assert_int_ge(c->st->work_backoff_until, NOW + 20);
	take(c, replies[1].steps[0], (struct rpc_hope){ .work = true });
	ck_assert_int_eq(c->st->work_backoff_until, 0);
	ck_assert_int_eq(c->st->nempty_replies, 0);
	host_end(c);
}
END_TEST

/* The first two requests carry the number 0 (stock-client.md 5). */
START_TEST(identity_is_taken)
{
	struct client *c = host();

	c->st->rpc_seqno = 1;
	take(c, "<hostid>17</hostid><userid>4</userid>", (struct rpc_hope){ 0 });
	ck_assert_int_eq(c->st->hostid, 17);
	ck_assert_int_eq(c->st->rpc_seqno, 0);
	ck_assert(c->st->contacted);
	c->st->rpc_seqno = 5;
	take(c, "<project_name>P\xe9</project_name>", (struct rpc_hope){ 0 });
	ck_assert_int_eq(c->st->hostid, 17);
	ck_assert_int_eq(c->st->rpc_seqno, 5);
	ck_assert_int_eq(c->st->userid, 4);
	save(c);
	ck_assert_str_eq(c->st->project_name, "P\xe9");
	host_end(c);
}
END_TEST

static const char *
key_xml(struct client *c, char *key, const char *signature)
{
	key[strcspn(key, ".") + 1] = '\0';
	return arena_printf(&c->a, "<code_sign_key>\n%s\n</code_sign_key>%s%s%s", key,
	    signature == NULL ? "" : "<code_sign_key_signature>\n",
	    signature == NULL ? "" : signature,
	    signature == NULL ? "" : "</code_sign_key_signature>");
}

START_TEST(key_changes_if_signed_by_the_old)
{
	struct client *c = host();
	char *private[3], *public[3], *signature;
	struct key *key;

	for (size_t i = 0; i < N(public); i++)
		ck_assert_int_eq(
		    key_make(&c->process, &private[i], &public[i], &c -> fail), OK);
	take(c, key_xml(c, public[0], NULL), (struct rpc_hope){ 0 });
	ck_assert_str_eq(c->st->code_sign_key, public[0]);
	take(c, key_xml(c, public[1], NULL), (struct rpc_hope){ 0 });
	ck_assert_str_eq(c->st->code_sign_key, public[0]);
	for (size_t by = 2; by != 1; by -= 2) { /* a stranger's key, then the old one */
		ck_assert_int_eq(key_parse_private(private[by], &key, &c -> fail), OK);
		key_xml(c, public[1], NULL);
		ck_assert_int_eq(
		    sign_text(&c->process, key, public[1], &signature, &c -> fail), OK);
		key_free(key);
		take(c, key_xml(c, public[1], signature), (struct rpc_hope){ 0 });
		ck_assert_str_eq(c->st->code_sign_key, public[by == 0 ? 1 : 0]);
		if (by == 0)
			break;
	}
	save(c);
	ck_assert_str_eq(c->st->code_sign_key, public[1]);
	host_end(c);
}
END_TEST

/* --- what stock clients were answered --- */

/* Captures whose results are all for this host; the last is of an anonymous platform.
 */
static const struct {
	const char *name;
	size_t tasks;
} with_tasks[] = { { "01-first-contact", 1 },
	{ "13-after-reset-lost-results-resend", 3 }, { "26-report-download-404", 1 },
	{ "29-report-missing-signature", 1 }, { "90-default-config-first-contact", 3 },
	{ "70-anonymous-platform-first-contact", 0 } };

static size_t
tasks_of(const char *path)
{
	for (size_t i = 0; i < N(with_tasks); i++)
		if (strstr(path, with_tasks[i].name) != NULL)
			return with_tasks[i].tasks;
	return 0;
}

static void
take_capture(const char *path)
{
	struct client *c = host();
	size_t n, tasks;
	struct reply *rp;
	const char *once;
	char *text;

	ck_assert_int_eq(fs_read(&c->process, path, 1 << 20, &text, &n, &c->fail), OK);
	ck_assert_msg(reply_parse(&c->process, text, n, &rp, &c->fail) == OK, "%s: %s",
	    path, c->fail.detail);
	rpc_take_reply(c, rp, &(struct rpc_hope){ .work = true });
	save(c);
	tasks = c->st->ntasks;
	ck_assert_msg(tasks == tasks_of(path), "%s: %zu tasks", path, tasks);
	once = arena_strdup(&c->process, digest(c));
	rpc_take_reply(c, rp, &(struct rpc_hope){ .work = true });
	save(c);
	ck_assert_msg(strcmp(once, digest(c)) == 0, "%s: \"%s\", a second time \"%s\"",
	    path, once, digest(c));
	ck_assert_int_eq(c->st->hostid, rp->hostid);
	host_end(c);
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
	ADD_LOOP(texts_come_back_as_they_were, N(texts));
	ADD_LOOP(states_that_are_none, N(bad_states));
	ADD(failed_save_changes_nothing);
	ADD(clock_set_back);
	ADD_LOOP(replies_by_table, N(replies));
	ADD_LOOP(delays_by_table, N(delays));
	ADD(wait_for_work);
	ADD(identity_is_taken);
	ADD(key_changes_if_signed_by_the_old);
	ADD(captured_replies);
})
