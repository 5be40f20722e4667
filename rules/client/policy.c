/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of policies. Short, because it needs all policies, and they may not need
 * each other.
 */
#include "rules/client/policy.h"

#include <string.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

const struct policy *const policies[] = { &policy_window, &policy_rec, &policy_classic,
	&policy_debt1, &policy_debtr, &policy_hybrid, NULL };
const struct policy *const policy_variants[] = { &policy_rec_letter,
	&policy_rec_deadlines, &policy_rec_upstream, &policy_classic_upstream,
	&policy_debt1_deadlines, &policy_debt1_upstream, &policy_debtr_deadlines,
	&policy_debtr_upstream, NULL };

static const struct policy *find_in_table(
    const struct policy *const *all, const char *name)
{
	for (size_t i = 0; all[i] != NULL; i++)
		if (strcmp(all[i]->name, name) == 0)
			return all[i];
	return NULL;
}

const struct policy *policy_find(const char *name)
{
	const struct policy *p = find_in_table(policies, name);

	return p != NULL ? p : find_in_table(policy_variants, name);
}
