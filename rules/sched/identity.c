/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the row of a host, and copies the request into it (protocol.md 3.2, 3.3). */
#include "rules/sched/identity.h"

#include <string.h>
#include "rules/sched/host_misc.h"
#include "lib/banned.h"

/* More requests than a client that has just got its host id loses in a row. */
enum { TWIN_JUMP = 3 };

enum host_verdict
host_identify(
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

bool
host_is_twin(const struct host *h, const struct request *rq, enum host_verdict verdict)
{
	if (verdict == HOST_CLONE)
		return rq->rpc_seqno <= 1 && h->rpc_seqno > 1;
	return verdict == HOST_SAME && h->rpc_seqno <= 1 &&
	       rq->rpc_seqno >= h->rpc_seqno + TWIN_JUMP;
}

/* a belongs to a row, which may be new. */
static bool
texts_differ(const char *a, const char *b)
{
	return strcmp(a == NULL ? "" : a, b) != 0;
}

bool
host_obviously_different(const struct host *h, const struct request *rq)
{
	const struct rq_host *r = &rq->host;

	return h->p_ncpus != r->p_ncpus || texts_differ(h->p_vendor, r->p_vendor) ||
	       texts_differ(h->p_model, r->p_model) ||
	       texts_differ(h->os_name, r->os_name) ||
	       texts_differ(h->os_version, r->os_version);
}

bool
host_succeeds(const struct host *h, const struct request *rq)
{
	const char *name = rq->host.domain_name;

	return name != NULL && name[0] != '\0' && !texts_differ(h->domain_name, name) &&
	       !host_obviously_different(h, rq);
}

static void
host_set_texts(struct host *h, const struct rq_host *r)
{
	h->domain_name = r->domain_name;
	h->p_vendor = r->p_vendor;
	h->p_model = r->p_model;
	h->os_name = r->os_name;
	h->os_version = r->os_version;
	h->product_name = r->product_name;
}

static void
host_set_numbers(struct host *h, const struct rq_host *r)
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

static void
host_set_coprocs(struct host *h, const struct request *rq)
{
	h->p_ngpus = 0;
	h->p_gpu_fpops = 0;
	for (size_t i = 1; i < rq->nresources; i++) {
		h->p_ngpus += (int32_t)rq->resources[i].count;
		h->p_gpu_fpops += rq->resources[i].count * rq->resources[i].peak_flops;
	}
}

static void
host_count_ip(struct host *h, char *ip)
{
	h->nsame_ip_addr = texts_differ(h->last_ip_addr, ip) ? 0 : h->nsame_ip_addr + 1;
	h->last_ip_addr = ip;
}

int64_t
host_new_wait_s(const struct conf *cf, int64_t made, int64_t now)
{
	if (cf->max_new_hosts_per_account_day == 0 || made == 0 ||
	    made <= now - HOST_DAY_S)
		return 0;
	if (made > now) /* the clock was set back */
		return HOST_DAY_S;
	return made + HOST_DAY_S - now;
}

void
host_update(struct arena *a, struct host *h, const struct request *rq, int64_t now,
    const char *peer_addr)
{
	const struct rq_host *r = &rq->host;

	h->rpc_time = now;
	/* A client that adopts another id restarts its count (protocol.md 3.2 (6)). */
	h->rpc_seqno = h->id != 0 && h->id == rq->hostid ? rq->rpc_seqno : 0;
	if (!r->present)
		return;
	host_set_texts(h, r);
	host_set_numbers(h, r);
	host_set_coprocs(h, rq);
	h->misc = host_misc(a, rq);
	h->duration_correction_factor = rq->duration_correction_factor;
	host_count_ip(h, r->ip_addr);
	if (peer_addr != NULL)
		h->external_ip_addr = (char *)(uintptr_t)peer_addr;
}
