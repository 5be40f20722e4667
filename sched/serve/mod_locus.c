/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An Apache module that limits how many threads the connections of one address may hold
 * while they wait for bytes from their clients. Only connections that wait at this
 * moment count, and beyond the limit bytes that have already arrived are still read.
 * So hundreds of hosts behind one address whose requests arrive in one piece are never
 * refused, and nobody is refused because the server itself is slow.
 *
 * Each Apache thread has a slot in shared memory that names the address it waits for;
 * counting means scanning all slots, a few thousand. Slots left behind by a killed
 * child are recognised by its pid.
 *
 * LocusSlowPerAddress NUMBER: the limit; 0 = none. LocusTrustedProxies NUMBER
 * [NETWORK...]: trusted_proxies and proxy_networks.
 *
 * The virtual host of a connection is known only after its header, so the lowest limit
 * of all virtual hosts applies to the whole of Apache.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <httpd.h>
#include <http_config.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_log.h>
#include <http_main.h>
#include <http_protocol.h>
#include <http_request.h>
#include <ap_mpm.h>
#include <apr_network_io.h>
#include <apr_strings.h>
#include <scoreboard.h>
#include <util_filter.h>
#include "lib/banned.h"

extern module AP_MODULE_DECLARE_DATA locus_module;
APLOG_USE_MODULE(locus);

enum {
	NETWORK_BYTES = 8, /* of an IPv6 address: its network */
	KNOWN_US = 100000, /* a connection that has waited longer is known */
	KNOWN_FACTOR = 2,  /* known connections have the limit times this */
	TELL_US = 10 * 1000000,
	ADDRESS_MAX = 45,
	PROXIES_MAX = 8,
	SLOW_MAX = 65536,
	PEEK_BYTES = 1024
};

static const uint64_t v4_network = 0xffffULL << 32; /* not an assigned IPv6 network */

struct slot {         /* one per thread */
	uint64_t key; /* address or network that the thread waits for; 0 = none */
	uint32_t pid;
};

struct board { /* in shared memory */
	uint64_t told_us, refused;
	struct slot slots[];
};

struct limits {                   /* for the whole server */
	int slow, threads, slots; /* threads per child; slots of all children */
	struct board *board;
	size_t bytes;
	pid_t parent;
};

struct conf {              /* per virtual host */
	int slow, proxies; /* -1 = not given */
	apr_array_header_t *networks;
	struct limits *limits;
};

struct wait { /* per connection */
	conn_rec *c;
	const struct limits *limits;
	uint64_t peer, key; /* whom to count: for headers; for what is read now */
	apr_time_t waited_us;
	bool in_request;
};

/* --- addresses --- */

/* Returns 0 if there is no address. */
static uint64_t key_of_v6(const unsigned char *p)
{
	static const unsigned char v4_in_v6[12] = { [10] = 0xff, [11] = 0xff };
	uint64_t key = 0;

	if (memcmp(p, v4_in_v6, sizeof(v4_in_v6)) == 0)
		return v4_network | (uint64_t)p[12] << 24 | (uint64_t)p[13] << 16 |
		       (uint64_t)p[14] << 8 | p[15];
	for (int i = 0; i < NETWORK_BYTES; i++)
		key = key << 8 | p[i];
	return key == 0 ? 1 : key; /* ::1 */
}

static uint64_t key_of_text(const char *address)
{
	unsigned char p[16] = { 0 };
	uint32_t v4;

	if (inet_pton(AF_INET, address, p) == 1) {
		memcpy(&v4, p, sizeof(v4));
		return v4_network | ntohl(v4);
	}
	return inet_pton(AF_INET6, address, p) == 1 ? key_of_v6(p) : 0;
}

static uint64_t address_key(const apr_sockaddr_t *sa)
{
	if (sa->family == APR_INET)
		return v4_network | ntohl(sa->sa.sin.sin_addr.s_addr);
	if (sa->family == APR_INET6)
		return key_of_v6(sa->sa.sin6.sin6_addr.s6_addr);
	return 0;
}

static bool is_proxy(const struct conf *cf, apr_sockaddr_t *peer)
{
	if (cf->networks == NULL || cf->networks->nelts == 0)
		return cf->proxies > 0;
	for (int i = 0; i < cf->networks->nelts; i++)
		if (apr_ipsubnet_test(
			APR_ARRAY_IDX(cf->networks, i, apr_ipsubnet_t *), peer))
			return true;
	return false;
}

/*
 * As fcgi_peer() in sched/serve/fcgi.c: the entry that the outermost of our proxies
 * wrote.
 */
static uint64_t key_forwarded(request_rec *r, int proxies)
{
	const char *list = apr_table_get(r->headers_in, "X-Forwarded-For"), *p, *colon;
	size_t n;

	if (list == NULL || proxies <= 0)
		return 0;
	p = list + strlen(list);
	while (p > list && (p[-1] != ',' || --proxies > 0))
		p--;
	p += strspn(p, " \t[");
	n = strspn(p, "0123456789abcdefABCDEF.:");
	colon = memchr(p, ':', n);
	if (colon != NULL && memchr(p, '.', (size_t)(colon - p)) != NULL)
		n = (size_t)(colon - p);
	return key_of_text(
	    apr_pstrmemdup(r->pool, p, n < ADDRESS_MAX ? n : ADDRESS_MAX));
}

/* --- who waits --- */

static struct slot *slot_of(const struct wait *w)
{
	long id = w->c->id; /* the thread's number */

	return id < 0 || id >= w->limits->slots ? NULL : &w->limits->board->slots[id];
}

static void set_slot(struct slot *s, uint64_t key)
{
	__atomic_store_n(&s->pid, (uint32_t)getpid(), __ATOMIC_SEQ_CST);
	__atomic_store_n(&s->key, key, __ATOMIC_SEQ_CST);
}

static bool child_lives(int child, uint32_t pid)
{
	const process_score *p = ap_get_scoreboard_process(child);

	return p != NULL && (uint32_t)p->pid == pid;
}

static int count_waiting(const struct limits *l, uint64_t key)
{
	const struct slot *s = l->board->slots;
	int n = 0;

	for (int i = 0; i < l->slots; i++)
		if (__atomic_load_n(&s[i].key, __ATOMIC_RELAXED) == key &&
		    child_lives(
			i / l->threads, __atomic_load_n(&s[i].pid, __ATOMIC_RELAXED)))
			n++;
	return n;
}

static void log_refused(const struct wait *w, int n)
{
	struct board *b = w->limits->board;
	uint64_t now_us = (uint64_t)apr_time_now();
	uint64_t told_us = __atomic_load_n(&b->told_us, __ATOMIC_RELAXED);
	char address[INET6_ADDRSTRLEN] = "?";
	unsigned char p[16] = { 0 };

	__atomic_add_fetch(&b->refused, 1, __ATOMIC_RELAXED);
	if (now_us - told_us < TELL_US ||
	    !__atomic_compare_exchange_n(&b->told_us, &told_us, now_us, false,
		__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	for (int i = 0; i < NETWORK_BYTES; i++)
		p[i] = (unsigned char)(w->key >> (56 - 8 * i));
	if (w->key >> 32 == v4_network >> 32)
		inet_ntop(AF_INET, p + 4, address, sizeof(address));
	else
		inet_ntop(AF_INET6, p, address, sizeof(address));
	ap_log_cerror(APLOG_MARK, APLOG_WARNING, 0, w->c,
	    "locus: %d connections of %s%s wait for the rest of their requests; more than %d are refused (max_slow_connections_per_address), %" PRIu64
	    " were refused recently for all addresses",
	    n, address, w->key >> 32 == v4_network >> 32 ? "" : "/64", w->limits->slow,
	    __atomic_exchange_n(&b->refused, 0, __ATOMIC_RELAXED));
}

/*
 * In the middle of a header no reply would make sense yet, so the connection is
 * aborted.
 */
static apr_status_t refuse_waiting(struct wait *w, int n)
{
	log_refused(w, n);
	w->c->keepalive = AP_CONN_CLOSE;
	if (w->in_request)
		return APR_TIMEUP; /* 408 */
	w->c->aborted = 1;
	return APR_ECONNABORTED;
}

/* Does bb end with a line end, or hold as much as a line may have? */
static bool is_line(apr_bucket_brigade *bb)
{
	apr_bucket *last = APR_BRIGADE_LAST(bb);
	apr_off_t length = 0;
	const char *p;
	apr_size_t n;

	if (last == APR_BRIGADE_SENTINEL(bb))
		return false;
	if (APR_BUCKET_IS_METADATA(last))
		return true;
	apr_brigade_length(bb, 1, &length);
	return length >= HUGE_STRING_LEN ||
	       (apr_bucket_read(last, &p, &n, APR_NONBLOCK_READ) == APR_SUCCESS &&
		   n > 0 && p[n - 1] == '\n');
}

/* Beyond the limit: reads what has already arrived, or refuses. */
static apr_status_t read_without_waiting(ap_filter_t *f, apr_bucket_brigade *bb,
    ap_input_mode_t mode, apr_off_t bytes, int waiting)
{
	apr_status_t rv = ap_get_brigade(f->next, bb, mode, APR_NONBLOCK_READ, bytes);
	bool none = rv == APR_SUCCESS ? APR_BRIGADE_EMPTY(bb) :
	                                APR_STATUS_IS_EAGAIN(rv);

	if (none || (rv == APR_SUCCESS && mode == AP_MODE_GETLINE && !is_line(bb)))
		return refuse_waiting(f->ctx, waiting);
	return rv;
}

static apr_status_t read_counted(ap_filter_t *f, apr_bucket_brigade *bb,
    ap_input_mode_t mode, apr_read_type_e block, apr_off_t bytes)
{
	struct wait *w = f->ctx;
	struct slot *s = slot_of(w);
	int most = w->limits->slow * (w->waited_us > KNOWN_US ? KNOWN_FACTOR : 1), n;
	apr_time_t since_us;
	apr_status_t rv;

	if (block != APR_BLOCK_READ || w->key == 0 || s == NULL)
		return ap_get_brigade(f->next, bb, mode, block, bytes);
	set_slot(s, w->key);
	n = count_waiting(w->limits, w->key);
	if (n > most) {
		set_slot(s, 0);
		return read_without_waiting(f, bb, mode, bytes, n);
	}
	since_us = apr_time_now();
	rv = ap_get_brigade(f->next, bb, mode, block, bytes);
	set_slot(s, 0);
	w->waited_us += apr_time_now() - since_us;
	return rv;
}

/* --- a connection, a request --- */

static const struct conf *locus_conf_of(const server_rec *s)
{
	return ap_get_module_config(s->module_config, &locus_module);
}

/*
 * Is the peer a proxy of any virtual host? The connection's virtual host is not known
 * yet.
 */
static bool is_any_proxy(const conn_rec *c)
{
	for (const server_rec *s = ap_server_conf; s != NULL; s = s->next)
		if (is_proxy(locus_conf_of(s), c->client_addr))
			return true;
	return false;
}

static int pre_connection(conn_rec *c, void *socket)
{
	const struct limits *l = locus_conf_of(c->base_server)->limits;
	struct wait *w;

	(void)socket;
	if (l == NULL || l->slow == 0 || c->master != NULL)
		return DECLINED;
	w = apr_pcalloc(c->pool, sizeof(*w));
	w->c = c;
	w->limits = l;
	w->peer = is_any_proxy(c) ? 0 : address_key(c->client_addr);
	w->key = w->peer;
	ap_set_module_config(c->conn_config, &locus_module, w);
	ap_add_input_filter("LOCUS_SLOW", w, NULL, c);
	return DECLINED;
}

static struct wait *wait_of(const request_rec *r)
{
	return ap_get_module_config(r->connection->conn_config, &locus_module);
}

static void pre_read_request(request_rec *r, conn_rec *c)
{
	struct wait *w = wait_of(r);

	(void)c;
	if (w == NULL)
		return;
	w->key = w->peer;
	w->in_request = false;
}

/*
 * From here on the client behind a proxy is known, including the one found by
 * mod_remoteip.
 */
static int post_read_request(request_rec *r)
{
	const struct conf *cf = locus_conf_of(r->server);
	struct wait *w = wait_of(r);
	uint64_t key = 0;

	if (w == NULL || r->main != NULL || r->prev != NULL)
		return DECLINED;
	w->in_request = true;
	if (r->useragent_addr != r->connection->client_addr)
		key = address_key(r->useragent_addr);
	else if (is_proxy(cf, r->connection->client_addr))
		key = key_forwarded(r, cf->proxies);
	w->key = key != 0 ? key : address_key(r->connection->client_addr);
	return DECLINED;
}

/* Returns how many bytes of the body have arrived, up to n. */
static apr_off_t bytes_here(request_rec *r, apr_off_t n)
{
	apr_bucket_brigade *bb = apr_brigade_create(
	    r->pool, r->connection->bucket_alloc);
	apr_off_t here = 0;

	if (ap_get_brigade(r->proto_input_filters, bb, AP_MODE_SPECULATIVE,
		APR_NONBLOCK_READ, n) == APR_SUCCESS)
		apr_brigade_length(bb, 1, &here);
	apr_brigade_destroy(bb);
	return here;
}

/*
 * Beyond the limit, refuses a body that has not arrived before any program hears of the
 * request: telling the program would cost as much as serving it.
 */
static int refuse_body(request_rec *r)
{
	const char *length = apr_table_get(r->headers_in, "Content-Length");
	struct wait *w = wait_of(r);
	apr_off_t wanted = PEEK_BYTES;
	int n;

	if (w == NULL || w->key == 0 || r->main != NULL || r->prev != NULL ||
	    (length == NULL &&
		apr_table_get(r->headers_in, "Transfer-Encoding") == NULL))
		return DECLINED;
	n = count_waiting(w->limits, w->key);
	if (n < w->limits->slow)
		return DECLINED;
	if (length != NULL)
		wanted = apr_atoi64(length) < PEEK_BYTES ? apr_atoi64(length) :
		                                           PEEK_BYTES;
	if (bytes_here(r, wanted) >= wanted)
		return DECLINED;
	log_refused(w, n);
	return HTTP_SERVICE_UNAVAILABLE;
}

/* --- configuration --- */

static void *locus_create_conf(apr_pool_t *p, server_rec *s)
{
	struct conf *cf = apr_pcalloc(p, sizeof(*cf));

	(void)s;
	cf->slow = cf->proxies = -1;
	return cf;
}

static void *locus_merge_conf(apr_pool_t *p, void *base, void *own)
{
	const struct conf *b = base, *o = own;
	struct conf *cf = apr_pmemdup(p, o, sizeof(*o));

	if (o->slow < 0)
		cf->slow = b->slow;
	if (o->proxies < 0) {
		cf->proxies = b->proxies;
		cf->networks = b->networks;
	}
	return cf;
}

static bool parse_number(const char *text, int max, int *n)
{
	char *end;
	apr_int64_t v = apr_strtoi64(text, &end, 10);

	if (end == text || *end != '\0' || v < 0 || v > max)
		return false;
	*n = (int)v;
	return true;
}

static struct conf *conf_to_set(cmd_parms *cmd)
{
	return ap_get_module_config(cmd->server->module_config, &locus_module);
}

static const char *set_slow(cmd_parms *cmd, void *dir, const char *text)
{
	(void)dir;
	return parse_number(text, SLOW_MAX, &conf_to_set(cmd)->slow) ?
	           NULL :
	           "LocusSlowPerAddress takes a number from 0 to 65536";
}

static const char *set_proxies(cmd_parms *cmd, void *dir, int n, char *const *args)
{
	struct conf *cf = conf_to_set(cmd);

	(void)dir;
	if (n < 1 || !parse_number(args[0], PROXIES_MAX, &cf->proxies))
		return "LocusTrustedProxies takes a number from 0 to 8, then networks";
	cf->networks = apr_array_make(cmd->pool, n, sizeof(apr_ipsubnet_t *));
	for (int i = 1; i < n; i++) {
		char *address = apr_pstrdup(cmd->temp_pool, args[i]);
		char *slash = strchr(address, '/');

		if (slash != NULL)
			*slash++ = '\0';
		if (apr_ipsubnet_create(&APR_ARRAY_PUSH(cf->networks, apr_ipsubnet_t *),
			address, slash, cmd->pool) != APR_SUCCESS)
			return apr_pstrcat(cmd->pool, "LocusTrustedProxies: ", args[i],
			    " is not a network such as 192.0.2.0/24 or 2001:db8::/32",
			    NULL);
	}
	return NULL;
}

static const command_rec commands[] = {
	{ "LocusSlowPerAddress", { .take1 = set_slow }, NULL, RSRC_CONF, TAKE1,
	    "How many connections of one address may wait for the rest of their requests" },
	{ "LocusTrustedProxies", { .take_argv = set_proxies }, NULL, RSRC_CONF,
	    TAKE_ARGV, "How many proxies are in front, and their networks" },
	{ 0 },
};

static int lowest_slow(const server_rec *s)
{
	int lowest = 0;

	for (; s != NULL; s = s->next) {
		int slow = locus_conf_of(s)->slow;

		if (slow > 0 && (lowest == 0 || slow < lowest))
			lowest = slow;
	}
	return lowest;
}

/*
 * Only the parent unmaps the board: the threads of a child use it until the child has
 * ended.
 */
static apr_status_t unmap_board(void *arg)
{
	struct limits *l = arg;

	if (getpid() == l->parent)
		munmap(l->board, l->bytes);
	return APR_SUCCESS;
}

static int map_board(apr_pool_t *p, server_rec *s, struct limits *l)
{
	int prot = PROT_READ | PROT_WRITE;

	l->bytes = sizeof(struct board) + (size_t)l->slots * sizeof(struct slot);
	/* cppcheck-suppress invalidFunctionArg */
	l->board = mmap(NULL, l->bytes, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (l->board == MAP_FAILED) {
		ap_log_error(APLOG_MARK, APLOG_CRIT, APR_FROM_OS_ERROR(errno), s,
		    "locus: cannot map %zu bytes of shared memory", l->bytes);
		return HTTP_INTERNAL_SERVER_ERROR;
	}
	l->parent = getpid();
	apr_pool_cleanup_register(p, l, unmap_board, apr_pool_cleanup_null);
	return OK;
}

static int post_config(
    apr_pool_t *p, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
	struct limits *l = apr_pcalloc(p, sizeof(*l));
	int children = 0;

	(void)plog;
	(void)ptemp;
	if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG)
		return OK; /* a first reading; the configuration is read again */
	ap_mpm_query(AP_MPMQ_HARD_LIMIT_DAEMONS, &children);
	ap_mpm_query(AP_MPMQ_HARD_LIMIT_THREADS, &l->threads);
	if (l->threads < 1)
		l->threads = 1;
	l->slow = lowest_slow(s);
	l->slots = children * l->threads;
	if (map_board(p, s, l) != OK)
		return HTTP_INTERNAL_SERVER_ERROR;
	for (; s != NULL; s = s->next) {
		struct conf *cf = ap_get_module_config(s->module_config, &locus_module);

		cf->limits = l;
	}
	return OK;
}

static void register_hooks(apr_pool_t *p)
{
	(void)p;
	/*
	 * Nearer to the program than mod_reqtimeout, which does its own waiting, and
	 * nearer to the network than mod_ssl, so that handshakes count.
	 */
	ap_register_input_filter(
	    "LOCUS_SLOW", read_counted, NULL, AP_FTYPE_CONNECTION + 7);
	ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_pre_connection(pre_connection, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_pre_read_request(pre_read_request, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_post_read_request(post_read_request, NULL, NULL, APR_HOOK_MIDDLE);
	ap_hook_fixups(refuse_body, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA locus_module = {
	STANDARD20_MODULE_STUFF,
	NULL,
	NULL,
	locus_create_conf,
	locus_merge_conf,
	commands,
	register_hooks,
	AP_MODULE_FLAG_NONE,
};
