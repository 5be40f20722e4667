/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/gzip.h"
#include "lib/terminal.h"
#include "lib/banned.h"

/* Longer lines are cut in pieces; no program of ours writes longer ones than 4096. */
enum { BUFFER = 64 << 10 };
/* Looks at a rotated file before it counts as ended: processes follow a rotation within
 * a second. */
enum { LAST_LOOKS = 5 };

struct log_reader {
	char path[1024];
	int fd;
	char buf[BUFFER + 1];
	size_t from, to; /* what was read and not returned yet */
	bool replaced;   /* the path is another file by now: an incomplete line ends */
	int looks;       /* at a replaced file without finding more */
	struct unpack *packed; /* a compressed file's content; NULL = a plain file */
	int64_t last;
	struct log_entry entry;
};

/* --- lines --- */

static const char *const level_names[] = {
	[LOG_ERR] = "error",
	[LOG_WARN] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

const char *log_level_name(enum log_level level)
{
	return level_names[level];
}

bool log_level_named(const char *name, enum log_level *level)
{
	for (int i = LOG_ERR; i <= LOG_DEBUG; i++)
		if (strcmp(name, level_names[i]) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	return false;
}

/* "scheduler[812] info text": takes program and level; false if it is not of this form.
 */
static bool parse_ours(const char *p, struct log_entry *e)
{
	size_t n = strcspn(p, " ["), word;
	const char *level;

	if (n == 0 || n >= sizeof(e->program) || p[n] != '[')
		return false;
	level = p + n + 1 + strspn(p + n + 1, "0123456789");
	if (level[0] != ']' || level[1] != ' ')
		return false;
	level += 2;
	word = strcspn(level, " ");
	for (int i = LOG_ERR; i <= LOG_DEBUG; i++)
		if (strlen(level_names[i]) == word &&
		    strncmp(level, level_names[i], word) == 0) {
			memcpy(e->program, p, n);
			e->program[n] = '\0';
			e->level = (enum log_level)i;
			e->message = level + word + (level[word] == ' ');
			return true;
		}
	return false;
}

static enum log_level guess_level(const char *line)
{
	static const char *const bad[] = { "[ERROR]", ":error]", "[error]", ":crit]",
		":emerg]", ":alert]" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strstr(line, bad[i]) != NULL)
			return LOG_ERR;
	if (strstr(line, "[Warning]") != NULL || strstr(line, ":warn]") != NULL)
		return LOG_WARN;
	return LOG_INFO;
}

void log_entry_parse(const char *line, struct log_entry *e)
{
	struct tm tm = { .tm_isdst = -1 };
	const char *rest;

	e->line = e->message = line;
	e->program[0] = '\0';
	e->level = guess_level(line);
	if ((rest = strptime(line, "%Y-%m-%dT%H:%M:%SZ", &tm)) != NULL) {
		e->time = timegm(&tm);
		if (rest[0] == ' ')
			parse_ours(rest + 1, e);
		return;
	}
	memset(&tm, 0, sizeof(tm));
	tm.tm_isdst = -1;
	if (strptime(line, "%Y-%m-%d %H:%M:%S", &tm) != NULL) {
		e->time = mktime(&tm);
		return;
	}
	memset(&tm, 0, sizeof(tm));
	tm.tm_isdst = -1;
	rest = line[0] == '[' ? strptime(line, "[%a %b %d %H:%M:%S", &tm) : NULL;
	if (rest == NULL)
		return;
	if (rest[0] == '.')
		rest += 1 + strspn(rest + 1, "0123456789");
	if (strptime(rest, " %Y]", &tm) != NULL)
		e->time = mktime(&tm);
}

/* --- files --- */

static ssize_t read_more(struct log_reader *r, char *to, size_t room)
{
	ssize_t n;

	if (r->packed != NULL)
		return unpack_read(r->packed, to, room);
	do
		n = read(r->fd, to, room);
	while (n < 0 && errno == EINTR);
	return n;
}

static void fill(struct log_reader *r)
{
	ssize_t n;

	if (r->from > 0) {
		memmove(r->buf, r->buf + r->from, r->to - r->from);
		r->to -= r->from;
		r->from = 0;
	}
	if (r->to == BUFFER)
		return;
	n = read_more(r, r->buf + r->to, BUFFER - r->to);
	if (n > 0)
		r->to += (size_t)n;
}

/* Goes to an offset, and from there to the beginning of the next line. */
static void seek_line(struct log_reader *r, off_t at)
{
	char *end;

	(void)lseek(r->fd, at, SEEK_SET);
	r->from = r->to = 0;
	if (at == 0)
		return;
	fill(r);
	end = memchr(r->buf, '\n', r->to);
	r->from = end == NULL ? r->to : (size_t)(end + 1 - r->buf);
}

/* The time of the first line behind an offset that has one; 0 if there is none near. */
static int64_t time_behind(struct log_reader *r, off_t at)
{
	const struct log_entry *e;

	seek_line(r, at);
	r->last = 0;
	for (int i = 0; i < 100; i++) {
		e = log_reader_next(r);
		if (e == NULL || e->time > 0)
			return e == NULL ? 0 : e->time;
	}
	return 0;
}

struct log_reader *log_reader_open(struct arena *a, const char *path, int64_t since)
{
	struct log_reader *r;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return NULL;
	r = NEW(a, struct log_reader);
	snprintf(r->path, sizeof(r->path), "%s", path);
	r->fd = fd;
	if (unpack_named(path)) {
		r->packed = unpack_begin(fd);
		r->replaced = true; /* no more will come */
	} else {
		struct stat st;

		/* Bisection: everything before low is older than since. */
		off_t low = 0, high = fstat(r->fd, &st) == 0 ? st.st_size : 0;

		while (since > 0 && high - low > BUFFER / 4) {
			off_t middle = low + (high - low) / 2;
			int64_t t = time_behind(r, middle);

			if (t > 0 && t < since)
				low = middle;
			else
				high = middle;
		}
		seek_line(r, low);
		r->last = 0;
	}
	return r;
}

void log_reader_close(struct log_reader *r)
{
	if (r == NULL)
		return;
	unpack_end(r->packed);
	close(r->fd);
}

const char *log_reader_damage(const struct log_reader *r)
{
	return r->packed == NULL ? NULL : unpack_damage(r->packed);
}

const struct log_entry *log_reader_next(struct log_reader *r)
{
	char *end = memchr(r->buf + r->from, '\n', r->to - r->from);

	if (end == NULL) {
		fill(r);
		end = memchr(r->buf + r->from, '\n', r->to - r->from);
	}
	if (end == NULL && r->to - r->from < BUFFER &&
	    !(r->replaced && r->to > r->from))
		return NULL;
	if (end == NULL)
		end = r->buf + r->to;
	*end = '\0';
	r->entry.time = r->last;
	log_entry_parse(r->buf + r->from, &r->entry);
	r->last = r->entry.time;
	r->from = (size_t)(end - r->buf) + 1;
	if (r->from > r->to)
		r->from = r->to;
	return &r->entry;
}

/* Goes on with the new file of a path once the old one is at its end. */
static void follow_replaced(struct log_reader *r, off_t size)
{
	int fd;

	if (lseek(r->fd, 0, SEEK_CUR) < size) {
		r->looks = 0; /* what is still written to it comes first */
		return;
	}
	if (++r->looks < LAST_LOOKS)
		return;
	fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	close(r->fd);
	r->fd = fd;
	r->from = r->to = 0;
	r->replaced = false;
	r->looks = 0;
}

void log_reader_follow(struct log_reader *r)
{
	struct stat ours;

	if (r->packed != NULL || fstat(r->fd, &ours) != 0)
		return;
	if (r->replaced)
		follow_replaced(r, ours.st_size);
	else if (!fs_is_file(r->path, r->fd))
		r->replaced = true; /* its last lines are read before the new file */
	else if (lseek(r->fd, 0, SEEK_CUR) > ours.st_size)
		seek_line(r, 0); /* truncated */
}

/* --- only the end of a log, which may be large --- */

enum { TAIL_BYTES = 1000, LOOK_BYTES = 16 << 10, LINE_BYTES = 250 };

static char *read_end(struct arena *a, const char *path, size_t most)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = arena_alloc(a, most + 1), *line;
	ssize_t n;
	bool cut;

	if (fd < 0)
		return text;
	cut = lseek(fd, -(off_t)most, SEEK_END) > 0;
	n = read(fd, text, most);
	close(fd);
	n = n > 0 ? n : 0;
	text[terminal_clean(text, (size_t)n, NULL)] = '\0';
	line = cut ? strchr(text, '\n') : NULL;
	return line == NULL ? text : line + 1;
}

char *log_tail(struct arena *a, const char *path)
{
	return read_end(a, path, TAIL_BYTES);
}

char *log_find_error(struct arena *a, const char *path)
{
	char *text = read_end(a, path, LOOK_BYTES), *hit = strstr(text, "[ERROR]");
	size_t n;

	if (hit == NULL)
		return log_tail(a, path);
	n = strcspn(hit, "\n");
	return arena_memdup(a, hit, n < LINE_BYTES ? n : LINE_BYTES);
}
