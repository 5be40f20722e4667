/* SPDX-License-Identifier: Apache-2.0 */
/* Records what the checks of locus doctor find, and writes the commands of cures. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/stmts.h"
#include "lib/text.h"
#include "tools/db_server.h"
#include "tools/dir_cure.h"
#include "tools/doctor.h"
#include "lib/human.h"
#include "tools/web_trouble.h"
#include "lib/banned.h"

__attribute__((format(printf, 4, 0))) static void finding_add(
    struct doctor *d, enum verdict v, const char *cure, const char *fmt, va_list ap)
{
	char text[800];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* Servers, files and rows say what they like; a line is one line. */
	PUSH(d->a, d->v, d->n, d->cap) = (struct doctor_finding){ d->check, v,
		human_text(d->a, text), human_text(d->a, cure) };
}

void doctor_ok(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(d, VERDICT_OK, "", fmt, ap);
	va_end(ap);
}

void doctor_warn(struct doctor *d, const char *cure, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(d, VERDICT_WARN, cure, fmt, ap);
	va_end(ap);
}

void doctor_fail(struct doctor *d, const char *cure, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(d, VERDICT_FAIL, cure, fmt, ap);
	va_end(ap);
}

void doctor_skip(struct doctor *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	finding_add(d, VERDICT_SKIPPED, "", fmt, ap);
	va_end(ap);
}

bool doctor_has_complained(const struct doctor *d)
{
	for (size_t i = d->n; i > 0 && d->v[i - 1].check == d->check; i--)
		if (d->v[i - 1].verdict == VERDICT_WARN ||
		    d->v[i - 1].verdict == VERDICT_FAIL)
			return true;
	return false;
}

void doctor_is_cause(struct doctor *d)
{
	if (d->cause < 0)
		d->cause = d->check;
}

bool doctor_db_refuses(const struct doctor *d)
{
	return d->x->db == NULL && strstr(d->x->f->detail, "Access denied") != NULL;
}

bool doctor_complained_of(const struct doctor *d, const char *check)
{
	static const char *const names[] = {
#define CHECK(name, subject, when, title) #name,
#include "tools/doctor.def"
#undef CHECK
	};

	for (size_t i = 0; i < d->n; i++)
		if (strcmp(names[d->v[i].check], check) == 0 &&
		    (d->v[i].verdict == VERDICT_WARN ||
			d->v[i].verdict == VERDICT_FAIL))
			return true;
	return false;
}

void doctor_web_fault(
    struct doctor *d, const char *service, const char *url, const struct http_answer *w)
{
	struct web_trouble t;

	if (w->bad_chain) {
		doctor_skip(d, "try again when certificate is mended");
		return;
	}
	t = web_trouble(d->x, d->a, service, url, w);
	doctor_is_cause(d);
	doctor_fail(d, t.cure, "%s", t.text);
}

void doctor_fail_of_other(
    struct doctor *d, const char *service, const char *url, const char *text)
{
	const struct http_answer w = { .status = 200 };
	const struct web_trouble t = web_trouble(d->x, d->a, service, url, &w);

	doctor_is_cause(d);
	doctor_fail(d, t.cure, "%s%s%s", text, t.why == NULL ? "" : "; ",
	    t.why == NULL ? "" : t.why);
}

char *doctor_locus(struct doctor *d, const char *words)
{
	return locus_command(d->a, d->cf, words);
}

char *doctor_set_option(struct doctor *d, const char *name, const char *value)
{
	return doctor_locus(d, arena_printf(d->a, "config set %s '%s'", name, value));
}

char *doctor_open_file(struct doctor *d, const char *path)
{
	struct account own = { 0 };
	struct fail ignored = { 0 };

	if (account_by_uid(d->a, geteuid(), &own, &ignored) != OK)
		own.name = arena_printf(d->a, "%u", (unsigned)geteuid());
	return file_cure(d->a, d->x, path, own.name);
}

/* --- the database server --- */

char *doctor_on_server(struct doctor *d, const char *command)
{
	if (!db_is_remote(d->cf))
		return arena_strdup(d->a, command);
	return arena_printf(d->a, "ssh %s %s", text_shell_word(d->a, d->cf->db_host),
	    text_shell_word(d->a, command));
}

char *doctor_keep_variable(
    struct doctor *d, const char *name, const char *value, const char *now)
{
	struct fail ignored = { 0 };
	struct row_text *row;
	bool mysql = db_row(d->x->db, d->a, &ignored, &row, DOCTOR_VERSION) == OK &&
	             strstr(row->s, "MariaDB") == NULL;

	/* The last file of the last directory that the server of Debian reads. */
	return doctor_on_server(d,
	    arena_printf(d->a,
		"printf '[mysqld]\\n%s = %s\\n' >>/etc/mysql/%s.conf.d/zz-locus.cnf && %s",
		name, value, mysql ? "mysql" : "mariadb", now));
}

char *doctor_set_variable(struct doctor *d, const char *name, const char *value)
{
	const char *now = arena_printf(d->a, "-e 'SET GLOBAL %s = %s'", name, value);

	if (d->cf->private_servers)
		return arena_printf(
		    d->a, "mariadb --socket=%s %s", d->cf->db_socket, now);
	return doctor_keep_variable(
	    d, name, value, arena_printf(d->a, "mariadb %s", now));
}

void doctor_db_fault(struct doctor *d, const struct fail *f)
{
	const struct conf *cf = d->cf;
	const char *cure = doctor_on_server(d, "journalctl -n 30 -u mariadb -u mysql");
	struct fail ignored = { 0 };
	struct db_server s;

	if (f->code == E_CONFIG) { /* of tables, columns and indexes */
		doctor_skip(d, "try again when schema is mended: %s", f->detail);
		return;
	}
	if (cf->private_servers && db_server_find(d->a, cf, &s, &ignored) == OK)
		cure = arena_printf(d->a, "tail %s/%s.log", cf->log_dir, s.name);
	doctor_is_cause(d);
	doctor_fail(d, cure, "%s", f->detail);
}
