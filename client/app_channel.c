/* SPDX-License-Identifier: Apache-2.0 */
/* The client's side of a running program's channels. */
#include "client/app.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

#define CHANNELS_FILE "boinc_mmap_file"

enum channel { /* in the order of the file */
	CONTROL_REQUEST,
	CONTROL_REPLY,
	GRAPHICS_REQUEST,
	GRAPHICS_REPLY,
	HEARTBEAT,
	STATUS,
	MESSAGE_UP,
	MESSAGE_DOWN,
	NCHANNELS
};
enum { CHANNEL_BYTES = 1024, BEAT_MS = 1000 };

enum err
app_channels(struct client *c, const struct ctask *t)
{
	static const char empty[NCHANNELS * CHANNEL_BYTES];

	return fs_write(arena_printf(&c->scratch, "%s/" CHANNELS_FILE, slot_dir(c, t)),
	    empty, sizeof(empty), 0600, &c->fail);
}

/* Returns -1 if there is no such file, or something else in its place. */
static int
open_channels(struct client *c, const struct ctask *t)
{
	const char *path = arena_printf(
	    &c->scratch, "%s/" CHANNELS_FILE, slot_dir(c, t));
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			  st.st_size == NCHANNELS * CHANNEL_BYTES))
		return fd;
	close(fd);
	return -1;
}

static off_t
channel_at(enum channel k)
{
	return (off_t)k * CHANNEL_BYTES;
}

static bool
channel_full(int fd, enum channel k)
{
	char first = 0;

	return pread(fd, &first, 1, channel_at(k)) == 1 && first != 0;
}

static bool
set_full(int fd, enum channel k, char full)
{
	return pwrite(fd, &full, 1, channel_at(k)) == 1;
}

/* The byte that says so is written last.  False: the channel is full, and nothing was
 * said; with replace, the new text takes the place of the old one. */
static bool
channel_put(int fd, enum channel k, const char *text, bool replace)
{
	size_t n = strlen(text) + 1;

	if (n >= CHANNEL_BYTES || (!replace && channel_full(fd, k)))
		return false;
	if (replace && !set_full(fd, k, 0))
		return false;
	return pwrite(fd, text, n, channel_at(k) + 1) == (ssize_t)n &&
	       set_full(fd, k, 1);
}

static bool
channel_get(int fd, enum channel k, char text[CHANNEL_BYTES])
{
	ssize_t n = pread(fd, text, CHANNEL_BYTES, channel_at(k));

	if (n < 2 || text[0] == 0)
		return false;
	memmove(text, text + 1, (size_t)n - 1);
	text[n - 1] = '\0';
	set_full(fd, k, 0);
	return true;
}

/* --- what a program says --- */

/* Returns the number in an element; -1 if it is missing, no number or not finite. */
static double
said_number(const char *text, const char *tag)
{
	const char *p = strstr(text, tag);
	char *end;
	double x;

	if (p == NULL)
		return -1;
	p += strlen(tag);
	x = strtod(p, &end);
	return end != p && isfinite(x) ? x : -1;
}

static void
take_status(struct client *c, struct ctask *t, const char *text)
{
	double cpu = said_number(text, "<current_cpu_time>");
	double saved = said_number(text, "<checkpoint_cpu_time>");
	double done = said_number(text, "<fraction_done>");

	t->api = true;
	if (cpu >= 0)
		t->reported_cpu_s = cpu;
	if (done > 0 && done <= 1 && done != t->fraction_done) {
		t->fraction_done = done;
		t->fraction_ran_s = task_ran_s(c, t);
	}
	if (saved <= t->saved_cpu_s)
		return;
	t->saved_cpu_s = saved;
	t->saved_s = task_ran_s(c, t);
	t->checkpointed_at = c->now;
	t->nreturns = 0;
	c->accounts_changed = true;
}

static void
channel_hear(struct client *c, struct cproject *p, struct ctask *t, int fd)
{
	char text[CHANNEL_BYTES];

	if (channel_get(fd, STATUS, text))
		take_status(c, t, text);
	if (channel_get(fd, MESSAGE_UP, text) &&
	    strstr(text, "<have_new_trickle_up/>") != NULL)
		trickle_collect(c, p, t);
}

/* --- what is said to it --- */

static void
channel_say(struct ctask *t, int fd)
{
	if ((t->ask & ASK_RUN_OR_PAUSE) != 0 &&
	    channel_put(
		fd, CONTROL_REQUEST, t->paused ? "<suspend/>" : "<resume/>", true))
		t->ask &= ~ASK_RUN_OR_PAUSE;
	if ((t->ask & ASK_REREAD) != 0 &&
	    channel_put(fd, CONTROL_REQUEST, "<reread_app_info/>", false))
		t->ask &= ~ASK_REREAD;
	if ((t->ask & ASK_MESSAGE) != 0 &&
	    channel_put(fd, MESSAGE_DOWN, "<have_trickle_down/>\n", false))
		t->ask &= ~ASK_MESSAGE;
}

void
app_talk(struct client *c, struct cproject *p, struct ctask *t)
{
	int fd = open_channels(c, t);

	if (fd < 0)
		return;
	channel_hear(c, p, t, fd);
	channel_say(t, fd);
	close(fd);
}

void
app_say_end(struct client *c, const struct ctask *t, const char *text)
{
	int fd = open_channels(c, t);

	if (fd < 0)
		return;
	channel_put(fd, CONTROL_REQUEST, text, true);
	close(fd);
}

bool
app_is_deaf(struct client *c, const struct ctask *t, int64_t s)
{
	int fd = c->now - t->asked_at > s ? open_channels(c, t) : -1;
	bool full = fd >= 0 && channel_full(fd, CONTROL_REQUEST);

	if (fd >= 0)
		close(fd);
	return full;
}

/* --- heartbeats --- */

void
app_beat(struct client *c, const struct ctask *t)
{
	struct usage u = usage_of(t->pid);
	int fd = open_channels(c, t);
	char text[CHANNEL_BYTES - 1];

	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "<heartbeat/><wss>%e</wss><max_wss>%e</max_wss>",
	    u.rss_bytes, preferences_ram_part(c, c->machine.in_use) * c->ram_bytes);
	channel_put(fd, HEARTBEAT, text, false);
	close(fd);
}

void
app_beat_all(struct client *c)
{
	int64_t ms = clock_mono_ms();

	if (ms < c->beat_after_ms)
		return;
	c->beat_after_ms = ms + BEAT_MS;
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++)
			if (p->tasks[k].pid != 0)
				app_beat(c, &p->tasks[k]);
	}
}
