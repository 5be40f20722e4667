/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates of web servers, in PEM files. */
#ifndef LIB_CERT_H
#define LIB_CERT_H

#include <stdint.h>
#include "lib/err.h"

struct cert {
	int64_t not_before, not_after; /* s UTC */
};

/*
 * Reads the first certificate of a file and checks that the private key is its key, as
 * a web server that starts does. E_CONFIG: it would refuse them.
 */
enum err cert_pair_read(
    const char *certificate, const char *key, struct cert *, struct fail *);
/* Reads the first certificate of a file alone. E_CONFIG. */
enum err cert_read(const char *certificate, struct cert *, struct fail *);

#endif
