/* SPDX-License-Identifier: Apache-2.0 */
/* What a reply says about the project and the host in it: identity, key,
 * preferences. */
#include "client/client.h"

#include <string.h>
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/catalog.h"
#include "proto/prefs.h"
#include "lib/banned.h"

static const double SHARE_MOST = 1e12;

/* Files signed while the old key was the project's keep that key. */
static void
change_key(struct client *c, struct cproject *p, const char *text)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		struct cfile *f = &p->files[i];

		if (f->info.file_signature != NULL &&
		    f->info.file_signature[0] != '\0' &&
		    (f->sign_key == NULL || f->sign_key[0] == '\0'))
			f->sign_key = p->code_sign_key;
	}
	p->code_sign_key = arena_strdup(&c->keep, text);
}

/* Trusts the first key; a later one must be signed by the present one (protocol.md
 * 5.6). */
static void
take_code_sign_key(struct client *c, struct cproject *p, const struct reply *rp)
{
	const char *signature = rp->code_sign_key_signature;
	struct key *ours;
	enum err e = E_BADREQ;

	if (rp->code_sign_key == NULL)
		return;
	if (p->code_sign_key == NULL || p->code_sign_key[0] == '\0') {
		p->code_sign_key = arena_strdup(&c->keep, rp->code_sign_key);
		return;
	}
	if (strcmp(p->code_sign_key, rp->code_sign_key) == 0)
		return;
	if (signature != NULL &&
	    key_parse_public(p->code_sign_key, &ours, &c->fail) == OK) {
		e = verify_text(ours, rp->code_sign_key, signature, &c->fail);
		key_free(ours);
	}
	if (e == OK)
		change_key(c, p, rp->code_sign_key);
	else
		log_warn(
		    "the project's new code signing key is not signed with the old key; keeping the old key");
}

static void
account_text(struct client *c, char **into, const char *text)
{
	if (text != NULL)
		*into = arena_strdup(&c->keep, text);
}

static void
account_number(double *into, double x)
{
	if (x > 0)
		*into = x;
}

static void
take_account(struct client *c, struct cproject *p, const struct rp_account *in)
{
	struct rp_account *a = &p->account;

	account_text(c, &a->user_name, in->user_name);
	account_text(c, &a->team_name, in->team_name);
	account_text(c, &a->email_hash, in->email_hash);
	account_text(c, &a->cross_project_id, in->cross_project_id);
	account_text(c, &a->external_cpid, in->external_cpid);
	account_number(&a->user_total_credit, in->user_total_credit);
	account_number(&a->user_expavg_credit, in->user_expavg_credit);
	account_number(&a->user_create_time, in->user_create_time);
	account_number(&a->host_total_credit, in->host_total_credit);
	account_number(&a->host_expavg_credit, in->host_expavg_credit);
	account_number(&a->host_create_time, in->host_create_time);
	if (in->teamid > 0 || in->team_name != NULL)
		a->teamid = in->teamid;
}

static void
take_identity(struct client *c, struct cproject *p, const struct reply *rp)
{
	if (rp->hostid > 0) {
		p->hostid = rp->hostid;
		p->rpc_seqno = 0;
	}
	if (rp->userid > 0)
		p->userid = rp->userid;
	if (rp->project_name != NULL)
		p->project_name = arena_strdup(&c->keep, rp->project_name);
	account_text(c, &p->venue, rp->host_venue);
	account_text(c, &p->preferences, rp->project_preferences);
	take_account(c, p, &rp->account);
	take_code_sign_key(c, p, rp);
}

/* Notes the resources for which the account wants no work from the project. */
static void
take_refused(struct client *c, struct cproject *p, const struct project_prefs *prefs)
{
	for (size_t r = 0; r <= c->options.ncoprocs; r++) {
		const char *name = r == 0 ? resource_names[RESOURCE_CPU] :
		                            c->options.coproc[r - 1].name;

		state_standing(&c->keep, p, name)->refused = prefs_refuse_resource(
		    prefs, name);
	}
}

/* Takes over the account's preferences for this project at the host's venue; the user's
 * own share overrides theirs. */
static void
take_prefs(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct project_prefs prefs;
	char *text;
	double share;

	if (rp->project_preferences == NULL)
		return;
	prefs = prefs_project(&c->scratch,
	    arena_printf(&c->scratch, "<project_preferences>%s</project_preferences>",
		rp->project_preferences),
	    rp->host_venue);
	preferences_complain("the account's project preferences", prefs.bad);
	take_refused(c, p, &prefs);
	if (p->own_share)
		return;
	text = prefs.text == NULL ?
	           NULL :
	           xml_between(&c->scratch, prefs.text, "resource_share");
	if (text == NULL)
		return;
	if (text_f64(text_trim(text), &share) && share >= 0 && share <= SHARE_MOST)
		p->share = share;
	else
		log_warn(
		    "the account's resource share \"%.40s\" is not a number from 0 to %g (write decimals with a point): it stays %g",
		    text, (double)SHARE_MOST, p->share);
}

static void
take_kind(struct client *c, struct cproject *p, const struct reply *rp)
{
	p->no_dcf = rp->dont_use_dcf;
	p->nci = rp->non_cpu_intensive;
	c->state->full_workload |= rp->send_full_workload;
}

void
take_project(struct client *c, struct cproject *p, const struct reply *rp)
{
	take_identity(c, p, rp);
	take_prefs(c, p, rp);
	preferences_take(c, p, rp);
	take_kind(c, p, rp);
}
