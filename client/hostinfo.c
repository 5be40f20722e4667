/* SPDX-License-Identifier: Apache-2.0 */
/* Describes this machine in the terms of a scheduler request. */
#include "client/client.h"

#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "client/machine.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { BENCHMARK_MS = 200, BENCHMARK_AGE_S = 30 * 86400, CPUINFO_MAX = 4 << 20 };

/* Returns the value of the first "key : value" line in /proc/cpuinfo; def if there is
 * none. */
static char *cpuinfo_value(
    struct arena *a, const char *text, const char *key, const char *def)
{
	const char *p = strstr(text, key), *colon;

	if (p == NULL || (colon = strchr(p, ':')) == NULL)
		return arena_strdup(a, def);
	colon += 1 + strspn(colon + 1, " \t");
	return arena_memdup(a, colon, strcspn(colon, "\n"));
}

static void describe_processor(struct client *c, struct rq_host *h)
{
	char *text;
	struct fail f;

	if (fs_read(&c->scratch, "/proc/cpuinfo", CPUINFO_MAX, &text, NULL, &f) != OK)
		text = arena_strdup(&c->scratch, "");
	h->p_vendor = cpuinfo_value(&c->scratch, text, "vendor_id", "unknown");
	h->p_model = cpuinfo_value(&c->scratch, text, "model name", "unknown");
	h->p_features = cpuinfo_value(&c->scratch, text, "flags", "");
	h->p_ncpus = (int32_t)c->options.ncpus;
	h->p_fpops = c->state->p_fpops;
	h->p_iops = c->state->p_iops;
	h->p_membw = 1e9;
}

double hostinfo_ram_bytes(void)
{
	struct sysinfo si;

	return sysinfo(&si) == 0 ? (double)si.totalram * si.mem_unit : 0;
}

void hostinfo_fill(struct client *c, const struct cproject *p, struct request *rq)
{
	struct cw_fractions f = availability_now(c);
	struct rq_host *h = &rq->host;
	time_t t = (time_t)c->now;
	struct tm tm;
	static struct utsname un;
	char name[256];

	h->present = true;
	h->host_cpid = c->state->host_cpid;
	h->timezone = localtime_r(&t, &tm) == NULL ? 0 : (int32_t)tm.tm_gmtoff;
	h->on_frac = f.on;
	h->active_frac = f.active;
	h->gpu_active_frac = f.gpu_active;
	h->connected_frac = -1;
	describe_processor(c, h);
	struct disk d = disk_now(c);
	struct sysinfo si;

	h->d_boinc_used_project = p == NULL ? 0 : disk_used_bytes(p);
	h->d_boinc_used_total = d.used;
	h->d_total = d.total;
	h->d_free = d.free;
	if (sysinfo(&si) == 0) {
		h->m_nbytes = (double)si.totalram * si.mem_unit;
		h->m_swap = (double)si.totalswap * si.mem_unit;
	}
	if (gethostname(name, sizeof(name)) != 0)
		name[0] = '\0';
	name[sizeof(name) - 1] = '\0';
	uname(&un);
	h->domain_name = arena_strdup(&c->scratch, name);
	h->ip_addr = arena_strdup(&c->scratch, "127.0.0.1");
	h->os_name = arena_strdup(&c->scratch, un.sysname);
	h->os_version = arena_strdup(&c->scratch, un.release);
	h->product_name = arena_strdup(&c->scratch, "");
	h->virtualbox_version = arena_strdup(&c->scratch, "");
}

/* A figure outside of these bounds is a fault of the measurement, not a computer. */
static double credible(const char *what, double ops, double usual)
{
	if (ops >= 1e6 && ops <= BENCHMARK_MOST)
		return ops;
	log_warn(
	    "the benchmark measured %.3g %s operations per second, which no CPU has; %.3g are assumed",
	    ops, what, usual);
	return usual;
}

void hostinfo_benchmark(struct client *c)
{
	if (c->state->benchmarked_at > c->now - BENCHMARK_AGE_S)
		return;
	c->state->p_fpops = credible(
	    "floating point", benchmark_flops(BENCHMARK_MS), 1e9);
	c->state->p_iops = credible("integer", benchmark_iops(BENCHMARK_MS), 1e9);
	c->state->benchmarked_at = c->now;
	c->changed = true;
}
