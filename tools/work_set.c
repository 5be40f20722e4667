/* SPDX-License-Identifier: Apache-2.0 */
/* locus work set: lowers what open work asks of hosts. */
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/print/print.h"
#include "tools/progress.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

#define NO_LIMIT 1e300 /* times a deadline it is a number yet */

struct work_set_opts { /* NULL = unchanged */
	struct work_pick_opts pick;
	const char *memory, *disk, *bandwidth, *flops, *quorum;
	bool any_version, any_class, dry_run;
};

#define FIELD(name) offsetof(struct work_set_opts, name)
static const struct opt work_set_options[] = {
	WORK_PICK_OPTIONS(struct work_set_opts),
	{ "max-memory", OPT_TEXT, FIELD(memory), "BYTES",
	    "Lowers rsc_memory_bound to this." },
	{ "max-disk", OPT_TEXT, FIELD(disk), "BYTES",
	    "Lowers rsc_disk_bound to this." },
	{ "max-bandwidth", OPT_TEXT, FIELD(bandwidth), "BYTES",
	    "Lowers rsc_bandwidth_bound to so many bytes a second." },
	{ "min-flops", OPT_TEXT, FIELD(flops), "N",
	    "Raises delay_bound until a host of so many FLOP a second can meet the deadline." },
	{ "max-quorum", OPT_TEXT, FIELD(quorum), "N",
	    "Lowers min_quorum and target_nresults to this; 1: results are not compared." },
	{ "any-version", OPT_FLAG, FIELD(any_version), NULL,
	    "Any version of the app may compute them, unless a host has begun with one of homogeneous-app-version." },
	{ "any-class", OPT_FLAG, FIELD(any_class), NULL,
	    "Hosts of any class may compute them, unless one has begun." },
	DRY_RUN_OPTION(struct work_set_opts),
	{ 0 },
};

static const struct print_column work_set_columns[] = {
	{ "matched", "open workunits that match", PRINT_NUMBER,
	    "open workunits that match" },
	{ "changed", "changed", PRINT_NUMBER,
	    "those of them that asked for more and were changed; 0 in a dry run" },
	{ 0 },
};

struct setting {
	struct arena *a;
	const int64_t *ids;
	size_t n;
	struct work_limits limits;
	int64_t changed;
};

static enum err
work_set_in_tx(struct cmd_ctx *x, void *arg)
{
	struct setting *k = arg;

	k->changed = 0;
	return workunits_limit(
	    x->db, k->a, k->ids, k->n, &k->limits, &k->changed, x->f);
}

static enum err
set_some(struct cmd_ctx *x, struct arena *a, const struct work_picked *v, size_t n,
    struct setting *k)
{
	int64_t *ids = NEWN(a, int64_t, n + 1), changed = 0;

	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].wu.id;
	k->a = a;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		k->ids = ids + i;
		k->n = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		TRY(tools_transaction(x, work_set_in_tx, k));
		changed += k->changed;
	}
	k->changed = changed;
	return OK;
}

static enum err
work_set_all(
    struct cmd_ctx *x, const struct work_set_opts *o, struct setting *k, int64_t *sum)
{
	struct progress bar = progress_begin("changing workunits", 0);
	struct arena a = { 0 };
	struct work_pick p;
	bool more = true;
	enum err e = work_pick_begin(x, &o->pick, PICK_OPEN, &p);

	while (e == OK && more) {
		struct work_picked *v = NULL;
		size_t n = 0;

		arena_reset(&a);
		e = work_pick_step(x, &a, &p, &v, &n, &more);
		sum[0] += (int64_t)n;
		if (e == OK && !o->dry_run) {
			e = set_some(x, &a, v, n, k);
			sum[1] += k->changed;
		}
		progress_set(&bar, p.seen);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

/* Reads a limit above 0; *to stays if the option was not given. */
static enum err
work_set_limit(struct cmd_ctx *x, const char *option, const char *value, double *to)
{
	double v;

	if (value == NULL)
		return OK;
	if (!text_f64(value, &v) || v <= 0)
		return ctx_usage(
		    x, "--%s %.40s: must be a number above 0", option, value);
	*to = v;
	return OK;
}

static enum err
work_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_set_opts *o = opts;
	struct setting k = { .limits = { .memory = NO_LIMIT,
				 .disk = NO_LIMIT,
				 .bandwidth = NO_LIMIT,
				 .flops = NO_LIMIT,
				 .quorum = INT32_MAX,
				 .any_version = o->any_version,
				 .any_class = o->any_class,
				 .now = clock_now() } };
	int64_t sum[2] = { 0 }, quorum;

	(void)args, (void)n;
	if (o->memory == NULL && o->disk == NULL && o->bandwidth == NULL &&
	    o->flops == NULL && o->quorum == NULL && !o->any_version && !o->any_class)
		return ctx_usage(x, "nothing to change: name at least one limit");
	TRY(work_set_limit(x, "max-memory", o->memory, &k.limits.memory));
	TRY(work_set_limit(x, "max-disk", o->disk, &k.limits.disk));
	TRY(work_set_limit(x, "max-bandwidth", o->bandwidth, &k.limits.bandwidth));
	TRY(work_set_limit(x, "min-flops", o->flops, &k.limits.flops));
	if (o->quorum != NULL) {
		if (!text_i64(o->quorum, 1, INT32_MAX, &quorum))
			return ctx_usage(
			    x, "--max-quorum %.40s: must be 1 or more", o->quorum);
		k.limits.quorum = (int32_t)quorum;
	}
	TRY(work_set_all(x, o, &k, sum));
	if (sum[0] == 0)
		return ctx_not_found(
		    x, "no open workunit matches: %s", work_pick_text(x->a, &o->pick));
	print_record(x, work_set_columns, sum[0], sum[1]);
	return OK;
}

const struct cmd cmd_work_set = { .name = "work set",
	.args = "",
	.purpose = "lower what open work asks of hosts",
	.about =
	    "Of the open workunits that match all of the options, lowers what asks for more than an\n"
	    "option names to that, for results sent from now on.",
	.details =
	    "locus fsck and locus status name the limit that some active host meets. New work is made\n"
	    "with the numbers of its input template: correct those, too.",
	.opts = work_set_options,
	.opts_size = sizeof(struct work_set_opts),
	.columns = work_set_columns,
	.run = work_set_run };
