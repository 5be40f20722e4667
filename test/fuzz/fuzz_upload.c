/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses any bytes as the start of an upload and as the reply to one; what was parsed
 * is rendered and parsed again.
 */
#include "proto/upload.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

static void again(struct arena *a, const struct upload *u)
{
	struct buf b = buf_new(a);
	struct upload back;
	struct fail f;
	enum err e;

	if (u->name == NULL ||
	    (u->xml_signature != NULL && strchr(u->xml_signature, '<') != NULL))
		return; /* our client never sends this */
	if (u->kind == UPLOAD_SIZE_QUERY)
		upload_render_query(&b, u->version, u->name);
	else
		upload_render_header(&b, u);
	e = upload_parse(a, b.p, b.n, &back, &f);
	assert(e == OK || b.n > UPLOAD_HEADER_MAX);
	assert(e != OK || (back.kind == u->kind && back.offset == u->offset));
}

FUZZ(a, in, n)
{
	struct buf b = buf_new(a);
	struct upload u;
	struct fail f;
	int64_t file_size;
	char *message;
	int status;

	if (upload_parse(a, in, n, &u, &f) == OK) {
		assert(u.header_n <= n);
		assert(u.nbytes >= 0 && u.offset >= 0);
		again(a, &u);
	}
	if (upload_parse_reply(a, in, n, &status, &file_size, &message, &f) == OK) {
		upload_reply(&b, status, message, file_size);
		assert(upload_parse_reply(
			   a, b.p, b.n, &status, &file_size, &message, &f) == OK);
	}
}
