/* SPDX-License-Identifier: Apache-2.0 */
/* Reason codes, from reasons.def. */
#ifndef MODEL_REASONS_H
#define MODEL_REASONS_H

enum reason {
#define REASON(code, text) WHY_##code,
#include "model/reasons.def"
#undef REASON
	WHY__MAX
};

const char *reason_code(enum reason);       /* "USER_ONCE" */
const char *reason_text(enum reason);       /* for messages */
enum reason reason_named(const char *code); /* WHY__MAX if unknown */

#endif
