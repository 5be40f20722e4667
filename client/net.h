/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as a client speaks it, by libcurl: one connection cache, bounded times. */
#ifndef CLIENT_NET_H
#define CLIENT_NET_H

#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

struct net;
/* Of a download at once: reports must not wait for a slow one. */
enum { NET_PART_S = 60 };
enum err net_open(const char *user_agent, struct net **, struct fail *);
void net_close(struct net *);

/*
 * GET into memory (at most max bytes) or POST of in (NULL = GET).  *status is the HTTP
 * status; E_SYS when there is none.  timeout_s bounds the whole exchange.
 */
enum err net_fetch(struct net *, struct arena *, const char *url, const char *in,
    size_t in_n, size_t max, int timeout_s, long *status, char **out, size_t *out_n,
    struct fail *);
/*
 * GET appended to path, from the length that it has (Range), up to max bytes in all;
 * *got counts the bytes that were written now, also when it failed or took longer than
 * NET_PART_S.  E_BADREQ: more than max come.
 */
enum err net_download(struct net *, const char *url, const char *path, int64_t max,
    long *status, int64_t *got, struct fail *);
/* POST of header text and then the bytes of path from offset to its end. */
enum err net_upload(struct net *, struct arena *, const char *url, const char *header,
    size_t header_n, const char *path, int64_t offset, long *status, char **out,
    size_t *out_n, struct fail *);

#endif
