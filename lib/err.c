/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in struct fail; the name and exit status of each error. Short, because what is
 * done about an error belongs to its caller.
 */
#include "lib/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/log_repeat.h"

static const struct {
	const char *name;
	int exit;
} errs[E__MAX] = {
	[OK] = { "OK", 0 },
	[E_BADREQ] = { "BADREQ", 1 },
	[E_NOTFOUND] = { "NOTFOUND", 1 },
	[E_RACE] = { "RACE", 1 },
	[E_RETRY] = { "RETRY", 75 },
	[E_DB] = { "DB", 69 },
	[E_SYS] = { "SYS", 1 },
	[E_DISK_FULL] = { "DISK_FULL", 1 },
	[E_DENIED] = { "DENIED", 77 },
	[E_CONFIG] = { "CONFIG", 78 },
};

/* Formats into a copy first: an argument may be the very detail that is replaced. */
__attribute__((format(printf, 5, 0))) static enum err fail_record(struct fail *f,
    enum err code, const char *where, const char *more, const char *fmt, va_list ap)
{
	char text[FAIL_BYTES];
	int n = vsnprintf(text, sizeof(text), fmt, ap);

	assert(code > OK && code < E__MAX && n >= 0);
	if (f == NULL)
		return code;
	if (more != NULL && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s", more);
	f->code = code;
	f->sys = 0;
	f->where = where;
	f->kind = log_kind(fmt, text) ^ (log_kind(where, where) + code);
	memcpy(f->detail, text, sizeof(text));
	return code;
}

enum err fail_set(
    struct fail *f, enum err code, const char *where, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fail_record(f, code, where, NULL, fmt, ap);
	va_end(ap);
	return code;
}

static enum err err_of_errno(int number)
{
	switch (number) {
	case ENOSPC:
	case EDQUOT:
		return E_DISK_FULL;
	case EACCES:
	case EPERM:
		return E_DENIED;
	default:
		return E_SYS;
	}
}

enum err fail_errno(struct fail *f, const char *where, const char *fmt, ...)
{
	char text[128];
	int number = errno;
	enum err code = err_of_errno(number);
	const char *why = strerror_r(number, text, sizeof(text));
	va_list ap;

	va_start(ap, fmt);
	fail_record(f, code, where, why, fmt, ap);
	if (f != NULL)
		f->sys = number;
	va_end(ap);
	return code;
}

const char *err_name(enum err e)
{
	assert(e >= OK && e < E__MAX);
	return errs[e].name;
}

int err_exit(enum err e)
{
	assert(e >= OK && e < E__MAX);
	return errs[e].exit;
}
