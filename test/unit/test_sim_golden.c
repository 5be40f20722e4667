/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Golden histories: every policy on every sample scenario must give the same event log,
 * byte for byte. After an intended change run make golden-refresh; the figures in
 * test/golden/sim.table show whether the change is an improvement.
 */
#include "test/unit/unit.h"

#include <assert.h>
#include <inttypes.h>
#include "client/sim/report.h"
#include "lib/fs.h"
#include "lib/hash.h"
#include "lib/banned.h"

enum { DAYS = 4, TABLE_MOST = 1 << 20, NAMES_MOST = 100 };

static struct arena process;
static char **names; /* of scenarios */
static size_t nnames;
static const struct policy *all[32];
static size_t nall;
static const char *table;

static const char *source(const char *path)
{
	const char *srcdir = getenv("srcdir");

	return arena_printf(&process, "%s/%s", srcdir == NULL ? "." : srcdir, path);
}

/* Exits on an error, because Check can only fail inside a test. */
static void need(enum err e, const struct fail *f)
{
	if (e != OK)
		fprintf(stderr, "sim_golden: %s\n", f->detail);
	assert(e == OK);
}

struct digest {
	const struct sim_scenario *s;
	struct arena a;
	uint64_t hash; /* FNV-1a of all lines */
	uint64_t lines;
};

static void sim_golden_add_line(void *to, const struct sim_event *e)
{
	struct digest *d = to;
	struct buf b = buf_new(&d->a);

	sim_log_line(d->s, e, &b);
	buf_puts(&b, "\n");
	d->hash = hash_bytes(d->hash, b.p, b.n);
	d->lines++;
	arena_reset(&d->a);
}

/* "scenario policy hash lines idle wasted violation met missed" */
static void run_line(const char *name, const struct policy *policy, struct buf *out)
{
	struct arena a = { 0 };
	struct sim_scenario s;
	struct digest d = { .s = &s, .hash = HASH_SEED };
	struct sim_options o = { .policy = policy,
		.days = DAYS,
		.seed = 1,
		.event = sim_golden_add_line,
		.listener = &d };
	struct sim_sums sums;
	struct sim_figures f;
	struct fail fail = { 0 };
	const char *path = arena_printf(&a, "%s/%s", source("test/sim"), name);

	need(sim_read(&a, path, &s, &fail), &fail);
	need(sim_run(&s, &o, &a, &sums, &fail), &fail);
	sim_figures(&s, &sums, &a, &f);
	buf_printf(out,
	    "%s %s %016" PRIx64 " %" PRIu64 " %.4f %.4f %.4f %" PRIu64 " %" PRIu64 "\n",
	    name, policy->name, d.hash, d.lines, f.idle, f.wasted, f.share_violation,
	    f.met, f.missed);
	arena_free(&d.a);
	arena_free(&a);
}

START_TEST(as_it_was)
{
	const char *name = names[(size_t)_i % nnames];
	const struct policy *policy = all[(size_t)_i / nnames];
	struct arena a = { 0 };
	struct buf now = buf_new(&a);
	const char *was;
	size_t n;

	run_line(name, policy, &now);
	was = strstr(table, arena_printf(&a, "\n%s %s ", name, policy->name));
	ck_assert_msg(was != NULL, "%s %s: no such line", name, policy->name);
	n = strcspn(++was, "\n");
	ck_assert_msg(n + 1 == now.n && memcmp(was, now.p, n) == 0, "was %.*s\nnow %s",
	    (int)n, was, now.p);
	arena_free(&a);
}
END_TEST

static void sim_golden_refresh(void)
{
	struct buf b = buf_new(&process);
	struct fail f = { 0 };

	buf_puts(&b, "# Four days, seed 1: scenario, policy, hash of the event log, "
		     "its lines, idle,\n"
		     "# wasted, share violation, met, missed.  make golden-refresh "
		     "writes it anew.\n");
	for (size_t p = 0; p < nall; p++)
		for (size_t i = 0; i < nnames; i++)
			run_line(names[i], all[p], &b);
	need(fs_write(source("test/golden/sim.table"), b.p, b.n, 0644, &f), &f);
}

static void set_up(void)
{
	struct fail f = { 0 };
	char *bytes = NULL;

	for (size_t i = 0; policies[i] != NULL; i++)
		all[nall++] = policies[i];
	for (size_t i = 0; policy_variants[i] != NULL; i++)
		all[nall++] = policy_variants[i];
	need(
	    fs_list(&process, source("test/sim"), NAMES_MOST, &names, &nnames, &f), &f);
	if (getenv("GOLDEN_REFRESH") != NULL)
		sim_golden_refresh();
	need(fs_read(&process, source("test/golden/sim.table"), TABLE_MOST, &bytes,
		 NULL, &f),
	    &f);
	table = bytes;
}

UNIT_MAIN("sim_golden", {
	set_up();
	ADD_LOOP(as_it_was, nall * nnames);
})
