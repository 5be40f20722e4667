/* SPDX-License-Identifier: Apache-2.0 */
#include "model/mirror.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/hash.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { HOUR_S = 3600, DAY_S = 86400, ZONE_MOST_H = 14 };
static const double weight_most = 1000;

static enum err mirror_url(
    struct arena *a, const char *word, struct mirror *m, struct fail *f)
{
	size_t n = strlen(word);

	if ((strncmp(word, "http://", 7) != 0 && strncmp(word, "https://", 8) != 0) ||
	    strpbrk(word, "<>&\"'") != NULL)
		return FAIL(f, E_BADREQ,
		    "\"%.200s\" is not a URL that begins with http:// or https://",
		    word);
	while (n > 0 && word[n - 1] == '/')
		n--;
	m->url = arena_memdup(a, word, n);
	return OK;
}

static enum err mirror_number(const char *word, double least, double most,
    double *value, const char *what, struct fail *f)
{
	char *end;

	*value = strtod(word, &end);
	if (*end == '\0' && end != word && *value >= least && *value <= most)
		return OK;
	return FAIL(f, E_BADREQ, "%s is a number from %g to %g, not \"%.60s\"", what,
	    least, most, word);
}

enum err mirror_parse(
    struct arena *a, const char *text, struct mirror *m, struct fail *f)
{
	char *save = NULL, *copy = arena_strdup(a, text), *word;
	double hours;

	*m = (struct mirror){ .weight = 1 };
	word = strtok_r(copy, " \t\r\n", &save);
	TRY(mirror_url(a, word == NULL ? "" : word, m, f));
	word = strtok_r(NULL, " \t\r\n", &save);
	if (word == NULL)
		return OK;
	TRY(mirror_number(
	    word, -ZONE_MOST_H, ZONE_MOST_H, &hours, "a time zone in hours", f));
	m->zoned = true;
	m->offset_s = llround(hours * HOUR_S);
	word = strtok_r(NULL, " \t\r\n", &save);
	if (word == NULL)
		return OK;
	TRY(mirror_number(
	    word, 1 / weight_most, weight_most, &m->weight, "a weight", f));
	if (strtok_r(NULL, " \t\r\n", &save) != NULL)
		return FAIL(f, E_BADREQ,
		    "a mirror is a URL, a time zone and a weight, not \"%.200s\"",
		    text);
	return OK;
}

struct ranked {
	struct mirror m;
	int64_t distance_s;
	double draw; /* less = earlier */
};

static int64_t zone_distance(const struct mirror *m, int64_t host_offset_s)
{
	int64_t d = llabs(m->offset_s - host_offset_s) % DAY_S;

	if (!m->zoned)
		return DAY_S;
	return d <= DAY_S / 2 ? d : DAY_S - d;
}

/* Weighted rendezvous hashing: the share of first places is the share of weight. */
static double weighted_draw(const struct mirror *m, int64_t hostid)
{
	uint64_t h = hash_text(HASH_SEED ^ (uint64_t)hostid, m->url);

	/* Finished as SplitMix64 does. */
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	h ^= h >> 31;
	return -log(((double)(h >> 11) + 0.5) / 9007199254740992.0) / m->weight;
}

static int by_nearness(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->distance_s != y->distance_s)
		return x->distance_s < y->distance_s ? -1 : 1;
	return (x->draw > y->draw) - (x->draw < y->draw);
}

void mirrors_sort(struct mirror *v, size_t n, int64_t host_offset_s, int64_t hostid)
{
	struct arena a = { 0 };
	struct ranked *r = NEWN(&a, struct ranked, n + 1);

	for (size_t i = 0; i < n; i++)
		r[i] = (struct ranked){ v[i], zone_distance(&v[i], host_offset_s),
			weighted_draw(&v[i], hostid) };
	qsort(r, n, sizeof(*r), by_nearness);
	for (size_t i = 0; i < n; i++)
		v[i] = r[i].m;
	arena_free(&a);
}
