/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: who can get the work that waits. */
#include "tools/doctor.h"
#include "tools/stuck.h"
#include "lib/banned.h"

static void
doctor_work_found(void *arg, const struct fsck_finding *f)
{
	struct doctor *d = arg;
	const struct fsck_words *w = fsck_words(f->code);

	doctor_warn(d, fsck_cure(d->a, d->x, f), "%s %s: %s%s%s%s", w->noun, f->name,
	    w->text, f->more[0] == '\0' ? "" : " (", f->more,
	    f->more[0] == '\0' ? "" : ")");
}

void
doctor_sendable(struct doctor *d)
{
	if (stuck_find(d->x, STUCK_QUEUED, false,
		&(const struct stuck_listener){ doctor_work_found, d }) != OK)
		doctor_db_fault(d, d->x->f);
	else if (!doctor_has_complained(d))
		doctor_ok(d, "nothing waits for a host that does not exist");
}

void
doctor_independence(struct doctor *d)
{
	const struct conf *cf = d->cf;
	int64_t accounts;
	int32_t quorum;

	if (stuck_quorum(d->x, &quorum, &accounts) != OK)
		doctor_db_fault(d, d->x->f);
	else if (cf->one_result_per_user_per_wu)
		doctor_ok(d, "an account gets one result of a workunit");
	else if (quorum < 2 || accounts < 2)
		doctor_ok(d, quorum < 2 ? "no work that waits needs a second result" :
					  "all active computers are of one account");
	else
		doctor_warn(d,
		    doctor_locus(d, "config set one_result_per_user_per_wu 1"),
		    "one account may get all results of a workunit and confirm itself, while %lld accounts are active",
		    (long long)accounts);
}
