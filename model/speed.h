/* SPDX-License-Identifier: Apache-2.0 */
/* The source of an app version's projected speed on a host. */
#ifndef MODEL_SPEED_H
#define MODEL_SPEED_H

enum speed_source {
#define SPEED(code, text) SPEED_##code,
#include "model/speed.def"
#undef SPEED
};
const char *speed_source_text(enum speed_source); /* for people */
const char *speed_source_code(enum speed_source); /* "BENCHMARK" */
/* Finds a source by its code; BENCHMARK if there is none. */
enum speed_source speed_source_named(const char *code);

#endif
