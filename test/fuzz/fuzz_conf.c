/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as config.xml, read and remarked on. */
#include "model/conf.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

static void
holds(const struct conf *cf)
{
#define conf_check_BOOL(name, min, max)
#define conf_check_INT(name, min, max)                                                 \
	assert((double)cf->name >= (min) && (double)cf->name <= (max));
#define conf_check_DOUBLE(name, min, max)                                              \
	assert(cf->name >= (min) && cf->name <= (max));
#define conf_check_STRING(name, min, max)            assert(cf->name != NULL);
#define conf_check_LIST(name, min, max)              assert(cf->name.n == 0 || cf->name.v != NULL);
#define conf_check_IGNORED(name, min, max)           assert(cf->name != NULL);
#define OPT(name, type, def, min, max, effect, help) conf_check_##type(name, min, max)
#include "model/conf.def"
#undef OPT
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
	struct fail f;
	size_t nremarks;

	if (conf_parse(a, paths[n % N(paths)], in, n, &cf, &remarks, &nremarks, &f) !=
	    OK) {
		assert(f.code == E_CONFIG && f.detail[0] != '\0');
		return;
	}
	for (size_t i = 0; i < nremarks; i++)
		assert(remarks[i].text[0] != '\0');
	holds(cf);
	assert(cf->project_dir[0] == '/');
}
