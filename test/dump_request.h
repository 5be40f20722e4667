/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed request as text, every field on a line: what golden files hold. */
#ifndef TEST_DUMP_REQUEST_H
#define TEST_DUMP_REQUEST_H

#include "lib/buf.h"
#include "model/request.h"

void dump_request(struct buf *, const struct request *);

#endif
