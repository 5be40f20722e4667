/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the bytes of a client into struct request. The tables in request.def fill
 * rows; the code below adds the raw regions, sets defaults other than 0, and limits
 * what a hostile client could make large. Every string is set: "" if not sent, except
 * where model/request.h says NULL.
 */
#include "proto/request.h"

#include <stdlib.h>
#include <string.h>
#include "lib/text.h"
#include "lib/xml.h"
#include "model/rows.h"
#include "proto/coproc.h"
#include "proto/normalise.h"
#include "proto/xml_table.h"
#include "lib/clamp.h"
#include "lib/banned.h"

enum {
	VARIETY_CHARS = 254,
	FEATURES_BYTES = 8191,
	REPORTS_MAX = 20000,
	REPORT_FILES_MAX = 1000,
	FILES_MAX = 100000,
	TASKS_MAX = 100000,
	VERSIONS_MAX = 10000,
	PLATFORMS_MAX = 32,
	COPROCS_MAX = 8,
	DISTROS_MAX = 32,
	TRICKLES_MAX = 20000,
	TRICKLE_MAX = 16000000, /* with its row, fits a database's usual packet */
	NCPUS_MAX = 4096,
	BLOB_MAX = 65535,
	PREFS_MAX = 65000, /* with its element, fits a BLOB */
	KEY_MAX = 4095,
};

#define FLOPS_MAX 1e18 /* of one program; far beyond any real one */

struct in_file {
	struct rq_file r;
	bool has_status;
	int32_t raw, error_raw;
};
struct in_report {
	struct rq_report r;
	char *exit_status;
	int32_t stderr_raw;
	struct xml_list files;
};
struct in_other {
	struct rq_other r;
	bool has_app_version;
};
struct in_name {
	char *name;
};
struct in_request {
	struct request r;
	struct xml_list platforms, coprocs, reports, files, app_versions, others,
	    in_progress, distros, opencl_cpus;
};

static void set_kind_nvidia(void *row, void *ctx)
{
	(void)ctx;
	((struct in_coproc *)row)->kind = COPROC_NVIDIA;
}

static void set_kind_amd(void *row, void *ctx)
{
	(void)ctx;
	((struct in_coproc *)row)->kind = COPROC_AMD;
}

static void set_kind_intel(void *row, void *ctx)
{
	(void)ctx;
	((struct in_coproc *)row)->kind = COPROC_INTEL;
}

static void set_kind_apple(void *row, void *ctx)
{
	(void)ctx;
	((struct in_coproc *)row)->kind = COPROC_APPLE;
}

#include "proto/prefs_global.def"

#include "proto/request.def"

static const char root[] = "scheduler_request";
static const struct raw_rule raw_rules[] = {
	{ "code_sign_key", root, RAW_TAKE },
	{ "global_preferences", root, RAW_TAKE },
	{ "msg_from_host", root, RAW_TAKE },
	{ "time_stats_log", root, RAW_TAKE },
	{ "job_log", root, RAW_TAKE },
	{ "client_opaque", root, RAW_TAKE },
	{ "stderr_out", "result", RAW_INDEX },
	{ "file_info", "result", RAW_SPAN },
	{ "file_info", root, RAW_ROWS },
	{ "error_msg", "file_info", RAW_INDEX },
	{ NULL, NULL, RAW_TAKE },
};

/* --- helpers --- */

/* --- reports --- */

struct named { /* for finding duplicate names */
	const char *name;
	size_t i;
};

static int compare_named_reports(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int d = strcmp(a->name, b->name);

	return d != 0 ? d : a->i < b->i ? -1 : a->i > b->i;
}

/*
 * Marks which of n reports are the first of their name; reports without a name are not
 * marked.
 */
static bool *first_of_name(struct arena *a, const struct in_report *in, size_t n)
{
	struct named *order = NEWN(a, struct named, n);
	bool *first = NEWN(a, bool, n);
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		if (in[i].r.name != NULL && in[i].r.name[0] != '\0')
			order[m++] = (struct named){ in[i].r.name, i };
	qsort(order, m, sizeof(*order), compare_named_reports);
	for (size_t i = 0; i < m; i++)
		first[order[i].i] = i == 0 ||
		                    strcmp(order[i - 1].name, order[i].name) != 0;
	return first;
}

static void file_finish(struct in_file *in, struct rq_file *out)
{
	*out = in->r;
	if (!in->has_status)
		out->status = 1;
	text_default(&out->md5_cksum);
}

static void report_files(struct arena *a, const struct normal *nm, struct in_report *in)
{
	struct in_file *rows = in->files.rows;
	struct rq_report *r = &in->r;
	struct buf doc = buf_new(a);
	const struct raw *raw;

	r->files = NEWN(a, struct rq_file, in->files.n);
	for (size_t i = 0; i < in->files.n; i++) {
		raw = raw_at(nm, rows[i].raw);
		if (raw != NULL && raw->rule->use == RAW_SPAN &&
		    doc.n + raw->n < BLOB_MAX) {
			buf_puts(&doc, raw_copy(a, raw, raw->n));
			buf_puts(&doc, "\n");
		}
		if (rows[i].r.name != NULL)
			file_finish(&rows[i], &r->files[r->nfiles++]);
	}
	r->xml_doc_out = doc.p;
}

static void report_finish(
    struct arena *a, const struct normal *nm, struct in_report *in)
{
	struct rq_report *r = &in->r;
	const struct raw *raw = raw_at(nm, in->stderr_raw);
	int64_t status;

	/* Windows clients print NTSTATUS codes with or without a sign: both have the
	 * same 32 bits. */
	r->exit_status = in->exit_status != NULL &&
	                         text_wire_i64(
				     in->exit_status, INT32_MIN, UINT32_MAX, &status) ?
	                     (int32_t)(uint32_t)status :
	                     EXIT_UNKNOWN;
	r->stderr_out = raw == NULL ? NULL : raw_copy(a, raw, BLOB_MAX);
	text_default(&r->stderr_out);
	text_default(&r->plan_class);
	text_default(&r->platform);
	report_files(a, nm, in);
}

static void reports_finish(
    struct arena *a, const struct normal *nm, struct in_request *in)
{
	struct in_report *rows = in->reports.rows;
	bool *first = first_of_name(a, rows, in->reports.n);
	struct request *q = &in->r;

	q->reports = NEWN(a, struct rq_report, in->reports.n);
	for (size_t i = 0; i < in->reports.n; i++) {
		if (!first[i])
			continue;
		report_finish(a, nm, &rows[i]);
		q->reports[q->nreports++] = rows[i].r;
	}
}

/* --- other lists --- */

/*
 * A row without a name may stand for a run of files. One that a client makes up may
 * move a run, but neither lose nor repeat it.
 */
static void files_finish(
    struct arena *a, const struct normal *nm, struct in_request *in)
{
	struct in_file *rows = in->files.rows;
	struct request *q = &in->r;
	const struct field *file = field_find(request_table, "file_info", false, NULL);
	struct xml_list all = { 0 };
	bool *read = NEWN(a, bool, nm->nraws + 1);

	for (size_t i = 0; i < in->files.n; i++) {
		const struct raw *run = raw_at(nm, rows[i].raw);
		struct in_file *row;

		if (rows[i].r.name == NULL && run != NULL && run->nleaves > 0 &&
		    !read[rows[i].raw]) {
			xml_rows(a, nm->leaves + run->leaf, run->nleaves, file, &all);
			read[rows[i].raw] = true;
			continue;
		}
		row = xml_row_new(a, file, &all);
		if (row != NULL)
			*row = rows[i];
	}
	rows = all.rows;
	q->files = NEWN(a, struct rq_file, all.n);
	for (size_t i = 0; i < all.n; i++)
		if (rows[i].r.name != NULL && rows[i].r.name[0] != '\0')
			file_finish(&rows[i], &q->files[q->nfiles++]);
}

static void versions_finish(struct arena *a, struct in_request *in)
{
	struct rq_app_version *v = in->app_versions.rows;

	in->r.app_versions = v;
	in->r.napp_versions = in->app_versions.n;
	for (size_t i = 0; i < in->app_versions.n; i++) {
		text_default(&v[i].app_name);
		text_default(&v[i].platform);
		text_default(&v[i].plan_class);
		v[i].coproc_type = arena_strdup(a, coproc_type(v[i].coproc_type));
		v[i].avg_ncpus = clamp(v[i].avg_ncpus, 0, NCPUS_MAX);
		v[i].coproc_count = clamp(v[i].coproc_count, 0, COPROC_COUNT_MAX);
		v[i].flops = clamp(v[i].flops, 0, FLOPS_MAX);
	}
}

static void tasks_finish(struct arena *a, struct in_request *in)
{
	struct in_other *o = in->others.rows;
	struct rq_in_progress *p = in->in_progress.rows;
	struct request *q = &in->r;

	q->other_results = NEWN(a, struct rq_other, in->others.n);
	for (size_t i = 0; i < in->others.n; i++) {
		if (o[i].r.name == NULL || o[i].r.name[0] == '\0')
			continue;
		if (!o[i].has_app_version)
			o[i].r.app_version = -1;
		text_default(&o[i].r.plan_class);
		q->other_results[q->nother_results++] = o[i].r;
	}
	for (size_t i = 0; i < in->in_progress.n; i++)
		text_default(&p[i].name);
	q->in_progress = p;
	q->nin_progress = in->in_progress.n;
	if (in->reports.cut || in->others.cut)
		q->has_other_results = false;
}

/* A platform listed twice would take other versions' places in every choice. */
static void platforms_finish(struct arena *a, struct in_request *in)
{
	struct in_name *alt = in->platforms.rows;
	struct request *q = &in->r;
	size_t n = strcmp(q->platform_name, "anonymous") == 0 ? 0 : in->platforms.n;

	q->platforms = NEWN(a, char *, n + 1);
	q->platforms[q->nplatforms++] = q->platform_name;
	for (size_t i = 0; i < n; i++)
		if (alt[i].name != NULL && alt[i].name[0] != '\0' &&
		    !text_among(alt[i].name, q->platforms, q->nplatforms))
			q->platforms[q->nplatforms++] = alt[i].name;
}

/* Describes the processor as a device: OpenCL of the first platform that has it. */
static void opencl_of_cpu(const struct in_request *in, struct rq_resource *cpu)
{
	const struct in_coproc *c = in->opencl_cpus.rows;

	for (size_t i = 0; i < in->opencl_cpus.n && !cpu->have_opencl; i++) {
		if (c[i].r.opencl_version == NULL)
			continue;
		cpu->have_opencl = true;
		cpu->opencl_version = c[i].r.opencl_version;
		cpu->opencl_driver_version = c[i].r.opencl_driver_version;
		cpu->double_precision = c[i].opencl_double > 0;
	}
}

static void distros_finish(struct in_request *in)
{
	struct rq_distro *d = in->distros.rows;

	in->r.host.distros = d;
	in->r.host.ndistros = in->distros.n;
	for (size_t i = 0; i < in->distros.n; i++) {
		text_default(&d[i].distro_name);
		text_default(&d[i].os_name);
		text_default(&d[i].os_version);
		text_default(&d[i].libc_version);
		text_default(&d[i].docker_version);
	}
}

/* Does the coprocessor exist, and is its type new in this request? */
static bool is_new_coproc(const struct request *q, const struct rq_resource *r)
{
	if (r->type[0] == '\0' || r->count < 1)
		return false;
	for (size_t i = 0; i < q->nresources; i++)
		if (strcmp(q->resources[i].type, r->type) == 0)
			return false;
	return true;
}

/*
 * A client whose configuration declares a coprocessor sends a coproc_cuda with count 0
 * and no name, too (protocol.md 13.12): that device does not exist, but its request
 * still counts as one made by resource.
 */
static void resources_finish(struct arena *a, struct in_request *in)
{
	struct in_coproc *rows = in->coprocs.rows;
	struct request *q = &in->r;
	struct rq_resource *r = NEWN(a, struct rq_resource, in->coprocs.n + 1);

	q->resources = r;
	q->nresources = 1;
	r[0] = (struct rq_resource){
		.type = arena_strdup(a, resource_names[RESOURCE_CPU]),
		.has_request = q->has_cpu_request,
		.req_secs = q->cpu_req_secs,
		.req_instances = q->cpu_req_instances,
		.estimated_delay = q->estimated_delay,
		.count = q->host.p_ncpus,
		.peak_flops = q->host.p_fpops,
		.name = q->host.p_model,
	};
	opencl_of_cpu(in, &r[0]);
	text_default(&r[0].opencl_version);
	text_default(&r[0].opencl_driver_version);
	for (size_t i = 0; i < in->coprocs.n; i++) {
		struct in_coproc *c = &rows[i];

		coproc_complete(a, c);
		r[0].has_request |= c->r.has_request;
		if (!is_new_coproc(q, &c->r))
			continue;
		text_default(&c->r.name);
		text_default(&c->r.opencl_version);
		text_default(&c->r.opencl_driver_version);
		r[q->nresources++] = c->r;
	}
}

/* --- raw regions --- */

/* Returns the message as whole lines, without the rest of the tags' own lines. */
static char *trickle_text(struct arena *a, const struct raw *raw)
{
	char *text = raw_copy(a, raw, TRICKLE_MAX);
	size_t n = strlen(text), last = n;

	while (last > 0 && text[last - 1] == ' ')
		last--;
	if (last < n && last > 0 && text[last - 1] == '\n')
		text[last] = '\0';
	return text[0] == '\n' ? text + 1 : text;
}

/*
 * Returns the message without its <variety> line, which names its recipient
 * (protocol.md 1.10).
 */
static struct rq_trickle trickle_parse(struct arena *a, const struct raw *raw)
{
	char *text = trickle_text(a, raw), *from = strstr(text, "<variety>");
	char *to = from == NULL ? NULL : strstr(from, "</variety>");
	struct rq_trickle t = { .variety = arena_strdup(a, ""), .xml = text };
	char *name;
	size_t n;

	if (to == NULL)
		return t;
	name = from + strlen("<variety>");
	n = (size_t)(to - name);
	name = text_decode(a, name, n);
	t.variety = text_fit(a, name, strlen(name), VARIETY_CHARS);
	to += strlen("</variety>");
	if (*to == '\n')
		to++;
	t.xml = arena_printf(a, "%.*s%s", (int)(from - text), text, to);
	return t;
}

static void request_global_prefs(
    struct arena *a, struct request *q, const struct raw *raw)
{
	const char *text, *mod_time;

	if (raw->n > PREFS_MAX)
		return;
	text = raw_trimmed(a, raw);
	q->global_prefs = arena_printf(
	    a, "<global_preferences>\n%s\n</global_preferences>\n", text);
	mod_time = xml_between(a, text, "mod_time");
	if (mod_time != NULL)
		text_f64(text_decode(a, mod_time, strlen(mod_time)),
		    &q->global_prefs_mod_time);
}

static void request_raw_region(
    struct arena *a, struct request *q, const struct raw *raw, size_t *cap)
{
	const char *tag = raw->rule->tag;

	if (strcmp(tag, "code_sign_key") == 0) {
		const char *key = raw->n > KEY_MAX ? "" : raw_trimmed(a, raw);
		q->code_sign_key = key[0] == '\0' ? NULL : arena_strdup(a, key);
	} else if (strcmp(tag, "global_preferences") == 0) {
		request_global_prefs(a, q, raw);
	} else if (strcmp(tag, "msg_from_host") == 0) {
		if (q->ntrickles < TRICKLES_MAX)
			PUSH(a, q->trickles, q->ntrickles, *cap) = trickle_parse(
			    a, raw);
		else
			q->trickles_cut = true;
	} else if (strcmp(tag, "time_stats_log") == 0) {
		q->time_stats_log = raw_copy(a, raw, raw->n);
	} else if (strcmp(tag, "job_log") == 0) {
		q->job_log = raw_copy(a, raw, raw->n);
	} else if (strcmp(tag, "client_opaque") == 0) {
		q->client_opaque = text_decode(a, raw->p, raw->n);
	}
}

/* --- the whole --- */

static void request_strings(struct request *q)
{
	char **s[] = { &q->authenticator, &q->platform_name,
		&q->global_prefs_source_email_hash, &q->cross_project_id,
		&q->client_brand, &q->host.domain_name, &q->host.ip_addr,
		&q->host.host_cpid, &q->host.p_vendor, &q->host.p_model,
		&q->host.p_features, &q->host.os_name, &q->host.os_version,
		&q->host.product_name, &q->host.virtualbox_version,
		&q->host.docker_version };

	for (size_t i = 0; i < N(s); i++)
		text_default(s[i]);
	/* A list that was cut ends with a whole feature: half of one may be the name of
	 * another. */
	char *blank = strrchr(q->host.p_features, ' ');

	if (strlen(q->host.p_features) >= FEATURES_BYTES && blank != NULL)
		*blank = '\0';
}

static void request_numbers(struct request *q)
{
	q->work_req_seconds = clamp(q->work_req_seconds, 0, REQ_SECS_MAX);
	q->cpu_req_secs = clamp(q->cpu_req_secs, 0, REQ_SECS_MAX);
	q->cpu_req_instances = clamp(q->cpu_req_instances, 0, NCPUS_MAX);
	q->estimated_delay = clamp(q->estimated_delay, 0, REQ_SECS_MAX);
	q->host.p_ncpus = (int32_t)clamp(q->host.p_ncpus, 1, NCPUS_MAX);
	q->core_client_major_version = (int32_t)clamp(
	    q->core_client_major_version, 0, 9999);
	q->core_client_minor_version = (int32_t)clamp(
	    q->core_client_minor_version, 0, 99);
	q->core_client_release = (int32_t)clamp(q->core_client_release, 0, 99);
	q->version = 10000 * q->core_client_major_version +
	             100 * q->core_client_minor_version + q->core_client_release;
}

enum err request_parse(
    struct arena *a, const char *in, size_t n, struct request **out, struct fail *f)
{
	struct in_request *x = NEW(a, struct in_request);
	struct request *q = &x->r;
	struct normal nm;
	size_t cap = 0;

	*out = NULL;
	/* What a request says by leaving it out. */
	q->resource_share_fraction = q->rrs_fraction = q->prrs_fraction = 1;
	q->duration_correction_factor = 1;
	q->allow_multiple_clients = q->sandbox = -1;
	q->host.p_ncpus = 1;
	if (normalise(a, in, n, root, raw_rules, &nm, f) != OK ||
	    xml_parse(a, nm.text.p, nm.text.n, root, request_table, x, NULL, f) != OK)
		return f->code;
	q->repairs = nm.repairs;
	request_strings(q);
	request_numbers(q);
	platforms_finish(a, x);
	resources_finish(a, x);
	distros_finish(x);
	reports_finish(a, &nm, x);
	files_finish(a, &nm, x);
	versions_finish(a, x);
	tasks_finish(a, x);
	for (size_t i = 0; i < nm.nraws; i++)
		request_raw_region(a, q, &nm.raws[i], &cap);
	if (q->trickles_cut) /* the client drops either all of them or none */
		q->ntrickles = 0;
	q->held = request_held(a, q);
	q->accounted = request_accounted(a, q);
	*out = q;
	return OK;
}
