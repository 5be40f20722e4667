/* SPDX-License-Identifier: Apache-2.0 */
/* locus record host: records a host's requests, each with the rows that it was decided
 * by. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { HOUR_S = 3600 };

struct record_opts {
	const char *span;
};

static const struct opt record_options[] = {
	{ "for", OPT_TEXT, offsetof(struct record_opts, span), "TIME",
	    "Duration: 30m, 1h, 2d, or a number of seconds; default: one hour." },
	{ 0 },
};

static enum err
recording_start(struct cmd_ctx *x, const char *path, int64_t id, int64_t seconds)
{
	char *dir = arena_printf(x->a, "%s/recording", x->cf->run_dir);
	int64_t until = clock_now() + seconds;
	char *text = arena_printf(x->a, "%" PRId64 "\n", until), at[21];
	struct host *h;

	TRY(ctx_db(x));
	TRY(tools_host(x, id, &h));
	TRY(fs_mkdirs(dir, 0750, x->f));
	TRY(fs_write(path, text, strlen(text), 0644, x->f));
	printf("host %lld is recorded until %s, in %s\n", (long long)id,
	    clock_text(until, at), project_path(x->a, x->cf, "recordings"));
	return OK;
}

static enum err
record_host_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct record_opts *o = opts;
	int64_t id, seconds = HOUR_S;
	bool on = strcmp(args[1], "on") == 0;
	char *path;

	(void)n;
	if (!text_i64(args[0], 1, INT64_MAX, &id))
		return ctx_usage(x, "\"%.60s\" is not the id of a host", args[0]);
	if (!on && strcmp(args[1], "off") != 0)
		return ctx_usage(x, "\"%.60s\": must be on or off", args[1]);
	if (o->span != NULL && !human_span_parse(o->span, &seconds))
		return ctx_usage(
		    x, "--for %.60s: must be a duration such as 30m or 1h", o->span);
	TRY(ctx_conf(x));
	path = arena_printf(x->a, "%s/recording/%lld", x->cf->run_dir, (long long)id);
	return on ? recording_start(x, path, id, seconds) : fs_unlink(path, x->f);
}

const struct cmd cmd_record_host = { .name = "record host",
	.args = "ID on|off",
	.min_args = 2,
	.max_args = 2,
	.purpose = "record a host's requests with all their input",
	.about =
	    "For a limited time the schedulers of this machine write each request of the host to a\n"
	    "file HOST-NUMBER-RPC.recording in the project's directory recordings: the request,\n"
	    "every row that the decision looked at, the configuration (without the database's\n"
	    "password) and the reply. locus replay decides it again, on any machine. They contain\n"
	    "the account's key, so only the project's account may read them.",
	.details = "The files take at most debug_req_reply_max_bytes.",
	.opts = record_options,
	.opts_size = sizeof(struct record_opts),
	.run = record_host_run };
