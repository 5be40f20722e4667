/* SPDX-License-Identifier: Apache-2.0 */
/* The resource of the host that an app version uses. */
#include "client/client.h"

#include <string.h>
#include "proto/coproc.h"
#include "lib/banned.h"

int32_t
version_resource(const struct client *c, const struct rp_app_version *v)
{
	const char *type = coproc_type(v->coproc_type);

	if (type == NULL || type[0] == '\0')
		return CW_CPU;
	for (size_t i = 0; i < c->options.ncoprocs; i++)
		if (strcmp(c->options.coproc[i].name, type) == 0)
			return (int32_t)i + 1;
	return -1;
}
