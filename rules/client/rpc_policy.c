/* SPDX-License-Identifier: Apache-2.0 */
/* When a host makes contact, and how long it stays away after failures. */
#include "rules/client/client_rules.h"

#include <math.h>
#include "lib/banned.h"

enum { REPORT_AFTER_S = 3600, REPORT_BEFORE_DEADLINE_S = 86400, REPORT_COUNT = 64 };

static bool
results_due(const struct rpc_view *v, int64_t now)
{
	if (v->ready_to_report == 0 || v->uploading)
		return false;
	return v->report_immediately || v->ready_to_report >= REPORT_COUNT ||
	       now - v->first_ready_at >= REPORT_AFTER_S ||
	       v->first_deadline - now <= REPORT_BEFORE_DEADLINE_S;
}

enum rpc_reason
rpc_due(const struct rpc_view *v, int64_t now)
{
	if (now < v->min_rpc_time)
		return RPC_NONE;
	if (v->never_contacted)
		return RPC_INIT;
	if (v->next_rpc_time != 0 && now >= v->next_rpc_time)
		return RPC_REQUESTED;
	if (results_due(v, now))
		return RPC_RESULTS_DUE;
	if (v->wanted_s > 0 && now >= v->work_backoff_until)
		return RPC_NEED_WORK;
	return RPC_NONE;
}

const char *
rpc_reason_text(enum rpc_reason r)
{
	static const char *const text[] = { "nothing to do", "first contact",
		"asked by the project", "results to report", "work is needed" };

	return text[r];
}
