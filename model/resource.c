/* SPDX-License-Identifier: Apache-2.0 */
#include "model/resource.h"

#include <string.h>
#include "lib/banned.h"

enum { OWN_FIRST = 2, OWN_GENERIC = 7, OWN_GENERICS = 900000, PER_APP = 1000000 };

const char *const resource_names[RESOURCE_KINDS] = {
	[RESOURCE_CPU] = "CPU",
	[RESOURCE_NVIDIA] = "NVIDIA",
	[RESOURCE_AMD] = "ATI",
	[RESOURCE_INTEL] = "intel_gpu",
	[RESOURCE_APPLE] = "apple_gpu",
};

int64_t
resource_own_program(const char *name)
{
	uint32_t hash = 2166136261u;

	for (int k = 0; k < RESOURCE_KINDS; k++)
		if (strcmp(name, resource_names[k]) == 0)
			return -OWN_FIRST - k;
	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return -OWN_GENERIC - (int64_t)(hash % OWN_GENERICS);
}

int64_t
resource_statistics_id(int64_t appid, int64_t app_version_id)
{
	return app_version_id < 0 ? PER_APP * appid - app_version_id : app_version_id;
}
