/* SPDX-License-Identifier: Apache-2.0 */
/* What the machine's own services do for a project: systemd, tmpfiles, log rotation. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "tools/install/install.h"
#include "tools/install/rights.h"
#include "tools/log.h"
#include "tools/procfs.h"
#include "tools/unit.h"
#include "lib/banned.h"

enum { END_MS = 20000, TICK_MS = 50, STATUS_MOST = 64 << 10 };

/* Writes a file of root, unless an admin has edited it. */
static enum err write_of_root(struct install *in, char *path, const char *text)
{
	const struct site_file s = { path, text, strlen(text), 0644, false };
	const char *slash = strrchr(path, '/');

	TRY(fs_mkdirs(
	    arena_memdup(in->x->a, path, (size_t)(slash - path)), 0755, in->x->f));
	TRY(site_file_put(in->x, &s, in->x->f));
	return site_files_note(in->x, &s, 1, in->x->f);
}

static bool is_settled(struct install *in, char *path, const char *text)
{
	const struct site_file s = { path, text, strlen(text), 0644, false };

	return site_file_settled(in->x, &s);
}

/* --- /run after a boot --- */

static char *tmpfiles_path(struct install *in)
{
	return arena_printf(in->x->a, "/etc/tmpfiles.d/%s.conf", in->p.unit);
}

static char *tmpfiles_config(struct install *in)
{
	return arena_printf(in->x->a,
	    "# Written by locus create %s; see locus-install(7).\n"
	    "d /run/locus 0755 root root -\n"
	    "d %s 1771 root %s -\n"
	    "d %s/sockets 2750 %s %s -\n",
	    in->p.name, in->p.run_dir, in->p.account, in->p.run_dir, in->p.account,
	    right_web_group(&in->p));
}

char *install_tmpfiles_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "%s makes %s at boot", tmpfiles_path(in), in->p.run_dir);
}

enum err install_tmpfiles_holds(struct install *in, bool *yes)
{
	*yes = is_settled(in, tmpfiles_path(in), tmpfiles_config(in));
	return OK;
}

enum err install_tmpfiles_make(struct install *in)
{
	return write_of_root(in, tmpfiles_path(in), tmpfiles_config(in));
}

enum err install_tmpfiles_undo(struct install *in)
{
	return site_file_remove(in->x, tmpfiles_path(in), in->x->f);
}

/* --- log rotation --- */

static char *logrotate_path(struct install *in)
{
	return arena_printf(in->x->a, "/etc/logrotate.d/%s", in->p.unit);
}

static char *logrotate_config(struct install *in)
{
	struct conf logs = { .log_dir = in->p.log_dir };

	return log_rotation_text(in->x->a, &logs, in->p.name, in->p.account);
}

char *install_logrotate_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "%s rotates %s", logrotate_path(in), in->p.log_dir);
}

enum err install_logrotate_holds(struct install *in, bool *yes)
{
	*yes = is_settled(in, logrotate_path(in), logrotate_config(in));
	return OK;
}

enum err install_logrotate_make(struct install *in)
{
	return write_of_root(in, logrotate_path(in), logrotate_config(in));
}

enum err install_logrotate_undo(struct install *in)
{
	return site_file_remove(in->x, logrotate_path(in), in->x->f);
}

/* --- the unit --- */

char *install_unit_text(struct install *in)
{
	return unit_name(in->x->a, &in->p);
}

enum err install_unit_holds(struct install *in, bool *yes)
{
	*yes = !unit_differs(in->x->a, in->x->cf, UNIT_DIR);
	return OK;
}

enum err install_unit_make(struct install *in)
{
	return unit_sync(in->x->a, in->x->cf, in->x->f);
}

enum err install_unit_undo(struct install *in)
{
	return unit_remove(in->x->a, &in->p, in->x->f);
}

/* --- start --- */

char *install_start_text(struct install *in)
{
	return systemd_runs() ?
	           arena_printf(
		       in->x->a, "systemctl start %s", unit_name(in->x->a, &in->p)) :
	           arena_printf(in->x->a, "left to the boot, as systemd does not run");
}

enum err install_start_holds(struct install *in, bool *yes)
{
	struct fail no = { 0 };

	*yes = systemd_runs() &&
	       systemctl(in->x->a, "is-active", unit_name(in->x->a, &in->p), &no) == OK;
	return OK;
}

enum err install_start_make(struct install *in)
{
	const char *unit = unit_name(in->x->a, &in->p);

	if (systemd_runs())
		return systemctl(in->x->a, "start", unit, in->x->f);
	install_to_do(in,
	    "systemd does not run here: the project starts with the next boot, or by \"systemctl start %s\"",
	    unit);
	return OK;
}

/* Does any other process of this account run? */
static bool has_processes(struct install *in)
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
static enum err end_processes(struct install *in)
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

/* Whatever is killed before the unit is stopped would only be started again. */
enum err install_start_undo(struct install *in)
{
	bool there;

	TRY(unit_end(in->x->a, &in->p, in->x->f));
	TRY(install_account_holds(in, &there));
	return there ? install_as_account(in, end_processes) : OK;
}
