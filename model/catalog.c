/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups in the small tables; they are short, so a scan is the simplest index. */
#include "model/snapshot.h"

#include <string.h>
#include "lib/banned.h"

const struct app *
catalog_app(const struct catalog *c, int64_t id)
{
	for (size_t i = 0; i < c->napps; i++)
		if (c->apps[i].id == id)
			return &c->apps[i];
	return NULL;
}

const struct app *
catalog_app_named(const struct catalog *c, const char *name)
{
	for (size_t i = 0; i < c->napps; i++)
		if (strcmp(c->apps[i].name, name) == 0)
			return &c->apps[i];
	return NULL;
}

const struct platform *
catalog_platform(const struct catalog *c, int64_t id)
{
	for (size_t i = 0; i < c->nplatforms; i++)
		if (c->platforms[i].id == id)
			return &c->platforms[i];
	return NULL;
}

const struct platform *
catalog_platform_named(const struct catalog *c, const char *name)
{
	for (size_t i = 0; i < c->nplatforms; i++)
		if (strcmp(c->platforms[i].name, name) == 0)
			return &c->platforms[i];
	return NULL;
}
