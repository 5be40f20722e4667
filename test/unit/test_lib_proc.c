/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of child processes, and of processes that must not dump core. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;
static char dir[PATH_MAX];

static void setup(void)
{
	unit_dir(dir);
}

static void teardown(void)
{
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}

static char *proc_path(const char *name)
{
	return arena_printf(&a, "%s/%s", dir, name);
}

/* Allows core files of any size. */
static bool allow_cores(void)
{
	struct rlimit most;

	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &most), 0);
	most.rlim_cur = most.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_CORE, &most), 0);
	return most.rlim_max > 0;
}

/* Returns whether a crashing process dumped core, in a directory of its own. */
static bool dumps_core(bool off)
{
	pid_t pid;
	int st;

	pid = fork();
	if (pid == 0) {
		if (chdir(dir) != 0)
			_exit(1);
		if (off)
			proc_no_core();
		signal(SIGABRT, SIG_DFL);
		raise(SIGABRT);
	}
	ck_assert_int_eq(waitpid(pid, &st, 0), pid);
	ck_assert(WIFSIGNALED(st));
	return WCOREDUMP(st);
}

START_TEST(no_core)
{
	struct rlimit now;

	if (!allow_cores() || !dumps_core(false))
		printf("skipped in part: this machine dumps no core at all\n");
	ck_assert(!dumps_core(true));
	proc_no_core();
	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &now), 0);
	ck_assert_uint_eq(now.rlim_cur, 0);
}
END_TEST

/* Children keep the limit of before proc_no_core(). */
START_TEST(children_keep_their_limit)
{
	const char *const argv[] = { "sh", "-c", "sleep 0.2; ulimit -S -c", NULL };
	const struct proc_run r = { .argv = argv, .out = { PROC_PIPE } };
	struct proc_told before, after;

	allow_cores();
	ck_assert_int_eq(proc_collect(&a, &r, 0, 100, &before, &f), OK);
	proc_no_core();
	proc_no_core();
	ck_assert_int_eq(proc_collect(&a, &r, 0, 100, &after, &f), OK);
	ck_assert_str_eq(after.out, before.out);
}
END_TEST

/* A limit that a child sets itself is kept. */
START_TEST(children_set_their_own_limit)
{
	const char *const argv[] = { "sh", "-c",
		"ulimit -S -c 0; sleep 0.05; ulimit -S -c", NULL };
	const struct proc_run r = { .argv = argv, .out = { PROC_PIPE } };
	struct proc_told told;
	struct rlimit now;

	allow_cores();
	proc_no_core();
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(proc_collect(&a, &r, 0, 100, &told, &f), OK);
		ck_assert_str_eq(told.out, "0\n");
	}
	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &now), 0);
	ck_assert_uint_eq(now.rlim_cur, 0);
}
END_TEST

/* --- running programs --- */

#define SH(script) ((const char *const[]){ "sh", "-c", script, NULL })

static const struct {
	const char *script, *in;
	size_t out_max;
	int status;
	const char *out;
} runs[] = {
	{ "echo hello", NULL, 100, 0, "hello\n" },
	{ "cat", "through", 100, 0, "through" },
	{ "cat", NULL, 100, 0, "" },
	{ "true", "nobody reads this", 100, 0, "" },
	{ "exit 3", NULL, 100, 3, "" },
	{ "kill -9 $$", NULL, 100, 137, "" },
	{ "echo 0123456789", NULL, 4, 0, "0123" },
	{ "sleep 300 & echo left", NULL, 100, 0, "left\n" },
	{ "echo $LOCUS_X $HOME", NULL, 100, 0, "added /nowhere\n" },
	{ "pwd", NULL, 100, 0, "/\n" },
	{ "exec >&-; sleep 0.2; exit 5", NULL, 100, 5, "" },
};

START_TEST(proc_runs)
{
	const char *env[] = { "LOCUS_X=added", "HOME=/nowhere", NULL };
	struct proc_run r = {
		.argv = SH(runs[_i].script),
		.dir = "/",
		.env = env,
		.out = { PROC_PIPE },
		.err = { PROC_OURS },
	};
	struct proc_told told = { .status = -1 };

	if (runs[_i].in != NULL)
		r.in = (struct proc_io){ PROC_MEMORY, .text = runs[_i].in,
			.n = strlen(runs[_i].in) };
	ck_assert_int_eq(proc_collect(&a, &r, 60, runs[_i].out_max, &told, &f), OK);
	ck_assert_int_eq(told.status, runs[_i].status);
	ck_assert_str_eq(told.out, runs[_i].out);
	ck_assert_uint_eq(told.out_n, strlen(runs[_i].out));
	told.status = -1;
	r.out.how = PROC_NULL;
	ck_assert_int_eq(proc_collect(&a, &r, 60, 0, &told, &f), OK);
	ck_assert_int_eq(told.status, runs[_i].status);
	ck_assert_str_eq(told.out, "");
}
END_TEST

START_TEST(proc_moves_much)
{
	static char in[3000000];
	const struct proc_run r = { .argv = SH("cat"),
		.in = { PROC_MEMORY, .text = in, .n = sizeof(in) },
		.out = { PROC_PIPE } };
	struct proc_told told;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)(i * 31);
	ck_assert_int_eq(proc_collect(&a, &r, 0, 1 << 22, &told, &f), OK);
	ck_assert_uint_eq(told.out_n, sizeof(in));
	ck_assert_int_eq(memcmp(in, told.out, told.out_n), 0);
	ck_assert_int_eq(proc_collect(&a, &r, 0, 1000, &told, &f), OK);
	ck_assert_uint_eq(told.out_n, 1000);
	ck_assert_int_eq(told.status, 0);
}
END_TEST

START_TEST(proc_timeout_kills_the_group)
{
	char *pidfile = proc_path("pid"), *text;
	const char *script =
	    "sleep 300 & echo $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait";
	const char *argv[] = { "sh", "-c", script, pidfile, NULL };
	const struct proc_run r = { .argv = argv };
	struct proc_told told;
	int i;

	/* The script may not have started after a second on a slow machine. */
	for (int most_s = 1; most_s < 100 && !fs_exists(pidfile); most_s *= 2) {
		int64_t start = clock_mono_ms();
		char *said = arena_printf(&a, "timed out after %d s", most_s);

		ck_assert_int_eq(proc_collect(&a, &r, most_s, 0, &told, &f), E_SYS);
		ck_assert_ptr_nonnull(strstr(f.detail, said));
		ck_assert_int_ge(clock_mono_ms() - start, most_s * 1000);
	}
	ck_assert_int_eq(fs_read(&a, pidfile, 100, &text, NULL, &f), OK);
	/* The grandchild is gone too, or will be as soon as init has reaped it. */
	for (i = 0; i < 6000; i++) {
		char *stat,
		    *path = arena_printf(&a, "/proc/%ld/stat", strtol(text, NULL, 10));
		if (fs_read(&a, path, 10000, &stat, NULL, &f) != OK ||
		    strstr(stat, ") Z"))
			break;
		clock_nap_ms(10);
	}
	ck_assert_int_lt(i, 6000);
}
END_TEST

START_TEST(proc_says_what_cannot_start)
{
	struct proc_run r = { .argv = (const char *const[]){
				  "no-such-program", NULL } };
	struct proc_told told;

	if (getenv("UNIT_VALGRIND") != NULL)
		return; /* posix_spawn() cannot tell there that exec failed */
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), E_SYS);
	ck_assert_ptr_nonnull(strstr(f.detail, "no-such-program"));
	r = (struct proc_run){ .argv = SH("true"), .dir = proc_path("none") };
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), E_SYS);
}
END_TEST

START_TEST(proc_spawns_into_a_log)
{
	char *log = proc_path("log"), *text;
	struct proc_run r = {
		.argv = SH("pwd; echo err >&2; exit 4"), .dir = "/", PROC_LOG(log)
	};
	struct proc_child c;
	int status = -1;

	ck_assert_int_eq(fs_write(log, "before\n", 7, 0644, &f), OK);
	ck_assert_int_eq(proc_start(&r, &c, &f), OK);
	ck_assert_int_eq(proc_end(&c, -1), 4);
	ck_assert_int_eq(fs_read(&a, log, 1000, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "before\n/\nerr\n");
	r = (struct proc_run){ .argv = SH("sleep 300") };
	ck_assert_int_eq(proc_start(&r, &c, &f), OK);
	ck_assert_int_eq(getpgid(c.pid), c.pid);
	ck_assert(!proc_ended(&c, &status));
	kill(-c.pid, SIGTERM);
	while (!proc_ended(&c, &status))
		clock_nap_ms(1);
	ck_assert_int_eq(status, 128 + SIGTERM);
	ck_assert_int_eq(c.pid, 0);
	ck_assert_int_eq(proc_start(&r, &c, &f), OK);
	ck_assert_int_eq(proc_end(&c, 0), 128 + SIGKILL);
}
END_TEST

/* A memory file has all that was written, after the end, too. */
START_TEST(proc_streams)
{
	struct proc_run r = { .argv = SH("cat /dev/fd/3 - >&2"),
		.given = "given ",
		.in = { PROC_STREAM },
		.err = { PROC_MEMORY } };
	struct proc_child c;
	char said[100] = "";
	int fd;

	ck_assert_int_eq(proc_start(&r, &c, &f), OK);
	ck_assert_int_eq(write(c.in, "text", 4), 4);
	fd = dup(c.err);
	ck_assert_int_eq(proc_end(&c, -1), 0);
	ck_assert_int_eq(pread(fd, said, sizeof(said), 0), 10);
	ck_assert_str_eq(said, "given text");
	close(fd);
	r = (struct proc_run){ .argv = SH("sleep 0.1; echo late"),
		.out = { PROC_STREAM } };
	ck_assert_int_eq(proc_start(&r, &c, &f), OK);
	ck_assert_int_eq(read(c.out, said, sizeof(said)), 5);
	ck_assert_int_eq(proc_end(&c, -1), 0);
}
END_TEST

/* What is passed on is kept, too; what is not, is only kept. */
START_TEST(proc_keeps_words)
{
	struct proc_run r = { .argv = SH("echo words >&2"), .err = { PROC_TEE } };
	char *path = proc_path("err"), *text;
	struct proc_told told;
	int ours = dup(STDERR_FILENO), fd = open(path, O_CREAT | O_RDWR, 0600);

	dup2(fd, STDERR_FILENO);
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), OK);
	ck_assert_str_eq(told.words, "words\n");
	r.err.how = PROC_PIPE;
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), OK);
	ck_assert_str_eq(told.words, "words\n");
	r.err.how = PROC_OURS;
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), OK);
	ck_assert_str_eq(told.words, "");
	dup2(ours, STDERR_FILENO);
	ck_assert_int_eq(fs_read(&a, path, 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "words\nwords\n");
	close(fd);
	close(ours);
}
END_TEST

static int raise_hangup(void *none)
{
	(void)none;
	return raise(SIGHUP);
}

static int stop_parent(void *none)
{
	(void)none;
	return kill(getppid(), SIGTERM);
}

static int say_seven(void *number)
{
	printf("seven");
	*(int *)number = 7; /* in the child alone */
	return 7;
}

START_TEST(proc_calls)
{
	char *path = proc_path("out"), *text;
	int fd = open(path, O_CREAT | O_RDWR, 0600), number = 0, status;

	ck_assert_int_eq(proc_call(say_seven, &number, fd, &status, &f), OK);
	ck_assert_int_eq(status, 7);
	ck_assert_int_eq(number, 0);
	ck_assert_int_eq(fs_read(&a, path, 100, &text, NULL, &f), OK);
	ck_assert_str_eq(text, "seven");
	close(fd);
}
END_TEST

/* Who calls waits for the child, which has its own way with signals (nohup). */
START_TEST(proc_calls_leave_signals)
{
	struct sigaction before, now;
	int status;

	signal(SIGHUP, SIG_DFL); /* nohup may run this test */
	ck_assert_int_eq(proc_call(raise_hangup, NULL, -1, &status, &f), OK);
	ck_assert_int_eq(status, 128 + SIGHUP);
	signal(SIGHUP, SIG_IGN);
	ck_assert_int_eq(proc_call(raise_hangup, NULL, -1, &status, &f), OK);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(proc_stopping, 0);
	ck_assert_int_eq(sigaction(SIGTERM, NULL, &before), 0);
	ck_assert_int_eq(proc_call(stop_parent, NULL, -1, &status, &f), OK);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(proc_stopping, SIGTERM);
	ck_assert_int_eq(sigaction(SIGTERM, NULL, &now), 0);
	ck_assert_ptr_eq(now.sa_handler, before.sa_handler);
}
END_TEST

START_TEST(proc_children_have_default_signals)
{
	const struct proc_run r = { .argv = SH("kill -HUP $$; exit 9") };
	struct proc_told told;

	proc_signals();
	ck_assert_int_eq(proc_stopping, 0);
	raise(SIGPIPE);
	ck_assert_int_eq(proc_collect(&a, &r, 0, 0, &told, &f), OK);
	ck_assert_int_eq(told.status, 128 + SIGHUP);
	raise(SIGTERM);
	ck_assert_int_eq(proc_stopping, SIGTERM);
}
END_TEST

static const struct {
	const char *cmd;
	size_t n; /* 0 = refused */
	const char *argv[4];
} splits[] = {
	{ "one", 1, { "one" } },
	{ "  a  b\tc\n", 3, { "a", "b", "c" } },
	{ "a 'b c' \"d 'e\"", 3, { "a", "b c", "d 'e" } },
	{ "a'b'c\"d\"", 1, { "abcd" } },
	{ "x '' y", 3, { "x", "", "y" } },
	{ "a $HOME `b` \\n", 4, { "a", "$HOME", "`b`", "\\n" } },
	{ "a 'b", 0, { 0 } },
	{ "a \"", 0, { 0 } },
	{ "", 0, { 0 } },
	{ " \n ", 0, { 0 } },
};

START_TEST(proc_splits)
{
	char **argv = NULL;
	enum err e = proc_split(&a, splits[_i].cmd, &argv, &f);

	ck_assert_int_eq(e, splits[_i].n == 0 ? E_BADREQ : OK);
	for (size_t i = 0; i < splits[_i].n; i++)
		ck_assert_str_eq(argv[i], splits[_i].argv[i]);
	ck_assert(splits[_i].n == 0 || argv[splits[_i].n] == NULL);
}
END_TEST

UNIT_MAIN("lib_proc", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD_LOOP(proc_runs, N(runs));
	ADD(proc_moves_much);
	ADD(proc_timeout_kills_the_group);
	ADD(proc_says_what_cannot_start);
	ADD(proc_spawns_into_a_log);
	ADD(proc_streams);
	ADD(proc_keeps_words);
	ADD(proc_calls);
	ADD(proc_calls_leave_signals);
	ADD(proc_children_have_default_signals);
	ADD_LOOP(proc_splits, N(splits));
	ADD(no_core);
	ADD(children_keep_their_limit);
	ADD(children_set_their_own_limit);
})
