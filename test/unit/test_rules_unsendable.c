/* SPDX-License-Identifier: Apache-2.0 */
/* Work that no host can get: a table of worlds, and a table of the refusal reasons. */
#include "test/unit/unit.h"

#include "lib/arena.h"
#include "model/decision.h"
#include "rules/sched/unsendable.h"
#include "lib/banned.h"

struct world {
	struct conf cf;
	struct app app;
	struct platform p[2];
	struct app_version v[2];
	struct plan_class pc[2];
	struct plan_classes classes;
	struct catalog c;
	struct host_kind kind;
	struct fleet f;
	struct demand d;
	char *mt, *gpu, *none; /* names of classes */
};

static void world_init(struct arena *a, struct world *w)
{
	char *no = arena_strdup(a, ""), *app = arena_strdup(a, "app");

	*w = (struct world){ .app = { .id = 1, .name = app },
		.mt = arena_strdup(a, "mt"),
		.gpu = arena_strdup(a, "gpu"),
		.none = arena_strdup(a, "none"),
		.f = { .hosts = 2,
		    .users = 2,
		    .memory = 4e9,
		    .disk = 2e10,
		    .link = 1e6,
		    .flops = 1e9 },
		.d = { .appid = 1,
		    .workunits = 1,
		    .memory = 1e9,
		    .disk = 1e9,
		    .flops = 1e6,
		    .quorum = 1 } };
	w->p[0] = (struct platform){ .id = 1,
		.name = arena_strdup(a, "x86_64-pc-linux-gnu") };
	w->p[1] = (struct platform){ .id = 2,
		.name = arena_strdup(a, "i686-pc-linux-gnu") };
	for (int i = 0; i < 2; i++)
		w->v[i] = (struct app_version){ .id = 11 + i,
			.appid = 1 + i,
			.version_num = 101,
			.platformid = 1,
			.plan_class = no };
	w->pc[0] = (struct plan_class){ .name = w->mt, .gpu_type = no };
	w->pc[1] = (struct plan_class){ .name = w->gpu,
		.gpu_type = arena_strdup(a, "nvidia") };
	w->classes = (struct plan_classes){ .classes = w->pc, .n = 2 };
	w->c = (struct catalog){ .apps = &w->app,
		.napps = 1,
		.platforms = w->p,
		.nplatforms = 2,
		.versions = w->v,
		.nversions = 1,
		.classes = &w->classes };
	w->kind = (struct host_kind){ arena_strdup(a, "Linux"),
		arena_strdup(a, "GenuineIntel"),
		arena_strdup(a, "Intel(R) Core(TM) i7") };
	w->f.kinds = &w->kind;
	w->f.nkinds = 1;
}

#define CASE(name, change, codes)                                                      \
	static void change_##name(struct world *w)                                     \
	{                                                                              \
		(void)w;                                                               \
		change                                                                 \
	}
#define UNSENDABLE_CASES
#include "test/unit/rules_unsendable.def"
#undef CASE

static const struct unsendable_case {
	const char *name;
	void (*change)(struct world *);
	const char *codes;
} cases[] = {
#define CASE(name, change, codes) { #name, change_##name, codes },
#include "test/unit/rules_unsendable.def"
#undef CASE
#undef UNSENDABLE_CASES
};

START_TEST(unsendable_case)
{
	const struct unsendable_case *t = &cases[_i];
	struct arena a = { 0 };
	struct world w;
	struct lack l[UNSENDABLE__MAX];
	char *got = arena_strdup(&a, "");

	world_init(&a, &w);
	t->change(&w);
	unsendable(&w.cf, &w.c, &w.f, &w.d, l);
	for (int i = 0; i < UNSENDABLE__MAX; i++)
		if (l[i].is)
			got = arena_printf(&a, "%s%s ", got, unsendable_words[i].code);
	ck_assert_msg(strcmp(got, t->codes) == 0, "%s: \"%s\"", t->name, got);
	arena_free(&a);
}
END_TEST

static const struct {
	enum unsendable code;
	double needs, has;
	const char *said;
} figures_said[] = {
	{ UNSENDABLE_MEMORY, 8e9, 4e9, "8.0 GB, the most is 4.0 GB" },
	{ UNSENDABLE_LINK, 2e6, 1e6, "2.0 MB/s, the most is 1.0 MB/s" },
	{ UNSENDABLE_SPEED, 2e9, 1e9, "2.0 GFLOPS, the most is 1.0 GFLOPS" },
	{ UNSENDABLE_HOSTS, 3, 2, "3, the most is 2" },
	{ UNSENDABLE_CLASS, 0, 0, "" },
};

START_TEST(figures)
{
	struct arena a = { 0 };
	struct lack l = { true, figures_said[_i].needs, figures_said[_i].has };

	const char *says = unsendable_says(&a, figures_said[_i].code, &l, "sums");

	ck_assert_str_eq(
	    unsendable_figures(&a, figures_said[_i].code, &l), figures_said[_i].said);
	ck_assert_ptr_nonnull(strstr(says, figures_said[_i].said));
	ck_assert_ptr_nonnull(
	    strstr(says, unsendable_cure(&a, figures_said[_i].code, &l, "sums")));
	ck_assert_ptr_null(strchr(says, '{'));
	arena_free(&a);
}
END_TEST

static const struct {
	enum reason reason;
	const char *told; /* codes; NULL: the reason cannot hold for all hosts */
} reasons_told[] = {
#define FOR_ALL(reason, codes)   { WHY_##reason, codes },
#define NOT_FOR_ALL(reason, why) { WHY_##reason, NULL },
#define REASON_CASES
#include "test/unit/rules_unsendable.def"
#undef REASON_CASES
#undef FOR_ALL
#undef NOT_FOR_ALL
};

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)) != NULL; p++)
		if ((p == list || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

/*
 * Every new reason needs an entry that says whether it can keep work from all hosts for
 * ever.
 */
START_TEST(every_reason_is_in_the_table)
{
	ck_assert_uint_eq(N(reasons_told), WHY__MAX);
	for (size_t i = 0; i < N(reasons_told); i++)
		ck_assert_int_eq(reasons_told[i].reason, (int)i);
}
END_TEST

START_TEST(every_code_tells_of_a_reason)
{
	for (int c = 0; c < UNSENDABLE__MAX; c++) {
		int found = 0;

		for (size_t i = 0; i < N(reasons_told); i++)
			found += reasons_told[i].told != NULL &&
			         has_word(
				     reasons_told[i].told, unsendable_words[c].code);
		ck_assert_msg(found > 0, "%s", unsendable_words[c].code);
	}
}
END_TEST

UNIT_MAIN("rules_unsendable", {
	ADD_LOOP(unsendable_case, N(cases));
	ADD_LOOP(figures, N(figures_said));
	ADD(every_reason_is_in_the_table);
	ADD(every_code_tells_of_a_reason);
})
