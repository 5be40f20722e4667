/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults of a scenario, and rules for its names. Short, because both forms of a
 * scenario begin with it.
 */
#include "client/sim/read.h"

#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

static const struct sim_onoff always = { .fraction = 1, .mean_on_s = 4 * 3600 };

void sim_defaults(struct sim_scenario *s)
{
	*s = (struct sim_scenario){
		.note = "",
		.rsc[CW_CPU] = { .name = "CPU", .ninst = 1, .flops = 1, .avail = 1 },
		.nrsc = 1,
		.on = always,
		.active = always,
		.connected = always,
		.prefs = { .min_s = 8640,
		    .extra_s = 43200,
		    .period_s = 3600,
		    .cushion_s = 8640 },
	};
}

void sim_app_defaults(struct sim_app *app)
{
	*app = (struct sim_app){ .name = "",
		.ncpus = 1,
		.rsc = CW_CPU,
		.use = 1,
		.weight = 1,
		.bias = 1,
		.jobs_per_file = 1,
		.until_s = INFINITY };
}

void sim_project_defaults(struct sim_project *p)
{
	*p = (struct sim_project){ .share = 100, .up = always, .detach_s = INFINITY };
}

void sim_add_gpus(struct sim_scenario *s, double n, double rel)
{
	s->rsc[SIM_GPU] = (struct cw_resource){
		.name = "GPU",
		.ninst = n,
		.flops = rel * s->rsc[CW_CPU].flops,
		.avail = 1,
	};
	s->nrsc = SIM_GPU + 1;
}

bool sim_name_ok(const char *s)
{
	size_t n = strlen(s);

	for (const char *p = s; *p != '\0'; p++)
		if (!text_alnum(*p) && strchr(" _-.+:", *p) == NULL)
			return false;
	return n >= 1 && n <= 60;
}
