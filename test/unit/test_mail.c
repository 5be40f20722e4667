/* SPDX-License-Identifier: Apache-2.0 */
/* Mail: no text that goes into a message begins a header. */
#include "test/unit/unit.h"

#include "proto/mail.h"
#include "lib/banned.h"

static struct arena a;
static struct fail f;

static const struct {
	const char *from_name, *subject, *head; /* From, To and Subject */
} heads[] = {
	{ "Stars", "Stars: a new password",
	    "From: \"Stars\" <admin@b.org>\nTo: <joe@b.org>\nSubject: Stars: a new password\n" },
	{ "Stars \"n\" Stripes", "x",
	    "From: =?UTF-8?Q?Stars_=22n=22_Stripes?= <admin@b.org>\nTo: <joe@b.org>\nSubject: x\n" },
	{ "St\303\251r", "a\nBcc: all@b.org",
	    "From: =?UTF-8?Q?St=C3=A9r?= <admin@b.org>\nTo: <joe@b.org>\nSubject: =?UTF-8?Q?a=0ABcc=3A_all=40b=2Eorg?=\n" },
	{ "a\r\n\r\nbody", "=?UTF-8?Q?no?=",
	    "From: =?UTF-8?Q?a=0D=0A=0D=0Abody?= <admin@b.org>\nTo: <joe@b.org>\nSubject: =?UTF-8?Q?=3D=3FUTF=2D8=3FQ=3Fno=3F=3D?=\n" },
	{ "\377", "",
	    "From: =?UTF-8?Q?=3F?= <admin@b.org>\nTo: <joe@b.org>\nSubject: \n" },
};

static char *rendered(const struct mail *m)
{
	struct buf b = buf_new(&a);

	ck_assert_int_eq(mail_render(&b, m, &f), OK);
	return b.p;
}

START_TEST(mail_heads)
{
	struct mail m = { .to = "joe@b.org",
		.from = "admin@b.org",
		.from_name = heads[_i].from_name,
		.subject = heads[_i].subject,
		.text = "Hello\nTo: nobody\n",
		.now = 1700000000 };
	const char *date = "Date: Tue, 14 Nov 2023 22:13:20 +0000\n",
		   *text = rendered(&m);
	const char *end = strstr(text, "\n\n");

	ck_assert(strncmp(text, date, strlen(date)) == 0);
	text += strlen(date);
	ck_assert_msg(
	    strncmp(text, heads[_i].head, strlen(heads[_i].head)) == 0, "%s", text);
	ck_assert_str_eq(end + 2, m.text);
}
END_TEST

START_TEST(mail_long_subject)
{
	char subject[801] = "";
	struct mail m = {
		.to = "joe@b.org", .from = "", .subject = subject, .text = ""
	};
	char *text, *line, *rest;

	for (int i = 0; i < 400; i++)
		memcpy(subject + 2 * i, "\303\251", 2);
	text = rendered(&m);
	ck_assert(strstr(text, "From:") == NULL);
	for (line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		ck_assert_uint_le(strlen(line), 90);
		if (line[0] == ' ') /* a character is whole in its word */
			ck_assert(strncmp(line, " =?UTF-8?Q?=C3", 14) == 0);
	}
}
END_TEST

static const char *const addresses[] = { "", "joe", "joe@b.org\nBcc: all@b.org",
	"joe@b.org, all@b.org", "joe@b.org>\n", "<joe@b.org>", "joe @b.org",
	"jo\303\251@b.org", "joe@b.org\r" };

START_TEST(mail_bad_addresses)
{
	struct mail m = { .to = addresses[_i],
		.from = "",
		.from_name = "",
		.subject = "",
		.text = "" };
	struct buf b = buf_new(&a);

	ck_assert_int_eq(mail_render(&b, &m, &f), E_BADREQ);
	m.from = m.to;
	m.to = "joe@b.org";
	if (m.from[0] != '\0')
		ck_assert_int_eq(mail_render(&b, &m, &f), E_BADREQ);
	ck_assert_uint_eq(b.n, 0);
}
END_TEST

UNIT_MAIN("mail", {
	ADD_LOOP(mail_heads, N(heads));
	ADD(mail_long_subject);
	ADD_LOOP(mail_bad_addresses, N(addresses));
})
