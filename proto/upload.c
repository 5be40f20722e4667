/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of an upload is lines of text that never end properly: elements stay open,
 * and the file's bytes follow <data>. It is not XML, so it is read line by line.
 */
#include "proto/upload.h"

#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "lib/banned.h"

enum { MESSAGE_MAX = 255 }; /* shown to the user (protocol.md 6.3) */

static const char data_tag[] = "<data>", upload_tag[] = "<file_upload>";

/* --- server --- */

/* Returns the beginning of the data, or NULL; the tag must end its line. */
static const char *data_start(const char *in, size_t n)
{
	const char *p = memmem(in, n, data_tag, sizeof(data_tag) - 1), *end = in + n;

	if (p == NULL)
		return NULL;
	p += sizeof(data_tag) - 1;
	if (p < end && *p == '\r')
		p++;
	return p < end && *p == '\n' ? p + 1 : NULL;
}

static bool is_header_text(const char *in, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((unsigned char)in[i] < ' ' && strchr("\t\r\n", in[i]) == NULL) ||
		    in[i] == '\0' || in[i] == 0x7f)
			return false;
	return true;
}

/* Returns the decoded text of the first <tag> in the header; NULL if there is none. */
static char *header_text(struct arena *a, const char *header, const char *tag)
{
	char *s = xml_between(a, header, tag);

	return s == NULL ? NULL : text_decode(a, s, strlen(s));
}

/* Reads a whole number of bytes in 0 .. 2^53; false if it is absent or invalid. */
static bool header_bytes(
    struct arena *a, const char *header, const char *tag, double *out)
{
	char *s = header_text(a, header, tag);

	return s != NULL && text_f64(s, out) && *out >= 0 && *out <= 0x1p53 &&
	       *out == floor(*out);
}

static int32_t header_int(struct arena *a, const char *header, const char *tag)
{
	double v;

	return header_bytes(a, header, tag, &v) && v < 10000 ? (int32_t)v : 0;
}

static enum err parse_upload_data(
    struct arena *a, const char *header, struct upload *u, struct fail *f)
{
	double v;

	u->kind = UPLOAD_DATA;
	u->name = header_text(a, header, "name");
	u->xml_signature = xml_between(a, header, "xml_signature");
	u->md5_cksum = header_text(a, header, "md5_cksum");
	u->has_max_nbytes = header_bytes(a, header, "max_nbytes", &u->max_nbytes);
	u->has_nbytes = header_bytes(a, header, "nbytes", &v);
	if (u->has_nbytes)
		u->nbytes = (int64_t)v;
	if (strstr(header, "<offset>") == NULL)
		return OK;
	if (!header_bytes(a, header, "offset", &v))
		return FAIL(
		    f, E_BADREQ, "the upload's <offset> is not a number of bytes");
	u->offset = (int64_t)v;
	return OK;
}

enum err upload_parse(
    struct arena *a, const char *in, size_t n, struct upload *u, struct fail *f)
{
	const char *data = data_start(
	    in, n < UPLOAD_HEADER_MAX ? n : UPLOAD_HEADER_MAX);
	const char *header;

	*u = (struct upload){ 0 };
	if (data == NULL && n > UPLOAD_HEADER_MAX) {
		const char *begin = memmem(in, n, upload_tag, sizeof(upload_tag) - 1);

		return FAIL(f, begin != NULL ? E_BADREQ : E_NOTFOUND,
		    "no <data> in the first %d bytes of the upload", UPLOAD_HEADER_MAX);
	}
	u->header_n = data != NULL ? (size_t)(data - in) : n;
	if (data != NULL && !is_header_text(in, u->header_n))
		return FAIL(f, E_BADREQ, "a control character in the upload's header");
	header = raw_copy(a, &(struct raw){ .p = in, .n = u->header_n }, n);
	u->version = 10000 * header_int(a, header, "core_client_major_version") +
	             100 * header_int(a, header, "core_client_minor_version") +
	             header_int(a, header, "core_client_release");
	if (data != NULL)
		return parse_upload_data(a, header, u, f);
	if (xml_between(a, header, "get_file_size") != NULL) {
		u->kind = UPLOAD_SIZE_QUERY;
		u->name = header_text(a, header, "get_file_size");
		return OK;
	}
	if (strstr(header, "</data_server_request>") != NULL)
		return FAIL(f, E_NOTFOUND, "no command in the upload request");
	return FAIL(
	    f, E_RETRY, "the upload's header is not complete after %zu bytes", n);
}

void upload_reply(struct buf *b, int status, const char *message, int64_t file_size)
{
	buf_printf(b, "<data_server_reply>\n    <status>%d</status>\n", status);
	if (message != NULL) {
		buf_puts(b, "    <message>");
		for (size_t i = 0; i < MESSAGE_MAX && message[i] != '\0'; i++)
			buf_xml(b, (char[]){ message[i], '\0' });
		buf_puts(b, "</message>\n");
	}
	if (file_size >= 0)
		buf_printf(
		    b, "    <file_size>%lld</file_size>\n", (long long)file_size);
	buf_puts(b, "</data_server_reply>\n");
}

/* --- client --- */

static void render_client_version(struct buf *b, int32_t version)
{
	buf_printf(b,
	    "<data_server_request>\n"
	    "    <core_client_major_version>%d</core_client_major_version>\n"
	    "    <core_client_minor_version>%d</core_client_minor_version>\n"
	    "    <core_client_release>%d</core_client_release>\n",
	    version / 10000, version / 100 % 100, version % 100);
}

void upload_render_query(struct buf *b, int32_t version, const char *name)
{
	render_client_version(b, version);
	buf_puts(b, "    ");
	buf_tag(b, "get_file_size", name);
	buf_puts(b, "</data_server_request>\n");
}

void upload_render_header(struct buf *b, const struct upload *u)
{
	render_client_version(b, u->version);
	buf_puts(b, "<file_upload>\n<file_info>\n");
	buf_tag(b, "name", u->name);
	buf_puts(b, "<xml_signature>");
	if (u->xml_signature != NULL && u->xml_signature[0] != '\0') {
		const struct raw r = { .p = u->xml_signature,
			.n = strlen(u->xml_signature) };
		buf_printf(b, "\n%s", raw_trimmed(b->a, &r));
	}
	buf_puts(b, "</xml_signature>\n");
	buf_printf(b, "<max_nbytes>%.0f</max_nbytes>\n</file_info>\n", u->max_nbytes);
	buf_printf(b, "<nbytes>%lld</nbytes>\n", (long long)u->nbytes);
	buf_tag(b, "md5_cksum", u->md5_cksum == NULL ? "" : u->md5_cksum);
	buf_printf(b, "<offset>%lld</offset>\n<data>\n", (long long)u->offset);
}

enum err upload_parse_reply(struct arena *a, const char *in, size_t n, int *status,
    int64_t *file_size, char **message, struct fail *f)
{
	char *text = raw_copy(a, &(struct raw){ .p = in, .n = n }, UPLOAD_HEADER_MAX);
	char *s = header_text(a, text, "status");
	int64_t value;
	double v;

	*file_size = header_bytes(a, text, "file_size", &v) ? (int64_t)v : -1;
	*message = header_text(a, text, "message");
	if (s == NULL)
		return FAIL(f, E_BADREQ,
		    "no <status> in the upload server's reply of %zu bytes", n);
	if (!text_i64(s, INT32_MIN, INT32_MAX, &value))
		return FAIL(f, E_BADREQ, "upload status \"%.20s\" is not a number", s);
	*status = (int)value;
	return OK;
}

char *upload_certificate_text(struct arena *a, const char *name, double max_nbytes)
{
	return arena_printf(
	    a, "<name>%s</name><max_nbytes>%.0f</max_nbytes>", name, max_nbytes);
}

/* --- names of output files in the upload directory: RESULT_rRANDOM_INDEX --- */

static const char part[] = ".part";

/* "12_0" of "w_3_r12_0" */
static bool is_random_and_index(const char *s)
{
	size_t random = strspn(s, "0123456789");
	const char *index = s + random + 1;

	return random > 0 && s[random] == '_' && index[0] != '\0' &&
	       index[strspn(index, "0123456789")] == '\0';
}

bool upload_name_parse(struct arena *a, const char *name, struct upload_name *u)
{
	char *cut = NULL;

	*u = (struct upload_name){ .file = arena_strdup(a, name),
		.part = text_ends_with(name, part) };
	if (u->part)
		u->file[strlen(name) - (sizeof(part) - 1)] = '\0';
	u->result = arena_strdup(a, u->file);
	for (char *p = u->result; (p = strstr(p, "_r")) != NULL; p++)
		cut = p;
	if (cut == NULL || cut == u->result || !is_random_and_index(cut + 2))
		return false;
	*cut = '\0';
	return true;
}
