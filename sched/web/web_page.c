/* SPDX-License-Identifier: Apache-2.0 */
/* Renders pages as HTML from their arguments alone. */
#include "sched/web/web_page.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/web_docs.h"
#include "sched/web/web_limit.h"
#include "lib/banned.h"

void html_put(struct buf *b, const char *text)
{
	for (size_t n; *text != '\0'; text += n) {
		bool shown = text_shown(text, &n) || text_white(*text);

		switch (*text) {
		case '&':
			buf_puts(b, "&amp;");
			break;
		case '<':
			buf_puts(b, "&lt;");
			break;
		case '>':
			buf_puts(b, "&gt;");
			break;
		case '"':
			buf_puts(b, "&quot;");
			break;
		case '\'':
			buf_puts(b, "&#39;");
			break;
		default:
			buf_put(b, shown ? text : "?", shown ? n : 1);
		}
	}
}

static const struct html_value *html_value_at(
    const char *at, const struct html_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(v[i].name);

		if (strncmp(at + 1, v[i].name, len) == 0 && at[len + 1] == '@')
			return &v[i];
	}
	return NULL;
}

void html_fill(
    struct buf *b, const char *template, const struct html_value *v, size_t n)
{
	while (*template != '\0') {
		size_t plain = strcspn(template, "@");
		const struct html_value *hit;

		buf_put(b, template, plain);
		template += plain;
		if (*template == '\0')
			return;
		hit = html_value_at(template, v, n);
		if (hit == NULL) {
			buf_put(b, template ++, 1);
			continue;
		}
		if (hit->raw)
			buf_puts(b, hit->value);
		else
			html_put(b, hit->value);
		template += strlen(hit->name) + 2;
	}
}

/* --- frame --- */

static const char head[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>@TITLE@ - @NAME@</title>\n"
    "<link rel=\"stylesheet\" href=\"style.css\">\n"
    "</head>\n"
    "<body>\n"
    "<a class=\"skip\" href=\"#main\">Skip to content</a>\n"
    "<header><a href=\"./\">@NAME@</a></header>\n"
    "<main id=\"main\">\n"
    "<h1>@TITLE@</h1>\n";

void page_begin(struct buf *b, const struct conf *cf, const char *title)
{
	const struct html_value v[] = {
		{ "TITLE", title, false },
		{ "NAME", cf->long_name, false },
	};

	html_fill(b, head, v, N(v));
}

void page_end(struct buf *b)
{
	buf_puts(b,
	    "</main>\n"
	    "<footer><nav aria-label=\"Pages\"><a href=\"./\">Home</a> <a href=\"server_status.php\">Server status</a></nav></footer>\n"
	    "</body>\n</html>\n");
}

void page_message(
    struct buf *b, const struct conf *cf, const char *title, const char *text)
{
	page_begin(b, cf, title);
	buf_puts(b, "<p>");
	html_put(b, text);
	buf_puts(b, "</p>\n");
	page_end(b);
}

/* --- home --- */

/*
 * Renders each scheduler URL in both forms that clients search for line by line: the
 * tag starts in column 0 and the element is on one line.
 */
static const char *scheduler_lines(struct arena *a, const struct conf *cf)
{
	struct buf b = buf_new(a);
	const char *p = cf->scheduler_url;

	while (*(p += strspn(p, " \t\n")) != '\0') {
		size_t n = strcspn(p, " \t\n");
		const char *url = arena_memdup(a, p, n);

		buf_puts(&b, "<link rel=\"boinc_scheduler\" href=\"");
		html_put(&b, url);
		buf_puts(&b, "\">\n<!-- <scheduler>");
		html_put(&b, url);
		buf_puts(&b, "</scheduler> -->\n");
		p += n;
	}
	return b.p == NULL ? "" : b.p;
}

static const char plain_home[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<title>@NAME@</title>\n@SCHEDULERS@</head>\n<body>\n<h1>@NAME@</h1>\n"
    "<p>Attach to this project with the URL @MASTER_URL@</p>\n</body>\n</html>\n";

void page_home(struct buf *b, const struct conf *cf, const char *template)
{
	const struct html_value v[] = {
		{ "NAME", cf->long_name, false },
		{ "MASTER_URL", cf->master_url, false },
		{ "SCHEDULERS", scheduler_lines(b->a, cf), true },
	};

	if (template == NULL || strstr(template, "@SCHEDULERS@") == NULL)
		template = plain_home;
	html_fill(b, template, v, N(v));
}

/* --- status --- */

struct figure {
	const char *label, *tag;
	int64_t value;
};

static void page_put_row(struct buf *b, const char *label, const char *text)
{
	buf_puts(b, "<tr><th scope=\"row\">");
	html_put(b, label);
	buf_puts(b, "</th><td>");
	html_put(b, text);
	buf_puts(b, "</td></tr>\n");
}

/* In groups; the tags are those that statistics sites know, where there is one. */
#define FIGURES(s)                                                                     \
	{                                                                              \
		{ "Tasks ready to send", "results_ready_to_send",                      \
			(s)->results_unsent },                                         \
		    { "Tasks in progress", "results_in_progress",                      \
			    (s)->results_in_progress },                                \
		    { "Tasks over", "results_over", (s)->results_over },               \
		    { "Workunits waiting for validation",                              \
			    "workunits_waiting_for_validation",                        \
			    (s)->workunits_to_validate },                              \
		    { "Workunits waiting for assimilation",                            \
			    "workunits_waiting_for_assimilation",                      \
			    (s)->workunits_to_assimilate },                            \
		    { "Workunits done", "workunits_done", (s)->workunits_done },       \
		    { "Data files", "files", (s)->files },                             \
		    { "Data files with tasks to send", "files_with_unsent",            \
			    (s)->files_with_unsent },                                  \
		    { "Computers", "hosts", (s)->hosts },                              \
		    { "Computers active in the last 7 days", "hosts_active",           \
			    (s)->hosts_active },                                       \
		    { "Accounts", "users", (s)->users },                               \
	}

static bool service_stopped(struct arena *a, const struct conf *cf, const char *file)
{
	return fs_exists(project_path(a, cf, file));
}

void page_status(
    struct buf *b, const struct conf *cf, const struct status *s, int64_t now)
{
	char when[21];

	page_begin(b, cf, "Server status");
	buf_puts(b, "<table>\n<caption>Services</caption>\n");
	page_put_row(b, "Scheduler",
	    service_stopped(b->a, cf, "stop_sched") ? "stopped for maintenance" :
						      "running");
	page_put_row(b, "Uploads",
	    service_stopped(b->a, cf, "stop_upload") ? "stopped for maintenance" :
						       "running");
	page_put_row(b, "Database", s == NULL ? "not available" : "running");
	buf_puts(b, "</table>\n");
	if (s != NULL) {
		const struct figure figures[] = FIGURES(s);

		buf_puts(b, "<table>\n<caption>Work</caption>\n");
		for (size_t i = 0; i < N(figures); i++)
			page_put_row(b, figures[i].label,
			    arena_printf(b->a, "%lld", (long long)figures[i].value));
		buf_puts(b, "</table>\n");
	}
	buf_printf(b, "<p>As of <time datetime=\"%s\">%s</time>.</p>\n",
	    clock_text(now, when), when);
	page_end(b);
}

void page_status_xml(
    struct buf *b, const struct conf *cf, const struct status *s, int64_t now)
{
	buf_printf(b,
	    "<?xml version=\"1.0\" encoding=\"ISO-8859-1\" ?>\n<server_status>\n"
	    "    <update_time>%lld</update_time>\n    <scheduler>%s</scheduler>\n",
	    (long long)now,
	    service_stopped(b->a, cf, "stop_sched") ? "disabled" : "running");
	if (s != NULL) {
		const struct figure figures[] = FIGURES(s);

		buf_puts(b, "    <database_file_states>\n");
		for (size_t i = 0; i < N(figures); i++)
			buf_printf(b, "        <%s>%lld</%s>\n", figures[i].tag,
			    (long long)figures[i].value, figures[i].tag);
		buf_puts(b, "    </database_file_states>\n");
	}
	buf_puts(b, "</server_status>\n");
}

void page_status_json(
    struct buf *b, const struct conf *cf, const struct status *s, int64_t now)
{
	char when[21];

	buf_printf(b,
	    "{\"update_time\": \"%s\", \"scheduler\": \"%s\", \"uploads\": \"%s\", \"database\": \"%s\", \"counts\": ",
	    clock_text(now, when),
	    service_stopped(b->a, cf, "stop_sched") ? "disabled" : "running",
	    service_stopped(b->a, cf, "stop_upload") ? "disabled" : "running",
	    s == NULL ? "not available" : "running");
	if (s == NULL) {
		buf_puts(b, "null}\n");
		return;
	}
	const struct figure figures[] = FIGURES(s);

	for (size_t i = 0; i < N(figures); i++)
		buf_printf(b, "%s\"%s\": %lld", i == 0 ? "{" : ", ", figures[i].tag,
		    (long long)figures[i].value);
	buf_puts(b, "}}\n");
}

/* --- accounts --- */

void page_user(struct buf *b, const struct conf *cf, const struct user_info *u)
{
	char since[21];

	clock_text(u->create_time, since);
	since[sizeof("2025-01-01") - 1] = '\0'; /* keeps only the day */
	page_begin(b, cf, u->name);
	buf_puts(b, "<table>\n<caption>Account</caption>\n");
	page_put_row(b, "Member since", since);
	page_put_row(b, "Total credit", arena_printf(b->a, "%.0f", u->total_credit));
	page_put_row(
	    b, "Recent average credit", arena_printf(b->a, "%.2f", u->expavg_credit));
	if (u->country[0] != '\0')
		page_put_row(b, "Country", u->country);
	buf_puts(b, "</table>\n");
	page_end(b);
}

/*
 * Notices that clients show to volunteers: the files of notices/ in the project's
 * directory, each with a title in its first line. A notice's time is that of its file.
 */

enum {
	FILES_MAX = 1000, /* files examined */
	SHOWN_MAX = 50,
	TEXT_BYTES = 16 << 10,
	AGE_S = 30 * 24 * 3600, /* clients drop older notices */
};

static int newer_first(const void *x, const void *y)
{
	const struct notice *a = x, *b = y;

	return a->time != b->time ? (a->time < b->time) - (a->time > b->time) :
	                            strcmp(a->name, b->name);
}

/* Hidden files and editors' backup files are not notices. */
static bool is_notice(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && name[0] != '.' && name[n - 1] != '~' && name[0] != '#';
}

static bool read_notice(struct web_rpc *x, const char *dir, struct notice *v)
{
	struct fail f = { 0 };
	char *text;
	size_t line;

	if (fs_read(x->a, arena_printf(x->a, "%s/%s", dir, v->name), TEXT_BYTES, &text,
		NULL, &f) != OK) {
		log_fail("notice", &f);
		return false;
	}
	text = text_trim(text);
	line = strcspn(text, "\r\n");
	v->title = arena_memdup(x->a, text, line);
	v->text = text + line + strspn(text + line, "\r\n");
	return true;
}

/* Reads the notices, newest first, at most SHOWN_MAX. */
static size_t read_notices(struct web_rpc *x, struct notice v[SHOWN_MAX])
{
	const char *dir = project_path(x->a, x->conf, "notices");
	struct notice *all = NULL;
	struct fail f = { 0 };
	char **names = NULL;
	size_t n = 0, nall = 0, cap = 0, shown = 0;

	if (fs_list(x->a, dir, FILES_MAX, &names, &n, &f) != OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int64_t t = fs_mtime(arena_printf(x->a, "%s/%s", dir, names[i]));

		if (is_notice(names[i]) && t > x->now - AGE_S)
			PUSH(x->a, all, nall, cap) = (struct notice){ .name = names[i],
				.time = t };
	}
	if (nall > 0)
		qsort(all, nall, sizeof(*all), newer_first);
	for (size_t i = 0; i < nall && shown < SHOWN_MAX; i++)
		if (read_notice(x, dir, &all[i]))
			v[shown++] = all[i];
	return shown;
}

/* Answers with the notices; said: "<id>_<32 hex digits>". */
static void answer_notices(struct web_rpc *x, int64_t userid, const char *said)
{
	struct notice v[SHOWN_MAX];
	struct user_info *u;
	struct fail f = { 0 };
	enum err e;

	e = account_by_id(x->db, x->a, userid, &u, &f);
	if (e == OK && !account_rss_key_is(x->a, u, said))
		e = E_NOTFOUND;
	if (e == E_NOTFOUND) {
		if (limit_wrong_key(x))
			web_error(x->b, WEB_BAD_KEY, NULL);
		return;
	}
	if (e == OK)
		web_notices(x->b, x->conf->long_name, x->conf->master_url, v,
		    read_notices(x, v));
	else
		web_failed(x, &f);
}

void rpc_notices(struct web_rpc *x)
{
	answer_notices(x, web_id(x, "userid"), web_text(x, "auth"));
}

/* The old form, without the id in front of the key. */
void rpc_notify_rss(struct web_rpc *x)
{
	int64_t id = web_id(x, "userid");

	answer_notices(
	    x, id, arena_printf(x->a, "%lld_%s", (long long)id, web_text(x, "auth")));
}
