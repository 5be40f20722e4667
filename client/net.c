/* SPDX-License-Identifier: Apache-2.0 */
/* The client's HTTP. */
#include "client/net.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <curl/curl.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum {
	REPLY_MAX = 64 << 10,
	CONNECT_S = 30,
	STALL_S = 60,
	REDIRECTS = 50,
	WATCHED_MOST = 64,
	LOOK_MS = 200
};

static const double SPEED_MOST = 1e15;

struct net {
	CURL *curl;
	CURLM *multi;
	struct net_watch watch;
	bool interrupted;
	const char *user_agent;
	const char *proxy, *no_proxy;
	curl_off_t up, down; /* bytes/s; 0: no limit */
	double bytes;        /* see net_bytes() */
	char why[CURL_ERROR_SIZE];
};

enum err net_open(const char *user_agent, struct net **net, struct fail *f)
{
	static struct net the_net; /* one connection cache per process */

	assert(the_net.curl == NULL);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    (the_net.curl = curl_easy_init()) == NULL ||
	    (the_net.multi = curl_multi_init()) == NULL)
		return FAIL(f, E_SYS, "cannot initialise libcurl");
	the_net.user_agent = user_agent;
	*net = &the_net;
	return OK;
}

void net_close(struct net *net)
{
	curl_multi_cleanup(net->multi);
	curl_easy_cleanup(net->curl);
	*net = (struct net){ 0 };
	curl_global_cleanup();
}

void net_set_watch(struct net *net, const struct net_watch *watch)
{
	net->watch = *watch;
}

void net_set_proxy(struct net *net, const char *proxy, const char *except)
{
	net->proxy = proxy;
	net->no_proxy = except;
}

void net_set_speed(struct net *net, double up, double down)
{
	net->up = up > 0 && up < SPEED_MOST ? (curl_off_t)up : 0;
	net->down = down > 0 && down < SPEED_MOST ? (curl_off_t)down : 0;
}

bool net_interrupted(const struct net *net)
{
	return net->interrupted || proc_stopping;
}

double net_bytes(const struct net *net)
{
	return net->bytes;
}

static int stop_early(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	(void)ctx, (void)a, (void)b, (void)c, (void)d;
	/* A stop interrupts the transfer, which is resumed later. */
	return proc_stopping;
}

/* Sets the options of one exchange; the reset clears those of the previous one, but
 * keeps its connection. */
static void set_curl_options(struct net *net, const char *url)
{
	CURL *c = net->curl;

	net->why[0] = '\0';
	curl_easy_reset(c);
	curl_easy_setopt(c, CURLOPT_USERAGENT, net->user_agent);
	curl_easy_setopt(c, CURLOPT_URL, url);
	curl_easy_setopt(c, CURLOPT_ERRORBUFFER, net->why);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS);
	curl_easy_setopt(c, CURLOPT_POSTREDIR, (long)(CURL_REDIR_POST_301));
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 10L);
	curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)STALL_S);
	if (net->proxy != NULL)
		curl_easy_setopt(c, CURLOPT_PROXY, net->proxy);
	if (net->no_proxy != NULL)
		curl_easy_setopt(c, CURLOPT_NOPROXY, net->no_proxy);
	curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, stop_early);
}

/* Waits until the exchange or a watched descriptor is ready. Returns true if something
 * waits for the end of the exchange. */
static bool wait_for_bytes(struct net *net)
{
	struct pollfd fds[WATCHED_MOST];
	struct curl_waitfd extra[WATCHED_MOST];
	size_t n = 0;

	if (net->watch.fds != NULL)
		n = net->watch.fds(net->watch.ctx, fds, N(fds));
	for (size_t i = 0; i < n; i++)
		extra[i] = (struct curl_waitfd){ .fd = fds[i].fd,
			.events = fds[i].events & POLLOUT ? CURL_WAIT_POLLOUT :
			                                    CURL_WAIT_POLLIN };
	curl_multi_poll(net->multi, extra, (unsigned)n, LOOK_MS, NULL);
	return net->watch.look != NULL && net->watch.look(net->watch.ctx);
}

static CURLcode run_exchange(struct net *net, bool resumable)
{
	CURLcode r = CURLE_ABORTED_BY_CALLBACK;
	CURLMsg *m;
	int running = 1, left;
	curl_off_t up = 0, down = 0;

	net->interrupted = false;
	if (curl_multi_add_handle(net->multi, net->curl) != CURLM_OK)
		return CURLE_FAILED_INIT;
	while (curl_multi_perform(net->multi, &running) == CURLM_OK && running > 0)
		if (wait_for_bytes(net) && resumable) {
			net->interrupted = true;
			break;
		}
	m = curl_multi_info_read(net->multi, &left);
	if (m != NULL && m->msg == CURLMSG_DONE)
		r = m->data.result;
	curl_easy_getinfo(net->curl, CURLINFO_SIZE_UPLOAD_T, &up);
	curl_easy_getinfo(net->curl, CURLINFO_SIZE_DOWNLOAD_T, &down);
	net->bytes += (double)up + (double)down;
	curl_multi_remove_handle(net->multi, net->curl);
	return r;
}

static enum err perform_transfer(
    struct net *net, const char *url, bool resumable, long *status, struct fail *f)
{
	CURLcode r = run_exchange(net, resumable);

	*status = 0;
	curl_easy_getinfo(net->curl, CURLINFO_RESPONSE_CODE, status);
	if (r == CURLE_OK)
		return OK;
	return FAIL(f, E_SYS, "%s: %s", url,
	    net->why[0] != '\0' ? net->why : curl_easy_strerror(r));
}

struct sink {
	struct buf text;
	size_t max;
};

static size_t into_buf(char *p, size_t size, size_t n, void *ctx)
{
	struct sink *s = ctx;

	n *= size;
	if (s->text.n + n > s->max)
		return 0;
	buf_put(&s->text, p, n);
	return n;
}

static void collect_into(struct net *net, struct arena *a, struct sink *s, size_t max)
{
	*s = (struct sink){ buf_new(a), max };
	curl_easy_setopt(net->curl, CURLOPT_WRITEFUNCTION, into_buf);
	curl_easy_setopt(net->curl, CURLOPT_WRITEDATA, s);
}

static void fill_answer(
    struct arena *a, const struct sink *s, struct net_answer *answer)
{
	answer->text = s->text.n > 0 ? s->text.p : arena_strdup(a, "");
	answer->n = s->text.n;
}

enum err net_fetch(struct net *net, struct arena *a, const char *url,
    const struct buf *post, size_t max, int timeout_s, struct net_answer *answer,
    struct fail *f)
{
	struct sink s;
	enum err e;

	set_curl_options(net, url);
	collect_into(net, a, &s, max);
	curl_easy_setopt(net->curl, CURLOPT_TIMEOUT, (long)timeout_s);
	if (post != NULL) {
		curl_easy_setopt(net->curl, CURLOPT_POST, 1L);
		curl_easy_setopt(net->curl, CURLOPT_POSTFIELDS, post->p);
		curl_easy_setopt(
		    net->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->n);
	}
	e = perform_transfer(net, url, false, &answer->status, f);
	fill_answer(a, &s, answer);
	return e;
}

struct file_sink {
	CURL *curl;
	int fd;
	int64_t at, max; /* bytes in the file, and their limit */
	int64_t got;
	bool over; /* more than max arrived */
};

/* The page of an error must not end up in the file. */
static size_t into_file(char *p, size_t size, size_t n, void *ctx)
{
	struct file_sink *s = ctx;
	long status = 0;

	n *= size;
	curl_easy_getinfo(s->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 || status > 299)
		return n;
	if (status == 200 && s->got == 0) {
		/* The server sends the whole file although a part was requested. */
		if (ftruncate(s->fd, 0) != 0)
			return 0;
		s->at = 0;
	}
	s->over = (int64_t)n > s->max - s->at;
	if (s->over)
		return 0;
	for (size_t done = 0; done < n;) {
		ssize_t w = write(s->fd, p + done, n - done);

		if (w < 0 && errno != EINTR)
			return 0;
		done += w > 0 ? (size_t)w : 0;
	}
	s->got += (int64_t)n;
	s->at += (int64_t)n;
	return n;
}

enum err net_download(struct net *net, const char *url, const char *path, int64_t max,
    long *status, int64_t *got, struct fail *f)
{
	int64_t have = fs_size(path);
	struct file_sink s = {
		.curl = net->curl, .fd = -1, .at = have > 0 ? have : 0, .max = max
	};
	char range[32];
	enum err e;

	*status = 0;
	*got = 0;

	s.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (s.fd < 0)
		return FAIL_ERRNO(f, "%s", path);
	set_curl_options(net, url);
	curl_easy_setopt(net->curl, CURLOPT_WRITEFUNCTION, into_file);
	curl_easy_setopt(net->curl, CURLOPT_WRITEDATA, &s);
	curl_easy_setopt(net->curl, CURLOPT_TIMEOUT, (long)NET_PART_S);
	curl_easy_setopt(net->curl, CURLOPT_MAX_RECV_SPEED_LARGE, net->down);
	/* CURLOPT_RESUME_FROM would treat the answer with a whole file as an error. */
	snprintf(range, sizeof(range), "%lld-", (long long)have);
	if (have > 0)
		curl_easy_setopt(net->curl, CURLOPT_RANGE, range);
	e = perform_transfer(net, url, true, status, f);
	if (e == OK && fsync(s.fd) != 0)
		e = FAIL_ERRNO(f, "%s", path);
	if (close(s.fd) != 0 && e == OK)
		e = FAIL_ERRNO(f, "%s", path);
	*got = s.got;
	if (s.over)
		return FAIL(f, E_BADREQ, "%s: the server sends more than %lld bytes",
		    url, (long long)max);
	return e;
}

struct source { /* header text, then the rest of a file */
	const char *header;
	size_t header_n;
	int fd;
};

static size_t from_source(char *p, size_t size, size_t n, void *ctx)
{
	struct source *s = ctx;
	ssize_t r;

	n *= size;
	if (s->header_n > 0) {
		if (n > s->header_n)
			n = s->header_n;
		memcpy(p, s->header, n);
		s->header += n;
		s->header_n -= n;
		return n;
	}
	do
		r = read(s->fd, p, n);
	while (r < 0 && errno == EINTR);
	return r < 0 ? CURL_READFUNC_ABORT : (size_t)r;
}

enum err net_upload(struct net *net, struct arena *a, const char *url,
    const struct buf *header, const char *path, int64_t offset,
    struct net_answer *answer, struct fail *f)
{
	struct source src = { header->p, header->n, -1 };
	struct sink s;
	enum err e;

	answer->status = 0;
	TRY(fs_open_file(path, &src.fd, f));
	if (lseek(src.fd, offset, SEEK_SET) < 0) {
		close(src.fd);
		return FAIL_ERRNO(f, "%s", path);
	}
	set_curl_options(net, url);
	collect_into(net, a, &s, REPLY_MAX);
	curl_easy_setopt(net->curl, CURLOPT_POST, 1L);
	curl_easy_setopt(net->curl, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)header->n + fs_size(path) - offset);
	curl_easy_setopt(net->curl, CURLOPT_READFUNCTION, from_source);
	curl_easy_setopt(net->curl, CURLOPT_READDATA, &src);
	curl_easy_setopt(net->curl, CURLOPT_MAX_SEND_SPEED_LARGE, net->up);
	e = perform_transfer(net, url, true, &answer->status, f);
	close(src.fd);
	fill_answer(a, &s, answer);
	return e;
}
