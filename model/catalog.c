/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-ups in the small tables; these are so short that a scan is the simplest index.
 */
#include "model/catalog.h"

#include <stdlib.h>
#include <string.h>
#include "model/decision.h"
#include "lib/banned.h"

enum { BENCHMARKS_LEAST = 10 }; /* too few hosts for a percentile (scheduling.md 2.4) */

static int compare_benchmarks(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return a < b ? -1 : a > b;
}

void catalog_benchmarks(struct catalog *c, double *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i] > 0)
			v[kept++] = v[i];
	c->fpops_median = c->fpops_p95 = 0;
	if (kept < BENCHMARKS_LEAST)
		return;
	qsort(v, kept, sizeof(*v), compare_benchmarks);
	c->fpops_median = v[kept / 2];
	c->fpops_p95 = v[kept * 95 / 100];
}

bool catalog_locality(const struct catalog *cat, const struct conf *cf)
{
	bool on = cf->locality_scheduling;

	for (size_t i = 0; !on && i < cat->napps; i++)
		on = cat->apps[i].locality_scheduling;
	return on;
}

const struct app *catalog_app(const struct catalog *c, int64_t id)
{
	for (size_t i = 0; i < c->napps; i++)
		if (c->apps[i].id == id)
			return &c->apps[i];
	return NULL;
}

bool app_is_held_back(const struct app *app)
{
	return app->deprecated != 0 || app->drain_time != 0;
}

const struct app *catalog_app_named(const struct catalog *c, const char *name)
{
	for (size_t i = 0; i < c->napps; i++)
		if (strcmp(c->apps[i].name, name) == 0)
			return &c->apps[i];
	return NULL;
}

const struct platform *catalog_platform(const struct catalog *c, int64_t id)
{
	for (size_t i = 0; i < c->nplatforms; i++)
		if (c->platforms[i].id == id)
			return &c->platforms[i];
	return NULL;
}

const struct platform *catalog_platform_named(const struct catalog *c, const char *name)
{
	for (size_t i = 0; i < c->nplatforms; i++)
		if (strcmp(c->platforms[i].name, name) == 0)
			return &c->platforms[i];
	return NULL;
}

static const struct {
	const char *code, *text;
} sources[] = {
#define SPEED(code, text) { #code, text },
#include "model/speed.def"
#undef SPEED
};

const char *speed_source_text(enum speed_source s)
{
	return sources[s].text;
}

const char *speed_source_code(enum speed_source s)
{
	return sources[s].code;
}

enum speed_source speed_source_named(const char *code)
{
	size_t i = 0;

	while (i < SPEED_BENCHMARK && strcmp(sources[i].code, code) != 0)
		i++;
	return (enum speed_source)i;
}

enum { OWN_FIRST = 2, OWN_GENERIC = 7, OWN_GENERICS = 900000, PER_APP = 1000000 };

const char *const resource_names[RESOURCE_KINDS] = {
	[RESOURCE_CPU] = "CPU",
	[RESOURCE_NVIDIA] = "NVIDIA",
	[RESOURCE_AMD] = "ATI",
	[RESOURCE_INTEL] = "intel_gpu",
	[RESOURCE_APPLE] = "apple_gpu",
};

int64_t resource_own_program(const char *name)
{
	uint32_t hash = 2166136261u;

	for (int k = 0; k < RESOURCE_KINDS; k++)
		if (strcmp(name, resource_names[k]) == 0)
			return -OWN_FIRST - k;
	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return -OWN_GENERIC - (int64_t)(hash % OWN_GENERICS);
}

int64_t resource_statistics_id(int64_t appid, int64_t app_version_id)
{
	return app_version_id < 0 ? PER_APP * appid - app_version_id : app_version_id;
}
