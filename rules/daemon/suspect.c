/* SPDX-License-Identifier: Apache-2.0 */
/* Which hosts return what others do not confirm. */
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

enum { ENOUGH = 10, TIMES = 4, FEW = 3 };

/* n of `of` results of the host are bad, all_n of all_of of every host. */
static bool
stands_out(int64_t n, int64_t of, int64_t all_n, int64_t all_of)
{
	int64_t others_n = all_n - n, others = all_of - of;

	if (of < ENOUGH || 2 * n < of || others <= 0)
		return false;
	return (double)n / (double)of >= TIMES * ((double)others_n / (double)others);
}

enum suspicion
host_suspicion(const struct host_ends *host, const struct host_ends *all)
{
	if (stands_out(host->wrong, host->success, all->wrong, all->success))
		return SUSPICION_WRONG;
	return stands_out(host->failed, host->failed + host->success, all->failed,
		   all->failed + all->success) ?
	           SUSPICION_FAILED :
	           SUSPICION_NONE;
}

enum blame
failure_blame(const struct blame_facts *f)
{
	if (f->n < FEW)
		return BLAME_NOBODY;
	if (f->one_host && f->others_success >= ENOUGH && f->host_success < f->n)
		return BLAME_HOST;
	return f->one_version && f->versions_success >= ENOUGH &&
	               f->version_success < f->n ?
	           BLAME_VERSION :
	           BLAME_NOBODY;
}
