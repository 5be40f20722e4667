/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of several files: the bytes a job needs, and which files are deleted. */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON   "<locality_scheduling/>"
#define N10  ON "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"
#define LAST ON "<locality_keep_last_holder/>"

static struct world *sets_world_with(
    const char *options, double secs, const char *files)
{
	struct world *w = world_new(options, secs);

	world_files(w, files);
	return w;
}

/* needed and saved GB of each job, in order */
static const struct {
	const char *files, *gb;
} charges[] = {
	/* B and C are each brought by the first job that needs them */
	{ "AB:+A-B u 11/1 12/2; BC:-B-C wu 21/3; C wu 31/4", "1+1 0+2 1+1 0+1" },
	/* two of three files are held */
	{ "ABC:+A+B-C u 11/1; AC:+A-C u 21/2", "1+2 0+2" },
	{ "AB:+A+B u 11/1", "0+2" },
};

START_TEST(shared_files_are_charged_once)
{
	struct world *w = sets_world_with(ON, 8 * HOUR, charges[_i].files);
	struct decision *d = world_decide(w);
	char *said = arena_strdup(&w->a, "");

	for (size_t i = 0; i < d->nsends; i++)
		said = arena_printf(&w->a, "%s%s%lld+%lld", said, i > 0 ? " " : "",
		    (long long)d->sends[i].bytes_needed / 1000000000,
		    (long long)d->sends[i].bytes_saved / 1000000000);
	ck_assert_str_eq(said, charges[_i].gb);
	world_free(w);
}
END_TEST

/*
 * A job that another host claimed brings no files; the next jobs do, whatever their
 * ids.
 */
START_TEST(lost_jobs_bring_nothing)
{
	struct world *w = sets_world_with(
	    ON, 8 * HOUR, "AB:+A-B u 91/1; BC:-B-C wu 21/2; BD:-B+D u 31/3");
	struct decision *d = world_decide(w);
	struct larges l = larges_of(&w->a, &w->snap);
	bool lost[3] = { true, false, false };

	ck_assert_str_eq(world_text(w, d), "sent 91h 31h 21w | NONE");
	ck_assert_int_eq(d->sends[0].bytes_needed, 1000000000);
	ck_assert_int_eq(d->sends[1].bytes_needed, 0);
	ck_assert_int_eq(d->sends[2].bytes_needed, 1000000000);
	larges_charge(&l, d->sends, 3, lost);
	ck_assert_int_eq(d->sends[0].bytes_needed, 1000000000); /* unchanged */
	ck_assert_int_eq(d->sends[1].bytes_needed, 1000000000);
	ck_assert_int_eq(d->sends[1].bytes_saved, 1000000000);
	ck_assert_int_eq(d->sends[2].bytes_needed, 1000000000);
	lost[1] = true;
	larges_charge(&l, d->sends, 3, lost);
	ck_assert_int_eq(d->sends[2].bytes_needed, 2000000000);
	ck_assert_int_eq(d->sends[2].bytes_saved, 0);
	larges_charge(&l, d->sends, 3, NULL);
	ck_assert_int_eq(d->sends[1].bytes_needed, 0);
	world_free(w);
}
END_TEST

/*
 * Disk space for jobs besides the 1 GiB kept free, options, files, and the decision.
 * Each job's disk bound is 2 GB.
 */
static const struct {
	double room;
	const char *options, *files, *decision;
} rooms[] = {
	{ 1e9, ON, "A ha", "sent 31p | del A | mark A | NONE" },
	{ 1e9 - 1, ON, "A ha", "del A | mark A | DISK" },
	{ 3e9, ON, "A ha", "sent 31p 32p | del A | mark A | NONE" },
	{ 3e9 - 1, ON, "A ha", "sent 31p | del A | mark A | NONE" },
	/* a file that is not deleted makes no room */
	{ 1e9, ON, "AB:+A-B hu", "space A | DISK" },
	{ 1e9, LAST, "A hoa", "space A | mark A | DISK" },
	{ 1e9, N10, "A hNoa", "space A | mark A | DISK" },
	{ 1e9, ON, "A hpa", "DISK" },
	{ 1e9, ON, "A hma", "mark A | DISK" },
	{ 0, ON, "AB:+A+B a", "sent 31p | del A B | mark AB | NONE" },
};

START_TEST(what_goes_makes_room)
{
	struct world *w = sets_world_with(rooms[_i].options, 8 * HOUR, rooms[_i].files);

	world_plain(w, "31/1 32/2");
	w->req.host.d_free = 1073741824.0 + rooms[_i].room;
	ck_assert_str_eq(world_text(w, world_decide(w)), rooms[_i].decision);
	world_free(w);
}
END_TEST

/* Disk space. A job of A, which is exhausted, was lost: A stays and makes no room. */
static const struct {
	double room;
	const char *decision;
} lost_rooms[] = {
	{ 1e9, "sent 5l | mark A | NONE" },
	{ 3e9, "sent 5l 31p | mark A | NONE" },
	{ 3e9 - 1, "sent 5l | mark A | NONE" },
	{ 1e9 - 1, "del A | mark A | expire j5 | DISK" },
};

START_TEST(a_lost_job_takes_its_file_back)
{
	struct world *w = sets_world_with(ON, 8 * HOUR, "A hoa");

	world_plain(w, "31/1");
	world_others(w, "");
	world_in_progress(w, "5/1");
	w->snap.in_progress[0].fileset_id = 1;
	w->req.host.d_free = 1073741824.0 + lost_rooms[_i].room;
	ck_assert_str_eq(world_text(w, world_decide(w)), lost_rooms[_i].decision);
	world_free(w);
}
END_TEST

/*
 * Tasks that the host lists and reports; whether A is free of tasks. A is deleted
 * either way, because the client keeps it while a task needs it, but it makes room only
 * if it is free.
 */
static const struct {
	const char *others, *reports;
	bool is_free;
} busy[] = {
	{ NULL, NULL, false },
	{ "j5", NULL, false },
	{ NULL, "j5", true },
	{ "j5", "j5", true },
	{ NULL, "j6", false },
};

START_TEST(a_file_in_use_goes_but_makes_no_room)
{
	struct world *w = sets_world_with(ON, 8 * HOUR, "A ha");
	struct rq_report report = { 0 };

	world_plain(w, "31/1");
	w->req.host.d_free = 1073741824.0 + 1e9;
	world_in_progress(w, "5/1");
	w->snap.in_progress[0].fileset_id = 1;
	if (busy[_i].others != NULL)
		world_others(w, busy[_i].others);
	if (busy[_i].reports != NULL) {
		report.name = arena_strdup(&w->a, busy[_i].reports);
		w->req.reports = &report;
		w->req.nreports = 1;
		w->snap.reports = NEWN(&w->a, struct snap_report, 1);
	}
	ck_assert_str_eq(world_text(w, world_decide(w)),
	    busy[_i].is_free ? "sent 31p | del A | mark A | NONE" :
			       "del A | mark A | DISK");
	world_free(w);
}
END_TEST

/* To make room a needed file is deleted too, but after files that no task uses. */
START_TEST(space_is_made_of_what_is_not_in_use)
{
	struct world *w = sets_world_with(ON, HOUR, "A hu 11/1; B hu 21/2 22/3");

	w->req.host.d_free = 0;
	world_in_progress(w, "5/9");
	w->snap.in_progress[0].fileset_id = 1;
	ck_assert_str_eq(world_text(w, world_decide(w)), "space B | DISK");
	w->snap.in_progress[0].fileset_id = 2;
	ck_assert_str_eq(world_text(w, world_decide(w)), "space A | DISK");
	world_free(w);
}
END_TEST

/* A file's value is the jobs of all sets that contain it. */
START_TEST(space_by_the_jobs_of_all_sets)
{
	struct world *w = sets_world_with(
	    ON, HOUR, "AB:+A+B u 11/1 12/2; BC:+B+C u 21/3; CD:+C+D u 31/4 32/5 33/6");

	w->req.host.d_free = 0;
	for (size_t i = 0; i < w->snap.nfiles; i++)
		for (size_t k = 0; k < w->snap.files[i].njobs; k++)
			w->snap.files[i].jobs[k].rsc_disk_bound = 1e13;
	ck_assert_str_eq(world_text(w, world_decide(w)), "space A | DISK");
	world_free(w);
}
END_TEST

static const struct {
	int64_t bytes;
	const char *said;
} sizes[] = {
	{ 0, "File A (0 bytes) will be deleted: no more tasks use it" },
	{ 999, "File A (999 bytes) will be deleted: no more tasks use it" },
	{ 1000, "File A (1.0 kB) will be deleted: no more tasks use it" },
	{ 2500000, "File A (2.5 MB) will be deleted: no more tasks use it" },
	{ 7000000000, "File A (7.0 GB) will be deleted: no more tasks use it" },
	{ 5000000000000000,
	    "File A (5000.0 TB) will be deleted: no more tasks use it" },
};

START_TEST(orders_say_how_much)
{
	struct world *w = sets_world_with(ON, 0, "A hoa");
	struct decision *d;

	world_bytes(w, "A", sizes[_i].bytes);
	d = world_decide(w);
	ck_assert_uint_eq(d->ndeletes, 1);
	ck_assert_int_eq(d->deletes[0].bytes, sizes[_i].bytes);
	ck_assert_int_eq(d->deletes[0].state, FILE_EXHAUSTED);
	ck_assert_int_eq(d->deletes[0].file_id, 1);
	ck_assert_str_eq(d->messages[0].text, sizes[_i].said);
	world_free(w);
}
END_TEST

/*
 * The most active state of a file's sets is the file's state; a set missing from the
 * snapshot keeps the file.
 */
START_TEST(state_of_a_file_in_two_sets)
{
	struct world *w = sets_world_with(ON, 0, "AB:+A+B oa; A ha");
	struct decision *d = world_decide(w);

	ck_assert_str_eq(world_text(w, d), "del A B | NONE");
	ck_assert_int_eq(d->deletes[0].state, FILE_EXHAUSTED);
	w->snap.files[0].has_open_wu = false;
	d = world_decide(w);
	ck_assert_int_eq(d->deletes[0].state, FILE_DEAD);
	w->snap.nfiles = 1; /* the set of A alone is not in the snapshot */
	ck_assert_str_eq(world_text(w, world_decide(w)), "del B | NONE");
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_sets", {
	ADD_LOOP(shared_files_are_charged_once, N(charges));
	ADD(lost_jobs_bring_nothing);
	ADD_LOOP(what_goes_makes_room, N(rooms));
	ADD_LOOP(a_lost_job_takes_its_file_back, N(lost_rooms));
	ADD_LOOP(a_file_in_use_goes_but_makes_no_room, N(busy));
	ADD(space_is_made_of_what_is_not_in_use);
	ADD(space_by_the_jobs_of_all_sets);
	ADD_LOOP(orders_say_how_much, N(sizes));
	ADD(state_of_a_file_in_two_sets);
})
