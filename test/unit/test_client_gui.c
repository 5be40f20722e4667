/* SPDX-License-Identifier: Apache-2.0 */
/* GUI RPC: every call has a well-formed answer, nobody is let in without the password,
 * and no request does harm. */
#include "test/unit/client_host.h"

#include "client/control/gui.h"
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/xml.h"
#include "lib/banned.h"

static const char *const call_names[] = {
#define SHOW(element, function)   #element,
#define EMPTY(inside, element)    #element,
#define ACCEPT(element)           #element,
#define DO(element, function)     #element,
#define ORDER(element, operation) #element,
#include "client/control/gui_calls.def"
#undef SHOW
#undef EMPTY
#undef ACCEPT
#undef DO
#undef ORDER
};

static struct client *gui_host_made(void)
{
	struct client *c = unit_host();

	c->messages = messages_open(&c->process, false);
	c->gui_password = arena_strdup(&c->process, "secret");
	preferences_read(c);
	host_take(c,
	    "<project_name>A &amp; B</project_name><app><name>a</name></app>"
	    "<file_info><name>prog</name><url>http://h/prog</url></file_info>"
	    "<app_version><app_name>a</app_name><version_num>1</version_num><platform>"
	    "x86_64-pc-linux-gnu</platform><file_ref><file_name>prog</file_name>"
	    "<main_program/></file_ref></app_version><workunit><name>w</name><app_name>a"
	    "</app_name><command_line>a &lt; b</command_line></workunit><result><name>"
	    "r&amp;1</name><wu_name>w</wu_name><platform>x86_64-pc-linux-gnu</platform>"
	    "<version_num>1</version_num></result>",
	    (struct hope){ 0 });
	ck_assert_uint_eq(c->state->projects->ntasks, 1);
	return c;
}

static const char *gui_asked(struct client *c, struct dialog *d, const char *inside)
{
	struct buf out = buf_new(&c->scratch);
	char *text = arena_printf(&c->scratch,
	    "<boinc_gui_rpc_request>\n%s\n</boinc_gui_rpc_request>\n", inside);

	ck_assert(gui_answer(c, d, text, strlen(text), true, &out));
	ck_assert_uint_gt(out.n, 0);
	ck_assert_int_eq(out.p[out.n - 1], 3);
	return arena_memdup(&c->scratch, out.p, out.n - 1);
}

static void is_well_formed(struct client *c, const char *name, const char *text)
{
	static const struct field none[] = { { .name = NULL } };
	char row[8];

	ck_assert_msg(xml_parse(&c->scratch, text, strlen(text), "boinc_gui_rpc_reply",
			  none, row, NULL, &c->fail) == OK,
	    "%s: %s: %s", name, c->fail.detail, text);
}

START_TEST(calls_by_table)
{
	struct client *c = gui_host_made();
	struct dialog in = { .authorized = true }, out = { 0 };
	const char *name = call_names[_i];
	const char *call = arena_printf(&c->scratch, "<%s/>", name), *text;
	struct buf b = buf_new(&c->scratch);

	text = gui_asked(c, &out, call);
	ck_assert_ptr_nonnull(strstr(text, "<unauthorized/>"));
	text = gui_asked(c, &in, call);
	ck_assert_ptr_null(strstr(text, "unrecognized"));
	is_well_formed(c, name, text);
	text = gui_asked(c, &in,
	    arena_printf(&c->scratch,
		"<%s>\n<project_url>http://h.example/p</project_url>\n<name>r&amp;1</name>"
		"<always/><duration>5</duration><seqno>0</seqno></%s>",
		name, name));
	is_well_formed(c, name, text);
	/* Nothing that changes the host is done while it may not be changed. */
	call = arena_printf(
	    &c->scratch, "<boinc_gui_rpc_request><%s></boinc_gui_rpc_request>", name);
	if (!gui_answer(
		c, &in, arena_strdup(&c->scratch, call), strlen(call), false, &b))
		ck_assert_uint_eq(b.n, 0);
	proc_stopping = 0;
	unit_host_end(c);
}
END_TEST

START_TEST(passwords)
{
	struct client *c = gui_host_made();
	struct dialog d = { 0 };
	char hash[MD5_HEX], *nonce;

	nonce = xml_between(&c->scratch, gui_asked(c, &d, "<auth1/>"), "nonce");
	ck_assert_uint_eq(strlen(nonce), 32);
	md5_text(arena_printf(&c->scratch, "%ssecret", nonce), hash);
	/* The nonce of a failed try is worth nothing. */
	gui_asked(c, &d, "<auth2><nonce_hash>0</nonce_hash></auth2>");
	gui_asked(c, &d,
	    arena_printf(
		&c->scratch, "<auth2><nonce_hash>%s</nonce_hash></auth2>", hash));
	ck_assert(!d.authorized);
	nonce = xml_between(&c->scratch, gui_asked(c, &d, "<auth1/>"), "nonce");
	md5_text(arena_printf(&c->scratch, "%ssecret", nonce), hash);
	gui_asked(c, &d,
	    arena_printf(
		&c->scratch, "<auth2><nonce_hash>\n%s\n</nonce_hash></auth2>", hash));
	ck_assert(d.authorized);
	/* Without a password nobody is let in. */
	d = (struct dialog){ 0 };
	c->gui_password = NULL;
	nonce = xml_between(&c->scratch, gui_asked(c, &d, "<auth1/>"), "nonce");
	md5_text(nonce, hash);
	gui_asked(c, &d,
	    arena_printf(
		&c->scratch, "<auth2><nonce_hash>%s</nonce_hash></auth2>", hash));
	ck_assert(!d.authorized);
	unit_host_end(c);
}
END_TEST

static const struct {
	const char *call, *want;
} answers[] = {
	{ "<nonsense/>", "unrecognized op: nonsense" },
	{ "<set_run_mode><sometimes/></set_run_mode>", "<error>" },
	{ "<set_run_mode><never/><duration>soon</duration></set_run_mode>", "<error>" },
	{ "<set_run_mode><never/><duration>-1</duration></set_run_mode>", "<error>" },
	{ "<set_run_mode><never/><duration>10</duration></set_run_mode>",
	    "<success/>" },
	{ "<get_messages><seqno>-3</seqno></get_messages>", "<msgs>" },
	{ "<get_messages><seqno>99999999999999999999</seqno></get_messages>",
	    "<msgs>" },
	{ "<set_global_prefs_override>\nx\n</set_global_prefs_override>",
	    "this is no &lt;global_preferences" },
	{ "<set_global_prefs_override><global_preferences><cpu_usage_limit>7"
	  "</cpu_usage_limit></global_preferences></set_global_prefs_override>",
	    "<success/>" },
	{ "<suspend_result><project_url>http://h.example/p/</project_url>"
	  "<name>r&amp;1</name></suspend_result>",
	    "<success/>" },
	{ "<suspend_result><name>r</name></suspend_result>", "no task is named r" },
	{ "<project_reset/>", "give the URL" },
	{ "<abort_file_transfer><project_url>http://h.example/p/</project_url>"
	  "<filename>prog</filename></abort_file_transfer>",
	    "<success/>" },
	{ "<abort_file_transfer><filename>../x</filename></abort_file_transfer>",
	    "no such file" },
	{ "<get_results/>", "<name>r&amp;1</name>" },
	{ "<get_file_transfers/>", "<name>prog</name>" },
	{ "<get_project_status/>", "<project_name>A &amp; B</project_name>" },
};

START_TEST(answers_by_table)
{
	struct client *c = gui_host_made();
	struct dialog d = { .authorized = true };
	const char *text = gui_asked(c, &d, answers[_i].call);

	ck_assert_msg(
	    strstr(text, answers[_i].want) != NULL, "%s: %s", answers[_i].call, text);
	is_well_formed(c, answers[_i].call, text);
	unit_host_end(c);
}
END_TEST

/* Any bytes may arrive, from those who know the password too. */
START_TEST(random_requests)
{
	static const char *const words[] = { "<boinc_gui_rpc_request>", "<", ">", "/",
		"<get_state/>", "<get_messages>", "<seqno>", "</seqno>",
		"<set_run_mode>", "<duration>", "1e999", "<auth1/>", "<auth2>",
		"<nonce_hash>", "\n", "&", "<project_attach>", "<project_url>",
		"</project_url>", "http://a.b/", "<set_global_prefs_override>",
		"</set_global_prefs_override>", "\xff" };
	struct client *c = gui_host_made();

	for (int i = 0; i < 3000; i++) {
		struct dialog d = { .authorized = rng_below(&c->rng, 2) == 1 };
		struct buf text = buf_new(&c->scratch), out = buf_new(&c->scratch);

		if (rng_below(&c->rng, 4) > 0)
			buf_puts(&text, words[0]);
		for (uint64_t k = rng_below(&c->rng, 12); k > 0; k--)
			buf_puts(&text, words[rng_below(&c->rng, N(words))]);
		buf_put(&text, "", 1);
		gui_answer(c, &d, text.p, text.n - 1, true, &out);
		ck_assert_uint_gt(out.n, 0);
		if (i % 100 == 0) {
			arena_reset(&c->scratch);
			orders_read(c);
		}
	}
	unit_host_end(c);
}
END_TEST

/* The last thousand are kept; a number of an earlier run means all. */
START_TEST(messages_are_numbered)
{
	struct client *c = gui_host_made();
	const struct message *m;

	for (int i = 1; i <= 1500; i++)
		messages_add(c->messages, MESSAGE_INFO,
		    arena_printf(&c->scratch, "line\x1b %d", i));
	m = messages_after(c->messages, 0);
	ck_assert_int_eq(m->seqno, messages_last(c->messages) - 999);
	m = messages_after(c->messages, messages_last(c->messages) - 1);
	ck_assert_str_eq(m->text, "line  1500");
	ck_assert_ptr_null(messages_after(c->messages, messages_last(c->messages)));
	ck_assert_ptr_nonnull(
	    messages_after(c->messages, messages_last(c->messages) + 1));
	unit_host_end(c);
}
END_TEST

UNIT_MAIN("client_gui", {
	log_open("test_client_gui", NULL, LOG_ERR);
	ADD_LOOP(calls_by_table, N(call_names));
	ADD(passwords);
	ADD_LOOP(answers_by_table, N(answers));
	ADD(random_requests);
	ADD(messages_are_numbered);
})
