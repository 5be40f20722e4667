/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "config.h"
#include "lib/arena.h"

static const struct {
	const char *token, *field;
} tokens[JOURNAL_TOKENS] = { { "HOST#", "LOCUS_HOST" }, { "RESULT#", "LOCUS_RESULT" },
	{ "WU#", "LOCUS_WORKUNIT" }, { "rpc=", "LOCUS_RPC" } };

/* Takes the words of "[...]" at p; returns what follows the brackets. */
static const char *take_group(struct journal_fields *f, const char *p)
{
	const char *end = p + strcspn(p, "]");

	for (p++; p < end; p += p < end) {
		size_t n = strcspn(p, " ]");

		/* Takes one word inside brackets, such as "HOST#7". */
		for (size_t i = 0; i < JOURNAL_TOKENS; i++) {
			size_t m = strlen(tokens[i].token);

			if (n <= m || strncmp(p, tokens[i].token, m) != 0 ||
			    strspn(p + m, "0123456789abcdef") < n - m ||
			    f->n == JOURNAL_TOKENS)
				continue;
			snprintf(f->v[f->n++], JOURNAL_FIELD_MAX, "%s=%.*s",
			    tokens[i].field, (int)(n - m), p + m);
		}
		p += n;
	}
	return *end == ']' ? end + 1 : end;
}

struct journal_fields journal_fields_of(const char *message)
{
	struct journal_fields f = { .n = 0 };
	const char *p = message;
	bool word = false;

	for (; *p != '\0'; p += strspn(p, " ")) {
		if (*p == '[')
			p = take_group(&f, p);
		else if (!word)
			p += strcspn(p, " ");
		else
			break;
		word = word || p[-1] != ']';
	}
	return f;
}

#ifdef HAVE_LIBSYSTEMD
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

enum { MESSAGE_MAX = 4200, WORD_MAX = 128, INFO = 6 /* syslog(3) */ };

bool journal_is_stderr(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long dev, inode;
	struct stat st;
	char *end;

	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return false;
	dev = strtoull(stream, &end, 10);
	if (*end != ':')
		return false;
	inode = strtoull(end + 1, NULL, 10);
	return st.st_dev == dev && st.st_ino == inode;
}

int journal_stream(const char *identifier)
{
	int fd = sd_journal_stream_fd(identifier, INFO, 0);
	char text[WORD_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)st.st_dev,
	    (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	return fd;
}

void journal_send(int priority, const char *program, const char *message)
{
	struct journal_fields f = journal_fields_of(message);
	const char *service = getenv("LOCUS_SERVICE");
	char text[MESSAGE_MAX], words[4][WORD_MAX];
	struct iovec v[1 + N(words) + JOURNAL_TOKENS];
	size_t n = 0;

	snprintf(text, sizeof(text), "MESSAGE=%s", message);
	snprintf(words[0], WORD_MAX, "PRIORITY=%d", priority);
	snprintf(words[1], WORD_MAX, "LOCUS_PROGRAM=%s", program);
	snprintf(words[2], WORD_MAX, "SYSLOG_IDENTIFIER=%s", program);
	snprintf(words[3], WORD_MAX, "LOCUS_SERVICE=%s",
	    service == NULL ? program : service);
	v[n++] = (struct iovec){ text, strlen(text) };
	for (size_t i = 0; i < N(words); i++)
		v[n++] = (struct iovec){ words[i], strlen(words[i]) };
	for (size_t i = 0; i < f.n; i++)
		v[n++] = (struct iovec){ f.v[i], strlen(f.v[i]) };
	sd_journal_sendv(v, (int)n);
}

#else

bool journal_is_stderr(void)
{
	return false;
}

int journal_stream(const char *identifier)
{
	(void)identifier;
	return -1;
}

void journal_send(int priority, const char *program, const char *message)
{
	(void)priority, (void)program, (void)message;
}

#endif
