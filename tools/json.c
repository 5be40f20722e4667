/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands as JSON. */
#include "tools/json.h"

#include <stdio.h>
#include "lib/banned.h"

void
json_show(json_t *root)
{
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	printf("\n");
	json_decref(root);
}
