/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a decision as a reply: scalars in upstream's order, then work (protocol.md
 * 2.2 to 2.6). Stored blobs are copied byte for byte, with the values known only now
 * inserted where upstream inserts them, and with the URLs of mirrors if there are any;
 * a file is declared once, however many jobs use it.
 */
#include "proto/reply.h"

#include <inttypes.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/names.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/catalog.h"
#include "model/mirror.h"
#include "lib/banned.h"

/* Escapes and truncates text; guessing UTF-8 costs nothing when the guess is wrong. */

enum { ESCAPED_MAX = 6 }; /* bytes that one byte can become: &#255; */

/*
 * Writes text, escaped as clients escape it (lib/buf.h) if that fits max bytes;
 * otherwise leaves the bytes >= 128 as they are, which clients accept, too, and cuts
 * between two characters.
 */
static void reply_text(struct buf *b, const char *text, size_t max)
{
	struct buf whole, one;
	size_t n;

	if (strlen(text) <= max / ESCAPED_MAX) {
		buf_xml(b, text);
		return;
	}
	whole = buf_new(b->a);
	one = buf_new(b->a);
	buf_xml(&whole, text);
	if (whole.n <= max) {
		buf_put(b, whole.p, whole.n);
		return;
	}
	for (; *text != '\0'; text += n, max -= one.n) {
		n = text_utf8(text);
		n = n == 0 ? 1 : n;
		one.n = 0;
		if ((unsigned char)*text >= 128)
			buf_put(&one, text, n);
		else
			buf_xml(&one, (char[]){ *text, '\0' });
		if (one.n > max)
			return;
		buf_put(b, one.p, one.n);
	}
}

/* Writes a line "<tag>text</tag>\n" of such text; NULL counts as "". */
static void reply_tag(struct buf *b, const char *tag, const char *text, size_t max)
{
	buf_puts(b, "<");
	buf_puts(b, tag);
	buf_puts(b, ">");
	reply_text(b, text == NULL ? "" : text, max);
	buf_puts(b, "</");
	buf_puts(b, tag);
	buf_puts(b, ">\n");
}

/* The header, with messages in forms that clients of all ages understand. */

enum {
	/* our protocol version; below 507, clients ignore prefs */
	SCHEDULER_VERSION = 803,
	/* clients show them one by one; a host may have thousands of tasks */
	MESSAGES_MAX = 100,
	ONE_MESSAGE_VERSION = 41900, /* up to it: one message, no line ends */
	HIGH_VERSION = 61100,        /* up to it: "high" instead of "notice" */
	TRANSLATES_VERSION = 61200,  /* from it on: _("text") is translated */
	VERIFIES_VERSION = 72200,    /* up to it: verify_files_on_app_start */
	BOUND_VERSION = 80100,       /* from it on: strict_memory_bound */
};

/* --- messages --- */

static void head_put_message(struct buf *b, const char *priority, const char *text)
{
	buf_printf(b, "<message priority=\"%s\">", priority);
	reply_text(b, text, MESSAGE_MAX);
	buf_puts(b, "</message>\n");
}

/* Removes translation marks: _("text") becomes text. */
static char *without_translation_marks(struct arena *a, const char *s)
{
	struct buf b = buf_new(a);
	const char *p, *end;

	while ((p = strstr(s, "_(\"")) != NULL && (end = strstr(p, "\")")) != NULL) {
		buf_put(&b, s, (size_t)(p - s));
		buf_put(&b, p + 3, (size_t)(end - p - 3));
		s = end + 2;
	}
	buf_puts(&b, s);
	return b.p;
}

static void reply_head(struct buf *b, const struct reply_head *h);

/* Joins all messages, for clients that show only the first one. */
static void head_put_joined(struct buf *b, const struct reply_head *h)
{
	struct buf all = buf_new(b->a);
	bool notice = false;

	for (size_t i = 0; i < h->nmessages; i++) {
		if (i > 0)
			buf_puts(&all, " ");
		buf_puts(&all, without_translation_marks(b->a, h->messages[i].text));
		notice = notice || h->messages[i].notice;
	}
	for (char *p = all.p; *p != '\0'; p++)
		if (*p == '\n' || *p == '\r')
			*p = ' ';
	head_put_message(b, notice ? "high" : "low", all.p);
}

static void head_put_messages(struct buf *b, const struct reply_head *h)
{
	int32_t v = h->client_version;

	if (h->nmessages > 0 && v > 0 && v <= ONE_MESSAGE_VERSION) {
		head_put_joined(b, h);
		return;
	}
	for (size_t i = 0; i < h->nmessages && i < MESSAGES_MAX; i++) {
		const struct dec_message *m = &h->messages[i];
		const char *text = v > 0 && v < TRANSLATES_VERSION ?
		                       without_translation_marks(b->a, m->text) :
		                       m->text;
		const char *notice = v > 0 && v <= HIGH_VERSION ? "high" : "notice";
		head_put_message(b, m->notice ? notice : "low", text);
	}
	if (h->nmessages > MESSAGES_MAX)
		head_put_message(b, "low",
		    arena_printf(b->a, "%zu more messages are left out",
			h->nmessages - MESSAGES_MAX));
}

/* --- header --- */

/*
 * Writes the flags that clients forget unless they are in every reply, refusals
 * included.
 */
static void head_put_flags(struct buf *b, const struct reply_head *h)
{
	const struct conf *cf = h->conf;
	int32_t v = h->client_version;

	if (cf->workload_sim)
		buf_puts(b, "<send_full_workload/>\n");
	if (h->no_work_deadlines)
		buf_puts(b, "<no_work_deadlines/>\n");
	if (cf->next_rpc_delay > 0)
		buf_printf(b, "<next_rpc_delay>%f</next_rpc_delay>\n",
		    (double)cf->next_rpc_delay);
	if (cf->non_cpu_intensive)
		buf_puts(b, "<non_cpu_intensive/>\n");
	if (cf->strict_memory_bound && (v == 0 || v >= BOUND_VERSION))
		buf_puts(b, "<strict_memory_bound/>\n");
	if (cf->verify_files_on_app_start && v > 0 && v <= VERIFIES_VERSION)
		buf_puts(b, "<verify_files_on_app_start/>\n");
}

/* Writes everything from <scheduler_reply> to the end of the header. */
static void reply_head(struct buf *b, const struct reply_head *h)
{
	const struct conf *cf = h->conf;

	buf_printf(b, "<scheduler_reply>\n<scheduler_version>%d</scheduler_version>\n",
	    SCHEDULER_VERSION);
	if (h->client_version == 0 || h->client_version >= DCF_UNUSED_VERSION)
		buf_puts(b, "<dont_use_dcf/>\n");
	if (cf->master_url[0] != '\0')
		buf_tag(b, "master_url", cf->master_url);
	if (cf->ended)
		buf_puts(b, "<ended>1</ended>\n");
	if (h->request_delay > 0)
		buf_printf(b, "<request_delay>%f</request_delay>\n", h->request_delay);
	head_put_messages(b, h);
	reply_tag(b, "project_name", cf->long_name, NAME_MAX_SENT);
	if (h->send_time_stats_log > 0)
		buf_printf(b,
		    "<send_time_stats_log>%" PRId64 "</send_time_stats_log>\n",
		    h->send_time_stats_log);
	if (h->project_is_down)
		buf_puts(b, "<project_is_down/>\n");
	else
		head_put_flags(b, h);
}

/* Parameters: the members of a reply that has little else. */
void reply_render_refusal(struct buf *b, const struct conf *cf, int32_t client_version,
    const char *text, bool notice, double delay_s, bool project_is_down)
{
	struct dec_message m = { .notice = notice, .text = arena_strdup(b->a, text) };

	reply_head(b, &(struct reply_head){ .conf = cf,
			  .client_version = client_version,
			  .request_delay = delay_s,
			  .messages = &m,
			  .nmessages = text != NULL && text[0] != '\0',
			  .project_is_down = project_is_down });
	buf_puts(b, "</scheduler_reply>\n");
}

enum {
	CUDA_VERSION = 70000,        /* before it, NVIDIA is called CUDA */
	NO_RSC_APPS_VERSION = 70040, /* before it, one flag per kind of processor */
	SPORADIC_VERSION = 72500,    /* from it on: sporadic apps */
	/* before it, report_on_rpc says which files to list */
	REPORT_ALL_VERSION = 61300,
};

struct out {
	struct buf *b;
	const struct reply_in *in;
	int32_t client_version;
	struct names files;     /* files declared in this reply */
	struct mirror *mirrors; /* nearest first; download_url among them, if listed */
	size_t nmirrors;
};

static void reply_put_words(
    struct buf *b, const char *first, const char *second, const char *third)
{
	buf_puts(b, first);
	buf_puts(b, second);
	buf_puts(b, third);
}

/* --- account and host --- */

static void reply_put_user(struct out *o)
{
	const struct user *u = &o->in->snap->user;
	char md5[MD5_HEX];

	if (u->id == 0)
		return;
	buf_tag_i64(o->b, "userid", u->id);
	reply_tag(o->b, "user_name", u->name, NAME_MAX_SENT);
	buf_tag_fixed(o->b, "user_total_credit", u->total_credit);
	buf_tag_fixed(o->b, "user_expavg_credit", u->expavg_credit);
	buf_tag_i64(o->b, "user_create_time", u->create_time);
	md5_text(u->email_addr, md5);
	buf_tag(o->b, "email_hash", md5);
	if (strlen(u->cross_project_id) <= CPID_MAX_SENT)
		buf_tag(o->b, "cross_project_id", u->cross_project_id);
	md5_text(
	    arena_printf(o->b->a, "%s%s", u->cross_project_id, u->email_addr), md5);
	buf_tag(o->b, "external_cpid", md5);
}

/* Writes stored preferences with their tags, if they are complete. */
static void reply_put_prefs(struct out *o, const char *text, const char *tag)
{
	const char *open = arena_printf(o->b->a, "<%s>", tag);
	const char *close = arena_printf(o->b->a, "</%s>", tag);
	const char *p = text == NULL ? NULL : strstr(text, open), *end;

	end = p == NULL ? NULL : strstr(p, close);
	if (end == NULL)
		return;
	buf_put(o->b, p, (size_t)(end - p) + strlen(close));
	buf_puts(o->b, "\n");
}

static void reply_put_host(struct out *o)
{
	const struct snapshot *s = o->in->snap;
	const struct host *h = &s->host;

	if (s->host_id_changed && o->in->hostid > 0)
		buf_tag_i64(o->b, "hostid", o->in->hostid);
	buf_tag_fixed(o->b, "host_total_credit", h->total_credit);
	buf_tag_fixed(o->b, "host_expavg_credit", h->expavg_credit);
	reply_tag(o->b, "host_venue", h->venue, NAME_MAX_SENT);
	buf_tag_i64(o->b, "host_create_time", h->create_time);
	if (s->user.teamid != 0)
		buf_tag_i64(o->b, "teamid", s->user.teamid);
	reply_tag(o->b, "team_name", s->team_name, NAME_MAX_SENT);
}

/* --- reports and aborts --- */

static void reply_put_named(struct out *o, const char *element, const char *name)
{
	reply_put_words(o->b, "<", element, ">\n    ");
	reply_tag(o->b, "name", name, NAME_MAX_SENT);
	reply_put_words(o->b, "</", element, ">\n");
}

static void reply_put_acks_and_aborts(struct out *o)
{
	const struct decision *d = o->in->dec;
	const struct request *q = o->in->req;

	for (size_t i = 0; q != NULL && d->reports != NULL && i < q->nreports; i++)
		if (d->reports[i].ack)
			reply_put_named(o, "result_ack", q->reports[i].name);
	for (size_t i = 0; i < d->naborts; i++)
		reply_put_named(o, "result_abort", d->aborts[i]);
	for (size_t i = 0; i < d->naborts_if_not_started; i++)
		reply_put_named(
		    o, "result_abort_if_not_started", d->aborts_if_not_started[i]);
}

/* --- stored blobs --- */

/* Removes the line that contains only this text, if there is one. */
static void remove_line(char *text, const char *only)
{
	char *at = strstr(text, only), *from = at, *to;

	if (at == NULL)
		return;
	to = at + strlen(only);
	while (from > text && (from[-1] == ' ' || from[-1] == '\t'))
		from--;
	if (from > text && from[-1] == '\n' && *to == '\n')
		memmove(from, to + 1, strlen(to + 1) + 1);
}

/* --- mirrors --- */

static void mirrors_load(struct out *o)
{
	const struct text_list *l = &o->in->conf->download_mirror;
	const struct request *q = o->in->req;

	if (l->n == 0)
		return;
	o->mirrors = NEWN(o->b->a, struct mirror, l->n);
	for (size_t i = 0; i < l->n; i++)
		o->nmirrors += mirror_parse(o->b->a, l->v[i], &o->mirrors[o->nmirrors],
				   NULL) == OK;
	mirrors_sort(
	    o->mirrors, o->nmirrors, q == NULL ? 0 : q->host.timezone, o->in->hostid);
}

/* The element of a URL that begins with download_url. */
struct download {
	char *tag;               /* "url", "gzipped_url" or "download_url" */
	const char *from, *path; /* its start tag; what follows download_url */
	size_t npath;
	const char *to; /* after its end tag */
};

/* Finds the next one from p on; n is the length of the URL's beginning. */
static bool download_find(
    struct arena *a, const char *p, const char *prefix, size_t n, struct download *d)
{
	for (const char *at = p; (at = strstr(at, prefix)) != NULL; at++) {
		const char *open = at, *close = strchr(at, '<');

		while (open > p && *open != '<')
			open--;
		if (at == p || at[-1] != '>' || *open != '<' || at[n] != '/' ||
		    close == NULL || close[1] != '/')
			continue;
		d->tag = arena_memdup(a, open + 1, (size_t)(at - open) - 2);
		if (strcmp(d->tag, "url") != 0 && strcmp(d->tag, "gzipped_url") != 0 &&
		    strcmp(d->tag, "download_url") != 0)
			continue;
		d->from = open;
		d->path = at + n;
		d->npath = (size_t)(close - d->path);
		d->to = strchr(close, '>');
		d->to = d->to == NULL ? close : d->to + 1;
		return true;
	}
	return false;
}

/* Writes one file's URLs: the mirrors, and download_url where it is listed, or last. */
static void put_mirrored(struct out *o, const struct download *d, const char *own)
{
	int64_t most = o->in->conf->max_download_urls_per_file;
	size_t left = most == 0 ? o->nmirrors + 1 : (size_t)most;
	bool own_put = false;

	for (size_t i = 0; i < o->nmirrors && left > (own_put ? 0 : 1); i++, left--) {
		own_put = own_put || strcmp(o->mirrors[i].url, own) == 0;
		buf_printf(o->b, "<%s>%s%.*s</%s>\n    ", d->tag, o->mirrors[i].url,
		    (int)d->npath, d->path, d->tag);
	}
	if (!own_put)
		buf_put(o->b, d->from, (size_t)(d->to - d->from));
	else /* the next line begins with its own blanks */
		while (o->b->n > 0 && strchr(" \n", o->b->p[o->b->n - 1]) != NULL)
			o->b->p[--o->b->n] = '\0';
}

/* Writes a file_info with the URLs of mirrors beside that of download_url. */
static void reply_put_file_info(struct out *o, const char *info)
{
	const char *url = o->in->conf->download_url, *p = info;
	size_t n = strlen(url);
	struct download d;
	char *own;

	while (n > 0 && url[n - 1] == '/')
		n--;
	own = arena_memdup(o->b->a, url, n);
	while (o->nmirrors > 0 && n > 0 && download_find(o->b->a, p, own, n, &d)) {
		buf_put(o->b, p, (size_t)(d.from - p));
		put_mirrored(o, &d, own);
		p = d.to;
	}
	reply_put_words(o->b, p, "\n", "");
}

/*
 * Writes the bytes from p to end, but a file_info only if its file is new in this
 * reply. Newer clients list every sticky file, and complain about the flag that asks
 * for it.
 */
static void reply_put_file_infos(struct out *o, const char *p, const char *end)
{
	static const char open[] = "<file_info>", close[] = "</file_info>";
	const char *from, *to;
	char *info, *name;

	while ((from = memmem(p, (size_t)(end - p), open, sizeof(open) - 1)) != NULL &&
	       (to = memmem(from, (size_t)(end - from), close, sizeof(close) - 1)) !=
		   NULL) {
		to += sizeof(close) - 1;
		buf_put(o->b, p, (size_t)(from - p));
		info = arena_memdup(o->b->a, from, (size_t)(to - from));
		name = xml_between(o->b->a, info, "name");
		if (o->client_version >= REPORT_ALL_VERSION)
			remove_line(info, "<report_on_rpc/>");
		if (to < end && *to == '\n')
			to++;
		if (name == NULL || names_put(o->b->a, &o->files, name, 0))
			reply_put_file_info(o, info);
		p = to;
	}
	buf_put(o->b, p, (size_t)(end - p));
}

struct blob { /* a stored text, split at its element */
	const char *text, *open, *inside, *close, *rest, *end;
};

static bool blob_split(
    struct arena *a, const char *text, const char *tag, struct blob *x)
{
	const char *open = arena_printf(a, "<%s>", tag);
	const char *close = arena_printf(a, "</%s>", tag);

	x->text = text;
	x->open = text == NULL ? NULL : strstr(text, open);
	x->close = x->open == NULL ? NULL : strstr(x->open, close);
	if (x->close == NULL)
		return false;
	x->inside = x->open + strlen(open);
	x->inside += x->inside[0] == '\r' && x->inside[1] == '\n';
	x->inside += *x->inside == '\n';
	x->rest = x->close + strlen(close);
	x->rest += *x->rest == '\n';
	x->end = x->rest + strlen(x->rest);
	return true;
}

/* Writes the blob with head after its start tag's line and tail before its end tag. */
static void reply_put_blob(struct out *o, const char *tag, const struct blob *x,
    const char *head, const char *tail)
{
	reply_put_file_infos(o, x->text, x->open);
	reply_put_words(o->b, "<", tag, ">\n");
	buf_puts(o->b, head);
	buf_put(o->b, x->inside, (size_t)(x->close - x->inside));
	if (o->b->n > 0 && o->b->p[o->b->n - 1] != '\n')
		buf_puts(o->b, "\n");
	buf_puts(o->b, tail);
	reply_put_words(o->b, "</", tag, ">\n");
	reply_put_file_infos(o, x->rest, x->end);
}

/* --- work --- */

static bool is_sporadic(const struct out *o, const struct app *app)
{
	const struct text_list *names = &o->in->conf->sporadic_app;

	if (o->client_version > 0 && o->client_version < SPORADIC_VERSION)
		return false;
	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->v[i], app->name) == 0)
			return true;
	return false;
}

static const char *version_platform_name(
    const struct out *o, const struct app_version *v)
{
	const struct platform *p = catalog_platform(o->in->snap->cat, v->platformid);

	return p == NULL ? "" : p->name;
}

static void reply_put_coproc(struct out *o, struct buf *tail, const struct dec_send *s)
{
	const struct request *q = o->in->req;
	const char *type;

	if (s->resource == 0 || q == NULL || s->resource >= q->nresources)
		return;
	type = q->resources[s->resource].type;
	if (strcmp(type, resource_names[RESOURCE_NVIDIA]) == 0 &&
	    o->client_version > 0 && o->client_version < CUDA_VERSION)
		type = "CUDA";
	buf_puts(tail, "    <coproc>\n        ");
	buf_tag(tail, "type", type);
	buf_printf(tail, "        <count>%f</count>\n    </coproc>\n", s->usage);
	if (s->gpu_ram_bytes > 0)
		buf_printf(tail, "    <gpu_ram>%f</gpu_ram>\n", s->gpu_ram_bytes);
}

static void reply_put_version(struct out *o, const struct dec_send *s)
{
	const struct app_version *v = s->version;
	struct buf tail = buf_new(o->b->a);
	struct blob x;

	if (!blob_split(o->b->a, v->xml_doc, "app_version", &x)) {
		log_err("app_version %" PRId64
			": its xml_doc has no <app_version> element",
		    v->id);
		return;
	}
	buf_puts(&tail, "    ");
	buf_tag(&tail, "platform", version_platform_name(o, v));
	if (v->plan_class[0] != '\0') {
		buf_puts(&tail, "    ");
		buf_tag(&tail, "plan_class", v->plan_class);
	}
	buf_puts(&tail, "    ");
	buf_tag_fixed(&tail, "avg_ncpus", s->avg_ncpus > 0 ? s->avg_ncpus : 1);
	buf_puts(&tail, "    ");
	buf_tag_fixed(
	    &tail, "flops", s->projected_flops > 0 ? s->projected_flops : 1e9);
	if (s->cmdline != NULL && s->cmdline[0] != '\0') {
		buf_puts(&tail, "    ");
		buf_tag(&tail, "cmdline", s->cmdline);
	}
	reply_put_coproc(o, &tail, s);
	reply_put_blob(o, "app_version", &x, "", tail.p);
}

/*
 * Returns the client's own version that runs this job on the anonymous platform; NULL
 * if it is another job.
 */
static const struct rq_app_version *clients_own_version(
    const struct out *o, const struct dec_send *s)
{
	const struct request *q = o->in->req;

	return s->version != NULL || q == NULL || s->client_version < 0 ||
	               (size_t)s->client_version >= q->napp_versions ?
	           NULL :
	           &q->app_versions[s->client_version];
}

/* Writes the ids of the job's keywords, if the column holds nothing else. */
static void reply_put_keywords(struct buf *head, const char *ids)
{
	if (ids == NULL || ids[strspn(ids, "0123456789 ")] != '\0' ||
	    ids[strspn(ids, " ")] == '\0')
		return;
	buf_printf(head, "    <job_keyword_ids>%s</job_keyword_ids>\n", ids);
}

static void reply_put_bound(struct buf *head, const char *tag, double v)
{
	buf_puts(head, "    ");
	buf_tag_fixed(head, tag, v);
}

static void reply_put_workunit(
    struct out *o, const struct dec_send *s, const struct blob *x)
{
	const struct rq_app_version *own = clients_own_version(o, s);
	const struct job *j = s->job;
	struct buf head = buf_new(o->b->a);
	double scale = 1;

	/* The client divides by its own flops, which may differ from ours. */
	if (own != NULL && own->flops > 0 && s->projected_flops > 0)
		scale = own->flops / s->projected_flops;
	reply_put_bound(&head, "rsc_fpops_est", j->rsc_fpops_est * scale);
	reply_put_bound(&head, "rsc_fpops_bound", j->rsc_fpops_bound * scale);
	reply_put_bound(&head, "rsc_memory_bound", s->memory_bound);
	reply_put_bound(&head, "rsc_disk_bound", j->rsc_disk_bound);
	buf_puts(&head, "    ");
	buf_tag(&head, "name", j->wu_name);
	buf_puts(&head, "    ");
	buf_tag(&head, "app_name", s->app->name);
	reply_put_keywords(&head, j->keywords);
	reply_put_blob(o, "workunit", x, head.p, "");
}

static void reply_put_result(
    struct out *o, const struct dec_send *s, const struct blob *x)
{
	const struct rq_app_version *own = clients_own_version(o, s);
	struct buf head = buf_new(o->b->a), tail = buf_new(o->b->a);

	buf_puts(&head, "    ");
	buf_tag_i64(&head, "report_deadline", s->deadline);
	buf_puts(&head, "    ");
	buf_tag(&head, "wu_name", s->job->wu_name);
	buf_puts(&head, "    ");
	buf_tag(&head, "name", s->job->name);
	if (s->version != NULL || own != NULL) {
		buf_puts(&tail, "    ");
		buf_tag(&tail, "platform",
		    own != NULL ? own->platform : version_platform_name(o, s->version));
		buf_puts(&tail, "    ");
		buf_tag_i64(&tail, "version_num",
		    own != NULL ? own->version_num : s->version->version_num);
		buf_puts(&tail, "    ");
		buf_tag(&tail, "plan_class",
		    own != NULL ? own->plan_class : s->version->plan_class);
	}
	reply_put_blob(o, "result", x, head.p, tail.p);
}

/* Does an earlier send share this app, or version? */
static bool app_already_sent(const struct decision *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->sends[k].app->id == d->sends[i].app->id)
			return true;
	return false;
}

static bool version_already_sent(const struct decision *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->sends[k].version != NULL &&
		    d->sends[k].version->id == d->sends[i].version->id)
			return true;
	return false;
}

static void reply_put_job(
    struct out *o, const struct dec_send *s, struct names *workunits)
{
	struct blob wu, result;

	if (!blob_split(o->b->a, s->job->wu_xml_doc, "workunit", &wu) ||
	    !blob_split(o->b->a, s->job->xml_doc_in, "result", &result)) {
		log_err(
		    "result %s: no <workunit> or no <result> element in the stored XML; it is not sent",
		    s->job->name);
		return;
	}
	if (names_put(o->b->a, workunits, s->job->wu_name, 0))
		reply_put_workunit(o, s, &wu);
	reply_put_result(o, s, &result);
}

static void reply_put_work(struct out *o)
{
	const struct decision *d = o->in->dec;
	struct names workunits = { 0 };

	for (size_t i = 0; i < d->nsends; i++)
		if (!app_already_sent(d, i)) {
			const struct app *app = d->sends[i].app;
			buf_puts(o->b, "<app>\n    ");
			buf_tag(o->b, "name", app->name);
			buf_puts(o->b, "    ");
			reply_tag(o->b, "user_friendly_name", app->user_friendly_name,
			    NAME_MAX_SENT);
			buf_puts(o->b, "    ");
			buf_tag_i64(
			    o->b, "non_cpu_intensive", app->non_cpu_intensive != 0);
			buf_puts(o->b, "    ");
			buf_tag_i64(
			    o->b, "fraction_done_exact", app->fraction_done_exact != 0);
			if (is_sporadic(o, app))
				buf_puts(o->b, "    <sporadic>1</sporadic>\n");
			buf_puts(o->b, "</app>\n");
		}
	for (size_t i = 0; i < d->nsends; i++)
		if (d->sends[i].version != NULL && !version_already_sent(d, i))
			reply_put_version(o, &d->sends[i]);
	for (size_t i = 0; i < d->nsends; i++)
		reply_put_job(o, &d->sends[i], &workunits);
}

/* --- keys and flags --- */

/*
 * A client that has a key accepts another one only if it is signed with its own
 * (protocol.md 13.7), and complains if it gets its own key again.
 */
static void reply_put_code_sign_key(struct out *o)
{
	const struct reply_keys *k = o->in->keys;
	const char *held = o->in->req == NULL ? NULL : o->in->req->code_sign_key;
	const char *sig = NULL;

	if (!o->in->dec->send_code_sign_key || k == NULL || k->code_sign_public == NULL)
		return;
	if (held != NULL) {
		if (text_same_words(held, k->code_sign_public) ||
		    k->old_key_signature == NULL)
			return;
		sig = k->old_key_signature(k->ctx, held, o->client_version);
		if (sig == NULL)
			return;
	}
	buf_printf(
	    o->b, "<code_sign_key>\n%s\n</code_sign_key>\n", k->code_sign_public);
	if (sig != NULL)
		buf_printf(o->b,
		    "<code_sign_key_signature>\n%s\n</code_sign_key_signature>\n", sig);
}

static void reply_put_no_rsc_apps(struct out *o)
{
	static const struct {
		const char *type, *flag;
	} old[] = {
		{ "CPU", "no_cpu_apps" },
		{ "NVIDIA", "no_cuda_apps" },
		{ "ATI", "no_ati_apps" },
	};
	const struct decision *d = o->in->dec;
	const struct request *q = o->in->req;

	/* With every resource listed, the client would never come back. */
	if (q == NULL || d->nno_rsc_apps == 0 || d->nno_rsc_apps >= q->nresources)
		return;
	if (o->client_version > 0 && o->client_version < NO_RSC_APPS_VERSION)
		for (size_t i = 0; i < N(old); i++)
			buf_printf(o->b, "<%s>%d</%s>\n", old[i].flag,
			    text_among(old[i].type, d->no_rsc_apps, d->nno_rsc_apps),
			    old[i].flag);
	for (size_t i = 0; i < d->nno_rsc_apps; i++)
		reply_tag(o->b, "no_rsc_apps", d->no_rsc_apps[i], NAME_MAX_SENT);
}

/* Messages for tasks, and whatever else the project queued, as stored. */
static void reply_put_trickles_down(struct out *o)
{
	const struct decision *d = o->in->dec;

	for (size_t i = 0; i < d->ndown; i++) {
		const char *xml = d->down[i].xml;
		size_t n = strlen(xml);

		buf_put(o->b, xml, n);
		if (n > 0 && xml[n - 1] != '\n')
			buf_puts(o->b, "\n");
	}
}

/* Writes what the project tells this account about itself. */
static void reply_put_project(struct out *o)
{
	const struct snapshot *s = o->in->snap;
	const struct text_list *urls = &o->in->conf->trickle_up_url;
	struct text_fill fill = { .conf = o->in->conf,
		.user = &s->user,
		.hostid = o->in->hostid,
		.team_name = s->team_name,
		.weak_auth = s->weak_auth };
	struct buf text;

	for (int i = 0; i < PROJECT_TEXTS && o->in->texts != NULL; i++) {
		if (o->in->texts[i] == NULL || s->user.id == 0)
			continue;
		text = buf_new(o->b->a);
		project_text_fill(&text, o->in->texts[i], &fill);
		reply_put_file_infos(o, text.p, text.p + text.n);
	}
	if (urls->n > 0)
		buf_puts(o->b, "<trickle_up_urls>\n");
	for (size_t i = 0; i < urls->n; i++) {
		buf_puts(o->b, "    ");
		reply_tag(o->b, "url", urls->v[i], NAME_MAX_SENT);
	}
	if (urls->n > 0)
		buf_puts(o->b, "</trickle_up_urls>\n");
}

static void reply_put_flags(struct out *o)
{
	const struct decision *d = o->in->dec;

	if (o->in->trickles_stored && o->in->req != NULL && o->in->req->ntrickles > 0)
		buf_puts(o->b, "<message_ack/>\n");
	reply_put_trickles_down(o);
	for (size_t i = 0; i < d->ndeletes; i++)
		if (!names_has(&o->files, d->deletes[i].name))
			reply_tag(o->b, "delete_file_info", d->deletes[i].name,
			    NAME_MAX_SENT);
	reply_put_no_rsc_apps(o);
	reply_put_project(o);
	if (d->send_job_log > 0)
		buf_printf(o->b, "<send_job_log>%" PRId64 "</send_job_log>\n",
		    d->send_job_log);
}

void reply_render(struct buf *b, const struct reply_in *in)
{
	const struct decision *d = in->dec;
	struct out o = { .b = b, .in = in };

	o.client_version = in->req == NULL ? 0 : in->req->version;
	mirrors_load(&o);
	reply_head(b, &(struct reply_head){
			  .conf = in->conf,
			  .client_version = o.client_version,
			  .request_delay = d == NULL ? 0 : d->request_delay,
			  .messages = d == NULL ? NULL : d->messages,
			  .nmessages = d == NULL ? 0 : d->nmessages,
			  .no_work_deadlines = d != NULL && d->no_work_deadlines &&
	                                       in->req != NULL &&
	                                       in->req->client_cap_no_work_deadlines,
			  .send_time_stats_log = d == NULL ? 0 : d->send_time_stats_log,
		      });
	if (d != NULL && in->snap != NULL) {
		if (in->conf->symstore[0] != '\0')
			reply_tag(b, "symstore", in->conf->symstore, NAME_MAX_SENT);
		reply_put_user(&o);
		if (in->snap->user.id != 0 && d->send_global_prefs)
			reply_put_prefs(
			    &o, in->snap->user.global_prefs, "global_preferences");
		if (in->snap->user.id != 0)
			reply_put_prefs(
			    &o, in->snap->user.project_prefs, "project_preferences");
		reply_put_host(&o);
		reply_put_acks_and_aborts(&o);
		reply_put_work(&o);
		reply_put_code_sign_key(&o);
		reply_put_flags(&o);
	}
	buf_puts(b, "</scheduler_reply>\n");
}
