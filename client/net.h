/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as a client speaks it, by libcurl: one connection cache, bounded times. */
#ifndef CLIENT_NET_H
#define CLIENT_NET_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

struct net;
/* Of a download at once: reports must not wait for a slow one. */
enum { NET_PART_S = 60 };
enum err net_open(const char *user_agent, struct net **, struct fail *);
void net_close(struct net *);

struct net_answer {
	long status; /* of HTTP; 0: there was none */
	char *text;  /* n bytes, NUL behind them */
	size_t n;
};
/*
 * GET into memory (at most max bytes) or POST of post (NULL = GET).  E_SYS when there
 * is no answer.  timeout_s bounds the whole exchange.
 */
enum err net_fetch(struct net *, struct arena *, const char *url,
    const struct buf *post, size_t max, int timeout_s, struct net_answer *,
    struct fail *);
/*
 * GET appended to path, from the length that it has (Range), up to max bytes in all;
 * *got counts the bytes that were written now, also when it failed or took longer than
 * NET_PART_S.  E_BADREQ: more than max come.
 */
enum err net_download(struct net *, const char *url, const char *path, int64_t max,
    long *status, int64_t *got, struct fail *);
/* POST of header text and then the bytes of path from offset to its end. */
enum err net_upload(struct net *, struct arena *, const char *url,
    const struct buf *header, const char *path, int64_t offset, struct net_answer *,
    struct fail *);

#endif
