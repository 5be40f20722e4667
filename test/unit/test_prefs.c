/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing preferences at a venue. */
#include "proto/prefs.h"

#include "lib/buf.h"
#include "lib/rng.h"
#include "model/request.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { NOW = 1000 };

static const struct {
	const char *venue, *text, *want;
} cases[] = {
#define CASE(venue, text, want) { venue, text, want },
#include "test/unit/prefs_cases.def"
#undef CASE
};

static char *said(struct arena *a, const struct project_prefs *p)
{
	struct buf b = buf_new(a);

	for (size_t i = 0; i < p->napps; i++)
		buf_printf(&b, "%s %lld", i == 0 ? " apps" : "", (long long)p->apps[i]);
	if (p->allow_non_preferred_apps)
		buf_puts(&b, " other");
	if (p->allow_beta_work)
		buf_puts(&b, " beta");
	if (p->max_cpus != 0)
		buf_printf(&b, " cpus %d", p->max_cpus);
	if (p->max_jobs != 0)
		buf_printf(&b, " jobs %d", p->max_jobs);
	for (size_t i = 0; i < p->nno_rsc; i++)
		buf_printf(&b, "%s %s", i == 0 ? " no" : "", p->no_rsc[i]);
	if (p->bad != NULL)
		buf_printf(&b, " bad %s", p->bad);
	return b.n > 0 ? b.p + 1 : b.p;
}

START_TEST(project)
{
	struct arena a = { 0 };
	struct project_prefs p = prefs_project(&a, cases[_i].text, cases[_i].venue);

	ck_assert_msg(strcmp(said(&a, &p), cases[_i].want) == 0, "%s at \"%s\": %s",
	    cases[_i].text, cases[_i].venue, said(&a, &p));
	arena_free(&a);
}
END_TEST

/* Elements that only the project knows are read from the venue. */
START_TEST(own_elements)
{
	static const char text[] = "<project_preferences><fast>1</fast>"
				   "<venue name=\"home\"><fast>2</fast></venue>"
				   "</project_preferences>";
	struct arena a = { 0 };
	const char *outside = prefs_project(&a, text, "").text;
	const char *home = prefs_project(&a, text, "home").text;

	ck_assert_ptr_nonnull(strstr(outside, "<fast>1</fast>"));
	ck_assert_ptr_null(strstr(outside, "<fast>2</fast>"));
	ck_assert_ptr_nonnull(strstr(home, "<fast>2</fast>"));
	ck_assert_ptr_null(strstr(home, "<fast>1</fast>"));
	ck_assert_ptr_null(prefs_project(&a, "", "").text);
	arena_free(&a);
}
END_TEST

START_TEST(no_text_at_all)
{
	struct arena a = { 0 };
	struct project_prefs p = prefs_project(&a, NULL, NULL);

	ck_assert_str_eq(said(&a, &p), "");
	ck_assert(!prefs_refuse_resource(&p, "CPU"));
	ck_assert_double_eq(prefs_global(&a, NULL, NULL, NOW).mod_time, 0);
	arena_free(&a);
}
END_TEST

/* no_gpus is about any device that does graphics, and a preference about a kind of them
 * about those that the client names by their model. */
static const struct {
	const char *prefs, *type, *kind;
	bool opencl, refused;
} devices[] = {
	{ "<no_gpus>1</no_gpus>", "NVIDIA", NULL, false, true },
	{ "<no_gpus>1</no_gpus>", "Mali-T628", NULL, true, true },
	{ "<no_gpus>1</no_gpus>", "miner_asic", NULL, false, false },
	{ "<no_gpus>1</no_gpus>", "CPU", NULL, true, false },
	{ "<no_apple_gpu>1</no_apple_gpu>", "Apple M1 Pro", "apple_gpu", true, true },
	{ "<no_apple_gpu>1</no_apple_gpu>", "Mali-T628", NULL, true, false },
	{ "<no_rsc>Mali-T628</no_rsc>", "Mali-T628", NULL, true, true },
	{ "<no_cuda>1</no_cuda>", "Mali-T628", NULL, true, false },
};
START_TEST(refused_devices)
{
	struct arena a = { 0 };
	struct project_prefs p = prefs_project(&a,
	    arena_printf(&a,
		"<project_preferences><project_specific>%s</project_specific></project_preferences>",
		devices[_i].prefs),
	    NULL);
	struct rq_resource r = { .type = arena_strdup(&a, devices[_i].type),
		.kind = arena_strdup(&a, devices[_i].kind),
		.have_opencl = devices[_i].opencl };

	ck_assert_int_eq(prefs_refuse_device(&p, &r), devices[_i].refused);
	arena_free(&a);
}
END_TEST

/* venue, text: mod_time, disk_max_used_gb */
#define IN(text)   "<global_preferences>" text "</global_preferences>"
#define HOME(text) "<venue name=\"home\">" text "</venue>"
#define TIME(t)    "<mod_time>" t "</mod_time>"
#define DISK(gb)   "<disk_max_used_gb>" gb "</disk_max_used_gb>"
static const struct {
	const char *venue, *text;
	double mod_time, disk;
} globals[] = {
	{ "", "", 0, 0 },
	{ "", IN(TIME("5") DISK("7")), 5, 7 },
	{ "", IN(TIME("5") HOME(TIME("9") DISK("8")) DISK("7")), 5, 7 },
	{ "home", IN(TIME("5") HOME(TIME("9") DISK("8")) DISK("7")), 5, 8 },
	{ "home", IN(TIME("5") HOME("") DISK("7")), 5, 0 },
	{ "work", IN(TIME("5") HOME(DISK("8"))), 5, 0 },
	{ "", IN(TIME("1e9")), NOW, 0 },
	{ "", IN(TIME("-3")), 0, 0 },
	{ "", IN(TIME("nan") DISK("inf")), 0, 0 },
	{ "", TIME("5") DISK("7"), 0, 0 },
	{ "", IN(TIME("5") "a & b <" DISK("7")), 5, 7 },
};

START_TEST(global)
{
	struct arena a = { 0 };
	struct rq_prefs p = prefs_global(&a, globals[_i].text, globals[_i].venue, NOW);

	ck_assert_double_eq(p.mod_time, globals[_i].mod_time);
	ck_assert_double_eq(p.disk_max_used_gb, globals[_i].disk);
	arena_free(&a);
}
END_TEST

/* An invalid number counts as missing, and is reported. */
#define BUFFER(days) "<work_buf_min_days>" days "</work_buf_min_days>"
static const struct {
	const char *venue, *text;
	bool has;
	double days;
	const char *bad;
} bad_globals[] = {
	{ "", IN(BUFFER("0.5")), true, 0.5, NULL },
	{ "", IN(BUFFER(" 0 ")), true, 0, NULL },
	{ "", IN(BUFFER("0,5")), false, 0, "<work_buf_min_days> \"0,5\"" },
	{ "", IN(BUFFER("a &amp; b")), false, 0, "<work_buf_min_days> \"a & b\"" },
	{ "", IN(BUFFER("")), false, 0, NULL },
	{ "", IN(BUFFER("1") DISK("1,5")), true, 1, "<disk_max_used_gb> \"1,5\"" },
	{ "", IN(BUFFER("1") HOME(BUFFER("2,5"))), true, 1, NULL },
	{ "home", IN(BUFFER("1") HOME(BUFFER("2,5"))), false, 0,
	    "<work_buf_min_days> \"2,5\"" },
	{ "home", IN(BUFFER("1,5") HOME(BUFFER("2.5"))), true, 2.5, NULL },
};
START_TEST(invalid_numbers)
{
	struct arena a = { 0 };
	struct rq_prefs p = prefs_global(
	    &a, bad_globals[_i].text, bad_globals[_i].venue, NOW);

	ck_assert(p.has_work_buf_min == bad_globals[_i].has);
	ck_assert_double_eq(p.work_buf_min_days, bad_globals[_i].days);
	ck_assert_pstr_eq(p.bad, bad_globals[_i].bad);
	arena_free(&a);
}
END_TEST

/* Any bytes from a stranger give an answer and no crash. */
START_TEST(any_bytes)
{
	static const char *const words[] = { "<venue name=\"home\">", "</venue>",
		"<app_id>", "</app_id>", "1", "<project_specific>",
		"</project_preferences>", "<project_preferences>", "&", "<", "\xff",
		"<![CDATA[", "]]>", "<global_preferences>", "<!--" };
	struct rng rng = rng_seed(4711);

	for (int round = 0; round < 3000; round++) {
		struct arena a = { 0 };
		struct buf b = buf_new(&a);

		for (uint64_t n = rng_below(&rng, 40); n > 0; n--)
			buf_puts(&b, words[rng_below(&rng, N(words))]);
		prefs_project(&a, b.p, "home");
		prefs_global(&a, b.p, "home", NOW);
		arena_free(&a);
	}
}
END_TEST

UNIT_MAIN("prefs", {
	ADD_LOOP(project, N(cases));
	ADD(own_elements);
	ADD(no_text_at_all);
	ADD_LOOP(invalid_numbers, N(bad_globals));
	ADD_LOOP(global, N(globals));
	ADD_LOOP(refused_devices, N(devices));
	ADD(any_bytes);
})
