/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena owns everything allocated while serving one RPC or one daemon step. Nothing
 * in it is freed individually; arena_reset() frees everything at once and keeps one
 * block for the next round, so the memory of a long-lived process does not grow.
 * arena_alloc() never returns NULL: inputs are capped, so running out of memory is a
 * bug.
 */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include <stddef.h>

struct arena_block;
struct arena_deferred;
struct arena {
	struct arena_block *head;
	struct arena_deferred *deferred;
	size_t used; /* bytes handed out since the last reset */
};

void *arena_alloc(struct arena *, size_t); /* zeroed, aligned for any type */
void *arena_memdup(struct arena *, const void *, size_t); /* appends a NUL */
char *arena_strdup(struct arena *, const char *);         /* NULL gives "" */
char *arena_printf(struct arena *, const char *, ...)
    __attribute__((format(printf, 2, 3)));
/*
 * Calls done(what) when the arena is reset or freed: releases what a library allocated.
 */
void arena_defer(struct arena *, void (*done)(void *what), void *what);
void arena_reset(struct arena *); /* frees everything but one block */
void arena_free(struct arena *);  /* frees everything */

/* Grows an array in the arena: returns p or a larger copy with room for n + 1 items. */
void *arena_grow(struct arena *, void *p, size_t n, size_t *cap, size_t size);

#define NEW(a, T)     ((T *)arena_alloc((a), sizeof(T)))
#define NEWN(a, T, n) ((T *)arena_alloc((a), mul_or_die(sizeof(T), (n))))
/* PUSH(a, array, n, cap) = item; appends to an array in the arena. */
#define PUSH(a, p, n, cap)                                                             \
	(*((p) = arena_grow((a), (p), (n), &(cap), sizeof(*(p))), &(p)[(n)++]))
#define N(array) (sizeof(array) / sizeof((array)[0]))

size_t mul_or_die(size_t, size_t); /* asserts that the product does not overflow */

#endif
