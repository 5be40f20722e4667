/* SPDX-License-Identifier: Apache-2.0 */
/* Which store holds the triggers, and their names there. */
#include "db/trigger_store.h"

#include <string.h>
#include "lib/banned.h"

bool
triggers_in_rows(const struct conf *cf)
{
	return cf->locality_store != NULL && strcmp(cf->locality_store, "db") == 0;
}

const char *
trigger_name(enum trigger t)
{
	static const char *const names[TRIGGER__MAX] = {
		[TRIGGER_NEED_WORK] = "need_work",
		[TRIGGER_NO_WORK_AVAILABLE] = "no_work_available",
		[TRIGGER_WORKING_SET] = "file_working_set",
		[TRIGGER_FILES_NO_WORK] = "files_no_work",
	};

	return names[t];
}
