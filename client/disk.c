/* SPDX-License-Identifier: Apache-2.0 */
/* How much of the disk the user lets the projects' files use. */
#include "client/client.h"

#include <math.h>
#include <sys/statvfs.h>
#include "lib/banned.h"

static const double GB = 1e9;

double
disk_used_bytes(const struct cproject *p)
{
	double sum = 0;

	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i].status == FS_PRESENT)
			sum += p->files[i].output ? p->files[i].size :
			                            p->files[i].info.nbytes;
	return sum;
}

double
disk_limit_bytes(const struct host_prefs *h, double total, double free, double used)
{
	double most = free + used - fmax(h->disk_min_free_gb, 0) * GB;

	if (h->disk_max_used_gb > 0)
		most = fmin(most, h->disk_max_used_gb * GB);
	if (h->disk_max_used_pct > 0)
		most = fmin(most, h->disk_max_used_pct / 100 * total);
	return fmax(most, 0);
}

struct disk
disk_now(const struct client *c)
{
	struct disk d = { 0 };
	struct statvfs v;

	for (size_t i = 0; i < c->state->nprojects; i++)
		d.used += disk_used_bytes(&c->state->projects[i]);
	if (c->dir == NULL || statvfs(c->dir, &v) != 0) {
		d.allowed = INFINITY;
		return d;
	}
	d.total = (double)v.f_blocks * (double)v.f_frsize;
	d.free = (double)v.f_bavail * (double)v.f_frsize;
	d.allowed = disk_limit_bytes(&c->host_prefs, d.total, d.free, d.used);
	return d;
}
