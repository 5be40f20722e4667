/* SPDX-License-Identifier: Apache-2.0 */
/* Log entries with fields for systemd's journal; locus(7) lists the fields. */
#ifndef LIB_JOURNAL_H
#define LIB_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>

/* True if standard error is the journal; false without libsystemd. */
bool journal_is_stderr(void);
/*
 * Opens a stream of a program's output to the journal, in which its lines have that
 * identifier, and lets programs that this process starts next take it for the journal;
 * -1 if that fails.
 */
int journal_stream(const char *identifier);
/*
 * Adds an entry. priority as in syslog(3); message is a line of the log without time,
 * program and level, from which the fields are taken. A failure is ignored, as there is
 * no other place to say so.
 */
void journal_send(int priority, const char *program, const char *message);

enum { JOURNAL_TOKENS = 4, JOURNAL_FIELD_MAX = 48 };
struct journal_fields {
	char v[JOURNAL_TOKENS][JOURNAL_FIELD_MAX]; /* "LOCUS_HOST=7" */
	size_t n;
};
/*
 * Finds the objects that the message is about: those in brackets at its beginning,
 * after at most one word, as in "[rpc=81f3aa02] served [HOST#7] user=3". Later brackets
 * may hold text of clients. Pure.
 */
struct journal_fields journal_fields_of(const char *message);

#endif
