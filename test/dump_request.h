/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a parsed request for golden files, one field per line. */
#ifndef TEST_DUMP_REQUEST_H
#define TEST_DUMP_REQUEST_H

#include "lib/buf.h"
#include "model/request.h"

void dump_request(struct buf *, const struct request *);

#endif
