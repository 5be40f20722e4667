/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input_count.h"

#include "db/entity.h"
#include "db/file.h"
#include "lib/fs.h"
#include "proto/blob.h"
#include "lib/banned.h"

static enum err
count_own(struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n,
    struct own_inputs *own)
{
	for (size_t i = 0; i < n; i++)
		TRY(blob_own_inputs(a, xml_docs[i], own, x->f));
	return inputs_use(x->db, a, own->names, own->n, x->f);
}

enum err
inputs_count(struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	return count_own(x, a, xml_docs, n, &(struct own_inputs){ 0 });
}

/* file_deleter keeps the row locked until the file is gone; from here on it is ours. */
enum err
inputs_count_there(
    struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	struct own_inputs own = { 0 };

	TRY(count_own(x, a, xml_docs, n, &own));
	for (size_t i = 0; i < own.n; i++)
		if (!fs_exists(download_path(a, x->cf, own.names[i])))
			return FAIL(x->f, E_NOTFOUND,
			    "input file %s has just been deleted, as no workunit needed it: stage it again",
			    own.names[i]);
	return OK;
}

enum err
inputs_uncount(
    struct cmd_ctx *x, struct arena *a, struct workunit *const *wus, size_t n)
{
	struct own_inputs freed = { 0 };
	struct counted_docs c;

	TRY(inputs_counted_docs(x->db, a, wus, n, &c, x->f));
	for (size_t i = 0; i < c.n; i++)
		if (c.docs[i] != NULL)
			blob_own_inputs(a, c.docs[i], &freed, NULL);
	return inputs_take_off(x->db, a, &c, freed.names, freed.n, x->f);
}
