/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The speed of one CPU, as a scheduler estimates runtimes by it (protocol.md 1.3).
 */
#ifndef CLIENT_BENCHMARK_H
#define CLIENT_BENCHMARK_H

/* No CPU does more dependent operations in a second. */
#define BENCHMARK_MOST 1e11

/* Operations per second, measured for so many ms: a multiplication and an addition per
 * turn, each waiting for the one before, as scalar code does. */
double benchmark_flops(int ms);
double benchmark_iops(int ms);

#endif
