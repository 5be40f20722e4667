/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that must not dump core. */
#include "test/unit/unit.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

/* Allows core files of any size. */
static bool
allow_cores(void)
{
	struct rlimit most;

	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &most), 0);
	most.rlim_cur = most.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_CORE, &most), 0);
	return most.rlim_max > 0;
}

/* Returns whether a crashing process dumped core, in a directory of its own. */
static bool
dumps_core(bool off)
{
	char dir[PATH_MAX];
	struct fail f;
	pid_t pid;
	int st;

	unit_dir(dir);
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
	fs_rmtree(dir, &f);
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
	struct proc_run r = { .argv = argv, .out_max = 100 };
	struct arena a = { 0 };
	struct fail f;
	char *before, *after;
	int status;

	allow_cores();
	ck_assert_int_eq(proc_run(&a, &r, &status, &before, NULL, &f), OK);
	proc_no_core();
	proc_no_core();
	ck_assert_int_eq(proc_run(&a, &r, &status, &after, NULL, &f), OK);
	ck_assert_str_eq(after, before);
	arena_free(&a);
}
END_TEST

/* A limit that a child sets itself is kept. */
START_TEST(children_set_their_own_limit)
{
	const char *const argv[] = { "sh", "-c",
		"ulimit -S -c 0; sleep 0.05; ulimit -S -c", NULL };
	struct proc_run r = { .argv = argv, .out_max = 100 };
	struct arena a = { 0 };
	struct rlimit now;
	struct fail f;
	char *said;
	int status;

	allow_cores();
	proc_no_core();
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(proc_run(&a, &r, &status, &said, NULL, &f), OK);
		ck_assert_str_eq(said, "0\n");
	}
	ck_assert_int_eq(getrlimit(RLIMIT_CORE, &now), 0);
	ck_assert_uint_eq(now.rlim_cur, 0);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("lib_proc", {
	ADD(no_core);
	ADD(children_keep_their_limit);
	ADD(children_set_their_own_limit);
})
