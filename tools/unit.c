/* SPDX-License-Identifier: Apache-2.0 */
/* A unit without our mark is the admin's, and stays as it is. */
#include "tools/unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/privilege.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "tools/program.h"
#include "lib/banned.h"

enum { TEXT_MAX = 1 << 20, OUT_MAX = 64 << 10, LIMIT_S = 180 };

bool systemd_runs(void)
{
	return access("/run/systemd/system", F_OK) == 0;
}

enum err systemctl(struct arena *a, const char *verb, const char *unit, struct fail *f)
{
	static const char *const name[] = { "systemctl", NULL };
	const char *argv[] = { NULL, verb, unit, NULL };
	const struct proc_run r = { .argv = argv,
		.env = (const char *const[]){ "SYSTEMD_COLORS=0",
		    "SYSTEMD_PAGER=", "LC_ALL=C", NULL },
		.out = { PROC_PIPE },
		.err = { PROC_TEE } };
	struct proc_told told;

	privilege_guard_path();
	argv[0] = program_system(a, name);
	if (argv[0] == NULL)
		return FAIL(f, E_CONFIG, "%s is not installed", name[0]);
	TRY(proc_collect(a, &r, LIMIT_S, OUT_MAX, &told, f));
	if (told.status == 0)
		return OK;
	return FAIL(f, E_SYS, "systemctl %s ended with status %d: %.300s", verb,
	    told.status, text_trim(told.words));
}

char *unit_name(struct arena *a, const struct installation *in)
{
	return arena_printf(a, "%s.service", in->unit);
}

/* --- its text --- */

/*
 * What no program of a project needs. Directories that it writes to follow as
 * ReadWritePaths. UMask is 0022, as the web server reads what programs of the project
 * put into the download directory; project_dir itself keeps others out elsewhere.
 */
static const char hardening[] = "UMask=0022\n"
				"ProtectSystem=strict\n"
				"ProtectHome=yes\n"
				"PrivateTmp=yes\n"
				"PrivateDevices=yes\n"
				"ProtectClock=yes\n"
				"ProtectControlGroups=yes\n"
				"ProtectHostname=yes\n"
				"ProtectKernelLogs=yes\n"
				"ProtectKernelModules=yes\n"
				"ProtectKernelTunables=yes\n"
				"ProtectProc=invisible\n"
				"ProcSubset=pid\n"
				"NoNewPrivileges=yes\n"
				"CapabilityBoundingSet=\n"
				"AmbientCapabilities=\n"
				"LockPersonality=yes\n"
				"MemoryDenyWriteExecute=yes\n"
				"RemoveIPC=yes\n"
				"RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6\n"
				"RestrictNamespaces=yes\n"
				"RestrictRealtime=yes\n"
				"RestrictSUIDSGID=yes\n"
				"SystemCallArchitectures=native\n"
				"SystemCallFilter=@system-service\n"
				"SystemCallFilter=~@privileged @resources\n"
				"SystemCallErrorNumber=EPERM\n";

/* Quotes a value if it needs it, and keeps systemd from reading specifiers in it. */
static char *unit_word(struct arena *a, const char *value)
{
	bool quote = value[strcspn(value, " \t\"'\\;")] != '\0';
	struct buf b = buf_new(a);

	if (quote)
		buf_puts(&b, "\"");
	for (const char *p = value; *p != '\0'; p++) {
		if (*p == '%')
			buf_puts(&b, "%");
		if (*p == '"' || *p == '\\')
			buf_puts(&b, "\\");
		buf_put(&b, p, 1);
	}
	if (quote)
		buf_puts(&b, "\"");
	return b.p;
}

/* Does one of the directories before it contain the i-th? */
static bool is_within(const char *const *dirs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (dirs[k][0] == '/' && text_below(dirs[k], dirs[i]) != NULL)
			return true;
	return false;
}

/*
 * The supervisor needs 45 s at most to stop everything in order (its tasks, then each
 * kind of service). It gives up by itself only over what a restart would repeat.
 */
char *unit_text(struct arena *a, const struct conf *cf, const char *program)
{
	const struct installation in = conf_installation(a, cf);
	const char *const dirs[] = { cf->project_dir, cf->upload_dir, cf->download_dir,
		cf->log_dir, cf->run_dir, in.run_dir, cf->debug_req_reply_dir };
	struct buf b = buf_new(a);

	buf_printf(&b,
	    UNIT_MARK
	    " for the project %s from its config.xml; changes here are lost.\n",
	    in.name);
	buf_printf(&b, "# Own settings: systemctl edit %s\n", in.unit);
	buf_printf(&b, "\n[Unit]\nDescription=Locus project %s\n", in.name);
	buf_puts(&b, "Documentation=man:locus(1) man:locus(7)\n"
		     "After=network.target mariadb.service mysql.service\n"
		     "StartLimitIntervalSec=0\n");
	buf_printf(&b,
	    "\n[Service]\nType=notify\nExecStart=%s -p %s start --foreground\n",
	    unit_word(a, program), in.name);
	buf_puts(&b, "Restart=always\nRestartSec=2\nRestartPreventExitStatus=2 77 78\n"
		     "TimeoutStartSec=90\nTimeoutStopSec=90\nWatchdogSec=60\n"
		     "FileDescriptorStoreMax=16\nLimitNOFILE=65536\n"
		     "KillMode=mixed\nOOMPolicy=continue\n");
	buf_printf(&b, "User=%s\nGroup=%s\nWorkingDirectory=%s\n", in.account,
	    in.account, unit_word(a, cf->project_dir));
	buf_printf(&b, "SyslogIdentifier=%s\nLogExtraFields=LOCUS_PROJECT=%s\n\n",
	    in.unit, in.name);
	buf_puts(&b, hardening);
	for (size_t i = 0; i < N(dirs); i++)
		if (dirs[i][0] == '/' && !is_within(dirs, i))
			buf_printf(&b, "ReadWritePaths=-%s\n", unit_word(a, dirs[i]));
	buf_puts(&b, "\n[Install]\nWantedBy=multi-user.target\n");
	return b.p;
}

/* --- its file --- */

static char *unit_path(struct arena *a, const struct installation *in, const char *dir)
{
	return arena_printf(a, "%s/%s", dir, unit_name(a, in));
}

/* Reads the unit; NULL: there is none. *ours: it carries our mark, or is not there. */
static char *unit_read(struct arena *a, const char *path, bool *ours)
{
	struct fail f = { 0 };
	char *text;

	*ours = true;
	if (fs_read(a, path, TEXT_MAX, &text, NULL, &f) != OK)
		return NULL;
	*ours = strncmp(text, UNIT_MARK, strlen(UNIT_MARK)) == 0;
	return text;
}

bool unit_differs(struct arena *a, const struct conf *cf, const char *dir)
{
	const struct installation in = conf_installation(a, cf);
	bool ours;
	const char *text = unit_read(a, unit_path(a, &in, dir), &ours);

	return text == NULL ||
	       (ours && strcmp(text, unit_text(a, cf, program_self(a))) != 0);
}

enum err unit_write(struct arena *a, const struct conf *cf, const char *dir,
    bool *first, struct fail *f)
{
	const struct installation in = conf_installation(a, cf);
	const char *path = unit_path(a, &in, dir), *text;

	*first = !fs_exists(path);
	if (!unit_differs(a, cf, dir))
		return OK;
	text = unit_text(a, cf, program_self(a));
	TRY(fs_mkdirs(dir, 0755, f));
	return fs_write(path, text, strlen(text), 0644, f);
}

enum err unit_unlink(
    struct arena *a, const struct installation *in, const char *dir, struct fail *f)
{
	const char *path = unit_path(a, in, dir);
	bool ours;

	unit_read(a, path, &ours);
	return ours ? fs_unlink(path, f) : OK;
}

/* --- this machine --- */

static char *enabling_link(struct arena *a, const struct installation *in)
{
	return unit_path(a, in, UNIT_DIR "/multi-user.target.wants");
}

enum err unit_sync(struct arena *a, const struct conf *cf, struct fail *f)
{
	const struct installation in = conf_installation(a, cf);
	bool first, differs = unit_differs(a, cf, UNIT_DIR);

	TRY(unit_write(a, cf, UNIT_DIR, &first, f));
	if (first) {
		/* Does what systemctl enable does, also where there is no systemctl. */
		TRY(fs_mkdirs(UNIT_DIR "/multi-user.target.wants", 0755, f));
		if (symlink(unit_path(a, &in, UNIT_DIR), enabling_link(a, &in)) < 0 &&
		    errno != EEXIST)
			return FAIL_ERRNO(f, "enabling %s", unit_name(a, &in));
	}
	return differs && systemd_runs() ? systemctl(a, "daemon-reload", NULL, f) : OK;
}

/* Does systemd have the unit? */
static bool unit_is_known(struct arena *a, const struct installation *in)
{
	return systemd_runs() && fs_exists(unit_path(a, in, UNIT_DIR));
}

enum err unit_end(struct arena *a, const struct installation *in, struct fail *f)
{
	return unit_is_known(a, in) ? systemctl(a, "stop", unit_name(a, in), f) : OK;
}

enum err unit_remove(struct arena *a, const struct installation *in, struct fail *f)
{
	bool known = unit_is_known(a, in);
	struct fail none = { 0 };

	TRY(unit_end(a, in, f));
	TRY(fs_unlink(enabling_link(a, in), f));
	TRY(unit_unlink(a, in, UNIT_DIR, f));
	if (!known)
		return OK;
	/* systemd goes on to list one that has failed, and knows none that has not. */
	systemctl(a, "reset-failed", arena_printf(a, "%s*", unit_name(a, in)), &none);
	return systemctl(a, "daemon-reload", NULL, f);
}
