/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seeds DIR: writes below DIR the seeds of fuzz targets that come from the tables of
 * other tests, and freshly made keys.
 */
#include <stdio.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "test/unit/plan_class_hosts.h"
#include "lib/banned.h"

static const char *const requests[] = {
#define CASE(what, inside, want, want2, never)                                         \
	"<scheduler_request>\n" inside "\n</scheduler_request>\n",
#include "test/unit/request_cases.def"
#undef CASE
};
static const char *const templates[] = {
#define INPUT(what, n, cmd, tmpl, want, refusal) tmpl,
#define OUTPUT(what, tmpl, refusal)              tmpl,
#include "test/unit/blob_cases.def"
#undef INPUT
#undef OUTPUT
};
static const char *const prefs[] = {
#define CASE(venue, text, want) text,
#include "test/unit/prefs_cases.def"
#undef CASE
};
static const char *const project_texts[] = {
#define CHECKED(kind, text, want, complaint) text,
#include "test/unit/project_texts.def"
};

static const char *const plan_classes[] = {
#define SPEC(text, names, remark) text,
#include "test/unit/plan_class_spec.def"
#undef SPEC
#define NO_PREFS ""
#define FIT(spec, request, prefs, reason)                                              \
	"<plan_classes><plan_class><name>x</name>" spec                                \
	"</plan_class></plan_classes>\n====\n" request prefs,
#include "test/unit/plan_class_fit.def"
#undef FIT
#undef NO_PREFS
#define USE(spec, request, prefs, type, ncpus, devices, ram, gflops, mem, cmdline)     \
	"<plan_classes><plan_class><name>x</name>" spec                                \
	"</plan_class></plan_classes>\n====\n" request prefs,
#include "test/unit/plan_class_use.def"
#undef USE
};

static struct arena a;

static enum err write_all(const char *dir, const char *target, const char *const *texts,
    size_t n, struct fail *f)
{
	const char *to = arena_printf(&a, "%s/%s", dir, target);
	enum err e = fs_mkdirs(to, 0777, f);

	for (size_t i = 0; i < n && e == OK; i++)
		e = fs_write(arena_printf(&a, "%s/case-%zu", to, i), texts[i],
		    strlen(texts[i]), 0666, f);
	return e;
}

/* Writes one input for fuzz_keys: a key pair and a signature made with it. */
static enum err write_keys(const char *dir, struct fail *f)
{
	static const char text[] =
	    "<name>ex_100_0_r4711_0</name><max_nbytes>5000000</max_nbytes>";
	char *private, *public, *sig = NULL;
	const char *input;
	struct key *k;
	enum err e = key_make(&a, &private, &public, f);

	if (e == OK)
		e = key_parse_private(private, &k, f);
	if (e != OK)
		return e;
	e = sign_text(&a, k, text, &sig, f);
	key_free(k);
	if (e != OK)
		return e;
	input = arena_printf(&a, "%s====\n%s====\n%s", private, public, sig);
	return write_all(dir, "keys", &input, 1, f);
}

int main(int argc, char **argv)
{
	struct fail f = { 0 };

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 2;
	}
	if (write_all(argv[1], "request", requests, N(requests), &f) != OK ||
	    write_all(argv[1], "templates", templates, N(templates), &f) != OK ||
	    write_all(argv[1], "prefs", prefs, N(prefs), &f) != OK ||
	    write_all(argv[1], "project_text", project_texts, N(project_texts), &f) !=
		OK ||
	    write_all(argv[1], "plan_class", plan_classes, N(plan_classes), &f) != OK ||
	    write_keys(argv[1], &f) != OK) {
		fprintf(stderr, "seeds: %s\n", f.detail);
		return 1;
	}
	arena_free(&a);
	return 0;
}
