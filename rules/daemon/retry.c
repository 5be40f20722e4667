/* SPDX-License-Identifier: Apache-2.0 */
/* What another try of a workunit changes, when an admin asks for one
 * (scheduling.md 4.5). */
#include "rules/daemon/daemon_rules.h"

#include "model/rows.h"
#include "lib/banned.h"

/* Does some daemon have work to do on it now? */
static bool daemon_has_work(const struct workunit *wu, int64_t now)
{
	return wu->need_validate != 0 || wu->assimilate_state == ASSIMILATE_READY ||
	       wu->file_delete_state != FILE_DELETE_INIT || wu->transition_time <= now;
}

/* A success that was not judged because the workunit had failed can be judged now, if
 * its output still exists. */
static void reopen_success(const struct result *r, struct result_retry *change,
    int32_t *success, int32_t *error)
{
	if (r->validate_state == VALIDATE_INVALID)
		return;
	if (r->file_delete_state != FILE_DELETE_INIT) {
		change->lost = true;
		++*error;
		return;
	}
	change->judge = r->validate_state == VALIDATE_NO_CHECK;
	++*success;
}

static int32_t larger(int32_t a, int64_t b)
{
	return b > INT32_MAX ? INT32_MAX : b > a ? (int32_t)b : a;
}

/* Is it over without a canonical result that is valid, the majority of its quorum, or
 * an error? Something else has changed it then. */
static bool rests_on_nothing(
    const struct workunit *wu, const struct result *r, size_t n)
{
	int32_t valid = 0;
	bool canonical = false;

	if (wu->error_mask != 0)
		return false;
	if (wu->canonical_resultid == 0)
		return wu->assimilate_state == ASSIMILATE_DONE;
	for (size_t i = 0; i < n; i++)
		if (r[i].server_state == RESULT_OVER &&
		    r[i].outcome == OUTCOME_SUCCESS &&
		    r[i].validate_state == VALIDATE_VALID) {
			valid++;
			canonical = canonical || r[i].id == wu->canonical_resultid;
		}
	return !canonical || valid < wu->min_quorum / 2 + 1;
}

static bool is_error(const struct result *r)
{
	return (r->outcome == OUTCOME_CLIENT_ERROR &&
		   r->exit_status != EXIT_ABORTED_BY_USER) ||
	       r->outcome == OUTCOME_VALIDATE_ERROR;
}

/* Fills c as for a workunit that is to be opened again. */
static void reopen(struct wu_retry *c, const struct workunit *wu,
    const struct result *r, size_t n, int32_t tries)
{
	int32_t success = 0, error = 0, alive = 0;
	int64_t wanted;

	for (size_t i = 0; i < n; i++) {
		alive += r[i].server_state != RESULT_OVER;
		if (r[i].server_state != RESULT_OVER)
			continue;
		c->results[i].forget = r[i].outcome == OUTCOME_COULDNT_SEND;
		if (r[i].outcome == OUTCOME_SUCCESS)
			reopen_success(&r[i], &c->results[i], &success, &error);
		error += is_error(&r[i]);
	}
	c->reopen = true;
	wanted = (int64_t)wu->target_nresults - alive - success;
	c->max_total_results = larger(
	    c->max_total_results, (int64_t)n + (wanted > tries ? wanted : tries));
	c->max_error_results = larger(c->max_error_results, error + tries - 1);
	if (success > 0)
		c->max_success_results = larger(
		    c->max_success_results, success + tries);
}

/* It is open, and its failures so far would soon end it: a result that is out with what
 * has been mended meanwhile may be the last that may fail. */
static bool is_near_its_end(const struct workunit *wu, const struct result *r, size_t n,
    const struct wu_retry *reopened)
{
	bool failed = false;

	for (size_t i = 0; i < n; i++)
		failed = failed ||
		         (r[i].server_state == RESULT_OVER && is_error(&r[i]));
	return failed && wu->canonical_resultid == 0 &&
	       (reopened->max_error_results > wu->max_error_results ||
		   reopened->max_total_results > wu->max_total_results);
}

struct wu_retry retry(struct arena *a, const struct workunit *wu,
    const struct result *r, size_t n, const struct retry_how *how)
{
	struct wu_retry c = { .results = NEWN(a, struct result_retry, n + 1),
		.max_error_results = wu->max_error_results,
		.max_total_results = wu->max_total_results,
		.max_success_results = wu->max_success_results };
	struct wu_retry same = c;

	if (!how->daemons_only && rests_on_nothing(wu, r, n))
		return retract(a, wu, r, n, how);
	same.results = NEWN(a, struct result_retry, n + 1);
	same.again = (wu->error_mask == 0 || wu->canonical_resultid != 0 ||
			 how->daemons_only) &&
	             (how->aside || daemon_has_work(wu, how->now));
	if (how->daemons_only || wu->canonical_resultid != 0 ||
	    wu->transitioner_flags == WU_NO_TRANSITION)
		return same;
	reopen(&c, wu, r, n, how->tries);
	return wu->error_mask != 0 || is_near_its_end(wu, r, n, &c) ? c : same;
}

static bool is_distrusted(const struct result *r, const struct retry_how *how)
{
	if (how->host != 0)
		return r->hostid == how->host;
	for (size_t i = 0; i < how->nversions; i++)
		if (r->app_version_id == how->versions[i])
			return true;
	return false;
}

static bool is_retracted(const struct result *r, const struct retry_how *how)
{
	return is_distrusted(r, how) && r->server_state == RESULT_OVER &&
	       r->outcome == OUTCOME_SUCCESS && r->received_time >= how->since &&
	       (r->validate_state == VALIDATE_INIT ||
		   r->validate_state == VALIDATE_VALID ||
		   r->validate_state == VALIDATE_INCONCLUSIVE ||
		   r->validate_state == VALIDATE_NO_CHECK);
}

struct wu_retry retract(struct arena *a, const struct workunit *wu,
    const struct result *r, size_t n, const struct retry_how *how)
{
	struct wu_retry c = { .max_error_results = wu->max_error_results,
		.max_total_results = wu->max_total_results,
		.max_success_results = wu->max_success_results };
	int32_t success = 0, valid = 0, error = 0;
	bool any = rests_on_nothing(wu, r, n), canonical = false;

	c.results = NEWN(a, struct result_retry, n + 1);
	if (wu->transitioner_flags == WU_NO_TRANSITION)
		return c;
	for (size_t i = 0; i < n; i++) {
		struct result_retry *change = &c.results[i];

		change->retract = is_retracted(&r[i], how);
		any = any || change->retract;
		if (change->retract || r[i].outcome != OUTCOME_SUCCESS) {
			error += r[i].outcome == OUTCOME_CLIENT_ERROR ||
			         r[i].outcome == OUTCOME_VALIDATE_ERROR;
			continue;
		}
		canonical = canonical || (r[i].id == wu->canonical_resultid &&
					     r[i].validate_state == VALIDATE_VALID);
		valid += r[i].validate_state == VALIDATE_VALID;
		/* Without its output it cannot be compared; if it is valid, it stays.
		 */
		if (r[i].file_delete_state == FILE_DELETE_INIT)
			reopen_success(&r[i], change, &success, &error);
	}
	if (!any || (canonical && valid >= wu->min_quorum)) {
		c.again = any;
		return c;
	}
	c.reopen = true;
	c.judge = success >= wu->min_quorum;
	c.max_total_results = larger(c.max_total_results, (int64_t)n + how->tries);
	c.max_error_results = larger(c.max_error_results, error + how->tries - 1);
	c.max_success_results = larger(c.max_success_results, success + how->tries);
	return c;
}
