/* SPDX-License-Identifier: Apache-2.0 */
/* RPCs of account managers and statistics sites (protocol.md 7.6). */
#include "sched/web/web_rpc.h"

#include <string.h>
#include "db/entity.h"
#include "db/user_merge.h"
#include "lib/crypt.h"
#include "lib/text.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

enum { IDS_MAX = DB_LIST_MAX };

/*
 * A deleted account keeps its row; its key shows that it is deleted (protocol.md 7.4).
 */
static bool
account_is_deleted(const struct user_info *u)
{
	return strstr(u->authenticator, "deleted") != NULL;
}

/*
 * Finds the account whose key is in the parameter; otherwise writes an error document.
 * The index ignores trailing blanks of a key, so the key is compared again.
 */
static bool
authenticated(struct web_rpc *x, const char *parameter, struct user_info **u)
{
	const char *key = web_text(x, parameter);
	struct fail f = { 0 };
	enum err e = E_NOTFOUND;
	int64_t id;

	if (key[0] != '\0')
		e = account_by_key(x->db, x->a, key, u, &f);
	if (e == OK &&
	    (!secret_equal((*u)->authenticator, key) || account_is_deleted(*u)))
		e = E_NOTFOUND;
	if (e == E_NOTFOUND && key[0] != '\0') {
		e = user_of_old_key(x->db, key, &id, &f);
		if (e == OK)
			e = account_by_id(x->db, x->a, id, u, &f);
	}
	if (e == E_NOTFOUND && limit_wrong_key(x))
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else if (e != OK && e != E_NOTFOUND)
		web_failed(x, &f);
	return e == OK;
}

void
rpc_manager_get_info(struct web_rpc *x)
{
	struct user_info *u;
	struct fail f = { 0 };
	struct team *t = NULL;
	size_t n = 0;
	enum err e = OK;

	if (!authenticated(x, "account_key", &u))
		return;
	if (u->teamid != 0)
		e = teams_by_ids(x->db, x->a, &u->teamid, 1, &t, &n, &f);
	if (e == OK)
		web_manager_info(x->b, u, n > 0 && t[0].userid == u->id);
	else
		web_failed(x, &f);
}

void
rpc_manager_set_info(struct web_rpc *x)
{
	web_error(x->b, WEB_FAILED, "Accounts cannot be changed by account managers");
}

/* The venues that preferences know; "" is the default. */
static bool
venue_is_known(const char *s)
{
	static const char *const venues[] = { "", "home", "school", "work" };

	for (size_t i = 0; i < N(venues); i++)
		if (strcmp(venues[i], s) == 0)
			return true;
	return false;
}

void
rpc_manager_set_host(struct web_rpc *x)
{
	const char *venue = web_text(x, "venue");
	struct user_info *u;
	struct fail f = { 0 };
	enum err e;

	if (!authenticated(x, "account_key", &u))
		return;
	if (!venue_is_known(venue)) {
		web_error(x->b, WEB_BAD_PARAMETER, "No such venue");
		return;
	}
	e = account_host_venue(x->db, u->id, web_id(x, "hostid"), venue, &f);
	if (e == OK)
		web_success(x->b, "am_set_host_info_reply");
	else if (e == E_NOTFOUND)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_failed(x, &f);
}

/* --- statistics --- */

enum err
web_public_account(struct web_rpc *x, struct user_info **u, struct fail *f)
{
	enum err e = account_by_id(x->db, x->a, web_id(x, "userid"), u, f);

	return e == OK && account_is_deleted(*u) ? E_NOTFOUND : e;
}

void
rpc_show_user(struct web_rpc *x)
{
	struct user_info *u;
	struct host *hosts = NULL;
	struct fail f = { 0 };
	bool own = web_param(x, "auth") != NULL;
	size_t n = 0;
	enum err e;

	if (own) {
		if (!authenticated(x, "auth", &u))
			return;
		e = account_hosts(x->db, x->a, u->id, &hosts, &n, &f);
	} else {
		e = web_public_account(x, &u, &f);
	}
	if (e == OK)
		web_user(x->b, u, own, hosts, n);
	else if (e == E_NOTFOUND)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_failed(x, &f);
}

/* Parses "1,2,3", up to the first item that is not a number. */
static size_t
read_ids(struct arena *a, const char *s, int64_t ids[IDS_MAX])
{
	size_t n = 0;

	while (*s != '\0' && n < IDS_MAX) {
		size_t len = strcspn(s, ",");

		if (!text_i64(arena_memdup(a, s, len), 1, INT64_MAX, &ids[n]))
			break;
		n++;
		s += len;
		s += *s == ',';
	}
	return n;
}

void
rpc_team_lookup(struct web_rpc *x)
{
	char *one = web_param(x, "team_id"), *many = web_param(x, "team_ids");
	char *name = web_param(x, "team_name");
	struct team *t = NULL;
	int64_t ids[IDS_MAX];
	size_t n = 0, nids = 0;
	struct fail f = { 0 };
	enum err e = OK;

	if (one != NULL)
		nids = text_i64(one, 1, INT64_MAX, &ids[0]) ? 1 : 0;
	else if (many != NULL)
		nids = read_ids(x->a, many, ids);
	if (nids > 0)
		e = teams_by_ids(x->db, x->a, ids, nids, &t, &n, &f);
	else if (one == NULL && many == NULL && name != NULL && name[0] != '\0')
		e = teams_by_name(x->db, x->a, name, &t, &n, &f);
	if (e != OK)
		web_failed(x, &f);
	else if (n == 0)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_teams(x->b, t, n, one == NULL);
}
