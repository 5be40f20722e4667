/* SPDX-License-Identifier: Apache-2.0 */
/* Policy rec and its variants: priorities and work fetch, with values from their
 * description (client.md 4.1, 4.5, locus-client-policies(7)). */
#include "test/unit/policy_host.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

static const double NOW = HOST_NOW, SLICE = HOST_SLICE;
static struct policy_host *rec_host(struct policy_host *h)
{
	return policy_host(h, 1, 1, 2);
}

static struct cw_task *rec_task(struct policy_host *h, int32_t project, double run_s)
{
	struct cw_task *t = policy_host_task(h, project, run_s);

	t->running = true;
	return t;
}

static struct contact rec_next(struct policy_host *h, const struct policy *how)
{
	cw_tally_tasks(&h->w);
	return policy_host_next(h, how);
}

/* --- recent use --- */

START_TEST(use_of_all_processors)
{
	struct policy_host h;

	rec_host(&h)->w.nrsc = 2;
	h.p[0].used[0] = 100;
	h.p[0].used[1] = 10;
	h.p[1].acct.rec = 8;
	policy_rec.account(&h.w, &policy_rec); /* no time has passed */
	NEARLY(h.p[0].used[0], 100);
	h.w.now += 10 * 86400; /* half counts of what was, and half of what is */
	policy_rec.account(&h.w, &policy_rec);
	NEARLY(h.p[0].acct.rec, 120 / (10 * 86400.0) / 2);
	NEARLY(h.p[1].acct.rec, 4);
	NEARLY(h.p[0].used[0] + h.p[0].used[1], 0);
	NEARLY(h.w.accounted_at, h.w.now);
	h.w.now += 0.5;
	h.p[0].used[0] = 1;
	policy_rec.account(&h.w, &policy_rec);
	NEARLY(h.p[0].used[0], 0);
}
END_TEST

/* --- what runs --- */

/* A planned slice counts as much as all that is remembered: a task on one of two CPUs
 * lowers the priority by a half, for a project of half of the shares. */
static const struct policy forgetful = { .half_life_s = 3600 },
			   hourly = { .half_life_s = 3600, .bump_s = 7200 };

/* As rec orders them, with the parameters of another policy. */
static void rec_runs(
    struct policy_host *h, const struct policy *how, const char *want, int line)
{
	struct policy p = *how;

	p.order = policy_rec.order;
	policy_host_runs(h, &p, want, line);
}
#define RUNS(h, how, want) rec_runs(h, how, want, __LINE__)

START_TEST(order_of_tasks)
{
	struct policy_host h;

	rec_host(&h);
	for (int i = 0; i < 6; i++)
		rec_task(&h, i / 3, 1e5);
	RUNS(&h, &forgetful, "adbe"); /* nothing was used */
	h.p[0].acct.rec = 3;
	h.p[1].acct.rec = 5;          /* -0.75 and -1.25 */
	RUNS(&h, &forgetful, "abdc"); /* a: -1.25; b and d: -1.75 */
	h.p[0].acct.rec = 1;
	h.p[1].acct.rec = 3; /* -0.5 and -1.5 */
	RUNS(&h, &forgetful, "abcd");
	h.p[0].acct.rec = 1.1;
	h.p[1].acct.rec = 2.9; /* -0.55 and -1.45 */
	RUNS(&h, &forgetful, "abdc");
	h.p[0].share = 3; /* -0.367 and -2.9 */
	RUNS(&h, &forgetful, "abcd");
	h.p[0].share = 1;
	h.p[0].acct.rec = 1.3;
	h.p[1].acct.rec = 2.7; /* -0.65 and -1.35 */
	RUNS(&h, &forgetful, "abdc");
	RUNS(&h, &hourly, "adbe"); /* three quarters for a task */
	h.w.nprojects = 3;         /* has no tasks, and does not count */
	h.p[2].acct.rec = 1000;
	h.p[2].share = 1000;
	RUNS(&h, &forgetful, "abdc");
	h.p[0].share = 0; /* a backup project comes last */
	RUNS(&h, &forgetful, "defa");
	arena_free(&h.a);
}
END_TEST

/* rec:deadlines: a whole CPU is the project's own unless it used too much by more than
 * a task. */
START_TEST(own_instances)
{
	static const struct policy own = { .half_life_s = 3600,
		.reserve_instances = true };
	struct policy_host h;

	rec_host(&h);
	for (int i = 0; i < 6; i++)
		rec_task(&h, i / 3, 1e5);
	h.p[0].acct.rec = 1;
	h.p[1].acct.rec = 99;
	RUNS(&h, &forgetful, "abcd");
	RUNS(&h, &own, "adbc"); /* -1.98 is not less than -1 - 1 */
	h.p[0].share = 0.9;
	RUNS(&h, &own, "dabc");
	h.p[0].share = 1;
	h.p[1].share = 0.9;
	RUNS(&h, &own, "abcd");
	arena_free(&h.a);
}
END_TEST

/* --- work fetch --- */

#define ASKS(h, how, who)                                                              \
	do {                                                                           \
		struct contact c_ = rec_next(h, how);                                  \
                                                                                       \
		ck_assert_msg(c_.project == (who), "line %d: %d, not %d", __LINE__,    \
		    (int)c_.project, who);                                             \
	} while (0)

/* The project of highest priority for all that is lacking. */
START_TEST(priority_and_amount)
{
	struct policy_host h;
	struct contact c;

	c = rec_next(rec_host(&h), &policy_rec);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 4000);
	NEARLY(c.ask.inst[0], 2);
	h.p[0].acct.rec = 2;
	h.p[1].acct.rec = 1;
	ASKS(&h, &policy_rec, 1);
	h.p[0].share = 3;
	ASKS(&h, &policy_rec, 0);
	h.p[0].rsc[0].backoff_until = NOW + 1;
	ASKS(&h, &policy_rec, 1);
	h.p[0].rsc[0].backoff_until = 0;
	h.p[0].share = 0;
	ASKS(&h, &policy_rec, 1);
	h.p[1].no_new_work = true;
	ASKS(&h, &policy_rec, 0);
	arena_free(&h.a);
}
END_TEST

/* Queued work, as a part of what the buffer holds, counts against the priority. */
START_TEST(queued_work)
{
	struct policy_host h;
	struct contact c;

	rec_task(rec_host(&h), 0, 900);
	rec_task(&h, 1, 600);
	ASKS(&h, &policy_rec, 1); /* 900 and 600 of 4000 */
	h.p[0].acct.rec = 0.96;
	h.p[1].acct.rec = 1.04; /* 0.96 + 0.225, 1.04 + 0.15 */
	ASKS(&h, &policy_rec, 0);
	h.p[0].acct.rec = 0.97;
	h.p[1].acct.rec = 1.03;
	ASKS(&h, &policy_rec, 1);
	c = rec_next(&h, &policy_rec);
	NEARLY(c.ask.secs[0], 4000 - 1500);
	NEARLY(c.ask.inst[0], 0);
	h.p[0].acct.rec = h.p[1].acct.rec = 0;
	h.t[0].downloading = true;
	ASKS(&h, &policy_rec, 1);
	h.t[0].suspended = true;
	ASKS(&h, &policy_rec, 0);
	h.t[0].suspended = h.t[0].downloading = false;
	h.t[0].nci = true;
	ASKS(&h, &policy_rec, 0);
	h.t[0].nci = false;
	h.t[0].remaining_s = 800;
	h.t[1].use = h.t[1].ncpus = 2; /* 800 and 1200 */
	ASKS(&h, &policy_rec, 0);
	h.w.nrsc = 2; /* buffer: 8000 operations */
	h.t[0].use = h.t[0].ncpus = 1;
	h.t[0].rsc = 1;
	h.t[0].ncpus = 0; /* 1600 and 1200 operations */
	ASKS(&h, &policy_rec, 1);
	arena_free(&h.a);
}
END_TEST

/* Nothing is asked while all instances have work for longer than the low-water mark. */
START_TEST(low_water)
{
	struct policy_host h;
	struct contact c;

	rec_task(rec_host(&h), 0, 1001);
	rec_task(&h, 1, 1001);
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.why, CONTACT_NONE);
	NEARLY(c.recheck_at, NOW + 1);
	h.t[0].remaining_s = 1000;
	ASKS(&h, &policy_rec, 0);
	h.p[0].no_new_work = h.p[1].no_new_work = true;
	ASKS(&h, &policy_rec, -1);
	arena_free(&h.a);
}
END_TEST

/* Of the processors that run short, the project that is first for one is asked for all
 * that are not full and for which it is first. */
START_TEST(two_processors)
{
	struct policy_host h;
	struct contact c;

	rec_host(&h)->w.nrsc = 2;
	h.p[0].rsc[1].excluded = true;
	h.p[1].acct.rec = 1;
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 4000);
	NEARLY(c.ask.secs[1], 0);
	h.p[0].rsc[1].excluded = false;
	h.p[0].rsc[0].excluded = true; /* 1 is first for the CPU, but not of all */
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 0);
	NEARLY(c.ask.secs[1], 2000);
	h.p[0].rsc[0].excluded = false;
	h.p[0].rsc[1].excluded = true;
	h.p[0].acct.rec = 3;
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 4000);
	NEARLY(c.ask.secs[1], 2000);
	rec_task(&h, 0, 1500);
	rec_task(&h, 0, 1500);
	h.p[1].acct.rec = 30; /* 0 has priority, but cannot use what runs short */
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 0);
	NEARLY(c.ask.secs[1], 2000);
	h.p[1].acct.rec = 0;
	c = rec_next(&h, &policy_rec);
	NEARLY(c.ask.secs[0], 1000);
	h.t[0].remaining_s = h.t[1].remaining_s = 2000; /* full */
	c = rec_next(&h, &policy_rec);
	NEARLY(c.ask.secs[0], 0);
	NEARLY(c.ask.secs[1], 2000);
	NEARLY(policy_host_along(&h, &policy_rec, 1).secs[1], 2000);
	ck_assert_int_eq(policy_host_along(&h, &policy_rec, 0).project, -1);
	arena_free(&h.a);
}
END_TEST

/* A contact for another reason asks for what its project is first for, in spite of its
 * own back-off. */
START_TEST(along_with_others)
{
	struct policy_host h;

	rec_host(&h)->p[1].acct.rec = 1;
	NEARLY(policy_host_along(&h, &policy_rec, 0).secs[0], 4000);
	ck_assert_int_eq(policy_host_along(&h, &policy_rec, 1).project, -1);
	h.p[0].rsc[0].backoff_until = NOW + 1;
	NEARLY(policy_host_along(&h, &policy_rec, 0).secs[0], 4000);
	NEARLY(policy_host_along(&h, &policy_rec, 1).secs[0], 4000);
	rec_task(&h, 0, 1999);
	rec_task(&h, 0, 1999);
	NEARLY(policy_host_along(&h, &policy_rec, 1).secs[0], 2);
	h.t[0].remaining_s = h.t[1].remaining_s = 2000;
	ck_assert_int_eq(policy_host_along(&h, &policy_rec, 1).project, -1);
	arena_free(&h.a);
}
END_TEST

/* Two running tasks of 0 that last for 900 s; it used more than its share, and its
 * deadlines allow half of a full buffer. */
static struct policy_host *greedy(struct policy_host *h)
{
	rec_task(rec_host(h), 0, 900);
	rec_task(h, 0, 900);
	h->p[0].acct.rec = 0.51;
	h->p[1].acct.rec = 0.49;
	h->p[1].share = 0.97; /* 0 is over its share, and first all the same */
	h->p[0].acct.delay_bound_s = 2000;
	h->p[0].acct.longest_s = 900;
	for (int i = 0; i < 2; i++) {
		h->t[i].received_at = NOW - 1000;
		h->t[i].deadline = NOW + 1000;
	}
	return h;
}

/* rec holds it back as long as another project can be asked. */
START_TEST(held_back)
{
	struct policy_host h;

	greedy(&h);
	h.p[0].acct.rec = 2;
	h.p[1].acct.rec = 1;
	h.p[1].rsc[0].backoff_until = NOW + 1;
	ASKS(&h, &policy_rec, 0); /* 1 cannot be asked */
	h.w.nprojects = 3;
	h.p[2].share = 0;
	ASKS(&h, &policy_rec, 0); /* nor is a backup project a rival */
	h.p[2].share = 0.01;
	h.p[2].acct.rec = 0.5;
	ASKS(&h, &policy_rec, 0); /* nor one that used too much */
	h.p[2].share = 1;
	h.p[2].acct.rec = 0;
	ASKS(&h, &policy_rec, 2);
	arena_free(&h.a);
}
END_TEST

/* An idle instance has nothing to lose. */
START_TEST(held_back_unless_idle)
{
	struct policy_host h;

	rec_task(rec_host(&h), 1, 2000)->downloading = true;
	h.t[0].running = false;
	h.p[0].acct.rec = 1.1; /* -1.1, and -0.9 - 2000 / 4000 */
	h.p[1].acct.rec = 0.9;
	h.p[0].acct.delay_bound_s = 1000;
	ASKS(&h, &policy_rec, 0);
	rec_task(&h, 1, 900)->downloading = true; /* no CPU is idle */
	h.t[1].running = false;
	ASKS(&h, &policy_rec, 1);
	ASKS(&h, &policy_rec_letter, 0);
	h.p[0].acct.delay_bound_s = 1e5;
	ASKS(&h, &policy_rec, 0);
	h.p[0].acct.delay_bound_s = 1000;
	h.p[0].acct.rec = h.p[1].acct.rec = 1; /* not more than its share */
	ASKS(&h, &policy_rec, 0);
	arena_free(&h.a);
}
END_TEST

/* Full for longer than the buffer: a project without a task that used less than its
 * share gets its part, as far as it can be done in time and there is room. */
START_TEST(when_full)
{
	struct policy_host h;
	struct contact c;

	rec_task(rec_host(&h), 0, 1e6);
	rec_task(&h, 0, 1e6);
	h.p[0].acct.rec = 1;
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 2000); /* one CPU for the buffer */
	NEARLY(c.ask.inst[0], 1);
	ck_assert_int_eq(rec_next(&h, &policy_rec_letter).why, CONTACT_NONE);
	h.p[1].acct.delay_bound_s = 500; /* half of the time of one CPU ... */
	c = rec_next(&h, &policy_rec);
	NEARLY(c.ask.secs[0], 500);
	h.p[1].acct.delay_bound_s = 0;
	rec_task(&h, 0, 1500)->running = false;
	NEARLY(rec_next(&h, &policy_rec).ask.secs[0], 2000);
	rec_task(&h, 0, 501)->running = false; /* 1999 s are left */
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.why, CONTACT_NONE);
	NEARLY(c.recheck_at, NOW + SLICE);
	h.t[3].remaining_s = 500;
	ASKS(&h, &policy_rec, 1);
	h.p[1].acct.rec = 2;
	c = rec_next(&h, &policy_rec);
	ck_assert_int_eq(c.why, CONTACT_NONE);
	NEARLY(c.recheck_at, NOW + SLICE); /* its turn will come */
	h.w.nprojects = 3;
	h.p[1].acct.rec = 1.1;
	h.p[2].acct.rec = 1000; /* suspended, it does not count */
	h.p[2].suspended = true;
	ASKS(&h, &policy_rec, -1);
	arena_free(&h.a);
}
END_TEST

/* Of several such projects the first by priority; not one that has a task. */
START_TEST(who_when_full)
{
	struct policy_host h;

	rec_task(rec_host(&h), 0, 1e6);
	rec_task(&h, 0, 1e6);
	h.p[0].acct.rec = 1;
	h.p[1].share = 0;
	ck_assert_int_eq(rec_next(&h, &policy_rec).why, CONTACT_NONE);
	ck_assert(rec_next(&h, &policy_rec).recheck_at > NOW + SLICE);
	h.p[1].share = 1;
	h.p[1].acct.rec = 0;
	rec_task(&h, 1, 1)->running = false; /* it has one */
	ck_assert_int_eq(rec_next(&h, &policy_rec).why, CONTACT_NONE);
	ck_assert(rec_next(&h, &policy_rec).recheck_at > NOW + SLICE);
	h.w.ntasks = 2;
	h.w.nprojects = 3;
	ASKS(&h, &policy_rec, 1);
	h.p[1].acct.rec = 0.1;
	ASKS(&h, &policy_rec, 2);
	NEARLY(rec_next(&h, &policy_rec).ask.secs[0], 4000 / 3.0);
	h.t[0].remaining_s = h.t[1].remaining_s = 2000; /* just full */
	ASKS(&h, &policy_rec, 2);
	h.t[0].remaining_s = 1999;
	ASKS(&h, &policy_rec, -1);
	h.t[0].remaining_s = 2000;
	h.t[0].project = h.t[1].project = 2;
	h.p[0].acct.rec = 0;
	h.p[2].acct.rec = 9;
	ASKS(&h, &policy_rec, 0);
	arena_free(&h.a);
}
END_TEST

/* hybrid: a project that has no task at all and used less than its share is asked
 * before the others run out of work, as far as there is room. */
START_TEST(starved)
{
	struct policy_host h;
	struct contact c;

	rec_task(rec_host(&h), 0, 1500);
	rec_task(&h, 0, 1500);
	h.p[0].acct.rec = 1;
	ASKS(&h, &policy_rec, -1);
	c = rec_next(&h, &policy_hybrid);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 2000);
	NEARLY(c.ask.inst[0], 1);
	rec_task(&h, 0, 1500)->running = false;
	rec_task(&h, 0, 1500)->running = false; /* 1000 s are left */
	c = rec_next(&h, &policy_hybrid);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(c.ask.inst[0], 0.5);
	h.w.nrsc = 2; /* also for the coprocessor; its own part of it is a half */
	h.p[0].rsc[1].no_apps = true;
	h.t[0].rsc = 1;
	h.t[0].ncpus = 0;
	rec_task(&h, 0, 1e4);
	h.p[1].acct.delay_bound_s = 1100;
	c = rec_next(&h, &policy_hybrid);
	ck_assert_int_eq(c.project, 1);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(c.ask.secs[1], 550);
	NEARLY(c.ask.inst[1], 0.5);
	h.p[1].rsc[1].backoff_until = HOST_NOW + 1; /* for what it can be asked for */
	c = rec_next(&h, &policy_hybrid);
	NEARLY(c.ask.secs[0], 1000);
	NEARLY(c.ask.secs[1], 0);
	h.p[1].rsc[1].backoff_until = 0;
	h.p[1].acct.rec = 2;
	ASKS(&h, &policy_hybrid, -1);
	h.p[1].acct.rec = 0;
	h.p[1].share = 0;
	ASKS(&h, &policy_hybrid, -1);
	h.p[1].share = 1;
	rec_task(&h, 1, 1)->rsc = 1;
	ASKS(&h, &policy_hybrid, -1);
	arena_free(&h.a);
}
END_TEST

START_TEST(first_of_two_starved)
{
	struct policy_host h;

	rec_task(rec_host(&h), 2, 1500);
	rec_task(&h, 2, 1500);
	h.w.nprojects = 3;
	h.p[1].acct.rec = 0.1;
	h.p[2].acct.rec = 1;
	ASKS(&h, &policy_hybrid, 0);
	h.p[0].acct.rec = 0.2;
	ASKS(&h, &policy_hybrid, 1);
	arena_free(&h.a);
}
END_TEST

/* rec:deadlines asks for no more than can be done in time. */
START_TEST(limited_by_deadlines)
{
	struct policy_host h;
	struct contact c;

	rec_host(&h)->p[0].acct.delay_bound_s = 1200;
	c = rec_next(&h, &policy_rec_deadlines);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 2400); /* nobody else has sent tasks */
	h.p[1].acct.gave[0] = true;
	NEARLY(rec_next(&h, &policy_rec_deadlines).ask.secs[0], 1200);
	NEARLY(rec_next(&h, &policy_rec).ask.secs[0], 4000);
	h.p[0].acct.delay_bound_s = 0;
	NEARLY(rec_next(&h, &policy_rec_deadlines).ask.secs[0], 4000);
	h.p[0].acct.delay_bound_s = 1200;
	h.p[0].acct.rec = 1; /* used too much: one task for an idle instance */
	h.p[1].no_new_work = true;
	h.p[1].acct.rec = 0.1;
	c = rec_next(&h, &policy_rec_deadlines);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 1);
	rec_task(&h, 1, 900);
	rec_task(&h, 1, 900);
	ASKS(&h, &policy_rec_deadlines, -1);
	arena_free(&h.a);
}
END_TEST

/* It is asked again when it has less than half of what it may have, as far as there is
 * room. */
START_TEST(less_than_half_of_what_is_allowed)
{
	struct policy_host h;
	struct contact c;

	rec_task(rec_host(&h), 1, 1e4);
	rec_task(&h, 1, 1e4);
	h.p[0].acct.delay_bound_s = 1800; /* less a task: 1200 s of one CPU */
	h.p[0].acct.longest_s = 600;
	h.p[1].acct.rec = 1;
	c = rec_next(&h, &policy_rec_deadlines);
	ck_assert_int_eq(c.project, 0);
	NEARLY(c.ask.secs[0], 1200);
	rec_task(&h, 0, 600);
	h.t[2].deadline = NOW + 1800;
	h.t[2].running = false;
	NEARLY(rec_next(&h, &policy_rec_deadlines).ask.secs[0], 600);
	h.t[2].remaining_s = 601;
	ASKS(&h, &policy_rec_deadlines, -1);
	h.t[2].remaining_s = h.p[0].acct.longest_s = 600;
	rec_task(&h, 1, 2000)->running = false;
	rec_task(&h, 1, 801)->running = false; /* room for 599 */
	c = rec_next(&h, &policy_rec_deadlines);
	ck_assert_int_eq(c.project, -1);
	ck_assert(c.recheck_at <= NOW + SLICE);
	h.t[4].remaining_s = 800;
	ASKS(&h, &policy_rec_deadlines, 0);
	h.p[0].acct.rec = 1.1;
	ASKS(&h, &policy_rec_deadlines, -1);
	h.w.ntasks = 2;
	h.w.nprojects = 3;
	h.t[0].project = h.t[1].project = 2;
	h.p[0].acct.rec = 0;
	h.p[1].acct.rec = 0.5; /* both have close deadlines, and no task */
	h.p[2].acct.rec = 9;
	h.p[1].acct.delay_bound_s = 1800;
	h.p[1].acct.longest_s = 600;
	ASKS(&h, &policy_rec_deadlines, 0);
	h.p[0].acct.rec = 1;
	ASKS(&h, &policy_rec_deadlines, 1);
	arena_free(&h.a);
}
END_TEST

UNIT_MAIN("policy rec", {
	ADD(use_of_all_processors);
	ADD(order_of_tasks);
	ADD(own_instances);
	ADD(priority_and_amount);
	ADD(queued_work);
	ADD(low_water);
	ADD(two_processors);
	ADD(along_with_others);
	ADD(held_back);
	ADD(held_back_unless_idle);
	ADD(when_full);
	ADD(who_when_full);
	ADD(starved);
	ADD(first_of_two_starved);
	ADD(limited_by_deadlines);
	ADD(less_than_half_of_what_is_allowed);
})
