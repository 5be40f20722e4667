/* SPDX-License-Identifier: Apache-2.0 */
/* What requests and preferences say. Short, because the rest of them is plain data. */
#include "model/request.h"

#include <stdlib.h>
#include <string.h>
#include "lib/text.h"
#include "model/catalog.h"
#include "lib/banned.h"

bool prefs_refuse_resource(const struct project_prefs *p, const char *type)
{
	return type != NULL && text_among(type, p->no_rsc, p->nno_rsc);
}

bool prefs_refuse_device(const struct project_prefs *p, const struct rq_resource *r)
{
	return prefs_refuse_resource(p, r->type) || prefs_refuse_resource(p, r->kind) ||
	       (p->no_gpus && r->have_opencl &&
		   strcmp(r->type, resource_names[RESOURCE_CPU]) != 0);
}

enum app_choice prefs_app_choice(
    const struct project_prefs *p, int64_t appid, bool beta, bool distinct_beta_apps)
{
	bool named = false;

	for (size_t i = 0; i < p->napps; i++)
		named = named || p->apps[i] == appid;
	if (beta && distinct_beta_apps)
		return named ? APP_SELECTED : APP_BETA_REFUSED;
	if (beta && !p->allow_beta_work)
		return APP_BETA_REFUSED;
	if (named || p->napps == 0)
		return APP_SELECTED;
	return p->allow_non_preferred_apps ? APP_OTHER : APP_REFUSED;
}

enum { FILE_ABSENT = 0, FILE_PRESENT = 1 };

/* Of two entries of one name, that of the file that is present counts. */
const struct names *request_held(struct arena *a, const struct request *rq)
{
	struct names *held;

	if (rq->held != NULL)
		return rq->held;
	held = NEW(a, struct names);
	names_reserve(a, held, rq->nfiles);
	for (int present = 1; present >= 0; present--)
		for (size_t i = 0; i < rq->nfiles; i++)
			if (rq->files[i].status >= FILE_ABSENT &&
			    (rq->files[i].status == FILE_PRESENT) == (present == 1))
				names_put(a, held, rq->files[i].name, (size_t)present);
	return held;
}

const struct names *request_accounted(struct arena *a, const struct request *rq)
{
	struct names *names;

	if (rq->accounted != NULL)
		return rq->accounted;
	names = NEW(a, struct names);
	for (size_t i = 0; i < rq->nreports; i++)
		names_put(a, names, rq->reports[i].name, 0);
	for (size_t i = 0; i < rq->nother_results; i++)
		names_put(a, names, rq->other_results[i].name, 0);
	return names;
}

size_t request_resource(const struct request *rq, const char *type)
{
	if (type == NULL || type[0] == '\0')
		return 0;
	for (size_t r = 0; r < rq->nresources; r++)
		if (strcmp(rq->resources[r].type, type) == 0)
			return r;
	return SIZE_MAX;
}

bool request_is_anonymous(const struct request *rq)
{
	return rq->nplatforms > 0 && strcmp(rq->platforms[0], "anonymous") == 0;
}
