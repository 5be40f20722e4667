/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines by tables of fields. */
#include "test/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include "lib/args.h"
#include "lib/buf.h"
#include "lib/banned.h"

struct own {
	bool flag;
	int64_t number, pair[2], bit, words;
	double real, part;
	const char *text, *maybe, *must;
	const int64_t *given;
	const double *limit;
	struct text_list list;
};
struct common {
	char *out;
};

static const char *take_good_word(void *row, char *text)
{
	struct common *c = row;

	c->out = text;
	return strcmp(text, "bad") == 0 ? "a good word" : NULL;
}

#define OWN(member) FIELD_OF(struct own, member)
static const struct field own_fields[] = {
	{ "a_flag", OWN(flag), NULL, "a flag", .letter = 'f' },
	{ "number", OWN(number), "N", "a number", .min = 1, .max = 9, .def = "3" },
	{ "real", OWN(real), "X", "a real number", .above = true, .max = 1e5 },
	{ "bit", OWN(bit), "0|1", "a bit", .max = 1 },
	{ "words", OWN(words), "N", "in words", .max = 2, .takes = "a few" },
	{ "part", OWN(part), "X", "a part", .max = 1 },
	{ "pair", OWN(pair), "n i", "a share", .max = 1e6, .def = "1" },
	{ "text", OWN(text), "TEXT", "a text", .letter = 't' },
	{ "watch", OWN(maybe), "S", "now and again", .maybe = true },
	{ "given", OWN(given), "N", "a number or none" },
	{ "limit", OWN(limit), "X", "a limit or none", .above = true },
	{ "list", OWN(list), "W", "several", .letter = 'l' },
	{ "must", OWN(must), "M", "needed", .required = true, .def = "" },
	{ 0 },
};
static const struct field common_fields[] = {
	{ "out", FIELD_OF(struct common, out), "W", "a word", .letter = 'o',
	    .take = take_good_word },
	{ 0 },
};

enum mode { PLAIN, ONE_DASH, STOPS };

/* What the line gives, in words; of a wrong one, why. */
static char *outcome_of(struct arena *a, enum mode mode, const char *line)
{
	struct own o = { 0 };
	struct common c = { 0 };
	struct args g = { .a = a,
		.program = "p",
		.own = own_fields,
		.own_row = &o,
		.common = common_fields,
		.common_row = &c,
		.words = "WORD [WORD]",
		.max = mode == ONE_DASH ? 0 : 2,
		.stops = mode == STOPS,
		.once = mode == PLAIN,
		.must = mode == PLAIN,
		.one_dash = mode == ONE_DASH,
		.version = "v 1" };
	struct fail f = { 0 };
	struct buf b = buf_new(a);
	char *argv[20] = { arena_strdup(a, "p") }, *rest = arena_strdup(a, line), *word;
	int argc = 1;

	while ((word = strsep(&rest, " ")) != NULL)
		if (*word != '\0')
			argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	switch (args_read(&g, argc, argv, &f)) {
	case ARGS_HELP:
		return arena_strdup(a, "help");
	case ARGS_VERSION:
		return arena_strdup(a, g.version);
	case ARGS_WRONG:
		return arena_strdup(a, f.detail);
	case ARGS_RUN:
		break;
	}
	buf_printf(&b, "%s%lld/%lld/%lld %g %g", o.flag ? "flag " : "",
	    (long long)o.number, (long long)o.pair[0], (long long)o.pair[1], o.real,
	    o.part);
	if (o.text != NULL)
		buf_printf(&b, " text=%s", o.text);
	if (o.maybe != NULL)
		buf_printf(&b, " watch=%s", o.maybe);
	if (o.given != NULL)
		buf_printf(&b, " given=%lld", (long long)*o.given);
	if (o.limit != NULL)
		buf_printf(&b, " limit=%g", *o.limit);
	if (c.out != NULL)
		buf_printf(&b, " out=%s", c.out);
	for (size_t i = 0; i < o.list.n; i++)
		buf_printf(&b, " +%s", o.list.v[i]);
	for (size_t i = 0; i < g.nrest; i++)
		buf_printf(&b, " %s", g.rest[i]);
	return arena_strdup(a, b.p);
}

static const struct {
	enum mode mode;
	const char *line, *is;
} lines[] = {
	{ PLAIN, "--must m", "3/1/0 0 0" },
	{ PLAIN, "--must=m --a_flag --number 9 --real 1e5", "flag 9/1/0 100000 0" },
	{ PLAIN, "-ft x --mu m w --text", "option --text needs a value" },
	{ PLAIN, "-ft x --mu m w -- --text", "flag 3/1/0 0 0 text=x w --text" },
	{ PLAIN, "--must m -o w -lx -l y --list z", "3/1/0 0 0 out=w +x +y +z" },
	{ PLAIN, "--must m --watch --given 0", "3/1/0 0 0 watch= given=0" },
	{ PLAIN, "--must m --watch=5 --limit 2e3", "3/1/0 0 0 watch=5 limit=2000" },
	{ PLAIN, "--must m --pair 4 3 --part 0.5", "3/4/3 0 0.5" },

	/* ranges */
	{ PLAIN, "--number 0", "--number 0: it must be a whole number from 1 to 9" },
	{ PLAIN, "--number 10", "--number 10: it must be a whole number from 1 to 9" },
	{ PLAIN, "--number ''", "--number : it must be a whole number from 1 to 9" },
	{ PLAIN, "--number 1.5",
	    "--number 1.5: it must be a whole number from 1 to 9" },
	{ PLAIN, "--must m --number 0.9e1", "9/1/0 0 0" },
	{ STOPS, "--real 0",
	    "--real takes a number above 0, at most 100000, not \"0\"" },
	{ STOPS, "--real nan",
	    "--real takes a number above 0, at most 100000, not \"nan\"" },
	{ STOPS, "--real 1,5",
	    "--real takes a number with a decimal point, not a comma, above 0, at most 100000, not \"1,5\"" },
	{ STOPS, "--bit 2", "--bit takes 0 or 1, not \"2\"" },
	{ STOPS, "--words 3", "--words takes a few, not \"3\"" },
	{ STOPS, "--part -0.1", "--part takes a number from 0 to 1, not \"-0.1\"" },
	{ STOPS, "--given -1",
	    "--given takes a whole number that is 0 or more, not \"-1\"" },
	{ STOPS, "--given 9223372036854775808",
	    "--given takes a whole number that is 0 or more, not \"9223372036854775808\"" },
	{ STOPS, "--limit 0", "--limit takes a number above 0, not \"0\"" },
	{ PLAIN, "--pair 4 4",
	    "--pair 4 4: it must be n i with 1 <= n <= 1000000 and 0 <= i < n" },
	{ PLAIN, "--pair 0 0",
	    "--pair 0 0: it must be n i with 1 <= n <= 1000000 and 0 <= i < n" },
	{ PLAIN, "--pair 4",
	    "--pair 4 : it must be n i with 1 <= n <= 1000000 and 0 <= i < n" },
	{ PLAIN, "--must m --pair", "option --pair needs a value" },
	{ PLAIN, "--must m -o a -o b", "3/1/0 0 0 out=b" },
	{ PLAIN, "-o bad", "-o bad: it must be a good word" },
	{ STOPS, "--out bad", "--out takes a good word, not \"bad\"" },

	/* mistakes */
	{ PLAIN, "--nmuber 3",
	    "unrecognized option '--nmuber', did you mean --number?" },
	{ PLAIN, "--nonsense=5", "unrecognized option '--nonsense=5'" },
	{ PLAIN, "-fx", "unrecognized option '-x'" },
	{ PLAIN, "--a_flag=1", "--a_flag takes no value" },
	{ PLAIN, "--hlep", "unrecognized option '--hlep', did you mean --help?" },
	{ PLAIN, "--text a --text b", "--text is given twice: it has one value" },
	{ STOPS, "--must m --text a --text b", "3/1/0 0 0 text=b" },
	{ PLAIN, "w", "--must M is required" },
	{ PLAIN, "--must m a b c", "unexpected argument \"c\": p WORD [WORD]" },

	/* help comes before words and what is required, not before mistakes */
	{ PLAIN, "a b c --help", "help" },
	{ PLAIN, "-V", "v 1" },
	{ PLAIN, "--help --nonsense", "unrecognized option '--nonsense'" },

	/* the first word ends the options */
	{ STOPS, "--must m w --nonsense", "3/1/0 0 0 w --nonsense" },

	/* one dash */
	{ ONE_DASH, "-must m -a-flag --a-flag -a_flag", "flag 3/1/0 0 0" },
	{ ONE_DASH, "-must -text -pair 4 3", "3/4/3 0 0" },
	{ ONE_DASH, "--must m -f -t -f", "flag 3/1/0 0 0 text=-f" },
	{ ONE_DASH, "--must=m",
	    "unrecognized option '--must=m', did you mean --must?" },
	{ ONE_DASH, "--mus m", "unrecognized option '--mus', did you mean --must?" },
	{ ONE_DASH, "-ft x", "unrecognized option '-ft'" },
	{ ONE_DASH, "-x", "unrecognized option '-x'" },
	{ ONE_DASH, "--must m w", "unexpected argument \"w\": p WORD [WORD]" },
	{ ONE_DASH, "--must m -", "unexpected argument \"-\": p WORD [WORD]" },
	{ ONE_DASH, "--must", "option --must needs a value" },
};

START_TEST(line)
{
	struct arena a = { 0 };
	const char *got = outcome_of(&a, lines[_i].mode, lines[_i].line);

	ck_assert_msg(strcmp(got, lines[_i].is) == 0, "%s: %s", lines[_i].line, got);
	arena_free(&a);
}
END_TEST

START_TEST(too_few_words)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct args g = {
		.a = &a, .program = "p", .words = "FILE", .min = 1, .max = 1
	};
	char *argv[] = { arena_strdup(&a, "p"), NULL };

	ck_assert_int_eq(args_read(&g, 1, argv, &f), ARGS_WRONG);
	ck_assert_str_eq(f.detail, "an argument is missing: p FILE");
	arena_free(&a);
}
END_TEST

/* What args_help() writes for the fields of this table. */
START_TEST(help)
{
	char text[4096] = "";
	FILE *was = stdout, *out = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(out);
	stdout = out;
	args_help(own_fields, 16);
	fclose(out);
	stdout = was;
	ck_assert_msg(
	    strstr(text, "  -f, --a_flag  a flag\n  --number N    a number [3]\n"
			 "  --real X      a real number\n") == text,
	    "%s", text);
	ck_assert_ptr_nonnull(strstr(text, "\n  --pair n i    a share\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n  --watch[=S]   now and again\n"));
	ck_assert_ptr_nonnull(strstr(text, "\n  -t, --text TEXT a text\n"));
}
END_TEST

UNIT_MAIN("args", {
	ADD_LOOP(line, N(lines));
	ADD(too_few_words);
	ADD(help);
})
