/* SPDX-License-Identifier: Apache-2.0 */
/* Test cases that hold for triggers in either store: directories and database rows. */
#ifndef TEST_TRIGGER_CASES_H
#define TEST_TRIGGER_CASES_H

#include "db/trigger_rows.h"

struct trigger_case {
	const char *name;
	/*
	 * Arguments: two processes of one project. All names except "stranger" are
	 * files of the project.
	 */
	void (*run)(const struct triggers *, const struct triggers *other);
};
extern const struct trigger_case trigger_cases[];
extern const size_t trigger_ncases;
/* The files that the database must contain. */
extern const char *const trigger_files[]; /* ends with NULL */

#endif
