/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short forms of fields of XML; T is the row's type where they are used. The tables
 * themselves are in .def files, one line per element.
 */
#ifndef PROTO_XML_TABLE_H
#define PROTO_XML_TABLE_H

#include <stddef.h>
#include "lib/xml.h"

#define X_ELEM(...)                                                                    \
	{                                                                              \
		__VA_ARGS__                                                            \
	}
#define FIELD(tag, member) X_ELEM(tag, FIELD_OF(T, member))
/* With a bool that records whether the element occurred; its offset is not 0. */
#define FIELD_SEEN(tag, member, flag)                                                  \
	X_ELEM(tag, FIELD_OF(T, member), .seen_off = offsetof(T, flag))
/* At most hi bytes. */
#define STR(tag, member, hi) X_ELEM(tag, FIELD_OF(T, member), .max = hi)
/* For people, see text_fit(): cut to hi characters. */
#define TEXT(tag, member, hi) X_ELEM(tag, FIELD_OF(T, member), .max = hi, .cut = true)
/* A child element whose fields belong to the same row. */
#define GROUP(tag, table) X_ELEM(tag, .type = FIELD_ROW, .child = table)
#define GROUP_SEEN(tag, table, flag)                                                   \
	X_ELEM(tag, .type = FIELD_ROW, .child = table, .seen_off = offsetof(T, flag))
/* Repeated elements, at most hi of them, each a row in the struct xml_list member. */
#define ROWS(tag, member, hi, table, row) ROWS_DONE(tag, member, hi, table, row, NULL)
#define ROWS_DONE(tag, member, hi, table, row, call)                                   \
	X_ELEM(tag, .type = FIELD_ROWS, .off = offsetof(T, member.rows),               \
	    .n_off = offsetof(T, member.n), .max = hi, .size = sizeof(row),            \
	    .child = table, .done = call)
#define END X_ELEM(0)

#endif
