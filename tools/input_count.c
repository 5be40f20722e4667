/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input_count.h"

#include "db/input_use.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum err
inputs_count(struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	struct own_inputs own = { 0 };

	for (size_t i = 0; i < n; i++)
		TRY(blob_own_inputs(a, xml_docs[i], &own, x->f));
	return inputs_use(x->db, a, own.names, own.n, x->f);
}
