/* SPDX-License-Identifier: Apache-2.0 */
/* Check of locus doctor: mail_command, or how to help volunteers without it. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/proc.h"
#include "proto/web.h"
#include "tools/doctor.h"
#include "tools/program.h"
#include "lib/banned.h"

static void
no_mail_command(struct doctor *d)
{
	static const char help[] =
	    "no mail_command: volunteers who forgot their password are told to write to %s; locus user reset-password ADDRESS then makes a new one";
	const char *admin = d->cf->admin_email;

	if (d->public && admin[0] == '\0')
		doctor_warn(
		    d, doctor_set_option(d, "admin_email", "ADDRESS"), help, "you");
	else
		doctor_ok(d, help, admin[0] == '\0' ? "you" : admin);
}

/* Programs with privileges of their own do not get them under systemd's hardening. */
static bool
gains_privileges(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)) != 0;
}

void
doctor_mail(struct doctor *d)
{
	const char *command = d->cf->mail_command, *path;
	char **argv;

	if (command[0] == '\0') {
		no_mail_command(d);
		return;
	}
	if (d->cf->admin_email[0] != '\0' &&
	    account_bad_email(d->cf->admin_email) != NULL) {
		doctor_fail(d, doctor_set_option(d, "admin_email", "ADDRESS"),
		    "admin_email is not an e-mail address, so no mail is sent");
		return;
	}
	if (proc_split(d->a, command, &argv, d->f) != OK) {
		doctor_fail(d, doctor_set_option(d, "mail_command", "COMMAND"),
		    "mail_command: %s", d->f->detail);
		return;
	}
	path = strchr(argv[0], '/') != NULL ?
	           argv[0] :
	           program_system(d->a, (const char *const[]){ argv[0], NULL });
	if (path == NULL || access(path, X_OK) != 0)
		doctor_fail(d, doctor_set_option(d, "mail_command", "COMMAND"),
		    "mail_command: there is no program %s", argv[0]);
	else if (conf_is_installed(d->cf) && gains_privileges(path))
		doctor_warn(d,
		    arena_printf(d->a, "apt-get install msmtp && %s",
			doctor_set_option(d, "mail_command", "/usr/bin/msmtp -t")),
		    "mail_command: %s needs privileges that systemd keeps from the web service",
		    path);
	else
		doctor_ok(d, "%s sends links to choose a new one", path);
}
