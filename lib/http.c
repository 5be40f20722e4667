/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and query strings, byte by byte and independent of the locale. */
#include "lib/http.h"

#include <string.h>
#include <strings.h>
#include "lib/buf.h"
#include "lib/text.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

char *url_decode(struct arena *a, const char *s, size_t n)
{
	char *out = arena_alloc(a, n + 1), *p = out;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if (c == '+') {
			c = ' ';
		} else if (c == '%' && n - i > 2 && hex_value(s[i + 1]) >= 0 &&
			   hex_value(s[i + 2]) >= 0) {
			c = (unsigned char)(hex_value(s[i + 1]) * 16 +
					    hex_value(s[i + 2]));
			i += 2;
		}
		if (c >= 32 && c != 127)
			*p++ = (char)c;
	}
	return out;
}

char *url_encode(struct arena *a, const char *s)
{
	struct buf b = buf_new(a);

	for (; *s != '\0'; s++)
		if (text_alnum(*s) || strchr("-_.~", *s) != NULL)
			buf_put(&b, s, 1);
		else
			buf_printf(&b, "%%%02X", (unsigned char)*s);
	return arena_strdup(a, b.p);
}

char *query_get(struct arena *a, const char *query, const char *name)
{
	size_t name_n = strlen(name);

	while (query != NULL && *query != '\0') {
		size_t n = strcspn(query, "&"), key_n = strcspn(query, "=&");
		if (key_n == name_n && memcmp(query, name, name_n) == 0)
			return key_n == n ?
			           arena_strdup(a, "") :
			           url_decode(a, query + key_n + 1, n - key_n - 1);
		query += n;
		if (*query == '&')
			query++;
	}
	return NULL;
}

/* Bytes of "http://" or "https://" at the start of s, 0 if neither. */
static size_t scheme_len(const char *s)
{
	if (strncasecmp(s, "http://", 7) == 0)
		return 7;
	return strncasecmp(s, "https://", 8) == 0 ? 8 : 0;
}

char *url_canonical(struct arena *a, const char *url)
{
	struct buf b = buf_new(a);
	size_t scheme, end;

	while (text_white(*url))
		url++;
	end = strcspn(url, " \t\r\n");
	scheme = scheme_len(url);
	if (scheme == 0 || url[end + strspn(url + end, " \t\r\n")] != '\0')
		return NULL;
	buf_puts(&b, scheme == 7 ? "http://" : "https://");
	for (size_t i = scheme, slashes = 0; i < end; i++) {
		char c = url[i];
		if ((unsigned char)c < 32 || c == 127)
			return NULL;
		if (c == '/' && b.p[b.n - 1] == '/')
			continue;
		slashes += c == '/';
		if (slashes == 0 && c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		buf_put(&b, &c, 1);
	}
	/* no host */
	if (b.n == scheme)
		return NULL;
	if (b.p[b.n - 1] != '/')
		buf_puts(&b, "/");
	return b.p;
}

/* The canonical URL without its scheme and the scheme's own port; NULL: not one. */
static char *url_place(struct arena *a, const char *url)
{
	char *c = url_canonical(a, url);
	const char *port, *host, *path;
	size_t n;

	if (c == NULL)
		return NULL;
	port = c[4] == 's' ? ":443" : ":80";
	host = strstr(c, "://") + 3;
	path = strchr(host, '/');
	n = strlen(port);
	if ((size_t)(path - host) > n && strncmp(path - n, port, n) == 0)
		return arena_printf(
		    a, "%.*s%s", (int)(path - host - (ptrdiff_t)n), host, path);
	return arena_strdup(a, host);
}

bool url_same(struct arena *a, const char *u, const char *v)
{
	const char *p = url_place(a, u), *q = url_place(a, v);

	return p != NULL && q != NULL && strcasecmp(p, q) == 0;
}

char *url_to_dir(struct arena *a, const char *url)
{
	const char *rest = strstr(url, "://");
	char *out = arena_strdup(a, rest == NULL ? url : rest + 3), *p;

	for (p = out; *p != '\0'; p++)
		if (!text_alnum(*p) && strchr("._-", *p) == NULL)
			*p = '_';
	while (p > out && p[-1] == '_')
		*--p = '\0';
	if (out[0] == '.')
		out[0] = '_'; /* neither hidden nor a parent directory */
	return out;
}
