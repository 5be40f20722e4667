/* SPDX-License-Identifier: Apache-2.0 */
#include "model/request.h"

#include <string.h>
#include "lib/banned.h"

size_t
request_resource(const struct request *rq, const char *type)
{
	if (type == NULL || type[0] == '\0')
		return 0;
	for (size_t r = 0; r < rq->nresources; r++)
		if (strcmp(rq->resources[r].type, type) == 0)
			return r;
	return SIZE_MAX;
}

bool
request_is_anonymous(const struct request *rq)
{
	return rq->nplatforms > 0 && strcmp(rq->platforms[0], "anonymous") == 0;
}
