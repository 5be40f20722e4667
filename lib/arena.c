/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of blocks; allocations come from the front of the first one. An allocation
 * larger than a quarter of a block gets a block of its own behind the first, so that
 * the space left in the first is not lost. Under AddressSanitizer everything that is
 * not handed out is poisoned.
 */
#include "lib/arena.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__has_feature) && !defined(__SANITIZE_ADDRESS__)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1 /* clang does not define it as gcc does */
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON(p, n)   ASAN_POISON_MEMORY_REGION((p), (n))
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define POISON(p, n)   ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

enum {
	ALIGN = alignof(max_align_t),
	BLOCK_MIN =
	    4 << 10, /* bytes of the first block; each next one is twice as large */
	/* no block grows beyond this, and no larger one survives a reset */
	BLOCK_MAX = 1 << 20,
	GAP = 16, /* poisoned bytes behind each allocation under the sanitizer */
};

struct arena_block {
	struct arena_block *next;
	size_t size, used; /* bytes of data */
	alignas(max_align_t) char data[];
};

static struct arena_block *block_make(size_t size)
{
	struct arena_block *b = malloc(sizeof(*b) + size);

	if (b == NULL) {
		fprintf(stderr, "arena: no memory for a block of %zu bytes\n", size);
		abort();
	}
	*b = (struct arena_block){ .size = size };
	POISON(b->data, size);
	return b;
}

static void block_free(struct arena_block *b)
{
	UNPOISON(b->data, b->size);
	free(b);
}

/* Finds or makes a block with n free bytes. */
static struct arena_block *block_for(struct arena *a, size_t n)
{
	struct arena_block *b = a->head;
	size_t size = BLOCK_MIN;

	if (b != NULL && b->size - b->used >= n)
		return b;
	if (b != NULL)
		size = b->size < BLOCK_MAX ? 2 * b->size : BLOCK_MAX;
	if (b != NULL && n > size / 4) {
		struct arena_block *own = block_make(n);
		own->next = b->next;
		b->next = own;
		return own;
	}
	while (size < n)
		size *= 2;
	b = block_make(size);
	b->next = a->head;
	a->head = b;
	return b;
}

void *arena_alloc(struct arena *a, size_t n)
{
	size_t room;

	assert(n < SIZE_MAX / 4);
	room = (n + ALIGN - 1) / ALIGN * ALIGN;
#ifdef __SANITIZE_ADDRESS__
	room += GAP;
#endif
	struct arena_block *b = block_for(a, room);
	char *p = b->data + b->used;

	b->used += room;
	a->used += room;
	UNPOISON(p, n);
	return memset(p, 0, n);
}

void *arena_memdup(struct arena *a, const void *p, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	if (n > 0)
		memcpy(copy, p, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return s == NULL ? arena_memdup(a, "", 0) : arena_memdup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	char line[256]; /* most texts fit: formatted once instead of measured first */
	va_list ap;
	char *s;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	assert(n >= 0);
	if ((size_t)n < sizeof(line))
		return arena_memdup(a, line, (size_t)n);
	s = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

struct arena_deferred {
	struct arena_deferred *next;
	void (*done)(void *);
	void *what;
};

void arena_defer(struct arena *a, void (*done)(void *), void *what)
{
	struct arena_deferred *d = NEW(a, struct arena_deferred);

	*d = (struct arena_deferred){ a->deferred, done, what };
	a->deferred = d;
}

static void run_deferred(struct arena *a)
{
	for (struct arena_deferred *d = a->deferred; d != NULL; d = d->next)
		d->done(d->what);
	a->deferred = NULL;
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = NULL, *next;

	run_deferred(a);
	for (struct arena_block *b = a->head; b != NULL; b = next) {
		next = b->next;
		if (b->size > BLOCK_MAX || (keep != NULL && keep->size >= b->size)) {
			block_free(b);
			continue;
		}
		if (keep != NULL)
			block_free(keep);
		keep = b;
	}
	if (keep != NULL) {
		keep->next = NULL;
		keep->used = 0;
		POISON(keep->data, keep->size);
	}
	*a = (struct arena){ .head = keep };
}

void arena_free(struct arena *a)
{
	struct arena_block *next;

	run_deferred(a);
	for (struct arena_block *b = a->head; b != NULL; b = next) {
		next = b->next;
		block_free(b);
	}
	*a = (struct arena){ 0 };
}

void *arena_grow(struct arena *a, void *p, size_t n, size_t *cap, size_t size)
{
	void *q;

	if (n < *cap)
		return p;
	*cap = n < 4 ? 8 : mul_or_die(n, 2);
	q = arena_alloc(a, mul_or_die(*cap, size));
	return n == 0 ? q : memcpy(q, p, n * size);
}

size_t mul_or_die(size_t x, size_t y)
{
	size_t product;
	bool over = __builtin_mul_overflow(x, y, &product);

	assert(!over);
	return product;
}
