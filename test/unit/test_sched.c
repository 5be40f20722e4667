/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of scheduler, web and upload handler that need neither database nor web server.
 */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/counters.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "model/metrics.h"
#include "model/web_limits.h"
#include "sched/serve/fcgi.h"
#include "sched/project.h"
#include "sched/rpc/rpc_log.h"
#include "sched/rpc/refuse.h"
#include "sched/rpc/rpc.h"
#include "proto/web.h"
#include "sched/web/web_page.h"
#include "sched/web/web_limit.h"
#include "lib/banned.h"

#define A48 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct arena a;

static struct conf *sched_conf_of(const char *dir, const char *options)
{
	const char *text = arena_printf(
	    &a, "<boinc><config>%s</config></boinc>", options);
	struct conf *cf;
	struct fail f = { 0 };

	ck_assert_int_eq(conf_parse(&a, arena_printf(&a, "%s/config.xml", dir), text,
			     strlen(text), &cf, NULL, NULL, &f),
	    OK);
	return cf;
}

/* --- refusals --- */

static const struct {
	enum situation s;
	const char *detail;
	bool notice;
	double delay_s;
	bool down;
	const char *text;
} refusals[] = {
#define REFUSAL(s, detail, notice, delay, down, text)                                  \
	{ REFUSE_##s, detail, notice, delay, down, text },
#include "test/unit/sched_cases.def"
};

START_TEST(refusal)
{
	const struct conf *cf = sched_conf_of(
	    "/p", "<maintenance_delay>1234</maintenance_delay>");
	struct refusal r = refusal_of(&a, cf, refusals[_i].s, refusals[_i].detail);

	ck_assert_str_eq(r.text, refusals[_i].text);
	ck_assert_int_eq(r.notice, refusals[_i].notice);
	ck_assert_int_eq(r.down, refusals[_i].down);
	ck_assert_double_eq(r.delay_s, refusals[_i].delay_s);
}
END_TEST

/* Clients lose messages of 1024 bytes and more (protocol.md 2.1). */
START_TEST(refusal_is_short)
{
	char *detail = arena_alloc(&a, 5001);

	memset(detail, 'x', 5000);
	for (int s = 0; s < REFUSE__MAX; s++)
		ck_assert_uint_lt(
		    strlen(refusal_of(&a, NULL, (enum situation)s, detail).text), 1024);
}
END_TEST

static const struct {
	enum err e;
	bool hostid;
	enum situation s;
} by_error[] = {
#define BY_ERROR(e, hostid, s) { e, hostid, REFUSE_##s },
#include "test/unit/sched_cases.def"
};

START_TEST(situation_of_error)
{
	ck_assert_int_eq(
	    refuse_error(by_error[_i].e, by_error[_i].hostid), by_error[_i].s);
}
END_TEST

static const struct {
	const char *options;
	int32_t version;
	const char *platform;
	int32_t max_results_day, banned;
	int64_t ban_until;
	enum situation s;
} by_host[] = {
#define BY_HOST(options, version, platform, day, banned, s)                            \
	{ options, version, platform, day, banned, 0, REFUSE_##s },
#define BANNED_UNTIL(day, banned, until, s)                                            \
	{ "", 72005, "p1", day, banned, until, REFUSE_##s },
#include "test/unit/sched_cases.def"
};

START_TEST(situation_of_host)
{
	char p1[] = "p1", gone[] = "gone";
	struct platform platforms[] = { { .id = 1, .name = p1 },
		{ .id = 2, .name = gone, .deprecated = 1 } };
	const struct catalog cat = { .platforms = platforms, .nplatforms = 2 };
	char *name = arena_strdup(&a, by_host[_i].platform);
	struct request rq = { .version = by_host[_i].version,
		.platforms = &name,
		.nplatforms = 1,
		.host.present = true };
	const struct host h = { .max_results_day = by_host[_i].max_results_day,
		.ban_until = by_host[_i].ban_until };
	const struct user u = { .banned = by_host[_i].banned,
		.ban_until = by_host[_i].ban_until };
	const struct requester known = { &u, &h, 1000 }, new = { &u, NULL, 1000 };
	char os[] = "Microsoft Windows 11", os_version[] = "10.0.22000",
	     vendor[] = "AuthenticAMD", cpu[] = "AMD K6";

	rq.host.os_name = os;
	rq.host.os_version = os_version;
	rq.host.p_vendor = vendor;
	rq.host.p_model = cpu;
	ck_assert_int_eq(refuse_host(&a, sched_conf_of("/p", by_host[_i].options), &rq,
			     &known, &cat),
	    by_host[_i].s);
	if (by_host[_i].s == REFUSE_HOST_BANNED)
		return;
	ck_assert_int_eq(
	    refuse_host(&a, sched_conf_of("/p", by_host[_i].options), &rq, &new, &cat),
	    by_host[_i].s);
	rq.host.present = false; /* a replicated trickle contains no host */
	ck_assert_int_eq(
	    refuse_host(&a, sched_conf_of("/p", by_host[_i].options), &rq, &new, &cat),
	    by_host[_i].s >= REFUSE_BANNED_OS && by_host[_i].s <= REFUSE_NO_PLATFORM ?
		REFUSE_NOTHING :
		by_host[_i].s);
}
END_TEST

/* --- hints --- */

static const struct {
	const char *options;
	int32_t version;
	int64_t now;
	const char *vendor, *os;
	bool cut;
	const char *notices, *texts;
} hints[] = {
#define HINT(options, version, now, vendor, os, cut, notices, texts)                   \
	{ options, version, now, vendor, os, cut, notices, texts },
#include "test/unit/sched_cases.def"
};

/*
 * notices: n (notice) or l (low priority) for each message; texts: part of the first
 * message.
 */
START_TEST(hint)
{
	struct request rq = { .version = hints[_i].version,
		.core_client_major_version = hints[_i].version / 10000,
		.trickles_cut = hints[_i].cut,
		.host.present = true,
		.host.p_vendor = arena_strdup(&a, hints[_i].vendor),
		.host.os_name = arena_strdup(&a, hints[_i].os) };
	struct dec_message m[REFUSE_HINTS_MAX];
	size_t n = refuse_hints(
	    &a, sched_conf_of("/p", hints[_i].options), &rq, hints[_i].now, m);

	ck_assert_uint_eq(n, strlen(hints[_i].notices));
	for (size_t i = 0; i < n; i++)
		ck_assert_int_eq(m[i].notice, hints[_i].notices[i] == 'n');
	if (n > 0)
		ck_assert_msg(
		    strstr(m[0].text, hints[_i].texts) != NULL, "%s", m[0].text);
}
END_TEST

START_TEST(what_is_refused)
{
	char os[] = "Haiku", version[] = "beta5", vendor[] = "Acme", model[] = "X1",
	     platform[] = "x86-haiku";
	struct request rq = { .platform_name = platform,
		.host = { .os_name = os,
		    .os_version = version,
		    .p_vendor = vendor,
		    .p_model = model } };
	const struct conf *cf = sched_conf_of(
	    "/p", "<max_new_hosts_per_account_day>12</max_new_hosts_per_account_day>");

	ck_assert_str_eq(refuse_detail(&a, cf, REFUSE_NEW_HOSTS, &rq), "12");
	ck_assert_str_eq(refuse_detail(&a, cf, REFUSE_BANNED_OS, &rq), "Haiku beta5");
	ck_assert_str_eq(refuse_detail(&a, cf, REFUSE_BANNED_CPU, &rq), "Acme X1");
	ck_assert_str_eq(refuse_detail(&a, cf, REFUSE_NO_PLATFORM, &rq), "x86-haiku");
	ck_assert(refuse_is_down(REFUSE_STOPPED) && !refuse_is_down(REFUSE_NOTHING) &&
		  !refuse_is_down(REFUSE_HOST_BANNED));
}
END_TEST

/* --- HTML --- */

static const char *const escaped[][2] = {
#define ESCAPED(text, html) { text, html },
#include "test/unit/sched_cases.def"
};

START_TEST(html_escaped)
{
	struct buf b = buf_new(&a);

	html_put(&b, escaped[_i][0]);
	ck_assert_str_eq(b.p, escaped[_i][1]);
}
END_TEST

static const char *const filled[][2] = {
#define FILLED(template, html) { template, html },
#include "test/unit/sched_cases.def"
};

START_TEST(html_filled)
{
	const struct html_value v[] = { { "NAME", "<&>", false },
		{ "RAW", "<b>", true } };
	struct buf b = buf_new(&a);

	html_fill(&b, filled[_i][0], v, N(v));
	ck_assert_str_eq(b.p, filled[_i][1]);
}
END_TEST

/* Clients read the master page line by line; the tag must start its line
 * (protocol.md 13.4). */
START_TEST(home_names_schedulers)
{
	static const char *const templates[] = { NULL, "<p>no place for it</p>",
		"<head>\n@SCHEDULERS@</head>" };
	const struct conf *cf = sched_conf_of("/p",
	    "<scheduler_url>http://h.org/s_cgi/cgi "
	    "http://i.org/s_cgi/cgi</scheduler_url>");

	for (size_t i = 0; i < N(templates); i++) {
		struct buf b = buf_new(&a);

		page_home(&b, cf, templates[i]);
		ck_assert_ptr_nonnull(strstr(b.p,
		    "\n<link rel=\"boinc_scheduler\" href=\"http://h.org/s_cgi/cgi\">\n"
		    "<!-- <scheduler>http://h.org/s_cgi/cgi</scheduler> -->\n"
		    "<link rel=\"boinc_scheduler\" "
		    "href=\"http://i.org/s_cgi/cgi\">\n"));
	}
}
END_TEST

/* --- requests --- */

static const struct {
	int proxies;
	const char *forwarded, *remote, *peer;
} peers[] = {
#define PEER(proxies, forwarded, remote, peer) { proxies, forwarded, remote, peer },
#include "test/unit/sched_cases.def"
};

START_TEST(peer)
{
	ck_assert_str_eq(
	    fcgi_peer(&a, peers[_i].forwarded, peers[_i].remote, peers[_i].proxies),
	    peers[_i].peer);
}
END_TEST

static const char *const groups[][2] = {
#define GROUP(address, group) { address, group },
#include "test/unit/sched_cases.def"
};

START_TEST(group)
{
	ck_assert_str_eq(address_group(&a, groups[_i][0]), groups[_i][1]);
}
END_TEST

struct yes_no {
	const char *text;
	bool good;
};

static const struct yes_no names[] = {
#define NAME(text, good) { text, good },
#include "test/unit/sched_cases.def"
};
START_TEST(name)
{
	ck_assert_int_eq(account_bad_name(names[_i].text) == NULL, names[_i].good);
}
END_TEST

static const struct yes_no emails[] = {
#define EMAIL(text, good) { text, good },
#include "test/unit/sched_cases.def"
};
START_TEST(email)
{
	ck_assert_int_eq(account_bad_email(emails[_i].text) == NULL, emails[_i].good);
}
END_TEST

/* --- the project's own texts --- */

static void write_text(const char *path, const char *text, int64_t mtime)
{
	struct fail f = { 0 };

	ck_assert_int_eq(fs_write(path, text, strlen(text), 0644, &f), OK);
	unit_written(path, mtime);
}

START_TEST(texts_are_read_again)
{
	char dir[PATH_MAX];
	const char *path, *const *texts;
	struct project p = { .program = "test" };
	struct fail f = { 0 };

	p.conf = sched_conf_of(unit_dir(dir), "");
	path = arena_printf(&a, "%s/gui_urls.xml", dir);
	texts = project_texts(&p);
	ck_assert_ptr_null(texts[TEXT_GUI_URLS]);
	ck_assert_ptr_null(texts[TEXT_PROJECT_FILES]);
	write_text(path, "<gui_urls>a</gui_urls>", 1000);
	texts = project_texts(&p);
	ck_assert_str_eq(texts[TEXT_GUI_URLS], "<gui_urls>a</gui_urls>\n");
	write_text(
	    path, "<gui_urls>b</gui_urls>", 1000); /* same time, different file */
	texts = project_texts(&p);
	ck_assert_str_eq(texts[TEXT_GUI_URLS], "<gui_urls>b</gui_urls>\n");
	write_text(path, "<gui_urls>", 1001); /* broken: the text is dropped */
	texts = project_texts(&p);
	ck_assert_ptr_null(texts[TEXT_GUI_URLS]);
	write_text(path, "<gui_urls>c</gui_urls>", 1002);
	ck_assert_ptr_nonnull(project_texts(&p)[TEXT_GUI_URLS]);
	ck_assert_int_eq(fs_unlink(path, &f), OK);
	ck_assert_ptr_null(project_texts(&p)[TEXT_GUI_URLS]);
	for (enum project_text i = 0; i < PROJECT_TEXTS; i++)
		arena_free(&p.admin_texts[i].a);
	fs_rmtree(dir, &f);
}
END_TEST

/* --- metrics --- */

static void keep_counter(void *ctx, const char *series, uint64_t value)
{
	uint64_t *served = ctx;

	if (strcmp(series, "locus_rpc_total{result=\"served\"}") == 0)
		*served = value;
}

/* One metric that finds no place does not keep the others from being counted. */
START_TEST(long_name_of_an_app_is_not_counted)
{
	char dir[PATH_MAX], app_name[200] = { 0 };
	struct app app = { .id = 1, .name = app_name };
	struct dec_send send = { .app = &app };
	struct decision d = { .sends = &send, .nsends = 1 };
	struct conf cf = { .run_dir = (unit_dir(dir), dir) };
	struct rpc x = { .a = &a, .conf = &cf, .dec = &d, .now = 1 };
	struct counts c = { 0 };
	struct fail f = { 0 };
	uint64_t served = 0;

	memset(app_name, 'x', sizeof(app_name) - 1);
	for (int i = 0; i < 3; i++)
		counts_keep(&c, &x);
	counts_close(&c);
	ck_assert_int_eq(counters_read(&a, arena_printf(&a, "%s/" COUNTERS_FILE, dir),
			     keep_counter, &served, &f),
	    OK);
	ck_assert_uint_eq(served, 3);
	fs_rmtree(dir, &f);
}
END_TEST

UNIT_MAIN("sched", {
	ADD(long_name_of_an_app_is_not_counted);
	ADD(texts_are_read_again);
	ADD_LOOP(refusal, N(refusals));
	ADD(refusal_is_short);
	ADD_LOOP(situation_of_error, N(by_error));
	ADD_LOOP(situation_of_host, N(by_host));
	ADD_LOOP(hint, N(hints));
	ADD(what_is_refused);
	ADD_LOOP(html_escaped, N(escaped));
	ADD_LOOP(html_filled, N(filled));
	ADD(home_names_schedulers);
	ADD_LOOP(peer, N(peers));
	ADD_LOOP(group, N(groups));
	ADD_LOOP(name, N(names));
	ADD_LOOP(email, N(emails));
})
