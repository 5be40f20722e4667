/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Renders a request with the elements and the order of a 7.20.5 client, for our own
 * client.
 */
#include <inttypes.h>
#include <string.h>
#include "proto/request.h"
#include "lib/banned.h"

/* --- one element each; in is the indentation --- */

static void elem_text(struct buf *b, const char *in, const char *tag, const char *s)
{
	buf_puts(b, in);
	buf_tag(b, tag, s == NULL ? "" : s);
}

static void elem_text_if_set(
    struct buf *b, const char *in, const char *tag, const char *s)
{
	if (s != NULL && s[0] != '\0')
		elem_text(b, in, tag, s);
}

static void elem_i64(struct buf *b, const char *in, const char *tag, int64_t v)
{
	buf_printf(b, "%s<%s>%" PRId64 "</%s>\n", in, tag, v, tag);
}

static void elem_flag(struct buf *b, const char *in, const char *tag, bool v)
{
	elem_i64(b, in, tag, v);
}

static void elem_f64(struct buf *b, const char *in, const char *tag, double v)
{
	buf_printf(b, "%s<%s>%f</%s>\n", in, tag, v, tag);
}

static void elem_f64_if_set(struct buf *b, const char *in, const char *tag, double v)
{
	if (v != 0)
		elem_f64(b, in, tag, v);
}

static void elem_date(struct buf *b, const char *in, const char *tag, double v)
{
	buf_printf(b, "%s<%s>%.0f</%s>\n", in, tag, v, tag);
}

static void elem_bytes_if_set(struct buf *b, const char *in, const char *tag, double v)
{
	if (v != 0)
		elem_date(b, in, tag, v);
}

#define F(writer, tag, member) writer(b, in, tag, member);

/* --- parts --- */

static void request_put_head(struct buf *b, const struct request *q)
{
	const char *in = "    ";

#define HEAD
#include "proto/request_render.def"
#undef HEAD
	for (size_t i = 1; i < q->nplatforms; i++) {
		buf_puts(b, "    <alt_platform>\n");
		elem_text(b, "        ", "name", q->platforms[i]);
		buf_puts(b, "    </alt_platform>\n");
	}
	if (q->code_sign_key != NULL)
		buf_printf(
		    b, "    <code_sign_key>\n%s\n</code_sign_key>\n", q->code_sign_key);
}

static void request_put_prefs(struct buf *b, const struct request *q)
{
	const char *in = "   ";

	buf_puts(b, "<working_global_preferences>\n<global_preferences>\n");
#define PREFS
#include "proto/request_render.def"
#undef PREFS
	buf_puts(b, "</global_preferences>\n</working_global_preferences>\n");
	if (q->global_prefs != NULL)
		buf_puts(b, q->global_prefs);
	elem_text_if_set(
	    b, "", "global_prefs_source_email_hash", q->global_prefs_source_email_hash);
	elem_text(b, "", "cross_project_id", q->cross_project_id);
}

static void request_put_host(struct buf *b, const struct request *q)
{
	const char *in = "    ";

	buf_puts(b, "<time_stats>\n");
#define TIME_STATS
#include "proto/request_render.def"
#undef TIME_STATS
	buf_puts(b, "</time_stats>\n<net_stats>\n");
#define NET_STATS
#include "proto/request_render.def"
#undef NET_STATS
	buf_puts(b, "</net_stats>\n<host_info>\n");
#define HOST_INFO
#include "proto/request_render.def"
#undef HOST_INFO
	buf_puts(b, "</host_info>\n    <disk_usage>\n");
	in = "        ";
#define DISK_USAGE
#include "proto/request_render.def"
#undef DISK_USAGE
	buf_puts(b, "    </disk_usage>\n");
}

/* Element names by coprocessor type. */
static const struct coproc_words {
	const char *type, *element, *name;
} coproc_words[] = {
	{ "NVIDIA", "coproc_cuda", "name" },
	{ "ATI", "coproc_ati", "name" },
	{ "intel_gpu", "coproc_intel_gpu", "name" },
	{ "apple_gpu", "coproc_apple_gpu", "model" },
};

static void request_put_coproc(struct buf *b, const struct rq_resource *r)
{
	const struct coproc_words *w = NULL;
	const char *element, *in = "   ";

	for (size_t i = 0; i < N(coproc_words); i++)
		if (strcmp(coproc_words[i].type, r->type) == 0)
			w = &coproc_words[i];
	element = w == NULL ? "coproc" : w->element;
	buf_printf(b, "<%s>\n", element);
	elem_text(b, in, w == NULL ? "type" : w->name, w == NULL ? r->type : r->name);
	elem_date(b, in, "count", r->count);
#define COPROC
#include "proto/request_render.def"
#undef COPROC
	if (w == &coproc_words[0]) {
		elem_i64(b, in, "cudaVersion", r->cuda_version);
		elem_i64(b, in, "drvVersion", r->driver_version);
		elem_f64(b, in, "totalGlobalMem", r->total_ram);
		elem_i64(b, in, "major", r->compute_capability / 100);
		elem_i64(b, in, "minor", r->compute_capability % 100);
	}
	buf_printf(b, "</%s>\n", element);
}

/* Writes XML verbatim, with a line end after it. */
static void request_put_verbatim(struct buf *b, const char *s)
{
	size_t n = s == NULL ? 0 : strlen(s);

	buf_put(b, s, n);
	if (n > 0 && s[n - 1] != '\n')
		buf_puts(b, "\n");
}

static void request_put_report(struct buf *b, const struct rq_report *r)
{
	const char *in = "    ";

	buf_puts(b, "<result>\n");
#define RESULT
#include "proto/request_render.def"
#undef RESULT
	buf_puts(b, "<stderr_out>");
	if (r->stderr_out == NULL || r->stderr_out[0] != '\n')
		buf_puts(b, "\n");
	request_put_verbatim(b, r->stderr_out);
	buf_puts(b, "</stderr_out>\n");
	request_put_verbatim(b, r->xml_doc_out);
	buf_puts(b, "</result>\n");
}

static void request_put_file(struct buf *b, const struct rq_file *f)
{
	const char *in = "        ";

	buf_puts(b, "    <file_info>\n");
	elem_text(b, in, "name", f->name);
	elem_f64(b, in, "nbytes", f->nbytes);
	elem_i64(b, in, "status", f->status);
	buf_puts(b, "    </file_info>\n");
}

static void request_put_app_version(struct buf *b, const struct rq_app_version *v)
{
	const char *in = "    ";

	buf_puts(b, "<app_version>\n");
#define APP_VERSION
#include "proto/request_render.def"
#undef APP_VERSION
	if (v->coproc_type != NULL && v->coproc_type[0] != '\0') {
		buf_puts(b, "    <coproc>\n");
		elem_text(b, "        ", "type", v->coproc_type);
		elem_f64(b, "        ", "count", v->coproc_count);
		buf_puts(b, "    </coproc>\n");
	}
	buf_puts(b, "</app_version>\n");
}

static void request_put_other(struct buf *b, const struct rq_other *o)
{
	const char *in = "        ";

	buf_puts(b, "    <other_result>\n");
	elem_text(b, in, "name", o->name);
	if (o->app_version >= 0)
		elem_i64(b, in, "app_version", o->app_version);
	elem_text_if_set(b, in, "plan_class", o->plan_class);
	buf_puts(b, "    </other_result>\n");
}

static void request_put_in_progress(struct buf *b, const struct rq_in_progress *p)
{
	const char *in = "        ";

	buf_puts(b, "    <ip_result>\n");
#define IP_RESULT
#include "proto/request_render.def"
#undef IP_RESULT
	buf_puts(b, "    </ip_result>\n");
}

/* Writes a log or message between its tags, on lines of its own. */
static void request_put_raw(struct buf *b, const char *tag, const char *text)
{
	if (text == NULL)
		return;
	buf_printf(b, "<%s>%s", tag, text[0] == '\n' ? "" : "\n");
	request_put_verbatim(b, text);
	buf_printf(b, "</%s>\n", tag);
}

static void request_put_lists(struct buf *b, const struct request *q)
{
	for (size_t i = 0; i < q->nreports; i++)
		request_put_report(b, &q->reports[i]);
	for (size_t i = 0; i < q->ntrickles; i++) {
		buf_puts(b, "  <msg_from_host>\n");
		elem_text_if_set(b, "", "variety", q->trickles[i].variety);
		request_put_verbatim(b, q->trickles[i].xml);
		buf_puts(b, "  </msg_from_host>\n");
	}
	for (size_t i = 0; i < q->nfiles; i++)
		request_put_file(b, &q->files[i]);
	request_put_raw(b, "time_stats_log", q->time_stats_log);
	request_put_raw(b, "job_log", q->job_log);
	buf_puts(b, "<app_versions>\n");
	for (size_t i = 0; i < q->napp_versions; i++)
		request_put_app_version(b, &q->app_versions[i]);
	buf_puts(b, "</app_versions>\n");
	if (q->has_other_results) {
		buf_puts(b, "<other_results>\n");
		for (size_t i = 0; i < q->nother_results; i++)
			request_put_other(b, &q->other_results[i]);
		buf_puts(b, "</other_results>\n");
	}
	if (q->has_in_progress) {
		buf_puts(b, "<in_progress_results>\n");
		for (size_t i = 0; i < q->nin_progress; i++)
			request_put_in_progress(b, &q->in_progress[i]);
		buf_puts(b, "</in_progress_results>\n");
	}
}

void request_render(struct buf *b, const struct request *q)
{
	buf_puts(b, "<scheduler_request>\n");
	request_put_head(b, q);
	request_put_prefs(b, q);
	if (q->host.present)
		request_put_host(b, q);
	if (q->nresources > 1) {
		buf_puts(b, "    <coprocs>\n");
		for (size_t i = 1; i < q->nresources; i++)
			request_put_coproc(b, &q->resources[i]);
		buf_puts(b, "    </coprocs>\n");
	}
	request_put_lists(b, q);
	if (q->client_opaque != NULL)
		buf_printf(b, "<client_opaque>\n<![CDATA[\n%s\n]]>\n</client_opaque>\n",
		    q->client_opaque);
	elem_text_if_set(b, "    ", "client_brand", q->client_brand);
	buf_puts(b, "</scheduler_request>\n");
}
