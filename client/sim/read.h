/* SPDX-License-Identifier: Apache-2.0 */
/* The two formats of a scenario, and what they share. */
#ifndef CLIENT_SIM_READ_H
#define CLIENT_SIM_READ_H

#include <stdbool.h>
#include <stddef.h>
#include "client/sim/sim.h"

enum {
	SIM_GPU = 1, /* the only type of coprocessor that a file can describe */
	SIM_PROJECTS_MOST = 1000,
	SIM_APPS_MOST = 100,
	SIM_FILE_MOST = 1 << 20 /* bytes */
};
#define SIM_NAME_WORDS                                                                 \
	"a name of 1 to 60 letters, digits, spaces and the characters _ - . + :"
/* Is the name safe to appear in logs and figures as it is? */
bool sim_name_ok(const char *);

void sim_project_defaults(struct sim_project *);
/* Adds n GPUs, each rel times as fast as one CPU. */
void sim_add_gpus(struct sim_scenario *, double n, double rel);

/* Parses a scenario from n bytes followed by a NUL; file is its name in error texts.
 * E_BADREQ says where it is wrong. sim_notation() reads P(C, D, R) and the rest of
 * client.md 7. */
enum err sim_json(struct arena *, const char *file, const char *bytes, size_t n,
    struct sim_scenario *, struct fail *);
enum err sim_notation(struct arena *, const char *file, const char *bytes, size_t n,
    struct sim_scenario *, struct fail *);

#endif
