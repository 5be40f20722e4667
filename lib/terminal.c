/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/terminal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/arena.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { CHUNK = 1024 };

/* A standard stream: its terminal, and the beginning of a character that has no end
 * yet. */
struct guarded {
	int fd;
	size_t n;
	char rest[TERMINAL_REST];
};

/* Length of one of our colours at s; 0 = none; *open: it might become one. */
static size_t colour_at(const char *s, size_t n, bool *open)
{
	static const char *const ours[] = { "\033[0m", "\033[1m", "\033[31m",
		"\033[32m", "\033[33m" };

	*open = false;
	for (size_t i = 0; i < N(ours); i++) {
		size_t len = strlen(ours[i]);

		if (n >= len && memcmp(s, ours[i], len) == 0)
			return len;
		*open = *open || (n < len && memcmp(s, ours[i], n) == 0);
	}
	return 0;
}

/* Do n bytes begin a character that has more? */
static bool is_begun(const char *s, size_t n)
{
	unsigned char first = (unsigned char)*s;
	size_t all = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;

	for (size_t i = 1; i < n && i < all; i++)
		if (((unsigned char)s[i] & 0xC0) != 0x80)
			return false;
	return n < all;
}

/*
 * Looks at what begins at s: *n becomes its length, 0 if its end is missing and may
 * follow. Returns whether it may be shown.
 */
static bool passes(const char *s, size_t *n, bool more)
{
	char one[TERMINAL_REST + 1] = "";
	size_t have = *n;
	bool open;

	*n = colour_at(s, have, &open);
	if (*n > 0 || (more && (open || is_begun(s, have))))
		return true;
	memcpy(one, s, have < TERMINAL_REST ? have : TERMINAL_REST);
	*n = 1;
	return *s == '\n' || *s == '\t' || (*s != '\0' && text_shown(one, n));
}

size_t terminal_clean(char *s, size_t n, size_t *rest)
{
	size_t to = 0, open = 0;

	for (size_t i = 0, len; i < n; i += len) {
		len = n - i;
		if (!passes(s + i, &len, rest != NULL)) {
			s[to++] = '?';
			continue;
		}
		if (len == 0)
			len = open = n - i;
		memmove(s + to, s + i, len);
		to += len;
	}
	if (rest != NULL)
		*rest = open;
	return to;
}

static bool terminal_write(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		p += done;
		n -= (size_t)done;
	}
	return true;
}

static ssize_t guarded_write(void *cookie, const char *p, size_t n)
{
	struct guarded *g = cookie;
	char piece[TERMINAL_REST + CHUNK];

	for (size_t done = 0, take; done < n; done += take) {
		size_t all, rest;

		take = n - done < CHUNK ? n - done : CHUNK;
		memcpy(piece, g->rest, g->n);
		memcpy(piece + g->n, p + done, take);
		all = terminal_clean(piece, g->n + take, &rest);
		g->n = rest;
		memcpy(g->rest, piece + all - rest, rest);
		if (!terminal_write(g->fd, piece, all - rest))
			return 0;
	}
	return (ssize_t)n;
}

static void guard(FILE **stream, struct guarded *g)
{
	static const cookie_io_functions_t io = { .write = guarded_write };
	FILE *to;

	if (!isatty(g->fd))
		return;
	to = fopencookie(g, "w", io);
	if (to == NULL)
		return; /* no memory; what follows will say so */
	setvbuf(to, NULL, g->fd == STDERR_FILENO ? _IONBF : _IOLBF, 0);
	fflush(*stream);
	*stream = to;
}

void terminal_guard(void)
{
	static struct guarded out = { .fd = STDOUT_FILENO },
			      err = { .fd = STDERR_FILENO };

	guard(&stdout, &out);
	guard(&stderr, &err);
}
