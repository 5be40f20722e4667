/* SPDX-License-Identifier: Apache-2.0 */
/* What clients report about a task's end; the table is stderr_text.def. */
#include "test/unit/unit.h"

#include "proto/stderr_text.h"
#include "lib/banned.h"

static const struct {
	const char *in, *client, *message, *text, *signature;
} cases[] = {
#define STDERR(in, client, message, text, signature)                                   \
	{ in, client, message, text, signature },
#include "test/unit/stderr_text.def"
#undef STDERR
};

/* Errors with files, in the client's message or beside it. */
static const struct {
	const char *in;
	int64_t error;
	const char *name;
} file_errors[] = {
	{ NULL, 0, "" },
	{ "<message>process exited with code 1</message>", 0, "" },
	{ "<![CDATA[<message>upload failure: <file_xfer_error>\n  <file_name>w_0_r0_0</file_name>\n"
	  "  <error_code>-161 (not found)</error_code>\n</file_xfer_error>\n</message>]]>",
	    -161, "w_0_r0_0" },
	{ "<message>\nfile xfer error</message>\n<file_xfer_error>\n<file_name>a</file_name>\n<error_code>-131</error_code>\n",
	    -131, "a" },
	{ "<error_code>-161</error_code>", 0, "" },
	{ "<file_xfer_error><error_code>x</error_code>", 0, "" },
	{ "<file_xfer_error>", 0, "" },
	{ "<file_xfer_error><file_name>a;rm -rf x</file_name><error_code>-119</error_code>",
	    -119, "" },
	{ "<file_xfer_error><file_name>../../etc/passwd</file_name><error_code>-119</error_code>",
	    -119, "" },
	{ "<file_xfer_error><file_name>..</file_name><error_code>-119</error_code>",
	    -119, "" },
	{ "<file_xfer_error><file_name>-rf</file_name><error_code>-119</error_code>",
	    -119, "" },
	{ "<file_xfer_error><file_name>cut", 0, "" },
};

START_TEST(errors_with_files)
{
	struct arena a = { 0 };
	struct stderr_text t = stderr_text_of(&a, file_errors[_i].in);

	ck_assert_int_eq(stderr_file_error(&t), file_errors[_i].error);
	ck_assert_str_eq(stderr_file_name(&a, &t), file_errors[_i].name);
	arena_free(&a);
}
END_TEST

START_TEST(reports)
{
	struct arena a = { 0 };
	struct stderr_text t = stderr_text_of(&a, cases[_i].in);

	ck_assert_str_eq(t.client, cases[_i].client);
	ck_assert_str_eq(t.message, cases[_i].message);
	ck_assert_str_eq(t.text, cases[_i].text);
	ck_assert_str_eq(stderr_signature(&a, &t), cases[_i].signature);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("stderr_text", {
	ADD_LOOP(reports, N(cases));
	ADD_LOOP(errors_with_files, N(file_errors));
})
