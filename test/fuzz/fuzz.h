/* SPDX-License-Identifier: Apache-2.0 */
/* The one function that libFuzzer calls. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

#endif
