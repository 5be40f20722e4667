/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of every unit test program: main() and a directory for its files. */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"

/*
 * UNIT_MAIN("name", { ADD(test); ADD_LOOP(table_test, N(table)); })
 * Cases are looped over a table: the test sees its index in _i.
 */
#define ADD(t)         tcase_add_test(tc, t)
#define ADD_LOOP(t, n) tcase_add_loop_test(tc, t, 0, (int)(n))
#define ADD_ABORTS(t)  tcase_add_test_raise_signal(tc, t, 6 /* SIGABRT */)

#define UNIT_MAIN(name, ...)                                                           \
	int main(void)                                                                 \
	{                                                                              \
		Suite *s = suite_create(name);                                         \
		TCase *tc = tcase_create(name);                                        \
		SRunner *sr = srunner_create(s);                                       \
		int failed;                                                            \
                                                                                       \
		tcase_set_timeout(tc, 600);                                            \
		suite_add_tcase(s, tc);                                                \
		__VA_ARGS__                                                            \
		srunner_run_all(sr, CK_ENV);                                           \
		failed = srunner_ntests_failed(sr);                                    \
		srunner_free(sr);                                                      \
		return failed == 0 ? 0 : 1;                                            \
	}

/*
 * Makes a new directory that contains only its mark, so that fs_rmtree() may remove it.
 */
static inline char *unit_dir(char buf[PATH_MAX])
{
	const char *tmp = getenv("TMPDIR");

	ck_assert_int_lt(
	    snprintf(buf, PATH_MAX, "%s/locus-unit-XXXXXX", tmp == NULL ? "/tmp" : tmp),
	    PATH_MAX);
	ck_assert_ptr_nonnull(mkdtemp(buf));
	ck_assert_int_eq(fs_mark_own(buf, NULL), OK);
	return buf;
}

/* Sets the modification time of a file or directory, s since 1970. */
static inline void unit_written(const char *path, int64_t s)
{
	const struct timespec at[2] = { { .tv_sec = s }, { .tv_sec = s } };

	ck_assert_int_eq(utimensat(AT_FDCWD, path, at, 0), 0);
}

#endif
