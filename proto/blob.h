/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored XML blobs (protocol.md 5): app_version.xml_doc, workunit.xml_doc,
 * result.xml_doc_in made from templates byte for byte in upstream's layout, and what
 * must be read back from them.
 */
#ifndef PROTO_BLOB_H
#define PROTO_BLOB_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/err.h"
#include "model/rows.h"

struct input_file { /* one staged input, in template order */
	const char *name, *url, *md5;
	int64_t nbytes;
};
/*
 * Input template -> workunit columns and xml_doc.  Files are matched to file_infos in
 * order; command_line (NULL = the template's) replaces the template's.  Fills only
 * columns that the template names; the caller sets name and appid first.  E_BADREQ with
 * line and element: wrong number of files, a zero bound, max_* out of order
 * (protocol.md 5.4), blob over 65535 bytes.
 */
enum err blob_workunit(struct arena *, const char *tmpl, const struct input_file *,
    size_t nfiles, const char *command_line, struct workunit *, char **xml_doc,
    struct fail *);
/*
 * Of an app with adaptive replication (its target_nresults is above 1) a workunit
 * begins with one result and a quorum of 1, whatever the template says.  E_BADREQ: its
 * max_success_results leaves no room for those that may follow.
 */
enum err blob_adaptive(const struct app *, struct workunit *, struct fail *);
/*
 * Output template -> xml_doc_in of result `name`: file names NAME_rRANDOM_n, upload
 * URL, and a certificate per file by upload_key (NULL = none).  E_BADREQ: no max_nbytes
 * in a file, blob too large.
 */
enum err blob_result(struct arena *, const char *tmpl, const char *name,
    uint32_t random, const char *upload_url, const struct key *upload_key,
    char **xml_doc_in, struct fail *);
/* Checks an output template once, at creation of the first work. */
enum err blob_check_output(struct arena *, const char *tmpl, struct fail *);

struct version_file {
	const char *name, *url, *signature; /* signature text as sign_md5 makes it */
	int64_t nbytes;
	const char *open_name; /* logical name, NULL = none */
	bool executable, main_program, copy_file;
};
/* app_version.xml_doc (protocol.md 5.3); exactly one main program, else E_BADREQ. */
enum err blob_app_version(struct arena *, const char *app_name, int32_t version_num,
    const char *api_version, const struct version_file *, size_t n, char **xml_doc,
    struct fail *);

/*
 * app_version.xml_doc with other signatures of its files: sign gives that of one name,
 * as sign_md5 makes it.  Everything else stays byte for byte.  E_BADREQ: a file_info
 * has no name.
 */
struct blob_signer {
	enum err (*sign)(void *ctx, const char *name, char **sig, struct fail *);
	void *ctx;
};
enum err blob_resign(struct arena *, const char *xml_doc, const struct blob_signer *,
    char **out, struct fail *);

/*
 * Files that a blob names, in order, from file_info elements and their file_refs;
 * open_name and md5_cksum may be NULL.
 */
struct blob_file {
	char *name, *open_name;
	char *md5_cksum;
	double nbytes, max_nbytes;
	bool sticky, report_on_rpc, no_delete, generated_locally, no_validate, optional;
};
enum err blob_files(
    struct arena *, const char *xml_doc, struct blob_file **, size_t *n, struct fail *);

/*
 * The first n files of a workunit's xml_doc are large ones.  E_BADREQ unless their
 * file_info has <sticky/>, without which hosts delete them after each job, and
 * <report_on_rpc/>, by which old clients list them (locality.md 1.1 (L3)).
 */
enum err blob_large_files(struct arena *, const char *xml_doc, size_t n, struct fail *);

/*
 * The large file of a workunit name: what stands before the first "__"; NULL if there
 * is none (locality.md 1.1 (L2)).
 */
char *wu_name_file(struct arena *, const char *wu_name);
/*
 * E_BADREQ unless this is a name for a workunit, its results and their files: at most
 * 180 bytes, and FILE__* for its large file (NULL = any name will do).
 */
enum err wu_name_check(
    struct arena *, const char *wu_name, const char *file, struct fail *);
/*
 * E_BADREQ with the reason: empty, over 190 bytes, "..", "%", "/", control bytes, no
 * UTF-8, "__" (locality file names).
 */
enum err file_name_check(const char *name, struct fail *);
/*
 * The same for a large file's own set, or a set of several: the names of its workunits
 * begin with it, so all that cannot stand in them is E_BADREQ too.
 */
enum err fileset_name_check(const char *name, struct fail *);

#endif
