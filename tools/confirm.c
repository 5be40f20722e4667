/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/confirm.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "lib/text.h"
#include "lib/banned.h"

enum err
confirm(struct cmd_ctx *x, bool yes, const char *fmt, ...)
{
	char question[400], answer[16];
	va_list ap;

	if (yes)
		return OK;
	va_start(ap, fmt);
	vsnprintf(question, sizeof(question), fmt, ap);
	va_end(ap);
	text_make_printable(question);
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ctx_usage(x, "this would %s; add --yes to do it", question);
	fflush(stdout);
	fprintf(stderr, "locus: %s? [y/N] ", question);
	if (fgets(answer, sizeof(answer), stdin) != NULL &&
	    (answer[0] == 'y' || answer[0] == 'Y'))
		return OK;
	x->status = EXIT_DECLINED;
	return FAIL(x->f, E_BADREQ, "nothing was changed");
}
