/* SPDX-License-Identifier: Apache-2.0 */
/* Stored blobs from templates, file names, upload messages. */
#include "test/unit/unit.h"

#include "proto/blob.h"
#include "proto/upload.h"
#include "lib/banned.h"

/* --- templates --- */

static const struct {
	const char *what;
	size_t nfiles;
	const char *command_line, *tmpl, *want, *refusal;
} inputs[] = {
#define INPUT(what, n, cmd, tmpl, want, refusal) { what, n, cmd, tmpl, want, refusal },
#define OUTPUT(what, tmpl, refusal)
#include "test/unit/blob_cases.def"
#undef INPUT
#undef OUTPUT
};
static const struct {
	const char *what, *tmpl, *refusal;
} outputs[] = {
#define INPUT(what, n, cmd, tmpl, want, refusal)
#define OUTPUT(what, tmpl, refusal) { what, tmpl, refusal },
#include "test/unit/blob_cases.def"
#undef INPUT
#undef OUTPUT
};

static const struct input_file files[] = {
	{ "F0", "http://h/dl/F0?a&b", "900150983cd24fb0d6963f7d28e17f72", 4000000000,
	    0 },
	{ "F1", "http://h/dl/F1", "900150983cd24fb0d6963f7d28e17f72", 3, 29 },
};

START_TEST(input_templates)
{
	struct arena a = { 0 };
	struct workunit wu = { .name = arena_strdup(&a, "W") };
	struct fail f = { 0 };
	char *doc = NULL;
	enum err e = blob_workunit(&a, inputs[_i].tmpl, files, inputs[_i].nfiles,
	    inputs[_i].command_line, &wu, &doc, &f);

	if (inputs[_i].refusal != NULL) {
		ck_assert_int_eq(e, E_BADREQ);
		ck_assert_msg(strstr(f.detail, inputs[_i].refusal) != NULL, "%s: %s",
		    inputs[_i].what, f.detail);
	} else {
		ck_assert_msg(e == OK, "%s: %s", inputs[_i].what, f.detail);
		ck_assert_msg(strstr(doc, inputs[_i].want) != NULL, "%s:\n%s",
		    inputs[_i].what, doc);
		ck_assert(wu.rsc_fpops_bound == 1e14 && wu.delay_bound == 86400);
		ck_assert_int_eq(wu.target_nresults, 2);
	}
	arena_free(&a);
}
END_TEST

static const struct {
	int32_t app, target, quorum, max_success, target_after, quorum_after;
	enum err e;
} adaptive[] = {
	{ 0, 2, 2, 5, 2, 2, OK },
	{ 1, 2, 2, 5, 2, 2, OK },
	{ 2, 3, 2, 5, 1, 1, OK },
	{ 5, 1, 1, 5, 1, 1, OK },
	{ 6, 3, 2, 5, 3, 2, E_BADREQ },
};

START_TEST(adaptive_replication_begins_with_one)
{
	struct app app = { .name = (char[]){ "a" },
		.target_nresults = adaptive[_i].app };
	struct workunit wu = { .target_nresults = adaptive[_i].target,
		.min_quorum = adaptive[_i].quorum,
		.max_success_results = adaptive[_i].max_success };
	struct fail f;

	ck_assert_int_eq(blob_adaptive(&app, &wu, &f), adaptive[_i].e);
	ck_assert_int_eq(wu.target_nresults, adaptive[_i].target_after);
	ck_assert_int_eq(wu.min_quorum, adaptive[_i].quorum_after);
}
END_TEST

START_TEST(output_templates)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	enum err e = blob_check_output(&a, outputs[_i].tmpl, &f);

	if (outputs[_i].refusal == NULL)
		ck_assert_msg(e == OK, "%s: %s", outputs[_i].what, f.detail);
	else
		ck_assert_msg(
		    e == E_BADREQ && strstr(f.detail, outputs[_i].refusal) != NULL,
		    "%s: %s", outputs[_i].what, f.detail);
	arena_free(&a);
}
END_TEST

START_TEST(result_blob)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char *private_text, *public_text, *doc, *sig;
	struct key *private_key, *public_key;
	struct blob_file *bf;
	const char *p;
	size_t n;

	ck_assert_int_eq(key_make(&a, &private_text, &public_text, &f), OK);
	ck_assert_int_eq(key_parse_private(private_text, &private_key, &f), OK);
	ck_assert_int_eq(key_parse_public(public_text, &public_key, &f), OK);
	ck_assert_msg(
	    blob_result(&a, outputs[0].tmpl, "ex_100_0", 4711,
		"http://h/file_upload_handler?a&b", private_key, &doc, &f) == OK,
	    "%s", f.detail);
	ck_assert_ptr_nonnull(strstr(doc,
	    "<file_info>\n    <name>ex_100_0_r4711_0</name>\n    <generated_locally/>\n"
	    "    <max_nbytes>5e6</max_nbytes>\n"
	    "    <url>http://h/file_upload_handler?a&amp;b</url>\n<xml_signature>\n"));
	ck_assert_ptr_nonnull(
	    strstr(doc, ".\n</xml_signature>\n</file_info>\n<result>\n    <file_ref>\n"
			"        <file_name>ex_100_0_r4711_0</file_name>\n        "
			"<open_name>out</open_name>\n"
			"    </file_ref>\n    <report_immediately/>\n</result>\n"));
	p = strstr(doc, "<xml_signature>\n") + strlen("<xml_signature>\n");
	sig = arena_memdup(&a, p, (size_t)(strstr(p, "</xml_signature>") - p));
	ck_assert_msg(
	    verify_text(public_key,
		"<name>ex_100_0_r4711_0</name><max_nbytes>5000000</max_nbytes>", sig,
		&f) == OK,
	    "%s", f.detail);
	ck_assert_int_eq(blob_files(&a, doc, &bf, &n, &f), OK);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(bf[0].name, "ex_100_0_r4711_0");
	ck_assert_str_eq(bf[0].open_name, "out");
	ck_assert(bf[0].max_nbytes == 5e6 && bf[0].generated_locally && !bf[0].sticky);
	key_free(private_key);
	key_free(public_key);
	arena_free(&a);
}
END_TEST

START_TEST(too_big_a_blob)
{
	struct arena a = { 0 };
	struct workunit wu = { .name = arena_strdup(&a, "W") };
	struct fail f = { 0 };
	struct buf b = buf_new(&a);
	char *doc;

	buf_puts(&b, "<workunit>" NUMBERS "<x>");
	for (int i = 0; i < 7000; i++)
		buf_puts(&b, "0123456789");
	buf_puts(&b, "</x></workunit>");
	ck_assert_int_eq(
	    blob_workunit(&a, b.p, NULL, 0, NULL, &wu, &doc, &f), E_BADREQ);
	ck_assert_ptr_nonnull(strstr(f.detail, "at most 65535"));
	arena_free(&a);
}
END_TEST

START_TEST(app_version_blob)
{
	struct version_file v[] = {
		{ "app_1", "http://h/dl/app_1", "00ff\n.\n", 77, NULL, true, true,
		    false },
		{ "lib.so", "http://h/dl/lib.so", "00ee\n.\n", 5, "lib.so", false,
		    false, true },
	};
	struct arena a = { 0 };
	struct fail f = { 0 };
	char *doc;

	ck_assert_int_eq(blob_app_version(&a, "app", 312, "8.1.0", v, 2, &doc, &f), OK);
	ck_assert_str_eq(doc,
	    "<file_info>\n    <name>app_1</name>\n    <url>http://h/dl/app_1</url>\n"
	    "    <executable/>\n    <file_signature>\n00ff\n.\n    </file_signature>\n"
	    "    <nbytes>77</nbytes>\n</file_info>\n"
	    "<file_info>\n    <name>lib.so</name>\n    <url>http://h/dl/lib.so</url>\n"
	    "    <file_signature>\n00ee\n.\n    </file_signature>\n"
	    "    <nbytes>5</nbytes>\n</file_info>\n"
	    "<app_version>\n    <app_name>app</app_name>\n    "
	    "<version_num>312</version_num>\n"
	    "    <api_version>8.1.0</api_version>\n"
	    "<file_ref>\n    <file_name>app_1</file_name>\n    "
	    "<main_program/>\n</file_ref>\n"
	    "<file_ref>\n    <file_name>lib.so</file_name>\n    "
	    "<open_name>lib.so</open_name>\n"
	    "    <copy_file/>\n</file_ref>\n</app_version>\n");
	v[0].main_program = false;
	ck_assert_int_eq(
	    blob_app_version(&a, "app", 312, NULL, v, 2, &doc, &f), E_BADREQ);
	ck_assert_ptr_nonnull(strstr(f.detail, "0 main programs"));
	v[0].main_program = true;
	v[1].signature = "";
	ck_assert_int_eq(
	    blob_app_version(&a, "app", 312, NULL, v, 2, &doc, &f), E_BADREQ);
	ck_assert_ptr_nonnull(strstr(f.detail, "lib.so has no signature"));
	arena_free(&a);
}
END_TEST

/* A row of an old project, with a bare & in the URL and in the command line. */
static enum err sign_by_name(
    void *ctx, const char *name, const char *was, char **sig, struct fail *f)
{
	if (strstr(was, "stays") != NULL)
		return OK;
	if (strcmp(name, "gone") == 0)
		return FAIL(f, E_NOTFOUND, "gone");
	*sig = arena_printf(ctx, "new-%s\n.\n", name);
	return OK;
}

START_TEST(resigned)
{
	static const char *const docs[][2] = {
		{ "", "" },
		{ "<app_version>\n</app_version>\n",
		    "<app_version>\n</app_version>\n" },
		{ "<file_info>\n  <name>a</name>\n<file_signature>\nold\n.\n  "
		  "</file_signature>\n<x/></file_info>\n<file_info><name>b</name>"
		  "</file_info>\n<y/>",
		    "<file_info>\n  <name>a</name>\n<file_signature>\nnew-a\n.\n    "
		    "</file_signature>\n<x/></file_info>\n<file_info><name>b</name>"
		    "</file_info>\n<y/>" },
		{ "<file_info><name>a&amp;b</name><file_signature></file_signature>"
		  "</file_info><file_info>",
		    "<file_info><name>a&amp;b</name><file_signature>\nnew-a&b\n.\n    "
		    "</file_signature></file_info><file_info>" },
		{ "<file_info><name>a</name><file_signature>stays</file_signature>"
		  "</file_info>",
		    "<file_info><name>a</name><file_signature>stays</file_signature>"
		    "</file_info>" },
	};
	struct arena a = { 0 };
	const struct blob_signer s = { sign_by_name, &a };
	struct fail f;
	char *out;

	for (size_t i = 0; i < N(docs); i++) {
		ck_assert_int_eq(blob_resign(&a, docs[i][0], &s, &out, &f), OK);
		ck_assert_str_eq(out, docs[i][1]);
	}
	ck_assert_int_eq(blob_resign(&a,
			     "<file_info><file_signature></file_signature>"
			     "</file_info>",
			     &s, &out, &f),
	    E_BADREQ);
	ck_assert_int_eq(blob_resign(&a,
			     "<file_info><name>gone</name><file_signature>"
			     "</file_signature></file_info>",
			     &s, &out, &f),
	    E_NOTFOUND);
	arena_free(&a);
}
END_TEST

START_TEST(old_blob)
{
	static const char doc[] =
	    "<file_info>\n<name>a&b</name><url>http://h/?x=1&y=2</url>\n<sticky/></"
	    "file_info>\n"
	    "<workunit>\n<command_line>\n--x <1 && 2\n</command_line>\n"
	    "<file_ref><file_name>a&b</file_name><open_name>in</open_name></"
	    "file_ref>\n</workunit>";
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct blob_file *bf;
	size_t n;

	ck_assert_msg(blob_files(&a, doc, &bf, &n, &f) == OK, "%s", f.detail);
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(bf[0].name, "a&b");
	ck_assert_str_eq(bf[0].open_name, "in");
	ck_assert(bf[0].sticky);
	ck_assert_int_eq(
	    blob_files(&a, "<file_info><sticky/></file_info>", &bf, &n, &f), E_BADREQ);
	ck_assert_int_eq(blob_files(&a, "", &bf, &n, &f), OK);
	ck_assert_uint_eq(n, 0);
	arena_free(&a);
}
END_TEST

START_TEST(own_inputs_are_those_that_may_go)
{
	static const char doc[] =
	    "<file_info><name>large</name><sticky/></file_info>"
	    "<file_info><name>one</name></file_info>"
	    "<file_info><name>kept</name><no_delete/></file_info>"
	    "<file_info><name>two</name></file_info><workunit></workunit>";
	struct arena a = { 0 };
	struct own_inputs own = { 0 };
	struct fail f = { 0 };

	ck_assert_int_eq(blob_own_inputs(&a, doc, &own, &f), OK);
	ck_assert_int_eq(blob_own_inputs(&a, doc, &own, &f), OK);
	ck_assert_uint_eq(own.n, 4);
	ck_assert_str_eq(own.names[0], "one");
	ck_assert_str_eq(own.names[1], "two");
	ck_assert_str_eq(own.names[2], "one");
	ck_assert_int_eq(blob_own_inputs(&a, "<file_info/>", &own, &f), E_BADREQ);
	arena_free(&a);
}
END_TEST

/* --- names --- */

static const struct {
	const char *wu, *file;
} wu_names[] = {
	{ "skymap_0150.dat__3_7", "skymap_0150.dat" },
	{ "F__a__b", "F" },
	{ "F___b", "F" },
	{ "F_b", NULL },
	{ "__b", NULL },
	{ "", NULL },
};

START_TEST(workunit_names)
{
	struct arena a = { 0 };
	const char *got = wu_name_file(&a, wu_names[_i].wu);

	if (wu_names[_i].file == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_str_eq(got, wu_names[_i].file);
	arena_free(&a);
}
END_TEST

/* large: how many of the files are large, counted from the first. */
static const struct {
	const char *first, *second;
	size_t large;
	const char *refusal;
} larges[] = {
	{ "<sticky/><report_on_rpc/>", "", 1, NULL },
	{ "<report_on_rpc/>", "", 1, "<file_info> 1 describes the large file F1" },
	{ "<sticky/>", "", 1, "it needs <sticky/> and <report_on_rpc/>" },
	{ "<sticky/>", "", 0, NULL },
	{ "<sticky/><report_on_rpc/>", "<sticky/>", 2, "<file_info> 2" },
	{ "<sticky/><report_on_rpc/>", "<sticky/><report_on_rpc/>", 2, NULL },
};

START_TEST(L3_large_files_are_sticky_and_reported)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	char *xml = arena_printf(&a,
	    "<file_info><name>F1</name>%s</file_info><file_info><name>F2</name>%s"
	    "</file_info><workunit></workunit>",
	    larges[_i].first, larges[_i].second);
	enum err e = blob_large_files(&a, xml, larges[_i].large, &f);

	if (larges[_i].refusal == NULL)
		ck_assert_int_eq(e, OK);
	else
		ck_assert_msg(
		    e == E_BADREQ && strstr(f.detail, larges[_i].refusal) != NULL, "%s",
		    f.detail);
	arena_free(&a);
}
END_TEST

static const struct {
	const char *name, *refusal;
} file_names[] = {
	{ "skymap_0150.dat", NULL },
	{ "R\xc3\xa9n\xc3\xa9 1", NULL },
	{ "", "is empty" },
	{ "a/b", "one directory" },
	{ "a..b", "\"..\"" },
	{ "100%", "\"%\"" },
	{ "a__b", "first \"__\"" },
	{ "a\nb", "control byte 10 at 1" },
	{ "a\xc3\xa9", NULL },
	{ "a\xe9", "byte 233 at 1, which is not UTF-8" },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "678901234"
	  "5678901234567890123456789012345678901234567890123456789012345678901234567890"
	  "123456789"
	  "012345678901234567890",
	    "191 bytes, at most 190" },
};

static const struct {
	const char *name, *refusal;
} set_names[] = {
	{ "skymap_0150.dat", NULL },
	{ "a b.dat", "\"a b.dat\" cannot begin the names of workunits" },
	{ "R\xc3\xa9n\xc3\xa9", "non-ASCII" },
	{ "a&b", "cannot begin" },
	{ "a<b", "cannot begin" },
	{ "a'b", "cannot begin" },
	{ "a\\b", "cannot begin" },
	{ "a__b", "first \"__\"" },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "6789"
	  "0123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "6789"
	  "01234567",
	    NULL },
	{ "0123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "6789"
	  "0123456789012345678901234567890123456789012345678901234567890123456789012345"
	  "6789"
	  "012345678",
	    "169 bytes, at most 168" },
};

/* A set name is refused if and only if no workunit could be named after it. */
START_TEST(set_names_checked)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	const char *name = set_names[_i].name;
	enum err e = fileset_name_check(name, &f);
	const char *wu = arena_printf(&a, "%s__0123456789", name);

	if (set_names[_i].refusal == NULL) {
		ck_assert_int_eq(e, OK);
		ck_assert_int_eq(wu_name_check(&a, wu, name, &f), OK);
	} else {
		ck_assert_msg(
		    e == E_BADREQ && strstr(f.detail, set_names[_i].refusal) != NULL,
		    "%s", f.detail);
		ck_assert_int_eq(wu_name_check(&a, wu, name, &f), E_BADREQ);
	}
	arena_free(&a);
}
END_TEST

START_TEST(file_names_checked)
{
	struct fail f = { 0 };
	enum err e = file_name_check(file_names[_i].name, &f);

	if (file_names[_i].refusal == NULL)
		ck_assert_int_eq(e, OK);
	else
		ck_assert_msg(
		    e == E_BADREQ && strstr(f.detail, file_names[_i].refusal) != NULL,
		    "%s", f.detail);
}
END_TEST

/* --- uploads --- */

#define VERSION                                                                        \
	"<core_client_major_version>8</core_client_major_version>\n"                   \
	"<core_client_minor_version>2</core_client_minor_version>\n"                   \
	"<core_client_release>8</core_client_release>\n"

static const struct {
	const char *what, *text;
	enum err err;
	enum upload_kind kind;
	const char *name, *signature, *rest;
	int64_t offset;
	bool has_nbytes, has_max_nbytes;
} uploads[] = {
	{ "nothing yet", "", E_RETRY, UPLOAD_NONE, NULL, NULL, NULL, 0, false, false },
	{ "half a header", "<data_server_request>\n" VERSION "<file_upl", E_RETRY,
	    UPLOAD_NONE, NULL, NULL, NULL, 0, false, false },
	{ "the <data> line is incomplete", "<file_upload>\n<name>n</name>\n<data>",
	    E_RETRY, UPLOAD_NONE, NULL, NULL, NULL, 0, false, false },
	{ "no command", "<data_server_request>\n" VERSION "</data_server_request>\n",
	    E_NOTFOUND, UPLOAD_NONE, NULL, NULL, NULL, 0, false, false },
	{ "data with markup in it",
	    "<data_server_request>\n" VERSION
	    "<file_upload>\n<file_info>\n<name>a&amp;b</name>\n<xml_signature>\n00\n.</"
	    "xml_signature>\n"
	    "<max_nbytes>5000000</max_nbytes>\n</file_info>\n<nbytes>20</nbytes>\n"
	    "<offset>4</offset>\n<data>\n<data>\n<offset>9",
	    OK, UPLOAD_DATA, "a&b", "\n00\n.", "<data>\n<offset>9", 4, true, true },
	{ "an empty certificate, no sizes",
	    "<file_upload>\n<name>n</name>\n<xml_signature></"
	    "xml_signature>\n<nbytes>-1</nbytes>\n<data>\r\nx",
	    OK, UPLOAD_DATA, "n", "", "x", 0, false, false },
	{ "an offset that is not a number",
	    "<file_upload>\n<name>n</name>\n<offset>1e30</offset>\n<data>\n", E_BADREQ,
	    UPLOAD_DATA, NULL, NULL, NULL, 0, false, false },
};

START_TEST(upload_headers)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct upload u;
	enum err e = upload_parse(
	    &a, uploads[_i].text, strlen(uploads[_i].text), &u, &f);

	ck_assert_msg(e == uploads[_i].err, "%s: %s", uploads[_i].what, f.detail);
	ck_assert_int_eq(u.kind, uploads[_i].kind);
	if (e == OK) {
		ck_assert_str_eq(u.name, uploads[_i].name);
		ck_assert_str_eq(u.xml_signature, uploads[_i].signature);
		ck_assert_str_eq(uploads[_i].text + u.header_n, uploads[_i].rest);
		ck_assert_int_eq(u.offset, uploads[_i].offset);
		ck_assert_int_eq(u.has_nbytes, uploads[_i].has_nbytes);
		ck_assert_int_eq(u.has_max_nbytes, uploads[_i].has_max_nbytes);
	}
	arena_free(&a);
}
END_TEST

START_TEST(upload_header_too_long)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct upload u;
	char *text = arena_alloc(&a, UPLOAD_HEADER_MAX + 1);

	memset(text, 'x', UPLOAD_HEADER_MAX + 1);
	ck_assert_int_eq(upload_parse(&a, text, UPLOAD_HEADER_MAX, &u, &f), E_RETRY);
	ck_assert_int_eq(
	    upload_parse(&a, text, UPLOAD_HEADER_MAX + 1, &u, &f), E_NOTFOUND);
	memcpy(text, "<file_upload>", 13);
	ck_assert_int_eq(
	    upload_parse(&a, text, UPLOAD_HEADER_MAX + 1, &u, &f), E_BADREQ);
	arena_free(&a);
}
END_TEST

START_TEST(certificate_text)
{
	struct arena a = { 0 };
	char md5[MD5_HEX];
	const char *text = upload_certificate_text(&a, "ex_100_0_r4711_0", 5e6);

	ck_assert_str_eq(
	    text, "<name>ex_100_0_r4711_0</name><max_nbytes>5000000</max_nbytes>");
	md5_text(text, md5);
	ck_assert_str_eq(md5, "952ee1b9d32347f506c9804d7722f9ef"); /* protocol.md 12 */
	arena_free(&a);
}
END_TEST

UNIT_MAIN("blob", {
	ADD_LOOP(input_templates, N(inputs));
	ADD_LOOP(output_templates, N(outputs));
	ADD_LOOP(adaptive_replication_begins_with_one, N(adaptive));
	ADD(result_blob);
	ADD(too_big_a_blob);
	ADD(app_version_blob);
	ADD(resigned);
	ADD(old_blob);
	ADD(own_inputs_are_those_that_may_go);
	ADD_LOOP(workunit_names, N(wu_names));
	ADD_LOOP(L3_large_files_are_sticky_and_reported, N(larges));
	ADD_LOOP(file_names_checked, N(file_names));
	ADD_LOOP(set_names_checked, N(set_names));
	ADD_LOOP(upload_headers, N(uploads));
	ADD(upload_header_too_long);
	ADD(certificate_text);
})
