/* SPDX-License-Identifier: Apache-2.0 */
/* The file upload protocol (protocol.md 6, 13.9): header text and replies; no I/O. */
#ifndef PROTO_UPLOAD_H
#define PROTO_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"
#include "lib/err.h"

enum { UPLOAD_HEADER_MAX = 8192 };
enum upload_kind { UPLOAD_NONE, UPLOAD_SIZE_QUERY, UPLOAD_DATA };
struct upload {
	enum upload_kind kind;
	int32_t version; /* version of the client */
	char *name, *xml_signature, *md5_cksum;
	bool has_max_nbytes, has_nbytes;
	double max_nbytes;
	int64_t nbytes, offset;
	size_t header_n; /* bytes up to and including the newline after <data> */
};
/*
 * Parses the n bytes that have arrived so far. OK: the header is complete. E_RETRY:
 * more bytes are needed. E_BADREQ: an invalid upload, or its header exceeds
 * UPLOAD_HEADER_MAX. E_NOTFOUND: neither an upload nor a size query.
 */
enum err upload_parse(
    struct arena *, const char *in, size_t n, struct upload *, struct fail *);
/*
 * status: 0 done, 1 transient, -1 permanent error; message may be NULL; file_size < 0 =
 * not a size reply.
 */
void upload_reply(struct buf *, int status, const char *message, int64_t file_size);

/* The client's side. */
void upload_render_query(struct buf *, int32_t version, const char *name);
/* Writes everything up to and including <data>\n. */
void upload_render_header(struct buf *, const struct upload *);
/* E_BADREQ if there is no status; *file_size is -1 if absent. */
enum err upload_parse_reply(struct arena *, const char *in, size_t n, int *status,
    int64_t *file_size, char **message, struct fail *);

/* The text that a certificate signs: <name>N</name><max_nbytes>B</max_nbytes>. */
char *upload_certificate_text(struct arena *, const char *name, double max_nbytes);

/* Names of output files in the upload directory: RESULT_rRANDOM_INDEX. */

struct upload_name {
	char *file;   /* without the ending of an incomplete upload */
	char *result; /* name of the result that it belongs to */
	bool part;    /* incomplete */
};

/* Takes the name of a file of the upload directory apart; false if it is no output. */
bool upload_name_parse(struct arena *, const char *name, struct upload_name *);

#endif
