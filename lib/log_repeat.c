/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which messages differ only in their numbers. Short, because both log.c and err.c need
 * it, and neither may need the other.
 */
#include "lib/log_repeat.h"

#include <stdio.h>
#include <string.h>
#include "lib/hash.h"
#include "lib/banned.h"

/* Has the format letters besides those of its conversions? */
static bool has_words(const char *format)
{
	for (const char *p = format; *p != '\0'; p++) {
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'))
			return true;
		if (*p != '%')
			continue;
		p += 1 + strspn(p + 1, "-+ #0123456789.*lhzjt");
		if (*p == '\0')
			break;
	}
	return false;
}

/* Each number counts as one "0". */
static uint64_t hash_without_numbers(const char *text)
{
	uint64_t h = HASH_SEED;
	bool digits = false;

	for (; *text != '\0'; text++) {
		bool digit = *text >= '0' && *text <= '9';

		if (digit && digits)
			continue;
		digits = digit;
		h = hash_bytes(h, digit ? "0" : text, 1);
	}
	return h;
}

uint64_t log_kind(const char *format, const char *text)
{
	return hash_without_numbers(has_words(format) ? format : text);
}

/* Finds the kind, or the place for it. */
static struct log_repeat *repeat_of(struct log_repeats *t, uint64_t kind)
{
	struct log_repeat *best = &t->v[0];

	for (size_t i = 0; i < LOG_REPEAT_KINDS; i++) {
		struct log_repeat *r = &t->v[i];

		if (r->kind == kind)
			return r;
		/* A better place if nothing counted is lost with it, or it is older. */
		if ((r->held == 0 && best->held > 0) ||
		    ((r->held > 0) == (best->held > 0) && r->from_s < best->from_s))
			best = r;
	}
	return best;
}

bool log_repeat_admit(
    struct log_repeats *t, int level, uint64_t kind, const char *text, int64_t now)
{
	struct log_repeat *r;

	kind += (uint64_t)level;
	kind += kind == 0; /* 0 = free */
	r = repeat_of(t, kind);
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

bool log_repeat_due(struct log_repeats *t, int64_t now, struct log_repeat *due)
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
