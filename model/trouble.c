/* SPDX-License-Identifier: Apache-2.0 */
/* run/NAME.trouble, run/NAME.standby and run/NAME.paused: the time, a blank, the text.
 */
#include "model/trouble.h"

#include <stdlib.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { NOTE_MOST = 200 };

static char *task_note_path(struct arena *a, const struct conf *cf, const char *task)
{
	return arena_printf(
	    a, "%s/task-%s.last", project_path(a, cf, cf->log_dir), task);
}

bool task_note_read(
    struct arena *a, const struct conf *cf, const char *task, struct task_note *t)
{
	int64_t *const fields[] = { &t->start, &t->end, &t->exit };
	struct fail f = { 0 };
	char *text, *word, *save;

	*t = (struct task_note){ 0 };
	if (fs_read(a, task_note_path(a, cf, task), NOTE_MOST, &text, NULL, &f) != OK)
		return false;
	word = strtok_r(text, " \n", &save);
	for (size_t i = 0; i < N(fields); i++, word = strtok_r(NULL, " \n", &save))
		if (word == NULL || !text_i64(word, 0, INT64_MAX, fields[i]))
			return false;
	return true;
}

enum err task_note_write(struct arena *a, const struct conf *cf, const char *task,
    const struct task_note *t, struct fail *f)
{
	char *text = arena_printf(a, "%lld %lld %lld\n", (long long)t->start,
	    (long long)t->end, (long long)t->exit);

	return fs_write(task_note_path(a, cf, task), text, strlen(text), 0644, f);
}

int64_t task_next_start(
    const struct conf_task *task, const struct task_note *t, int64_t now)
{
	if (t->start == 0 || t->start > now)
		return now;
	return t->start + task->period_s;
}

static const char trouble_suffix[] = ".trouble", standby_suffix[] = ".standby",
		  paused_suffix[] = ".paused";
enum { FILES_MOST = 10000, TEXT_MOST = 4096 };

static char *note_path(
    struct arena *a, const struct conf *cf, const char *daemon, const char *suffix)
{
	return arena_printf(
	    a, "%s/%s%s", project_path(a, cf, cf->run_dir), daemon, suffix);
}

static enum err note_write(struct arena *a, const struct conf *cf,
    const struct trouble *t, const char *suffix, struct fail *f)
{
	char *line = arena_printf(a, "%lld %s\n", (long long)t->at, t->text);

	for (char *p = line; p[1] != '\0'; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
	return fs_write(
	    note_path(a, cf, t->daemon, suffix), line, strlen(line), 0644, f);
}

static enum err note_clear(struct arena *a, const struct conf *cf, const char *daemon,
    const char *suffix, struct fail *f)
{
	enum err e = fs_unlink(note_path(a, cf, daemon, suffix), f);

	return e == E_NOTFOUND ? OK : e;
}

static bool note_read(struct arena *a, const char *path, struct trouble *t)
{
	struct fail f = { 0 };
	char *line, *blank;

	if (fs_read(a, path, TEXT_MOST, &line, NULL, &f) != OK ||
	    (blank = strchr(line, ' ')) == NULL)
		return false;
	*blank = '\0';
	t->text = text_trim(blank + 1);
	return text_i64(line, 0, INT64_MAX, &t->at);
}

/*
 * A daemon or task that was removed from config.xml leaves its note behind; a daemon
 * that somebody started by hand holds its lock.
 */
static bool note_is_current(struct arena *a, const struct conf *cf, const char *name)
{
	static const char *const services[] = { "supervisor", "scheduler", "web",
		"file_upload_handler" };

	for (size_t i = 0; i < N(services); i++)
		if (strcmp(services[i], name) == 0)
			return true;
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (strcmp(cf->daemons[i].name, name) == 0 && !cf->daemons[i].disabled)
			return true;
	for (size_t i = 0; i < cf->ntasks; i++)
		if (strcmp(arena_printf(a, "task %s", cf->tasks[i].name), name) == 0 &&
		    !cf->tasks[i].disabled)
			return true;
	return fs_locked(note_path(a, cf, name, ".lock"));
}

static void notes_list(struct arena *a, const struct conf *cf, const char *suffix,
    struct trouble **out, size_t *n)
{
	const char *dir = project_path(a, cf, cf->run_dir);
	struct fail f = { 0 };
	size_t nnames = 0, cap = 0;
	char **names;

	*out = NULL;
	*n = 0;
	if (fs_list(a, dir, FILES_MOST, &names, &nnames, &f) != OK)
		return;
	for (size_t i = 0; i < nnames; i++) {
		struct trouble t = { .daemon = names[i] };
		size_t len = strlen(names[i]);

		if (len <= strlen(suffix) ||
		    strcmp(names[i] + len - strlen(suffix), suffix) != 0 ||
		    !note_read(a, arena_printf(a, "%s/%s", dir, names[i]), &t))
			continue;
		t.daemon[len - strlen(suffix)] = '\0';
		if (note_is_current(a, cf, t.daemon))
			PUSH(a, *out, *n, cap) = t;
	}
}

enum err trouble_write(
    struct arena *a, const struct conf *cf, const struct trouble *t, struct fail *f)
{
	return note_write(a, cf, t, trouble_suffix, f);
}

enum err trouble_clear(
    struct arena *a, const struct conf *cf, const char *daemon, struct fail *f)
{
	return note_clear(a, cf, daemon, trouble_suffix, f);
}

void trouble_list(
    struct arena *a, const struct conf *cf, struct trouble **out, size_t *n)
{
	notes_list(a, cf, trouble_suffix, out, n);
}

enum err standby_write(
    struct arena *a, const struct conf *cf, const struct trouble *t, struct fail *f)
{
	return note_write(a, cf, t, standby_suffix, f);
}

enum err standby_clear(
    struct arena *a, const struct conf *cf, const char *daemon, struct fail *f)
{
	return note_clear(a, cf, daemon, standby_suffix, f);
}

void standby_list(
    struct arena *a, const struct conf *cf, struct trouble **out, size_t *n)
{
	notes_list(a, cf, standby_suffix, out, n);
}

enum err paused_write(
    struct arena *a, const struct conf *cf, const struct trouble *t, struct fail *f)
{
	return note_write(a, cf, t, paused_suffix, f);
}

enum err paused_clear(
    struct arena *a, const struct conf *cf, const char *daemon, struct fail *f)
{
	return note_clear(a, cf, daemon, paused_suffix, f);
}

void paused_list(
    struct arena *a, const struct conf *cf, struct trouble **out, size_t *n)
{
	notes_list(a, cf, paused_suffix, out, n);
}
