/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the printers of manuals. */
#include "model/doc.h"

#include <stdio.h>
#include <string.h>
#include "lib/banned.h"

enum { LINE = 78 };

void
doc_fill(const char *text, const char *indent, bool sentences)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		bool ends = sentences && n > 0 && text[n - 1] == '.';

		if (column > 0 && column + 1 + n > LINE) {
			printf("\n");
			column = 0;
		}
		column += (size_t)printf(
		    "%s%.*s", column == 0 ? indent : " ", (int)n, text);
		text += n + strspn(text + n, " ");
		if (ends && *text != '\0') {
			printf("\n");
			column = 0;
		}
	}
	printf("\n");
}
