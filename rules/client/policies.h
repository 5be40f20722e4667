/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of policies, one file each. */
#ifndef RULES_CLIENT_POLICIES_H
#define RULES_CLIENT_POLICIES_H

#include "rules/client/policy.h"

extern const struct policy policy_rec; /* policy_rec.c: seed 001 */

#endif
