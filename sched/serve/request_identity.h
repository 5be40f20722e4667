/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recognises a request that a client sends again.
 *
 * The identity is cheap enough for every request: it says only which host asks.  A
 * client whose request got no reply often adds something to it before it tries again
 * (another finished task), so nothing that covers the whole body would find the retry.
 * The digest covers the whole body and is computed for suspects only (suspects.h).
 */
#ifndef SCHED_SERVE_REQUEST_IDENTITY_H
#define SCHED_SERVE_REQUEST_IDENTITY_H

#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/crypt.h"

/*
 * Returns host_key() or, for a body without a host id, the hash of its first 256 bytes,
 * numbers left out: the new hosts of an account may share it.  Never 0.
 */
uint64_t request_identity(const char *body, size_t n);
/*
 * Returns the hex MD5 of the body with each number outside <authenticator> and <hostid>
 * replaced by '#': retries, which differ in their number, times and sizes, have the
 * same digest, and requests of two hosts have different ones.  The arena holds a copy
 * of the body; takes about 5 ms per MB.
 */
void request_digest(struct arena *, const char *body, size_t n, char digest[MD5_HEX]);

#endif
