/* SPDX-License-Identifier: Apache-2.0 */
/* Orders for qsort and bsearch over ids and names. */
#ifndef DB_ORDER_H
#define DB_ORDER_H

#include <stdint.h>
#include <string.h>

/* int64_t elements. */
static inline int
id_order(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* const char * elements. */
static inline int
name_order(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

#endif
