/* SPDX-License-Identifier: Apache-2.0 */
/* Names of output files in the upload directory: RESULT_rRANDOM_INDEX. */
#ifndef PROTO_UPLOAD_NAME_H
#define PROTO_UPLOAD_NAME_H

#include <stdbool.h>
#include "lib/arena.h"

struct upload_name {
	char *file;   /* without the ending of an incomplete upload */
	char *result; /* name of the result that it belongs to */
	bool part;    /* incomplete */
};

/* Takes the name of a file of the upload directory apart; false if it is no output. */
bool upload_name_parse(struct arena *, const char *name, struct upload_name *);

#endif
