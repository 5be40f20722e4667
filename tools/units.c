/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit files on disk, and systemd's knowledge of them. A file without our mark is
 * the admin's, and stays as it is.
 */
#include "tools/units.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/notify.h"
#include "lib/text.h"
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

/* Does what systemctl enable does, also where there is no systemctl. */
static enum err
enable_target(struct arena *a, const char *name, struct fail *f)
{
	const char *link = enabling_link(a, name);
	const char *to = arena_printf(
	    a, UNITS_DIR "/%s.target", installation_of(a, name).unit);

	TRY(fs_mkdirs(UNITS_DIR "/multi-user.target.wants", 0755, f));
	if (symlink(to, link) < 0 && errno != EEXIST)
		return FAIL_ERRNO(f, "enabling %s", to);
	return OK;
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
	if (c->first)
		TRY(enable_target(a, name, f));
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
