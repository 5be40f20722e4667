/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a scheduler (LD_PRELOAD), this crashes it when it parses a document
 * that contains one of these words: CRASH-ABORT, CRASH-SEGV, CRASH-KILL; CRASH-ONCE
 * only if the file once exists, which it removes first. CRASH-WAIT makes it create the
 * file waiting and wait, for up to a minute, until that is removed. The files are in
 * the directory CRASH_DIR. Other programs do not parse requests.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libxml/parser.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "lib/banned.h"

enum { PATH_BYTES = 4096, LOOKS_MOST = 6000, LOOK_NS = 10000000 };

static bool document_has(const char *p, int n, const char *word)
{
	return memmem(p, (size_t)n, word, strlen(word)) != NULL;
}

static const char *crash_file(const char *name, char path[PATH_BYTES])
{
	const char *dir = getenv("CRASH_DIR");

	snprintf(path, PATH_BYTES, "%s/%s", dir == NULL ? "." : dir, name);
	return path;
}

static void wait_for_removal(const char *path)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };

	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
	for (int i = 0; i < LOOKS_MOST && access(path, F_OK) == 0; i++)
		nanosleep(&nap, NULL);
}

xmlDocPtr xmlCtxtReadMemory(xmlParserCtxtPtr parser, const char *p, int n,
    const char *url, const char *encoding, int options)
{
	static __typeof__(xmlCtxtReadMemory) *real;
	char path[PATH_BYTES];

	if (real == NULL)
		real = (__typeof__(real))dlsym(RTLD_NEXT, "xmlCtxtReadMemory");
	if (document_has(p, n, "CRASH-WAIT"))
		wait_for_removal(crash_file("waiting", path));
	if (document_has(p, n, "CRASH-ABORT"))
		raise(SIGABRT);
	if (document_has(p, n, "CRASH-SEGV"))
		raise(SIGSEGV);
	if (document_has(p, n, "CRASH-KILL"))
		raise(SIGKILL);
	if (document_has(p, n, "CRASH-ONCE") && unlink(crash_file("once", path)) == 0)
		raise(SIGKILL);
	return real(parser, p, n, url, encoding, options);
}
