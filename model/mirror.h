/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Download mirrors (config.xml, download_mirror): other places with the files of
 * download_url. A reply names several URLs for each file, the nearest first; a client
 * goes on to the next one when a download fails.
 */
#ifndef MODEL_MIRROR_H
#define MODEL_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

struct mirror {
	char *url;        /* takes the place of download_url; no slash at the end */
	bool zoned;       /* offset_s is known */
	int64_t offset_s; /* of its time zone, east of UTC */
	double weight;    /* its share among mirrors at the same distance, > 0 */
};

/* Reads "URL", "URL +1" or "URL +1 2.5": hours east of UTC, weight. E_BADREQ. */
enum err mirror_parse(struct arena *, const char *text, struct mirror *, struct fail *);
/*
 * Sorts by the distance between the mirror's time zone and the host's (s east of UTC),
 * around the globe; a mirror without a time zone comes after all others. At the same
 * distance weights decide, always alike for one host, so that its web caches are of
 * use.
 */
void mirrors_sort(struct mirror *, size_t n, int64_t host_offset_s, int64_t hostid);

#endif
