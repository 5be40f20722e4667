/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why tasks fail: the failures of some time, grouped by app, exit status and what the
 * program wrote, with an example and what to try. For locus status and explain app.
 */
#ifndef TOOLS_FAILURES_H
#define TOOLS_FAILURES_H

#include "rules/daemon/daemon_rules.h"
#include "tools/cmd.h"

struct failure_kind {
	int64_t appid;
	int32_t outcome, exit_status;
	int64_t file_error; /* stderr_file_error() */
	char *signature;    /* of stderr; "" = it says nothing */
	int64_t n, hosts;   /* results, and different hosts */
	int32_t version;    /* the only one that failed so; 0 = several */
	int64_t host;       /* the only one; 0 = several */
	int64_t last;       /* when, s UTC */
	char *example;      /* name of the newest such result */
	enum blame blame;   /* by what succeeded elsewhere */
	const char *app;    /* its name, "" = it is gone */
};
struct failures {
	struct failure_kind *v; /* the most frequent first */
	size_t n;
	int64_t total;  /* failures in that time */
	int64_t looked; /* the newest of them, which are grouped */
	int64_t since;
};

/* Groups the failures since a time, at most the newest `most`; appid 0 = of all apps.
 */
enum err failures_read(
    struct cmd_ctx *, int64_t appid, int64_t since, int64_t most, struct failures *);
/* "exit status 139 (killed by SIGSEGV): Error: cannot open #". */
char *failure_words(struct arena *, const struct failure_kind *);
/*
 * What to try: a command, with a comment for people. Reads the example for the limit
 * that it exceeded.
 */
char *failure_cure(struct cmd_ctx *, const struct failure_kind *);

#endif
