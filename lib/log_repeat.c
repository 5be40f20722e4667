/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/log_repeat.h"

#include <stdio.h>
#include <string.h>
#include "lib/banned.h"

/* FNV-1a of the text, in which each number counts as one "0". */
static uint64_t
kind_of(int level, const char *text)
{
	uint64_t h = 14695981039346656037u + (uint64_t)level;
	bool digits = false;

	for (; *text != '\0'; text++) {
		bool digit = *text >= '0' && *text <= '9';

		if (digit && digits)
			continue;
		digits = digit;
		h ^= digit ? '0' : (unsigned char)*text;
		h *= 1099511628211u;
	}
	return h == 0 ? 1 : h; /* 0 = free */
}

/* Is r a better place for another kind than s? Nothing counted is lost with it, or it
 * is older. */
static bool
rather_lost(const struct log_repeat *r, const struct log_repeat *s)
{
	if ((r->held > 0) != (s->held > 0))
		return r->held == 0;
	return r->from_s < s->from_s;
}

/* Finds the kind, or the place for it. */
static struct log_repeat *
repeat_of(struct log_repeats *t, uint64_t kind)
{
	struct log_repeat *best = &t->v[0];

	for (size_t i = 0; i < LOG_REPEAT_KINDS; i++) {
		if (t->v[i].kind == kind)
			return &t->v[i];
		if (rather_lost(&t->v[i], best))
			best = &t->v[i];
	}
	return best;
}

bool
log_repeat_admit(struct log_repeats *t, int level, const char *text, int64_t now)
{
	uint64_t kind = kind_of(level, text);
	struct log_repeat *r = repeat_of(t, kind);

	if (r->kind != kind || now - r->from_s >= LOG_REPEAT_WINDOW_S ||
	    now < r->from_s)
		*r = (struct log_repeat){ .kind = kind, .level = level, .from_s = now };
	if (r->written < LOG_REPEAT_MOST) {
		r->written++;
		return true;
	}
	r->held++;
	snprintf(r->last, sizeof(r->last), "%s", text);
	return false;
}

bool
log_repeat_due(struct log_repeats *t, int64_t now, struct log_repeat *due)
{
	for (size_t i = 0; i < LOG_REPEAT_KINDS; i++) {
		struct log_repeat *r = &t->v[i];

		if (r->held == 0 ||
		    (now - r->from_s < LOG_REPEAT_WINDOW_S && now >= r->from_s))
			continue;
		*due = *r;
		*r = (struct log_repeat){ 0 };
		return true;
	}
	return false;
}
