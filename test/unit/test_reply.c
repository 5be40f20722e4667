/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies rendered from a decision pass the checker, come back through the client's
 * parser, and suit clients of all ages.
 */
#include "test/unit/unit.h"

#include "test/unit/reply_world.h"
#include "lib/banned.h"

/* --- round trip --- */

static void check_reply_project(const struct reply *r)
{
	ck_assert_int_eq(r->scheduler_version, 803);
	ck_assert(r->dont_use_dcf && r->message_ack && !r->project_is_down);
	ck_assert(r->request_delay == 11 && r->next_rpc_delay == 600);
	ck_assert_int_eq(r->hostid, 0);
	ck_assert_int_eq(r->userid, 101);
	ck_assert_str_eq(r->project_name, "Stars & more");
	ck_assert_str_eq(r->master_url, "http://h.org/stars/");
	ck_assert_str_eq(r->account.user_name, "Ren\xc3\xa9");
	ck_assert_str_eq(r->host_venue, "home");
	ck_assert_str_eq(r->global_preferences, "\n<mod_time>5</mod_time>\n");
	ck_assert_str_eq(
	    r->project_preferences, "\n<resource_share>77</resource_share>\n");
	ck_assert_str_eq(r->code_sign_key, KEY);
	ck_assert_ptr_null(r->code_sign_key_signature);
}

/* Checks the reply's messages, acks, aborts and deletions. */
static void check_orders(const struct reply *r)
{
	ck_assert_uint_eq(r->nmessages, 2);
	ck_assert_str_eq(r->messages[0].priority, "low");
	ck_assert_str_eq(r->messages[0].text, "Hello <you> & \xc3\xa9");
	ck_assert_str_eq(r->messages[1].priority, "notice");
	ck_assert_uint_eq(r->nacks, 3);
	ck_assert_str_eq(r->acks[0], "a&b_0");
	ck_assert_uint_eq(r->naborts, 1);
	ck_assert_str_eq(r->aborts[0], "gone_0");
	ck_assert_uint_eq(r->naborts_if_not_started, 2);
	ck_assert_uint_eq(r->ndelete_files, 1);
	ck_assert_str_eq(r->delete_files[0], "old_file");
}

static void check_rendered_work(const struct reply *r)
{
	ck_assert_uint_eq(r->napps, 1);
	ck_assert_str_eq(r->apps[0].user_friendly_name, "Fold & co");
	ck_assert_uint_eq(r->napp_versions, 1);
	ck_assert_str_eq(r->app_versions[0].platform, "x86_64-pc-linux-gnu");
	ck_assert(r->app_versions[0].flops == 2e9 && r->app_versions[0].avg_ncpus == 1);
	ck_assert_uint_eq(r->nworkunits, 2);
	ck_assert_str_eq(r->workunits[1].name, "F__2");
	ck_assert_str_eq(r->workunits[1].command_line, "--wu F__2 & x");
	ck_assert_uint_eq(r->nresults, 3);
	ck_assert_str_eq(r->results[2].name, "F__2_1");
	ck_assert_str_eq(r->results[2].wu_name, "F__2");
	ck_assert_int_eq(r->results[2].version_num, 312);
	ck_assert_uint_eq(r->nfiles, 5); /* the program, F once, three outputs */
}

START_TEST(round_trip)
{
	struct world w;
	char *inside;
	struct reply *r;

	world_make(&w, "<next_rpc_delay>600</next_rpc_delay>", "");
	inside = arena_printf(&w.a,
	    "%s%s<msg_from_host>\nx\n</msg_from_host><other_results>"
	    "<other_result><name>gone_0</name></other_result>"
	    "<other_result><name>late_0</name></other_result>"
	    "<other_result><name>late_1</name></other_result></other_results>",
	    world_client, world_reports);
	w.in.req = world_request(&w, inside);
	w.dec.send_global_prefs = true;
	w.dec.aborts = (const char *[]){ "gone_0" };
	w.dec.naborts = 1;
	w.dec.aborts_if_not_started = (const char *[]){ "late_0", "late_1" };
	w.dec.naborts_if_not_started = 2;
	reply_render(&w.b, &w.in);
	ck_assert_str_eq(world_violations(&w, inside), "");
	r = world_parsed(&w);
	check_reply_project(r);
	check_orders(r);
	check_rendered_work(r);
	arena_free(&w.a);
}
END_TEST

START_TEST(user_fields)
{
	struct world w;

	world_make(&w, "", world_client);
	w.snap.host_id_changed = true;
	reply_render(&w.b, &w.in);
	has(&w, "<hostid>7</hostid>\n");
	has(&w, "<user_name>Ren&#195;&#169;</user_name>\n");
	has(&w, "<email_hash>b58996c504c5638798eb6b511e6f49af</email_hash>\n");
	has(&w, "<external_cpid>754ed44d5ad88da2d78abcaa6af27b97</external_cpid>\n");
	has(&w, "<teamid>4</teamid>\n<team_name>T&#195;&#169;am</team_name>\n");
	hasnt(&w, "<global_preferences>");
	arena_free(&w.a);
}
END_TEST

START_TEST(places_of_insertions)
{
	struct world w;

	world_make(&w, "", world_client);
	reply_render(&w.b, &w.in);
	has(&w, "</file_ref>\n    <platform>x86_64-pc-linux-gnu</platform>\n    "
		"<avg_ncpus>1.000000</avg_ncpus>\n"
		"    <flops>2000000000.000000</flops>\n</app_version>\n");
	has(&w,
	    "<workunit>\n    <rsc_fpops_est>1000000000000.000000</rsc_fpops_est>\n");
	has(&w, "    <name>F__1</name>\n    <app_name>fold</app_name>\n<file_ref>\n");
	has(&w, "<result>\n    <report_deadline>1764254800</report_deadline>\n    "
		"<wu_name>F__1</wu_name>\n"
		"    <name>F__1_0</name>\n    <file_ref>\n");
	has(&w, "    </file_ref>\n    <platform>x86_64-pc-linux-gnu</platform>\n    "
		"<version_num>312</version_num>\n"
		"    <plan_class></plan_class>\n</result>\n");
	arena_free(&w.a);
}
END_TEST

START_TEST(damaged_blobs)
{
	struct world w;

	world_make(&w, "", world_client);
	w.jobs[0].wu_xml_doc = world_str(&w, "<workunit>");
	w.jobs[1].xml_doc_in = world_str(&w, "");
	reply_render(&w.b, &w.in);
	ck_assert_uint_eq(world_parsed(&w)->nresults, 1);
	ck_assert_str_eq(world_violations(&w, world_client), "");
	arena_free(&w.a);
}
END_TEST

/* Only clients before 6.13 need a flag to list sticky files. */
START_TEST(race_10_report_flag_by_version)
{
	static const struct {
		const char *client;
		bool flag;
	} t[] = {
		{ "<core_client_major_version>6</core_client_major_version>"
		  "<core_client_minor_version>12</core_client_minor_version>",
		    true },
		{ "<core_client_major_version>6</core_client_major_version>"
		  "<core_client_minor_version>13</core_client_minor_version>",
		    false },
		{ "<core_client_major_version>7</core_client_major_version>", false },
	};

	for (size_t i = 0; i < N(t); i++) {
		struct world w;

		world_make(&w, "", t[i].client);
		w.jobs[0].wu_xml_doc = world_str(&w,
		    "<file_info>\n    <name>F</name>\n    <sticky/>\n    "
		    "<report_on_rpc/>\n    <nbytes>5</nbytes>\n</file_info>\n"
		    "<workunit>\n</workunit>\n");
		reply_render(&w.b, &w.in);
		if (t[i].flag)
			has(&w, "    <sticky/>\n    <report_on_rpc/>\n    <nbytes>");
		else
			has(&w, "    <sticky/>\n    <nbytes>");
		arena_free(&w.a);
	}
}
END_TEST

/* A GPU job, and the name of its processor type for old and new clients. */
static const struct {
	const char *major, *type;
} gpus[] = { { "7", "NVIDIA" }, { "6", "CUDA" } };

START_TEST(coproc_names)
{
	struct world w;

	world_make(&w, "",
	    _i == 0 ? "<core_client_major_version>7</"
		      "core_client_major_version><coprocs><coproc_cuda><count>1</"
		      "count></coproc_cuda></coprocs>" :
		      "<core_client_major_version>6</"
		      "core_client_major_version><coprocs><coproc_cuda><count>1</"
		      "count></coproc_cuda></coprocs>");
	w.version.plan_class = world_str(&w, "cuda");
	for (size_t i = 0; i < 3; i++) {
		w.sends[i].resource = 1;
		w.sends[i].usage = 0.5;
		w.sends[i].avg_ncpus = 0.1;
		w.sends[i].cmdline = "--nthreads 2 & more";
		w.sends[i].gpu_ram_bytes = 5e8;
		w.sends[i].memory_bound = 3e8; /* differs from the workunit's bound */
	}
	reply_render(&w.b, &w.in);
	has(&w, "    <rsc_memory_bound>300000000.000000</rsc_memory_bound>\n");
	has(&w,
	    arena_printf(&w.a,
		"    <plan_class>cuda</plan_class>\n    "
		"<avg_ncpus>0.100000</avg_ncpus>\n"
		"    <flops>2000000000.000000</flops>\n"
		"    <cmdline>--nthreads 2 &amp; more</cmdline>\n    <coproc>\n        "
		"<type>%s</type>\n"
		"        <count>0.500000</count>\n    </coproc>\n"
		"    <gpu_ram>500000000.000000</gpu_ram>\n</app_version>",
		gpus[_i].type));
	arena_free(&w.a);
}
END_TEST

START_TEST(anonymous_platform)
{
	static const char inside[] =
	    "<platform_name>anonymous</"
	    "platform_name><app_versions><app_version><app_name>fold</app_name>"
	    "<version_num>99</version_num><platform>sparc-sun-solaris</"
	    "platform><flops>4e9</flops>"
	    "<plan_class>mt</plan_class></app_version></app_versions>"
	    "<file_info><name>old_file</name></file_info>";
	struct world w;

	world_make(&w, "", inside);
	for (size_t i = 0; i < 3; i++) {
		w.sends[i].version = NULL;
		w.sends[i].client_version = 0;
	}
	reply_render(&w.b, &w.in);
	ck_assert_str_eq(world_violations(&w, inside), "");
	hasnt(&w, "<app_version>");
	has(&w, "<rsc_fpops_est>2000000000000.000000</rsc_fpops_est>"); /* 4e9 / 2e9 */
	has(&w, "    <platform>sparc-sun-solaris</platform>\n    "
		"<version_num>99</version_num>\n    <plan_class>mt</plan_class>\n");
	arena_free(&w.a);
}
END_TEST

/* --- keys --- */

static const struct {
	const char *what, *held; /* key that the client holds */
	bool wanted, key, signature;
} keys[] = {
	{ "the client has none", NULL, true, true, false },
	{ "the client has the project's", KEY, true, false, false },
	{ "the client has an older one of the project", KEY2, true, true, true },
	{ "the client has an unknown one", "1024\n77\n.", true, false, false },
	{ "the key is not wanted", NULL, false, false, false },
};

START_TEST(code_sign_keys)
{
	struct world w;

	world_make(&w, "",
	    keys[_i].held == NULL ? "" : "<code_sign_key>\n \n</code_sign_key>");
	w.q->code_sign_key = keys[_i].held == NULL ? NULL :
	                                             world_str(&w, keys[_i].held);
	w.dec.send_code_sign_key = keys[_i].wanted;
	reply_render(&w.b, &w.in);
	ck_assert_msg((strstr(w.b.p, "<code_sign_key>\n" KEY "\n</code_sign_key>\n") !=
			  NULL) == keys[_i].key,
	    "%s", keys[_i].what);
	ck_assert_msg(
	    (strstr(w.b.p,
		 "<code_sign_key_signature>\n5151\n.\n</code_sign_key_signature>\n") !=
		NULL) == keys[_i].signature,
	    "%s", keys[_i].what);
	arena_free(&w.a);
}
END_TEST

/* --- messages --- */

static const struct {
	int32_t version;
	const char *want;
} ages[] = {
	{ 41900, "<message priority=\"high\">Hello &lt;you> &amp; &#195;&#169; Look "
		 "here now</message>\n" },
	{ 61100, "<message priority=\"low\">Hello &lt;you> &amp; "
		 "&#195;&#169;</message>\n<message priority=\"high\">Look "
		 "here&#10;now</message>\n" },
	{ 61101, "<message priority=\"notice\">Look here&#10;now</message>\n" },
	{ 61200, "<message priority=\"notice\">_(\"Look\") here&#10;now</message>\n" },
	{ 72005, "<message priority=\"notice\">_(\"Look\") here&#10;now</message>\n" },
	{ 0, "<message priority=\"notice\">_(\"Look\") here&#10;now</message>\n" },
};

START_TEST(message_ages)
{
	struct world w;

	world_make(&w, "", "");
	w.q->version = ages[_i].version;
	reply_render(&w.b, &w.in);
	has(&w, ages[_i].want);
	if (ages[_i].version == 0 || ages[_i].version >= 70028)
		has(&w, "<dont_use_dcf/>\n");
	else
		hasnt(&w, "<dont_use_dcf/>\n");
	arena_free(&w.a);
}
END_TEST

/* A message is never cut within a character of several bytes. */
static const char *const letters[] = { "x", "\xc3\xa9", "\xe2\x84\xa2",
	"\xf0\x9f\x98\x80", "\xff", "<" };

START_TEST(long_messages)
{
	struct world w;
	struct buf text;
	const char *p;
	size_t n, escaped;

	world_make(&w, "", "");
	text = buf_new(&w.a);
	while (text.n < 6000)
		buf_puts(&text, letters[_i]);
	w.messages[0].text = text.p;
	reply_render(&w.b, &w.in);
	p = strstr(w.b.p, "<message priority=\"low\">") +
	    strlen("<message priority=\"low\">");
	n = (size_t)(strstr(p, "</message>") - p);
	escaped = letters[_i][0] == '<' ? 4 : strlen(letters[_i]); /* as sent */
	ck_assert_uint_eq(n, 1023 / escaped * escaped);
	ck_assert_uint_eq(
	    strlen(world_parsed(&w)->messages[0].text) % strlen(letters[_i]), 0);
	arena_free(&w.a);
}
END_TEST

START_TEST(many_messages)
{
	enum { MANY = 5000 };
	struct dec_message *all;
	struct reply *r;
	struct world w;

	world_make(&w, "", world_client);
	all = NEWN(&w.a, struct dec_message, MANY);
	for (size_t i = 0; i < MANY; i++)
		all[i].text = arena_printf(&w.a, "message %zu", i);
	w.dec.messages = all;
	w.dec.nmessages = MANY;
	reply_render(&w.b, &w.in);
	r = world_parsed(&w);
	ck_assert_uint_eq(r->nmessages, 101);
	ck_assert_str_eq(r->messages[99].text, "message 99");
	ck_assert_str_eq(r->messages[100].text, "4900 more messages are left out");
	arena_free(&w.a);
}
END_TEST

START_TEST(refusals)
{
	struct world w;
	struct reply *r;

	world_make(&w, "<ended>1</ended>", "");
	reply_render_refusal(
	    &w.b, w.cf, 72005, "Down for <maintenance>", false, 3600, true);
	ck_assert_str_eq(w.b.p,
	    "<scheduler_reply>\n<scheduler_version>803</"
	    "scheduler_version>\n<dont_use_dcf/>\n"
	    "<master_url>http://h.org/stars/</master_url>\n<ended>1</ended>\n"
	    "<request_delay>3600.000000</request_delay>\n"
	    "<message priority=\"low\">Down for &lt;maintenance></message>\n"
	    "<project_name>Stars &amp; more</project_name>\n<project_is_down/>\n"
	    "</scheduler_reply>\n");
	ck_assert_str_eq(world_violations(&w, world_reports), "");
	r = world_parsed(&w);
	ck_assert(r->project_is_down && r->request_delay == 3600);
	w.b = buf_new(&w.a);
	reply_render_refusal(&w.b, w.cf, 0, "Invalid key", true, 0, false);
	hasnt(&w, "request_delay");
	has(&w, "<message priority=\"notice\">Invalid key</message>\n");
	w.b = buf_new(&w.a);
	reply_render(&w.b, &(struct reply_in){ .conf = w.cf });
	ck_assert_str_eq(
	    world_violations(&w, ""), "a request was refused without a message\n");
	arena_free(&w.a);
}
END_TEST

/* --- flags --- */

START_TEST(no_apps)
{
	static const char gpu[] =
	    "<coprocs><coproc_cuda><count>1</count></coproc_cuda></coprocs>";
	struct world w;

	world_make(&w, "<non_cpu_intensive>1</non_cpu_intensive>", gpu);
	w.dec.no_rsc_apps = (char *[]){ world_str(&w, "NVIDIA") };
	w.dec.nno_rsc_apps = 1;
	w.q->version = 70036;
	reply_render(&w.b, &w.in);
	has(&w, "<no_cpu_apps>0</no_cpu_apps>\n<no_cuda_apps>1</"
		"no_cuda_apps>\n<no_ati_apps>0</no_ati_apps>\n<no_rsc_apps>NVIDIA</"
		"no_rsc_apps>\n");
	has(&w, "<non_cpu_intensive/>\n");
	w.b = buf_new(&w.a);
	w.q->version = 72005;
	reply_render(&w.b, &w.in);
	hasnt(&w, "no_cuda_apps");
	ck_assert_str_eq(world_parsed(&w)->no_rsc_apps[0], "NVIDIA");
	w.b = buf_new(&w.a);
	w.dec.no_rsc_apps = (char *[]){ arena_alloc(&w.a, 201) };
	memset(w.dec.no_rsc_apps[0], 0xc3, 200); /* a type that the client made up */
	reply_render(&w.b, &w.in);
	ck_assert_uint_eq(strlen(world_parsed(&w)->no_rsc_apps[0]), 200);
	w.b = buf_new(&w.a);
	w.dec.no_rsc_apps = (char *[]){ world_str(&w, "CPU"), world_str(&w, "NVIDIA") };
	w.dec.nno_rsc_apps = 2;
	reply_render(
	    &w.b, &w.in); /* no work for any type: clients would never come back */
	hasnt(&w, "no_rsc_apps");
	arena_free(&w.a);
}
END_TEST

START_TEST(not_all_acked)
{
	struct world w;
	char *inside;

	world_make(&w, "", "");
	inside = arena_printf(&w.a, "%s%s", world_client, world_reports);
	w.in.req = world_request(&w, inside);
	w.reports[1].ack = false;
	reply_render(&w.b, &w.in);
	ck_assert_str_eq(
	    world_violations(&w, inside), "the report of c_1 is not acked\n");
	arena_free(&w.a);
}
END_TEST

/* --- replies of other servers --- */

static const struct {
	const char *text, *refusal;
} foreign[] = {
	{ "", "no <scheduler_reply> start tag" },
	{ "<html></html>", "no <scheduler_reply> start tag" },
	{ "<scheduler_reply>\n<request_delay>5</request_delay>\n",
	    "no </scheduler_reply> end tag" },
	{ "<?xml version=\"1.0\"?>\n5a\n<scheduler_reply></scheduler_reply>\n0\n",
	    NULL },
	{ "<scheduler_reply><file_info><name>a</name><url>http://h/?a&b</url></"
	  "file_info><gui_urls><gui_url>&</gui_url></gui_urls></scheduler_reply>",
	    NULL },
};

START_TEST(foreign_replies)
{
	struct arena a = { 0 };
	struct reply *r;
	struct fail f = { 0 };
	enum err e = reply_parse(
	    &a, foreign[_i].text, strlen(foreign[_i].text), &r, &f);

	if (foreign[_i].refusal != NULL)
		ck_assert_msg(
		    e == E_BADREQ && strstr(f.detail, foreign[_i].refusal) != NULL,
		    "%s", f.detail);
	else
		ck_assert_msg(e == OK, "%s", f.detail);
	if (e == OK && r->nfiles == 1)
		ck_assert_str_eq(r->files[0].urls[0], "http://h/?a&b");
	arena_free(&a);
}
END_TEST

UNIT_MAIN("reply", {
	ADD(round_trip);
	ADD(user_fields);
	ADD(places_of_insertions);
	ADD(damaged_blobs);
	ADD(race_10_report_flag_by_version);
	ADD_LOOP(coproc_names, N(gpus));
	ADD(anonymous_platform);
	ADD_LOOP(code_sign_keys, N(keys));
	ADD_LOOP(message_ages, N(ages));
	ADD_LOOP(long_messages, N(letters));
	ADD(many_messages);
	ADD(refusals);
	ADD(no_apps);
	ADD(not_all_acked);
	ADD_LOOP(foreign_replies, N(foreign));
})
