/* SPDX-License-Identifier: Apache-2.0 */
/* locus user list, user show. */
#include "tools/user.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "db/user.h"
#include "db/work_list.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/web.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "lib/human.h"
#include "tools/limits_view.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

struct user_list_opts {
	const char *team, *name, *newer;
	bool banned;
	int64_t limit;
};
#define LIST_FIELD(member) FIELD_OF(struct user_list_opts, member)

static const struct field user_list_options[] = {
	{ "name", LIST_FIELD(name), "PATTERN",
	    "Only names or addresses that match, where * and ? stand for other characters." },
	{ "team", LIST_FIELD(team), "NAME|ID", "Only members of this team." },
	{ "newer", LIST_FIELD(newer), "TIME",
	    "Only accounts created in this last time: 1h, 2d, 1w." },
	{ "banned", LIST_FIELD(banned), NULL, "Only accounts that are banned." },
	{ "limit", LIST_FIELD(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

#define USER_COLUMNS                                                                   \
	{ "id", "ID", PRINT_NUMBER, NULL }, { "name", "NAME", PRINT_TEXT, NULL },      \
	    { "email", "ADDRESS", PRINT_TEXT, NULL },                                  \
	    { "country", NULL, PRINT_TEXT, NULL },                                     \
	    { "team_id", NULL, PRINT_NUMBER, "0: none" },                              \
	    { "team", "TEAM", PRINT_TEXT, NULL },                                      \
	    { "created", "CREATED", PRINT_TIME, NULL },                                \
	    { "hosts", "HOSTS", PRINT_NUMBER, NULL },                                  \
	    { "credit", "CREDIT", PRINT_REAL, NULL },                                  \
	    { "recent_credit", NULL, PRINT_REAL, "recent average per day" },           \
	    { "validated", NULL, PRINT_FLAG, "its address was confirmed" },            \
	    { "banned", "BANNED", PRINT_FLAG, NULL },                                  \
	    { "ban_until", NULL, PRINT_TIME, "null: the ban does not end by itself" }, \
	    { "ban_reason", NULL, PRINT_TEXT, NULL },                                  \
	{                                                                              \
		"accepts_mail", NULL, PRINT_FLAG, "locus user set --send-email"        \
	}

static const struct print_column user_list_columns[] = {
	USER_COLUMNS,
	{ 0 },
};

static void user_line_put(struct print *l, const struct row_user_line *u)
{
	print_cells(l, u->id, u->name, u->email, u->country, u->teamid, u->team,
	    u->create_time, u->hosts, u->credit, u->recent_credit, u->validated != 0,
	    u->banned != 0, u->ban_until, u->ban_reason, u->send_email != 0);
}

static enum err user_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct user_list_opts *o = opts;
	struct row_user_line *rows;
	int64_t span = 0, wants, teamid = 0;
	char *name = o->name == NULL ? NULL : work_like(x->a, o->name);
	struct pager p;
	size_t found;
	enum err e = OK;

	(void)args, (void)n;
	if (o->newer != NULL && !human_span_parse(o->newer, &span))
		return ctx_usage(
		    x, "--newer %.40s: must be a duration such as 1h or 2d", o->newer);
	TRY(ctx_db_report(x));
	if (o->team != NULL)
		TRY(tools_team(x, o->team, &teamid));
	p = pager_begin(x, user_list_columns, o->limit);
	while (e == OK && (wants = pager_wants(&p)) > 0) {
		rows = NULL;
		found = 0;
		e = db_query(x->db, &p.page, x->f, &rows, &found, USERS_LISTED,
		    .before = p.before, .teamid = teamid,
		    .made_since = span == 0 ? 0 : clock_now() - span,
		    .banned = o->banned, .name = name, .max = wants);
		for (size_t i = 0; i < found; i++)
			if (pager_takes(&p, rows[i].id))
				user_line_put(p.list, &rows[i]);
		pager_page(&p, wants, found);
	}
	return pager_end(&p, e, "account");
}

const struct cmd cmd_user_list = { .name = "user list",
	.args = "",
	.purpose = "list accounts",
	.about =
	    "Lists accounts, the newest first. Keys and passwords are not shown anywhere. Exit\n"
	    "status 3: no account matches.",
	.opts = user_list_options,
	.opts_size = sizeof(struct user_list_opts),
	.columns = user_list_columns,
	.run = user_list_run };

/* --- show --- */

static const struct print_column user_show_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "country", "country", PRINT_TEXT, NULL },
	{ "team_id", NULL, PRINT_NUMBER, "0: none" },
	{ "team", "team", PRINT_TEXT, NULL },
	{ "created", "created", PRINT_TIME, NULL },
	{ "hosts", "hosts", PRINT_NUMBER, NULL },
	{ "credit", "credit", PRINT_REAL, NULL },
	{ "recent_credit", "recent credit", PRINT_REAL, "average per day" },
	{ "validated", "address confirmed", PRINT_FLAG, NULL },
	{ "banned", "banned", PRINT_FLAG, NULL },
	{ "ban_until", NULL, PRINT_TIME, "null: the ban does not end by itself" },
	{ "ban_reason", "ban's reason", PRINT_TEXT, NULL },
	{ "accepts_mail", "accepts mail", PRINT_FLAG, NULL },
	{ "last_contact", "last contact", PRINT_TIME, "of any of its hosts" },
	{ "in_progress", "results in progress", PRINT_NUMBER, NULL },
	{ "hosts_with_work", "hosts with work", PRINT_NUMBER, NULL },
	{ "hosts_with_work_limit", "  at most", PRINT_NUMBER,
	    "max_hosts_with_work_per_account; 0: no limit" },
	LIMIT_COLUMNS("new_hosts_today", "hosts made in 24 h", "new_hosts_limit",
	    "max_new_hosts_per_account_day"),
	LIMIT_COLUMNS("password_failures", "wrong passwords this hour",
	    "password_failures_limit", "web_account_failures_per_hour"),
	LIMIT_COLUMNS(
	    "mails", "mails this hour", "mails_limit", "web_account_mails_per_hour"),
	{ "results_per_version_day_limit",
	    "results a day of a version and CPU, at most", PRINT_NUMBER,
	    "daily_result_quota; 0: no limit" },
	{ 0 },
};

struct user_use { /* what the limits count */
	int64_t seen, in_progress, with_work;
	struct limit_view new_hosts;
	int64_t first_new; /* when the oldest of them was made */
};

static enum err count_use(struct cmd_ctx *x, int64_t userid, struct user_use *u)
{
	int64_t before = INT64_MAX, day = clock_now() - DAY_S;
	struct arena page = { 0 };
	enum err e = OK;
	size_t n = PAGE_ROWS;

	while (e == OK && n == PAGE_ROWS) {
		struct row_host_line *rows = NULL;

		arena_reset(&page);
		e = db_query_like(x->db, &page, x->f, &rows, &n,
		    SQL_HOSTS_OF_USER_LISTED, HOSTS_LISTED, .before = before,
		    .userid = userid, .seen_since = 0, .banned = 0, .name = NULL,
		    .max = PAGE_ROWS);
		for (size_t i = 0; e == OK && i < n; i++) {
			before = rows[i].id;
			u->seen = rows[i].seen > u->seen ? rows[i].seen : u->seen;
			u->in_progress += rows[i].in_progress;
			u->with_work += rows[i].in_progress > 0;
			if (rows[i].create_time >= day) {
				u->new_hosts.used++;
				u->first_new = rows[i].create_time;
			}
		}
	}
	arena_free(&page);
	return e;
}

static enum err user_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_user_line *row = NULL;
	struct user_use use = { 0 };
	struct limit_view failures, mails;
	struct user *user;
	struct print *l;

	(void)opts, (void)n;
	TRY(ctx_db_report(x));
	TRY(tools_user(x, args[0], &user));
	TRY(db_row(x->db, x->a, x->f, &row, USER_LINE_BY_ID, .id = user->id));
	TRY(count_use(x, user->id, &use));
	use.new_hosts.most = x->cf->max_new_hosts_per_account_day;
	if (use.new_hosts.most > 0 && use.new_hosts.used >= use.new_hosts.most)
		use.new_hosts.free_at = use.first_new + DAY_S;
	failures = limit_of_web(x, WEB_LIMIT_GUESSES, user->email_addr, NULL);
	mails = limit_of_web(x, WEB_LIMIT_MAILS, user->email_addr, NULL);
	l = print_record_begin(x, user_show_columns);
	user_line_put(l, row);
	print_cells(l, use.seen, use.in_progress, use.with_work,
	    x->cf->max_hosts_with_work_per_account);
	limit_put(l, &use.new_hosts);
	limit_put(l, &failures);
	limit_put(l, &mails);
	print_cells(l, x->cf->daily_result_quota);
	print_end(l);
	return OK;
}

const struct cmd cmd_user_show = { .name = "user show",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show an account, and the limits that apply to it",
	.about =
	    "Shows an account, what its hosts do, and how much of each limit is used: wrong\n"
	    "passwords and mails are counted by the web service of this machine and are\n"
	    "forgotten at an even rate. locus host list --user EMAIL lists its hosts, locus host\n"
	    "show ID shows the limits of a host and of its address.",
	.columns = user_show_columns,
	.run = user_show_run };

/* locus user add: creates an account, as a client's create_account would. */

enum { KEY_DIGITS = 32 };

struct user_opts {
	const char *name, *password_file;
};

#define ADD_FIELD(name) FIELD_OF(struct user_opts, name)
static const struct field user_options[] = {
	{ "name", ADD_FIELD(name), "NAME",
	    "Public name; default: the part of EMAIL before the @." },
	{ "password-file", ADD_FIELD(password_file), "FILE",
	    "File with a password; without it the account can only be used by its key." },
	{ 0 },
};

/* Explains a duplicate: a database adopted from BOINC also requires unique names. */
static enum err is_taken(struct cmd_ctx *x, const struct user *u)
{
	struct user *old;
	enum err e = user_by_email(x->db, x->a, u->email_addr, &old, x->f);

	if (e == E_NOTFOUND)
		return FAIL(x->f, E_RACE,
		    "an account named %s exists already; choose another name with --name NAME",
		    u->name);
	return e != OK ? e :
	                 FAIL(x->f, E_RACE, "account %s exists already", u->email_addr);
}

static enum err user_password_take(
    struct cmd_ctx *x, const char *password, const char *email, char **hash);

static enum err user_password_read(
    struct cmd_ctx *x, const char *file, char **password);

static const struct print_column user_add_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "key", "key", PRINT_TEXT, "with which a client attaches" },
	{ 0 },
};

static enum err user_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct user_opts *o = opts;
	char key[KEY_DIGITS + 1], cpid[KEY_DIGITS + 1],
	    *email = arena_strdup(x->a, args[0]), *password;
	struct user u = { .create_time = clock_now(),
		.email_addr = email,
		.authenticator = key,
		.cross_project_id = cpid };
	const char *bad = account_bad_email(email);
	enum err e;

	(void)n;
	for (char *p = email; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	if (bad != NULL)
		return ctx_usage(x, "%.80s: %s", args[0], bad);
	u.name = o->name != NULL ? arena_strdup(x->a, o->name) :
	                           arena_memdup(x->a, email, strcspn(email, "@"));
	bad = account_bad_name(u.name);
	if (bad != NULL)
		return ctx_usage(
		    x, "%.80s: %s; choose another name with --name NAME", u.name, bad);
	random_hex(key, KEY_DIGITS);
	random_hex(cpid, KEY_DIGITS);
	TRY(user_password_read(x, o->password_file, &password));
	TRY(ctx_db(x));
	if (password != NULL)
		TRY(user_password_take(x, password, email, &u.passwd_hash));
	e = user_insert(x->db, &u, x->f);
	if (e == E_RACE)
		return is_taken(x, &u);
	if (e != OK)
		return e;
	/* For people and scripts, only the key. */
	if (x->format == FORMAT_TABLE)
		printf("%s\n", u.authenticator);
	else
		print_record(x, user_add_columns, u.id, u.email_addr, u.authenticator);
	return OK;
}

const struct cmd cmd_user_add = { .name = "user add",
	.args = "EMAIL",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create an account",
	.about = "Creates an account and prints its key, with which a client attaches.",
	.opts = user_options,
	.opts_size = sizeof(struct user_opts),
	.columns = user_add_columns,
	.run = user_add_run };

/* locus user set: what an account says about its person, and its team. */

struct user_set_opts { /* NULL = unchanged */
	const char *email, *name, *country, *postal_code, *url, *team, *venue;
	const int64_t *validated, *show_hosts, *send_email;
	bool dry_run;
};
#define SET_FIELD(member) FIELD_OF(struct user_set_opts, member)

static const struct field user_set_options[] = {
	{ "email", SET_FIELD(email), "ADDRESS",
	    "Its address, which no other account has. Its password becomes void, as it is stored together with the address; keys stay." },
	{ "name", SET_FIELD(name), "TEXT", "Public name." },
	{ "country", SET_FIELD(country), "TEXT", "Country, as in statistics." },
	{ "postal-code", SET_FIELD(postal_code), "TEXT", "Postal code." },
	{ "url", SET_FIELD(url), "URL", "Its site." },
	{ "team", SET_FIELD(team), "NAME|ID|none",
	    "The team of which it is a member." },
	{ "venue", SET_FIELD(venue), "home|work|school|none",
	    "The block of preferences for its new hosts." },
	{ "validated", SET_FIELD(validated), "0|1", "1: its address was confirmed.",
	    .max = 1 },
	{ "show-hosts", SET_FIELD(show_hosts), "0|1",
	    "1: statistics sites may name its hosts.", .max = 1 },
	{ "send-email", SET_FIELD(send_email), "0|1", "1: it accepts mail.", .max = 1 },
	DRY_RUN_OPTION(struct user_set_opts),
	{ 0 },
};

struct setting {
	struct cmd_ctx *x;
	struct row_user_settings was, now;
	const char *team_was, *team_now; /* names, for the report */
};

static void setting_text(struct cmd_ctx *x, const char *value, char **to)
{
	if (value != NULL)
		*to = arena_strdup(x->a, value);
}

static enum err setting_venue(struct cmd_ctx *x, const char *value, char **to)
{
	static const char *const venues[] = { "home", "work", "school", "none" };

	if (value == NULL)
		return OK;
	for (size_t i = 0; i < N(venues); i++)
		if (strcmp(venues[i], value) == 0) {
			*to = arena_strdup(x->a, i == 3 ? "" : value);
			return OK;
		}
	return ctx_usage(
	    x, "--venue %.40s: it must be home, work, school or none", value);
}

static enum err setting_names(
    struct cmd_ctx *x, const struct user_set_opts *o, struct row_user_settings *s)
{
	const char *bad = NULL;

	setting_text(x, o->email, &s->email);
	for (char *p = s->email; o->email != NULL && *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	if (o->email != NULL && (bad = account_bad_email(s->email)) != NULL)
		return ctx_usage(x, "--email %.80s: %s", o->email, bad);
	if (o->name != NULL && (bad = account_bad_name(o->name)) != NULL)
		return ctx_usage(x, "--name %.80s: %s", o->name, bad);
	setting_text(x, o->name, &s->name);
	setting_text(x, o->country, &s->country);
	setting_text(x, o->postal_code, &s->postal_code);
	setting_text(x, o->url, &s->url);
	return OK;
}

static enum err team_text(struct cmd_ctx *x, int64_t id, const char **name)
{
	struct row_team_line *t = NULL;
	enum err e = E_NOTFOUND;

	if (id != 0)
		e = db_row(x->db, x->a, x->f, &t, TEAM_LINE_BY_ID, .id = id);
	*name = e == OK ? arena_printf(x->a, "%" PRId64 " (%s)", id, t->name) :
	        id == 0 ? "" :
	                  arena_printf(x->a, "%" PRId64, id);
	return e == E_NOTFOUND ? OK : e;
}

static enum err user_settings_read(struct setting *s, const struct user_set_opts *o)
{
	struct cmd_ctx *x = s->x;

	TRY(setting_names(x, o, &s->now));
	TRY(setting_venue(x, o->venue, &s->now.venue));
	set_given(o->validated, &s->now.validated);
	set_given(o->show_hosts, &s->now.show_hosts);
	set_given(o->send_email, &s->now.send_email);
	if (o->team != NULL && strcmp(o->team, "none") == 0)
		s->now.teamid = 0;
	else if (o->team != NULL)
		TRY(tools_team(x, o->team, &s->now.teamid));
	TRY(team_text(x, s->was.teamid, &s->team_was));
	return team_text(x, s->now.teamid, &s->team_now);
}

static enum err settings_write_in_tx(struct cmd_ctx *x, void *arg)
{
	struct setting *s = arg;
	struct row_user_settings *n = &s->now;
	int64_t matched;

	TRY(db_exec(x->db, x->f, &matched, USER_SET_SETTINGS, .email = n->email,
	    .name = n->name, .country = n->country, .postal_code = n->postal_code,
	    .url = n->url, .teamid = n->teamid, .venue = n->venue,
	    .validated = n->validated, .show_hosts = n->show_hosts,
	    .send_email = n->send_email, .now = clock_now(), .id = n->id,
	    .teamid_was = s->was.teamid));
	if (matched == 0)
		return FAIL(x->f, E_RACE,
		    "account %" PRId64 " has changed meanwhile; try again", n->id);
	/* The counts of both teams, and when it left the one and joined the other. */
	if (s->was.teamid == n->teamid)
		return OK;
	if (s->was.teamid != 0) {
		TRY(db_exec(x->db, x->f, NULL, FORGET_MEMBER, .teamid = s->was.teamid));
		TRY(db_exec(x->db, x->f, NULL, TEAM_DELTA_LEFT, .userid = n->id,
		    .teamid = s->was.teamid, .now = clock_now()));
	}
	if (n->teamid == 0)
		return OK;
	TRY(db_exec(x->db, x->f, NULL, TEAM_MEMBER, .teamid = n->teamid));
	return db_exec(x->db, x->f, NULL, TEAM_DELTA_INSERT, .userid = n->id,
	    .teamid = n->teamid, .now = clock_now());
}

static enum err settings_write(struct cmd_ctx *x, struct setting *s, bool dry)
{
	struct user *other;
	enum err e = dry ? tools_transaction_dry(x, settings_write_in_tx, s) :
	                   tools_transaction(x, settings_write_in_tx, s);

	if (e != E_RACE || strcmp(s->was.email, s->now.email) == 0)
		return e;
	if (user_by_email(x->db, x->a, s->now.email, &other, x->f) == OK &&
	    other->id != s->was.id)
		return FAIL(x->f, E_RACE,
		    "account %" PRId64
		    " has the address %.100s already; locus user merge makes one account of two",
		    other->id, s->now.email);
	return e;
}

static void settings_report(const struct setting *s, bool dry)
{
	const struct row_user_settings *w = &s->was, *n = &s->now;
	struct set_report r = set_report_new(s->x);

	set_report_text(&r, "email", w->email, n->email);
	set_report_text(&r, "name", w->name, n->name);
	set_report_text(&r, "country", w->country, n->country);
	set_report_text(&r, "postal-code", w->postal_code, n->postal_code);
	set_report_text(&r, "url", w->url, n->url);
	set_report_text(&r, "team", s->team_was, s->team_now);
	set_report_text(&r, "venue", w->venue, n->venue);
	set_report_number(&r, "validated", w->validated, n->validated);
	set_report_number(&r, "show-hosts", w->show_hosts, n->show_hosts);
	set_report_number(&r, "send-email", w->send_email, n->send_email);
	set_report_print(
	    &r, dry, arena_printf(s->x->a, "account %" PRId64 " %s", w->id, w->email));
}

static enum err user_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static const struct user_set_opts nothing, only_dry = { .dry_run = true };
	const struct user_set_opts *o = opts;
	struct row_user_settings *was;
	struct setting s = { .x = x };
	struct user *u;

	(void)n;
	if (memcmp(o, &nothing, sizeof(nothing)) == 0 ||
	    memcmp(o, &only_dry, sizeof(only_dry)) == 0)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &u));
	TRY(db_row(x->db, x->a, x->f, &was, USER_SETTINGS, .id = u->id));
	s.was = s.now = *was;
	TRY(user_settings_read(&s, o));
	TRY(settings_write(x, &s, o->dry_run));
	settings_report(&s, o->dry_run);
	if (strcmp(s.was.email, s.now.email) != 0 && u->passwd_hash[0] != '\0')
		fprintf(stderr,
		    "locus: the password of the account is void with its new address; locus user reset-password sets another one\n");
	return OK;
}

const struct cmd cmd_user_set = { .name = "user set",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change an account",
	.about =
	    "Changes what the options name and leaves the rest; shows what it was and what it is\n"
	    "now. Preferences are changed by the person, bans by user ban, passwords by user\n"
	    "reset-password.",
	.opts = user_set_options,
	.opts_size = sizeof(struct user_set_opts),
	.columns = set_columns,
	.run = user_set_run };

/* locus user reset-password: a new password for somebody who has forgotten the old one.
 */

enum { SECRET_MAX = 4096, MADE_LENGTH = 16, MADE_ALPHABET = 32 };

struct password_opts {
	const char *file;
	bool dry_run;
};

static const struct field password_options[] = {
	{ "password-file", FIELD_OF(struct password_opts, file), "FILE",
	    "File with the new password; without it one is made and printed." },
	DRY_RUN_OPTION(struct password_opts),
	{ 0 },
};

/*
 * Returns what is stored of a password for this address: clients send the MD5 of both,
 * and a hash of that is stored (protocol.md 7.4).
 */
static enum err user_password_hash(
    struct cmd_ctx *x, const char *password, const char *email, char **hash)
{
	char wire[MD5_HEX];

	md5_text(arena_printf(x->a, "%s%s", password, email), wire);
	return password_hash(x->a, wire, hash, x->f);
}

/*
 * Returns the first line of a file, NULL without one. Called before the project is
 * entered: the file may be for root's eyes only, or a pipe of root's shell.
 */
static enum err user_password_read(struct cmd_ctx *x, const char *file, char **password)
{
	*password = NULL;
	if (file == NULL)
		return OK;
	TRY(fs_read(x->a, file, SECRET_MAX, password, NULL, x->f));
	(*password)[strcspn(*password, "\r\n")] = '\0';
	return OK;
}

/* user_password_hash() of a password from a file. E_BADREQ: it is too short. */
static enum err user_password_take(
    struct cmd_ctx *x, const char *password, const char *email, char **hash)
{
	if ((int64_t)strlen(password) < x->cf->min_passwd_length)
		return FAIL(x->f, E_BADREQ,
		    "the password must have at least %lld characters",
		    (long long)x->cf->min_passwd_length);
	return user_password_hash(x, password, email, hash);
}

/* Easy to read out: no letters and digits that look alike; 80 random bits. */
static char *password_make(struct arena *a)
{
	static const char alphabet[MADE_ALPHABET + 1] =
	    "abcdefghijkmnpqrstuvwxyz23456789";
	unsigned char random[MADE_LENGTH];
	char *s = arena_alloc(a, MADE_LENGTH + 1);

	random_bytes(random, sizeof(random));
	for (size_t i = 0; i < MADE_LENGTH; i++)
		s[i] = alphabet[random[i] % MADE_ALPHABET];
	return s;
}

static const struct print_column password_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "email", "address", PRINT_TEXT, NULL },
	{ "password", "password", PRINT_TEXT, "null: it came from a file" },
	{ 0 },
};

static enum err reset_password_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct password_opts *o = opts;
	struct user *u;
	char *made = NULL, *hash, *given;

	(void)n;
	TRY(user_password_read(x, o->file, &given));
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &u));
	if (given != NULL)
		TRY(user_password_take(x, given, u->email_addr, &hash));
	else {
		made = password_make(x->a);
		TRY(user_password_hash(x, made, u->email_addr, &hash));
	}
	if (o->dry_run) {
		ctx_progress(
		    x, "would set", "a new password of account %s", u->email_addr);
		return OK;
	}
	TRY(db_exec(
	    x->db, x->f, NULL, USER_RESET_PASSWD, .passwd_hash = hash, .id = u->id));
	/* For people it is the password alone, for scripts. */
	if (x->format != FORMAT_TABLE)
		print_record(x, password_columns, u->id, u->email_addr, made);
	else if (made != NULL)
		printf("%s\n", made);
	else
		ctx_progress(x, "set", "a new password of account %s", u->email_addr);
	return OK;
}

const struct cmd cmd_user_reset_password = { .name = "user reset-password",
	.args = "EMAIL|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "give an account a new password",
	.about =
	    "For volunteers who have forgotten their password: sets a new one and prints it, or\n"
	    "takes it from a file. Computers that are attached stay attached; weak keys that were\n"
	    "derived from the old password are void. Give it to nobody but the owner of the\n"
	    "address.",
	.opts = password_options,
	.opts_size = sizeof(struct password_opts),
	.columns = password_columns,
	.run = reset_password_run };

/* locus user merge: makes one account of two that are the same person's. */

struct merge_opts {
	bool dry_run, yes;
};

static const struct field merge_options[] = {
	DRY_RUN_OPTION(struct merge_opts),
	YES_OPTION(struct merge_opts),
	{ 0 },
};

static const struct print_column merge_columns[] = {
	{ "from", "account", PRINT_NUMBER, "id of the account that goes" },
	{ "into", "merged into", PRINT_NUMBER, "id of the account that stays" },
	{ "hosts", "hosts", PRINT_NUMBER, "that move" },
	{ "results", "results", PRINT_NUMBER, "that move" },
	{ "credit", "credit", PRINT_REAL, "that moves" },
	{ "batches", "batches", PRINT_NUMBER, "that move" },
	{ "teams", "teams founded", PRINT_NUMBER, "that move" },
	{ "reserved", "work reserved", PRINT_NUMBER, "workunits that move" },
	{ "posts", "posts", PRINT_NUMBER, "number that is added" },
	{ "dry_run", "dry run", PRINT_FLAG, NULL },
	{ 0 },
};

struct merging {
	const struct user *from, *into;
	struct arena *a;
	int64_t moved;
};

static enum err results_move_in_tx(struct cmd_ctx *x, void *arg)
{
	struct merging *m = arg;

	arena_reset(m->a);
	return user_results_move(
	    x->db, m->a, m->from->id, m->into->id, &m->moved, x->f);
}

/* Before the account goes, in small steps; and what was sent to it meanwhile. */
static enum err results_follow_user(
    struct cmd_ctx *x, struct merging *m, int64_t expected)
{
	struct progress bar = progress_begin("moving results", expected);
	int64_t done = 0;
	enum err e;

	do {
		e = tools_transaction(x, results_move_in_tx, m);
		progress_set(&bar, done += m->moved);
	} while (e == OK && m->moved > 0);
	progress_end(&bar);
	return e;
}

static enum err user_merge_in_tx(struct cmd_ctx *x, void *arg)
{
	struct merging *m = arg;

	arena_reset(m->a);
	return user_merge(x->db, m->a, m->from, m->into, clock_now(), x->f);
}

static enum err merge_all(struct cmd_ctx *x, struct merging *m, int64_t results)
{
	TRY(results_follow_user(x, m, results));
	TRY(tools_transaction(x, user_merge_in_tx, m));
	return results_follow_user(x, m, 0);
}

static enum err user_merge_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct merge_opts *o = opts;
	struct row_user_has *has;
	struct user *from, *into;
	struct arena a = { 0 };
	struct merging m = { .a = &a };
	enum err e;

	(void)n;
	TRY(ctx_db(x));
	TRY(tools_user(x, args[0], &from));
	TRY(tools_user(x, args[1], &into));
	if (from->id == into->id)
		return ctx_usage(x, "an account cannot be merged into itself");
	m.from = from;
	m.into = into;
	TRY(user_merge_counts(x->db, x->a, from->id, &has, x->f));
	if (!o->dry_run) {
		TRY(confirm(x, o->yes,
		    "merge account %" PRId64 " %s, with %" PRId64 " hosts and %" PRId64
		    " results, into account %" PRId64 " %s for ever",
		    from->id, from->email_addr, has->hosts, has->results, into->id,
		    into->email_addr));
		e = merge_all(x, &m, has->results);
		arena_free(&a);
		TRY(e);
	}
	print_record(x, merge_columns, from->id, into->id, has->hosts, has->results,
	    has->credit, has->batches, has->teams, has->reserved, has->posts,
	    o->dry_run);
	return OK;
}

const struct cmd cmd_user_merge = { .name = "user merge",
	.args = "FROM INTO",
	.min_args = 2,
	.max_args = 2,
	.purpose = "make one account of two that are the same person's",
	.about =
	    "Account INTO takes over the hosts, results, credit, batches, reserved work and teams\n"
	    "of account FROM, which is deleted; locus-privacy(7) says what becomes of the rest. The\n"
	    "clients of FROM need nothing new: its keys are accepted as keys of INTO, whose address\n"
	    "and password are then the only ones.",
	.details = "Counts first, and asks. An interrupted run can be repeated.",
	.opts = merge_options,
	.opts_size = sizeof(struct merge_opts),
	.columns = merge_columns,
	.run = user_merge_run };
