/* SPDX-License-Identifier: Apache-2.0 */
/* An empty scheduler request by libcurl; a scheduler answers even that with a
 * scheduler_reply. */
#include "tools/probe.h"

#include <curl/curl.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/banned.h"

enum { TIMEOUT_S = 5, REPLY_MAX = 64 << 10 };

static size_t
take(char *p, size_t size, size_t n, void *ctx)
{
	struct buf *b = ctx;

	if (b->n < REPLY_MAX)
		buf_put(b, p, size * n);
	return size * n;
}

bool
probe_scheduler(struct arena *a, const struct conf *cf, char **why)
{
	static const char body[] = "<scheduler_request>\n</scheduler_request>\n";
	size_t len = strcspn(cf->scheduler_url, " ");
	const char *url = arena_memdup(a, cf->scheduler_url, len);
	struct buf reply = buf_new(a);
	CURL *c = curl_easy_init();
	CURLcode rc;
	long http = 0;

	if (c == NULL)
		return false;
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)strlen(body));
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &reply);
	rc = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &http);
	curl_easy_cleanup(c);
	if (rc != CURLE_OK)
		*why = arena_printf(a, "%s: %s", url, curl_easy_strerror(rc));
	else if (http != 200 || strstr(reply.p, "<scheduler_reply>") == NULL)
		*why = arena_printf(
		    a, "%s answers HTTP %ld without a scheduler_reply", url, http);
	else
		return true;
	return false;
}
