/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of policies, for policy.c. */
#ifndef RULES_CLIENT_POLICIES_H
#define RULES_CLIENT_POLICIES_H

#include "rules/client/policy.h"

extern const struct policy policy_rec, policy_hybrid, policy_rec_letter,
    policy_rec_deadlines, policy_rec_upstream;                      /* client.md 4 */
extern const struct policy policy_classic, policy_classic_upstream; /* client.md 1.1 */
extern const struct policy policy_debt1, policy_debt1_deadlines,
    policy_debt1_upstream; /* client.md 2 */
extern const struct policy policy_debtr, policy_debtr_deadlines,
    policy_debtr_upstream;                /* client.md 3 */
extern const struct policy policy_window; /* Locus's own */

#endif
