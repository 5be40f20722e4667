/* SPDX-License-Identifier: Apache-2.0 */
/* A finished workunit with all that the archive keeps of it (db/wu_updates.h). */
#ifndef MODEL_PURGED_H
#define MODEL_PURGED_H

#include "model/rows.h"

struct purged_result {
	const struct result *row;
	const char *xml_doc_in, *xml_doc_out, *stderr_out; /* NULL: not loaded */
};

struct purged {
	const struct workunit *wu;
	const char *xml_doc;           /* NULL: not loaded */
	struct purged_result *results; /* by id */
	size_t nresults;
};

#endif
