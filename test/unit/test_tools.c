/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the commands that need no project; tables in tools.def. */
#include "test/unit/unit.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "lib/human.h"
#include "tools/procfs.h"
#include "tools/state.h"
#include "tools/upstream.h"
#include "tools/version.h"
#include "tools/work_pick.h"
#include "tools/work_list.h"
#include "lib/banned.h"

#define STAT(...)
#define BYTES(...)
#define SPAN(...)
#define SPAN_READ(...)
#define EXIT_WORDS(...)
#define REASONS(...)
#define NEAR(...)
#define WORDS(...)
#define UPSTREAM_CASE(...)
#define PICK_GLOB(...)
#define VERSION_CASE(...)
#define PICK_RANGE(...)
#define PICK_STATE(...)
#define PICK_WORD(...)

static const struct {
	const char *line;
	bool good;
	struct procfs p;
} stats[] = {
#undef STAT
#define STAT(line, good, pid, ppid, pgrp, session, state, start)                       \
	{ line, good, { pid, ppid, pgrp, session, start, state } },
#include "test/unit/tools.def"
#undef STAT
#define STAT(...)
};

START_TEST(stat_lines)
{
	struct procfs p = { 0 };

	ck_assert(procfs_parse(stats[_i].line, &p) == stats[_i].good);
	if (!stats[_i].good)
		return;
	ck_assert_int_eq(p.pid, stats[_i].p.pid);
	ck_assert_int_eq(p.ppid, stats[_i].p.ppid);
	ck_assert_int_eq(p.pgrp, stats[_i].p.pgrp);
	ck_assert_int_eq(p.session, stats[_i].p.session);
	ck_assert_int_eq(p.state, stats[_i].p.state);
	ck_assert_uint_eq(p.start, stats[_i].p.start);
}
END_TEST

START_TEST(ourselves)
{
	struct procfs p, *all;
	struct arena a = { 0 };
	uint64_t ticks;
	int64_t bytes;
	size_t n = procfs_all(&a, &all), found = 0;

	ck_assert(procfs_read(getpid(), &p));
	ck_assert_int_eq(p.ppid, getppid());
	ck_assert(procfs_alive(getpid(), p.start));
	ck_assert(!procfs_alive(getpid(), p.start + 1));
	ck_assert(!procfs_alive(0, 0));
	ck_assert(procfs_usage(getpid(), &ticks, &bytes));
	ck_assert_int_gt(bytes, 100000);
	ck_assert(!procfs_usage(-1, &ticks, &bytes));
	for (size_t i = 0; i < n; i++)
		found += all[i].pid == getpid() && all[i].start == p.start;
	ck_assert_uint_eq(found, 1);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *text;
	bool good;
	int64_t s;
} spans_read[] = {
#undef SPAN_READ
#define SPAN_READ(text, good, s) { text, good, s },
#include "test/unit/tools.def"
#undef SPAN_READ
#define SPAN_READ(...)
};

START_TEST(span_texts)
{
	int64_t s = 0;

	ck_assert(human_span_parse(spans_read[_i].text, &s) == spans_read[_i].good);
	if (spans_read[_i].good)
		ck_assert_int_eq(s, spans_read[_i].s);
}
END_TEST

static const struct {
	int64_t status;
	const char *text;
} exit_texts[] = {
#undef EXIT_WORDS
#define EXIT_WORDS(status, text) { status, text },
#include "test/unit/tools.def"
#undef EXIT_WORDS
#define EXIT_WORDS(...)
};

START_TEST(exit_statuses)
{
	struct arena a = { 0 };

	ck_assert_str_eq(exit_words(&a, exit_texts[_i].status), exit_texts[_i].text);
	arena_free(&a);
}
END_TEST

static const struct {
	int64_t mask;
	const char *text;
} reason_texts[] = {
#undef REASONS
#define REASONS(mask, text) { mask, text },
#include "test/unit/tools.def"
#undef REASONS
#define REASONS(...)
};

START_TEST(error_masks)
{
	struct arena a = { 0 };
	const char *text = reason_texts[_i].text;

	ck_assert_str_eq(work_reasons(&a, reason_texts[_i].mask), text);
	if (text[0] != '\0' && strchr(text, ',') == NULL)
		ck_assert_int_eq(work_reason_named(text), reason_texts[_i].mask);
	arena_free(&a);
}
END_TEST

static const struct {
	double bytes;
	const char *text;
} bytes[] = {
#undef BYTES
#define BYTES(n, text) { n, text },
#include "test/unit/tools.def"
#undef BYTES
#define BYTES(...)
};

START_TEST(sizes)
{
	struct arena a = { 0 };

	ck_assert_str_eq(human_bytes(&a, bytes[_i].bytes), bytes[_i].text);
	arena_free(&a);
}
END_TEST

static const struct {
	int64_t s;
	const char *text;
} spans[] = {
#undef SPAN
#define SPAN(s, text) { s, text },
#include "test/unit/tools.def"
#undef SPAN
#define SPAN(...)
};

START_TEST(times)
{
	struct arena a = { 0 };

	ck_assert_str_eq(human_span(&a, spans[_i].s), spans[_i].text);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *word, *first, *second, *best;
} nears[] = {
#undef NEAR
#define NEAR(word, first, second, best) { word, first, second, best },
#include "test/unit/tools.def"
#undef NEAR
#define NEAR(...)
};

START_TEST(did_you_mean)
{
	const char *best = NULL;
	size_t least = (size_t)-1;

	if (near_offer(nears[_i].word, nears[_i].first, &least))
		best = nears[_i].first;
	if (near_offer(nears[_i].word, nears[_i].second, &least))
		best = nears[_i].second;
	ck_assert_pstr_eq(best, nears[_i].best);
}
END_TEST

static const struct {
	int32_t num, highest;
	bool slip;
} versions[] = {
#undef VERSION_CASE
#define VERSION_CASE(num, highest, slip) { num, highest, slip },
#include "test/unit/tools.def"
#undef VERSION_CASE
#define VERSION_CASE(...)
};

START_TEST(version_numbers)
{
	struct arena a = { 0 };

	ck_assert_int_eq(
	    version_senseless(&a, versions[_i].num, versions[_i].highest) != NULL,
	    versions[_i].slip);
	ck_assert_str_eq(version_num_text(&a, 107), "1.07");
	arena_free(&a);
}
END_TEST

static const struct {
	const char *glob, *name;
	bool matches;
} globs[] = {
#undef PICK_GLOB
#define PICK_GLOB(glob, name, matches) { glob, name, matches },
#include "test/unit/tools.def"
#undef PICK_GLOB
#define PICK_GLOB(...)
};

START_TEST(pick_glob)
{
	ck_assert_int_eq(
	    work_pick_glob(globs[_i].glob, globs[_i].name), globs[_i].matches);
}
END_TEST

static const struct {
	const char *text;
	int64_t from, to;
} ranges[] = {
#undef PICK_RANGE
#define PICK_RANGE(text, from, to) { text, from, to },
#include "test/unit/tools.def"
#undef PICK_RANGE
#define PICK_RANGE(...)
};

START_TEST(pick_range)
{
	struct id_range r = { 0 };

	ck_assert_int_eq(work_pick_range(ranges[_i].text, &r), ranges[_i].from > 0);
	if (ranges[_i].from == 0)
		return;
	ck_assert_int_eq(r.from, ranges[_i].from);
	ck_assert_int_eq(r.to, ranges[_i].to);
}
END_TEST

START_TEST(pick_ranges_join)
{
	struct id_range r[] = { { 20, 30 }, { 5, 9 }, { 10, 12 }, { 25, 26 },
		{ 7, 8 } };

	ck_assert_uint_eq(work_pick_join(r, N(r)), 2);
	ck_assert_int_eq(r[0].from, 5);
	ck_assert_int_eq(r[0].to, 12);
	ck_assert_int_eq(r[1].from, 20);
	ck_assert_int_eq(r[1].to, 30);
}
END_TEST

static const struct {
	struct row_wu_glance wu;
	struct row_wu_tally results;
	const char *state;
} states[] = {
#undef PICK_STATE
#define PICK_STATE(error, assim, canonical, validate, unsent_, going, state)           \
	{ { .error_mask = (error),                                                     \
	      .assimilate_state = (assim),                                             \
	      .canonical_resultid = (canonical),                                       \
	      .need_validate = (validate) },                                           \
		{ .unsent = (unsent_), .in_progress = (going) }, state },
#include "test/unit/tools.def"
#undef PICK_STATE
#define PICK_STATE(...)
};

START_TEST(pick_state)
{
	ck_assert_str_eq(
	    work_pick_state_name(work_pick_state(&states[_i].wu, &states[_i].results)),
	    states[_i].state);
}
END_TEST

/* A workunit in this state may be in any set that has the state, whatever is read of
 * its results; a set without an open state has no open workunit. */
START_TEST(pick_may_be)
{
	enum work_pick_state s = work_pick_state(&states[_i].wu, &states[_i].results);
	struct work_pick_filter q = { .states = 1u << s };
	bool open = (PICK_OPEN & 1u << s) != 0;

	ck_assert(work_pick_may_be(&q, &states[_i].wu));
	q.states = PICK_ALL_STATES & ~(unsigned)PICK_OPEN;
	ck_assert_int_eq(work_pick_may_be(&q, &states[_i].wu), !open);
	q.states = PICK_OPEN;
	ck_assert_int_eq(work_pick_may_be(&q, &states[_i].wu), open);
}
END_TEST

static const struct {
	const char *word;
	unsigned states;
} state_words[] = {
#undef PICK_WORD
#define PICK_WORD(word, states) { word, states },
#include "test/unit/tools.def"
#undef PICK_WORD
#define PICK_WORD(...)
};

START_TEST(pick_word)
{
	ck_assert_uint_eq(
	    work_pick_states(state_words[_i].word), state_words[_i].states);
}
END_TEST

START_TEST(pick_all_of)
{
	char name[] = "f__1";
	struct id_range one = { 5, 5 };
	const struct row_wu_glance wu = {
		.id = 5, .name = name, .appid = 1, .batch = 2, .fileset_id = 3
	};
	const struct work_pick_filter all = { "f*", &one, 1, 1, 2, 3, PICK_ALL_STATES };
	struct work_pick_filter q = all;

	ck_assert(work_pick_matches(&q, &wu));
	q.glob = "g*";
	ck_assert(!work_pick_matches(&q, &wu));
	q = all, q.appid = 2;
	ck_assert(!work_pick_matches(&q, &wu));
	q = all, q.batch = 0;
	ck_assert(!work_pick_matches(&q, &wu));
	q = all, q.fileset_id = 0;
	ck_assert(!work_pick_matches(&q, &wu));
	q = all, one.from = 4, one.to = 4;
	ck_assert(!work_pick_matches(&q, &wu));
	q = (struct work_pick_filter){ .appid = -1, .batch = -1, .fileset_id = -1 };
	ck_assert(work_pick_matches(&q, &wu));
}
END_TEST

static const struct {
	const char *text, *filled;
} fills[] = {
#undef WORDS
#define WORDS(text, filled) { text, filled },
#include "test/unit/tools.def"
#undef WORDS
#define WORDS(...)
};

START_TEST(words)
{
	static const struct word known[] = { { "%A%", "1" }, { "%AB%", "%A%" } };
	struct arena a = { 0 };

	ck_assert_str_eq(
	    words_fill(&a, fills[_i].text, known, N(known)), fills[_i].filled);
	arena_free(&a);
}
END_TEST

static struct conf *config_with(struct arena *a, const char *dir, const char *options)
{
	const char *path = arena_printf(a, "%s/config.xml", dir);
	const char *text = arena_printf(
	    a, "<boinc><config><db_name>p</db_name>%s</config></boinc>", options);
	struct conf *cf;
	struct fail f = { 0 };

	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &f), OK);
	ck_assert_int_eq(conf_load(a, path, &cf, NULL, NULL, &f), OK);
	return cf;
}

/* A state file of an earlier boot must not make other processes' pids ours. */
START_TEST(pids_of_another_era)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char dir[PATH_MAX], service[] = "one", *text, *era, *path;
	struct conf *cf;
	struct state_proc p = { service, PROC_RUNNING, 77, 66, 55, 44, 0, false, NULL };
	struct state s = { 66, 11, "5f", &p, 1, NULL, 0 }, back;

	unit_dir(dir);
	cf = config_with(&a, dir, "<run_dir>.</run_dir>");
	ck_assert_int_eq(state_write(&a, cf, &s, &f), OK);
	ck_assert_int_eq(state_read(&a, cf, &back, &f), OK);
	ck_assert_int_eq(back.supervisor, 66);
	ck_assert_str_eq(back.config, "5f");
	ck_assert_int_eq(back.procs[0].pid, 77);
	path = arena_printf(&a, "%s/state.json", dir);
	ck_assert_int_eq(fs_read(&a, path, 10000, &text, NULL, &f), OK);
	era = strstr(text, "\"era\": \"");
	ck_assert_ptr_nonnull(era);
	era[8] = era[8] == '0' ? '1' : '0';
	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &f), OK);
	ck_assert_int_eq(state_read(&a, cf, &back, &f), OK);
	ck_assert_int_eq(back.supervisor, 0);
	ck_assert_int_eq(back.procs[0].pid, 0);
	ck_assert_int_eq(back.procs[0].session, 0);
	ck_assert_str_eq(back.procs[0].name, "one");
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

/* The supervisor was started with other options than config.xml has now. */
START_TEST(options_that_wait)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct state_option has[] = { { "run_user", "one" }, { "private_port", "8" } };
	struct state s = { 66, 11, "5f", NULL, 0, has, N(has) }, back;
	struct identity id;
	struct conf *cf;
	char dir[PATH_MAX];
	const char **names;
	size_t n;
	int lock;

	unit_dir(dir);
	cf = config_with(&a, dir, "<run_user>one</run_user>");
	ck_assert_int_eq(fs_mkdirs(cf->run_dir, 0755, &f), OK);
	ck_assert_int_eq(identity_now(&a, cf, &id, &f), OK);
	ck_assert_int_eq(identity_write(&a, &id, &f), OK);
	ck_assert_int_eq(state_write(&a, cf, &s, &f), OK);
	ck_assert_ptr_null(state_restart_text(&a, cf, &s)); /* no supervisor runs */
	ck_assert_int_eq(fs_lock(state_lock_path(&a, cf), &lock, &f), OK);

	ck_assert_int_eq(state_read(&a, cf, &back, &f), OK);
	names = state_restart_options(&a, cf, &back, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(names[0], "private_port");
	cf = config_with(&a, dir,
	    "<run_user>one</run_user><private_port>8</private_port><run_dir>elsewhere</run_dir>");
	ck_assert(state_supervised(&a, cf)); /* the supervisor is found under the
	                                        run_dir with which it was started */
	ck_assert_int_eq(state_read(&a, cf, &back, &f), OK);
	ck_assert_ptr_null(state_restart_text(&a, cf, &back));
	close(lock);
	ck_assert(!state_supervised(&a, cf));
	ck_assert_int_eq(state_read(&a, cf, &back, &f), E_NOTFOUND);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	arena_free(&a);
}
END_TEST

/* The run_dir in a copy's note belongs to the original project. */
START_TEST(a_copy_has_no_supervisor)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct identity id;
	struct conf *cf;
	char dir[PATH_MAX], other[PATH_MAX];
	const char *run;
	int lock;

	unit_dir(dir);
	unit_dir(other);
	run = arena_printf(&a, "%s/run", dir);
	cf = config_with(&a, dir, "");
	ck_assert_int_eq(fs_mkdirs(run, 0755, &f), OK);
	ck_assert_int_eq(identity_now(&a, cf, &id, &f), OK);
	ck_assert_int_eq(identity_write(&a, &id, &f), OK);
	ck_assert_int_eq(fs_lock(state_lock_path(&a, cf), &lock, &f), OK);
	ck_assert(state_supervised(&a, cf));
	cf = config_with(&a, other, "");
	ck_assert_int_eq(fs_copy(arena_printf(&a, "%s/" IDENTITY_FILE, dir),
			     arena_printf(&a, "%s/" IDENTITY_FILE, other), 0644, &f),
	    OK);
	ck_assert(!state_supervised(&a, cf));
	close(lock);
	ck_assert_int_eq(fs_rmtree(dir, &f), OK);
	ck_assert_int_eq(fs_rmtree(other, &f), OK);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *cmd, *runs,
	    *says; /* runs: NULL if the command is not BOINC's, "" if it is not run */
} upstreams[] = {
#undef UPSTREAM_CASE
#define UPSTREAM_CASE(cmd, runs, says) { cmd, runs, says },
#include "test/unit/tools.def"
#undef UPSTREAM_CASE
#define UPSTREAM_CASE(...)
};

START_TEST(upstream_commands)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct upstream u;
	char *runs = arena_strdup(&a, ""), **argv;

	ck_assert_int_eq(proc_split(&a, upstreams[_i].cmd, &argv, &f), OK);
	u = upstream_command(&a, argv);
	ck_assert(u.theirs == (upstreams[_i].runs != NULL));
	for (size_t i = 0; u.argv != NULL && u.argv[i] != NULL; i++)
		runs = arena_printf(&a, "%s%s%s", runs, i > 0 ? " " : "", u.argv[i]);
	ck_assert_str_eq(runs, upstreams[_i].runs == NULL ? "" : upstreams[_i].runs);
	ck_assert_str_eq(u.say == NULL ? "" : u.say, upstreams[_i].says);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("tools", {
	ADD(pids_of_another_era);
	ADD(options_that_wait);
	ADD(a_copy_has_no_supervisor);
	ADD_LOOP(stat_lines, N(stats));
	ADD(ourselves);
	ADD_LOOP(sizes, N(bytes));
	ADD_LOOP(times, N(spans));
	ADD_LOOP(span_texts, N(spans_read));
	ADD_LOOP(exit_statuses, N(exit_texts));
	ADD_LOOP(error_masks, N(reason_texts));
	ADD_LOOP(did_you_mean, N(nears));
	ADD_LOOP(version_numbers, N(versions));
	ADD_LOOP(pick_glob, N(globs));
	ADD_LOOP(pick_range, N(ranges));
	ADD(pick_ranges_join);
	ADD_LOOP(pick_state, N(states));
	ADD_LOOP(pick_may_be, N(states));
	ADD_LOOP(pick_word, N(state_words));
	ADD(pick_all_of);
	ADD_LOOP(words, N(fills));
	ADD_LOOP(upstream_commands, N(upstreams));
})
