/* SPDX-License-Identifier: Apache-2.0 */
/* What must be true of triggers wherever they are kept; run over both stores. */
#ifndef TEST_TRIGGER_CASES_H
#define TEST_TRIGGER_CASES_H

#include "db/trigger_rows.h"

struct trigger_case {
	const char *name;
	/* Two processes of one project; all names but "stranger" are its files. */
	void (*run)(const struct triggers *, const struct triggers *other);
};
extern const struct trigger_case trigger_cases[];
extern const size_t trigger_ncases;
/* The files that must be there in a database. */
extern const char *const trigger_files[]; /* ends with NULL */

#endif
