/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit files on disk, and systemd's knowledge of them. A file without our mark is
 * the admin's, and stays as it is.
 */
#include "tools/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/notify.h"
#include "lib/text.h"
#include "model/owner.h"
#include "tools/program.h"
#include "tools/systemctl.h"
#include "tools/units_mark.h"
#include "lib/banned.h"

#define STAMPS_DIR "/var/lib/systemd/timers" /* of Persistent= timers */

enum { TEXT_MAX = 1 << 20, UNITS_MAX = 10000 };

/* Reads a file of the project; false if it is absent. *ours: it carries our mark. */
static bool
read_unit(struct arena *a, const char *path, char **text, bool *ours)
{
	struct fail f = { 0 };

	if (fs_read(a, path, TEXT_MAX, text, NULL, &f) != OK)
		return false;
	*ours = strncmp(*text, UNITS_MARK, strlen(UNITS_MARK)) == 0;
	return true;
}

/* Does the name of a file or directory belong to the project's units? */
static bool
is_of_project(struct arena *a, const char *file, const char *name)
{
	char *unit = installation_of(a, name).unit;
	size_t n = strlen(unit);

	return strncmp(file, unit, n) == 0 &&
	       (file[n] == '@' || file[n] == '.' || strncmp(file + n, "-task", 5) == 0);
}

/* Lists our files of the project in dir, by their names below it. */
static enum err
our_files(struct arena *a, const char *dir, const char *name, char ***list, size_t *n,
    struct fail *f)
{
	char **all, *text;
	size_t nall;
	bool ours;
	enum err e = fs_list(a, dir, UNITS_MAX, &all, &nall, f);

	*n = 0;
	if (e == E_NOTFOUND)
		return OK;
	if (e != OK)
		return e;
	*list = NEWN(a, char *, nall + 1);
	for (size_t i = 0; i < nall; i++) {
		char *file = text_ends_with(all[i], ".d") ?
		                 arena_printf(a, "%s/" UNITS_DROP_IN, all[i]) :
		                 all[i];

		if (is_of_project(a, file, name) &&
		    read_unit(a, arena_printf(a, "%s/%s", dir, file), &text, &ours) &&
		    ours)
			(*list)[(*n)++] = file;
	}
	return OK;
}

static enum err
write_unit(struct arena *a, const char *dir, const struct unit_file *file,
    bool *written, struct fail *f)
{
	const char *path = arena_printf(a, "%s/%s", dir, file->name);
	const char *slash = strrchr(file->name, '/');
	bool ours = true;
	char *text;

	*written = !read_unit(a, path, &text, &ours) || strcmp(text, file->text) != 0;
	*written = *written && ours;
	if (!*written)
		return OK;
	if (slash != NULL)
		TRY(fs_mkdirs(arena_printf(a, "%s/%.*s", dir, (int)(slash - file->name),
				  file->name),
		    0755, f));
	return fs_write(path, file->text, strlen(file->text), 0644, f);
}

/* Removes a file and, if it was a drop-in, its directory if nothing else is in it. */
static enum err
remove_unit(struct arena *a, const char *dir, const char *file, struct fail *f)
{
	const char *slash = strrchr(file, '/');

	TRY(fs_unlink(arena_printf(a, "%s/%s", dir, file), f));
	if (slash != NULL &&
	    rmdir(arena_printf(a, "%s/%.*s", dir, (int)(slash - file), file)) < 0 &&
	    errno != ENOTEMPTY && errno != ENOENT)
		return FAIL_ERRNO(f, "removing the directory of %s", file);
	return OK;
}

static bool
is_among(const char *file, const struct unit_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(files[i].name, file) == 0)
			return true;
	return false;
}

enum err
units_write(struct arena *a, const char *dir, const char *name,
    const struct unit_file *files, size_t n, struct units_change *c, struct fail *f)
{
	char **have;
	size_t nhave;
	bool written;

	*c = (struct units_change){ .first = !fs_exists(arena_printf(a, "%s/%s.target",
					dir, installation_of(a, name).unit)) };
	TRY(fs_mkdirs(dir, 0755, f));
	for (size_t i = 0; i < n; i++) {
		TRY(write_unit(a, dir, &files[i], &written, f));
		c->written += written;
	}
	TRY(our_files(a, dir, name, &have, &nhave, f));
	for (size_t i = 0; i < nhave; i++)
		if (!is_among(have[i], files, n)) {
			TRY(remove_unit(a, dir, have[i], f));
			c->removed++;
		}
	return OK;
}

bool
units_differ(struct arena *a, const struct conf *cf, const char *dir)
{
	struct unit_file *files;
	struct fail f = { 0 };
	char **have, *text;
	size_t n, nhave;
	bool ours;

	if (units_texts(a, cf, program_self(a), &files, &n, &f) != OK ||
	    our_files(a, dir, conf_installation(a, cf).name, &have, &nhave, &f) != OK)
		return true;
	for (size_t i = 0; i < nhave; i++)
		if (!is_among(have[i], files, n))
			return true;
	for (size_t i = 0; i < n; i++)
		if (!read_unit(a, arena_printf(a, "%s/%s", dir, files[i].name), &text,
			&ours) ||
		    (ours && strcmp(text, files[i].text) != 0))
			return true;
	return false;
}

/* --- this machine --- */

static char *
enabling_link(struct arena *a, const char *name)
{
	return arena_printf(a, UNITS_DIR "/multi-user.target.wants/%s.target",
	    installation_of(a, name).unit);
}

static bool
is_wanted(const struct unit_names *u, const char *unit)
{
	const struct {
		char **v;
		size_t n;
	} lists[] = { { u->services, u->nservices }, { u->sockets, u->nsockets },
		{ u->timers, u->ntimers } };

	for (size_t i = 0; i < N(lists); i++)
		for (size_t j = 0; j < lists[i].n; j++)
			if (strcmp(lists[i].v[j], unit) == 0)
				return true;
	return false;
}

/* Lists the project's services, sockets and timers that systemd has in memory. Tasks
 * that run are not among them: they end by themselves. */
static enum err
loaded_units(
    struct arena *a, const char *name, char ***units, size_t *n, struct fail *f)
{
	const char *unit = installation_of(a, name).unit;
	const char *const words[] = { "list-units", "--all", "--full", "--plain",
		"--no-legend", arena_printf(a, "%s@*", unit),
		arena_printf(a, "%s-task-*.timer", unit), NULL };
	size_t cap = 0;
	char *text;

	*units = NULL;
	*n = 0;
	TRY(systemctl_run(a, words, &text, f));
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");
		char *line = arena_memdup(a, text, len), *first = strstr(line, unit);

		text += len + (text[len] == '\n');
		if (first != NULL)
			PUSH(a, *units, *n, cap) = arena_memdup(
			    a, first, strcspn(first, " "));
	}
	return OK;
}

static enum err
stop_unwanted(struct arena *a, const struct conf *cf, struct fail *f)
{
	static const char *const stop[] = { "stop", NULL }, *const reset[] = {
		"reset-failed", NULL
	};
	struct unit_names wanted;
	char **loaded;
	size_t n, k = 0;

	TRY(units_names(a, cf, &wanted, f));
	TRY(loaded_units(a, conf_installation(a, cf).name, &loaded, &n, f));
	for (size_t i = 0; i < n; i++)
		if (!is_wanted(&wanted, loaded[i]))
			loaded[k++] = loaded[i];
	TRY(systemctl_units(a, stop, loaded, k, f));
	/* A pattern may match nothing: those that had not failed are unloaded by now.
	 */
	for (size_t i = 0; i < k; i++)
		loaded[i] = arena_printf(a, "%s*", loaded[i]);
	return systemctl_units(a, reset, loaded, k, f);
}

enum err
units_sync(
    struct arena *a, const struct conf *cf, struct units_change *c, struct fail *f)
{
	static const char *const reload[] = { "daemon-reload", NULL };
	const char *name = conf_installation(a, cf).name;
	struct unit_file *files;
	size_t n;

	*c = (struct units_change){ 0 };
	if (!notify_built())
		return FAIL(f, E_CONFIG,
		    "this Locus was built without libsystemd, so systemd cannot run its services: install libsystemd-dev and build it again");
	TRY(units_texts(a, cf, program_self(a), &files, &n, f));
	TRY(units_write(a, UNITS_DIR, name, files, n, c, f));
	if (c->first) {
		/* Does what systemctl enable does, also where there is no systemctl. */
		const char *link = enabling_link(a, name);
		const char *to = arena_printf(
		    a, UNITS_DIR "/%s.target", installation_of(a, name).unit);

		TRY(fs_mkdirs(UNITS_DIR "/multi-user.target.wants", 0755, f));
		if (symlink(to, link) < 0 && errno != EEXIST)
			return FAIL_ERRNO(f, "enabling %s", to);
	}
	if (!systemctl_usable())
		return OK;
	if (c->written + c->removed > 0)
		TRY(systemctl_run(a, reload, NULL, f));
	return stop_unwanted(a, cf, f);
}

/* Removes what systemd remembers of the times at which the tasks ran. */
static enum err
remove_stamps(struct arena *a, const char *name, struct fail *f)
{
	const char *prefix = arena_printf(
	    a, "stamp-%s-task-", installation_of(a, name).unit);
	char **all;
	size_t n;
	enum err e = fs_list(a, STAMPS_DIR, UNITS_MAX, &all, &n, f);

	if (e == E_NOTFOUND)
		return OK;
	for (size_t i = 0; i < n && e == OK; i++)
		if (strncmp(all[i], prefix, strlen(prefix)) == 0)
			e = fs_unlink(arena_printf(a, STAMPS_DIR "/%s", all[i]), f);
	return e;
}

/* Removes the notes of services that were stopped by name (tools/state.h). */
static enum err
remove_holds(struct arena *a, const char *name, struct fail *f)
{
	const char *run_dir = installation_of(a, name).run_dir;
	size_t dir = (size_t)(strrchr(run_dir, '/') - run_dir);
	const char *prefix = arena_printf(a, "%s@", run_dir + dir + 1);
	char **all;
	size_t n;
	enum err e = fs_list(a, arena_memdup(a, run_dir, dir), UNITS_MAX, &all, &n, f);

	if (e == E_NOTFOUND)
		return OK;
	for (size_t i = 0; i < n && e == OK; i++)
		if (strncmp(all[i], prefix, strlen(prefix)) == 0)
			e = fs_unlink(
			    arena_printf(a, "%.*s/%s", (int)dir, run_dir, all[i]), f);
	return e;
}

enum err
units_remove(struct arena *a, const char *name, struct fail *f)
{
	static const char *const reload[] = { "daemon-reload", NULL };
	const char *unit = installation_of(a, name).unit;
	const char *all = arena_printf(a, "%s@*", unit);
	const char *tasks = arena_printf(a, "%s-task*", unit);
	const char *const stop[] = { "stop", arena_printf(a, "%s.target", unit), all,
		tasks, NULL };
	const char *const reset[] = { "reset-failed", all, tasks, NULL };
	bool there = fs_exists(arena_printf(a, UNITS_DIR "/%s.target", unit));
	struct units_change c;

	if (systemctl_usable() && there)
		TRY(systemctl_run(a, stop, NULL, f));
	TRY(fs_unlink(enabling_link(a, name), f));
	TRY(units_write(a, UNITS_DIR, name, NULL, 0, &c, f));
	TRY(remove_stamps(a, name, f));
	TRY(remove_holds(a, name, f));
	if (!systemctl_usable() || c.removed == 0)
		return OK;
	TRY(systemctl_run(a, reload, NULL, f));
	return systemctl_run(a, reset, NULL, f);
}

/*
 * The texts of the unit files. All services share one template; a drop-in states what
 * differs: a service with a socket is never given up, because its socket would fail
 * with it, and a program of the project knows nothing of sd_notify(3).
 */

enum { MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

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

struct making {
	struct arena *a;
	const struct conf *cf;
	struct installation in;
	const char *program;
	struct unit_file *files;
	size_t n, cap;
};

/* --- words --- */

/* Quotes a value if it needs it, and keeps systemd from reading specifiers in it. */
static char *
unit_word(struct arena *a, const char *value)
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

char *
units_instance(struct arena *a, const char *name)
{
	static const char hex[] = "0123456789abcdef";
	struct buf b = buf_new(a);

	for (const char *p = name; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		char escaped[] = { '\\', 'x', hex[c >> 4], hex[c & 15] };

		if (text_alnum(*p) || c == '_' || c == '-' || (c == '.' && p > name))
			buf_put(&b, p, 1);
		else
			buf_put(&b, escaped, sizeof(escaped));
	}
	return b.p;
}

char *
units_service(struct arena *a, const struct conf *cf, const char *service)
{
	return arena_printf(a, "%s@%s.service", conf_installation(a, cf).unit,
	    units_instance(a, service));
}

char *
units_socket(struct arena *a, const struct conf *cf, const char *name)
{
	return arena_printf(a, "%s@%s.socket", conf_installation(a, cf).unit, name);
}

static char *
timer_unit(struct arena *a, const struct conf *cf, const struct conf_task *t)
{
	return arena_printf(a, "%s-task-%s.timer", conf_installation(a, cf).unit,
	    units_instance(a, t->name));
}

/* --- which units there are --- */

static bool
is_listed(char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

enum err
units_names(
    struct arena *a, const struct conf *cf, struct unit_names *u, struct fail *f)
{
	struct service *s;
	size_t n;

	*u = (struct unit_names){ 0 };
	TRY(services_of(a, cf, &s, &n, f));
	u->target = arena_printf(a, "%s.target", conf_installation(a, cf).unit);
	u->services = NEWN(a, char *, n + 1);
	u->sockets = NEWN(a, char *, n + 1);
	u->timers = NEWN(a, char *, cf->ntasks + 1);
	for (size_t i = 0; i < n; i++) {
		char *socket = s[i].socket_name == NULL ?
		                   NULL :
		                   units_socket(a, cf, s[i].socket_name);

		u->services[u->nservices++] = units_service(a, cf, s[i].name);
		if (socket != NULL && !is_listed(u->sockets, u->nsockets, socket))
			u->sockets[u->nsockets++] = socket;
	}
	for (size_t i = 0; i < cf->ntasks; i++)
		if (!cf->tasks[i].disabled)
			u->timers[u->ntimers++] = timer_unit(a, cf, &cf->tasks[i]);
	return OK;
}

/* --- files --- */

static struct buf
begin_file(struct making *m)
{
	struct buf b = buf_new(m->a);

	buf_printf(&b,
	    UNITS_MARK
	    " for the project %s from its config.xml; changes here are lost.\n",
	    m->in.name);
	buf_puts(&b, "# Own settings: systemctl edit UNIT\n");
	return b;
}

static void
end_file(struct making *m, char *name, struct buf *b)
{
	PUSH(m->a, m->files, m->n, m->cap) = (struct unit_file){ name, b->p };
}

static void
put_unit(struct making *m, struct buf *b, const char *what)
{
	buf_printf(b, "\n[Unit]\nDescription=Locus project %s%s\n", m->in.name, what);
	buf_puts(b, "Documentation=man:locus(1) man:locus(7)\n");
}

/* What was stopped by its name is not started with the target, nor by a request. */
static void
put_not_held(struct making *m, struct buf *b, const char *instance)
{
	buf_printf(b, "ConditionPathExists=!%s@%s.stopped\n", m->in.run_dir, instance);
}

static void
put_names(struct buf *b, const char *key, char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s=%s\n", key, names[i]);
}

/* A directory that the services write to, unless one of the others contains it. */
static void
put_writable(struct making *m, struct buf *b, const char *dir)
{
	if (dir != m->cf->project_dir && text_below(m->cf->project_dir, dir) != NULL)
		return;
	if (dir[0] == '/')
		buf_printf(b, "ReadWritePaths=-%s\n", unit_word(m->a, dir));
}

/* What services and tasks have in common. */
static void
put_account(struct making *m, struct buf *b)
{
	const struct conf *cf = m->cf;

	buf_printf(b, "User=%s\nGroup=%s\n", m->in.account, m->in.account);
	buf_printf(b, "WorkingDirectory=%s\n", unit_word(m->a, cf->project_dir));
	buf_printf(b, "LogExtraFields=LOCUS_PROJECT=%s\n", m->in.name);
	buf_puts(b, "KillMode=mixed\n");
	buf_puts(b, "\n");
	buf_puts(b, hardening);
	put_writable(m, b, cf->project_dir);
	put_writable(m, b, cf->upload_dir);
	put_writable(m, b, cf->download_dir);
	put_writable(m, b, cf->log_dir);
	put_writable(m, b, cf->run_dir);
	put_writable(m, b, cf->debug_req_reply_dir);
}

/*
 * A daemon that fails ten times in two minutes, or says that it always will (exit
 * status 2, 77 or 78, see locus(1)), is given up; a lost database is no failure.
 */
static void
make_services(struct making *m)
{
	struct buf b = begin_file(m);

	put_unit(m, &b, ": %i");
	buf_printf(&b, "PartOf=%s.target\n", m->in.unit);
	put_not_held(m, &b, "%i");
	buf_puts(&b, "After=network.target mariadb.service mysql.service\n");
	buf_puts(&b, "StartLimitIntervalSec=120\nStartLimitBurst=10\n");
	buf_puts(&b, "\n[Service]\nType=notify\nNotifyAccess=main\n");
	buf_printf(&b, "ExecStart=%s -p %s run-service %%i\n",
	    unit_word(m->a, m->program), m->in.name);
	buf_printf(&b, "ExecStopPost=-%s -p %s run-service --ended %%i\n",
	    unit_word(m->a, m->program), m->in.name);
	buf_puts(
	    &b, "Restart=always\nRestartSec=2\nRestartPreventExitStatus=2 77 78\n");
	buf_puts(&b, "TimeoutStartSec=90\nTimeoutStopSec=20\nWatchdogSec=60\n");
	buf_puts(&b, "LimitNOFILE=65536\n");
	buf_printf(&b, "SyslogIdentifier=%s@%%i\n", m->in.unit);
	put_account(m, &b);
	end_file(m, arena_printf(m->a, "%s@.service", m->in.unit), &b);
}

static void
make_drop_in(struct making *m, const struct service *s)
{
	struct buf b;

	if (s->socket_name == NULL && s->ours)
		return;
	b = begin_file(m);
	if (s->socket_name != NULL) {
		buf_puts(&b, "\n[Unit]\nStartLimitIntervalSec=0\n");
		buf_printf(&b, "\n[Service]\nSockets=%s\n",
		    units_socket(m->a, m->cf, s->socket_name));
		buf_puts(&b, "RestartPreventExitStatus=\n");
	} else {
		buf_puts(
		    &b, "\n[Service]\nType=exec\nNotifyAccess=none\nWatchdogSec=0\n");
	}
	end_file(m,
	    arena_printf(
		m->a, "%s.d/" UNITS_DROP_IN, units_service(m->a, m->cf, s->name)),
	    &b);
}

static void
make_socket(struct making *m, const struct service *s)
{
	struct buf b = begin_file(m);
	char *own = units_socket(m->a, m->cf, s->name);
	char *unit = units_socket(m->a, m->cf, s->socket_name);
	const char *group = web_peer_group(m->cf);

	put_unit(m, &b, arena_printf(m->a, ": socket of %s", s->name));
	buf_printf(&b, "PartOf=%s.target\n", m->in.unit);
	put_not_held(m, &b, units_instance(m->a, s->name));
	buf_printf(&b, "\n[Socket]\nListenStream=%s\n",
	    unit_word(m->a, service_socket(m->a, m->cf, s->socket_name)));
	buf_printf(&b, "SocketUser=%s\nSocketGroup=%s\nSocketMode=0660\n",
	    m->in.account, group == NULL ? m->in.account : group);
	buf_puts(&b, "DirectoryMode=0755\nRemoveOnStop=yes\n");
	if (strcmp(own, unit) != 0)
		buf_printf(&b, "Service=%s\n", units_service(m->a, m->cf, s->name));
	end_file(m, unit, &b);
}

static void
make_tasks(struct making *m)
{
	struct buf b = begin_file(m);

	put_unit(m, &b, ": task %i");
	buf_printf(&b, "PartOf=%s.target\n", m->in.unit);
	buf_puts(&b, "After=network.target mariadb.service mysql.service\n");
	buf_puts(&b, "\n[Service]\nType=oneshot\nSuccessExitStatus=75\n");
	buf_printf(&b, "ExecStart=%s -p %s run-task %%i\n", unit_word(m->a, m->program),
	    m->in.name);
	buf_puts(&b, "TimeoutStopSec=20\n");
	buf_printf(&b, "SyslogIdentifier=%s-task@%%i\n", m->in.unit);
	put_account(m, &b);
	end_file(m, arena_printf(m->a, "%s-task@.service", m->in.unit), &b);
}

/*
 * By the calendar instead of the time since the last run, so that a run that was missed
 * is made up for (Persistent).
 */
static void
put_calendar(struct buf *b, int64_t period_s)
{
	long long days = (long long)(period_s / DAY);

	if (period_s < MINUTE)
		buf_printf(b, "OnCalendar=*-*-* *:*:00/%lld\n", (long long)period_s);
	else if (period_s < HOUR)
		buf_printf(b, "OnCalendar=*-*-* *:00/%lld:00\n",
		    (long long)(period_s / MINUTE));
	else if (period_s < DAY) {
		/* Times of day that are period_s apart. */
		for (int64_t s = 0; s < DAY; s += period_s)
			buf_printf(b, "OnCalendar=*-*-* %02lld:%02lld:00\n",
			    (long long)(s / HOUR), (long long)(s % HOUR / MINUTE));
	} else if (days == 1)
		buf_puts(b, "OnCalendar=*-*-* 00:00:00\n");
	else if (days == 7)
		buf_puts(b, "OnCalendar=Mon *-*-* 00:00:00\n");
	else if (days <= 15)
		buf_printf(b, "OnCalendar=*-*-01/%lld 00:00:00\n", days);
	else if (days < 60)
		buf_puts(b, "OnCalendar=*-*-01 00:00:00\n");
	else
		buf_printf(b, "OnCalendar=*-01/%lld-01 00:00:00\n",
		    days / 30 < 12 ? days / 30 : 12);
}

static void
make_timer(struct making *m, const struct conf_task *t)
{
	struct buf b = begin_file(m);

	put_unit(m, &b,
	    arena_printf(m->a, ": times of task %s", units_instance(m->a, t->name)));
	buf_printf(&b, "PartOf=%s.target\n", m->in.unit);
	buf_puts(&b, "\n[Timer]\n");
	put_calendar(&b, t->period_s);
	buf_puts(&b, "Persistent=yes\nAccuracySec=1s\n");
	buf_printf(
	    &b, "Unit=%s-task@%s.service\n", m->in.unit, units_instance(m->a, t->name));
	end_file(m, timer_unit(m->a, m->cf, t), &b);
}

enum err
units_texts(struct arena *a, const struct conf *cf, const char *program,
    struct unit_file **files, size_t *n, struct fail *f)
{
	struct making m = {
		.a = a, .cf = cf, .in = conf_installation(a, cf), .program = program
	};
	struct unit_names names;
	struct service *s;
	size_t ns;

	TRY(services_of(a, cf, &s, &ns, f));
	TRY(units_names(a, cf, &names, f));
	struct buf b = begin_file(&m);

	put_unit(&m, &b, "");
	put_names(&b, "Wants", names.sockets, names.nsockets);
	put_names(&b, "Wants", names.services, names.nservices);
	put_names(&b, "Wants", names.timers, names.ntimers);
	buf_puts(&b, "\n[Install]\nWantedBy=multi-user.target\n");
	end_file(&m, names.target, &b);
	make_services(&m);
	for (size_t i = 0; i < ns; i++) {
		make_drop_in(&m, &s[i]);
		/* The first process of a program gives the socket its unit. */
		if (s[i].socket_name != NULL && strchr(s[i].name, '-') == NULL)
			make_socket(&m, &s[i]);
	}
	if (names.ntimers > 0)
		make_tasks(&m);
	for (size_t i = 0; i < cf->ntasks; i++)
		if (!cf->tasks[i].disabled)
			make_timer(&m, &cf->tasks[i]);
	*files = m.files;
	*n = m.n;
	return OK;
}
