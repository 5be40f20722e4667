/* SPDX-License-Identifier: Apache-2.0 */
/* Limits on jobs in progress, from config_aux.xml (scheduling.md 2.8): plain data. */
#ifndef MODEL_JOB_LIMITS_H
#define MODEL_JOB_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

struct job_limit {
	bool set;
	double jobs;   /* >= 0 */
	bool per_proc; /* jobs per usable instance of the resource */
};
struct job_limits_of {                    /* limits of the project or of one app */
	char *app_name;                   /* NULL: the project */
	struct job_limit total, cpu, gpu; /* gpu: for each type of coprocessor */
};
struct job_limits {
	struct job_limits_of project, *apps;
	size_t napps;
};

#endif
