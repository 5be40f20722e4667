/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/http_ask.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>
#include "lib/banned.h"

enum { TIMEOUT_S = 10, REPLY_MAX = 1 << 20 };

static size_t answer_add(char *p, size_t size, size_t n, void *ctx)
{
	struct buf *b = ctx;

	if (b->n < REPLY_MAX)
		buf_put(b, p, size * n);
	return size * n;
}

static size_t answer_header(char *p, size_t size, size_t n, void *ctx)
{
	static const char date[] = "Date:";
	struct http_answer *w = ctx;
	size_t len = size * n;
	char text[64];

	if (len > sizeof(date) && strncasecmp(p, date, sizeof(date) - 1) == 0) {
		len -= sizeof(date) - 1;
		len = len < sizeof(text) ? len : sizeof(text) - 1;
		memcpy(text, p + sizeof(date) - 1, len);
		text[len] = '\0';
		w->date = curl_getdate(text, NULL);
	}
	return size * n;
}

/* Reads the end of the server's own certificate, which is the first of the chain. */
static int64_t certificate_end(CURL *c)
{
	static const char label[] = "Expire date:";
	struct curl_certinfo *info = NULL;

	if (curl_easy_getinfo(c, CURLINFO_CERTINFO, &info) != CURLE_OK ||
	    info == NULL || info->num_of_certs < 1)
		return -1;
	for (struct curl_slist *l = info->certinfo[0]; l != NULL; l = l->next)
		if (strncmp(l->data, label, sizeof(label) - 1) == 0)
			return curl_getdate(l->data + sizeof(label) - 1, NULL);
	return -1;
}

static void ask_set_options(CURL *c, const struct http_ask *q, struct http_answer *w)
{
	curl_easy_setopt(c, CURLOPT_URL, q->url);
	if (q->body != NULL) {
		curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE, (long)q->body_n);
		curl_easy_setopt(c, CURLOPT_POSTFIELDS, q->body);
	}
	if (q->ca_file != NULL)
		curl_easy_setopt(c, CURLOPT_CAINFO, q->ca_file);
	if (q->any_certificate) {
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 0L);
	}
	curl_easy_setopt(c, CURLOPT_PROXY, "");
	curl_easy_setopt(c, CURLOPT_CERTINFO, 1L);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, (long)TIMEOUT_S);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, answer_add);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, &w->body);
	curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, answer_header);
	curl_easy_setopt(c, CURLOPT_HEADERDATA, w);
}

bool http_ask(struct arena *a, const struct http_ask *q, struct http_answer *w)
{
	CURL *c = curl_easy_init();
	CURLcode rc;
	const char *text = NULL;

	*w = (struct http_answer){ .body = buf_new(a), .date = -1, .cert_end = -1 };
	buf_puts(&w->body, "");
	if (c == NULL) {
		w->why = arena_strdup(a, "libcurl does not work");
		return false;
	}
	ask_set_options(c, q, w);
	rc = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &w->status);
	curl_easy_getinfo(c, CURLINFO_REDIRECT_URL, &text);
	w->redirect = text == NULL ? NULL : arena_strdup(a, text);
	text = NULL;
	curl_easy_getinfo(c, CURLINFO_PRIMARY_IP, &text);
	w->address = arena_strdup(a, text);
	w->cert_end = certificate_end(c);
	if (rc != CURLE_OK) {
		w->why = arena_strdup(a, curl_easy_strerror(rc));
		w->bad_chain = rc == CURLE_PEER_FAILED_VERIFICATION;
		w->no_host = rc == CURLE_COULDNT_RESOLVE_HOST;
	}
	curl_easy_cleanup(c);
	return rc == CURLE_OK;
}
