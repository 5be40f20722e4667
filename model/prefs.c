/* SPDX-License-Identifier: Apache-2.0 */
#include "model/prefs.h"

#include <string.h>
#include "model/request.h"
#include "model/resource.h"
#include "lib/banned.h"

bool
prefs_refuse_resource(const struct project_prefs *p, const char *type)
{
	for (size_t i = 0; i < p->nno_rsc && type != NULL; i++)
		if (strcmp(p->no_rsc[i], type) == 0)
			return true;
	return false;
}

bool
prefs_refuse_device(const struct project_prefs *p, const struct rq_resource *r)
{
	return prefs_refuse_resource(p, r->type) || prefs_refuse_resource(p, r->kind) ||
	       (p->no_gpus && r->have_opencl &&
		   strcmp(r->type, resource_names[RESOURCE_CPU]) != 0);
}

enum app_choice
prefs_app_choice(
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
