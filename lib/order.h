/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison functions for qsort and bsearch. */
#ifndef LIB_ORDER_H
#define LIB_ORDER_H

#include <stdint.h>
#include <string.h>

/* For int64_t elements. */
static inline int
id_order(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* For const char * elements. */
static inline int
name_order(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

#endif
