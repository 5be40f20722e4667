/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: one bad name must not cost a scrape, as Prometheus then drops all of it.
 * Whose last pass is shown, and who is late.
 */
#include "test/unit/unit.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "lib/counters.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/metrics.h"
#include "model/trouble.h"
#include "lib/banned.h"

static struct arena a;

#define E10                                                                            \
	"\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251\303\251"
static const struct {
	const char *app, *want; /* NULL: a part of app */
} names[] = {
	{ "sums", "locus_results{app=\"sums\",state=\"unsent\"}" },
	{ "a\"b\\c\nd", "locus_results{app=\"a\\\"b\\\\c\\nd\",state=\"unsent\"}" },
	{ "a\377b\303", "locus_results{app=\"a?b?\",state=\"unsent\"}" },
	{ E10 E10 E10 E10 E10, NULL },
	{ "x" E10 E10 E10 E10 E10, NULL },
	{ "x\342\202\254\342\202\254\342\202\254" E10 E10 E10 E10, NULL },
};

START_TEST(metrics_names)
{
	const char *values[] = { names[_i].app, "unsent" };
	char *s = metric_series(&a, METRIC_RESULTS, values);

	if (names[_i].want != NULL)
		ck_assert_str_eq(s, names[_i].want);
	ck_assert(text_ends_with(s, "\"}"));
	for (size_t n; *s != '\0'; s += n) {
		n = text_utf8(s);
		ck_assert_uint_gt(n, 0);
		ck_assert_int_ne(*s, '\n');
	}
}
END_TEST

enum { NOW = 2000000000 };

/* A daemon of config.xml and what it has left in run_dir. */
static const struct {
	const char *note; /* its suffix; NULL = none */
	int64_t since_pass;
	bool runs, in_conf, shown, late;
} daemons[] = {
	{ NULL, DAEMON_LATE_S + 1, true, true, true, true },
	{ NULL, DAEMON_LATE_S, true, true, true, false },
	{ NULL, DAEMON_LATE_S + 1, false, true, true, false },
	{ NULL, DAEMON_LATE_S + 1, true, false, false, false },
	{ "standby", DAEMON_LATE_S + 1, true, true, false, false },
	{ "trouble", DAEMON_LATE_S + 1, true, true, true, false },
	{ "paused", DAEMON_LATE_S + 1, true, true, true, false },
};

static bool pass_is_shown(const struct conf *cf, const char *series)
{
	struct metric_set s = { .a = &a };

	metric_put_machine(&s, cf, "1", 1);
	for (size_t i = 0; i < s.n; i++)
		if (s.v[i].metric == METRIC_DAEMON_PASS)
			return strcmp(s.v[i].series, series) == 0;
	return false;
}

START_TEST(metrics_late)
{
	char dir[PATH_MAX];
	char mill[] = "mill", text[] = "x";
	const char *name = mill;
	char *series = metric_series(&a, METRIC_DAEMON_PASS, &name);
	struct conf_daemon d = { .cmd = mill, .name = mill };
	struct conf cf = { .project_dir = unit_dir(dir),
		.run_dir = dir,
		.log_dir = dir,
		.upload_dir = dir,
		.download_dir = dir,
		.daemons = &d,
		.ndaemons = daemons[_i].in_conf ? 1 : 0 };
	struct trouble note = { mill, NOW - DAEMON_LATE_S, text }, *late;
	struct counters c = { 0 };
	struct fail f = { 0 };
	int fd = -1;
	size_t n;

	ck_assert_int_eq(
	    counters_open(&c, arena_printf(&a, "%s/counters", dir), &f), OK);
	ck_assert_int_eq(
	    counters_set(&c, series, (uint64_t)(NOW - daemons[_i].since_pass), &f), OK);
	if (daemons[_i].runs)
		ck_assert_int_eq(
		    fs_lock_shared(arena_printf(&a, "%s/mill.lock", dir), &fd, &f), OK);
	if (daemons[_i].note != NULL)
		ck_assert_int_eq((strcmp(daemons[_i].note, "standby") == 0 ?
					 standby_write :
				     strcmp(daemons[_i].note, "trouble") == 0 ?
					 trouble_write :
					 paused_write)(&a, &cf, &note, &f),
		    OK);
	ck_assert_int_eq(pass_is_shown(&cf, series), daemons[_i].shown);
	late_list(&a, &cf, NOW, &late, &n);
	ck_assert_uint_eq(n, daemons[_i].late);
	if (n == 1) {
		ck_assert_str_eq(late[0].daemon, "mill");
		ck_assert_int_eq(late[0].at, NOW - daemons[_i].since_pass);
	}
	shared_close(&c.file);
	if (fd >= 0)
		close(fd);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("metrics", {
	ADD_LOOP(metrics_names, N(names));
	ADD_LOOP(metrics_late, N(daemons));
})
