/* SPDX-License-Identifier: Apache-2.0 */
/* What the speed of an app version on a host was projected from. */
#ifndef MODEL_SPEED_H
#define MODEL_SPEED_H

enum speed_source {
#define SPEED(code, text) SPEED_##code,
#include "model/speed.def"
#undef SPEED
};
const char *speed_source_text(enum speed_source); /* for people */
const char *speed_source_code(enum speed_source); /* "BENCHMARK" */
/* By its code; BENCHMARK for what is none. */
enum speed_source speed_source_named(const char *code);

#endif
