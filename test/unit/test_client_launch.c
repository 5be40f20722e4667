/* SPDX-License-Identifier: Apache-2.0 */
/* What a host runs: only what its project signed, whatever earlier replies said. */
#include "test/unit/client_host.h"

#include <sys/resource.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

#define PROGRAM "#!/bin/sh\n[ ! -e lib ] || cat lib >>../../lib\n: >../../ran\n"
#define FINISH  "echo 0 >boinc_finish_called\n"
#define HERE    "<platform>x86_64-pc-linux-gnu</platform>"

enum { PATIENCE_MS = 60000, NSIGNERS = 2 };

struct signers { /* the project's key, and its next key */
	char *public[NSIGNERS];
	struct key *key[NSIGNERS];
};

static void make_signers(struct client *c, struct signers *s)
{
	char *private;

	for (size_t i = 0; i < NSIGNERS; i++) {
		ck_assert_int_eq(
		    key_make(&c->process, &private, &s->public[i], &c -> fail), OK);
		ck_assert_int_eq(key_parse_private(private, &s->key[i], &c->fail), OK);
		s->public[i][strcspn(s->public[i], ".") + 1] = '\0';
	}
}

static void free_signers(struct signers *s)
{
	for (size_t i = 0; i < NSIGNERS; i++)
		key_free(s->key[i]);
}

static const char *signature(struct client *c, const struct key *key, const char *text)
{
	char md5[MD5_HEX], *sig;

	md5_text(text, md5);
	ck_assert_int_eq(sign_md5(&c->process, key, md5, &sig, &c->fail), OK);
	return arena_printf(
	    &c->process, "<executable/><file_signature>\n%s</file_signature>", sig);
}

static const char *file_xml(
    struct client *c, const char *name, size_t n, const char *more)
{
	return arena_printf(&c->process,
	    "<file_info><name>%s</name><url>http://h/%s</url><nbytes>%zu</nbytes>%s"
	    "</file_info>",
	    name, name, n, more);
}

static void launch_put(struct client *c, const char *name, const char *text)
{
	const char *path = transfer_file_path(c, c->state->projects, name);

	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &c->fail), OK);
}

static void take_key(struct client *c, const struct signers *s, size_t which, size_t by)
{
	char *sig;

	ck_assert_int_eq(
	    sign_text(&c->scratch, s->key[by], s->public[which], &sig, &c -> fail), OK);
	host_take(c,
	    arena_printf(&c->scratch,
		"<code_sign_key>\n%s\n</code_sign_key><code_sign_key_signature>\n%s"
		"</code_sign_key_signature>",
		s->public[which], sig),
	    (struct hope){ 0 });
	ck_assert_str_eq(c->state->projects->code_sign_key, s->public[which]);
}

static const char version_xml[] =
    "<app_version><app_name>app</app_name><version_num>1</version_num>" HERE
    "<flops>1e9</flops>"
    "<file_ref><file_name>prog</file_name><main_program/></file_ref>"
    "<file_ref><file_name>lib_1</file_name><open_name>lib</open_name><copy_file/>"
    "</file_ref></app_version>";

static const char *task_xml(
    struct client *c, const char *wu_refs, const char *result_refs)
{
	return arena_printf(&c->process,
	    "<workunit><name>w</name><app_name>app</app_name>%s</workunit>"
	    "<result><name>r</name><wu_name>w</wu_name>" HERE
	    "<version_num>1</version_num>%s</result>",
	    wu_refs, result_refs);
}

/* Runs rounds until the task has ended, or until a file must be fetched or the patience
 * ends. Returns the outcome. */
static const char *launch_outcome(struct client *c)
{
	int64_t end = clock_mono_ms() + PATIENCE_MS;
	struct cproject *p = c->state->projects;

	if (p->ntasks == 0)
		return "dropped";
	for (; !p->tasks[0].ready && clock_mono_ms() < end; clock_nap_ms(5)) {
		enact_tasks(c);
		if (p->tasks[0].pid != 0)
			task_poll(c, p, &p->tasks[0]);
		for (size_t i = 0; i < p->nfiles && p->tasks[0].pid == 0; i++)
			if (p->files[i].status == FS_ABSENT && !p->files[i].output &&
			    state_wanted(&c->scratch, p)[i])
				return arena_printf(
				    &c->scratch, "fetches %s", p->files[i].info.name);
	}
	if (fs_exists(arena_printf(&c->scratch, "%s/ran", c->dir)))
		return arena_printf(&c->scratch, "ran %d", p->tasks[0].exit_status);
	return arena_printf(&c->scratch, "failed %d", p->tasks[0].exit_status);
}

/* Stores the whole text as a partial download; the next step of a transfer takes it. */
static void arrive(struct client *c, const char *name, const char *text)
{
	launch_put(c, arena_printf(&c->scratch, "%%%s", name), text);
}

static struct cfile *file(struct client *c, const char *name)
{
	return state_file(c->state->projects, name);
}

/* --- events between the download and the launch --- */

static void nothing(struct client *c, const struct signers *s)
{
	(void)c, (void)s;
}

static void program_changes(struct client *c, const struct signers *s)
{
	(void)s;
	launch_put(c, "prog", PROGRAM FINISH "#\n");
}

static void library_changes(struct client *c, const struct signers *s)
{
	(void)s;
	launch_put(c, "lib_1", "evil\n");
}

static void program_becomes_a_link(struct client *c, const struct signers *s)
{
	const char *path = transfer_file_path(c, c->state->projects, "prog");

	(void)s;
	ck_assert_int_eq(
	    fs_rename(
		path, transfer_file_path(c, c->state->projects, "elsewhere"), &c->fail),
	    OK);
	ck_assert_int_eq(symlink("elsewhere", path), 0);
}

static void program_is_gone(struct client *c, const struct signers *s)
{
	(void)s;
	ck_assert_int_eq(
	    fs_unlink(transfer_file_path(c, c->state->projects, "prog"), &c->fail), OK);
}

static void key_changes(struct client *c, const struct signers *s)
{
	take_key(c, s, 1, 0);
	save(c);
}

static void key_changes_and_all_is_told_again(struct client *c, const struct signers *s)
{
	key_changes(c, s);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s",
		file_xml(c, "prog", strlen(PROGRAM FINISH),
		    signature(c, s->key[0], PROGRAM FINISH)),
		file_xml(c, "lib_1", 5, signature(c, s->key[1], "good\n"))),
	    (struct hope){ 0 });
	save(c);
}

/* Others may know the old key by now. */
static void old_key_signs_another(struct client *c, const struct signers *s)
{
	key_changes(c, s);
	launch_put(c, "lib_1", "evil\n");
	file(c, "lib_1")->md5 =
	    NULL; /* the checksum of the download is unknown as well */
	host_take(c, file_xml(c, "lib_1", 5, signature(c, s->key[0], "evil\n")),
	    (struct hope){ 0 });
	save(c);
}

static void told_otherwise(struct client *c, const struct signers *s)
{
	(void)s;
	host_take(c,
	    file_xml(c, "prog", 3,
		"<md5_cksum>0123456789abcdef0123456789abcdef</md5_cksum>"),
	    (struct hope){ 0 });
	save(c);
}

static void signature_turns_bad(struct client *c, const struct signers *s)
{
	host_take(c,
	    file_xml(c, "prog", strlen(PROGRAM FINISH),
		signature(c, s->key[1], PROGRAM FINISH)),
	    (struct hope){ 0 });
	save(c);
}

#define IN(open, more)                                                                 \
	"<file_ref><file_name>in</file_name><open_name>" open "</open_name>" more      \
	"</file_ref>"
#define OUT(name)                                                                      \
	"<file_ref><file_name>" name "</file_name><open_name>out</open_name></"        \
	"file_ref>"
enum { NO_SIGNATURE = -1 };

static const struct {
	const char *what;
	int program_by, library_by; /* who signed it */
	const char *wu_refs, *result_refs;
	void (*then)(struct client *, const struct signers *);
	const char *want;
} launches[] = {
	{ "all is signed", 0, 0, "", "", nothing, "ran 0" },
	{ "unsigned program", NO_SIGNATURE, 0, "", "", nothing, "failed -186" },
	{ "unsigned library", 0, NO_SIGNATURE, "", "", nothing, "failed -186" },
	{ "a stranger's program", 1, 0, "", "", nothing, "failed -186" },
	{ "a stranger's library", 0, 1, "", "", nothing, "failed -186" },
	{ "changed program", 0, 0, "", "", program_changes, "fetches prog" },
	{ "changed library", 0, 0, "", "", library_changes, "fetches lib_1" },
	{ "the program is now a link", 0, 0, "", "", program_becomes_a_link,
	    "fetches prog" },
	{ "no program", 0, 0, "", "", program_is_gone, "fetches prog" },
	{ "new key", 0, 0, "", "", key_changes, "ran 0" },
	{ "new key, old and new signatures", 0, 0, "", "",
	    key_changes_and_all_is_told_again, "ran 0" },
	{ "the old key is no longer valid", 0, 0, "", "", old_key_signs_another,
	    "failed -186" },
	{ "another checksum for a file that is here", 0, 0, "", "", told_otherwise,
	    "ran 0" },
	{ "a bad signature for a file that is here", 0, 0, "", "", signature_turns_bad,
	    "failed -186" },
	{ "data", 0, 0, IN("in", ""), "", nothing, "ran 0" },
	{ "data in the place of a library", 0, 0, IN("lib", "<copy_file/>"), "",
	    nothing, "failed -185" },
	{ "a link to data in its place", 0, 0, IN("lib", ""), "", nothing,
	    "failed -185" },
	{ "output over the program", 0, 0, "", OUT("prog"), nothing, "dropped" },
	{ "output in the place of a library", 0, 0, "",
	    "<file_ref><file_name>o</file_name><open_name>lib</open_name></file_ref>",
	    nothing, "failed -185" },
};

static const char *signed_xml(struct client *c, const struct signers *s, int by,
    const char *name, const char *text)
{
	return file_xml(c, name, strlen(text),
	    by == NO_SIGNATURE ? "" : signature(c, s->key[by], text));
}

/* The file arrives before any version names it. */
static void came_as_data(struct client *c, const char *name, const char *text)
{
	launch_put(c, name, text);
	file(c, name)->status = FS_PRESENT;
}

START_TEST(launches_by_table)
{
	struct client *c = unit_host();
	struct signers s;
	const char *got;

	make_signers(c, &s);
	take_key(c, &s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s%s%s",
		signed_xml(c, &s, launches[_i].program_by, "prog", PROGRAM FINISH),
		signed_xml(c, &s, launches[_i].library_by, "lib_1", "good\n"),
		file_xml(c, "in", 5, "<sticky/>"),
		"<file_info><name>o</name><generated_locally/></file_info>",
		version_xml,
		task_xml(c, launches[_i].wu_refs, launches[_i].result_refs)),
	    (struct hope){ 0 });
	arrive(c, "prog", PROGRAM FINISH);
	arrive(c, "lib_1", "good\n");
	arrive(c, "in", "evil\n");
	if (launches[_i].program_by != 0)
		came_as_data(c, "prog", PROGRAM FINISH);
	if (launches[_i].library_by != 0)
		came_as_data(c, "lib_1", "good\n");
	while (transfer_step(c))
		;
	launches[_i].then(c, &s);
	got = launch_outcome(c);
	ck_assert_msg(strcmp(got, launches[_i].want) == 0, "%s: \"%s\", not \"%s\"",
	    launches[_i].what, got, launches[_i].want);
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* The file is data at first, sticky and executable; then a version names it as its
 * program. */
START_TEST(data_never_becomes_a_program)
{
	struct client *c = unit_host();
	struct signers s;
	struct stat st;

	make_signers(c, &s);
	take_key(c, &s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s",
		file_xml(c, "other", 1, signature(c, s.key[0], "x")),
		file_xml(c, "prog", strlen(PROGRAM FINISH), "<sticky/><executable/>"),
		"<app_version><app_name>app</app_name><version_num>1</version_num>" HERE
		"<file_ref><file_name>other</file_name><main_program/></file_ref>"
		"</app_version>",
		task_xml(c, "<file_ref><file_name>prog</file_name></file_ref>", "")),
	    (struct hope){ 0 });
	arrive(c, "other", "x");
	arrive(c, "prog", PROGRAM FINISH);
	while (transfer_step(c))
		;
	ck_assert_int_eq(file(c, "prog")->status, FS_PRESENT);
	ck_assert_int_eq(
	    stat(transfer_file_path(c, c->state->projects, "prog"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0644);
	c->state->projects->ntasks = c->state->projects->nworkunits = 0;
	c->state->projects->nversions = 0;
	/* An older client may have left it executable. */
	ck_assert_int_eq(
	    chmod(transfer_file_path(c, c->state->projects, "prog"), 0755), 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s",
		file_xml(c, "lib_1", 5, signature(c, s.key[0], "good\n")), version_xml,
		task_xml(c, "", "")),
	    (struct hope){ 0 });
	arrive(c, "lib_1", "good\n");
	while (transfer_step(c))
		;
	ck_assert_str_eq(launch_outcome(c), "failed -186");
	ck_assert_int_eq(file(c, "prog")->error, -123);
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* A client may be killed before it saves that a file is complete. */
START_TEST(whole_files_are_not_fetched_again)
{
	struct client *c = unit_host();
	struct signers s;

	make_signers(c, &s);
	take_key(c, &s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s",
		signed_xml(c, &s, 0, "prog", PROGRAM FINISH),
		signed_xml(c, &s, 0, "lib_1", "good\n"), version_xml,
		task_xml(c, "", "")),
	    (struct hope){ 0 });
	launch_put(c, "prog", PROGRAM FINISH);
	launch_put(c, "lib_1", "good\n");
	while (transfer_step(c)) /* there is no network */
		;
	ck_assert_int_eq(file(c, "prog")->status, FS_PRESENT);
	ck_assert_str_eq(launch_outcome(c), "ran 0");
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* A file that is found changed again and again is not fetched for ever. */
START_TEST(retries_end)
{
	struct client *c = unit_host();
	struct signers s;
	const char *got = "";
	int times = 0;

	make_signers(c, &s);
	take_key(c, &s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s",
		signed_xml(c, &s, 0, "prog", PROGRAM FINISH),
		signed_xml(c, &s, 0, "lib_1", "good\n"), version_xml,
		task_xml(c, "", "")),
	    (struct hope){ 0 });
	arrive(c, "lib_1", "good\n");
	for (; times < 20 && strncmp(got, "failed", 6) != 0; times++) {
		arrive(c, "prog", PROGRAM FINISH);
		while (transfer_step(c))
			;
		launch_put(c, "prog", "#!/bin/sh\n");
		got = launch_outcome(c);
		ck_assert_int_eq(file(c, "lib_1")->status, FS_PRESENT);
		c->now += 2000; /* past the backoff */
	}
	ck_assert_str_eq(got, "failed -186");
	ck_assert_int_gt(times, 2);
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* Without room for its files a client waits, whatever the bounds of its pauses. */
START_TEST(no_room_is_waited_for)
{
	struct client *c = unit_host();
	struct signers s;
	struct cfile *prog;

	make_signers(c, &s);
	take_key(c, &s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s",
		signed_xml(c, &s, 0, "prog", PROGRAM FINISH),
		signed_xml(c, &s, 0, "lib_1", "good\n"), version_xml,
		task_xml(c, "", "")),
	    (struct hope){ 0 });
	arrive(c, "lib_1", "good\n");
	c->host_prefs.disk_min_free_gb = 1e9;
	c->options.backoff = (struct backoff){ 0.3, 0.6 };
	while (transfer_step(c))
		ck_assert_int_le(file(c, "prog")->failures, 1);
	prog = file(c, "prog");
	ck_assert_int_eq(prog->status, FS_ABSENT);
	ck_assert_int_eq(prog->failures, 1);
	ck_assert_int_gt(prog->try_after, c->now);
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* A task whose program and library have come: the program sleeps. */
static struct ctask *sleeper(struct client *c, struct signers *s, const char *app)
{
	make_signers(c, s);
	take_key(c, s, 0, 0);
	host_take(c,
	    arena_printf(&c->scratch, "%s%s%s%s%s",
		signed_xml(c, s, 0, "prog", PROGRAM "exec sleep 300\n"),
		signed_xml(c, s, 0, "lib_1", "good\n"), version_xml, app,
		task_xml(c, "", "")),
	    (struct hope){ 0 });
	arrive(c, "prog", PROGRAM "exec sleep 300\n");
	arrive(c, "lib_1", "good\n");
	while (transfer_step(c))
		;
	return &c->state->projects->tasks[0];
}

static const struct {
	int32_t nice; /* the option */
	bool nci;
	int want;
} priorities[] = {
	{ 19, false, 19 },
	{ 5, false, 5 },
	{ 0, false, 0 },
	{ 19, true, 10 },
	{ 7, true, 7 },
};

START_TEST(tasks_give_way)
{
	struct client *c = unit_host();
	struct signers s;
	struct ctask *t = sleeper(c, &s,
	    priorities[_i].nci ? "<app><name>app</name><non_cpu_intensive>1"
				 "</non_cpu_intensive></app>" :
				 "");
	int own = getpriority(PRIO_PROCESS, 0), want = priorities[_i].want;

	c->options.nice = priorities[_i].nice;
	task_start(c, c->state->projects, t);
	ck_assert_int_ne(t->pid, 0);
	ck_assert_int_eq(
	    getpriority(PRIO_PROCESS, (id_t)t->pid), want > own ? want : own);
	task_quit(c, t);
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* A task may leave a changed library in its slot; the signature is checked again. */
START_TEST(library_in_the_slot_is_checked_again)
{
	struct client *c = unit_host();
	struct ctask *t;
	struct signers s;
	const char *path;
	char *text;

	t = sleeper(c, &s, "");
	for (int i = 0; i < 2; i++) {
		task_start(c, c->state->projects, t);
		ck_assert_int_ne(t->pid, 0);
		path = arena_printf(&c->scratch, "%s/ran", c->dir);
		for (int64_t end = clock_mono_ms() + PATIENCE_MS;
		     !fs_exists(path) && clock_mono_ms() < end;)
			clock_nap_ms(5);
		ck_assert_int_eq(fs_unlink(path, &c->fail), OK);
		path = arena_printf(&c->scratch, "%s/checkpoint", slot_dir(c, t));
		ck_assert_int_eq(fs_write(path, "", 0, 0644, &c->fail), OK);
		path = arena_printf(&c->scratch, "%s/lib", slot_dir(c, t));
		ck_assert_int_eq(fs_write(path, "evil\n", 5, 0644, &c->fail), OK);
		task_quit(c, t);
		ck_assert_int_ne(t->checkpointed_at, 0);
	}
	path = arena_printf(&c->scratch, "%s/lib", c->dir);
	ck_assert_int_eq(fs_read(&c->scratch, path, 100, &text, NULL, &c->fail), OK);
	ck_assert_str_eq(text, "good\ngood\n");
	free_signers(&s);
	unit_host_end(c);
}
END_TEST

/* Another file replaces an open program: the opened file runs, even if it is a script.
 */
START_TEST(the_open_file_runs)
{
	struct client *c = unit_host();
	const char *path = arena_printf(&c->process, "%s/program", c->dir);
	const char *out = arena_printf(&c->process, "%s/out", c->dir);
	const char *const argv[] = { path, "good", NULL };
	const char text[] = "#!/bin/sh\necho $1\n", evil[] = "#!/bin/sh\necho evil\n";
	struct proc_run run = { .argv = argv, .dir = "/", PROC_LOG(out) };
	struct proc_told told;
	char *said;
	int fd;

	if (_i == 0)
		ck_assert_int_eq(
		    fs_write(path, text, strlen(text), 0755, &c->fail), OK);
	else
		ck_assert_int_eq(fs_copy("/bin/echo", path, 0755, &c->fail), OK);
	ck_assert_int_eq(fs_open_file(path, &fd, &c->fail), OK);
	ck_assert_int_eq(fs_write(path, evil, strlen(evil), 0755, &c->fail), OK);
	run.program = fd;
	ck_assert_int_eq(proc_collect(&c->scratch, &run, 0, 0, &told, &c->fail), OK);
	ck_assert_int_eq(told.status, 0);
	ck_assert_int_eq(fs_read(&c->scratch, out, 100, &said, NULL, &c->fail), OK);
	ck_assert_str_eq(said, "good\n");
	close(fd);
	unit_host_end(c);
}
END_TEST

/* The client opens neither links nor special files, and never blocks on one. */
START_TEST(only_files_are_opened)
{
	struct client *c = unit_host();
	const char *path = arena_printf(&c->process, "%s/x", c->dir);
	int fd;

	ck_assert_int_eq(fs_open_file(path, &fd, &c->fail), E_NOTFOUND);
	ck_assert_int_eq(mkfifo(path, 0644), 0);
	ck_assert_int_eq(fs_open_file(path, &fd, &c->fail), E_BADREQ);
	ck_assert_int_eq(fs_unlink(path, &c->fail), OK);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(fs_open_file(path, &fd, &c->fail), E_BADREQ);
	ck_assert_int_eq(fs_open_file(c->dir, &fd, &c->fail), E_BADREQ);
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_launch", {
	log_open("test_client_launch", NULL, LOG_ERR);
	ADD_LOOP(launches_by_table, N(launches));
	ADD(data_never_becomes_a_program);
	ADD(whole_files_are_not_fetched_again);
	ADD(retries_end);
	ADD(no_room_is_waited_for);
	ADD_LOOP(the_open_file_runs, 2);
	ADD(only_files_are_opened);
	ADD_LOOP(tasks_give_way, N(priorities));
	ADD(library_in_the_slot_is_checked_again);
})
