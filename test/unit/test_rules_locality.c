/* SPDX-License-Identifier: Apache-2.0 */
/* Locality: the requirements of locality.md 1.1 by number, file states, order of
 * service, deletes. */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON    "<locality_scheduling/>"
#define WAIT  "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
#define N10   ON WAIT
#define OFF10 WAIT
#define USER  "<one_result_per_user_per_wu/>"
#define HOST  "<one_result_per_host_per_wu/>"
#define LAST  ON "<locality_keep_last_holder/>"
#define TIMEOUT                                                                        \
	"<locality_scheduling_send_timeout>7200</locality_scheduling_send_timeout>"
#define OLD ON TIMEOUT

static const struct {
	const char *name, *options;
	double secs;
	const char *wait, *files, *plain, *decision;
} cases[] = {
#define CASE(name, options, secs, wait, files, plain, decision)                        \
	{ #name, options, secs, wait, files, plain, decision },
#include "test/unit/rules_locality.def"
#undef CASE
};

/* The account has a result of workunit 1000. */
static struct world *locality_world_with(
    const char *options, double secs, const char *wait, const char *files)
{
	static int64_t had[] = { 1000 };
	struct world *w = world_new(options, secs);

	w->req.host.n_bwdown = strchr(wait, 'F') != NULL ? 100001 :
	                       strchr(wait, 'S') != NULL ? 100000 :
	                                                   0;
	w->snap.wait_possible = wait[0] == 'W';
	w->snap.wait_brought = wait[0] == 'b';
	w->snap.waited = wait[0] == 'w' || w->snap.wait_brought;
	w->snap.user_wus = had;
	w->snap.nuser_wus = 1;
	world_files(w, files);
	return w;
}

START_TEST(order_of_service)
{
	struct world *w = locality_world_with(
	    cases[_i].options, cases[_i].secs, cases[_i].wait, cases[_i].files);
	struct decision *d;

	world_plain(w, cases[_i].plain);
	d = world_decide(w);
	ck_assert_msg(strcmp(world_text(w, d), cases[_i].decision) == 0,
	    "%s: %s, not %s", cases[_i].name, world_text(w, d), cases[_i].decision);
	world_free(w);
}
END_TEST

/* unsent, no_work_available, open workunit, any workunit; state without and with a wait
 * period */
static const struct {
	bool unsent, no_more, open, any;
	enum file_state without, with;
} states[] = {
#define E FILE_EXHAUSTED
#define R FILE_DRAINING
#define A FILE_ADVERTISED
#define D FILE_DEAD
	{ 0, 0, 0, 0, E, R },
	{ 0, 0, 0, 1, D, R },
	{ 0, 0, 1, 0, E, R },
	{ 0, 0, 1, 1, E, R },
	{ 0, 1, 0, 0, D, D },
	{ 0, 1, 0, 1, D, D },
	{ 0, 1, 1, 0, E, E },
	{ 0, 1, 1, 1, E, E },
	{ 1, 0, 0, 0, A, A },
	{ 1, 0, 0, 1, A, A },
	{ 1, 0, 1, 0, A, A },
	{ 1, 0, 1, 1, A, A },
	{ 1, 1, 0, 0, A, A },
	{ 1, 1, 0, 1, A, A },
	{ 1, 1, 1, 0, A, A },
	{ 1, 1, 1, 1, A, A },
#undef E
#undef R
#undef A
#undef D
};

START_TEST(file_states)
{
	struct snap_file f = { .has_unsent = states[_i].unsent,
		.no_work_available = states[_i].no_more,
		.has_open_wu = states[_i].open,
		.has_any_wu = states[_i].any };
	struct world *w = world_new(ON, 0), *on_demand = world_new(N10, 0);

	ck_assert_int_eq(fileset_state(w->conf, &f), states[_i].without);
	ck_assert_int_eq(fileset_state(on_demand->conf, &f), states[_i].with);
	world_free(w);
	world_free(on_demand);
}
END_TEST

/* Results made for a waiting host are reserved for two seconds if they were made during
 * its wait. Earlier results are for everybody, and want_after is their highest id. */
START_TEST(made_for_a_waiting_host)
{
	static const struct {
		int64_t asked, made;
		bool left;
	} rows[] = { { -5, -1, true }, { -5, -2, false }, { 0, 0, true },
		{ -1, -1, true }, { -1, 0, true }, { 0, -1, false }, { -10, 0, true },
		{ -11, 0, false }, { -5, 2, true } };

	for (size_t i = 0; i < N(rows); i++) {
		struct world *w = locality_world_with(N10, HOUR, "W", "A hu 11/1");

		w->snap.files[0].demand_time = WORLD_NOW + rows[i].asked;
		w->snap.files[0].jobs[0].create_time = WORLD_NOW + rows[i].made;
		ck_assert_msg((world_decide(w)->nwant == 1) == rows[i].left, "%zu", i);
		world_free(w);
	}
	struct world *w = locality_world_with(
	    N10, 5 * HOUR, "W", "A hut 11/1 12/2 13/3");
	w->snap.files[0].jobs[0].create_time = WORLD_NOW - 100;
	struct decision *d = world_decide(w);
	ck_assert_uint_eq(d->nwant, 1);
	ck_assert_int_eq(d->want_after, 11);
	ck_assert(d->files[0].awaited);
	world_free(w);
}
END_TEST

/*
 * L6: seeded shuffle, or increasing name; sets held whole come first, then sets with
 * the fewest missing bytes. Files are single letters; C is half as large as the
 * others. order: files between two bars come in any order, and every order occurs.
 */
#define SORTED ON "<locality_scheduling_sorted_order/>"

static const struct {
	const char *options, *files, *order;
} orders[] = {
	{ ON, "D h-; A h-; C h-; B h-; E h-; F h-", "ABCDEF" },
	{ SORTED, "D h-; A h-; C h-; B h-", "A|B|C|D" },
	{ ON, "X:+A-B u; W:+A-C u; V:+A-B-C u; H:+A+D u; Y:+D-B u", "H|W|XY|V" },
	{ SORTED, "Y:+A-B u; W:+A-C u; V:+A-B-C u; H:+A+D u; X:+D-B u", "H|W|X|Y|V" },
	{ SORTED, "C s-; B w-; A s-; D h-", "D|C|A|B" },
	{ ON, "A h-", "A" },
};

/* Checks that the group holds these n files; returns the rest of the order behind it.
 */
static const char *group_holds(
    const char *group, const struct snap_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_ptr_nonnull(memchr(group, files[i].name[0], n));
	return group[n] == '|' ? group + n + 1 : group + n;
}

START_TEST(L6_order_of_files)
{
	struct world *w = locality_world_with(
	    orders[_i].options, 0, "", orders[_i].files);
	struct rng r = rng_seed(7), again = rng_seed(7);
	size_t n = w->snap.nfiles, bytes = n * sizeof(*w->snap.files);
	struct snap_file *first = NEWN(&w->a, struct snap_file, n + 1),
			 *second = NEWN(&w->a, struct snap_file, n + 1);
	bool stood[8][128] = { { false } }; /* seen at this place, by name */
	const char *group;

	world_bytes(w, "C", 500000000);
	for (int round = 0; round < 100; round++) {
		size_t at = 0;

		memcpy(first, w->snap.files, bytes);
		memcpy(second, w->snap.files, bytes);
		locality_order(&w->a, w->conf, &r, first, n);
		locality_order(&w->a, w->conf, &again, second, n);
		for (size_t i = 0; i < n; i++) {
			ck_assert_str_eq(
			    first[i].name, second[i].name); /* the same seed */
			stood[i][(int)first[i].name[0]] = true;
		}
		for (group = orders[_i].order; *group != '\0';) {
			size_t length = strcspn(group, "|");

			group = group_holds(group, first + at, length);
			at += length;
		}
		ck_assert_uint_eq(at, n);
	}
	group = orders[_i].order;
	for (size_t at = 0; *group != '\0'; group++) {
		size_t length = strcspn(group, "|");

		for (size_t i = 0; i < length; i++)
			for (size_t k = 0; k < length; k++)
				ck_assert(stood[at + i][(int)group[k]]);
		at += length;
		group += length - (group[length] == '\0');
	}
	world_free(w);
}
END_TEST

/* L17: lack of a version ends the locality search; plain jobs of other apps are still
 * sent. */
START_TEST(L17_no_version_ends_the_search)
{
	struct world *w = locality_world_with(
	    ON, 3 * HOUR, "", "A hu 11/1 12/2; B hu 21/3");
	struct decision *d;

	w->snap.files[0].jobs[0].appid = 99;
	world_plain(w, "31/9");
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "sent 31p | NONE");
	ck_assert_uint_eq(d->counts[WHY_NO_APP_VERSION], 1);
	ck_assert_int_eq(d->files[0].why, WHY_NO_APP_VERSION);
	ck_assert_uint_eq(d->files[1].sent + d->files[1].refused, 0);
	world_free(w);
}
END_TEST

/* A job that few hosts can run becomes old: a host without a version goes on with other
 * jobs. */
START_TEST(D14_old_without_a_version_ends_nothing)
{
	struct world *w = locality_world_with(
	    OLD, 3 * HOUR, "F", "A hu 11/1; S suO3 21/2");
	struct decision *d;

	w->snap.files[1].jobs[0].appid = 99;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "sent 11h | NONE");
	ck_assert_uint_eq(d->counts[WHY_NO_APP_VERSION], 1);
	world_free(w);
}
END_TEST

START_TEST(L1_bytes_are_counted_once_per_file)
{
	struct world *w = locality_world_with(
	    ON, 4 * HOUR, "", "A hu 11/1; B wu 21/2 22/3");
	struct decision *d = world_decide(w);

	ck_assert_uint_eq(d->nsends, 3);
	ck_assert_int_eq(d->sends[0].bytes_needed, 0);
	ck_assert_int_eq(d->sends[0].bytes_saved, 1000000000);
	ck_assert_int_eq(d->sends[1].bytes_needed, 1000000000);
	ck_assert_int_eq(d->sends[1].bytes_saved, 0);
	ck_assert_int_eq(d->sends[2].bytes_needed, 0); /* held from the first job on */
	ck_assert_int_eq(d->sends[2].bytes_saved, 1000000000);
	world_free(w);
}
END_TEST

/* A set of several files: the host needs only the missing bytes. */
START_TEST(partly_held_set)
{
	struct world *w = locality_world_with(ON, HOUR, "", "B:+F-G wu 21/2");
	struct decision *d;

	world_bytes(w, "G", 300000000);
	d = world_decide(w);
	ck_assert_int_eq(d->sends[0].bytes_needed, 300000000);
	ck_assert_int_eq(d->sends[0].bytes_saved, 1000000000);
	world_free(w);
}
END_TEST

/* The disk is charged for the missing bytes of large files (locality.md 1.5 (13)). */
START_TEST(race_13_disk_is_charged_by_missing_bytes)
{
	struct world *w = locality_world_with(
	    ON, 8 * HOUR, "", "B wu 21/1 22/2 23/3 24/4");

	/* room for the first job's 2e9 and twice 1e9 more, beyond the 1 GiB that stays
	 * free */
	w->req.host.d_free = 1073741824.0 + 4.5e9;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 21w 22w 23w | NONE");
	world_free(w);
}
END_TEST

/* The file of least future value goes: one delete order, and a delay of at least four
 * hours. */
START_TEST(one_order_for_space)
{
	struct world *w = locality_world_with(
	    N10, HOUR, "w", "A hu 11/1; B hoa; C hu 31/1000; D wu 41/4");
	struct decision *d;

	w->req.host.d_free = 0;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "space B | mark B | WAITING");
	ck_assert_uint_eq(d->counts[WHY_DISK], 3);
	ck_assert(d->request_delay >= 14400);
	world_free(w);
}
END_TEST

/* files, GB of A and B, the file deleted; A and B have the same future value */
static const struct {
	const char *files;
	int64_t a, b;
	const char *decision;
} spaces[] = {
	{ "A hu 11/1; B hu 21/2", 2, 1, "space A | DISK" },
	{ "A hu 11/1; B hu 21/2", 1, 2, "space B | DISK" },
	{ "A hu 11/1; B hu 21/2", 1, 1, "space A | DISK" },
	/* jobs that this account cannot get have no value */
	{ "A hu 11/1; B hul99 21/2", 2, 1, "space B | DISK" },
	{ "A hu 11/1 12/2; B hu 21/1000 22/3", 2, 1, "space B | DISK" },
	/* neither a paused file nor an incomplete file is deleted */
	{ "A hup 11/1; B hu 21/2", 2, 1, "space B | DISK" },
	{ "A hup 11/1; B hup 21/2; C wu 31/3", 2, 1, "DISK" },
};

START_TEST(file_that_makes_room)
{
	struct world *w = locality_world_with(ON, HOUR, "", spaces[_i].files);

	world_bytes(w, "A", spaces[_i].a * 1000000000);
	world_bytes(w, "B", spaces[_i].b * 1000000000);
	for (size_t i = 0; i < w->snap.nfiles; i++)
		for (size_t k = 0; k < w->snap.files[i].njobs; k++)
			w->snap.files[i].jobs[k].rsc_disk_bound = 1e13;
	ck_assert_str_eq(world_text(w, world_decide(w)), spaces[_i].decision);
	world_free(w);
}
END_TEST

START_TEST(no_order_for_space_beside_an_exhausted_file)
{
	struct world *w = locality_world_with(ON, HOUR, "", "A hu 11/1; B ha");

	w->req.host.d_free = 0;
	ck_assert_str_eq(world_text(w, world_decide(w)), "del B | mark B | DISK");
	world_free(w);
}
END_TEST

START_TEST(race_09_only_files_that_are_there_are_deleted)
{
	struct world *w = locality_world_with(ON, HOUR, "", "A ha; B ha");

	w->req.files[0].status = 0; /* A is incomplete on the host */
	ck_assert_str_eq(world_text(w, world_decide(w)), "del B | mark A B | NO_WORK");
	world_free(w);
}
END_TEST

/* The file of a resent job is kept. */
START_TEST(a_lost_job_keeps_its_file)
{
	struct world *w = locality_world_with(ON, HOUR, "", "A hoa; B hoa; C hoa");

	world_others(w, "");
	world_in_progress(w, "5/1");
	w->snap.in_progress[0].fileset_id = 2;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 5l | del A C | NONE");
	w->snap.in_progress[0].fileset_id = 9; /* a file that was not loaded */
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 5l | del A B C | NONE");
	world_free(w);
}
END_TEST

/* A draw decides whether plain jobs come first; it depends only on the seed. */
START_TEST(D14_fraction_draws_who_is_first)
{
	int locality_first = 0;

	for (int seed = 0; seed < 1000; seed++) {
		struct world *w = locality_world_with(ON
		    "<locality_scheduler_fraction>0.7</locality_scheduler_fraction>",
		    HOUR, "", "A hu 11/1");

		world_plain(w, "31/9");
		w->rng = rng_seed((uint64_t)seed);
		locality_first += strcmp(world_text(w, world_decide(w)),
				      "sent 11h | NONE") == 0;
		world_free(w);
	}
	ck_assert_int_ge(locality_first, 640);
	ck_assert_int_le(locality_first, 760);
}
END_TEST

/* Jobs that merely do not fit this host are no reason to trigger the generator. */
START_TEST(too_large_is_not_spent)
{
	struct world *w = locality_world_with(N10, HOUR, "W", "A huoa 11/1");

	w->snap.files[0].jobs[0].rsc_memory_bound = 5e9;
	ck_assert_str_eq(world_text(w, world_decide(w)), "MEM");
	world_free(w);
}
END_TEST

/* Jobs that others take are gone: the host waits for more of its file and gets no new
 * one. */
START_TEST(taken_by_others_is_spent)
{
	struct world *w = locality_world_with(
	    N10, HOUR, "W", "A huoa 11/1 12/2; B uw 21/3");
	const int64_t taken[] = { 11, 12 };
	struct rng rng = rng_seed(1);
	struct decision *d = decide(
	    &w->a, w->conf, &w->req, &w->snap, WORLD_NOW, &rng, taken, N(taken));

	ck_assert_uint_eq(d->nsends, 0);
	ck_assert_uint_eq(d->nwant, 1);
	ck_assert_int_eq(d->want[0], w->snap.files[0].fileset_id);
	world_free(w);
}
END_TEST

/* A skipped job is for other hosts until the loader releases it after some time. */
START_TEST(skipped_for_a_time)
{
	struct world *w = locality_world_with(ON, HOUR, "", "A hul99 11/1");

	w->snap.files[0].released_id = 11;
	ck_assert_str_eq(world_text(w, world_decide(w)), "ID_ORDER");
	w->snap.files[0].released_id = 12;
	ck_assert_str_eq(world_text(w, world_decide(w)), "sent 11h | NONE");
	world_free(w);
}
END_TEST

/* want_after is at least the highest id of the results that exist: new results have
 * higher ids. */
START_TEST(waits_for_later_results)
{
	static const char *const files[] = { "A hu 50/1000; B hu 40/1000; C hoa",
		"B hu 40/1000; C hoa; A hu 50/1000" };

	for (size_t i = 0; i < N(files); i++) {
		struct world *w = locality_world_with(N10 USER, HOUR, "W", files[i]);
		struct decision *d = world_decide(w);

		ck_assert_uint_eq(d->nwant, 3);
		ck_assert_int_eq(d->want_after, 50);
		world_free(w);
	}
}
END_TEST

START_TEST(waiting_asks_to_come_back_shortly)
{
	struct world *w = locality_world_with(N10, HOUR, "", "A hoa");
	struct world *after = locality_world_with(N10, HOUR, "w", "A hoa");

	ck_assert_double_eq(world_decide(w)->request_delay, 5);
	ck_assert_double_eq(world_decide(after)->request_delay, 10);
	world_free(w);
	world_free(after);
}
END_TEST

/* A request for a processor type that no app uses does not wait for files. */
START_TEST(no_wait_for_what_no_app_can_use)
{
	struct world *w = world_new(N10, 0);
	struct rq_resource r[2] = { w->req.resources[0], { .type = (char[]){ "NVIDIA" },
							     .has_request = true,
							     .req_secs = 1000,
							     .count = 1 } };
	struct decision *d;

	w->req.resources = r;
	w->req.nresources = 2;
	w->snap.wait_possible = true;
	world_files(w, "A hoa");
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "RSC_NOT_WANTED");
	w->req.cpu_req_secs = 1;
	d = world_decide(w);
	ck_assert_str_eq(world_text(w, d), "want A | WAITING");
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_locality", {
	ADD_LOOP(order_of_service, N(cases));
	ADD_LOOP(file_states, N(states));
	ADD(made_for_a_waiting_host);
	ADD_LOOP(L6_order_of_files, N(orders));
	ADD(L17_no_version_ends_the_search);
	ADD(D14_old_without_a_version_ends_nothing);
	ADD(L1_bytes_are_counted_once_per_file);
	ADD(partly_held_set);
	ADD(race_13_disk_is_charged_by_missing_bytes);
	ADD(one_order_for_space);
	ADD_LOOP(file_that_makes_room, N(spaces));
	ADD(no_order_for_space_beside_an_exhausted_file);
	ADD(race_09_only_files_that_are_there_are_deleted);
	ADD(a_lost_job_keeps_its_file);
	ADD(too_large_is_not_spent);
	ADD(taken_by_others_is_spent);
	ADD(skipped_for_a_time);
	ADD(D14_fraction_draws_who_is_first);
	ADD(waits_for_later_results);
	ADD(waiting_asks_to_come_back_shortly);
	ADD(no_wait_for_what_no_app_can_use);
})
