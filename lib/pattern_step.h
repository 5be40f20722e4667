/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of patterns: the steps that an expression is compiled to. */
#ifndef LIB_PATTERN_STEP_H
#define LIB_PATTERN_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/text.h"

enum { STEPS_MOST = 2000 };

enum op { OP_BYTE, OP_FORK, OP_JUMP, OP_ASSERT, OP_MATCH };
enum assertion { AT_START, AT_END, AT_WORD_START, AT_WORD_END, AT_EDGE, AT_NO_EDGE };

struct set { /* set of bytes */
	uint32_t has[8];
};
struct step {
	uint8_t op;
	uint8_t arg;  /* BYTE: index of its set; ASSERT: which assertion */
	int16_t x, y; /* distance to the next step: FORK both, JUMP x only */
};

struct pattern {
	struct step *steps;
	size_t n;
	struct set *sets;
	char *text;
	bool negated;
};

static inline bool set_has(const struct set *s, unsigned char b)
{
	return (s->has[b / 32] >> (b % 32) & 1) != 0;
}

static inline bool is_word(unsigned b)
{
	return text_alnum((char)b) || b == '_';
}

#endif
