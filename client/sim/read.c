/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a scenario and checks its consistency. Short, because it stands before the two
 * forms of a scenario, which may not need it.
 */
#include "client/sim/read.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

static enum err check_sim_app(const char *path, const struct sim_scenario *s,
    const struct sim_project *p, const struct sim_app *app, struct fail *f)
{
	if ((size_t)app->rsc >= s->nrsc)
		return FAIL(f, E_BADREQ,
		    "%s: project %s has jobs for a GPU, and the host has none", path,
		    p->name);
	if (app->use > s->rsc[app->rsc].ninst || app->ncpus > s->rsc[CW_CPU].ninst)
		return FAIL(f, E_BADREQ,
		    "%s: a job of project %s needs more instances than the host has",
		    path, p->name);
	if (app->use <= 0)
		return FAIL(
		    f, E_BADREQ, "%s: a job of project %s uses nothing", path, p->name);
	return OK;
}

static enum err check_times(
    const char *path, const struct sim_project *p, struct fail *f)
{
	if (p->detach_s < p->attach_s)
		return FAIL(f, E_BADREQ,
		    "%s: project %s is detached before it is attached", path, p->name);
	if (p->down_until_s < p->down_from_s)
		return FAIL(f, E_BADREQ,
		    "%s: the outage of project %s ends before it begins", path,
		    p->name);
	for (size_t k = 0; k < p->napps; k++)
		if (p->apps[k].until_s < p->apps[k].from_s)
			return FAIL(f, E_BADREQ,
			    "%s: jobs of project %s end before they begin", path,
			    p->name);
	return OK;
}

enum err sim_read(
    struct arena *a, const char *path, struct sim_scenario *s, struct fail *f)
{
	char *bytes;
	size_t n, at = 0;
	double shares = 0;

	TRY(fs_read(a, path, SIM_FILE_MOST, &bytes, &n, f));
	sim_defaults(s);
	while (text_white(bytes[at]))
		at++;
	TRY(bytes[at] == '{' ? sim_json(a, path, bytes, n, s, f) :
			       sim_notation(a, path, bytes, n, s, f));
	/* Checks what no single field shows. */
	for (size_t i = 0; i < s->nprojects; i++) {
		const struct sim_project *p = &s->projects[i];
		enum err e = check_times(path, p, f);

		if (e != OK)
			return e;
		shares += p->share;
		for (size_t k = 0; k < i; k++)
			if (strcmp(p->name, s->projects[k].name) == 0)
				return FAIL(f, E_BADREQ,
				    "%s: two projects have the name %s", path, p->name);
		for (size_t k = 0; k < p->napps; k++) {
			e = check_sim_app(path, s, p, &p->apps[k], f);
			if (e != OK)
				return e;
		}
	}
	return shares > 0 ? OK : FAIL(f, E_BADREQ, "%s: no project has a share", path);
}
