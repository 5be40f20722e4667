/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine's own services do for a project: systemd, tmpfiles, log rotation. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "tools/install/install.h"
#include "tools/log.h"
#include "tools/procfs.h"
#include "tools/systemctl.h"
#include "tools/units.h"
#include "lib/banned.h"

enum { END_MS = 20000, TICK_MS = 50, STATUS_MOST = 64 << 10 };

/* Writes a file of root, unless an admin has edited it. */
static enum err
write_of_root(struct install *in, char *path, const char *text)
{
	const struct site_file s = { path, text, strlen(text), 0644, false };
	const char *slash = strrchr(path, '/');

	TRY(fs_mkdirs(
	    arena_memdup(in->x->a, path, (size_t)(slash - path)), 0755, in->x->f));
	TRY(site_file_put(in->x, &s, in->x->f));
	return site_files_note(in->x, &s, 1, in->x->f);
}

static bool
is_settled(struct install *in, char *path, const char *text)
{
	const struct site_file s = { path, text, strlen(text), 0644, false };

	return site_file_settled(in->x, &s);
}

/* --- /run after a boot --- */

static char *
tmpfiles_path(struct install *in)
{
	return arena_printf(in->x->a, "/etc/tmpfiles.d/%s.conf", in->p.unit);
}

static char *
tmpfiles_config(struct install *in)
{
	return arena_printf(in->x->a,
	    "# Written by locus create %s; see locus-install(7).\n"
	    "d /run/locus 0755 root root -\n"
	    "d %s 1771 root %s -\n",
	    in->p.name, in->p.run_dir, in->p.account);
}

char *
install_tmpfiles_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "%s makes %s at boot", tmpfiles_path(in), in->p.run_dir);
}

enum err
install_tmpfiles_holds(struct install *in, bool *yes)
{
	*yes = is_settled(in, tmpfiles_path(in), tmpfiles_config(in));
	return OK;
}

enum err
install_tmpfiles_make(struct install *in)
{
	return write_of_root(in, tmpfiles_path(in), tmpfiles_config(in));
}

enum err
install_tmpfiles_undo(struct install *in)
{
	return site_file_remove(in->x, tmpfiles_path(in), in->x->f);
}

/* --- log rotation --- */

static char *
logrotate_path(struct install *in)
{
	return arena_printf(in->x->a, "/etc/logrotate.d/%s", in->p.unit);
}

static char *
logrotate_config(struct install *in)
{
	struct conf logs = { .log_dir = in->p.log_dir };

	return log_rotation_text(in->x->a, &logs, in->p.name, in->p.account);
}

char *
install_logrotate_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "%s rotates %s", logrotate_path(in), in->p.log_dir);
}

enum err
install_logrotate_holds(struct install *in, bool *yes)
{
	*yes = is_settled(in, logrotate_path(in), logrotate_config(in));
	return OK;
}

enum err
install_logrotate_make(struct install *in)
{
	return write_of_root(in, logrotate_path(in), logrotate_config(in));
}

enum err
install_logrotate_undo(struct install *in)
{
	return site_file_remove(in->x, logrotate_path(in), in->x->f);
}

/* --- units --- */

char *
install_units_text(struct install *in)
{
	return arena_printf(in->x->a, "%s.target and its services", in->p.unit);
}

enum err
install_units_holds(struct install *in, bool *yes)
{
	*yes = !units_differ(in->x->a, in->x->cf, UNITS_DIR);
	return OK;
}

enum err
install_units_make(struct install *in)
{
	struct units_change change;

	TRY(units_sync(in->x->a, in->x->cf, &change, in->x->f));
	in->new_units = true;
	return OK;
}

enum err
install_units_undo(struct install *in)
{
	const char *forget[] = { "systemctl", "reset-failed",
		arena_printf(in->x->a, "%s*", in->p.unit), NULL };
	struct fail saved = *in->x->f;

	TRY(units_remove(in->x->a, in->p.name, in->x->f));
	/* systemd would go on to list services that have failed. */
	if (systemctl_usable() && install_program(in, forget, "systemd") != OK)
		*in->x->f = saved;
	return OK;
}

/* --- start --- */

static char *
target_name(struct install *in)
{
	return arena_printf(in->x->a, "%s.target", in->p.unit);
}

char *
install_start_text(struct install *in)
{
	return systemctl_usable() ?
	           arena_printf(in->x->a, "systemctl start %s", target_name(in)) :
	           arena_printf(in->x->a, "left to the boot, as systemd does not run");
}

enum err
install_start_holds(struct install *in, bool *yes)
{
	const char *argv[] = { "systemctl", "is-active", "--quiet", target_name(in),
		NULL };
	struct fail saved = *in->x->f;

	*yes = !in->new_units && systemctl_usable() &&
	       install_program(in, argv, "systemd") == OK;
	*in->x->f = saved;
	return OK;
}

enum err
install_start_make(struct install *in)
{
	const char *argv[] = { "systemctl", "start", target_name(in), NULL };

	if (systemctl_usable())
		return install_program(in, argv, "systemd");
	install_to_do(in,
	    "systemd does not run here: the project starts with the next boot, or by \"systemctl start %s\"",
	    target_name(in));
	return OK;
}

/* Does any other process of this account run? */
static bool
has_processes(struct install *in)
{
	struct procfs *all;
	size_t n = procfs_all(in->x->a, &all);

	for (size_t i = 0; i < n; i++) {
		unsigned uid = 0;
		char *text, *at = NULL;

		if (all[i].pid != getpid() &&
		    fs_read(in->x->a,
			arena_printf(in->x->a, "/proc/%d/status", (int)all[i].pid),
			STATUS_MOST, &text, NULL, NULL) == OK)
			at = strstr(text, "\nUid:");
		if (at != NULL)
			uid = (unsigned)strtoul(at + strlen("\nUid:"), NULL, 10);
		if (at != NULL && uid == getuid())
			return true;
	}
	return false;
}

/* Ends all processes of the account: systemd's are gone, but an admin's may run. */
static enum err
end_processes(struct install *in)
{
	int64_t end = clock_mono_ms() + END_MS;
	int number = SIGTERM;

	while (has_processes(in)) {
		if (clock_mono_ms() > end + END_MS)
			return FAIL(in->x->f, E_SYS, "a process of %s does not end",
			    in->p.account);
		/* -1 is every process that this account may signal, but not this one.
		 */
		if (number != 0)
			kill(-1, number);
		number = clock_mono_ms() > end ? SIGKILL : 0;
		clock_nap_ms(TICK_MS);
	}
	return OK;
}

/* Stops the project's units: whatever is killed before would only be started again. */
static enum err
stop_units(struct install *in)
{
	const char *names = arena_printf(in->x->a, "%s@*", in->p.unit);
	const char *tasks = arena_printf(in->x->a, "%s-task-*", in->p.unit);
	const char *stop[] = { "systemctl", "stop", target_name(in), names, tasks,
		NULL };
	const char *show[] = { "systemctl", "cat", target_name(in), NULL };
	struct fail saved = *in->x->f;

	if (!systemctl_usable())
		return OK;
	if (install_program(in, show, "systemd") == OK)
		return install_program(in, stop, "systemd");
	*in->x->f = saved; /* there is no target: nothing runs */
	return OK;
}

enum err
install_start_undo(struct install *in)
{
	bool there;

	TRY(stop_units(in));
	TRY(install_account_holds(in, &there));
	return there ? install_as_account(in, end_processes) : OK;
}
