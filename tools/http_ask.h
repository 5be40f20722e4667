/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request by libcurl, for commands that look at the project from outside. */
#ifndef TOOLS_HTTP_ASK_H
#define TOOLS_HTTP_ASK_H

#include <stdbool.h>
#include "lib/buf.h"

struct http_ask {
	const char *url;
	const char *body; /* sent as a POST; NULL = a GET */
	size_t body_n;
	const char *ca_file; /* certificates to trust; NULL = the system's */
	bool any_certificate;
};
struct http_answer {
	long status;    /* 0 = no answer */
	char *why;      /* why there is none; NULL = there is one */
	bool bad_chain; /* because no trusted certificate authority vouches for it */
	bool no_host;   /* because its name has no address */
	struct buf body;
	char *redirect;   /* URL that a redirection names; NULL = none */
	char *address;    /* IP address that answered; "" if none */
	int64_t date;     /* of the header Date, in s UTC; -1 = none */
	int64_t cert_end; /* end of the server's certificate; -1 = no TLS */
};

/*
 * Sends the request and waits at most 10 s; follows no redirection and uses no proxy
 * that the environment names. Keeps at most 1 MB of the reply. Returns true if there is
 * an answer, whatever its status. Everything lives in the arena.
 */
bool http_ask(struct arena *, const struct http_ask *, struct http_answer *);

#endif
