/* SPDX-License-Identifier: Apache-2.0 */
/* locus host message: queues a text for a running task, sent with the next reply to its
 * host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "model/rows.h"
#include "tools/cmd.h"
#include "lib/banned.h"

enum { MESSAGE_MAX = 65536, LINE_MAX_BYTES = 254 };

/* Clients read line by line and write the lines to the task's trickle_down_TIME
 * (protocol.md 2.8). */
static enum err
check_lines(struct cmd_ctx *x, const char *file, const char *text, size_t n)
{
	int line = 1;

	if (memchr(text, '\0', n) != NULL)
		return FAIL(x->f, E_BADREQ, "%s contains a NUL byte", file);
	if (strstr(text, "</trickle_down>") != NULL)
		return FAIL(x->f, E_BADREQ, "%s contains </trickle_down>", file);
	for (const char *p = text; *p != '\0'; line++) {
		size_t len = strcspn(p, "\n");

		if (len > LINE_MAX_BYTES)
			return FAIL(x->f, E_BADREQ,
			    "%s: line %d has %zu bytes, but clients accept at most %d",
			    file, line, len, LINE_MAX_BYTES);
		p += len + (p[len] == '\n');
	}
	return OK;
}

static enum err
host_message_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct result *r;
	int64_t now = clock_now();
	char *text;
	size_t n;
	enum err e = fs_read(x->a, args[1], MESSAGE_MAX, &text, &n, x->f);

	(void)opts, (void)nargs;
	if (e == OK)
		e = check_lines(x, args[1], text, n);
	if (e == OK)
		e = ctx_db(x);
	if (e == OK)
		e = result_by_name(x->db, x->a, args[0], &r, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(x, "there is no result %s", args[0]);
	if (e != OK)
		return e;
	if (r->server_state != RESULT_IN_PROGRESS)
		return ctx_not_found(x, "result %s is not in progress", args[0]);
	e = message_insert(x->db, r->hostid, now, "trickle_down",
	    arena_printf(x->a,
		"<trickle_down>\n<result_name>%s</result_name>\n<time>%" PRId64
		"</time>\n%s%s</trickle_down>\n",
		r->name, now, text, n > 0 && text[n - 1] != '\n' ? "\n" : ""),
	    x->f);
	if (e != OK)
		return e;
	printf("queued for host %" PRId64 "\n", r->hostid);
	if (!x->cf->msg_to_host)
		fprintf(stderr,
		    "locus: the message will not be sent until config.xml has <msg_to_host>1</msg_to_host>\n");
	return OK;
}

const struct cmd cmd_host_message = { .name = "host message",
	.args = "RESULT FILE",
	.min_args = 2,
	.max_args = 2,
	.purpose = "send a message to a running task",
	.about =
	    "Queues the text of FILE for the task of that result. The host gets it with the next\n"
	    "reply and hands it to the task as a trickle-down message if the task is running\n"
	    "then; the server does not learn whether it was. Needs the option msg_to_host.",
	.run = host_message_run };
