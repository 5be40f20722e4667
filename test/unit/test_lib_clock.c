/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the clock that tests set. */
#include "test/unit/unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "config.h"
#include "lib/arena.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;
static char dir[PATH_MAX];
static struct clock_file *set;

static void setup(void)
{
	char *path;
	int fd;

	unit_dir(dir);
	path = arena_printf(&a, "%s/clock", dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, sizeof(*set)), 0);
	set = mmap(NULL, sizeof(*set), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(set != MAP_FAILED);
	close(fd);
	ck_assert_int_eq(setenv("LOCUS_TEST_CLOCK", path, 1), 0);
}

static void teardown(void)
{
	munmap(set, sizeof(*set));
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}

static void step_by(int64_t at, int64_t ahead)
{
	set->step[set->steps].at = at;
	set->step[set->steps].ahead = ahead;
	set->steps++;
}

START_TEST(the_clock_goes_in_steps)
{
#ifdef LOCUS_TEST_CLOCK
	char *path = arena_printf(&a, "%s/file", dir);
	int64_t real = clock_now(), mono = clock_mono_ms();

	ck_assert_int_ge(real, 1700000000);
	step_by(real - 1000, 86400);
	ck_assert_int_ge(clock_now(), real + 86400);
	ck_assert_int_lt(clock_now(), real + 86400 + 3600);
	ck_assert(clock_now_f() >= (double)real + 86400);
	step_by(real - 500, 2 * 86400);
	step_by(real - 500, 3 * 86400);
	ck_assert_int_ge(clock_now(), real + 3 * 86400);
	/* Files keep the time that it was when they were written. */
	ck_assert_int_eq(clock_of_file(real - 1001), real - 1001);
	ck_assert_int_eq(clock_of_file(real - 1000), real - 1000 + 86400);
	ck_assert_int_eq(clock_of_file(real - 501), real - 501 + 86400);
	ck_assert_int_eq(clock_of_file(real - 500), real - 500 + 3 * 86400);
	ck_assert_int_eq(fs_touch(path, &f), OK);
	unit_written(path, real - 700);
	ck_assert_int_eq(fs_mtime(path), real - 700 + 86400);
	/* Durations are real. */
	ck_assert_int_lt(clock_mono_ms() - mono, 600000);
#endif
}
END_TEST

START_TEST(a_clock_that_is_not_there_ends_the_program)
{
#ifdef LOCUS_TEST_CLOCK
	int status;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		setenv("LOCUS_TEST_CLOCK", "/nowhere/clock", 1);
		clock_now();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), CLOCK_EXIT);
#endif
}
END_TEST

START_TEST(without_the_variable_it_is_real)
{
	ck_assert_int_eq(unsetenv("LOCUS_TEST_CLOCK"), 0);
	step_by(0, 10 * 86400);
	ck_assert_int_lt(clock_of_file(1700000000), 1700000001);
	unit_written(dir, clock_now());
	ck_assert_int_lt(clock_now(), fs_mtime(dir) + 86400);
}
END_TEST

UNIT_MAIN("lib/clock", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(the_clock_goes_in_steps);
	ADD(a_clock_that_is_not_there_ends_the_program);
	ADD(without_the_variable_it_is_real);
})
