/* SPDX-License-Identifier: Apache-2.0 */
/* Web RPC replies and the master page (protocol.md 7, 13.3, 13.4). */
#ifndef PROTO_WEB_H
#define PROTO_WEB_H

#include <stdbool.h>
#include "lib/buf.h"
#include "model/conf.h"
#include "model/decision.h"

/*
 * Checks a name (UTF-8) or e-mail address (ASCII) of an account: NULL if valid, else
 * why not (protocol.md 7.3).
 */
const char *account_bad_name(const char *);
const char *account_bad_email(const char *);

enum web_error_num {
#define WEB_ERROR(name, num, text) WEB_##name = (num),
#include "proto/web_errors.def"
#undef WEB_ERROR
};

struct web_project { /* content of get_project_config.php */
	const struct conf *conf;
	const struct catalog *catalog; /* NULL: unknown; platforms are left out */
	const char *server_version;
	const char *terms_of_use; /* NULL: none */
	bool web_stopped, sched_stopped;
};

/*
 * Write the documents <error>, <account_out> and <project_config>. error_msg NULL: the
 * default text for the number; authenticator NULL: says only that the account exists.
 */
void web_error(struct buf *, enum web_error_num, const char *error_msg);
void web_account(struct buf *, const char *authenticator);
void web_project_config(struct buf *, const struct web_project *);
/* A file of html/ that is larger is not shown. */
enum { WEB_PAGE_MOST = 256 << 10 };
/*
 * Lists the scheduler URLs of a master page, in both spellings, without duplicates
 * (protocol.md 13.4).
 */
void master_parse(
    struct arena *, const char *page, size_t n, char ***urls, size_t *nurls);

#endif
