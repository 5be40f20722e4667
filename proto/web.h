/* SPDX-License-Identifier: Apache-2.0 */
/* Web RPC replies and the master page (wire.md 7, stock-client.md 3, 4). */
#ifndef PROTO_WEB_H
#define PROTO_WEB_H

#include "lib/buf.h"
#include "model/conf.h"
#include "model/snapshot.h"

/* A name or e-mail address of an account: NULL, or why it is not one (wire.md 7.3). */
const char *account_bad_name(const char *);
const char *account_bad_email(const char *);

/* The documents <error>, <account_out> and <project_config>. */
void web_error(struct buf *, int error_num, const char *error_msg);
void web_account(struct buf *, const char *authenticator);
void web_project_config(struct buf *, const struct conf *, const struct catalog *,
    bool web_stopped, bool sched_stopped);
/*
 * Scheduler URLs of a master page, both spellings, duplicates dropped
 * (stock-client.md 4).
 */
void master_parse(
    struct arena *, const char *page, size_t n, char ***urls, size_t *nurls);

#endif
