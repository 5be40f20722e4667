/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Homogeneous redundancy (scheduling.md 2.10): which hosts may share a workunit, so
 * that their results can be compared bit by bit.
 */
#ifndef RULES_SCHED_HR_H
#define RULES_SCHED_HR_H

#include "model/conf.h"
#include "model/request.h"
#include "model/rows.h"

enum hr_type { HR_NONE, HR_FINE, HR_COARSE }; /* as in rows and options */
/* The app's own type, else the project's; unknown numbers mean none. */
enum hr_type hr_type_of(const struct conf *, const struct app *);
/*
 * The host's class, > 0: processor family or vendor + 128 x system. 0 = unknown: the
 * host gets no work of such apps. Texts may be NULL.
 */
int32_t hr_class_of(
    enum hr_type, const char *os_name, const char *vendor, const char *model);
/* Windows, Linux, or a Mac with an Intel processor? Texts may be NULL. */
bool hr_usual(const char *os_name, const char *vendor);

#endif
