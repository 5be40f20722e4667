/* SPDX-License-Identifier: Apache-2.0 */
/* Replies of web RPCs, each compared as a whole, and master pages. */
#include "test/unit/unit.h"

#include <stdint.h>
#include "proto/web.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

#define XML "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n"

/* --- master pages --- */

static const struct {
	const char *what, *page, *urls; /* joined by blanks */
} pages[] = {
	{ "in a comment", "<!-- <scheduler>http://h/cgi</scheduler> -->\n",
	    "http://h/cgi" },
	{ "several on a line",
	    "<scheduler>http://h/1</scheduler><scheduler> http://h/2 </scheduler>",
	    "http://h/1 http://h/2" },
	{ "on the next line", "<scheduler>\nhttp://h/cgi</scheduler>\n", "" },
	{ "a link in column 1",
	    "<link rel=\"boinc_scheduler\" href=\"http://h/cgi\">\n", "http://h/cgi" },
	{ "a link behind a tag",
	    "<head> <link rel=\"boinc_scheduler\" href=\"http://h/cgi\"/>\n",
	    "http://h/cgi" },
	{ "an indented link is not seen",
	    "  <link rel=\"boinc_scheduler\" href=\"http://h/cgi\">\n", "" },
	{ "other spellings are not seen",
	    "<link href=\"http://h/cgi\" rel=\"boinc_scheduler\">\n<link "
	    "rel='boinc_scheduler' href='http://h/cgi'>\n",
	    "" },
	{ "twice the same",
	    "<link rel=\"boinc_scheduler\" href=\"http://h/cgi\">\n<!-- "
	    "<scheduler>http://h/cgi</scheduler> -->",
	    "http://h/cgi" },
	{ "not http", "<scheduler>file:///etc/passwd</scheduler>", "" },
	{ "nothing", "<html></html>", "" },
};

START_TEST(master_pages)
{
	struct arena a = { 0 };
	struct buf b = buf_new(&a);
	char **urls;
	size_t n;

	master_parse(&a, pages[_i].page, strlen(pages[_i].page), &urls, &n);
	for (size_t i = 0; i < n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", urls[i]);
	ck_assert_msg(strcmp(b.p, pages[_i].urls) == 0, "%s: %s", pages[_i].what, b.p);
	arena_free(&a);
}
END_TEST

/* --- documents --- */

static struct arena a;
static struct buf b;

static void setup(void)
{
	a = (struct arena){ 0 };
	b = buf_new(&a);
}

static void teardown(void)
{
	arena_free(&a);
}

static const struct {
	enum web_error_num num;
	const char *msg, *doc;
} errors[] = {
#define ERROR(num, msg, number, text)                                                  \
	{ WEB_##num, msg,                                                              \
		XML "<error>\n    <error_num>" number                                  \
		    "</error_num>\n    <error_msg>" text "</error_msg>\n</error>\n" },
#include "test/unit/web_cases.def"
};

START_TEST(error_documents)
{
	web_error(&b, errors[_i].num, errors[_i].msg);
	ck_assert_str_eq(b.p, errors[_i].doc);
}
END_TEST

START_TEST(account_documents)
{
	web_account(&b, "4e6a693a6cc6322e6b1fccefd7dee8f3");
	ck_assert_str_eq(b.p,
	    XML "<account_out>\n    <authenticator>4e6a693a6cc6322e6b1fccefd7dee8f3"
		"</authenticator>\n</account_out>\n");
	b = buf_new(&a);
	web_account(&b, NULL);
	ck_assert_str_eq(b.p, XML "<account_out>\n    <success/>\n</account_out>\n");
}
END_TEST

static const struct {
	const char *options;
	bool web_stopped, sched_stopped;
	const char *terms, *lines;
} configs[] = {
#define CONFIG(options, web, sched, terms, lines) { options, web, sched, terms, lines },
#include "test/unit/web_cases.def"
};

static struct conf *conf_with(const char *options)
{
	const char *text = arena_printf(&a,
	    "<boinc><config><long_name>A &amp; B</long_name>"
	    "<master_url>http://h.org/p/</master_url>%s</config></boinc>",
	    options);
	struct fail f = { 0 };
	struct conf *cf;

	ck_assert_msg(conf_parse(&a, "/p/config.xml", text, strlen(text), &cf, NULL,
			  NULL, &f) == OK,
	    "%s", f.detail);
	return cf;
}

/* The constant lines come first and last, and the lines of the case between them. */
START_TEST(project_configs)
{
	char none[] = "", gpu[] = "cuda", old[] = "old";
	struct platform platforms[] = {
		{ .id = 1,
		    .name = arena_strdup(&a, "p1"),
		    .user_friendly_name = arena_strdup(&a, "P & 1") },
		{ .id = 2,
		    .name = arena_strdup(&a, "p2"),
		    .user_friendly_name = arena_strdup(&a, "P2") },
	};
	struct app_version versions[] = {
		{ .id = 3, .platformid = 1, .plan_class = none, .deprecated = 1 },
		{ .id = 4, .platformid = 1, .plan_class = old, .deprecated = 1 },
		{ .id = 5, .platformid = 1, .plan_class = none },
		{ .id = 6, .platformid = 1, .plan_class = none },
		{ .id = 7, .platformid = 1, .plan_class = gpu }
	};
	const struct catalog c = { .platforms = platforms,
		.nplatforms = 2,
		.versions = versions,
		.nversions = N(versions) };

	web_project_config(&b, &(struct web_project){
				   .conf = conf_with(configs[_i].options),
				   .catalog = &c,
				   .server_version = "1.2",
				   .terms_of_use = configs[_i].terms,
				   .web_stopped = configs[_i].web_stopped,
				   .sched_stopped = configs[_i].sched_stopped,
			       });
	ck_assert_str_eq(
	    b.p, arena_printf(&a,
		     XML "<project_config>\n    <name>A &amp; B</name>\n"
			 "    <master_url>http://h.org/p/</master_url>\n"
			 "    <web_rpc_url_base>http://h.org/p/</web_rpc_url_base>\n"
			 "    <rpc_prefix>http://h.org/p/</rpc_prefix>\n"
			 "    <server_version>1.2</server_version>\n"
			 "%s</project_config>\n",
		     configs[_i].lines));
}
END_TEST

/* --- for account managers and statistics sites --- */

#define STR(name, text) .name = arena_strdup(&a, text)

static struct user_info somebody(void)
{
	return (struct user_info){
		.id = 7,
		.create_time = 1700000000,
		STR(email_addr, "user@example.com"),
		STR(name, "Ren\xc3\xa9 & <Co>"),
		STR(authenticator, "4e6a693a6cc6322e6b1fccefd7dee8f3"),
		STR(passwd_hash, "d5dd0ffd15176f3dccf96e5c697fe3be"),
		STR(cross_project_id, "0b54a6fd5c5d4df2a0c2b1d1f7a9e311"),
		STR(country, "C\xf4te"), /* Latin-1 from an old table */
		STR(postal_code, ""),
		STR(url, ""),
		.total_credit = 12.5,
		.expavg_credit = 0.25,
		.expavg_time = 1700000100,
		STR(global_prefs, "<global_preferences>\n</global_preferences>"),
		STR(project_prefs, ""),
		.teamid = 3,
		STR(venue, "home"),
		.show_hosts = 1,
		STR(login_token, ""),
	};
}

/* protocol.md 12: the account's public cross-project id. */
#define CPID "754ed44d5ad88da2d78abcaa6af27b97"

START_TEST(user_document)
{
	struct user_info u = somebody();
	static const char start[] = XML
	    "<user>\n    <id>7</id>\n    <cpid>" CPID "</cpid>\n"
	    "    <create_time>1700000000</create_time>\n"
	    "    <name>Ren&#233; &amp; &lt;Co&gt;</name>\n"
	    "    <country>C&#244;te</country>\n"
	    "    <total_credit>12.500000</total_credit>\n"
	    "    <expavg_credit>0.250000</expavg_credit>\n"
	    "    <expavg_time>1700000100.000000</expavg_time>\n"
	    "    <teamid>3</teamid>\n    <has_profile>0</has_profile>\n";
	struct host h = { .id = 9,
		STR(domain_name, "my&box"),
		STR(host_cpid, "c"),
		STR(p_vendor, "v"),
		STR(p_model, "m"),
		STR(os_name, "o"),
		STR(os_version, "1"),
		STR(venue, "") };

	web_user(&b, &u, false, &h, 1);
	ck_assert_str_eq(b.p, arena_printf(&a, "%s</user>\n", start));
	b = buf_new(&a);
	web_user(&b, &u, true, &h, 1);
	ck_assert_ptr_nonnull(strstr(b.p,
	    arena_printf(&a,
		"%s    <venue>home</venue>\n    <host>\n        <id>9</id>\n", start)));
	ck_assert_ptr_nonnull(
	    strstr(b.p, "        <domain_name>my&amp;box</domain_name>\n"));
	/* neither document contains credentials */
	ck_assert_ptr_null(strstr(b.p, u.authenticator));
	ck_assert_ptr_null(strstr(b.p, u.email_addr));
	ck_assert_ptr_null(strstr(b.p, u.cross_project_id));
}
END_TEST

START_TEST(manager_document)
{
	struct user_info u = somebody();

	web_manager_info(&b, &u, true);
	ck_assert_str_eq(b.p,
	    XML "<am_get_info_reply>\n    <success/>\n    <id>7</id>\n"
		"    <name>Ren%C3%A9%20%26%20%3CCo%3E</name>\n"
		"    <country>C%F4te</country>\n"
		"    <weak_auth>7_d6340260b0ca6a4253ee1bf2e558b9a2</weak_auth>\n"
		"    <cpid>" CPID "</cpid>\n    <has_profile>0</has_profile>\n"
		"    <create_time>1700000000</create_time>\n"
		"    <global_prefs>%3Cglobal_preferences%3E%0A%3C%2F"
		"global_preferences%3E</global_prefs>\n"
		"    <project_prefs></project_prefs>\n    <url></url>\n"
		"    <send_email>0</send_email>\n    <show_hosts>1</show_hosts>\n"
		"    <teamid>3</teamid>\n    <venue>home</venue>\n"
		"    <teamfounder/>\n</am_get_info_reply>\n");
}
END_TEST

START_TEST(small_documents)
{
	struct user_info u = somebody();

	web_login_token(&b, &u, "T&1");
	/* stock clients read this reply: character references for bytes */
	ck_assert_str_eq(b.p,
	    XML "<login_token_reply>\n"
		"    <authenticator>4e6a693a6cc6322e6b1fccefd7dee8f3</authenticator>\n"
		"    <user_name>Ren&#195;&#169; &amp; &lt;Co></user_name>\n"
		"    <team_name>T&amp;1</team_name>\n</login_token_reply>\n");
	b = buf_new(&a);
	web_success(&b, "am_set_host_info_reply");
	ck_assert_str_eq(b.p, XML "<am_set_host_info_reply>\n    <success/>\n"
				  "</am_set_host_info_reply>\n");
	b = buf_new(&a);
	web_teams(&b, NULL, 0, true);
	ck_assert_str_eq(b.p, XML "<teams>\n</teams>\n");
}
END_TEST

START_TEST(team_document)
{
	struct team t = { .id = 1,
		.userid = 7,
		STR(name, "A < B"),
		STR(url, ""),
		STR(country, "None"),
		STR(description, "two\nlines\x01"),
		.nusers = 2,
		.joinable = 1,
		.total_credit = 1 };

	web_teams(&b, &t, 1, false);
	ck_assert_str_eq(b.p, XML
	    "<team>\n    <id>1</id>\n    <create_time>0</create_time>\n"
	    "    <userid>7</userid>\n    <name>A &lt; B</name>\n    <url></url>\n"
	    "    <type>0</type>\n    <country>None</country>\n"
	    "    <description>two\nlines</description>\n    <nusers>2</nusers>\n"
	    "    <joinable>1</joinable>\n    <total_credit>1.000000</total_credit>\n"
	    "    <expavg_credit>0.000000</expavg_credit>\n"
	    "    <expavg_time>0.000000</expavg_time>\n</team>\n");
}
END_TEST

START_TEST(notices_document)
{
	static const struct notice v[] = {
		{ "A & B", "One <b>\nTwo ]]>", "n1", 1761991200 },
		{ "Ren\xc3\xa9", "", "n2", 0 },
	};

	web_notices(&b, "P & Q", "http://h.org/p/", v, N(v));
	ck_assert_str_eq(b.p, XML
	    "<rss version=\"2.0\">\n<channel>\n<title>P &amp; Q</title>\n"
	    "<link>http://h.org/p/</link>\n<description>Notices</description>\n"
	    "<item>\n    <title>A &amp; B</title>\n"
	    "    <link>http://h.org/p/</link>\n"
	    "    <guid isPermaLink=\"false\">http://h.org/p/n1</guid>\n"
	    "    <description><![CDATA[One &lt;b&gt;<br>\nTwo ]]&gt;]]></description>\n"
	    "    <pubDate>Sat, 01 Nov 2025 10:00:00 GMT</pubDate>\n</item>\n"
	    "<item>\n    <title>Ren&#233;</title>\n"
	    "    <link>http://h.org/p/</link>\n"
	    "    <guid isPermaLink=\"false\">http://h.org/p/n2</guid>\n"
	    "    <description><![CDATA[]]></description>\n"
	    "    <pubDate>Thu, 01 Jan 1970 00:00:00 GMT</pubDate>\n</item>\n"
	    "</channel>\n</rss>\n");
}
END_TEST

/*
 * The stored password hash and account key after the login that replaced the hash by
 * "new", and which of the earlier derived keys remain valid.
 */
static const struct {
	const char *passwd, *authenticator;
	bool kept, valid;
} replaced[] = {
	{ "old", "key", false, true }, /* no login yet */
	{ "new", "key", true, true },
	{ "new", "key", false, false },  /* the old hash was not kept */
	{ "newer", "key", true, false }, /* the password was changed */
	{ "new", "key2", true, false },  /* the account key was changed */
};

START_TEST(keys_outlive_a_stronger_hash)
{
	char passwd[16], key[16], none[] = "", old[] = "old", first[] = "key";
	struct user was = { .id = 7,
		.authenticator = first,
		.passwd_hash = old,
		.old_keys_of = none,
		.old_weak_key = none },
		    u = was;
	struct user_keys k = account_keys_kept(&a, &was, "new");
	struct user_info info = { .id = 7,
		.authenticator = key,
		.passwd_hash = passwd,
		.old_keys_of = none,
		.old_rss_key = none };
	const char *weak = account_weak_key(&a, 7, first, old);
	const char *rss = account_rss_key(&a, 7, first, old);

	snprintf(passwd, sizeof(passwd), "%s", replaced[_i].passwd);
	snprintf(key, sizeof(key), "%s", replaced[_i].authenticator);
	u.passwd_hash = passwd;
	u.authenticator = key;
	if (replaced[_i].kept) {
		u.old_keys_of = info.old_keys_of = arena_strdup(&a, k.of);
		u.old_weak_key = arena_strdup(&a, k.weak);
		info.old_rss_key = arena_strdup(&a, k.rss);
	}
	ck_assert(account_weak_key_is(&a, &u, weak) == replaced[_i].valid);
	ck_assert(account_rss_key_is(&a, &info, rss) == replaced[_i].valid);
	ck_assert(account_weak_key_is(&a, &u, account_weak_key(&a, 7, key, passwd)));
	ck_assert(account_rss_key_is(&a, &info, account_rss_key(&a, 7, key, passwd)));
	ck_assert(!account_weak_key_is(&a, &u, "7_"));
	ck_assert(!account_weak_key_is(&a, &u, rss));
	ck_assert(!account_rss_key_is(&a, &info, weak));
	ck_assert(!account_rss_key_is(&a, &info, ""));
}
END_TEST

UNIT_MAIN("web", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD_LOOP(master_pages, N(pages));
	ADD_LOOP(error_documents, N(errors));
	ADD(account_documents);
	ADD_LOOP(project_configs, N(configs));
	ADD(user_document);
	ADD(manager_document);
	ADD(small_documents);
	ADD(team_document);
	ADD(notices_document);
	ADD_LOOP(keys_outlive_a_stronger_hash, N(replaced));
})
