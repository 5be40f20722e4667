/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening a link changes nothing, because mail programs open links on their own; only
 * posting the form does.
 */
#include "sched/web/web_passwd.h"

#include <ctype.h>
#include <string.h>
#include "db/entity.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "sched/web/web_page.h"
#include "lib/banned.h"

enum { PASSWORD_MAX = 255 };

static const char too_many[] = "429 Too Many Requests";
static const char no_database[] = "503 Service Unavailable";

/* Returns ", at ADDRESS", or nothing if the project names no address. */
static const char *
admin_at(const struct web_rpc *x)
{
	const char *email = x->conf->admin_email;

	return email[0] == '\0' ? "" : arena_printf(x->a, ", %s", email);
}

/* --- get_passwd.php --- */

static void
put_mail_form(struct web_rpc *x, const char *complaint)
{
	page_begin(x->b, x->conf, "Forgotten password");
	if (complaint != NULL) {
		buf_puts(x->b, "<p class=\"complaint\" role=\"alert\">");
		html_put(x->b, complaint);
		buf_puts(x->b, "</p>\n");
	}
	buf_puts(x->b,
	    "<p>We cannot send you your password, because we store only a digest of it. We can send you a link to choose a new one. Computers that are attached stay attached.</p>\n"
	    "<form method=\"post\" action=\"get_passwd.php\">\n"
	    "<p><label for=\"email\">E-mail address of your account</label>\n"
	    "<input id=\"email\" name=\"email_addr\" type=\"email\" maxlength=\"254\" autocomplete=\"email\" required></p>\n"
	    "<p><button type=\"submit\">Send the link</button></p>\n"
	    "</form>\n");
	page_end(x->b);
}

static void
forgotten_without_mail(struct web_rpc *x)
{
	log_info(
	    "a volunteer forgot a password, and there is no mail_command: locus user reset-password ADDRESS makes a new one");
	page_message(x->b, x->conf, "Forgotten password",
	    arena_printf(x->a,
		"We cannot send you your password, because we store only a digest of it. Please write to the admin of this project%s, from the e-mail address of your account, and ask for a new one. Computers that are attached keep working, and this project's account file from one of them attaches another computer, too.",
		admin_at(x)));
}

const char *
passwd_page_forgotten(struct web_rpc *x, bool posted, struct web_mailer *mailer)
{
	char *email = text_trim(web_text(x, "email_addr"));
	double wait_s;

	if (x->conf->mail_command[0] == '\0') {
		forgotten_without_mail(x);
		return NULL;
	}
	if (!posted) {
		put_mail_form(x, NULL);
		return NULL;
	}
	if (account_bad_email(email) != NULL) {
		put_mail_form(x, "This is not an e-mail address.");
		return NULL;
	}
	for (char *p = email; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	wait_s = limit_mail_wait(x, email);
	if (wait_s > 0) {
		page_message(
		    x->b, x->conf, "Too many attempts", limit_message(x, wait_s));
		return too_many;
	}
	if (!web_mailer_ask(mailer, MAIL_PASSWORD_LINK, email)) {
		page_message(x->b, x->conf, "Busy",
		    "The server is busy. Please try again in a minute.");
		return no_database;
	}
	page_message(x->b, x->conf, "Look into your mailbox",
	    arena_printf(x->a,
		"If an account has the address %s, a mail with a link is on its way to it. The link is valid for %d hours and works once. If nothing arrives within half an hour, look into the folder for unwanted mail, try another address, or write to the admin of this project%s.",
		email, PASSWORD_TOKEN_S / 3600, admin_at(x)));
	return NULL;
}

/* --- set_passwd.php --- */

static bool
is_token(const char *s)
{
	return strlen(s) == PASSWORD_TOKEN_HEX &&
	       strspn(s, "0123456789abcdef") == PASSWORD_TOKEN_HEX;
}

static void
put_password_form(struct web_rpc *x, const char *token, const char *complaint)
{
	struct buf *b = x->b;

	page_begin(b, x->conf, "Choose a new password");
	if (complaint != NULL) {
		buf_puts(b, "<p class=\"complaint\" role=\"alert\">");
		html_put(b, complaint);
		buf_puts(b, "</p>\n");
	}
	buf_printf(b,
	    "<form method=\"post\" action=\"set_passwd.php\">\n"
	    "<input type=\"hidden\" name=\"token\" value=\"%s\">\n"
	    "<p><label for=\"passwd\">New password, of at least %lld characters</label>\n"
	    "<input id=\"passwd\" name=\"passwd\" type=\"password\" minlength=\"%lld\" maxlength=\"%d\" autocomplete=\"new-password\" required></p>\n"
	    "<p><label for=\"again\">The same again</label>\n"
	    "<input id=\"again\" name=\"passwd_again\" type=\"password\" maxlength=\"%d\" autocomplete=\"new-password\" required></p>\n"
	    "<p><button type=\"submit\">Set the password</button></p>\n"
	    "</form>\n",
	    token, (long long)x->conf->min_passwd_length,
	    (long long)x->conf->min_passwd_length, PASSWORD_MAX, PASSWORD_MAX);
	page_end(b);
}

/* Finds the account of the token. */
static enum err
token_account(
    struct web_rpc *x, const char *token, char digest[SHA256_HEX], int64_t *userid)
{
	struct fail f = { 0 };
	enum err e = E_NOTFOUND;

	password_token_digest(token, digest);
	if (is_token(token))
		e = password_token_user(x->db, digest, x->now, userid, &f);
	if (e != OK && e != E_NOTFOUND)
		log_fail("token of a new password", &f);
	return e;
}

/* Returns what is wrong with the posted password; NULL: nothing. */
static const char *
password_complaint(struct web_rpc *x, const char *passwd)
{
	size_t n = strlen(passwd);

	if ((int64_t)n < x->conf->min_passwd_length || n > PASSWORD_MAX)
		return arena_printf(x->a,
		    "The password must have at least %lld characters, and at most %d.",
		    (long long)x->conf->min_passwd_length, PASSWORD_MAX);
	if (strcmp(passwd, web_text(x, "passwd_again")) != 0)
		return "The two passwords differ.";
	return NULL;
}

/* Clients send the MD5 of password and address in lower case (protocol.md 7.4). */
static enum err
set_password(struct web_rpc *x, const char *digest, int64_t userid, const char *passwd,
    struct web_mailer *mailer)
{
	struct fail f = { 0 };
	char wire[MD5_HEX], *email = NULL, *hash = NULL;
	struct user *u;
	enum err e = user_by_id(x->db, x->a, userid, &u, &f);

	if (e == OK) {
		email = arena_strdup(x->a, u->email_addr);
		for (char *p = email; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
		md5_text(arena_printf(x->a, "%s%s", passwd, email), wire);
		e = password_hash(x->a, wire, &hash, &f);
	}
	if (e == OK)
		e = password_token_use(x->db, digest, userid, hash, &f);
	if (e == OK) {
		log_info("account [USER#%lld] has a new password, by mail",
		    (long long)userid);
		web_mailer_ask(mailer, MAIL_PASSWORD_CHANGED, email);
	} else if (e != E_NOTFOUND) {
		log_fail("new password", &f);
	}
	return e;
}

static const char *
put_set_result(struct web_rpc *x, enum err e)
{
	if (e == OK) {
		page_message(x->b, x->conf, "Your password has changed",
		    "Use it to attach computers. Computers that are attached stay attached.");
		return NULL;
	}
	if (e == E_NOTFOUND) {
		page_begin(x->b, x->conf, "This link is not valid");
		buf_puts(x->b,
		    "<p>It may have been used, or be too old. <a href=\"get_passwd.php\">Ask for another one.</a></p>\n");
		page_end(x->b);
		return "404 Not Found";
	}
	page_message(x->b, x->conf, "Not available",
	    "The database is not available. Please try again later.");
	return no_database;
}

const char *
passwd_page_set(struct web_rpc *x, bool posted, struct web_mailer *mailer)
{
	const char *token = web_text(x, "token"), *passwd, *complaint;
	double wait_s = 0;
	char digest[SHA256_HEX];
	int64_t userid = 0;
	enum err e;

	e = token_account(x, token, digest, &userid);
	if (e == E_NOTFOUND)
		wait_s = limit_failed(x);
	if (wait_s > 0) {
		page_message(
		    x->b, x->conf, "Too many attempts", limit_message(x, wait_s));
		return too_many;
	}
	if (e != OK)
		return put_set_result(x, e);
	passwd = posted ? query_get(x->a, x->form, "passwd") : NULL;
	complaint = passwd == NULL ? NULL : password_complaint(x, passwd);
	if (passwd == NULL || complaint != NULL) {
		put_password_form(x, token, complaint);
		return NULL;
	}
	return put_set_result(x, set_password(x, digest, userid, passwd, mailer));
}
