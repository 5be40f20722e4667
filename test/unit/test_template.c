/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of templates and the defaults of their limits; tables in template_cases.def.
 */
#include "test/unit/unit.h"

#include <string.h>
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/template_check.h"
#include "lib/banned.h"

static struct arena a;

static void teardown(void)
{
	arena_free(&a);
}

static const struct {
	const char *what, *tmpl;
	int use; /* -1 = an output template */
	const char *faults;
} cases[] = {
#define FAULTS_IN(what, tmpl, use, faults) { what, tmpl, use, faults },
#define FAULTS_OUT(what, tmpl, faults)     { what, tmpl, -1, faults },
#include "test/unit/template_cases.def"
};

/* Each expected part begins a fault, in order, and there is no other one. */
START_TEST(faults_of_templates)
{
	struct tmpl_faults all;
	struct fail f = { 0 };
	size_t i = 0, errors;
	char *save = NULL, *want = arena_strdup(&a, cases[_i].faults);

	if (cases[_i].use < 0)
		tmpl_check_output(&a, cases[_i].tmpl, &all);
	else
		tmpl_check_input(&a, cases[_i].tmpl,
		    (struct tmpl_use){
			.large = cases[_i].use == 1 || cases[_i].use == 2,
			.ranges = cases[_i].use == 2,
			.perhaps_large = cases[_i].use == 3 },
		    &all);
	for (char *w = strtok_r(want, "|", &save); w != NULL;
	     w = strtok_r(NULL, "|", &save), i++) {
		const char *got = i >= all.n ? "nothing" :
		                               arena_printf(&a, "%d: %s", all.v[i].line,
						   all.v[i].text);

		ck_assert_msg(strncmp(got, w, strlen(w)) == 0, "%s: %s, not %s",
		    cases[_i].what, got, w);
	}
	errors = 0;
	for (size_t k = 0; k < all.n; k++)
		errors += all.v[k].error;
	/* who makes jobs accepts what is good, and refuses an element that is not */
	if (errors == 0 || strstr(cases[_i].faults, "did you mean <") != NULL)
		ck_assert_int_eq(
		    tmpl_check_elements(&a, cases[_i].tmpl, cases[_i].use < 0, "t", &f),
		    errors == 0 ? OK : E_BADREQ);
	ck_assert_msg(
	    all.n == i, "%s: also %s", cases[_i].what, i < all.n ? all.v[i].text : "");
}
END_TEST

START_TEST(limits_have_defaults)
{
	struct workunit w = { .name = arena_strdup(&a, "w") };
	struct fail f = { 0 };
	char *doc;

	ck_assert_int_eq(
	    blob_workunit(&a, "<workunit/>", NULL, 0, NULL, &w, &doc, &f), OK);
	ck_assert_double_eq(w.rsc_fpops_est, 3600e9);
	ck_assert_double_eq(w.rsc_fpops_bound, 86400e9);
	ck_assert_double_eq(w.rsc_memory_bound, 5e8);
	ck_assert_double_eq(w.rsc_disk_bound, 1e9);
	ck_assert_int_eq(w.delay_bound, 7 * 86400);
	ck_assert_int_eq(w.min_quorum, 2);
	ck_assert_int_eq(w.target_nresults, 2);
	ck_assert_int_eq(w.max_error_results, 3);
	ck_assert_int_eq(w.max_total_results, 10);
	ck_assert_int_eq(w.max_success_results, 6);
}
END_TEST

/* What the caller or the template gives stays, and the others give way to it. */
START_TEST(defaults_give_way)
{
	struct workunit w = { .name = arena_strdup(&a, "w"), .delay_bound = 100 };
	struct fail f = { 0 };
	char *doc;

	ck_assert_int_eq(blob_workunit(&a,
			     "<workunit><rsc_fpops_est>1e16</rsc_fpops_est>"
			     "<min_quorum>12</min_quorum></workunit>",
			     NULL, 0, NULL, &w, &doc, &f),
	    OK);
	ck_assert_double_eq(w.rsc_fpops_bound, 24e16);
	ck_assert_int_eq(w.delay_bound, 100);
	ck_assert_int_eq(w.target_nresults, 12);
	ck_assert_int_eq(w.max_success_results, 12);
	ck_assert_int_eq(w.max_total_results, 12);
}
END_TEST

/* What is in a file_info or result goes to clients. */
START_TEST(comments_stay_here)
{
	const char *tmpl =
	    "<!-- a -->\n<output_template>\n<file_info>\n    <name><OUTFILE_0/></name>\n"
	    "    <!-- <b>\n  more -->\n    <max_nbytes>5</max_nbytes> <!-- c -->\n"
	    "</file_info>\n<result>\n    <!-- d --><report_immediately/>\n</result>\n</output_template>\n";
	struct fail f = { 0 };
	char *doc;

	ck_assert_msg(blob_result(&a, tmpl, "r", 1, "http://h/", NULL, &doc, &f) == OK,
	    "%s", f.detail);
	ck_assert_str_eq(doc,
	    "<file_info>\n    <name>r_r1_0</name>\n    <max_nbytes>5</max_nbytes>\n"
	    "</file_info>\n<result>\n    <report_immediately/>\n</result>\n");
	ck_assert_int_eq(blob_check_output(&a, "<result/><!-- x", &f), E_BADREQ);
}
END_TEST

START_TEST(rules_are_complete)
{
	for (size_t i = 0; i < tmpl_nrules; i++) {
		const struct tmpl_rule *r = &tmpl_rules[i];

		ck_assert_msg(r->help[0] != '\0', "%s", r->name);
		ck_assert_msg(
		    r->type == TMPL_REFUSED || r->example[0] != '\0', "%s", r->name);
	}
}
END_TEST

UNIT_MAIN("template", {
	tcase_add_checked_fixture(tc, NULL, teardown);
	ADD_LOOP(faults_of_templates, N(cases));
	ADD(limits_have_defaults);
	ADD(defaults_give_way);
	ADD(comments_stay_here);
	ADD(rules_are_complete);
})
