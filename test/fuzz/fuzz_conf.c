/* SPDX-License-Identifier: Apache-2.0 */
/* Parses any bytes as config.xml and checks the values and remarks. */
#include "lib/pattern.h"
#include "model/conf.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

/* Matches each configured pattern with a string as a host could send it. */
static void match(const struct pattern_list *l)
{
	static const char text[] = "AuthenticAMD\tAMD Ryzen 7 5800X 8-Core [Family 25] "
				   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

	for (size_t i = 0; i < l->n; i++)
		assert(pattern_match(l->v[i], text) == pattern_match(l->v[i], text));
}

static void conf_holds(struct arena *a, const struct conf *cf)
{
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct field *o = &conf_opts[i];
		const void *field = (const char *)cf + o->off;

		if (o->type == FIELD_I64)
			assert((double)*(const int64_t *)field >= o->min &&
			       (double)*(const int64_t *)field <= o->max);
		else if (o->type == FIELD_F64)
			assert(*(const double *)field >= o->min &&
			       *(const double *)field <= o->max);
		else if (o->type == FIELD_TEXT)
			assert(*(char *const *)field != NULL);
		else if (o->type == FIELD_PATTERNS)
			match(field);
		assert(field_get(a, o, cf) != NULL);
		assert(
		    conf_trait(o)->taken != CONF_AT_ONCE || !conf_needs_restart(cf, o));
	}
	for (size_t i = 0; i < cf->ndaemons; i++)
		assert(cf->daemons[i].cmd[0] != '\0' && cf->daemons[i].output != NULL);
	for (size_t i = 0; i < cf->ntasks; i++)
		assert(cf->tasks[i].cmd[0] != '\0' && cf->tasks[i].period_s > 0);
}

FUZZ(a, in, n)
{
	static const char *const paths[] = { "/p/config.xml", "config.xml",
		"p/config.xml" };
	struct conf_remark *remarks;
	struct conf *cf;
	const char *in_text = arena_memdup(a, in, n);
	char *mask;
	struct fail f;
	size_t nremarks;

	if (conf_parse(a, paths[n % N(paths)], in, n, &cf, &remarks, &nremarks, &f) !=
	    OK) {
		assert(f.code == E_CONFIG && f.detail[0] != '\0');
		return;
	}
	for (size_t i = 0; i < nremarks; i++)
		assert(remarks[i].text[0] != '\0');
	conf_holds(a, cf);
	/* As recordings have it: the same text, with asterisks for what is secret. */
	mask = arena_strdup(a, in_text);
	conf_mask_secrets(a, mask);
	assert(strlen(mask) == strlen(in_text));
	assert(cf->project_dir[0] == '/');
}
