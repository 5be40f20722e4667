/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/work_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "model/rows.h"
#include "tools/limit_raise.h"
#include "lib/banned.h"

static const struct {
	int64_t bit;
	const char *name;
} reasons[] = {
	{ WU_ERROR_COULDNT_SEND, "couldnt_send" },
	{ WU_ERROR_TOO_MANY_ERRORS, "too_many_errors" },
	{ WU_ERROR_TOO_MANY_SUCCESS, "too_many_successes" },
	{ WU_ERROR_TOO_MANY_TOTAL, "too_many_results" },
	{ WU_ERROR_CANCELLED, "cancelled" },
	{ WU_ERROR_NO_CANONICAL, "no_canonical" },
};

char *
work_reasons(struct arena *a, int64_t mask)
{
	struct buf b = buf_new(a);

	buf_puts(&b, "");
	for (size_t i = 0; i < N(reasons); i++)
		if (mask & reasons[i].bit)
			buf_printf(&b, "%s%s", b.n > 0 ? ", " : "", reasons[i].name);
	return arena_strdup(a, b.n == 0 ? "" : b.p);
}

int64_t
work_reason_named(const char *name)
{
	for (size_t i = 0; i < N(reasons); i++)
		if (strcmp(reasons[i].name, name) == 0)
			return reasons[i].bit;
	return 0;
}

const char *
work_reason_names(struct arena *a)
{
	return work_reasons(a, -1);
}

/* --- exit statuses --- */

static const struct exit_known {
	int64_t status;
	const char *words;
	unsigned cure; /* enum exit_cure */
	const char *note;
} exits[] = {
#define CURE_RAISE(limit)               CURE_RAISE_FIRST + RAISED_##limit
#define EXIT(status, words, cure, note) { status, words, CURE_##cure, note },
#include "tools/exit_status.def"
#undef EXIT
#undef CURE_RAISE
};

static const struct exit_known *
exit_find(int64_t status)
{
	for (size_t i = 0; i < N(exits); i++)
		if (exits[i].status == status)
			return &exits[i];
	return NULL;
}

void
work_counts_show(struct print *p, const struct row_wu_counts *w)
{
	print_object(p, "workunits", "total", w->total, "open", w->open, "to_validate",
	    w->to_validate, "with_canonical", w->with_canonical, "assimilated",
	    w->assimilated, "failed", w->failed, "cancelled", w->cancelled);
	print_line(p, "workunits",
	    "%lld: %lld open, %lld valid (%lld assimilated), %lld failed, %lld cancelled",
	    (long long)w->total, (long long)w->open, (long long)w->with_canonical,
	    (long long)w->assimilated, (long long)w->failed, (long long)w->cancelled);
}

char *
exit_words(struct arena *a, int64_t status)
{
	const struct exit_known *k = exit_find(status);
	char hex[24] = "";

	/* Windows numbers its faults as 32 bits of which the highest is set. */
	if (status <= -1000000)
		snprintf(hex, sizeof(hex), "0x%08" PRIx32 "%s", (uint32_t)status,
		    k == NULL ? "" : ", ");
	if (k == NULL && hex[0] == '\0')
		return arena_printf(a, "%" PRId64, status);
	return arena_printf(
	    a, "%" PRId64 " (%s%s)", status, hex, k == NULL ? "" : k->words);
}

char *
end_words(struct arena *a, const struct result *r, int64_t file_error)
{
	const struct exit_known *k = exit_find(file_error);

	if (r->outcome != OUTCOME_CLIENT_ERROR || r->exit_status != 0)
		return exit_words(a, r->exit_status);
	if (file_error == 0)
		return arena_strdup(a, "0, but its client calls it a failure");
	if (k == NULL)
		return arena_printf(
		    a, "0, but a file of it failed with error %" PRId64, file_error);
	return arena_printf(a, "0, but %s (%" PRId64 ")", k->words, file_error);
}

enum exit_cure
exit_cure(int64_t status, const char **note)
{
	const struct exit_known *k = exit_find(status);

	*note = k == NULL ? "" : k->note;
	return k == NULL ? CURE_NONE : (enum exit_cure)k->cure;
}

/* --- results --- */

const char *
result_words(const struct result *r)
{
	static const char *const over[] = {
		[OUTCOME_INIT] = "over",
		[OUTCOME_SUCCESS] = "success",
		[OUTCOME_COULDNT_SEND] = "could not be sent",
		[OUTCOME_CLIENT_ERROR] = "failed",
		[OUTCOME_NO_REPLY] = "no reply",
		[OUTCOME_DIDNT_NEED] = "not needed",
		[OUTCOME_VALIDATE_ERROR] = "not checkable",
		[OUTCOME_CLIENT_DETACHED] = "detached",
	};

	switch (r->server_state) {
	case RESULT_INACTIVE:
		return "inactive";
	case RESULT_UNSENT:
		return "unsent";
	case RESULT_IN_PROGRESS:
		return "in progress";
	default:
		return r->outcome >= 0 && r->outcome < (int32_t)N(over) ?
		           over[r->outcome] :
		           "over";
	}
}

static char *
not_judged(struct arena *a, const struct workunit *wu, int64_t successes)
{
	if (wu->need_validate)
		return arena_strdup(a, "not judged: the validator has yet to look");
	if (successes < wu->min_quorum)
		return arena_printf(a,
		    "not judged: the quorum needs %d successes, there are %" PRId64,
		    wu->min_quorum, successes);
	return arena_strdup(a, "not judged");
}

char *
verdict_words(struct arena *a, const struct workunit *wu, const struct result *r,
    int64_t successes)
{
	if (r->server_state != RESULT_OVER)
		return arena_strdup(a, "");
	if (r->outcome == OUTCOME_VALIDATE_ERROR)
		return arena_strdup(a,
		    "error: the validator cannot use its output files; its log says why");
	if (r->outcome != OUTCOME_SUCCESS)
		return arena_strdup(a, "");
	switch (r->validate_state) {
	case VALIDATE_VALID:
		if (r->id == wu->canonical_resultid)
			return arena_printf(a,
			    "valid: canonical, chosen from a quorum of %d",
			    wu->min_quorum);
		return arena_printf(a, "valid: agrees with canonical result %" PRId64,
		    wu->canonical_resultid);
	case VALIDATE_INVALID:
		return arena_printf(a,
		    wu->canonical_resultid > 0 ?
			"invalid: differs from canonical result %" PRId64 :
			"invalid: rejected by the validator, without canonical result (%" PRId64
			")",
		    wu->canonical_resultid);
	case VALIDATE_INCONCLUSIVE:
		return arena_printf(a,
		    "inconclusive: %" PRId64 " successes, of which no %d agree",
		    successes, wu->min_quorum);
	case VALIDATE_NO_CHECK:
		return arena_strdup(
		    a, "not checked: the quorum was decided without it");
	case VALIDATE_TOO_LATE:
		return arena_strdup(a,
		    "too late: its files, or those of the canonical result, were deleted before it was reported");
	default:
		return not_judged(a, wu, successes);
	}
}
