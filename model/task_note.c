/* SPDX-License-Identifier: Apache-2.0 */
#include "model/task_note.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { NOTE_MOST = 200 };

static char *
task_note_path(struct arena *a, const struct conf *cf, const char *task)
{
	return arena_printf(
	    a, "%s/task-%s.last", project_path(a, cf, cf->run_dir), task);
}

bool
task_note_read(
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

enum err
task_note_write(struct arena *a, const struct conf *cf, const char *task,
    const struct task_note *t, struct fail *f)
{
	char *text = arena_printf(a, "%lld %lld %lld\n", (long long)t->start,
	    (long long)t->end, (long long)t->exit);

	return fs_write(task_note_path(a, cf, task), text, strlen(text), 0644, f);
}

enum err
task_note_remove(
    struct arena *a, const struct conf *cf, const char *task, struct fail *f)
{
	enum err e = fs_unlink(task_note_path(a, cf, task), f);

	return e == E_NOTFOUND ? OK : e;
}

int64_t
task_next_start(const struct conf_task *task, const struct task_note *t, int64_t now)
{
	if (t->start == 0 || t->start > now)
		return now;
	return t->start + task->period_s;
}
