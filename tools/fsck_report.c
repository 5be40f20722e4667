/* SPDX-License-Identifier: Apache-2.0 */
/* Output of locus fsck: each finding, and the number of findings at the end. */
#include "tools/fsck.h"

#include <string.h>
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/dir_cure.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { LISTED_MOST = 100 };

static const struct fsck_words checks[FSCK__MAX] = {
#define ERROR true
#define WARN  false
#define ROWS(code, severity, when, of, stmt, ago, repair, noun, text, cure)            \
	{ #code, noun, text, cure, severity },
#define DISK(code, severity, noun, text, cure) { #code, noun, text, cure, severity },
#include "tools/fsck_checks.def"
#undef ROWS
#undef DISK
#undef ERROR
#undef WARN
};

const struct fsck_words *
fsck_words(enum fsck_code code)
{
	return &checks[code];
}

char *
fsck_cure(struct arena *a, const struct cmd_ctx *x, const struct fsck_finding *f)
{
	const struct word words[] = {
		{ "{name}", text_shell_word(a, f->name) },
		{ "{more}", text_shell_word(a, f->more) },
		{ "{id}", arena_printf(a, "%lld", (long long)f->id) },
	};
	const char *cure = f->cure != NULL ?
	                       f->cure :
	                       words_fill(a, checks[f->code].cure, words, N(words));

	if (strcmp(cure, "RESTORE") == 0)
		return restore_cure(a, &x->owner, f->path, "644");
	if (strncmp(cure, "locus ", 6) == 0)
		return locus_command(a, x->cf, cure + 6);
	if (strncmp(cure, "rm ", 3) == 0)
		return owner_command(a, &x->owner, cure);
	return arena_strdup(a, cure);
}

void
fsck_found(struct fsck *k, enum fsck_code code, const char *name, const char *more,
    bool repaired)
{
	fsck_report_finding(
	    k, &(const struct fsck_finding){
		   .code = code, .name = name, .more = more, .repaired = repaired });
}

void
fsck_report_finding(struct fsck *k, const struct fsck_finding *f)
{
	const char *name = f->name, *more = f->more;
	enum fsck_code code = f->code;
	bool repaired = f->repaired;
	struct arena line = { 0 };
	const char *cure = fsck_cure(&line, k->x, f);

	k->repaired += repaired;
	k->found[code] += !repaired;
	k->listed[code]++;
	print_object(k->print, NULL, "code", checks[code].code, "severity",
	    checks[code].error ? "error" : "warning", "what", checks[code].noun, "name",
	    name, "text", checks[code].text, "more", more, "cure", cure, "repaired",
	    repaired);
	if (k->listed[code] <= LISTED_MOST)
		print_line(k->print, NULL, "%s %s %s: %s%s%s%s; %s", checks[code].code,
		    checks[code].noun, human_text(&line, name), checks[code].text,
		    more[0] == '\0' ? "" : " (", human_text(&line, more),
		    more[0] == '\0' ? "" : ")",
		    repaired ? "repaired" : human_text(&line, cure));
	arena_free(&line);
}

int64_t
fsck_end(struct fsck *k)
{
	int64_t sums[2] = { 0 }; /* warnings, errors */

	print_close(k->print);
	for (size_t i = 0; i < FSCK__MAX; i++) {
		sums[checks[i].error] += k->found[i];
		if (k->listed[i] > LISTED_MOST)
			print_line(k->print, NULL, "%s: %lld more are not listed",
			    checks[i].code, (long long)(k->listed[i] - LISTED_MOST));
	}
	print_put(k->print, "clean", print_of_flag(sums[1] == 0), "errors", sums[1],
	    "warnings", sums[0], "repaired", k->repaired);
	print_line(k->print, NULL,
	    "%s: %d checks, %lld errors, %lld warnings, %lld repaired",
	    sums[1] == 0 ? "clean" : "not clean", (int)FSCK__MAX, (long long)sums[1],
	    (long long)sums[0], (long long)k->repaired);
	print_end(k->print);
	return sums[1];
}
