/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The golden world calls the library Check, which needs a test runner. These stubs
 * replace the functions it uses.
 */
#include <assert.h>
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include "lib/banned.h"

void _mark_point(const char *file, int line)
{
	(void)file, (void)line;
}

void _ck_assert_failed(
    const char *file, int line, const char *expr, const char *msg, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: %s\n", file, line, expr);
	va_start(ap, msg);
	if (msg != NULL)
		vfprintf(stderr, msg, ap);
	va_end(ap);
	__builtin_trap();
}
