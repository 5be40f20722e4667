/* SPDX-License-Identifier: Apache-2.0 */
#include "model/doorbells.h"

#include "lib/log.h"
#include "lib/banned.h"

static enum err
try_ring(struct doorbells *d, const struct conf *cf, enum doorbell bell, struct fail *f)
{
	if (bells_gone(&d->bells)) {
		bells_close(&d->bells);
		TRY(bells_open(&d->bells, cf->run_dir, false, f));
	}
	return bells_ring(&d->bells, bell, f);
}

void
doorbell_ring(struct doorbells *d, const struct conf *cf, enum doorbell bell)
{
	struct fail f = { 0 };
	enum err e;

	if (bell == DOORBELL_NONE || cf->run_dir[0] == '\0')
		return;
	e = try_ring(d, cf, bell, &f);
	if (e != OK && e != E_NOTFOUND && !d->failed)
		log_fail(
		    "daemons are not woken, and find their work a second later", &f);
	d->failed = e != OK && e != E_NOTFOUND;
}

enum err
doorbells_listen(struct doorbells *d, const struct conf *cf, struct fail *f)
{
	if (!bells_gone(&d->bells))
		return OK;
	bells_close(&d->bells);
	return bells_open(&d->bells, cf->run_dir, true, f);
}

void
doorbells_close(struct doorbells *d)
{
	bells_close(&d->bells);
}
