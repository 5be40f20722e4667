/* SPDX-License-Identifier: Apache-2.0 */
/* What handlers are told, as JSON (locus-handlers(7)). */
#ifndef DAEMONS_HANDLER_NOUNS_H
#define DAEMONS_HANDLER_NOUNS_H

#include <jansson.h>
#include "daemons/outputs.h"
#include "model/rows.h"

/* A request of this type, to which more can be added. */
json_t *handler_request(const char *type);
/* A workunit; xml_doc (may be NULL) has its command line. */
json_t *handler_workunit(struct arena *, const struct workunit *, const char *xml_doc);
/* A result with its output files; out may be NULL. */
json_t *handler_result(const struct result *, const struct outputs *out);
/* Files as a list; path is where the handler can read each. */
json_t *handler_outputs(const struct output *, size_t n);

#endif
