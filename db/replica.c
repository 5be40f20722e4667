/* SPDX-License-Identifier: Apache-2.0 */
#include "db/replica.h"

#include "db/stmts.h"
#include "lib/banned.h"

bool
replica_named(const struct conf *cf)
{
	return cf->replica_db_host[0] != '\0' || cf->replica_db_socket[0] != '\0';
}

static char *
or_else(char *s, char *other)
{
	return s[0] != '\0' ? s : other;
}

/* What is not named is as for the primary, except the place. */
static struct conf *
replica_conf(struct arena *a, const struct conf *cf)
{
	struct conf *r = NEW(a, struct conf);

	*r = *cf;
	r->db_host = cf->replica_db_host;
	r->db_port = cf->replica_db_port;
	r->db_socket = cf->replica_db_socket;
	r->db_name = or_else(cf->replica_db_name, cf->db_name);
	r->db_user = or_else(cf->replica_db_user, cf->db_user);
	r->db_passwd = or_else(cf->replica_db_passwd, cf->db_passwd);
	return r;
}

enum err
replica_open(struct arena *a, const struct conf *cf, enum db_use use, struct db **db,
    int64_t *age_s, struct fail *f)
{
	enum err e;

	if (!replica_named(cf))
		return FAIL(f, E_NOTFOUND, "config.xml names no replica");
	TRY(db_open(replica_conf(a, cf), use, db, f));
	e = db_number(*db, f, age_s, DATA_AGE);
	if (e == OK && (*age_s < 0 || *age_s > cf->replica_max_age))
		e = FAIL(f, E_DB,
		    "the replica's data are %lld s old, more than replica_max_age (%lld s)",
		    (long long)*age_s, (long long)cf->replica_max_age);
	if (e != OK) {
		db_close(*db);
		*db = NULL;
	}
	return e;
}
