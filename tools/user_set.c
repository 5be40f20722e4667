/* SPDX-License-Identifier: Apache-2.0 */
/* locus user set: what an account says about its person, and its team. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "proto/web.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/set_report.h"
#include "lib/banned.h"

struct user_set_opts { /* NULL = unchanged */
	const char *email, *name, *country, *postal_code, *url, *team, *venue;
	const char *validated, *show_hosts, *send_email;
	bool dry_run;
};
#define OFF(member) offsetof(struct user_set_opts, member)

static const struct opt user_set_options[] = {
	{ "email", OPT_TEXT, OFF(email), "ADDRESS",
	    "Its address, which no other account has. Its password becomes void, as it is stored together with the address; keys stay." },
	{ "name", OPT_TEXT, OFF(name), "TEXT", "Public name." },
	{ "country", OPT_TEXT, OFF(country), "TEXT", "Country, as in statistics." },
	{ "postal-code", OPT_TEXT, OFF(postal_code), "TEXT", "Postal code." },
	{ "url", OPT_TEXT, OFF(url), "URL", "Its site." },
	{ "team", OPT_TEXT, OFF(team), "NAME|ID|none",
	    "The team of which it is a member." },
	{ "venue", OPT_TEXT, OFF(venue), "home|work|school|none",
	    "The block of preferences for its new hosts." },
	{ "validated", OPT_TEXT, OFF(validated), "0|1",
	    "1: its address was confirmed." },
	{ "show-hosts", OPT_TEXT, OFF(show_hosts), "0|1",
	    "1: statistics sites may name its hosts." },
	{ "send-email", OPT_TEXT, OFF(send_email), "0|1", "1: it accepts mail." },
	DRY_RUN_OPTION(struct user_set_opts),
	{ 0 },
};

struct setting {
	struct cmd_ctx *x;
	struct row_user_settings was, now;
	const char *team_was, *team_now; /* names, for the report */
};

static enum err
setting_flag(struct cmd_ctx *x, const char *name, const char *value, int32_t *to)
{
	int64_t v;

	if (value == NULL)
		return OK;
	if (!text_i64(value, 0, 1, &v))
		return ctx_usage(x, "--%s %.40s: it must be 0 or 1", name, value);
	*to = (int32_t)v;
	return OK;
}

static void
setting_text(struct cmd_ctx *x, const char *value, char **to)
{
	if (value != NULL)
		*to = arena_strdup(x->a, value);
}

static enum err
setting_venue(struct cmd_ctx *x, const char *value, char **to)
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

static enum err
setting_names(
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

static enum err
team_text(struct cmd_ctx *x, int64_t id, const char **name)
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

static enum err
user_settings_read(struct setting *s, const struct user_set_opts *o)
{
	struct cmd_ctx *x = s->x;

	TRY(setting_names(x, o, &s->now));
	TRY(setting_venue(x, o->venue, &s->now.venue));
	TRY(setting_flag(x, "validated", o->validated, &s->now.validated));
	TRY(setting_flag(x, "show-hosts", o->show_hosts, &s->now.show_hosts));
	TRY(setting_flag(x, "send-email", o->send_email, &s->now.send_email));
	if (o->team != NULL && strcmp(o->team, "none") == 0)
		s->now.teamid = 0;
	else if (o->team != NULL)
		TRY(tools_team(x, o->team, &s->now.teamid));
	TRY(team_text(x, s->was.teamid, &s->team_was));
	return team_text(x, s->now.teamid, &s->team_now);
}

/* The counts of both teams, and when it left the one and joined the other. */
static enum err
change_team(struct cmd_ctx *x, int64_t userid, int64_t was, int64_t now)
{
	if (was == now)
		return OK;
	if (was != 0) {
		TRY(db_exec(x->db, x->f, NULL, FORGET_MEMBER, .teamid = was));
		TRY(db_exec(x->db, x->f, NULL, TEAM_DELTA_LEFT, .userid = userid,
		    .teamid = was, .now = clock_now()));
	}
	if (now == 0)
		return OK;
	TRY(db_exec(x->db, x->f, NULL, TEAM_MEMBER, .teamid = now));
	return db_exec(x->db, x->f, NULL, TEAM_DELTA_INSERT, .userid = userid,
	    .teamid = now, .now = clock_now());
}

static enum err
settings_write_in_tx(struct cmd_ctx *x, void *arg)
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
	return change_team(x, n->id, s->was.teamid, n->teamid);
}

static enum err
settings_write(struct cmd_ctx *x, struct setting *s, bool dry)
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

static void
settings_report(const struct setting *s, bool dry)
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

static enum err
user_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
