/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of replies beside work: the project's own texts, messages for tasks, flags
 * by the age of the client; and stored texts byte for byte.
 */
#include "test/unit/unit.h"

#include "lib/xml.h"
#include "test/unit/reply_world.h"
#include "lib/banned.h"

/* --- the project's own texts --- */

static const struct {
	enum project_text kind;
	const char *in, *out, *why;
} checked[] = {
#define CHECKED(kind, in, out, why) { TEXT_##kind, in, out, why },
#include "test/unit/project_texts.def"
};

START_TEST(texts_checked)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	const char *in = checked[_i].in;
	char *out;
	enum err e = project_text_check(&a, checked[_i].kind, in, strlen(in), &out, &f);

	if (checked[_i].out == NULL) {
		ck_assert_int_eq(e, E_BADREQ);
		ck_assert_msg(
		    strstr(f.detail, checked[_i].why) != NULL, "%s: %s", in, f.detail);
	} else {
		ck_assert_msg(e == OK, "%s: %s", in, f.detail);
		ck_assert_str_eq(out, checked[_i].out);
	}
	arena_free(&a);
}
END_TEST

static const struct {
	const char *text, *full, *weak;
} filled[] = {
#define FILLED(text, full, weak) { text, full, weak },
#include "test/unit/project_texts.def"
};

START_TEST(texts_filled)
{
	struct world w;
	struct buf b;
	struct user u = { .id = 7, .teamid = 4 };
	struct text_fill x = { .user = &u, .hostid = 9, .team_name = "T" };

	world_make(&w, "", "");
	u.name = world_str(&w, "J & <K>");
	u.authenticator = world_str(&w, "key");
	u.passwd_hash = world_str(&w, "hash");
	x.conf = w.cf;
	b = buf_new(&w.a);
	project_text_fill(&b, filled[_i].text, &x);
	ck_assert_str_eq(b.p, filled[_i].full);
	u.teamid = 0;
	x.team_name = "";
	x.weak_auth = true;
	b = buf_new(&w.a);
	project_text_fill(&b, filled[_i].text, &x);
	ck_assert_str_eq(b.p, filled[_i].weak);
	arena_free(&w.a);
}
END_TEST

START_TEST(texts_in_replies)
{
	static const char *const texts[PROJECT_TEXTS] = {
		"<gui_urls>\n<gui_url>\n<url>u?<userid/>&amp;x</url>\n</gui_url>\n"
		"</gui_urls>\n<rss_feeds>\n<rss_feed>\n<url>f</url>\n"
		"<poll_interval>3600</poll_interval>\n</rss_feed>\n</rss_feeds>\n",
		"<file_info>\n<name>F</name>\n<url>http://h.org/other</url>\n"
		"</file_info>\n<file_info>\n<name>icon</name>\n"
		"<url>http://h.org/icon</url>\n</file_info>\n<project_files>\n"
		"<file_ref>\n<file_name>icon</file_name>\n</file_ref>\n"
		"</project_files>\n",
	};
	struct world w;

	world_make(&w,
	    "<trickle_up_url>http://b.org/cgi</trickle_up_url>"
	    "<trickle_up_url>http://c.org/?a&amp;b</trickle_up_url>",
	    world_client);
	w.in.texts = texts;
	w.dec.send_job_log = 1764000000;
	w.dec.send_time_stats_log = 1764000001;
	reply_render(&w.b, &w.in);
	ck_assert_str_eq(world_violations(&w, world_client), "");
	has(&w, "<url>u?101&amp;x</url>\n");
	has(&w, "<rss_feeds>\n<rss_feed>\n<url>f</url>");
	has(&w, "<name>icon</name>\n");
	hasnt(&w, "http://h.org/other"); /* F is described once, by its workunit */
	has(&w, "<trickle_up_urls>\n    <url>http://b.org/cgi</url>\n"
		"    <url>http://c.org/?a&amp;b</url>\n</trickle_up_urls>\n");
	has(&w, "<send_job_log>1764000000</send_job_log>\n");
	has(&w, "<send_time_stats_log>1764000001</send_time_stats_log>\n");
	arena_free(&w.a);
}
END_TEST

/* --- messages for tasks --- */

START_TEST(messages_for_tasks)
{
	static const char first[] =
	    "<trickle_down>\n<result_name>F__1_0</result_name>\n"
	    "<time>1763651000</time>\n<x> a & \xe9 </x>\n</trickle_down>\n";
	static const char second[] =
	    "<trickle_down>\n<result_name>r</result_name>\n<time>1</time>\n"
	    "</trickle_down>";
	struct world w;

	world_make(&w, "", world_client);
	w.dec.down = (struct snap_message[]){ { 1, world_str(&w, first) },
		{ 2, world_str(&w, second) } };
	w.dec.ndown = 2;
	reply_render(&w.b, &w.in);
	has(&w, first);
	has(&w, arena_printf(&w.a, "\n%s\n", second)); /* on lines of its own */
	ck_assert_str_eq(world_violations(&w, world_client), "");
	ck_assert_uint_eq(world_parsed(&w)->nresults, 3);
	arena_free(&w.a);
}
END_TEST

/* --- flags --- */

static const struct {
	int32_t version;
	bool verify, bound;
} ages[] = {
	{ 61000, true, false },
	{ 72200, true, false },
	{ 72201, false, false },
	{ 80099, false, false },
	{ 80100, false, true },
};

/* Flags are in every reply, refusals too, because clients forget a flag that is
 * missing. */
START_TEST(flags_stay)
{
	struct world w;

	world_make(&w,
	    "<ended>1</ended><non_cpu_intensive>1</non_cpu_intensive>"
	    "<strict_memory_bound>1</strict_memory_bound><workload_sim/>"
	    "<verify_files_on_app_start>1</verify_files_on_app_start>"
	    "<next_rpc_delay>60</next_rpc_delay>",
	    "");
	w.q->version = ages[_i].version;
	for (int refused = 0; refused < 2; refused++) {
		w.b = buf_new(&w.a);
		if (refused)
			reply_render_refusal(
			    &w.b, w.cf, ages[_i].version, "no", false, 5, false);
		else
			reply_render(&w.b, &w.in);
		has(&w, "<ended>1</ended>\n");
		has(&w, "<non_cpu_intensive/>\n");
		has(&w, "<send_full_workload/>\n");
		has(&w, "<next_rpc_delay>60.000000</next_rpc_delay>\n");
		ck_assert_int_eq(
		    strstr(w.b.p, "<verify_files_on_app_start/>\n") != NULL,
		    ages[_i].verify);
		ck_assert_int_eq(
		    strstr(w.b.p, "<strict_memory_bound/>\n") != NULL, ages[_i].bound);
	}
	arena_free(&w.a);
}
END_TEST

/* Only clients that know the element receive it. */
START_TEST(no_work_because_of_deadlines)
{
	static const char *const caps[] = { "", "<client_cap_no_work_deadlines/>" };

	for (int knows = 0; knows < 2; knows++)
		for (int so = 0; so < 2; so++) {
			struct world w;

			world_make(&w, "", caps[knows]);
			w.dec.no_work_deadlines = so;
			reply_render(&w.b, &w.in);
			ck_assert_int_eq(
			    strstr(w.b.p, "<no_work_deadlines/>\n") != NULL,
			    knows && so);
			ck_assert_int_eq(
			    world_parsed(&w)->no_work_deadlines, knows && so);
			arena_free(&w.a);
		}
}
END_TEST

START_TEST(sporadic_apps)
{
	static const int32_t versions[] = { 72499, 72500 };
	struct world w;

	for (size_t i = 0; i < N(versions); i++) {
		world_make(&w, "<sporadic_app>fold</sporadic_app>", world_client);
		w.q->version = versions[i];
		reply_render(&w.b, &w.in);
		if (i == 0)
			hasnt(&w, "sporadic");
		else
			has(&w, "    <sporadic>1</sporadic>\n</app>\n");
		arena_free(&w.a);
	}
}
END_TEST

/* --- texts of any length --- */

START_TEST(long_names)
{
	struct world w;
	char *text;

	world_make(&w, "", "");
	text = arena_alloc(&w.a, 255);
	for (size_t i = 0; i < 254; i += 2) /* 762 bytes when escaped */
		memcpy(text + i, "\xd0\xb6", 2);
	w.snap.user.name = text;
	w.snap.team_name = text;
	w.snap.host.venue = arena_printf(&w.a, "%s<<", text);
	w.app.user_friendly_name = text;
	w.snap.user.cross_project_id = text;
	reply_render(&w.b, &w.in);
	has(&w, arena_printf(&w.a, "<user_name>%s</user_name>\n", text));
	has(&w, arena_printf(&w.a, "<team_name>%s</team_name>\n", text));
	has(&w, arena_printf(&w.a, "<host_venue>%s</host_venue>\n", text));
	hasnt(&w, "<cross_project_id>"); /* a truncated id would be a different id */
	ck_assert_str_eq(world_violations(&w, world_client), "");
	arena_free(&w.a);
}
END_TEST

static const struct {
	const char *ids;
	bool sent;
} keywords[] = { { "3 17 4", true }, { "", false }, { "  ", false }, { "3,17", false },
	{ "</x>", false } };

START_TEST(keyword_ids)
{
	struct world w;
	char *line;

	world_make(&w, "", world_client);
	w.jobs[0].keywords = world_str(&w, keywords[_i].ids);
	reply_render(&w.b, &w.in);
	line = arena_printf(
	    &w.a, "<job_keyword_ids>%s</job_keyword_ids>\n", keywords[_i].ids);
	ck_assert_int_eq(strstr(w.b.p, line) != NULL, keywords[_i].sent);
	ck_assert_str_eq(world_violations(&w, world_client), "");
	arena_free(&w.a);
}
END_TEST

/* --- stored texts --- */

/* The reply contains the row unchanged but for the elements that the sender inserts. */
START_TEST(blobs_byte_for_byte)
{
	static const char wu_files[] =
	    "<file_info>\n\t<name>F</name> \n\n<sticky/>\n"
	    "  <url>http://h.org/F?a=1&b=2</url>\n</file_info>\n\n  \n";
	static const char wu_rest[] =
	    "\n  <command_line>\n--x \"a & b\"  \t<'\xe9\xc3\xa9'\n</command_line>\n"
	    "<file_ref>\n\n<file_name>F</file_name>\t<open_name>in</open_name>\n"
	    "</file_ref>\n<credit> 5 </credit>\n";
	static const char result_rest[] =
	    "   <file_ref>\n<file_name>F__1_0_r1_0</file_name>\n"
	    "<open_name>out & in</open_name></file_ref>\n\n<report_immediately/>\n";
	static const char version_rest[] =
	    "    <app_name>fold</app_name>\n\n <version_num>312</version_num>\n"
	    "<file_prefix>a & b</file_prefix><file_ref>\n"
	    "<file_name>fold_312</file_name>\n<main_program/></file_ref>\n";
	struct world w;

	world_make(&w, "", world_client);
	w.jobs[0].wu_xml_doc = arena_printf(
	    &w.a, "%s<workunit>\n%s</workunit>\n", wu_files, wu_rest);
	w.jobs[0].xml_doc_in = arena_printf(&w.a, "%.*s<result>\n%s</result>",
	    (int)(strstr(w.jobs[0].xml_doc_in, "<result>") - w.jobs[0].xml_doc_in),
	    w.jobs[0].xml_doc_in, result_rest);
	w.version.xml_doc = arena_printf(&w.a, "%.*s<app_version>\n%s</app_version>\n",
	    (int)(strstr(w.version.xml_doc, "<app_version>") - w.version.xml_doc),
	    w.version.xml_doc, version_rest);
	reply_render(&w.b, &w.in);
	has(&w, wu_files);
	has(&w, arena_printf(
		    &w.a, "    <app_name>fold</app_name>\n%s</workunit>\n", wu_rest));
	has(&w, arena_printf(
		    &w.a, "    <name>F__1_0</name>\n%s    <platform>", result_rest));
	has(&w, arena_printf(&w.a, "<app_version>\n%s    <platform>", version_rest));
	arena_free(&w.a);
}
END_TEST

/* The host of the request is at UTC+1; a file elsewhere keeps its URL. */
static const struct {
	const char *mirrors, *urls;
} mirrored[] = {
	{ "", "<url>http://h.org/d/8a/F</url>\n" },
	{ "<download_mirror>http://far.org/d +9</download_mirror>"
	  "<download_mirror>http://near.org/d/ +1</download_mirror>",
	    "<url>http://near.org/d/8a/F</url>\n    <url>http://far.org/d/8a/F</url>\n"
	    "    <url>http://h.org/d/8a/F</url>\n" },
	{ "<download_mirror>http://far.org/d +9</download_mirror>"
	  "<download_mirror>http://h.org/d +1</download_mirror>",
	    "<url>http://h.org/d/8a/F</url>\n    <url>http://far.org/d/8a/F</url>\n" },
	{ "<max_download_urls_per_file>2</max_download_urls_per_file>"
	  "<download_mirror>http://far.org/d +9</download_mirror>"
	  "<download_mirror>http://near.org/d +1</download_mirror>",
	    "<url>http://near.org/d/8a/F</url>\n    <url>http://h.org/d/8a/F</url>\n" },
};

START_TEST(mirrors_of_files)
{
	struct world w;

	world_make(&w, mirrored[_i].mirrors, world_client);
	w.cf->download_url = world_str(&w, "http://h.org/d/");
	w.q->host.timezone = 3600;
	w.jobs[0].wu_xml_doc = world_str(&w,
	    "<file_info>\n<name>F</name>\n<url>http://h.org/d/8a/F</url>\n"
	    "<url>http://h.org/data/F</url>\n<url>http://x.org/?http://h.org/d/F</url>\n"
	    "<nbytes>1</nbytes>\n</file_info>\n<workunit>\n</workunit>\n");
	reply_render(&w.b, &w.in);
	has(&w, arena_printf(&w.a,
		    "<name>F</name>\n%s<url>http://h.org/data/F</url>\n"
		    "<url>http://x.org/?http://h.org/d/F</url>\n<nbytes>",
		    mirrored[_i].urls));
	arena_free(&w.a);
}
END_TEST

UNIT_MAIN("reply_project", {
	ADD_LOOP(mirrors_of_files, N(mirrored));
	ADD_LOOP(texts_checked, N(checked));
	ADD_LOOP(texts_filled, N(filled));
	ADD(texts_in_replies);
	ADD(messages_for_tasks);
	ADD_LOOP(flags_stay, N(ages));
	ADD(no_work_because_of_deadlines);
	ADD(sporadic_apps);
	ADD(long_names);
	ADD_LOOP(keyword_ids, N(keywords));
	ADD(blobs_byte_for_byte);
})
