/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored XML blobs (protocol.md 5): makes app_version.xml_doc, workunit.xml_doc and
 * result.xml_doc_in from templates, byte for byte in upstream's layout, and reads back
 * what is needed.
 */
#ifndef PROTO_BLOB_H
#define PROTO_BLOB_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/err.h"
#include "model/rows.h"

struct input_file { /* a staged input file, in template order */
	const char *name, *url, *md5;
	int64_t nbytes;
	int64_t gzipped_nbytes; /* of the copy NAME.gz beside it; 0 = none */
};
/*
 * Converts an input template to workunit columns and xml_doc. Files are matched to
 * file_infos in order; command_line (NULL = the template's) replaces the template's.
 * Sets the columns that the template names, and gives limits that are still 0 their
 * defaults (wu_limits.h); the caller sets name and appid first. E_BADREQ with line and
 * element: wrong number of files, a zero bound, max_* out of order (protocol.md 5.4),
 * blob over 65535 bytes.
 */
enum err blob_workunit(struct arena *, const char *tmpl, const struct input_file *,
    size_t nfiles, const char *command_line, struct workunit *, char **xml_doc,
    struct fail *);
/*
 * For an app with adaptive replication (target_nresults above 1), makes the workunit
 * begin with one result and a quorum of 1, whatever the template says. E_BADREQ: its
 * max_success_results leaves no room for further results.
 */
enum err blob_adaptive(const struct app *, struct workunit *, struct fail *);
/*
 * Converts an output template to xml_doc_in of result `name`: file names
 * NAME_rRANDOM_n, the upload URL, and a certificate per file signed with upload_key
 * (NULL = none). E_BADREQ: a file without max_nbytes, or the blob is too large.
 */
enum err blob_result(struct arena *, const char *tmpl, const char *name,
    uint32_t random, const char *upload_url, const struct key *upload_key,
    char **xml_doc_in, struct fail *);
/* Checks an output template once, before the first work is created. */
enum err blob_check_output(struct arena *, const char *tmpl, struct fail *);

struct version_file {
	const char *name, *url, *signature; /* signature text, as from sign_md5() */
	int64_t nbytes;
	const char *open_name; /* logical name, NULL = none */
	bool executable, main_program, copy_file;
};
/*
 * Makes app_version.xml_doc (protocol.md 5.3). E_BADREQ unless there is exactly one
 * main program.
 */
enum err blob_app_version(struct arena *, const char *app_name, int32_t version_num,
    const char *api_version, const struct version_file *, size_t n, char **xml_doc,
    struct fail *);

/*
 * Replaces the signatures of files in app_version.xml_doc: sign() gets a file's name
 * and signature, and returns another one, as from sign_md5(), or NULL for the same.
 * Everything else stays byte for byte the same. E_BADREQ: a file_info has no name.
 */
struct blob_signer {
	enum err (*sign)(
	    void *ctx, const char *name, const char *was, char **sig, struct fail *);
	void *ctx;
};
enum err blob_resign(struct arena *, const char *xml_doc, const struct blob_signer *,
    char **out, struct fail *);

/*
 * Lists the files that a blob names, in order, from its file_info elements and their
 * file_refs; open_name, url and md5_cksum may be NULL.
 */
struct blob_file {
	char *name, *open_name;
	char *url; /* the last one; NULL = none */
	char *md5_cksum;
	double nbytes, max_nbytes;
	bool sticky, report_on_rpc, no_delete, generated_locally, no_validate, optional;
};
enum err blob_files(
    struct arena *, const char *xml_doc, struct blob_file **, size_t *n, struct fail *);
/* The file of that name among them; NULL if there is none. */
const struct blob_file *blob_file_named(
    const struct blob_file *, size_t n, const char *name);

/*
 * The input files of a workunit that are neither sticky nor marked no_delete: those
 * that go when no workunit needs them. blob_own_inputs() appends their names.
 */
bool blob_is_own_input(const struct blob_file *);
struct own_inputs {
	char **names;
	size_t n, cap;
};
enum err blob_own_inputs(
    struct arena *, const char *xml_doc, struct own_inputs *, struct fail *);

/*
 * Checks the first n files of a workunit's xml_doc, which are its large files. E_BADREQ
 * unless each file_info has <sticky/>, without which hosts delete the file after each
 * job, and <report_on_rpc/>, which makes old clients list it (locality.md 1.1 (L3)).
 */
enum err blob_large_files(struct arena *, const char *xml_doc, size_t n, struct fail *);

/*
 * Returns the name of a workunit's large file: the part of the workunit's name before
 * the first "__"; NULL if there is none (locality.md 1.1 (L2)).
 */
char *wu_name_file(struct arena *, const char *wu_name);
/*
 * E_BADREQ unless wu_name is fit for a workunit, its results and their files: at most
 * 180 bytes, and FILE__* for its large file (NULL = any name).
 */
enum err wu_name_check(
    struct arena *, const char *wu_name, const char *file, struct fail *);
/*
 * E_BADREQ with the reason if the name is empty, has over 190 bytes, or contains "..",
 * "%", "/", control bytes, invalid UTF-8 or "__" (see locality file names).
 */
enum err file_name_check(const char *name, struct fail *);
/*
 * The same for a large file's own set, or a set of several files. The names of its
 * workunits begin with the set's name, so bytes that may not occur in them are
 * E_BADREQ, too.
 */
enum err fileset_name_check(const char *name, struct fail *);

#endif
