/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else goes on in the machine, as far as the user's preferences ask for it:
 * whether it runs on batteries, is in use, or is busy with other programs.
 */
#ifndef CLIENT_MACHINE_H
#define CLIENT_MACHINE_H

/* No CPU does more dependent operations in a second. */
#define BENCHMARK_MOST 1e11

/* Operations per second, measured for so many ms: a multiplication and an addition per
 * turn, each waiting for the one before, as scalar code does. */
double benchmark_flops(int ms);
double benchmark_iops(int ms);

#endif
