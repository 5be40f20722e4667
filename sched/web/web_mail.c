/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/web/web_mail.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "proto/mail.h"
#include "sched/project.h"
#include "lib/banned.h"

enum { SEND_S = 30, END_MS = 10000, OUTPUT_MAX = 4096 };

struct mail_run { /* the thread's */
	struct project p;
	struct arena a; /* of one mail */
	int64_t now;
};

void
password_token_digest(const char *token, char digest[SHA256_HEX])
{
	struct arena a = { 0 };
	struct sha256 *d = sha256_new(&a);

	sha256_add(d, token, strlen(token));
	sha256_end(d, digest);
	arena_free(&a);
}

/* --- texts --- */

/* Returns the last paragraph, which names the admin if there is an address. */
static const char *
mail_signature(struct mail_run *r)
{
	const struct conf *cf = r->p.conf;

	if (cf->admin_email[0] == '\0')
		return arena_printf(
		    &r->a, "-- \n%s\n%s\n", cf->long_name, cf->master_url);
	return arena_printf(&r->a, "-- \n%s\n%s\nQuestions? Write to %s\n",
	    cf->long_name, cf->master_url, cf->admin_email);
}

/* Makes a token, stores its digest and puts it into the text. */
static enum err
link_text(struct mail_run *r, const struct user *u, const char **text, struct fail *f)
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

static const char *
changed_text(struct mail_run *r)
{
	return arena_printf(&r->a,
	    "The password of your account at %s has been changed, with a link that was\n"
	    "sent to this address. If it was not you, choose another one:\n\n"
	    "%sget_passwd.php\n\n"
	    "%s",
	    r->p.conf->long_name, r->p.conf->master_url, mail_signature(r));
}

/* --- sending --- */

static enum err
mail_send(struct mail_run *r, const struct mail *m, struct fail *f)
{
	struct buf b = buf_new(&r->a);
	char words[PROC_LAST_WORDS] = "", **argv;
	int status = 0;

	TRY(mail_render(&b, m, f));
	TRY(proc_split(&r->a, r->p.conf->mail_command, &argv, f));
	TRY(proc_run(&r->a,
	    &(const struct proc_run){ .argv = (const char *const *)argv,
		.in = b.p,
		.in_n = b.n,
		.out_max = OUTPUT_MAX,
		.last_words = words,
		.hush = true,
		.timeout_s = SEND_S },
	    &status, NULL, NULL, f));
	if (status != 0)
		return FAIL(
		    f, E_SYS, "%s: exit status %d: %.200s", argv[0], status, words);
	return OK;
}

/* An address that merely resembles the account's is not the account's. */
static enum err
mail_account(struct mail_run *r, const char *email, struct user **u, struct fail *f)
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

static void
mail_do(struct mail_run *r, const struct mail_job *job)
{
	struct fail f = { 0 };
	struct user *u = NULL;
	struct mail m = { 0 };
	enum err e;

	r->now = clock_now();
	e = mail_account(r, job->email, &u, &f);
	if (e == E_NOTFOUND) {
		log_debug("mail: there is no such account");
		return;
	}
	if (e == OK) {
		m = (struct mail){ .to = u->email_addr,
			.from = r->p.conf->admin_email,
			.from_name = r->p.conf->long_name,
			.now = r->now };
		m.subject = arena_printf(&r->a, "%s: %s", r->p.conf->long_name,
		    job->kind == MAIL_PASSWORD_LINK ? "choose a new password" :
						      "your password has changed");
		if (job->kind == MAIL_PASSWORD_LINK)
			e = link_text(r, u, &m.text, &f);
		else
			m.text = changed_text(r);
	}
	if (e == OK)
		e = mail_send(r, &m, &f);
	if (e == OK)
		log_info("mail sent to account [USER#%lld]", (long long)u->id);
	else
		log_fail("mail", &f);
}

/* --- the thread --- */

/* Takes the oldest job; false: the thread is to end. */
static bool
mail_take(struct web_mailer *w, struct mail_job *job)
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

static void *
mail_main(void *arg)
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

void
web_mailer_begin(struct web_mailer *w, const char *dir)
{
	*w = (struct web_mailer){ .dir = dir };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
}

bool
web_mailer_ask(struct web_mailer *w, enum mail_kind kind, const char *email)
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

void
web_mailer_end(struct web_mailer *w)
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
