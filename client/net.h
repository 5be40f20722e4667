/* SPDX-License-Identifier: Apache-2.0 */
/* The client's HTTP, by libcurl: one connection cache, bounded times. */
#ifndef CLIENT_NET_H
#define CLIENT_NET_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"

struct net;
/* What else wants attention while an exchange runs. */
struct net_watch {
	/* Fills in at most most descriptors to poll for; returns how many. */
	size_t (*fds)(void *ctx, struct pollfd *, size_t most);
	/* Called several times a second. True: something waits for the end of the
	 * exchange, which is interrupted if it can be resumed later. */
	bool (*look)(void *ctx);
	void *ctx;
};
/* Longest time of one download call, because reports must not wait for a slow
 * download. */
enum { NET_PART_S = 60 };
enum err net_open(const char *user_agent, struct net **, struct fail *);
void net_close(struct net *);
void net_set_watch(struct net *, const struct net_watch *);
/* Uses a proxy, except for the hosts in a list with commas; NULL: as the environment
 * says (http_proxy, https_proxy, all_proxy, no_proxy). The texts must stay. */
void net_set_proxy(struct net *, const char *proxy, const char *except);
/* Limits all later transfers of files, bytes/s; <= 0: no limit. */
void net_set_speed(struct net *, double up, double down);
/* Bytes that all exchanges sent and received so far, without headers. */
double net_bytes(const struct net *);
/* Was the last exchange interrupted by this process? Then it is no failure. */
bool net_interrupted(const struct net *);

struct net_answer {
	long status; /* HTTP status; 0: none received */
	char *text;  /* n bytes and a NUL */
	size_t n;
};
/* GET, or POST of post if it is not NULL, into memory, at most max bytes. E_SYS: no
 * answer. timeout_s bounds the whole exchange. */
enum err net_fetch(struct net *, struct arena *, const char *url,
    const struct buf *post, size_t max, int timeout_s, struct net_answer *,
    struct fail *);
/* GET that resumes path at its present length (Range), up to max bytes in all. *got
 * counts the bytes written now, also if the call fails or takes longer than NET_PART_S.
 * E_BADREQ: the server sends more than max. */
enum err net_download(struct net *, const char *url, const char *path, int64_t max,
    long *status, int64_t *got, struct fail *);
/* POST of the header text followed by the bytes of path from offset to its end. */
enum err net_upload(struct net *, struct arena *, const char *url,
    const struct buf *header, const char *path, int64_t offset, struct net_answer *,
    struct fail *);

#endif
