/* SPDX-License-Identifier: Apache-2.0 */
/* The table of policies. */
#include "rules/client/policy.h"

#include <string.h>
#include "rules/client/policies.h"
#include "lib/banned.h"

const struct policy *const policies[] = { &policy_rec, NULL };

const struct policy *
policy_find(const char *name)
{
	for (size_t i = 0; policies[i] != NULL; i++)
		if (strcmp(policies[i]->name, name) == 0)
			return policies[i];
	return NULL;
}
