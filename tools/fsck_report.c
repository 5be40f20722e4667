/* SPDX-License-Identifier: Apache-2.0 */
/* Output of locus fsck: each finding, and the number of findings at the end. */
#include "tools/fsck.h"

#include <stdio.h>
#include <string.h>
#include "lib/text.h"
#include "lib/words.h"
#include "proto/blob.h"
#include "tools/dir_cure.h"
#include "tools/human.h"
#include "tools/json.h"
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

static const char *
severity(enum fsck_code code)
{
	return checks[code].error ? "error" : "warning";
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
	if (k->findings != NULL)
		json_array_append_new(k->findings,
		    json_pack("{s:s, s:s, s:s, s:o, s:s, s:o, s:o, s:b}", "code",
			checks[code].code, "severity", severity(code), "what",
			checks[code].noun, "name", json_text(name), "text",
			checks[code].text, "more", json_text(more), "cure",
			json_text(cure), "repaired", repaired));
	else if (k->listed[code] <= LISTED_MOST)
		printf("%s %s %s: %s%s%s%s; %s\n", checks[code].code, checks[code].noun,
		    human_text(&line, name), checks[code].text,
		    more[0] == '\0' ? "" : " (", human_text(&line, more),
		    more[0] == '\0' ? "" : ")",
		    repaired ? "repaired" : human_text(&line, cure));
	arena_free(&line);
}

struct fsck_sum
fsck_sum(const struct fsck *k)
{
	struct fsck_sum s = { 0 };

	for (size_t i = 0; i < FSCK__MAX; i++)
		*(checks[i].error ? &s.errors : &s.warnings) += k->found[i];
	return s;
}

static void
fsck_print_sum(const struct fsck *k, struct fsck_sum s)
{
	for (size_t i = 0; i < FSCK__MAX; i++)
		if (k->listed[i] > LISTED_MOST)
			printf("%s: %lld more are not listed\n", checks[i].code,
			    (long long)(k->listed[i] - LISTED_MOST));
	printf("%s: %d checks, %lld errors, %lld warnings, %lld repaired\n",
	    s.errors == 0 ? "clean" : "not clean", (int)FSCK__MAX, (long long)s.errors,
	    (long long)s.warnings, (long long)k->repaired);
}

static void
fsck_print_json(struct fsck *k, struct fsck_sum s)
{
	json_t *root = json_pack("{s:b, s:i, s:I, s:I, s:I, s:o}", "clean",
	    s.errors == 0, "checks", (int)FSCK__MAX, "errors", (json_int_t)s.errors,
	    "warnings", (json_int_t)s.warnings, "repaired", (json_int_t)k->repaired,
	    "findings", k->findings);

	json_show(k->x->format, root);
}

void
fsck_report(struct fsck *k, struct fsck_sum s)
{
	if (k->findings != NULL)
		fsck_print_json(k, s);
	else
		fsck_print_sum(k, s);
}
