/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/backup/list.h"

#include "lib/banned.h"

void
list_add(struct buf *list, const struct tar_entry *t, bool torn, struct sha256 *data)
{
	static const char kinds[] = {
		[TAR_FILE] = 'f', [TAR_DIR] = 'd', [TAR_LINK] = 'l'
	};
	char digest[SHA256_HEX];

	sha256_end(data, digest);
	buf_printf(list, "%c %03o %lld %s ", torn ? 't' : kinds[t->kind],
	    t->kind == TAR_LINK ? 0777 : t->mode,
	    t->kind == TAR_FILE ? (long long)t->size : 0LL, digest);
	for (const char *p = t->name; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == '%' || *p == 127)
			buf_printf(list, "%%%02X", (unsigned char)*p);
		else
			buf_put(list, p, 1);
	buf_puts(list, "\n");
}
