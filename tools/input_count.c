/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/input_count.h"

#include <stdlib.h>
#include <string.h>
#include "db/input_use.h"
#include "lib/order.h"
#include "proto/blob.h"
#include "lib/banned.h"

/* In one order, so that two commands do not wait for each other's rows in turn. */
static enum err
count_sorted(struct cmd_ctx *x, char **names, size_t n)
{
	size_t same;

	qsort(names, n, sizeof(*names), name_order);
	for (size_t i = 0; i < n; i += same) {
		for (same = 1; i + same < n && strcmp(names[i + same], names[i]) == 0;)
			same++;
		TRY(input_use(x->db, names[i], (int64_t)same, x->f));
	}
	return OK;
}

enum err
inputs_count(struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	char **names = NULL;
	size_t nnames = 0, cap = 0;

	for (size_t i = 0; i < n; i++) {
		struct blob_file *files;
		size_t nfiles;

		TRY(blob_files(a, xml_docs[i], &files, &nfiles, x->f));
		for (size_t k = 0; k < nfiles; k++)
			if (!files[k].sticky && !files[k].no_delete)
				PUSH(a, names, nnames, cap) = files[k].name;
	}
	return nnames == 0 ? OK : count_sorted(x, names, nnames);
}
