/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are not well-formed, and the elements that are made of them. */
#include "lib/xml.h"

#include <string.h>
#include "test/unit/unit.h"
#include "lib/banned.h"

static char *dump(struct arena *a, const struct xml_node *n)
{
	char *s = arena_printf(a, "%s%s%s", n->name, n->unclosed ? "!" : "", n->text);

	if (n->child == NULL)
		return s;
	s = arena_printf(a, "%s(", s);
	for (const struct xml_node *c = n->child; c != NULL; c = c->next)
		s = arena_printf(
		    a, "%s%s%s", s, dump(a, c), c->next == NULL ? ")" : " ");
	return s;
}

/* Elements as name[!]text(children), ! = its end tag is missing; the first mistake. */
static const struct {
	const char *text, *tree, *mistake;
} mended[] = {
	{ "<r><a>1<a></r>", "r(a!1)", "" },
	{ "<r><a>1<b>2</b></r>", "r(a!1 b2)", "" },
	{ "<r><a>1<a>2</a></r>", "r(a!1 a2)", "" },
	{ "<r><a><b>2</b></r>", "r(a! b2)", "" },
	{ "<r><c><b>2</b></r>", "r(c!(b2))", "" },
	{ "<r><c><b>2</b><c><b>3</b></c></r>", "r(c!(b2) c(b3))", "" },
	{ "<r><x><y>1</y></x><b>2<b></r>", "r(x(y1) b!2)", "" },
	{ "<r><a>1</a>", "r!(a1)", "" },
	{ "<r><a>1</a></b></r>", "r(a1)", "1: </b> ends nothing" },
	{ "<r>\n<a>1 & 2</a></r>", "r(a1 & 2)", "2: \"&\" must be written as &amp;" },
	{ "<r><a>1 < 2 &amp; &#65;</a></r>", "r(a1 < 2 & A)",
	    "1: \"<\" must be written as &lt;" },
	{ "<r><a b=c>1</a></r>", "r(a1)", "" },
	{ "<r>\n<a>1</a\n<b>2</b></r>", "r(a1 b2)", "2: the tag <a has no >" },
	{ "<r><!-- -- & --><a><![CDATA[<&]]></a></r>", "r(a<&)", "" },
	{ "<r><a>1</a>\n<!-- x", "r!(a1)", "2: a comment or instruction has no end" },
	{ "<r/>\n<s/>", "r", "2: <s> follows the end of the document: it is not read" },
	{ "<r><a>caf\xe9</a></r>", "r(acaf\xc3\xa9)", "" },
	{ "<r><a>\x01x</a></r>", "r(ax)", "" },
};

START_TEST(mends)
{
	static const char *const containers[] = { "r", "c", NULL };
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct xml_mistakes bad;
	struct xml_node *root;
	const char *text = mended[_i].text;

	ck_assert_msg(xml_tree_lenient(&a, "f",
			  (struct xml_source){ text, strlen(text), containers }, &root,
			  &bad, &f) == OK,
	    "%s: %s", text, f.detail);
	ck_assert_str_eq(dump(&a, root), mended[_i].tree);
	ck_assert_str_eq(
	    bad.n == 0 ? "" : arena_printf(&a, "%d: %s", bad.v[0].line, bad.v[0].text),
	    mended[_i].mistake);
	arena_free(&a);
}
END_TEST

/* The message is about the text as it is written. */
START_TEST(refuses)
{
	static const struct {
		const char *text, *says;
	} t[] = {
		{ "", "f:" },
		{ "nothing", "f:1: not well-formed XML: " },
		{ "<!DOCTYPE x [<!ENTITY a 'b'>]><r/>",
		    "f: a DOCTYPE is not allowed here" },
		{ "<!DOCTYPE x>\n<r>", "f:" },
	};

	for (size_t i = 0; i < N(t); i++) {
		static const char *const none[] = { NULL };
		struct arena a = { 0 };
		struct fail f = { 0 };
		struct xml_mistakes bad;
		struct xml_node *root;

		ck_assert_int_eq(
		    xml_tree_lenient(&a, "f",
			(struct xml_source){ t[i].text, strlen(t[i].text), none },
			&root, &bad, &f),
		    E_CONFIG);
		ck_assert_msg(strncmp(f.detail, t[i].says, strlen(t[i].says)) == 0,
		    "%s", f.detail);
		arena_free(&a);
	}
}
END_TEST

UNIT_MAIN("xml_tree", {
	ADD_LOOP(mends, N(mended));
	ADD(refuses);
})
