/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the row of a host, and copies the request into it (protocol.md 3.2, 3.3). */
#include "rules/sched/host.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include "lib/arena.h"
#include "model/catalog.h"
#include "rules/say.h"
#include "rules/sched/plan_class.h"
#include "lib/banned.h"

/* More requests than a client that has just got its host id loses in a row. */
enum { TWIN_JUMP = 3 };

enum host_verdict host_identify(
    const struct host *h, const struct request *rq, int64_t userid, bool forwarded)
{
	if (h->userid == 0)
		return HOST_FORWARD;
	if (h->userid != userid)
		return HOST_FOREIGN;
	/* The surviving row of a merge counts the requests of its own client. */
	if (!forwarded && rq->rpc_seqno < h->rpc_seqno)
		return HOST_CLONE;
	return HOST_SAME;
}

bool host_is_twin(
    const struct host *h, const struct request *rq, enum host_verdict verdict)
{
	if (verdict == HOST_CLONE)
		return rq->rpc_seqno <= 1 && h->rpc_seqno > 1;
	return verdict == HOST_SAME && h->rpc_seqno <= 1 &&
	       rq->rpc_seqno >= h->rpc_seqno + TWIN_JUMP;
}

/* a belongs to a row, which may be new. */
static bool texts_differ(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b) != 0;
}

bool host_obviously_different(const struct host *h, const struct request *rq)
{
	const struct rq_host *r = &rq->host;

	return h->p_ncpus != r->p_ncpus || texts_differ(h->p_vendor, r->p_vendor) ||
	       texts_differ(h->p_model, r->p_model) ||
	       texts_differ(h->os_name, r->os_name) ||
	       texts_differ(h->os_version, r->os_version);
}

bool host_succeeds(const struct host *h, const struct request *rq)
{
	const char *name = rq->host.domain_name;

	return name != NULL && name[0] != '\0' && !texts_differ(h->domain_name, name) &&
	       !host_obviously_different(h, rq);
}

static void host_set_numbers(struct host *h, const struct rq_host *r)
{
	h->timezone = r->timezone;
	h->on_frac = r->on_frac;
	h->connected_frac = r->connected_frac;
	h->active_frac = r->active_frac;
	h->gpu_active_frac = r->gpu_active_frac;
	h->p_ncpus = r->p_ncpus;
	h->p_fpops = r->p_fpops;
	h->p_iops = r->p_iops;
	h->p_membw = r->p_membw;
	h->m_nbytes = r->m_nbytes;
	h->m_cache = r->m_cache;
	h->m_swap = r->m_swap;
	h->d_total = r->d_total;
	h->d_free = r->d_free;
	h->d_boinc_used_total = r->d_boinc_used_total;
	h->d_boinc_used_project = r->d_boinc_used_project;
	h->d_boinc_max = r->d_project_share;
	h->n_bwup = r->n_bwup;
	h->n_bwdown = r->n_bwdown;
}

int64_t host_new_wait_s(const struct conf *cf, int64_t made, int64_t now)
{
	if (cf->max_new_hosts_per_account_day == 0 || made == 0 ||
	    made <= now - HOST_DAY_S)
		return 0;
	if (made > now) /* the clock was set back */
		return HOST_DAY_S;
	return made + HOST_DAY_S - now;
}

void host_update(struct arena *a, struct host *h, const struct request *rq, int64_t now,
    const char *peer_addr)
{
	const struct rq_host *r = &rq->host;

	h->rpc_time = now;
	/* A client that adopts another id restarts its count (protocol.md 3.2 (6)). */
	h->rpc_seqno = h->id != 0 && h->id == rq->hostid ? rq->rpc_seqno : 0;
	if (!r->present)
		return;
	h->domain_name = r->domain_name;
	h->p_vendor = r->p_vendor;
	h->p_model = r->p_model;
	h->os_name = r->os_name;
	h->os_version = r->os_version;
	h->product_name = r->product_name;
	host_set_numbers(h, r);
	h->p_ngpus = 0;
	h->p_gpu_fpops = 0;
	for (size_t i = 1; i < rq->nresources; i++) {
		h->p_ngpus += (int32_t)rq->resources[i].count;
		h->p_gpu_fpops += rq->resources[i].count * rq->resources[i].peak_flops;
	}
	h->misc = host_misc(a, rq);
	h->duration_correction_factor = rq->duration_correction_factor;
	h->nsame_ip_addr = texts_differ(h->last_ip_addr, r->ip_addr) ?
	                       0 :
	                       h->nsame_ip_addr + 1;
	h->last_ip_addr = r->ip_addr;
	if (peer_addr != NULL)
		h->external_ip_addr = (char *)(uintptr_t)peer_addr;
}

/* Three tables of names. */

static const struct name {
	int32_t number;
	const char *part, *model;
} systems[] = {
#define HR_OS(number, part) { number, part, "" },
#define HR_VENDOR(number, part)
#define HR_FAMILY(number, part, model)
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
}, vendors[] = {
#define HR_OS(number, part)
#define HR_VENDOR(number, part) { number, part, "" },
#define HR_FAMILY(number, part, model)
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
}, families[] = {
#define HR_OS(number, part)
#define HR_VENDOR(number, part)
#define HR_FAMILY(number, part, model) { number, part, model },
#include "rules/sched/hr.def"
#undef HR_OS
#undef HR_VENDOR
#undef HR_FAMILY
};
enum {
	PER_SYSTEM = 128,
	WINDOWS = 1,
	LINUX = 2,
	DARWIN = 3,
	X86 = 1
}; /* as in hr.def */

static bool contains_part(const char *text, const char *part)
{
	size_t n = strlen(part);

	for (; *text != '\0'; text++)
		if (strncasecmp(text, part, n) == 0)
			return true;
	return n == 0;
}

static int32_t hr_number(
    const struct name *t, size_t n, const char *text, const char *model)
{
	for (size_t i = 0; i < n; i++)
		if (contains_part(text, t[i].part) && contains_part(model, t[i].model))
			return t[i].number;
	return 0;
}

bool hr_usual(const char *os, const char *vendor)
{
	int32_t system = hr_number(systems, N(systems), os == NULL ? "" : os, "");

	if (system == WINDOWS || system == LINUX)
		return true;
	return system == DARWIN &&
	       hr_number(vendors, N(vendors), vendor == NULL ? "" : vendor, "") == X86;
}

enum hr_type hr_type_of(const struct conf *cf, const struct app *app)
{
	int64_t type = app->homogeneous_redundancy != 0 ? app->homogeneous_redundancy :
	                                                  cf->homogeneous_redundancy;

	return type == HR_FINE ? HR_FINE : type == HR_COARSE ? HR_COARSE : HR_NONE;
}

int32_t hr_class_of(
    enum hr_type type, const char *os, const char *vendor, const char *model)
{
	int32_t system = hr_number(systems, N(systems), os == NULL ? "" : os, ""), cpu;

	vendor = vendor == NULL ? "" : vendor;
	model = model == NULL ? "" : model;
	cpu = type == HR_FINE ? hr_number(families, N(families), vendor, model) :
	                        hr_number(vendors, N(vendors), vendor, model);
	return system == 0 || cpu == 0 ? 0 : cpu + PER_SYSTEM * system;
}

static const double MIB = 1048576;

/* --- JSON --- */

static void misc_put_string(struct say *s, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	say_str(s, "\"");
	for (const char *p = text; *p != '\0'; p++) {
		unsigned char c = (unsigned char)*p;
		char one[7] = { *p };

		if (c == '"' || c == '\\') {
			one[0] = '\\';
			one[1] = *p;
		} else if (c < ' ' || c == 0x7f) {
			memcpy(one, "\\u0000", 6);
			one[4] = hex[c >> 4];
			one[5] = hex[c & 15];
		}
		say_str(s, one);
	}
	say_str(s, "\"");
}

static void misc_put_key(struct say *s, bool first, const char *key)
{
	say_str(s, first ? "" : ",");
	misc_put_string(s, key);
	say_str(s, ":");
}

static void misc_put_text(struct say *s, bool first, const char *key, const char *value)
{
	misc_put_key(s, first, key);
	misc_put_string(s, value);
}

static void misc_put_bool(struct say *s, bool first, const char *key, bool value)
{
	misc_put_key(s, first, key);
	say_str(s, value ? "true" : "false");
}

static void misc_put_int(struct say *s, const char *key, int64_t value)
{
	misc_put_key(s, false, key);
	say_int(s, value);
}

/* --- contents --- */

/*
 * NVIDIA's 53554 means 535.54, AMD's 10041607 means 1.4.1607; other makes report no
 * number.
 */
static void misc_put_driver(struct say *s, const struct rq_resource *r)
{
	int64_t v = r->driver_version;
	struct say text = say_new(s->a);

	if (v <= 0)
		return;
	if (strcmp(r->type, resource_names[RESOURCE_AMD]) == 0) {
		say_int(&text, v / 10000000);
		say_str(&text, ".");
		say_int(&text, v / 10000 % 1000);
		say_str(&text, ".");
		say_int(&text, v % 10000);
	} else {
		say_fixed(&text, (double)v / 100, 2);
	}
	misc_put_text(s, false, "driver_version", text.p);
}

static void misc_put_gpu(struct say *s, const struct rq_resource *r)
{
	static const char *const words[RESOURCE_KINDS] = { "cpu", "nvidia", "amd",
		"intel", "apple" };
	const char *kind = r->kind != NULL ? r->kind : r->type,
		   *type = r->vendor != NULL && r->vendor[0] != '\0' ? r->vendor :
	                                                               r->type;

	for (int k = RESOURCE_NVIDIA; k < RESOURCE_KINDS; k++)
		if (strcmp(kind, resource_names[k]) == 0)
			type = words[k];
	say_str(s, "{");
	misc_put_text(s, true, "type", type);
	misc_put_text(s, false, "model", r->name[0] != '\0' ? r->name : r->type);
	misc_put_key(s, false, "count");
	say_fixed(s, r->count, 0);
	if (r->total_ram > 0) {
		misc_put_key(s, false, "ram_mb");
		say_fixed(s, r->total_ram / MIB, 0);
	}
	misc_put_driver(s, r);
	struct say text = say_new(s->a);
	double number = plan_opencl_number(r->opencl_version);

	if (!isnan(number)) {
		say_fixed(&text, number, 0);
		misc_put_text(s, false, "opencl_version", text.p);
	}
	say_str(s, "}");
}

/* On Windows hosts: the first usable distribution that has Docker. */
static const struct rq_distro *distro_with_docker(const struct request *rq)
{
	const struct rq_host *h = &rq->host;

	for (size_t i = 0; i < h->ndistros; i++)
		if (!h->distros[i].disallowed &&
		    h->distros[i].docker_version[0] != '\0')
			return &h->distros[i];
	return NULL;
}

static void misc_put_docker(struct say *s, const struct request *rq)
{
	const struct rq_distro *d = distro_with_docker(rq);
	const char *version = d == NULL ? rq->host.docker_version : d->docker_version;
	int32_t type = d == NULL ? rq->host.docker_type : d->docker_type;

	if (version[0] == '\0')
		return;
	misc_put_key(s, false, "docker");
	say_str(s, "{");
	misc_put_text(s, true, "version", version);
	if (type > 0)
		misc_put_int(s, "type", type);
	if (d != NULL)
		misc_put_text(s, false, "wsl_distro", d->distro_name);
	if (d != NULL && strcmp(d->distro_name, plan_boinc_distro) == 0)
		misc_put_int(s, "boinc_buda_runner_version", d->distro_version);
	say_str(s, "}");
}

static void misc_put_config(struct say *s, const struct request *rq)
{
	if (!rq->dont_use_docker && !rq->dont_use_wsl)
		return;
	misc_put_key(s, false, "config");
	say_str(s, "{");
	misc_put_bool(s, true, "dont_use_docker", rq->dont_use_docker);
	misc_put_bool(s, false, "dont_use_wsl", rq->dont_use_wsl);
	say_str(s, "}");
}

char *host_misc(struct arena *a, const struct request *rq)
{
	struct say s = say_new(a);

	say_str(&s, "{");
	struct say text = say_new(s.a);

	say_int(&text, rq->core_client_major_version);
	say_str(&text, ".");
	say_int(&text, rq->core_client_minor_version);
	say_str(&text, ".");
	say_int(&text, rq->core_client_release);
	misc_put_text(&s, true, "client_version", text.p);
	if (rq->nresources > 1) {
		misc_put_key(&s, false, "gpus");
		for (size_t i = 1; i < rq->nresources; i++) {
			say_str(&s, i == 1 ? "[" : ",");
			misc_put_gpu(&s, &rq->resources[i]);
		}
		say_str(&s, "]");
	}
	misc_put_docker(&s, rq);
	if (rq->host.virtualbox_version[0] != '\0') {
		misc_put_key(&s, false, "vbox");
		say_str(&s, "{");
		misc_put_text(&s, true, "version", rq->host.virtualbox_version);
		misc_put_bool(&s, false, "hw_accel", plan_can_accel(rq));
		misc_put_bool(
		    &s, false, "hw_accel_enabled", !rq->host.p_vm_extensions_disabled);
		say_str(&s, "}");
	}
	misc_put_config(&s, rq);
	say_str(&s, "}");
	return s.p;
}
