/* SPDX-License-Identifier: Apache-2.0 */
/* Which daemons of config.xml would do the same work. */
#include "test/unit/unit.h"

#include "lib/arena.h"
#include "lib/proc.h"
#include "tools/work_retry.h"
#include "lib/banned.h"

static struct arena a;

static const struct {
	const char *x, *y;
	const char *work; /* NULL = they share nothing */
} pairs[] = {
	{ "db_purge", "db_purge --min_age_days 3", "db_purge" },
	{ "transitioner", "file_deleter", NULL },
	{ "transitioner -d 3", "transitioner", "transitioner" },
	{ "feed_the_cat", "feed_the_cat", NULL }, /* a program of the project */

	/* parts of the work */
	{ "validator --app x", "validator --app x --command cmp",
	    "validator of app x" },
	{ "validator --app x", "validator --app y", NULL },
	{ "validator --app x", "assimilator --app x", NULL },
	{ "validator --app y --app x", "validator -app x", "validator of app x" },
	{ "validator", "validator --app x", NULL }, /* exits: --app is required */
	{ "validator --app", "validator --app x", NULL },
	{ "trickle_handler --variety v", "trickle_handler --variety w", NULL },
	{ "trickle_handler", "trickle_handler --variety w",
	    "trickle_handler of variety w" },
	{ "trickle_handler", "trickle_handler", "trickle_handler" },

	/* generators claim single files */
	{ "work_generator --app x", "work_generator --app x", NULL },

	/* shares */
	{ "transitioner --mod 2 0", "transitioner --mod 2 1", NULL },
	{ "transitioner --mod 2 1", "transitioner --mod 2 1", "transitioner" },
	{ "transitioner --mod 2 0", "transitioner", "transitioner" },
	{ "transitioner --mod 2 0", "transitioner --mod 4 1", NULL },
	{ "transitioner --mod 2 1", "transitioner --mod 4 3", "transitioner" },
	{ "transitioner --mod 2 0", "transitioner --mod 3 1", "transitioner" },
	{ "transitioner --mod 6 1", "transitioner --mod 4 2", NULL },
	{ "transitioner --mod 1 0", "transitioner --mod 1 0", "transitioner" },
	{ "transitioner --mod 2", "transitioner --mod 2 1", "transitioner" },
	{ "transitioner --mod 2 9", "transitioner --mod 2 1", "transitioner" },
	{ "validator --app x --mod 2 0", "validator --app x --mod 2 1", NULL },

	/* halves of the work, and what is meant */
	{ "file_deleter --input_files_only", "file_deleter --output-files-only", NULL },
	{ "file_deleter --input_files_only", "file_deleter", "file_deleter" },
	{ "file_deleter --input_files_only", "file_deleter --input_files_only",
	    "file_deleter" },
	{ "db_purge --input_files_only", "db_purge --output_files_only", "db_purge" },
	{ "validator --app x", "validator --app x --no-lease", NULL },
};

static struct daemon_work work_of_text(const char *cmd)
{
	struct daemon_work d = { .name = cmd };
	struct fail f;

	ck_assert_int_eq(proc_split(&a, cmd, &d.argv, &f), OK);
	return d;
}

START_TEST(pair)
{
	struct daemon_work x = work_of_text(pairs[_i].x), y = work_of_text(pairs[_i].y);
	char *one = same_work(&a, &x, &y), *other = same_work(&a, &y, &x);

	if (pairs[_i].work == NULL) {
		ck_assert_ptr_null(one);
		ck_assert_ptr_null(other);
		return;
	}
	ck_assert_ptr_nonnull(one);
	ck_assert_str_eq(one, pairs[_i].work);
	ck_assert_str_eq(one, other);
}
END_TEST

UNIT_MAIN("same_work", { ADD_LOOP(pair, N(pairs)); })
