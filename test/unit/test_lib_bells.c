/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of doorbells. */
#include "test/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/bells.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;
static char dir[PATH_MAX];
static struct shared here, there;

static void setup(void)
{
	unit_dir(dir);
	here = there = (struct shared){ 0 };
}

static void teardown(void)
{
	shared_close(&here);
	shared_close(&there);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}

static char *bells_file_path(void)
{
	return arena_printf(&a, "%s/doorbells", dir);
}

START_TEST(only_listeners_make_the_file)
{
	struct stat st;

	ck_assert_int_eq(bells_open(&here, dir, false, &f), E_NOTFOUND);
	ck_assert(!fs_exists(bells_file_path()));
	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	ck_assert_int_eq(stat(bells_file_path(), &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	ck_assert_int_eq(st.st_size, 4096);
	ck_assert_int_eq(bells_open(&there, dir, false, &f), OK);
}
END_TEST

START_TEST(a_ring_is_counted_and_ends_a_wait)
{
	uint32_t seen;
	int status;
	pid_t pid;

	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	seen = bells_count(&here, 3);
	ck_assert(!bells_wait(&here, 3, seen, 20));
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		struct shared b;
		bool ok = bells_open(&b, dir, false, &f) == OK;

		clock_nap_ms(100);
		_exit(ok && bells_ring(&b, 4, &f) == OK && bells_ring(&b, 3, &f) == OK ?
			  0 :
			  1);
	}
	ck_assert(bells_wait(&here, 3, seen, 500000));
	ck_assert_uint_eq(bells_count(&here, 3), seen + 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	/* A ring before the wait counts, and others' rings do not. */
	ck_assert(bells_wait(&here, 3, seen, 500000));
	ck_assert(!bells_wait(&here, 3, seen + 1, 1));
}
END_TEST

START_TEST(counters_survive_their_processes)
{
	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	ck_assert_int_eq(bells_ring(&here, 1, &f), OK);
	shared_close(&here);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	ck_assert_uint_eq(bells_count(&here, 1), 1);
	ck_assert_int_eq(bells_ring(&here, BELLS_MOST, &f), E_BADREQ);
	ck_assert_int_eq(bells_ring(&here, BELLS_MOST - 1, &f), OK);
}
END_TEST

/* Touching a page that the file no longer has would end the process. */
START_TEST(a_file_that_is_gone_harms_nobody)
{
	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	ck_assert_int_eq(truncate(bells_file_path(), 0), 0);
	ck_assert(shared_gone(&here));
	ck_assert_int_eq(bells_ring(&here, 1, &f), E_NOTFOUND);
	ck_assert_uint_eq(bells_count(&here, 1), 0);
	ck_assert(!bells_wait(&here, 1, 0, 1));
	/* Whoever only rings does not repair it. */
	ck_assert_int_eq(bells_open(&there, dir, false, &f), E_NOTFOUND);
	shared_close(&here);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	ck_assert_int_eq(bells_ring(&here, 1, &f), OK);
	ck_assert_int_eq(unlink(bells_file_path()), 0);
	ck_assert(shared_gone(&here));
	ck_assert_int_eq(bells_ring(&here, 1, &f), E_NOTFOUND);
}
END_TEST

START_TEST(files_that_others_may_write_are_refused)
{
	char *other = arena_printf(&a, "%s/other", dir);

	ck_assert_int_eq(bells_open(&here, dir, true, &f), OK);
	shared_close(&here);
	ck_assert_int_eq(chmod(bells_file_path(), 0620), 0);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), E_DENIED);
	ck_assert_int_eq(chmod(bells_file_path(), 0600), 0);
	ck_assert_int_eq(rename(bells_file_path(), other), 0);
	ck_assert_int_eq(symlink(other, bells_file_path()), 0);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), E_DENIED);
	ck_assert_int_eq(unlink(bells_file_path()), 0);
	ck_assert_int_eq(link(other, bells_file_path()), 0);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), E_DENIED);
	ck_assert_int_eq(unlink(bells_file_path()), 0);
	ck_assert_int_eq(mkfifo(bells_file_path(), 0600), 0);
	ck_assert_int_eq(bells_open(&here, dir, true, &f), E_DENIED);
	ck_assert_int_eq(unlink(bells_file_path()), 0);
	if (geteuid() == 0) { /* only root can be another account */
		ck_assert_int_eq(chown(dir, 65534, 65534), 0);
		ck_assert_int_eq(bells_open(&here, dir, true, &f), E_NOTFOUND);
		ck_assert(!fs_exists(bells_file_path()));
		ck_assert_int_eq(rename(other, bells_file_path()), 0);
		ck_assert_int_eq(bells_open(&here, dir, true, &f), E_DENIED);
		ck_assert_int_eq(chown(bells_file_path(), 65534, 65534), 0);
		ck_assert_int_eq(bells_open(&here, dir, false, &f), OK);
		ck_assert_int_eq(chown(dir, 0, 0), 0);
	}
}
END_TEST

UNIT_MAIN("lib/bells", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(only_listeners_make_the_file);
	ADD(a_ring_is_counted_and_ends_a_wait);
	ADD(counters_survive_their_processes);
	ADD(a_file_that_is_gone_harms_nobody);
	ADD(files_that_others_may_write_are_refused);
})
