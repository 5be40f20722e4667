/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus upload expire: removes uploads that nobody will look at any more. The file
 * deleter removes the outputs of results once; what a host sends afterwards, or for a
 * result that was purged, stays for ever otherwise.
 */
#ifndef TOOLS_UPLOAD_EXPIRE_H
#define TOOLS_UPLOAD_EXPIRE_H

#include "model/rows.h"
#include "tools/cmd.h"

/*
 * Counts new workunits, or those that are open again, by their documents, in their
 * transaction; the caller sets their inputs_counted.
 */
enum err inputs_count(
    struct cmd_ctx *, struct arena *, const char *const *xml_docs, size_t n);
/* As inputs_count(); E_NOTFOUND if file_deleter has just removed one of the files. */
enum err inputs_count_there(
    struct cmd_ctx *, struct arena *, const char *const *xml_docs, size_t n);
/*
 * Takes off those of at most DB_LIST_MAX finished workunits that are still counted,
 * because another program has deleted their files; before they are deleted themselves,
 * in the same transaction. E_RACE: one of them has changed.
 */
enum err inputs_uncount(
    struct cmd_ctx *, struct arena *, struct workunit *const *, size_t n);

#endif
