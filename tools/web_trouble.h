/* SPDX-License-Identifier: Apache-2.0 */
/* Why a URL of the project is not answered by the project, and what mends it. */
#ifndef TOOLS_WEB_TROUBLE_H
#define TOOLS_WEB_TROUBLE_H

#include "tools/cmd.h"
#include "tools/http_ask.h"

struct web_trouble {
	char *why;  /* the cause; NULL = unknown */
	char *text; /* what came back, and the cause */
	char *cure;
};

/*
 * Finds the cause after a request that failed, or was answered by something else.
 * service: "scheduler", "web" or "upload"; NULL for a file that the web server itself
 * reads. The answer lives in the arena.
 */
struct web_trouble web_trouble(struct cmd_ctx *, struct arena *, const char *service,
    const char *url, const struct http_answer *);
/*
 * Finds a fault in the configuration of the project's web server, without text. False
 * if there is none, or it is not known.
 */
bool web_conf_trouble(
    struct cmd_ctx *, struct arena *, const char *service, struct web_trouble *);
/* config.xml lacks the URL of that service, "scheduler" or "upload". */
struct web_trouble web_no_url(struct cmd_ctx *, struct arena *, const char *service);
/* Returns the host of "https://HOST:PORT/NAME/"; of an IPv6 address without brackets.
 */
char *url_host(struct arena *, const char *url);
/* Returns what shows the redirections of the machine's web server, and what to do. */
char *redirect_cure(struct arena *, const char *what);
/* Returns what gives the project a certificate that clients trust. */
char *certificate_cure(struct arena *, const struct conf *);

#endif
