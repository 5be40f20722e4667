/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attaching with e-mail address and password (protocol.md 7.2 to 7.4). The password
 * itself never gets here, only its MD5.
 */
#include "sched/web/web_account.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "proto/mail.h"
#include "proto/web_docs.h"
#include "sched/project.h"
#include "sched/web/web_page.h"
#include "sched/web/web_limit.h"
#include "lib/banned.h"

enum { SEND_S = 30, END_MS = 10000, OUTPUT_MAX = 4096 };

struct mail_run { /* the thread's */
	struct project p;
	struct arena a; /* of one mail */
	int64_t now;
};

/* What the database stores of a token. */
static void password_token_digest(const char *token, char digest[SHA256_HEX])
{
	struct arena a = { 0 };
	struct sha256 *d = sha256_new(&a);

	sha256_add(d, token, strlen(token));
	sha256_end(d, digest);
	arena_free(&a);
}

/* --- texts --- */

/* Returns the last paragraph, which names the admin if there is an address. */
static const char *mail_signature(struct mail_run *r)
{
	const struct conf *cf = r->p.conf;

	if (cf->admin_email[0] == '\0')
		return arena_printf(
		    &r->a, "-- \n%s\n%s\n", cf->long_name, cf->master_url);
	return arena_printf(&r->a, "-- \n%s\n%s\nQuestions? Write to %s\n",
	    cf->long_name, cf->master_url, cf->admin_email);
}

/* Makes a token, stores its digest and puts it into the text. */
static enum err link_text(
    struct mail_run *r, const struct user *u, const char **text, struct fail *f)
{
	char token[PASSWORD_TOKEN_HEX + 1], digest[SHA256_HEX];

	random_hex(token, PASSWORD_TOKEN_HEX);
	password_token_digest(token, digest);
	*text = arena_printf(&r->a,
	    "Somebody, probably you, has asked for a new password of your account at\n"
	    "%s. To choose one, open this page within %d hours:\n\n"
	    "%sset_passwd.php?token=%s\n\n"
	    "The link works once. Computers that are attached stay attached.\n"
	    "If you did not ask for it, you need not do anything: your password stays.\n\n"
	    "%s",
	    r->p.conf->long_name, PASSWORD_TOKEN_S / 3600, r->p.conf->master_url, token,
	    mail_signature(r));
	return password_token_insert(
	    r->p.db, u->id, digest, r->now, r->now + PASSWORD_TOKEN_S, f);
}

static const char *changed_text(struct mail_run *r)
{
	return arena_printf(&r->a,
	    "The password of your account at %s has been changed, with a link that was\n"
	    "sent to this address. If it was not you, choose another one:\n\n"
	    "%sget_passwd.php\n\n"
	    "%s",
	    r->p.conf->long_name, r->p.conf->master_url, mail_signature(r));
}

/* --- sending --- */

static enum err mail_send(struct mail_run *r, const struct mail *m, struct fail *f)
{
	struct buf b = buf_new(&r->a);
	struct proc_told told;
	char **argv;

	TRY(mail_render(&b, m, f));
	TRY(proc_split(&r->a, r->p.conf->mail_command, &argv, f));
	TRY(proc_collect(&r->a,
	    &(const struct proc_run){ .argv = (const char *const *)argv,
		.in = { PROC_MEMORY, .text = b.p, .n = b.n },
		.err = { PROC_PIPE } },
	    SEND_S, 0, &told, f));
	if (told.status != 0)
		return FAIL(f, E_SYS, "%s: exit status %d: %.200s", argv[0],
		    told.status, told.words);
	return OK;
}

/* An address that merely resembles the account's is not the account's. */
static enum err mail_account(
    struct mail_run *r, const char *email, struct user **u, struct fail *f)
{
	TRY(project_configure(&r->p, f));
	if (r->p.conf->mail_command[0] == '\0')
		return FAIL(f, E_CONFIG, "there is no mail_command any more");
	TRY(project_connect(&r->p, r->now, f));
	TRY(user_by_email(r->p.db, &r->a, email, u, f));
	if (strcasecmp((*u)->email_addr, email) != 0)
		return FAIL(f, E_NOTFOUND, "no such account");
	return OK;
}

static enum err mail_to(struct mail_run *r, const struct mail_job *job,
    const struct user *u, struct fail *f)
{
	bool link = job->kind == MAIL_PASSWORD_LINK;
	struct mail m = { .to = u->email_addr,
		.from = r->p.conf->admin_email,
		.from_name = r->p.conf->long_name,
		.now = r->now,
		.subject = arena_printf(&r->a, "%s: %s", r->p.conf->long_name,
		    link ? "choose a new password" : "your password has changed") };

	if (link)
		TRY(link_text(r, u, &m.text, f));
	else
		m.text = changed_text(r);
	return mail_send(r, &m, f);
}

static void mail_do(struct mail_run *r, const struct mail_job *job)
{
	struct fail f = { 0 };
	struct user *u = NULL;
	enum err e;

	r->now = clock_now();
	e = mail_account(r, job->email, &u, &f);
	if (e == E_NOTFOUND) {
		log_debug("mail: there is no such account");
		return;
	}
	if (e == OK)
		e = mail_to(r, job, u, &f);
	if (e == OK)
		log_info("mail sent to account [USER#%lld]", (long long)u->id);
	else
		log_fail("mail", &f);
}

/* --- the thread --- */

/* Takes the oldest job; false: the thread is to end. */
static bool mail_take(struct web_mailer *w, struct mail_job *job)
{
	bool taken = false;

	pthread_mutex_lock(&w->lock);
	while (w->n == 0 && !w->stopping)
		pthread_cond_wait(&w->changed, &w->lock);
	if (w->n > 0) {
		*job = w->queue[w->first];
		w->first = (w->first + 1) % MAIL_QUEUE;
		w->n--;
		taken = true;
	}
	pthread_mutex_unlock(&w->lock);
	return taken;
}

static void *mail_main(void *arg)
{
	struct web_mailer *w = arg;
	struct mail_run r = { 0 };
	struct mail_job job;
	struct fail f = { 0 };

	if (project_find(&r.p, "web", w->dir, true, &f) != OK)
		log_fail("mail", &f);
	while (mail_take(w, &job)) {
		mail_do(&r, &job);
		arena_reset(&r.a);
	}
	project_close(&r.p);
	arena_free(&r.a);
	return NULL;
}

void web_mailer_begin(struct web_mailer *w, const char *dir)
{
	*w = (struct web_mailer){ .dir = dir };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
}

/*
 * Queues a mail to the account with this address, in lower case; without such an
 * account nothing will be sent. false: the queue is full.
 */
static bool web_mailer_ask(struct web_mailer *w, enum mail_kind kind, const char *email)
{
	struct mail_job job = { .kind = kind };
	bool room;

	if ((size_t)snprintf(job.email, sizeof(job.email), "%s", email) >=
	    sizeof(job.email))
		return true; /* no account has such an address */
	pthread_mutex_lock(&w->lock);
	if (!w->started && !w->stopping)
		w->started = pthread_create(&w->thread, NULL, mail_main, w) == 0;
	room = w->started && w->n < MAIL_QUEUE;
	if (room)
		w->queue[(w->first + w->n++) % MAIL_QUEUE] = job;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	return room;
}

void web_mailer_end(struct web_mailer *w)
{
	int64_t end = clock_mono_ms() + END_MS;
	bool waiting = true;

	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	if (!w->started)
		return;
	while (waiting && clock_mono_ms() < end) {
		pthread_mutex_lock(&w->lock);
		waiting = w->n > 0;
		pthread_mutex_unlock(&w->lock);
		if (waiting)
			clock_nap_ms(50);
	}
	pthread_mutex_lock(&w->lock);
	if (w->n > 0)
		log_warn("%zu mails that were asked for are not sent", w->n);
	w->n = 0;
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
}

/*
 * Opening a link changes nothing, because mail programs open links on their own; only
 * posting the form does.
 */

enum { PASSWORD_MAX = 255 };

static const char too_many[] = "429 Too Many Requests";
static const char no_database[] = "503 Service Unavailable";

/* Returns ", at ADDRESS", or nothing if the project names no address. */
static const char *admin_at(const struct web_rpc *x)
{
	const char *email = x->conf->admin_email;

	return email[0] == '\0' ? "" : arena_printf(x->a, ", %s", email);
}

/* --- get_passwd.php --- */

static void put_mail_form(struct web_rpc *x, const char *complaint)
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

static void forgotten_without_mail(struct web_rpc *x)
{
	log_info(
	    "a volunteer forgot a password, and there is no mail_command: locus user reset-password ADDRESS makes a new one");
	page_message(x->b, x->conf, "Forgotten password",
	    arena_printf(x->a,
		"We cannot send you your password, because we store only a digest of it. Please write to the admin of this project%s, from the e-mail address of your account, and ask for a new one. Computers that are attached keep working, and this project's account file from one of them attaches another computer, too.",
		admin_at(x)));
}

const char *passwd_page_forgotten(
    struct web_rpc *x, bool posted, struct web_mailer *mailer)
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

static void put_password_form(
    struct web_rpc *x, const char *token, const char *complaint)
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
static enum err token_account(
    struct web_rpc *x, const char *token, char digest[SHA256_HEX], int64_t *userid)
{
	struct fail f = { 0 };
	enum err e = E_NOTFOUND;

	password_token_digest(token, digest);
	if (strlen(token) == PASSWORD_TOKEN_HEX &&
	    strspn(token, "0123456789abcdef") == PASSWORD_TOKEN_HEX)
		e = password_token_user(x->db, digest, x->now, userid, &f);
	if (e != OK && e != E_NOTFOUND)
		log_fail("token of a new password", &f);
	return e;
}

/* Returns what is wrong with the posted password; NULL: nothing. */
static const char *password_complaint(struct web_rpc *x, const char *passwd)
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

/*
 * Stores a password, once for the token; *email is the account's address. Clients send
 * the MD5 of password and address in lower case (protocol.md 7.4).
 */
static enum err replace_password(struct web_rpc *x, const char *digest, int64_t userid,
    const char *passwd, char **email, struct fail *f)
{
	char wire[MD5_HEX], *hash;
	struct user *u;

	TRY(user_by_id(x->db, x->a, userid, &u, f));
	*email = arena_strdup(x->a, u->email_addr);
	for (char *p = *email; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	md5_text(arena_printf(x->a, "%s%s", passwd, *email), wire);
	TRY(password_hash(x->a, wire, &hash, f));
	return password_token_use(x->db, digest, userid, hash, f);
}

static enum err set_password(struct web_rpc *x, const char *digest, int64_t userid,
    const char *passwd, struct web_mailer *mailer)
{
	struct fail f = { 0 };
	char *email;
	enum err e = replace_password(x, digest, userid, passwd, &email, &f);

	if (e == OK) {
		log_info("account [USER#%lld] has a new password, by mail",
		    (long long)userid);
		web_mailer_ask(mailer, MAIL_PASSWORD_CHANGED, email);
	} else if (e != E_NOTFOUND) {
		log_fail("new password", &f);
	}
	return e;
}

static const char *put_set_result(struct web_rpc *x, enum err e)
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

const char *passwd_page_set(struct web_rpc *x, bool posted, struct web_mailer *mailer)
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

enum {
	HASH_LEN = 32,
	TOKEN_S = 24 * 3600,
	MOVED_S = 7 * 24 * 3600, /* how long an abandoned address stays its owner's */
};

static bool is_password_hash(const char *s)
{
	return strlen(s) == HASH_LEN && strspn(s, "0123456789abcdef") == HASH_LEN;
}

static char *lower(char *s)
{
	for (char *p = s; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return s;
}

/* Converts text from a client that predates UTF-8 and sends Latin-1. */
static char *as_utf8(struct arena *a, char *s)
{
	struct buf b = buf_new(a);
	const char *p = s;

	while (*p != '\0' && text_utf8(p) > 0)
		p += text_utf8(p);
	if (*p == '\0')
		return s;
	for (p = s; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;

		if (c < 0x80)
			buf_put(&b, p, 1);
		else
			buf_printf(&b, "%c%c", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
	}
	return b.p;
}

/* --- passwords --- */

/* u NULL: there is no such account, and finding this out takes as long. */
static bool password_fits(struct arena *a, const struct user *u, const char *hash)
{
	static char none[] = "";
	const struct user nobody = { .authenticator = none, .email_addr = none };
	bool fits = password_check(hash, u == NULL ? "" : u->passwd_hash);
	const struct user *v = u == NULL ? &nobody : u;
	char md5[MD5_HEX];
	bool by_key;

	/* Also accepted instead of the password's hash: the MD5 of key and address. */
	md5_text(arena_printf(a, "%s%s", v->authenticator, v->email_addr), md5);
	by_key = secret_equal(md5, hash);
	return u != NULL && is_password_hash(hash) && (fits || by_key);
}

/*
 * Old rows hold the bare MD5: the first correct password replaces it with a slow hash.
 * Keys that clients and feed readers already have stay valid, as digests that do not
 * make guessing the password faster than the keys themselves do.
 */
static void strengthen(
    struct db *db, struct arena *a, const struct user *u, const char *hash)
{
	struct fail f = { 0 };
	struct user_keys kept;
	char *stored;
	enum err e;

	if (u->passwd_hash[0] == '$' || !secret_equal(u->passwd_hash, hash))
		return;
	e = password_hash(a, hash, &stored, &f);
	if (e == OK) {
		kept = account_keys_kept(a, u, stored);
		e = user_set_passwd_hash(db, u, stored, &kept, &f);
	}
	if (e != OK)
		log_fail("password hash", &f);
}

/*
 * Finds the account of an address. E_NOTFOUND: there is none. The column's collation
 * ignores accents and trailing blanks, but an address that merely resembles another is
 * treated as unknown: otherwise each variant would get its own number of attempts.
 */
static enum err find_user(
    struct web_rpc *x, const char *email, struct user **u, struct fail *f)
{
	TRY(user_by_email(x->db, x->a, email, u, f));
	if (strcasecmp((*u)->email_addr, email) != 0)
		TRY(E_NOTFOUND);
	return OK;
}

/* --- lookup_account --- */

/* Answers requests for login methods that this project does not have. */
static bool other_login(struct web_rpc *x)
{
	if (web_param(x, "ldap_auth") != NULL)
		web_error(x->b, WEB_FAILED, "This project does not use LDAP");
	else if (web_param(x, "server_assigned_cookie") != NULL)
		web_error(
		    x->b, WEB_NOT_FOUND, NULL); /* this project never assigns one */
	else
		return false;
	return true;
}

static void answer_lookup(struct web_rpc *x, const struct user *u, char *hash)
{
	if (u == NULL) {
		if (hash != NULL)
			password_fits(x->a, NULL, lower(hash));
		web_error(x->b, WEB_NOT_FOUND, NULL);
	} else if (hash == NULL) {
		limit_succeeded(x, u->email_addr);
		web_account(x->b, NULL);
	} else if (!password_fits(x->a, u, lower(hash))) {
		web_error(x->b, WEB_BAD_PASSWORD, NULL);
	} else {
		limit_succeeded(x, u->email_addr);
		strengthen(x->db, x->a, u, hash);
		web_account(x->b, u->authenticator);
	}
}

void rpc_lookup_account(struct web_rpc *x)
{
	char *email = lower(web_text(x, "email_addr"));
	char *hash = web_param(x, "passwd_hash");
	struct fail f = { 0 };
	struct user *u = NULL;
	enum err e;

	if (other_login(x) || !limit_try(x, email))
		return;
	e = find_user(x, email, &u, &f);
	if (e == OK || e == E_NOTFOUND) {
		answer_lookup(x, e == OK ? u : NULL, hash);
	} else {
		limit_succeeded(x, email);
		web_failed(x, &f);
	}
}

/* --- create_account --- */

/* The address is taken: its owner gets the key again, anybody else learns nothing. */
static void answer_existing(struct web_rpc *x, const struct user *u, const char *hash)
{
	if (password_fits(x->a, u, hash)) {
		limit_succeeded(x, u->email_addr);
		strengthen(x->db, x->a, u, hash);
		web_account(x->b, u->authenticator);
	} else {
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
	}
}

/* Compares all codes, however early one matches, so that the time tells nothing. */
static bool invited(const struct web_rpc *x)
{
	const struct text_list *codes = &x->conf->invite_code;
	const char *said = web_text(x, "invite_code");
	bool found = codes->n == 0;

	for (size_t i = 0; i < codes->n; i++)
		found |= secret_equal(codes->v[i], said) && said[0] != '\0';
	return found;
}

static bool consents(const struct web_rpc *x)
{
	return strcmp(web_text(x, "consent_flag"), "1") == 0;
}

/* Checks the parameters of a new account; if one is bad, writes an error document. */
static bool check_new(struct web_rpc *x, const struct user *u, const char *hash)
{
	const struct conf *cf = x->conf;
	const char *bad_name = account_bad_name(u->name);
	const char *bad_email = account_bad_email(u->email_addr);

	if (cf->disable_account_creation || cf->disable_account_creation_rpc)
		web_error(x->b, WEB_NO_CREATION, NULL);
	else if (!invited(x))
		web_error(x->b, WEB_BAD_INVITATION, NULL);
	else if (bad_email != NULL)
		web_error(x->b, WEB_BAD_EMAIL, bad_email);
	else if (!is_password_hash(hash))
		web_error(x->b, WEB_BAD_PASSWORD, NULL);
	else if (bad_name != NULL)
		web_error(x->b, WEB_BAD_NAME, bad_name);
	else if (cf->account_creation_rpc_require_consent && !consents(x))
		web_error(x->b, WEB_NEEDS_CONSENT, NULL);
	else
		return true;
	return false;
}

/* Makes the key, cross-project id and slow hash of a new account. */
static enum err make_secrets(
    struct web_rpc *x, struct user *u, const char *hash, struct fail *f)
{
	char key[HASH_LEN + 1], cpid[HASH_LEN + 1];

	random_hex(key, HASH_LEN);
	random_hex(cpid, HASH_LEN);
	u->authenticator = arena_strdup(x->a, key);
	u->cross_project_id = arena_strdup(x->a, cpid);
	return password_hash(x->a, hash, &u->passwd_hash, f);
}

/*
 * Finds the team to join. A team that cannot be joined is no reason to refuse the
 * account.
 */
static enum err find_team(struct web_rpc *x, struct user *u, struct fail *f)
{
	char *name = as_utf8(x->a, web_text(x, "team_name"));
	enum err e = OK;

	if (name[0] != '\0')
		e = team_to_join(x->db, name, &u->teamid, f);
	if (e == E_NOTFOUND)
		u->teamid = 0;
	return e == E_NOTFOUND ? OK : e;
}

/*
 * E_RACE: the address was taken meanwhile, by another request or an earlier attempt of
 * this one.
 */
static enum err insert_account(
    struct web_rpc *x, struct user *u, const char *hash, struct fail *f)
{
	const char *source = consents(x) ? as_utf8(x->a, web_text(x, "source")) : NULL;
	enum err e = make_secrets(x, u, hash, f);
	int attempt = 0;

	if (e == OK)
		e = find_team(x, u, f);
	if (e != OK)
		return e;
	do
		e = account_insert(x->db, u, source, f);
	while (db_again(x->db, &attempt, &e, f) && db_ready(x->db, f) == OK);
	return e;
}

static void create_account(struct web_rpc *x, struct user *u, const char *hash)
{
	struct fail f = { 0 };
	struct user *old;
	bool taken;
	enum err e;

	if (!check_new(x, u, hash))
		return;
	e = account_had_email(x->db, u->email_addr, x->now - MOVED_S, &f);
	if (e == OK) {
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
		return;
	}
	if (e != E_NOTFOUND) {
		web_failed(x, &f);
		return;
	}
	if (!limit_new_account(x))
		return;
	e = insert_account(x, u, hash, &f);
	taken = e == E_RACE;
	if (taken)
		e = user_by_email(x->db, x->a, u->email_addr, &old, &f);
	if (taken && e == OK) {
		answer_existing(x, old, hash);
	} else if (taken && e == E_NOTFOUND) {
		/* In a database adopted from BOINC, names are unique too. */
		web_error(x->b, WEB_NOT_UNIQUE, NULL);
	} else if (e != OK) {
		web_failed(x, &f);
	} else {
		log_info("account [USER#%lld] created", (long long)u->id);
		web_account(x->b, u->authenticator);
	}
}

void rpc_create_account(struct web_rpc *x)
{
	static char none[] = "";
	char *hash = lower(web_text(x, "passwd_hash"));
	struct user *old, u = { .create_time = x->now,
		.email_addr = lower(web_text(x, "email_addr")),
		.name = as_utf8(x->a, web_text(x, "user_name")),
		.global_prefs = none,
		.project_prefs = none,
		.venue = none };
	struct fail f = { 0 };
	enum err e;

	if (!limit_try(x, u.email_addr))
		return;
	e = find_user(x, u.email_addr, &old, &f);
	if (e == OK) {
		answer_existing(x, old, hash);
		return;
	}
	limit_succeeded(x, u.email_addr); /* no password was tried */
	if (e == E_NOTFOUND)
		create_account(x, &u, hash);
	else
		web_failed(x, &f);
}

/* --- login_token_lookup --- */

static bool token_fits(const struct web_rpc *x, const struct user_info *u)
{
	double age_s = (double)x->now - u->login_token_time;
	bool equal = secret_equal(u->login_token, web_text(x, "token"));

	return equal && u->login_token[0] != '\0' && age_s >= 0 && age_s < TOKEN_S;
}

void rpc_login_token(struct web_rpc *x)
{
	int64_t id = web_id(x, "user_id");
	struct fail f = { 0 };
	struct user_info *u;
	char *team;
	enum err e;

	e = account_by_id(x->db, x->a, id, &u, &f);
	if (e == E_NOTFOUND || (e == OK && !token_fits(x, u))) {
		if (limit_wrong_key(x))
			web_error(x->b, WEB_NOT_FOUND, NULL);
		return;
	}
	if (e == OK)
		e = team_name(x->db, x->a, u->teamid, &team, &f);
	if (e == OK)
		web_login_token(x->b, u, team);
	else
		web_failed(x, &f);
}
