/* SPDX-License-Identifier: Apache-2.0 */
/* The checker of replies finds each fault planted in a good reply. */
#include "test/unit/unit.h"

#include "test/unit/reply_world.h"
#include "lib/banned.h"

#define LONG_110                                                                       \
	"0123456789 123456789 123456789 123456789 123456789 123456789 123456789 "      \
	"123456789 123456789 123456789 123456789"
#define LONG_1100                                                                      \
	LONG_110 LONG_110 LONG_110 LONG_110 LONG_110 LONG_110 LONG_110 LONG_110        \
	    LONG_110 LONG_110

static const struct {
	const char *asked; /* added to the usual request */
	const char *text,
	    *by; /* the first occurrence of text in a good reply is replaced by this */
	const char *violation;
} planted[] = {
#define FAULT(text, by, violation)        { "", text, by, violation },
#define ASKED(asked, text, by, violation) { asked, text, by, violation },
#include "test/unit/reply_faults.def"
#undef FAULT
#undef ASKED
};

START_TEST(checker_finds)
{
	struct world w;
	struct buf b;
	char *inside, *at;
	const char *found;

	world_make(&w, "", "");
	inside = arena_printf(&w.a, "%s%s<msg_from_host>\nx\n</msg_from_host>",
	    world_client, world_reports);
	w.in.req = world_request(&w, inside);
	reply_render(&w.b, &w.in);
	ck_assert_str_eq(world_violations(&w, inside), "");
	at = strstr(w.b.p, planted[_i].text);
	ck_assert_msg(at != NULL, "%s", planted[_i].text);
	b = buf_new(&w.a);
	buf_put(&b, w.b.p, (size_t)(at - w.b.p));
	buf_puts(&b, planted[_i].by);
	buf_puts(&b, at + strlen(planted[_i].text));
	w.b = b;
	found = world_violations(
	    &w, arena_printf(&w.a, "%s%s", inside, planted[_i].asked));
	ck_assert_msg(strstr(found, planted[_i].violation) != NULL, "%s: found %s",
	    planted[_i].violation, found);
	arena_free(&w.a);
}
END_TEST

START_TEST(ack_of_nothing)
{
	struct world w;
	char *inside;

	world_make(&w, "", "");
	inside = arena_printf(&w.a, "%s%s<msg_from_host>\nx\n</msg_from_host>",
	    world_client, world_reports);
	w.in.req = world_request(&w, inside);
	reply_render(&w.b, &w.in);
	inside = arena_printf(&w.a, "%s%s", world_client, world_reports);
	ck_assert_str_eq(
	    world_violations(&w, inside), "message_ack, but no message was sent\n");
	arena_free(&w.a);
}
END_TEST

START_TEST(a_nul_byte_is_found)
{
	struct world w;

	world_make(&w, "", "");
	reply_render(&w.b, &w.in);
	w.b.p[w.b.n / 2] = '\0';
	ck_assert_ptr_nonnull(
	    strstr(world_violations(&w, world_client), "control character 0"));
	arena_free(&w.a);
}
END_TEST

UNIT_MAIN("check_reply", {
	ADD_LOOP(checker_finds, N(planted));
	ADD(ack_of_nothing);
	ADD(a_nul_byte_is_found);
})
