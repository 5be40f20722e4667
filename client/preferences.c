/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's preferences for the whole host: the newest global preferences of all
 * accounts, at the host's venue in the project that sent them, unless the command line
 * overrides them (protocol.md 1.4, 13.6, client.md 4.8).
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/prefs.h"
#include "proto/xml_table.h"
#include "lib/banned.h"

enum { TEXT_MOST = 64 << 10 };
static const double DAY_S = 86400, MINUTE_S = 60;
static const double PERIOD_S = 3600, BUFFER_LEAST_S = 180, DAYS_MOST = 30,
		    MINUTES_MOST = 24 * 60;

#define OVERRIDE "global_prefs_override.xml"
static const char root[] = "global_preferences";

#define T struct host_prefs
static const struct field host_prefs_table[] = {
#define PREF(kind, name, otherwise) FIELD(#name, name),
#include "client/preferences.def"
#undef PREF
	END
};
#undef T

static struct rq_prefs parse_preferences(
    struct client *c, const char *inside, const char *venue)
{
	return prefs_global(&c->scratch,
	    arena_printf(
		&c->scratch, "<global_preferences>%s</global_preferences>", inside),
	    venue, c->now);
}

/* Takes one <day_prefs>, which has hours of one day of the week. */
static void read_day(struct client *c, const char *text, struct host_prefs *h)
{
	static const char *const names[] = { "day_of_week", "start_hour", "end_hour",
		"net_start_hour", "net_end_hour" };
	double x[N(names)] = { -1, 0, 0, 0, 0 };
	bool given[N(names)] = { false };
	size_t day;

	for (size_t i = 0; i < N(names); i++) {
		char *value = xml_between(&c->scratch, text, names[i]);

		given[i] = value != NULL && text_f64(text_trim(value), &x[i]);
	}
	if (!given[0] || x[0] < 0 || x[0] >= WEEK)
		return;
	day = (size_t)x[0];
	if (given[1] && given[2])
		h->run[day] = (struct hours){ x[1], x[2], true };
	if (given[3] && given[4])
		h->network[day] = (struct hours){ x[3], x[4], true };
}

/* Parses what applies; a later value of a name replaces an earlier one. */
static struct host_prefs parse_host_prefs(struct client *c, const char *inside)
{
	static const char open[] = "<day_prefs>", close[] = "</day_prefs>";
	struct host_prefs h = {
#define PREF(kind, name, otherwise) .name = otherwise,
#include "client/preferences.def"
#undef PREF
	};
	const char *text = arena_printf(&c->scratch, "<%s>%s</%s>", root, inside, root);
	const char *p = inside, *end;
	struct fail f;

	/* Values read before an error count, as everywhere. */
	(void)xml_parse(
	    &c->scratch, text, strlen(text), root, host_prefs_table, &h, NULL, &f);
	while ((p = strstr(p, open)) != NULL && (end = strstr(p, close)) != NULL) {
		p += strlen(open);
		read_day(c, arena_memdup(&c->scratch, p, (size_t)(end - p)), &h);
		p = end;
	}
	return h;
}

char *preferences_override_path(struct client *c)
{
	return arena_printf(&c->scratch, "%s/" OVERRIDE, c->dir);
}

/* Returns what the user says in the host's own file, without its root; NULL if there is
 * no such file. */
static const char *read_override(struct client *c)
{
	char *text;
	struct fail f;
	enum err e = fs_read(
	    &c->scratch, preferences_override_path(c), TEXT_MOST, &text, NULL, &f);

	if (e == OK)
		text = prefs_global_text(&c->scratch, text, NULL);
	else if (e != E_NOTFOUND)
		log_warn("ignored: %s", f.detail);
	if (e == OK && text == NULL)
		log_warn("ignored: " OVERRIDE " has no <global_preferences>");
	return e == OK ? text : NULL;
}

/* c->prefs has what was given, c->host_prefs what applies. */
void preferences_read(struct client *c)
{
	const struct state *st = c->state;
	const char *mine = read_override(c), *account = "", *ours;
	double mod_time = 0;

	if (st->preferences != NULL && st->preferences[0] != '\0') {
		mod_time = parse_preferences(c, st->preferences, NULL).mod_time;
		account = prefs_global_text(&c->scratch,
		    arena_printf(
			&c->scratch, "<%s>%s</%s>", root, st->preferences, root),
		    st->preferences_venue);
	}
	ours = arena_printf(&c->scratch, "%s%s", account == NULL ? "" : account,
	    mine == NULL ? "" : mine);
	c->prefs = parse_preferences(c, ours, NULL);
	c->prefs.mod_time = mod_time;
	/* Each file answers for its own numbers. */
	if (account != NULL)
		preferences_complain("the account's preferences",
		    parse_preferences(c, account, NULL).bad);
	if (mine != NULL)
		preferences_complain(
		    preferences_override_path(c), parse_preferences(c, mine, NULL).bad);
	c->prefs.bad = NULL; /* its text ends with the round */
	c->host_prefs = parse_host_prefs(c, ours);
	c->host_prefs.overridden = mine != NULL;
	/* A reply usually repeats what is known; programs hear only of changes. */
	struct buf b = buf_new(&c->scratch);
	char md5[MD5_HEX];

	preferences_put(c, &b);
	md5_hex(b.p, b.n, md5);
	c->prefs_changes += strcmp(md5, c->prefs_md5) != 0;
	memcpy(c->prefs_md5, md5, sizeof(md5));
}

void preferences_look(struct client *c)
{
	if (fs_changed(preferences_override_path(c), &c->override_seen))
		preferences_read(c);
}

void preferences_put(struct client *c, struct buf *b)
{
	const char *from = c->state->preferences_from;
	struct host_prefs h = c->host_prefs;
	struct cw_prefs w = preferences_now(c);

	h.work_buf_min_days = w.min_s / DAY_S;
	h.work_buf_additional_days = w.extra_s / DAY_S;
	h.ram_max_used_busy_pct = 100 * preferences_ram_part(c, true);
	h.ram_max_used_idle_pct = 100 * preferences_ram_part(c, false);
	h.leave_apps_in_memory = w.leave_in_memory;
	h.cpu_scheduling_period_minutes = w.period_s / MINUTE_S;
	h.max_ncpus_pct = 100 * preferences_ncpus(c) / c->options.ncpus;
	buf_printf(b, "<%s>\n", root);
	buf_tag(b, "source_project", from == NULL ? "" : from);
	buf_tag_fixed(b, "mod_time", c->prefs.mod_time);
	for (const struct field *o = host_prefs_table; o->name != NULL; o++)
		if (o->type == FIELD_F64)
			buf_tag_fixed(b, o->name, field_number(o, &h));
		else
			buf_tag_i64(b, o->name, field_whole(o, &h));
	buf_tag_i64(b, "override_file_present", h.overridden);
	buf_printf(b, "</%s>\n", root);
}

/* Do these preferences come from the same project as the current ones, or are they
 * newer? */
static bool replaces(struct client *c, const struct cproject *p, const char *text)
{
	const char *from = c->state->preferences_from;

	return from == NULL || strcmp(from, p->master_url) == 0 ||
	       state_project(c->state, from) == NULL ||
	       parse_preferences(c, text, NULL).mod_time > c->prefs.mod_time;
}

void preferences_take(
    struct client *c, const struct cproject *p, const struct reply *rp)
{
	const char *text = rp->global_preferences;
	struct state *st = c->state;

	if (text != NULL && strlen(text) > TEXT_MOST) {
		log_warn("preferences of %zu bytes are too long", strlen(text));
		return;
	}
	if (text != NULL && replaces(c, p, text)) {
		st->preferences = arena_strdup(&c->keep, text);
		st->preferences_from = arena_strdup(&c->keep, p->master_url);
	}
	if (st->preferences_from == NULL ||
	    strcmp(st->preferences_from, p->master_url) != 0)
		return;
	if (rp->host_venue != NULL)
		st->preferences_venue = arena_strdup(&c->keep, rp->host_venue);
	preferences_read(c);
}

void preferences_complain(const char *whose, const char *bad)
{
	if (bad != NULL)
		log_warn(
		    "%s: %s is not a number (write decimals with a point); ignored",
		    whose, bad);
}

static double limit_to_range(double x, double least, double most)
{
	return fmin(fmax(x, least), most);
}

double preferences_ram_part(const struct client *c, bool in_use)
{
	double percent = in_use ? c->prefs.ram_max_used_busy_pct :
	                          c->prefs.ram_max_used_idle_pct;

	return c->options.own_ram || percent <= 0 ?
	           c->options.ram_part :
	           limit_to_range(percent, 1, 100) / 100;
}

double preferences_ncpus(const struct client *c)
{
	double percent = c->host_prefs.max_ncpus_pct, ncpus = c->options.ncpus;

	if (c->options.own_ncpus || !(percent > 0) || percent >= 100)
		return ncpus;
	return fmin(ncpus, fmax(1, floor(ncpus * percent / 100 + 1e-6)));
}

struct cw_prefs preferences_now(const struct client *c)
{
	const struct rq_prefs *p = &c->prefs;
	double minutes = p->cpu_scheduling_period_minutes;
	struct cw_prefs w = { .min_s = c->options.min_buffer_s,
		.extra_s = c->options.extra_buffer_s,
		.period_s = minutes > 0 ?
		                MINUTE_S * limit_to_range(minutes, 1, MINUTES_MOST) :
		                PERIOD_S,
		.ram_bytes = preferences_ram_part(c, c->machine.in_use) * c->ram_bytes,
		.leave_in_memory = !c->options.quit_when_stopped,
		.backoff_min_s = c->options.backoff.min_s,
		.backoff_most_s = c->options.backoff.max_s };

	if (!c->options.own_buffer && p->has_work_buf_min)
		w.min_s = fmax(
		    DAY_S * limit_to_range(p->work_buf_min_days, 0, DAYS_MOST),
		    BUFFER_LEAST_S);
	if (!c->options.own_buffer && p->has_work_buf_additional)
		w.extra_s = DAY_S *
		            limit_to_range(p->work_buf_additional_days, 0, DAYS_MOST);
	if (p->has_leave_apps)
		w.leave_in_memory &= p->leave_apps_in_memory;
	w.cushion_s = w.min_s;
	if (!c->options.own_buffer)
		w.min_s = fmax(w.min_s, estimate_gap_buffer_s(&c->state->gaps));
	return w;
}
