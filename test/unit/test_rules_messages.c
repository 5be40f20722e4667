/* SPDX-License-Identifier: Apache-2.0 */
/* What hosts are told (server.md 2.15): level, delay, and the first message word for
 * word. */
#include "test/unit/unit.h"

#include "rules/sched/decide.h"
#include "test/unit/rules_world.h"
#include "lib/banned.h"

#define ON  "<locality_scheduling/>"
#define N10 ON "<locality_scheduling_wait_period>10</locality_scheduling_wait_period>"

enum message_case {
#define CASE(name, options, change, notice, delay, text) SAID_##name,
#include "test/unit/rules_messages.def"
#undef CASE
	SAID__MAX
};

static int64_t other[] = { 99 }, had[] = { 9 };
static char *cpu[] = { (char[]){ "CPU" } };

static void
change_world(
    enum message_case n, struct world *w, struct app *app, struct app_version *v)
{
	struct request *q = &w->req;
	struct snapshot *s = &w->snap;
	struct job *j = &s->plain[0];

	(void)app, (void)v, (void)q, (void)j;
	switch (n) {
#define CASE(name, options, change, notice, delay, text)                               \
	case SAID_##name:                                                              \
		change;                                                                \
		break;
#include "test/unit/rules_messages.def"
#undef CASE
	case SAID__MAX:
		break;
	}
}

static const struct {
	const char *name, *options;
	bool notice;
	double delay;
	const char *text;
} messages[] = {
#define CASE(name, options, change, notice, delay, text)                               \
	{ #name, options, notice, delay, text },
#include "test/unit/rules_messages.def"
#undef CASE
};

START_TEST(said)
{
	struct world *w = world_new(messages[_i].options, HOUR);
	struct catalog cat = *w->snap.cat;
	struct app app = cat.apps[0];
	struct app_version version = cat.versions[0];
	struct decision *d;

	cat.apps = &app;
	cat.versions = &version;
	w->snap.cat = &cat;
	world_plain(w, "31/9");
	change_world((enum message_case)_i, w, &app, &version);
	d = world_decide(w);
	if (messages[_i].text == NULL) {
		ck_assert_msg(d->nmessages == 0, "%s: %s", messages[_i].name,
		    d->messages[0].text);
	} else {
		ck_assert_msg(d->nmessages > 0, "%s: silence", messages[_i].name);
		ck_assert_msg(strcmp(d->messages[0].text, messages[_i].text) == 0,
		    "%s: %s", messages[_i].name, d->messages[0].text);
		ck_assert_msg(d->messages[0].notice == messages[_i].notice, "%s: level",
		    messages[_i].name);
	}
	ck_assert_msg(d->request_delay == messages[_i].delay, "%s: delay %g",
	    messages[_i].name, d->request_delay);
	world_free(w);
}
END_TEST

/* One decisive reason, then what else could be changed; what is said of single jobs
 * stays away. */
START_TEST(others_follow)
{
	struct world *w = world_new("", HOUR);
	struct decision *d;

	world_plain(w, "31/1 32/2 33/3 34/4");
	w->snap.plain[0].rsc_memory_bound = 5e9;
	w->snap.plain[1].rsc_disk_bound = 1e15;
	w->snap.plain[2].rsc_bandwidth_bound = 1e6;
	w->snap.plain[3].delay_bound = 60;
	w->snap.host.n_bwdown = w->req.host.n_bwdown = 1000;
	d = world_decide(w);
	ck_assert_uint_eq(d->nmessages, 3);
	ck_assert_int_eq(d->why, WHY_DISK);
	ck_assert_str_eq(d->messages[1].text,
	    "Other tasks were left out: not enough memory; needs 1000.0 MB more");
	ck_assert_str_eq(d->messages[2].text,
	    "Other tasks were left out: the network link is too slow; needs 1000 kB/s, "
	    "has 1");
	ck_assert(d->messages[2].notice);
	world_free(w);
}
END_TEST

UNIT_MAIN("rules_messages", {
	ADD_LOOP(said, N(messages));
	ADD(others_follow);
})
