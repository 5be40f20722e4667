/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of single elements of config.xml; tables in conf_text.def. */
#include "test/unit/unit.h"

#include <string.h>
#include "lib/xml.h"
#include "model/conf.h"
#include "tools/conf_text.h"
#include "lib/banned.h"

static struct arena a;

static void teardown(void)
{
	arena_free(&a);
}

#define CONF_SET(...)
#define CONF_CHILD(...)
#define SPAN_BAD(...)

static const struct {
	const char *text, *name, *values, *after;
} sets[] = {
#undef CONF_SET
#define CONF_SET(text, name, values, after) { text, name, values, after },
#include "test/unit/conf_text.def"
#undef CONF_SET
#define CONF_SET(...)
};

static char *in_document(const char *body)
{
	return arena_printf(&a, "<?xml version='1.0'?>\n<boinc>%s</boinc>\n", body);
}

START_TEST(options_are_set)
{
	const char *values[8];
	struct fail f = { 0 };
	size_t n = 0;
	char *out, *all, *save = NULL;

	if (sets[_i].values != NULL) {
		all = arena_strdup(&a, sets[_i].values);
		for (char *v = strtok_r(all, "|", &save); v != NULL;
		     v = strtok_r(NULL, "|", &save))
			values[n++] = v;
	}
	ck_assert_msg(conf_text_set(&a, in_document(sets[_i].text), sets[_i].name,
			  values, n, &out, &f) == OK,
	    "%s", f.detail);
	ck_assert_str_eq(out, in_document(sets[_i].after));
}
END_TEST

static const struct {
	const char *text, *item;
	size_t number;
	const char *child, *value, *after;
} children[] = {
#undef CONF_CHILD
#define CONF_CHILD(text, item, number, child, value, after)                            \
	{ text, item, number, child, value, after },
#include "test/unit/conf_text.def"
#undef CONF_CHILD
#define CONF_CHILD(...)
};

START_TEST(elements_of_daemons_are_set)
{
	const struct conf_text_child c = { children[_i].item, children[_i].number,
		children[_i].child, children[_i].value };
	struct fail f = { 0 };
	char *out;
	enum err e = c.child == NULL ?
	                 conf_text_remove_item(&a, in_document(children[_i].text),
			     c.item, c.number, &out, &f) :
	                 conf_text_set_child(
			     &a, in_document(children[_i].text), &c, &out, &f);

	if (children[_i].after == NULL) {
		ck_assert_int_eq(e, E_NOTFOUND);
		return;
	}
	ck_assert_int_eq(e, OK);
	ck_assert_str_eq(out, in_document(children[_i].after));
}
END_TEST

static const struct {
	const char *text, *says;
} bad[] = {
#undef SPAN_BAD
#define SPAN_BAD(text, says) { text, says },
#include "test/unit/conf_text.def"
};

START_TEST(what_is_not_xml_is_refused)
{
	struct fail f = { 0 };
	struct xml_span *v;
	size_t n;

	ck_assert_int_eq(
	    xml_spans(&a, bad[_i].text, strlen(bad[_i].text), &v, &n, &f), E_BADREQ);
	ck_assert_str_eq(f.detail, bad[_i].says);
}
END_TEST

START_TEST(spans_are_places)
{
	const char *text = "<a>\n <b x='1'>t</b>\n <c/></a>";
	struct fail f = { 0 };
	struct xml_span *v;
	size_t n;

	ck_assert_int_eq(xml_spans(&a, text, strlen(text), &v, &n, &f), OK);
	ck_assert_uint_eq(n, 3);
	ck_assert_str_eq(v[1].name, "b");
	ck_assert_int_eq(v[1].line, 2);
	ck_assert_uint_eq(v[1].parent, 0);
	ck_assert_int_eq(strncmp(text + v[1].at, "<b", 2), 0);
	ck_assert_uint_eq(v[1].inner_end - v[1].inner, 1);
	ck_assert_int_eq(text[v[1].inner], 't');
	ck_assert(v[2].empty && v[2].end - v[2].at == 4);
	ck_assert_uint_eq(v[0].end, strlen(text));
}
END_TEST

START_TEST(secrets_are_masked)
{
	char *text = arena_strdup(&a,
	    "<db_passwd>a</db_passwd><!-- --><replica_db_passwd>bc</replica_db_passwd>"
	    "<invite_code>d</invite_code><invite_code>e</invite_code><db_user>f</db_user>");

	conf_mask_secrets(&a, text);
	ck_assert_str_eq(text,
	    "<db_passwd>*</db_passwd><!-- --><replica_db_passwd>**</replica_db_passwd>"
	    "<invite_code>*</invite_code><invite_code>*</invite_code><db_user>f</db_user>");
	for (size_t i = 0; conf_secrets[i] != NULL; i++)
		ck_assert_msg(
		    field_find(conf_opts, conf_secrets[i], false, NULL) != NULL, "%s",
		    conf_secrets[i]);
}
END_TEST

/* The sample puts the help into comments. */
START_TEST(help_fits_into_comments)
{
	for (size_t i = 0; i < conf_nopts; i++)
		ck_assert_msg(
		    strstr(conf_opts[i].help, "--") == NULL, "%s", conf_opts[i].name);
}
END_TEST

START_TEST(options_of_boinc_are_known)
{
	static const char *const names[] = {
#define BOINC_OPTION(name) #name,
#include "test/unit/boinc_options.def"
	};

	for (size_t i = 0; i < N(names); i++)
		ck_assert_msg(field_find(conf_opts, names[i], false, NULL) != NULL,
		    "%s", names[i]);
}
END_TEST

UNIT_MAIN("conf_text", {
	tcase_add_checked_fixture(tc, NULL, teardown);
	ADD_LOOP(options_are_set, N(sets));
	ADD_LOOP(elements_of_daemons_are_set, N(children));
	ADD_LOOP(what_is_not_xml_is_refused, N(bad));
	ADD(spans_are_places);
	ADD(secrets_are_masked);
	ADD(help_fits_into_comments);
	ADD(options_of_boinc_are_known);
})
