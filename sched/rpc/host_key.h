/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises two requests of one host without parsing them. */
#ifndef SCHED_RPC_HOST_KEY_H
#define SCHED_RPC_HOST_KEY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns a hash of the host's id and the authenticator, 0 if the first HOST_KEY_HEAD
 * bytes contain no host id. Who does not know a host's authenticator cannot make its
 * key, so that no stranger's request passes for one of the host.
 */
enum { HOST_KEY_HEAD = 4096 };
uint64_t host_key(const char *body, size_t n);

#endif
